//! The reactions of TCP's sender to acknowledgements, by the letter of the RFCs.

use std::cell::Cell;
use std::rc::Rc;

use crate::wire::{Pipe, at, config, sender};
use fairhaul_cc::{AckEvent, Builtin, Congestion, Controller, Window};
use fairhaul_experiment::Recovery;
use fairhaul_sim::tcp::{BufferLimits, Outcome, Poll, Sender, SenderConfig};
use fairhaul_units::{Ack, Data, SACK_BLOCKS, SackBlock, Span, Time};

const STEADY: Recovery = Recovery::NewReno { impatient: false };
const IMPATIENT: Recovery = Recovery::NewReno { impatient: true };
const ALL: [Recovery; 4] = [Recovery::Sack, Recovery::Reno, STEADY, IMPATIENT];

/// What a poll until it has nothing more lets go: number, and whether it is a retransmission.
fn leaves(sender: &mut Sender<Builtin>, now: Time) -> Vec<(u64, bool)> {
    std::iter::from_fn(|| match sender.poll(now) {
        Poll::Send(data) => Some((data.number, data.retransmitted())),
        _ => None,
    })
    .collect()
}

fn ack(next: u64, sack: &[(u32, u32)]) -> Ack {
    let mut blocks = [SackBlock::default(); SACK_BLOCKS];
    for (block, &(from, to)) in blocks.iter_mut().zip(sack) {
        *block = SackBlock { from, to };
    }
    Ack { next, sack: blocks, blocks: sack.len() as u8, ..Ack::default() }
}

/// A sender whose connection was opened at 100 ms and that then sent its initial window. Without undo:
/// the acknowledgements here all echo the same stamp.
fn opened(recovery: Recovery, window: f64) -> Sender<Builtin> {
    let mut sender = sender(SenderConfig { initial_window: window, undo: false, ..config(recovery) });
    assert_eq!(leaves(&mut sender, Time::ZERO), [(0, false)]);
    sender.on_ack(&Ack { opens: true, ..ack(0, &[]) }, at(100));
    assert_eq!(leaves(&mut sender, at(100)).len(), window as usize);
    sender
}

fn no_loss(_: &Data, _: u32) -> bool {
    false
}

// Requirement: rfc5681-3.1-c
#[test]
fn the_handshake_takes_one_round_trip_and_the_initial_window_follows() {
    for (window, packets) in [(1.0, 1), (3.0, 3), (4.5, 4), (10.0, 10)] {
        let config = SenderConfig { initial_window: window, ..config(Recovery::Sack) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, no_loss);
        pipe.run(at(200));
        assert!(pipe.sent[0].1.opens() && pipe.sent[0].0 == Time::ZERO);
        assert!(pipe.sent[1..].iter().all(|&(time, data)| time == at(100) && !data.opens()));
        assert_eq!(pipe.sent.len(), 1 + packets);
    }
}

// Requirement: rfc5681-2-a, rfc5681-3.1-a, rfc5681-3.1-b, rfc5681-3.1-g
#[test]
fn slow_start_doubles_each_round() {
    let mut pipe = Pipe::new(config(Recovery::Sack), Span::from_ms(100), Span::ZERO, no_loss);
    pipe.run(at(701));
    let in_round = |round: u64| pipe.sent.iter().filter(|(time, _)| *time == at(round * 100)).count();
    assert_eq!((1..8).map(in_round).collect::<Vec<_>>(), [2, 4, 8, 16, 32, 64, 128]);
}

// Requirement: rfc5681-3.2-c, rfc5681-3.2-d, rfc5681-3.2-e, rfc5681-3.2-h, rfc5681-3.2-i
// Requirement: rfc6675-4-f, rfc6675-5-c
#[test]
fn the_first_two_duplicates_let_one_new_packet_go_each_and_the_third_retransmits() {
    for recovery in ALL {
        let sack = recovery == Recovery::Sack;
        let mut sender = opened(recovery, 10.0);
        let mut leaves_after = |duplicates: u32| {
            let blocks = [(1, 1 + duplicates)];
            let outcome = sender.on_ack(&ack(0, if sack { &blocks } else { &[] }), at(200));
            (outcome, leaves(&mut sender, at(200)))
        };
        assert_eq!(leaves_after(1), (Outcome::Quiet, vec![(10, false)]), "{recovery:?}");
        assert_eq!(leaves_after(2), (Outcome::Quiet, vec![(11, false)]), "{recovery:?}");
        assert_eq!(leaves_after(3), (Outcome::Reduced, vec![(0, true)]), "{recovery:?}");
        assert_eq!(sender.window().cwnd, 5.0);
    }
}

/// The report of packet 1 lets 10 go. The same report once more is no news, and lets nothing go.
// Requirement: rfc5681-3.2-f, rfc6675-4-k
#[test]
fn a_duplicate_that_reports_nothing_new_lets_nothing_go() {
    let mut sender = opened(Recovery::Sack, 10.0);
    for wanted in [vec![(10, false)], vec![]] {
        assert_eq!(sender.on_ack(&ack(0, &[(1, 2)]), at(200)), Outcome::Quiet);
        assert_eq!(leaves(&mut sender, at(200)), wanted);
    }
}

/// Of ten packets 1 to 3 are reported: a recovery begins, and 0 leaves again. The timer expires in it: 0 leaves once more.
/// With 4 the next two leave, and three reports come, but all of that was outstanding at the timeout, and no recovery
/// begins. When all ten are acknowledged, three reports begin one.
// Requirement: rfc6675-5.1-a, rfc6675-5.1-b, rfc6675-5.1-c, rfc6675-5.1-d, rfc6675-5.1-e
// Requirement: rfc6675-5.1-f
#[test]
fn after_a_timeout_reports_begin_no_recovery_before_all_of_it_is_acknowledged() {
    let mut sender = opened(Recovery::Sack, 10.0);
    assert_eq!(sender.on_ack(&ack(0, &[(1, 4)]), at(200)), Outcome::Reduced);
    assert_eq!(leaves(&mut sender, at(200)), [(0, true)]);
    let timer = sender.timer();
    assert!(matches!(sender.on_timer(timer), Outcome::TimedOut(_)));
    assert_eq!(leaves(&mut sender, timer), [(0, true)]);
    let threshold = sender.window().ssthresh;
    let now = timer + Span::from_ms(100);
    assert_eq!(sender.on_ack(&ack(4, &[]), now), Outcome::Quiet);
    assert_eq!(leaves(&mut sender, now), [(4, true), (5, true)]);
    assert_eq!(sender.on_ack(&ack(4, &[(1, 4)]), now), Outcome::Quiet);
    // 5 to 7 are reported, and leave no more.
    let left = leaves(&mut sender, now);
    assert!(left.iter().all(|&(number, _)| !(5..8).contains(&number)), "{left:?}");
    assert_eq!(sender.window().ssthresh, threshold);
    assert_eq!(sender.on_ack(&ack(10, &[]), now), Outcome::Recovered);
    leaves(&mut sender, now);
    assert_eq!(sender.on_ack(&ack(10, &[(1, 4)]), now), Outcome::Reduced);
}

/// The handshake took 100 ms. The first acknowledgement comes after 180 ms: with four packets in flight it counts a quarter,
/// 100 + 80 / 8 / 3 with the three that are left; each further one moves the estimate again.
// Requirement: rfc6298-3-c, rfc9406-4.3-b
#[test]
fn each_acknowledgement_is_a_sample_of_the_round_trip() {
    let mut sender = opened(Recovery::Sack, 4.0);
    let mut srtt = sender.srtt();
    assert_eq!(srtt, Span::from_ms(100));
    for next in 1..=4 {
        sender.on_ack(&Ack { echo: at(100), ..ack(next, &[]) }, at(280));
        assert!(sender.srtt() > srtt, "{next}: {} after {srtt}", sender.srtt());
        srtt = sender.srtt();
    }
}

// Requirement: rfc6675-5-b
#[test]
fn two_duplicates_and_progress_are_no_loss() {
    for recovery in ALL {
        let mut sender = opened(recovery, 10.0);
        for next in [0, 0, 3, 3, 3, 6, 6, 6] {
            let blocks: &[_] = if recovery == Recovery::Sack && next == 0 { &[(1, 3)] } else { &[] };
            assert_eq!(sender.on_ack(&ack(next, blocks), at(200)), Outcome::Quiet);
            assert!(leaves(&mut sender, at(200)).iter().all(|&(_, retransmitted)| !retransmitted));
        }
    }
}

/// A run of 5 s over a pipe of 100 ms and 1 ms a packet, of which the listed numbers are lost once.
fn losing(recovery: Recovery, ssthresh: f64, lost: impl IntoIterator<Item = u64>) -> Pipe {
    let lost: std::collections::HashSet<u64> = lost.into_iter().collect();
    let config = SenderConfig { initial_ssthresh: ssthresh, ..config(recovery) };
    let fate = move |data: &Data, tries: u32| tries == 1 && !data.opens() && lost.contains(&data.number);
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), fate);
    pipe.run(at(5000));
    pipe
}

// Requirement: rfc5681-4.3-a, rfc6675-5-e
#[test]
fn newreno_and_sack_halve_once_for_two_or_three_losses_in_a_window() {
    for recovery in [Recovery::Sack, STEADY, IMPATIENT] {
        for lost in [vec![60], vec![60, 65], vec![60, 65, 70]] {
            let pipe = losing(recovery, 32.0, lost.clone());
            assert_eq!((pipe.reductions(), pipe.timeouts()), (1, 0), "{recovery:?} {lost:?}");
            assert_eq!(pipe.retransmissions(), lost.len() as u64, "{recovery:?}");
        }
    }
}

// Requirement: rfc5681-3.2-j, rfc5681-3.2-k, rfc5681-3.2-l
#[test]
fn a_partial_acknowledgement_keeps_the_window_full_and_the_full_one_makes_no_burst() {
    // 0 and 4 of ten are lost. Three duplicates let 10, 11 and 0 again go, and halve the window.
    let mut sender = opened(STEADY, 10.0);
    let mut take = |next| {
        sender.on_ack(&ack(next, &[]), at(200));
        (leaves(&mut sender, at(200)), sender.window().cwnd)
    };
    (0..3).for_each(|_| drop(take(0)));
    // Duplicates 4 to 7 (of 5, 6, 7, 8): at the 7th, 0, 9, 10, 11 and one too many are in flight.
    assert!((0..4).all(|_| take(0).0.is_empty()));
    // 9, 10 and 11 arrive: one new packet for each.
    for new in 12..15 {
        assert_eq!(take(0), (vec![(new, false)], 5.0));
    }
    // 0 has arrived. In flight are 12, 13 and 14; with 4 again and 15 there are five.
    assert_eq!(take(4), (vec![(4, true), (15, false)], 5.0));
    // All has arrived at once: not five packets, but two [RFC 6582, 3.2, step 3].
    assert_eq!(take(16), (vec![(16, false), (17, false)], 2.0));
}

#[test]
fn reno_halves_for_each_loss_or_times_out() {
    let two = losing(Recovery::Reno, 32.0, [60, 65]);
    assert_eq!((two.reductions(), two.timeouts()), (2, 0));
    let three = losing(Recovery::Reno, 32.0, [60, 65, 70]);
    assert!(three.reductions() > 2 || three.timeouts() > 0, "{:?}", three.outcomes);
}

#[test]
fn slow_but_steady_fills_a_hole_each_round_trip_and_impatient_gives_up() {
    // 16 holes at one in 100 ms: 1.6 s. The timer that the first partial ACK starts runs out
    // after srtt + 200 ms, about 0.33 s.
    let lost = || (60..92).step_by(2);
    let steady = losing(STEADY, 64.0, lost());
    assert_eq!((steady.reductions(), steady.timeouts(), steady.retransmissions()), (1, 0, 16));
    let impatient = losing(IMPATIENT, 64.0, lost());
    assert!(impatient.timeouts() >= 1, "{:?}", impatient.outcomes);
}

// Requirement: rfc6675-5-d, rfc6675-5-g, rfc6675-5-h, rfc6675-5-i
#[test]
fn sack_fills_a_hundred_holes_in_a_few_round_trips() {
    // A window of 256 of which every second of 200 is lost. After the first report at the latest
    // 256 ms later all is filled within two round trips (each 100 ms and 256 x 1 ms).
    let pipe = losing(Recovery::Sack, 256.0, (600..800).step_by(2));
    assert_eq!((pipe.reductions(), pipe.timeouts(), pipe.retransmissions()), (1, 0, 100));
    let retransmissions = || pipe.sent.iter().filter(|(_, data)| data.retransmitted()).map(|&(time, _)| time);
    let took = retransmissions().max().unwrap() - retransmissions().min().unwrap();
    assert!(took < Span::from_ms(2 * 356), "{took}");
}

#[test]
fn a_whole_window_lost_in_slow_start_makes_no_storm() {
    for recovery in ALL {
        // The window has reached 64: all of 62..126 is lost.
        let pipe = losing(recovery, f64::INFINITY, 62..126);
        assert_eq!(pipe.lost, 64, "{recovery:?}");
        assert!(pipe.timeouts() <= 2, "{recovery:?} {:?}", pipe.outcomes);
        assert!(pipe.retransmissions() <= 64 + 8, "{recovery:?} retransmitted {}", pipe.retransmissions());
        assert!(pipe.sent.iter().any(|(_, data)| data.number > 500), "{recovery:?} recovered");
    }
}

#[test]
fn half_a_window_lost_in_slow_start_makes_no_storm() {
    for recovery in ALL {
        let pipe = losing(recovery, f64::INFINITY, (62..190).step_by(2));
        // Without reports, what arrived is retransmitted after a timeout: as much as was lost, at most.
        let most = if recovery == Recovery::Sack { 64 } else { 2 * 64 + 8 };
        assert!(
            pipe.retransmissions() <= most,
            "{recovery:?} retransmitted {}, {:?}",
            pipe.retransmissions(),
            pipe.outcomes
        );
    }
}

#[test]
fn what_a_timeout_sends_again_needlessly_is_no_sign_of_loss() {
    // Of 64..128, the even ones up to 96 are lost, the first of them twice: a timeout. Without
    // reports, 97..128 are on their way again when 96 fills the last hole, and each makes a
    // duplicate. "More than recover" was not acknowledged by then [RFC 6582, 3.2, step 2].
    for recovery in [Recovery::Reno, STEADY, IMPATIENT] {
        let fate = |data: &Data, tries: u32| {
            let hole = (64..=96).contains(&data.number) && data.number.is_multiple_of(2);
            hole && !data.opens() && (tries == 1 || data.number == 64 && tries == 2)
        };
        let config = SenderConfig { initial_window: 64.0, ..config(recovery) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_us(100), fate);
        pipe.run(at(3000));
        let last_timeout = pipe.outcomes.iter().rposition(|(_, o)| matches!(o, Outcome::TimedOut(_)));
        let after = &pipe.outcomes[last_timeout.expect("the first hole needs one") + 1..];
        let reduced = after.iter().any(|(_, o)| *o == Outcome::Reduced);
        assert!(!reduced, "{recovery:?} {:?}", pipe.outcomes);
    }
}

// Requirement: rfc5681-3.1-n, rfc6298-5-a, rfc6298-5-b, rfc6298-5-c
#[test]
fn the_timeout_doubles_and_keeps_its_least_margin() {
    for least in [10u64, 200, 1000] {
        let config = SenderConfig { min_rto: Span::from_ms(least), ..config(Recovery::Sack) };
        let silent = |data: &Data, _| data.number >= 30;
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, silent);
        pipe.run(at(200_000));
        let timeout = |&(time, outcome): &(Time, Outcome)| match outcome {
            Outcome::TimedOut(timeout) => Some((time, timeout)),
            _ => None,
        };
        let timeouts: Vec<_> = pipe.outcomes.iter().filter_map(timeout).collect();
        // Every sample is 100 ms: what is left of the first variation is below the least margin of
        // 200 ms and more.
        assert!(timeouts[0].1 >= Span::from_ms(100 + least), "{timeouts:?}");
        assert!(least < 200 || timeouts[0].1 == Span::from_ms(100 + least), "{timeouts:?}");
        for pair in timeouts.windows(2) {
            assert_eq!(pair[1].1, (pair[0].1 * 2).min(Span::from_s(60)));
            assert_eq!(pair[1].0 - pair[0].0, pair[1].1);
        }
        assert_eq!(pipe.sender.window().cwnd, 1.0);
    }
}

// Requirement: rfc5681-3.1-d
#[test]
fn a_lost_request_to_open_is_sent_again_after_1_2_and_4_seconds() {
    let fate = |data: &Data, tries| data.opens() && tries <= 3;
    let mut pipe = Pipe::new(config(Recovery::Sack), Span::from_ms(100), Span::ZERO, fate);
    pipe.run(at(7101));
    let opens = pipe.sent.iter().filter(|(_, data)| data.opens()).map(|sent| sent.0);
    assert_eq!(opens.collect::<Vec<_>>(), [at(0), at(1000), at(3000), at(7000)]);
    // One packet, not the initial window of two [RFC 5681, 3.1].
    assert_eq!(pipe.sent.iter().filter(|(time, data)| *time == at(7100) && !data.opens()).count(), 1);
}

// Requirement: rfc6298-5-b
#[test]
fn a_sized_transfer_sends_every_byte_and_a_short_last_packet() {
    // 960 B of payload each: 10 000 B are ten full packets and one of 400 B and its header.
    let config = SenderConfig { size: Some(10_000), ..config(Recovery::Sack) };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, no_loss);
    pipe.run(at(10_000));
    let sizes: Vec<u32> = pipe.received.iter().filter(|d| !d.opens()).map(|d| d.size).collect();
    assert_eq!(sizes, [[1000; 10].as_slice(), &[440]].concat());
    // The handshake, 2, 4 and 5 packets: four round trips.
    assert_eq!(pipe.outcomes, [(at(400), Outcome::Finished)]);
    assert_eq!(pipe.sender.timer(), Time::NEVER);
}

#[test]
fn a_full_multiple_of_the_payload_and_a_single_byte_have_no_empty_packet() {
    for (size, last) in [(1920, 1000), (1, 41), (960, 1000), (961, 41)] {
        let config = SenderConfig { size: Some(size), ..config(Recovery::Sack) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, no_loss);
        pipe.run(at(10_000));
        assert_eq!(pipe.received.last().map(|data| data.size), Some(last));
        assert_eq!(pipe.received.len() as u64, 1 + size.div_ceil(960));
    }
}

// Requirement: rfc5681-2-a, rfc9406-3-a, rfc9438-4.6-c, rfc9438-4.6-d, rfc9937-3-a
#[test]
fn a_sender_that_its_buffer_limits_does_not_grow_its_window() {
    let config = SenderConfig { buffers: BufferLimits::for_packets(10), ..config(Recovery::Sack) };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, no_loss);
    pipe.run(at(10_000));
    // A window of 10 still stops the sender, one of 11 never does.
    assert_eq!(pipe.sender.window().cwnd, 11.0);
    assert_eq!(pipe.sent.iter().filter(|(time, _)| *time == at(5000)).count(), 10);
}

/// Counts rounds, and leaves the window as it is.
#[derive(Clone, Default)]
struct Counter(Rc<Cell<u32>>);

impl Controller for Counter {
    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        self.0.set(self.0.get() + u32::from(ack.new_round));
    }

    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {}

    fn on_congestion(&mut self, _: &mut Window, _: &Congestion) {}
}

/// A window of 1, 2, 3, 4 or 10 packets on a path of 100 ms: the first packet leaves at 101 ms, and each
/// acknowledgement brings a round of its own only when it is of a packet that left since the last one
/// began, 101 ms later. A round that ended a packet sooner would be one of w - 1 packets.
#[test]
fn a_round_lasts_a_round_trip_in_the_smallest_windows_too() {
    for cwnd in [1.0, 2.0, 3.0, 4.0, 10.0] {
        let config = SenderConfig { initial_window: cwnd, initial_ssthresh: cwnd, ..config(Recovery::Sack) };
        let counter = Counter::default();
        let sender = Sender::new(config, counter.clone());
        let mut pipe = Pipe::of(sender, config, Span::from_ms(100), Span::from_ms(1), |_, _| false);
        pipe.run(at(101 + 100 * 101 + 1));
        assert_eq!(counter.0.get(), 100, "at a window of {cwnd}");
    }
}
