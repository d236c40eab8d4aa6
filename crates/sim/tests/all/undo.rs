//! Undo: reductions for packets that were only late are undone, reductions for lost packets never.

use crate::support;
use crate::wire::{Pipe, at, config, sender};
use fairhaul_experiment::Recovery;
use fairhaul_sim::tcp::{Outcome, Poll, Receiver, Sender, SenderConfig};
use fairhaul_units::{Ack, Data, Span, Time};

const ALL: [Recovery; 5] = [
    Recovery::Sack,
    Recovery::SackPrr,
    Recovery::Reno,
    Recovery::NewReno { impatient: true },
    Recovery::NewReno { impatient: false },
];

/// Both ends, with every packet and acknowledgement in the hands of the test.
struct ManualPath {
    sender: Sender<fairhaul_cc::Builtin>,
    receiver: Receiver,
}

impl ManualPath {
    /// Opened at 100 ms, with a window of 10 that has left; the packets.
    fn opened(recovery: Recovery, undo: bool) -> (ManualPath, Vec<Data>) {
        let config = SenderConfig { initial_window: 10.0, initial_ssthresh: 10.0, undo, ..config(recovery) };
        let receiver = Receiver::new(recovery.reports(), None, false);
        let mut path = ManualPath { sender: sender(config), receiver };
        let request = path.leaves(Time::ZERO);
        path.arrives(&request[0], at(100));
        let packets = path.leaves(at(100));
        assert_eq!(packets.len(), 10);
        (path, packets)
    }

    fn leaves(&mut self, now: Time) -> Vec<Data> {
        std::iter::from_fn(|| match self.sender.poll(now) {
            Poll::Send(data) => Some(data),
            _ => None,
        })
        .collect()
    }

    /// A packet arrives, and its acknowledgement too: what that causes.
    fn arrives(&mut self, data: &Data, now: Time) -> Outcome {
        let ack: Ack = self.receiver.receive(data, now).1.expect("none is held");
        self.sender.on_ack(&ack, now)
    }

    /// The timer runs out: when that was, and what leaves.
    fn times_out(&mut self) -> (Time, Vec<Data>) {
        let now = self.sender.timer();
        assert!(matches!(self.sender.on_timer(now), Outcome::TimedOut(_)));
        (now, self.leaves(now))
    }
}

fn later(time: Time, ms: u64) -> Time {
    time + Span::from_ms(ms)
}

#[test]
fn a_spurious_timeout_is_undone_and_sends_nothing_again_but_its_first_packet() {
    for recovery in ALL {
        let (mut path, packets) = ManualPath::opened(recovery, true);
        let before = path.sender.window();
        let (first, retransmitted) = path.times_out();
        assert_eq!(
            retransmitted.iter().map(|d| (d.number, d.retransmitted())).collect::<Vec<_>>(),
            [(0, true)]
        );
        // A second timeout in a row belongs to it.
        let (second, retransmitted) = path.times_out();
        assert_eq!((retransmitted.len(), path.sender.window().cwnd), (1, 1.0));
        let undone = Outcome::Undone { since: first, finished: false };
        assert_eq!(path.arrives(&packets[0], later(second, 10)), undone, "{recovery:?}");
        assert_eq!(path.sender.window(), before);
        // 9 of 10 are in flight: one new packet, and one for each that arrives.
        let mut left = path.leaves(later(second, 10));
        for (i, packet) in packets[1..].iter().enumerate() {
            let now = later(second, 11 + i as u64);
            assert_eq!(path.arrives(packet, now), Outcome::Quiet, "{recovery:?}");
            left.extend(path.leaves(now));
        }
        assert!(left.iter().all(|data| !data.retransmitted()), "{recovery:?}");
        assert_eq!(left[0].number, 10);
        // Nine of ten grew it, by 1/10 each: it is at its threshold.
        assert!((path.sender.window().cwnd - 10.9).abs() < 0.05, "{:?}", path.sender.window());
        // The two that were retransmitted make duplicates, which are no sign of loss.
        for copy in &retransmitted {
            assert_eq!(path.arrives(copy, later(second, 30)), Outcome::Quiet);
        }
    }
}

#[test]
fn without_undo_a_spurious_timeout_costs_the_window() {
    for recovery in ALL {
        let (mut path, packets) = ManualPath::opened(recovery, false);
        let (when, _) = path.times_out();
        assert_eq!(path.arrives(&packets[0], later(when, 10)), Outcome::Quiet);
        assert_eq!(path.sender.window().ssthresh, 5.0);
        let retransmitted = path.leaves(later(when, 10));
        assert!(
            !retransmitted.is_empty() && retransmitted.iter().all(|data| data.retransmitted()),
            "{recovery:?}"
        );
    }
}

#[test]
fn a_spurious_timeout_makes_the_timer_careful() {
    // Before: SRTT = 100 ms and RTTVAR = 50 ms from the handshake. The first sample of what is sent
    // after the timeout is 260 ms: 260 + 4 x 130 = 780 ms [RFC 4015, 3.5].
    let (mut path, packets) = ManualPath::opened(Recovery::Sack, true);
    let (when, _) = path.times_out();
    for packet in &packets {
        path.arrives(packet, later(when, 10));
    }
    let new = path.leaves(later(when, 10));
    assert_eq!(new[0].number, 10);
    let now = new[0].stamped + Span::from_ms(260);
    path.arrives(&new[0], now);
    assert_eq!(path.sender.srtt(), Span::from_ms(260));
    assert_eq!(path.sender.timer() - now, Span::from_ms(780));
}

#[test]
fn a_lost_packet_is_never_undone_though_others_are_late() {
    for recovery in ALL {
        // 0 is lost; 1 is late.
        let (mut path, packets) = ManualPath::opened(recovery, true);
        let mut outcomes: Vec<_> = packets[2..].iter().map(|p| path.arrives(p, at(200))).collect();
        let retransmitted = path.leaves(at(200));
        outcomes.push(path.arrives(&packets[1], at(210)));
        let first = retransmitted.iter().find(|data| data.retransmitted()).expect("a retransmission");
        assert_eq!(first.number, 0);
        outcomes.push(path.arrives(first, at(300)));
        assert!(outcomes.contains(&Outcome::Reduced), "{recovery:?}");
        assert!(!outcomes.iter().any(|o| matches!(o, Outcome::Undone { .. })), "{recovery:?} {outcomes:?}");
        assert!(path.sender.window().cwnd <= 5.0 + 1.0);
    }
}

#[test]
fn of_a_late_packet_and_a_lost_one_behind_it_the_loss_is_charged() {
    // 0 is late, 1 is lost, and both are retransmitted: 0 closes its gap itself, 1 does not.
    for recovery in [Recovery::Sack, Recovery::SackPrr] {
        let (mut path, packets) = ManualPath::opened(recovery, true);
        let mut retransmitted = Vec::new();
        let mut outcomes = Vec::new();
        for packet in &packets[2..] {
            outcomes.push(path.arrives(packet, at(200)));
            retransmitted.extend(path.leaves(at(200)).into_iter().filter(|data| data.retransmitted()));
        }
        assert_eq!(retransmitted.iter().map(|data| data.number).collect::<Vec<_>>(), [0, 1]);
        outcomes.push(path.arrives(&packets[0], at(210)));
        outcomes.push(path.arrives(&retransmitted[1], at(300)));
        let reduced = outcomes.iter().filter(|o| **o == Outcome::Reduced).count();
        let undone = outcomes.iter().filter(|o| matches!(o, Outcome::Undone { .. })).count();
        assert_eq!((reduced, undone), (1, 0), "{recovery:?} {outcomes:?}");
        assert_eq!(path.sender.window().ssthresh, 5.0);
    }
}

#[test]
fn a_late_packet_that_ends_the_transfer_is_undone_too() {
    let (mut path, packets) = {
        let size = Some(10 * 960);
        let config = SenderConfig { size, initial_window: 10.0, ..config(Recovery::Sack) };
        let mut path = ManualPath { sender: sender(config), receiver: Receiver::new(true, None, false) };
        let request = path.leaves(Time::ZERO);
        path.arrives(&request[0], at(100));
        let packets = path.leaves(at(100));
        (path, packets)
    };
    for packet in &packets[..9] {
        path.arrives(packet, at(200));
    }
    let (when, _) = path.times_out();
    let outcome = path.arrives(&packets[9], later(when, 1));
    assert_eq!(outcome, Outcome::Undone { since: when, finished: true });
    assert!(outcome.finishes());
}

#[test]
fn losses_alone_leave_the_same_trail_with_undo_and_without() {
    for recovery in ALL {
        let trail = |undo| {
            let fate =
                |data: &Data, tries: u32| !data.opens() && (data.number * 7 + u64::from(tries)) % 97 < 2;
            let config = SenderConfig { undo, ..config(recovery) };
            let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), fate);
            pipe.run(at(30_000));
            assert!(pipe.reductions() + pipe.timeouts() > 10 && pipe.retransmissions() > 20, "{recovery:?}");
            (pipe.sent, pipe.outcomes)
        };
        assert!(trail(true) == trail(false), "{recovery:?}");
    }
}

/// Goodput of one flow over 20 Mbit/s and 60 ms, in Mbit/s, and its reductions and undone ones.
/// A fiftieth of the packets is 6 ms late: 15 packet times.
fn goodput(recovery: &str, undo: bool, reorder: bool) -> (f64, usize, usize) {
    let reorder = if reorder { "reorder = { probability = 0.02, delay = \"6 ms\" }" } else { "" };
    let run = support::run_text(&format!(
        "duration = \"30 s\"\nwarmup = \"5 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n{reorder}\n\
         queue = {{ kind = \"droptail\", capacity = \"1 bdp\" }}\n[[flow]]\nname = \"F\"\nrtt = \"60 ms\"\n\
         controller = \"reno\"\nrecovery = {recovery}\nundo = {undo}"
    ));
    (run.goodput_bps(0) / 1e6, run.events("reduction").len(), run.events("undone").len())
}

#[test]
fn reordering_costs_little_with_undo_and_most_of_the_throughput_without() {
    for recovery in ["\"sack\"", "{ kind = \"sack\", prr = true }", "{ kind = \"newreno\" }"] {
        let ((plain, ..), (kept, reduced, undone), (fallen, ..)) =
            (goodput(recovery, true, false), goodput(recovery, true, true), goodput(recovery, false, true));
        println!(
            "{recovery}: {plain:.2} plain, {kept:.2} with undo ({undone} of {reduced}), {fallen:.2} without"
        );
        assert!(kept > 0.85 * plain, "{recovery}: {kept} of {plain}");
        // By the square-root law at p = 0.02: 1.22 / sqrt(p) = 8.7 packets in 60 ms are 1.1 Mbit/s.
        assert!(fallen < 0.25 * plain, "{recovery}: {fallen} of {plain}");
    }
    // Without reordering nothing is undone, and nothing changes.
    let (on, off) = (goodput("\"sack\"", true, false), goodput("\"sack\"", false, false));
    assert_eq!((on, on.2), (off, 0));
}

/// Nothing overtakes anything here, so every loss is one, in whatever recovery it falls; also in the second of two that
/// follow each other, when the retransmissions of the first are still in flight.
#[test]
fn what_was_lost_is_never_taken_for_late() {
    let mut in_a_row = 0;
    for recovery in [Recovery::Sack, Recovery::SackPrr, Recovery::Rack] {
        for seed in 0..40 {
            let mut chance = fairhaul_units::Chance::stream(seed, "loss", 0);
            let config = SenderConfig { initial_window: 10.0, initial_ssthresh: 60.0, ..config(recovery) };
            let lost = move |_: &Data, _| chance.hits(0.02);
            let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_us(500), lost);
            pipe.run(at(30_000));
            let undone = |one: &&(Time, Outcome)| matches!(one.1, Outcome::Undone { .. });
            let found: Vec<_> = pipe.outcomes.iter().filter(undone).collect();
            assert!(found.is_empty(), "{recovery:?}, seed {seed}: {found:?}");
            let follows = |pair: &&[(Time, Outcome)]| {
                (pair[0].1, pair[1].1) == (Outcome::Recovered, Outcome::Reduced)
                    && pair[1].0.since(pair[0].0) < Span::from_ms(20)
            };
            in_a_row += pipe.outcomes.windows(2).filter(follows).count();
            in_a_row += pipe.outcomes.iter().filter(|one| one.1 == Outcome::ReducedAgain).count();
        }
    }
    assert!(in_a_row > 20, "{in_a_row}");
}
