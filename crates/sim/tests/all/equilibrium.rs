//! Controllers that measure delay or rate, compared with the equilibria of their rules.

use crate::support::{Run, run_text, within};

/// A bottleneck of 20 Mbit/s, in packets of 1000 bytes, with room for `queue`, and bulk flows of
/// these round-trip times, which all begin while the queue is empty.
fn shared(controller: &str, rtt_ms: &[u64], queue: &str, duration_s: u64) -> Run {
    let flows: String = rtt_ms
        .iter()
        .enumerate()
        .map(|(number, ms)| {
            format!("[[flow]]\nname = \"F{number}\"\nrtt = \"{ms} ms\"\ncontroller = {controller}\n")
        })
        .collect();
    let warmup_s = duration_s / 2;
    run_text(&format!(
        "duration = \"{duration_s} s\"\nwarmup = \"{warmup_s} s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
         delay = \"5 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"{queue}\" }}\n{flows}"
    ))
}

/// Packets in the bottleneck's queue, over time.
fn backlog(run: &Run) -> f64 {
    let grid = run.record.grid;
    let first = grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
    let bins = first..grid.len();
    let packets = bins.clone().map(|bin| run.record.links[0][bin].backlog_packets).sum::<f64>();
    packets / bins.len() as f64
}

#[test]
fn vegas_keeps_between_alpha_and_beta_packets_of_each_flow_queued() {
    for flows in [1, 3] {
        let run = shared("\"vegas\"", &vec![40; flows], "400 packets", 60);
        let per_flow = backlog(&run) / flows as f64;
        println!("vegas, {flows} flows: {per_flow:.2} packets queued of each");
        assert!((1.5..=4.5).contains(&per_flow), "{per_flow} packets of each of {flows} flows");
        assert!(run.utilization(0) > 0.99, "{}", run.utilization(0));
        assert!(run.events("reduction").is_empty());
    }
}

#[test]
fn fasts_flows_keep_alpha_packets_queued_and_share_evenly_whatever_the_round_trip() {
    let run = shared("{ kind = \"fast\", alpha = 30 }", &[20, 60, 120], "400 packets", 60);
    within(0.1, 90.0, backlog(&run), "fast, packets queued");
    for flow in 1..3 {
        let ratio = run.goodput_bps(flow) / run.goodput_bps(0);
        within(0.05, 1.0, ratio, "fast, goodput at a longer round trip");
    }
    assert!(run.events("reduction").is_empty());
}

#[test]
fn westwood_fills_a_link_whose_queue_is_a_fifth_of_the_path() {
    // 20 Mbit/s x 60 ms = 150 packets, and 30 of queue. Half of 180 would fill 87.1 % of the link
    // over time, as Reno does; the rate times the smallest round trip fills it all.
    let used = |controller: &str| shared(controller, &[60], "30 packets", 200).utilization(0);
    let (reno, westwood) = (used("\"reno\""), used("\"westwood\""));
    println!("reno {reno:.4}, westwood {westwood:.4}");
    assert!((reno - 0.871).abs() < 0.02, "{reno}");
    assert!(westwood > 0.98, "{westwood}");
}

#[test]
fn westwood_uses_a_link_that_loses_at_random_where_reno_cannot() {
    // 150 packets of path, and one packet in 1000 lost: Reno has 1.31 / sqrt(p) = 41 of them.
    let used = |controller: &str| {
        let run = run_text(&format!(
            "duration = \"200 s\"\nwarmup = \"20 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"150 packets\" }}\nloss = 0.001\n\
             [[flow]]\nname = \"F\"\nrtt = \"60 ms\"\ncontroller = \"{controller}\"\n"
        ));
        run.utilization(0)
    };
    let (reno, westwood) = (used("reno"), used("westwood"));
    println!("reno {reno:.4}, westwood {westwood:.4}");
    assert!(reno < 0.35 && westwood > 2.0 * reno, "reno {reno}, westwood {westwood}");
}

#[test]
fn illinois_comes_back_to_a_short_queue_at_ten_packets_a_round() {
    // The same link. At the loss the queue is full, so half is given up: 90 packets. One round of
    // recovery and five at 0.3 packets, until the empty queue is believed, then six at 10 to 150;
    // the queue fills at 10 / (1 + 32.3 q / 30), in (30 + 32.3 x 15) / 10 = 51.5 rounds of 66 ms.
    // Idle: six rounds of 60 ms at 0.4 and six at 0.2, in 51.5 x 1.1 + 12 rounds of 60 ms.
    let run = shared("\"illinois\"", &[60], "30 packets", 200);
    within(0.02, 1.0 - (6.0 * 0.4 + 6.0 * 0.2) / (51.5 * 1.1 + 12.0), run.utilization(0), "illinois");
}
