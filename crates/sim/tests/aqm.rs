//! Queues that drop or mark before they are full, at work: where they hold the queue of several
//! flows, and what marks change about that.

mod support;

use support::{Run, run_text};

/// Eight Reno flows of 60 ms over 20 Mbit/s: 150 packets of 1000 B in flight, and a large buffer.
fn eight(queue: &str, ecn: bool) -> Run {
    run_text(&format!(
        r#"
        duration = "60 s"
        warmup = "10 s"
        [bottleneck]
        rate = "20 Mbit/s"
        delay = "10 ms"
        queue = {{ capacity = "400 packets", {queue} }}
        [[flow]]
        name = "F"
        count = 8
        rtt = "60 ms"
        controller = "reno"
        start = "uniform 0 s..1 s"
        ecn = {ecn}
        "#
    ))
}

/// Sums over the bins after the warm-up at the bottleneck.
fn counted(run: &Run) -> (u64, u64, u64) {
    let first = run.record.grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
    let rows = &run.record.links[0][first..];
    let sum = |of: fn(&fairhaul_experiment::LinkRow) -> u64| rows.iter().map(of).sum();
    (sum(|row| row.arrived), sum(|row| row.dropped), sum(|row| row.marked))
}

/// Mean backlog of the bottleneck, packets, the one being sent included.
fn backlog(run: &Run) -> f64 {
    let first = run.record.grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
    let grid = run.record.grid;
    let length = |bin| (grid.start(bin + 1) - grid.start(bin)).as_secs();
    let sum: f64 =
        (first..grid.len()).map(|bin| run.record.links[0][bin].backlog_packets * length(bin)).sum();
    sum / run.measured_s()
}

/// 150 packets and a queue of 37 are windows of 23, to which Reno falls with a loss in 23^2 / 1.5 = 353
/// packets. Drops with `wait` are 1.5 / p apart, so p is 0.0042: 0.42 of the way from 20 to 60.
const RED: &str = r#"kind = "red", min_threshold = 20, max_threshold = 60, q_weight = 0.002, max_p = 0.01"#;

#[test]
fn red_holds_the_mean_queue_of_eight_flows_between_its_thresholds() {
    let run = eight(RED, false);
    let (queue, (_, dropped, marked)) = (backlog(&run), counted(&run));
    println!("red: backlog {queue:.1}, dropped {dropped}, utilization {:.4}", run.utilization(0));
    assert!((34.0..40.0).contains(&queue), "{queue}");
    assert!(dropped > 50 && marked == 0);
    assert!(run.utilization(0) > 0.97, "{}", run.utilization(0));
}

#[test]
fn red_marks_in_the_place_of_drops_where_flows_can_be_marked() {
    let run = eight(&format!("{RED}, mark_p = 1"), true);
    let (queue, (_, dropped, marked)) = (backlog(&run), counted(&run));
    println!("red with marks: backlog {queue:.1}, dropped {dropped}, marked {marked}");
    assert!((20.0..60.0).contains(&queue), "{queue}");
    assert!(marked > 50 && dropped == 0, "{marked} marked, {dropped} dropped");
}

#[test]
fn adaptive_red_brings_the_mean_queue_to_the_middle_whatever_the_flows() {
    // Halfway between 20 and 60; the middle fifth is from 36 to 44.
    for max_p in [0.002, 0.4] {
        let red = RED.replace("max_p = 0.01", &format!("adaptive = true, max_p = {max_p}"));
        let run = eight(&red, false);
        let queue = backlog(&run);
        println!("adaptive red from {max_p}: backlog {queue:.1}");
        assert!((32.0..48.0).contains(&queue), "from {max_p}: {queue}");
    }
}
