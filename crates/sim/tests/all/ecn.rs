//! Explicit congestion notification [RFC 3168]: the sender's rule packet by packet, and what a mark
//! makes of queues and shares, with numbers worked out by hand.

use crate::support::{Run, run_text, within};
use crate::wire::{Pipe, at, config};
use fairhaul_experiment::{Record, Recovery};
use fairhaul_sim::tcp::{Outcome, SenderConfig};
use fairhaul_units::{Data, Ecn, Span, Time};

fn capable(cwnd: f64) -> SenderConfig {
    let config = config(Recovery::Sack);
    SenderConfig { ecn: Ecn::Capable, initial_window: cwnd, initial_ssthresh: cwnd, ..config }
}

/// A window of 10 in rounds of 100 ms, 1 ms between packets, of which a queue marks the packets with these
/// numbers.
fn marking(marked: &'static [u64], lost: &'static [u64]) -> Pipe {
    let fate = move |data: &Data, tries: u32| tries == 1 && !data.opens() && lost.contains(&data.number);
    let mut pipe = Pipe::new(capable(10.0), Span::from_ms(100), Span::from_ms(1), fate);
    pipe.marks = Box::new(move |data| marked.contains(&data.number));
    pipe.run(at(1000));
    pipe
}

fn windows(pipe: &Pipe) -> Vec<Outcome> {
    pipe.outcomes.iter().map(|(_, outcome)| *outcome).collect()
}

#[test]
fn marks_of_one_window_give_one_reduction_and_nothing_is_retransmitted() {
    // 0 to 9 are outstanding when the echo of packet 0 comes back: the echoes of 3 and 9 cause no further
    // reduction.
    let pipe = marking(&[0, 3, 9], &[]);
    assert_eq!(windows(&pipe), [Outcome::Marked]);
    assert_eq!((pipe.reductions(), pipe.retransmissions()), (0, 0));
}

// Requirement: rfc3168-6.1.1-d, rfc3168-6.1.2-e
#[test]
fn the_first_new_packet_carries_cwr_and_a_mark_on_it_reduces_again() {
    let pipe = marking(&[3], &[]);
    let said: Vec<u64> = pipe.sent.iter().filter(|(_, data)| data.cwr).map(|(_, d)| d.number).collect();
    // 3 more have left for packets 0 to 2 when the echo of packet 3 comes.
    assert_eq!(said, [13]);
    // The window goes from 10.3 to 5.15, and by then 9 are in flight: packets 4 to 12. What the
    // echo reduced, five acknowledgements let go on.
    let sent = |number| pipe.sent.iter().find(|(_, data)| data.number == number).map(|sent| sent.0);
    let acknowledged = |number: u64| pipe.acked.iter().find(|ack| ack.1.next == number + 1).map(|ack| ack.0);
    assert_eq!(sent(13), acknowledged(8));
    assert_eq!(windows(&marking(&[3, 12], &[])), [Outcome::Marked]);
    assert_eq!(windows(&marking(&[3, 13], &[])), [Outcome::Marked, Outcome::Marked]);
}

// Requirement: rfc3168-6.1.2-b
#[test]
fn the_echo_ends_with_cwr_and_the_window_is_constant_until_then() {
    let pipe = marking(&[3], &[]);
    let echoed: Vec<u64> = pipe.acked.iter().filter(|ack| ack.1.ece).map(|ack| ack.1.next).collect();
    assert_eq!(echoed, (4..=13).collect::<Vec<_>>());
    // 13 is acknowledged after a round without growth: from 5.15, by 1/w for each after it.
    let window = |next: u64| pipe.acked.iter().find(|ack| ack.1.next == next).expect("it is acknowledged").2;
    assert!((window(4) - 5.15).abs() < 0.01, "{}", window(4));
    assert_eq!(window(13), window(4));
    assert!((window(14) - window(13) - 1.0 / window(13)).abs() < 1e-9);
}

#[test]
fn a_loss_in_a_window_reduced_for_a_mark_is_repaired_without_another_reduction() {
    let pipe = marking(&[0], &[5]);
    assert_eq!(windows(&pipe), [Outcome::Marked, Outcome::Recovered]);
    assert_eq!((pipe.retransmissions(), pipe.timeouts()), (1, 0));
    // The other way round: the echo comes in recovery, or of what was outstanding before it.
    let pipe = marking(&[7, 9], &[2]);
    assert_eq!(windows(&pipe), [Outcome::Reduced, Outcome::Recovered]);
    // The packet with CWR is new data, and its loss another event.
    let pipe = marking(&[3], &[13]);
    assert_eq!(windows(&pipe)[..2], [Outcome::Marked, Outcome::Reduced]);
}

// Requirement: rfc3168-5.2-a, rfc3168-6.1.1-h, rfc3168-6.1.2-d, rfc3168-6.1.5-a
#[test]
fn what_is_sent_again_and_what_opens_cannot_be_marked() {
    for recovery in [Recovery::Sack, Recovery::Reno, Recovery::NewReno { impatient: true }] {
        let config = SenderConfig { recovery, ..capable(20.0) };
        // Lost at once and again, so that timeouts are among it.
        let fate = |data: &Data, tries| tries <= 2 && (data.number % 40 == 7 || data.opens());
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), fate);
        pipe.run(at(20_000));
        assert!(pipe.retransmissions() > 10 && pipe.timeouts() > 1);
        for (_, data) in &pipe.sent {
            let wanted = if data.retransmitted() || data.opens() { Ecn::NotCapable } else { Ecn::Capable };
            assert_eq!(data.ecn, wanted, "{data:?}");
            assert!(!data.cwr || wanted == Ecn::Capable, "{data:?}");
        }
        // Each reduction, and each timeout except repeated ones, is reported once.
        assert!(pipe.sent.iter().any(|(_, data)| data.cwr));
    }
}

// Requirement: rfc3168-6.1.2-c, rfc9438-4.6-f
#[test]
fn a_window_of_one_packet_waits_for_the_timer_between_packets() {
    let mut pipe = Pipe::new(capable(1.0), Span::from_ms(100), Span::ZERO, |_, _| false);
    pipe.marks = Box::new(|data| !data.opens());
    pipe.run(at(3000));
    let left: Vec<Time> = pipe.sent.iter().filter(|(_, data)| !data.opens()).map(|sent| sent.0).collect();
    assert_eq!(left[0], at(100));
    // Each acknowledgement comes after 100 ms; the timer is at least 100 + 200 ms.
    assert!(left.windows(2).all(|pair| pair[1] - pair[0] >= Span::from_ms(400)), "{left:?}");
    assert!(left.len() >= 6 && pipe.timeouts() == 0, "{left:?}");
    assert_eq!(pipe.sender.window().cwnd, 1.0);
}

/// Every packet is marked. A window of four comes down to two, where it stays unless the least window is one packet: then
/// the next echo leaves one, and from there on a packet leaves each time the timer would expire.
// Requirement: rfc9438-4.6-e
#[test]
fn marks_leave_one_packet_where_the_least_window_is_one() {
    let sent = |min_window| {
        let config = SenderConfig { min_window, ..capable(4.0) };
        let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, |_, _| false);
        pipe.marks = Box::new(|data| !data.opens());
        pipe.run(at(5000));
        let late = pipe.sent.iter().filter(|(sent, _)| *sent > at(2000)).count();
        (pipe.sender.window().cwnd, late)
    };
    // Of the 29 rounds between 2 s and 5 s: two packets in each, or one every 400 to 500 ms.
    assert_eq!([None, Some(2.0)].map(sent), [(2.0, 58); 2]);
    let (cwnd, late) = sent(Some(1.0));
    assert!(cwnd == 1.0 && (6..=8).contains(&late), "{cwnd} {late}");
}

/// Two flows of 100 ms over 8 Mbit/s: packets of 1 ms, a bandwidth-delay product of 100 packets.
fn shared(queue: &str, ecn: [bool; 2], flows: usize) -> Run {
    let flow = |n: usize| {
        let ecn = ecn[n % 2];
        format!("[[flow]]\nname = \"F{n}\"\nrtt = \"100 ms\"\ncontroller = \"reno\"\necn = {ecn}\n")
    };
    run_text(&format!(
        "duration = \"300 s\"\nwarmup = \"50 s\"\n[bottleneck]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ kind = \"droptail\", {queue} }}\n{}",
        (0..flows).map(flow).collect::<String>()
    ))
}

fn link_total(run: &Run, of: fn(&fairhaul_experiment::LinkRow) -> u64) -> u64 {
    run.record.links[0].iter().map(of).sum()
}

// Requirement: rfc3168-5-b
#[test]
fn marks_at_k_make_a_sawtooth_between_half_and_the_whole_of_bdp_and_k() {
    for k in [50, 100, 150] {
        let queue = format!("capacity = \"400 packets\", mark = \"{k} packets\"");
        let run = shared(&queue, [true; 2], 1);
        // The link and the wires hold 100 packets and a bit, the queue k when one is marked. The
        // echo is back a round later, in which the window grew by one: (100 + k + 1) / 2 is left.
        let left: Vec<f64> = run.events("marked").iter().map(|event| event.value).collect();
        assert!(left.len() > 5, "{left:?}");
        let wanted = (101 + k) as f64 / 2.0;
        assert!(left.iter().all(|cwnd| (cwnd - wanted).abs() <= 1.5), "{k}: {wanted} {left:?}");
        assert!(run.events("reduction").is_empty() && run.events("timeout").is_empty());
        // The window is as high as the path is full from K = BDP on: the queue never runs dry.
        let busy = run.utilization(0);
        assert!(if k >= 100 { busy > 0.999 } else { busy < 0.99 && busy > 0.9 }, "{k}: {busy}");
    }
}

#[test]
fn capable_flows_lose_nothing_and_the_marks_are_counted() {
    let run = shared("capacity = \"300 packets\", mark = \"40 packets\"", [true; 2], 4);
    // Slow start overshoots by no more than twice what was in flight when the first was marked.
    assert_eq!(link_total(&run, |row| row.dropped), 0);
    assert!(link_total(&run, |row| row.marked) > 100);
    assert!(run.record.flows.iter().flatten().all(|row| row.retransmitted == 0));
    assert!((0..4).all(|flow| run.goodput_bps(flow) > 1e6), "each of four gets its part of 7.7 Mbit/s");
}

#[test]
fn flows_that_cannot_be_marked_are_served_beside_those_that_can() {
    for mark in [50, 90] {
        let queue = format!("capacity = \"100 packets\", mark = \"{mark} packets\"");
        let run = shared(&queue, [true, false], 4);
        assert!(link_total(&run, |row| row.dropped) > 0 && link_total(&run, |row| row.marked) > 0);
        let marked: Vec<u32> = run.events("marked").iter().map(|event| event.flow).collect();
        assert!(!marked.is_empty() && marked.iter().all(|flow| flow % 2 == 0));
        let goodput = [0, 1, 2, 3].map(|flow| run.goodput_bps(flow));
        // Whose packets are marked keep two in a round of at most 100 + 100 ms: 10 a second.
        assert!(goodput.iter().all(|&bps| bps > 10.0 * 960.0 * 8.0), "{goodput:?}");
        // The others fill the queue beyond the mark, and so take the more.
        assert!(goodput[1] + goodput[3] > goodput[0] + goodput[2], "{goodput:?}");
        assert!(run.utilization(0) > 0.99);
    }
}

#[test]
fn a_mark_without_capable_flows_and_capable_flows_without_a_mark_change_nothing() {
    let plain = shared("capacity = \"100 packets\"", [false; 2], 2).record;
    assert!(plain.events.iter().any(|event| event.kind == "reduction"));
    let marks = shared("capacity = \"100 packets\", mark = \"50 packets\"", [false; 2], 2).record;
    let capable = shared("capacity = \"100 packets\"", [true; 2], 2).record;
    for other in [marks, capable] {
        // Without a sample a mean is NaN, which does not equal itself.
        assert_eq!(format!("{other:?}"), format!("{plain:?}"));
    }
}

/// Packets in the queue in each part of the time after the warm-up.
fn backlog(run: &Run) -> Vec<f64> {
    let grid = run.record.grid;
    let first = grid.bin(Time::ZERO + run.scenario.warmup);
    run.record.links[0][first..].iter().map(|row| row.backlog_packets).collect()
}

/// `flows` of DCTCP on a path of P = 100 packets (a round of 100 ms and a bit) over a queue that
/// marks from `k` on.
fn dctcp(flows: usize, k: u32) -> Run {
    run_text(&format!(
        "duration = \"300 s\"\nwarmup = \"100 s\"\n[bottleneck]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"400 packets\", mark = \"{k} packets\" }}\n\
         [[flow]]\nname = \"F\"\ncount = {flows}\nrtt = \"100 ms\"\ncontroller = \"dctcp\"\n"
    ))
}

/// The lowest and the highest backlog, and the mean.
fn sawtooth(run: &Run) -> (f64, f64, f64) {
    assert_eq!(link_total(run, |row| row.dropped), 0);
    assert!(run.utilization(0) > 0.999, "{}", run.utilization(0));
    let queue = backlog(run);
    let (low, high) = queue.iter().fold((f64::MAX, 0.0f64), |(low, high), q| (low.min(*q), high.max(*q)));
    (low, high, queue.iter().sum::<f64>() / queue.len() as f64)
}

/// [DCTCP, 3.3]: the window of one flow reaches W = P + K and gives up A = W alpha / 2 with alpha
/// near sqrt(2 / W), that is A = sqrt(2 W) / 2 to first order: 7.7 and 8.9 packets for K = 20 and
/// 60. The queue falls from K + 1 by A, and comes back by a packet a round. The backlog is seen as
/// means over a round, which cut the points of the teeth by half a packet at both ends.
#[test]
fn dctcp_keeps_the_queue_within_a_small_sawtooth_below_the_mark() {
    for k in [20, 60] {
        let run = dctcp(1, k);
        let (mark, amplitude) = (f64::from(k), libm::sqrt(2.0 * f64::from(100 + k)) / 2.0);
        let (low, high, mean) = sawtooth(&run);
        within(0.25, amplitude, high - low, "amplitude");
        assert!(high < mark + 1.0 && low > mark + 1.0 - amplitude, "{low} to {high}");
        within(0.05, mark + 1.0 - amplitude / 2.0, mean, "mean backlog");
        let marks = run.events("marked");
        let period_s = (marks[marks.len() - 1].t_s - marks[0].t_s) / (marks.len() - 1) as f64;
        within(0.2, amplitude, period_s / (0.1 + 0.001 * mean), "rounds between two reductions");
    }
}

/// A path of 12 packets whose queue marks from the second on, and an alpha that hardly changes: half of it are 0.05. In
/// Linux a reduction of less than a packet is none, so marks in every round leave a window of 15, which neither grows
/// nor falls. If the window were rounded down, a mark would cost a packet.
#[test]
fn in_linux_a_reduction_of_dctcp_by_less_than_a_packet_is_none() {
    let run = run_text(
        "duration = \"30 s\"\nwarmup = \"10 s\"\nprofile = \"linux-tcp\"\n[bottleneck]\nrate = \"960 kbit/s\"\n\
         delay = \"20 ms\"\nqueue = { kind = \"droptail\", capacity = \"100 packets\", mark = \"2 packets\" }\n\
         [[flow]]\nname = \"F\"\nrtt = \"100 ms\"\ncontroller = { kind = \"dctcp\", alpha = 0.1, gain = 0.0001 }\n",
    );
    let first = run.record.grid.bin(Time::ZERO + run.scenario.warmup);
    let windows = run.record.flows[0][first..].iter().map(|row| row.cwnd_packets);
    let (least, most) = windows.fold((f64::MAX, 0.0f64), |(least, most), w| (least.min(w), most.max(w)));
    assert_eq!((least, most), (15.0, 15.0));
    assert!(run.events("marked").len() > 50);
}

/// For N flows that move together W is (P + K) / N, and all give up N alpha W / 2 = sqrt(2 N (P +
/// K)) / 2: 15.5 packets for four with K = 20, from K + N down.
#[test]
fn four_flows_of_dctcp_share_evenly_within_the_sawtooth_of_all() {
    let run = dctcp(4, 20);
    let (low, high, mean) = sawtooth(&run);
    within(0.15, libm::sqrt(2.0 * 4.0 * 120.0) / 2.0, high - low, "amplitude of four");
    assert!(high < 24.0 && (low..high).contains(&mean), "{low} to {high}, mean {mean}");
    let shares: Vec<f64> = (0..4).map(|flow| run.goodput_bps(flow) / 7.68e6).collect();
    assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.05), "{shares:?}");
}

/// Without marks it is standard TCP, record for record, except for what only it holds.
// Requirement: rfc8257-3.5-a
#[test]
fn dctcp_that_may_not_be_marked_is_reno() {
    let record = |controller: &str| {
        let run = run_text(&format!(
            "duration = \"30 s\"\n[bottleneck]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"50 packets\", mark = \"20 packets\" }}\n\
             [[flow]]\nname = \"F\"\nrtt = \"100 ms\"\ncontroller = \"{controller}\"\necn = false\n"
        ));
        format!("{:?}", Record { flow_gauges: Vec::new(), ..run.record })
    };
    assert!(record("dctcp") == record("reno"));
}
