//! The sender of Linux: losses found by time, the probe, proportional reduction as the kernel has it,
//! whole packets, and flows of that profile on a link.

use crate::support::{Run, run_text, within};
use crate::wire::{Pipe, at, config};
use fairhaul_cc::{AckEvent, Builtin, Congestion, Controller, ControllerChoice, Needs, Window};
use fairhaul_experiment::{Hold, Recovery, Rto, SlowStart};
use fairhaul_sim::tcp::{Outcome, Poll, Receiver, Sender, SenderConfig};
use fairhaul_units::{Ack, Data, Ecn, SACK_BLOCKS, SackBlock, Sending, Span, Time};

/// A sender of Linux without initial slow start.
fn linux(window: f64) -> SenderConfig {
    SenderConfig {
        initial_window: window,
        initial_ssthresh: window,
        slow_start: SlowStart::Full,
        rto: Rto::Linux,
        integer_cwnd: true,
        ..config(Recovery::Rack)
    }
}

/// A path of 100 ms that loses the packets with these numbers, each the given number of times.
fn losing(config: SenderConfig, lost: impl Fn(u64) -> u32 + 'static) -> Pipe {
    let fate = move |data: &Data, tries: u32| !data.opens() && tries <= lost(data.number);
    Pipe::new(config, Span::from_ms(100), Span::from_ms(1), fate)
}

/// One packet on a path of 100 ms without a queue, acknowledged at 200 ms, and then packet 1.
fn single(lost: impl Fn(u64) -> u32 + 'static) -> Pipe {
    let fate = move |data: &Data, tries: u32| !data.opens() && tries <= lost(data.number);
    let mut pipe = Pipe::new(linux(10.0), Span::from_ms(100), Span::ZERO, fate);
    pipe.sender.ready(1);
    pipe.run(at(201));
    pipe.offer(2, at(200));
    pipe
}

fn when<C>(pipe: &Pipe<C>, wanted: impl Fn(&Outcome) -> bool) -> Option<Time> {
    pipe.outcomes.iter().find(|(_, outcome)| wanted(outcome)).map(|found| found.0)
}

/// Of a window of 100, packet 150 is lost. Up to the third report the window lets go what is
/// delivered. Then the threshold is 50: [RFC 6937] ceil(D x 50 / 100) leave for D delivered, until
/// all is acknowledged, when the window is 50. The 50th of a packet that the last one earns is not shown.
// Requirement: rfc5681-4.3-b, rfc8985-9.3-b, rfc9937-3-b, rfc9937-5-a
#[test]
fn in_recovery_half_as_many_leave_as_are_delivered() {
    let mut pipe = losing(linux(100.0), |number| u32::from(number == 150));
    pipe.run(at(3000));
    let is = |wanted: Outcome| move |outcome: &Outcome| *outcome == wanted;
    let (began, ended) = (when(&pipe, is(Outcome::Reduced)), when(&pipe, is(Outcome::Recovered)));
    let (began, ended) = (began.expect("a loss"), ended.expect("an end"));
    let within = |time: Time, until: Time| time >= began && time <= until && until < ended;
    let mut delivered = 0;
    for &(now, ..) in pipe.acked.iter().filter(|acked| within(acked.0, acked.0)) {
        delivered += 1; // one packet each
        if delivered == 99 {
            break; // 100 - 99 + 49 = 50 are in flight: the rest keeps that number
        }
        let left = pipe.sent.iter().filter(|(time, _)| within(*time, now)).count() as u64;
        assert_eq!(left, u64::div_ceil(delivered, 2), "of {delivered}");
    }
    assert_eq!(delivered, 99);
    assert_eq!((pipe.retransmissions(), pipe.timeouts(), pipe.reductions()), (1, 0, 1));
    let (_, _, cwnd) = pipe.acked.iter().find(|acked| acked.0 == ended).expect("the acknowledgement");
    assert_eq!(*cwnd, 50.0);
}

/// Halves the window at a loss by itself, and keeps it.
#[derive(Clone)]
struct HalvesByItself;

impl Controller for HalvesByItself {
    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {}

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.cwnd /= 2.0;
    }

    fn needs(&self) -> Needs {
        Needs { rates: true, ..Needs::default() }
    }
}

/// Of a window of 100, packet 150 is lost. With the third report 98 are in flight, and the window is 50: room comes with
/// 49 reports more, of which the last leaves 49. A controller that sets the window itself has nothing retransmitted before it has room.
// Requirement: rfc8985-9.3-a
#[test]
fn a_retransmission_waits_for_room_in_the_window_of_a_controller_that_sets_it_in_recovery() {
    let config = linux(100.0);
    let fate = |data: &Data, tries: u32| data.number == 150 && tries == 1;
    let sender = Sender::new(config, HalvesByItself);
    let mut pipe = Pipe::of(sender, config, Span::from_ms(100), Span::from_ms(1), fate);
    pipe.run(at(3000));
    let began = when(&pipe, |outcome| *outcome == Outcome::Reduced).expect("a loss");
    let again = pipe.sent.iter().filter(|(_, data)| data.number == 150).nth(1).expect("a retransmission");
    let delivered = pipe.acked.iter().filter(|acked| acked.0 > began && acked.0 <= again.0).count();
    assert_eq!(delivered, 49);
}

/// The retransmission leaves with the third report; new packets leave after it, and the report of
/// the first of them shows that it is lost. Without times nothing shows that before the timer.
// Requirement: rfc8985-4-c, rfc8985-9.2-a
#[test]
fn a_retransmission_that_is_lost_is_sent_again_after_a_round_trip() {
    let lost = |number| if number == 150 { 2 } else { 0 };
    let mut pipe = losing(linux(100.0), lost);
    pipe.run(at(5000));
    let left: Vec<Time> =
        pipe.sent.iter().filter(|(_, data)| data.number == 150 && !data.opens()).map(|sent| sent.0).collect();
    assert_eq!((left.len(), pipe.timeouts()), (3, 0));
    let gap = left[2] - left[1];
    assert!((Span::from_ms(100)..=Span::from_ms(210)).contains(&gap), "{gap}");
    let mut plain = losing(SenderConfig { recovery: Recovery::Sack, ..linux(100.0) }, lost);
    plain.run(at(5000));
    assert_eq!(plain.timeouts(), 1);
}

/// The first recovery lasts a round trip longer, since its retransmission was lost, too; packet 260, which left in it,
/// is lost and retransmitted meanwhile, but not acknowledged. So the acknowledgement that ends it begins the next, and
/// the window of the first is never open: the one threshold is half of the other, and no burst leaves.
// Requirement: rfc5681-4.3-e
#[test]
fn a_recovery_that_ends_with_losses_beyond_it_begins_the_next_at_once() {
    let mut pipe =
        losing(linux(100.0), |number| [0, 1, 2][usize::from(number == 260) + 2 * usize::from(number == 150)]);
    pipe.run(at(2000));
    let events: Vec<Outcome> = pipe.outcomes.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(events[..3], [Outcome::Reduced, Outcome::ReducedAgain, Outcome::Recovered]);
    let reduced_again = when(&pipe, |outcome| *outcome == Outcome::ReducedAgain).expect("it was seen");
    assert_eq!(pipe.sender.window().ssthresh, 25.0);
    let burst = pipe.sent.iter().filter(|(time, _)| *time == reduced_again).count();
    assert!(burst <= 2, "{burst} packets left at once");
}

/// In a trace of Linux 6.12 they left at 0, 1.01, 2.03, 3.06, 4.08, 5.11 and 7.12 s. Timeouts of 1 and 2 s end with the next
/// multiple of 32 ms, longer ones with coarser ticks.
#[test]
fn the_first_requests_follow_one_another_at_equal_distances() {
    let mut pipe = Pipe::new(linux(10.0), Span::from_ms(100), Span::ZERO, |data: &Data, _| data.opens());
    pipe.run(at(20_000));
    let opens: Vec<_> = pipe.sent.iter().map(|sent| sent.0).collect();
    assert_eq!(opens, [0, 1024, 2048, 3072, 4096, 5120, 7136, 11_264, 19_456].map(at));
}

/// A request that is lost once leaves the first window as it is, one that is lost twice a single packet. The timeouts of a
/// second end with the next multiple of 32 ms: at 1024 and 2048 ms.
#[test]
fn only_a_second_lost_request_leaves_a_single_packet() {
    for (lost, window) in [(1, 10), (2, 1)] {
        let request = move |data: &Data, tries: u32| data.opens() && tries <= lost;
        let mut pipe = Pipe::new(linux(10.0), Span::from_ms(100), Span::ZERO, request);
        pipe.run(at(2200));
        assert_eq!(pipe.timeouts(), lost as usize);
        let opened = Span::from_ms([1024, 2048][lost as usize - 1] + 100);
        let first =
            pipe.sent.iter().filter(|(time, data)| !data.opens() && *time == Time::ZERO + opened).count();
        assert_eq!(first, window, "{lost} requests were lost");
    }
}

/// 20 packets of which the last two are lost. The last acknowledgement comes when srtt is R; 2 R + 2 ms
/// later the last leaves once more; its report shows the other to be lost, which left long before, at
/// once.
// Requirement: rfc8985-1-a, rfc8985-4-a, rfc8985-7.2-a, rfc8985-7.2-c, rfc8985-7.3-e, rfc8985-7.3-f
#[test]
fn a_probe_finds_a_lost_tail_before_the_timer() {
    let tail = SenderConfig { size: Some(20 * 960), ..linux(20.0) };
    let mut pipe = losing(tail, |number| u32::from(number >= 18));
    pipe.run(at(5000));
    assert_eq!((pipe.timeouts(), pipe.reductions(), pipe.retransmissions()), (0, 1, 2));
    let retransmissions: Vec<(Time, u64)> = pipe
        .sent
        .iter()
        .filter(|(_, data)| data.retransmitted())
        .map(|(time, data)| (*time, data.number))
        .collect();
    assert_eq!([retransmissions[0].1, retransmissions[1].1], [19, 18]);
    let last =
        pipe.acked.iter().rfind(|(time, ..)| *time < retransmissions[0].0).expect("acknowledgements").0;
    let waited = retransmissions[0].0 - last;
    let sum = Span::from_ms(2 * 101 + 2); // round trips of 101 ms and more, by the queue of 20
    assert!((sum..sum + Span::from_ms(40)).contains(&waited), "{waited}");
    assert_eq!(retransmissions[1].0 - retransmissions[0].0, Span::from_ms(101));
    let mut plain =
        losing(SenderConfig { recovery: Recovery::Sack, ..tail }, |number| u32::from(number >= 18));
    plain.run(at(5000));
    assert_eq!(plain.timeouts(), 1);
}

/// On a path of 100 ms without a queue: after the handshake and packet 0 srtt is 100 ms and the margin
/// 200 ms. Packet 1 leaves at 200 ms and is lost. A probe would wait 2 x 100 + 200 ms for an
/// acknowledgement that may be held, but the timeout would come after 100 + 200: so the probe leaves in its
/// place, by the kernel's clock at 512 ms, and the window stays at 10. The probe's acknowledgement may be that of
/// a packet that came twice; that of packet 2, which leaves at 620 ms, shows at 720 that it repaired a loss: 5.
// Requirement: rfc8985-7.2-c, rfc8985-7.4.2-a, rfc8985-7.4.2-b
#[test]
fn of_a_single_packet_the_probe_takes_the_place_of_the_timeout() {
    let mut pipe = single(|number| u32::from(number == 1));
    pipe.run(at(613));
    let left = |pipe: &Pipe| pipe.sent.iter().map(|(time, data)| (*time, data.number)).collect::<Vec<_>>();
    assert_eq!(left(&pipe)[1..], [(at(100), 0), (at(200), 1), (at(512), 1)]);
    assert_eq!((pipe.timeouts(), pipe.reductions(), pipe.sender.window().cwnd.floor()), (0, 0, 10.0));
    pipe.offer(3, at(620));
    pipe.run(at(800));
    assert_eq!((pipe.timeouts(), pipe.reductions(), pipe.sender.window().cwnd), (0, 1, 5.0));
}

/// The same if the probe is lost, too: the timeout follows 100 + 200 ms after it, by the kernel's clock at 832 ms.
// Requirement: rfc8985-7.3-a, rfc8985-7.3-b, rfc8985-7.3-c, rfc8985-7.3-g
#[test]
fn the_timeout_follows_the_probe_by_a_whole_timeout() {
    let mut pipe = single(|number| if number == 1 { 2 } else { 0 });
    pipe.run(at(1000));
    let left: Vec<Time> =
        pipe.sent.iter().filter(|(_, data)| !data.opens() && data.number == 1).map(|sent| sent.0).collect();
    assert_eq!(left, [200, 512, 832].map(at));
    assert_eq!(pipe.timeouts(), 1);
}

/// A window of ten packets of which none is acknowledged, and more data: the probe is packet 10, one more than the window
/// allows, and nothing follows it. Then the timer is that of the timeout.
// Requirement: rfc8985-7.3-d, rfc8985-7.3-g
#[test]
fn a_probe_is_new_data_where_there_are_any() {
    let mut direct = Direct::new("reno", linux(10.0), 20);
    direct.now = direct.sender.timer();
    assert!(direct.now < at(100) + Span::from_ms(300), "the timer of a probe");
    assert_eq!(direct.sender.on_timer(direct.now), Outcome::Quiet);
    assert_eq!(direct.leave(), [10]);
    assert!(direct.sender.timer() >= direct.now + Span::from_ms(300), "{}", direct.sender.timer());
    direct.now = direct.sender.timer();
    assert!(matches!(direct.sender.on_timer(direct.now), Outcome::TimedOut(_)));
}

/// The timer waits for a probe when packet 1 is reported before packet 0: from then on it waits for the end of the
/// reordering window, 25 ms, which is sooner, and there is no other. When it has expired, packet 0 is lost.
// Requirement: rfc8985-6.2-b, rfc8985-8-a
#[test]
fn the_timer_of_reordering_takes_the_place_of_that_of_the_probe() {
    let mut direct = Direct::new("reno", linux(10.0), 10);
    let probe = direct.sender.timer();
    direct.after(100, direct.ack(0, &[(1, 2)]));
    let timer = direct.sender.timer();
    assert!(timer < probe && timer <= direct.now + Span::from_ms(40), "{timer} {probe}");
    direct.now = timer;
    assert_eq!(direct.sender.on_timer(timer), Outcome::Reduced);
    assert_eq!(direct.leave(), [0]);
}

/// Of 20 packets the last is lost: one is outstanding, so 50 ms for an acknowledgement that may be held
/// come on top of two round trips, where the timeout leaves as much time.
// Requirement: rfc8985-7.2-c
#[test]
fn with_one_packet_in_flight_a_probe_waits_for_a_delayed_acknowledgement() {
    let tail = SenderConfig { size: Some(20 * 960), min_rto: Span::from_ms(50), ..linux(20.0) };
    let mut pipe = losing(tail, |number| u32::from(number == 19));
    pipe.run(at(5000));
    let retransmission =
        pipe.sent.iter().find(|(_, data)| data.retransmitted()).expect("it is retransmitted").0;
    let last = pipe.acked.iter().rfind(|(time, ..)| *time < retransmission).expect("acknowledgements").0;
    assert!(retransmission - last >= Span::from_ms(2 * 101 + 50), "{}", retransmission - last);
    assert_eq!((pipe.timeouts(), pipe.retransmissions()), (0, 1));
}

/// Slow start from 10 packets of which no more than `packets` are ready, with an acknowledgement for
/// each two of them: the window after each.
fn short_of_data(packets: u64) -> Vec<f64> {
    let mut pipe = losing(SenderConfig { initial_ssthresh: f64::INFINITY, ..linux(10.0) }, |_| 0);
    pipe.by_twos(packets)
}

/// What packetdrill's slow-start-app-limited, -9-packets-out, -send-6pkt and -send-5pkt expect of the
/// kernel: ten packets used the window in full, which is remembered until they are acknowledged, so it
/// doubles; nine let it grow to 18, six to 12, five not at all.
#[test]
fn in_slow_start_a_window_short_of_data_grows_to_twice_what_was_used() {
    assert_eq!(short_of_data(10), [12.0, 14.0, 16.0, 18.0, 20.0]);
    assert_eq!(short_of_data(9), [12.0, 14.0, 16.0, 18.0, 18.0]);
    assert_eq!(short_of_data(6), [12.0, 12.0, 12.0]);
    assert_eq!(short_of_data(5), [10.0, 10.0, 10.0]);
}

/// A window of 10 in congestion avoidance: ten acknowledgements make it 11, and the last of them releases
/// the last two of 21 packets. From then on the application has nothing more to send, but that the
/// window stopped the sender is remembered for these 11 packets: their acknowledgements make it 12. The
/// next five packets use less than the window, and earn nothing.
#[test]
fn that_the_window_stopped_the_sender_is_remembered_for_a_window_of_data() {
    let mut pipe = losing(linux(10.0), |_| 0);
    pipe.sender.ready(21);
    pipe.run(at(1000));
    let cwnd = pipe.sender.window().cwnd;
    assert_eq!(cwnd.floor(), 12.0);
    pipe.offer(26, at(1000));
    pipe.run(at(2000));
    assert_eq!((pipe.acked.len(), pipe.sender.window().cwnd), (1 + 26, cwnd));
}

/// A sender on a path of 100 ms that gets the acknowledgements of a test.
struct Direct {
    sender: Sender<Builtin>,
    now: Time,
    stamps: Vec<Time>,
}

impl Direct {
    /// A connection that has opened and sent the first of that many packets.
    fn new(controller: &str, config: SenderConfig, packets: u64) -> Direct {
        let sender =
            Sender::new(config, ControllerChoice::named(controller).expect("in the catalogue").build());
        let mut direct = Direct { sender, now: Time::ZERO, stamps: Vec::new() };
        direct.sender.ready(packets);
        direct.leave();
        direct.stamps.clear();
        direct.now = at(100);
        let opened = Ack { opens: true, echo: Time::ZERO, ..direct.ack(0, &[]) };
        direct.sender.on_ack(&opened, direct.now);
        direct.leave();
        direct
    }

    /// Lets go what may leave: the numbers.
    fn leave(&mut self) -> Vec<u64> {
        let now = self.now;
        let mut left = Vec::new();
        while let Poll::Send(data) = self.sender.poll(now) {
            self.sender.launched(1, now);
            self.stamps.resize(self.stamps.len().max(data.number as usize + 1), now);
            self.stamps[data.number as usize] = now;
            left.push(data.number);
        }
        left
    }

    fn ack(&self, next: u64, reported: &[(u64, u64)]) -> Ack {
        let mut sack = [SackBlock::default(); SACK_BLOCKS];
        for (block, (from, to)) in sack.iter_mut().zip(reported) {
            *block = SackBlock { from: (from - next) as u32, to: (to - next) as u32 };
        }
        let newest = reported.first().map_or(next, |block| block.1).saturating_sub(1);
        let echo = self.stamps.get(newest as usize).copied().unwrap_or(Time::ZERO);
        let blocks = reported.len() as u8;
        Ack { next, echo, arrived: self.now, sack, blocks, ..Ack::default() }
    }

    /// An acknowledgement comes that many ms later: the numbers of what it lets go.
    fn after(&mut self, ms: u64, ack: Ack) -> Vec<u64> {
        self.now += Span::from_ms(ms);
        self.sender.on_ack(&ack, self.now);
        self.leave()
    }

    fn cwnd(&self) -> f64 {
        self.sender.window().cwnd
    }
}

fn marked_in_slow_start() -> SenderConfig {
    SenderConfig { ecn: Ecn::Capable, initial_ssthresh: f64::INFINITY, ..linux(10.0) }
}

/// Each acknowledgement echoes a mark. What left, and the window after it, as Linux 6.18 had them for the same
/// acknowledgements over a TUN device: of D delivered ceil(D x 5 / 10) leave until 5 are in flight, then what is
/// delivered; the eleventh acknowledges what left after the first, and reduces again, from 5 to 2: ceil(D x 2 /
/// 5). A window that fell at once would send nothing for the first five.
#[test]
fn the_echo_of_a_mark_reduces_the_window_in_proportion() {
    let mut direct = Direct::new("reno", marked_in_slow_start(), 40);
    let mut trace = Vec::new();
    for next in 1..=16 {
        let ack = Ack { ece: true, ..direct.ack(next, &[]) };
        let left = direct.after(if next == 1 { 100 } else { 7 }, ack).len();
        trace.push((left, direct.cwnd()));
    }
    let kernel = [
        [(1, 10.0), (0, 9.0), (1, 9.0), (0, 8.0), (1, 8.0), (0, 7.0), (1, 7.0), (0, 6.0)],
        [(0, 5.0), (1, 5.0), (1, 5.0), (0, 4.0), (1, 4.0), (0, 3.0), (0, 2.0), (1, 2.0)],
    ];
    assert_eq!(trace, kernel.concat());
}

/// packetdrill's cwnd-moderation-ecn-enter-cwr: 4 packets of a window of 10, and the first acknowledgement echoes
/// a mark. 3 are in flight, the threshold is 7: one for the one delivered, and one more since the cumulative
/// acknowledgement moved: 5, as Linux 6.18 has it. The script says 4, which was so until 5.14 no longer made that
/// one more depend on a retransmission.
#[test]
fn an_echo_with_little_in_flight_leaves_what_is_in_flight_and_two() {
    let mut direct = Direct::new("cubic", marked_in_slow_start(), 4);
    let ack = Ack { ece: true, ..direct.ack(1, &[]) };
    direct.after(100, ack);
    assert_eq!((direct.cwnd(), direct.sender.window().ssthresh), (5.0, 7.0));
    // Nothing has left since: of the four delivered, four may leave and one more. The acknowledgement of
    // something newer ends it at the threshold.
    direct.after(1, direct.ack(4, &[]));
    assert_eq!(direct.cwnd(), 5.0);
    direct.sender.ready(5);
    direct.leave();
    direct.after(100, direct.ack(5, &[]));
    assert_eq!(direct.cwnd(), 7.0);
}

/// After packetdrill's prr-ss-ack-below-snd_una: of a window of 10 packet 3 is lost. The acknowledgement of
/// 0 to 2 overtakes the one that came of packet 6, and reports 4 to 6 though it ends at 2. Three reports are
/// a loss: 3 leaves at once. In a recovery, too, what such a one reports makes room: 0 and 5 of 10 are lost;
/// 0 to 4 are acknowledged, 5 to 9 are in flight at a threshold of 5, and the overtaken one reports 6 to 9: 5
/// leaves again, and four new ones.
// Requirement: rfc6675-5-a
#[test]
fn sack_blocks_of_an_overtaken_acknowledgement_count() {
    for recovery in [Recovery::Sack, Recovery::SackPrr, Recovery::Rack] {
        let mut direct = Direct::new("reno", SenderConfig { recovery, ..linux(10.0) }, 10);
        assert!(direct.after(100, direct.ack(3, &[])).is_empty());
        assert_eq!(direct.after(1, direct.ack(2, &[(4, 7)])).first(), Some(&3), "{recovery:?}");
    }
    let mut direct = Direct::new("reno", SenderConfig { recovery: Recovery::Sack, ..linux(10.0) }, 10);
    direct.after(100, direct.ack(0, &[(1, 2)]));
    direct.after(1, direct.ack(0, &[(1, 3)]));
    assert_eq!(direct.after(1, direct.ack(0, &[(1, 4)])), [0]);
    assert!(direct.after(100, direct.ack(5, &[])).is_empty());
    direct.sender.ready(40);
    assert_eq!(direct.after(1, direct.ack(4, &[(6, 10)])), [5, 10, 11, 12, 13]);
}

/// The same with an acknowledgement that is older by more than a millisecond: to the kernel it is of long ago.
#[test]
fn an_overtaken_acknowledgement_counts_in_linux_while_its_time_stamp_may_be_of_now() {
    for (ms, counts) in [(100, true), (99, true), (98, false)] {
        let mut direct = Direct::new("reno", linux(10.0), 10);
        direct.after(100, Ack { arrived: at(100), ..direct.ack(3, &[]) });
        let left = direct.after(1, Ack { arrived: at(ms), ..direct.ack(2, &[(4, 7)]) });
        assert_eq!(left.first() == Some(&3), counts, "{ms} ms");
    }
}

/// RFC 6937 covers fast recovery only: with `prr = true` alone a mark reduces at once.
#[test]
fn without_the_rules_of_linux_a_mark_reduces_at_once() {
    let config = SenderConfig { recovery: Recovery::SackPrr, ..marked_in_slow_start() };
    let mut direct = Direct::new("reno", config, 40);
    let ack = Ack { ece: true, ..direct.ack(1, &[]) };
    assert_eq!((direct.after(100, ack), direct.cwnd()), (vec![], 5.0));
}

/// Packets that come 10 ms late on a path of 80 ms. The first time, three reports are believed, and
/// taken back; from then on 80 / 4 = 20 ms are allowed for. Without times each is a loss.
#[test]
fn packets_that_change_places_by_less_than_a_quarter_of_a_round_trip_cost_at_most_once() {
    let reductions = |recovery: &str| {
        let run = run_text(&format!(
            "duration = \"20 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"20 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\n\
             reorder = {{ probability = 0.01, delay = \"10 ms\" }}\n[[flow]]\nname = \"F\"\nrtt = \"80 ms\"\n\
             controller = \"reno\"\nrecovery = \"{recovery}\"\nmax_window = 100\n"
        ));
        assert_eq!(run.events("timeout").len(), 0);
        run.events("reduction").len()
    };
    assert!(reductions("rack") <= 1);
    assert!(reductions("sack") > 20);
}

/// Ten packets a round from a window of 10, then 11 in 11 packets, and so on: after rounds that
/// bring 10 + 11 + 12 = 33 packets the window is 13, exactly. 13 lose one: 6.
#[test]
fn a_whole_window_gains_one_packet_for_each_window_acknowledged() {
    let mut pipe = losing(linux(10.0), |number| u32::from(number == 40));
    pipe.run(at(5000));
    let window_after = |number: u64| {
        let found = pipe.acked.iter().find(|(_, ack, _)| ack.next == number && !ack.opens);
        found.expect("it is acknowledged").2
    };
    assert_eq!([9, 10, 21, 33].map(|number| window_after(number).floor()), [10.0, 11.0, 12.0, 13.0]);
    let reduced = when(&pipe, |outcome| *outcome == Outcome::Recovered).expect("a recovery");
    let (.., cwnd) = pipe.acked.iter().find(|acked| acked.0 == reduced).expect("its end");
    assert_eq!(*cwnd, 6.0);
}

/// 16 acknowledgements for the first 16 packets, then one for two: 10 for the 20 that follow.
#[test]
fn after_sixteen_packets_every_second_is_acknowledged() {
    let mut receiver = Receiver::new(true, Some(Hold::Adaptive { quick: 16 }), false);
    let packet = |number, packets, ms| Data {
        number,
        stamped: at(ms),
        size: 1000,
        packets,
        sending: Sending::First,
        ecn: Ecn::NotCapable,
        cwr: false,
        congestion: None,
    };
    receiver.receive(&packet(0, 0, 0), at(0));
    let mut answered = |numbers: std::ops::Range<u64>| {
        let answers = numbers.map(|n| receiver.receive(&packet(n, 1, 100 + n), at(100 + n)).1);
        answers.flatten().count()
    };
    assert_eq!([answered(0..16), answered(16..36)], [16, 10]);
    // A packet beyond a gap says so at once, and with it for the one that waited.
    assert_eq!([answered(36..37), answered(38..39), answered(37..38)], [0, 1, 1]);
}

/// A flow of the profile alone: 100 Mbit/s, 23 ms, 133 packets of queue.
fn alone(controller: &str, seconds: u64) -> Run {
    run_text(&format!(
        "duration = \"{seconds} s\"\nwarmup = \"10 s\"\nprofile = \"linux\"\npacket = \"1500 B\"\n[bottleneck]\n\
         rate = \"100 Mbit/s\"\ndelay = \"11.5 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"133 packets\" }}\n\
         [[flow]]\nname = \"F\"\ncontroller = \"{controller}\"\noverhead = \"0 s\"\n"
    ))
}

/// Path and queue hold 192 + 133 = 325 packets. Reno halves that: 162, below the 192 of the path, so
/// it fills the link but for the first rounds after a loss: it wants 30 of 192 packets at first,
/// and none after 30 of the 163 rounds of a cycle: 30 x 30 / 2 of 192 x 163, 1.4 %. CUBIC keeps 227,
/// and fills it.
#[test]
fn a_flow_of_linux_fills_the_link() {
    let (reno, cubic) = (alone("reno", 60), alone("cubic", 60));
    within(0.01, 0.986, reno.utilization(0), "reno");
    within(0.002, 1.0, cubic.utilization(0), "cubic");
    for (run, kept) in [(&reno, 162.0), (&cubic, 227.0)] {
        let recovered = run.events("recovered");
        assert!(recovered.len() > 3 && run.events("timeout").is_empty());
        assert!(recovered.iter().all(|event| (event.value - kept).abs() <= 2.0), "{recovered:?}");
    }
}

/// CUBIC's slow start ends before it loses a window: with 325 packets of room it would lose as many.
#[test]
fn hybrid_slow_start_loses_a_part_of_what_the_other_does() {
    let lost = |slow_start: &str| -> u64 {
        let run = run_text(&format!(
            "duration = \"3 s\"\nprofile = \"linux\"\npacket = \"1500 B\"\n[bottleneck]\nrate = \"100 Mbit/s\"\n\
             delay = \"11.5 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"133 packets\" }}\n[[flow]]\nname = \"F\"\n\
             controller = \"cubic\"\nslow_start = \"{slow_start}\"\noverhead = \"0 s\"\n"
        ));
        run.record.flows[0].iter().map(|row| row.lost).sum()
    };
    let (full, hystart) = (lost("full"), lost("hystart"));
    assert!(full > 200 && hystart < 40, "{full} {hystart}");
}
