//! Queues that drop or mark before they are full: the length at which they keep the queue of several flows, and
//! what marks change about that.

use crate::support::{Run, run_text};

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

/// Gauge number `gauge` of the bottleneck's queue after the warm-up.
fn gauge(run: &Run, gauge: usize) -> Vec<f64> {
    let grid = run.record.grid;
    let first = grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
    let gauges = run.scenario.links[0].queue.entry.gauges.len();
    assert_eq!(run.record.gauges[0].len(), grid.len() * gauges, "a value for each gauge and bin");
    run.record.gauges[0].chunks_exact(gauges).skip(first).map(|shown| shown[gauge]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
    // The gauges: an average is, on average, what it averages, here without the packet being sent; `max_p` is
    // constant.
    let average = mean(&gauge(&run, 0));
    assert!((average - (queue - run.utilization(0))).abs() < 1.0, "{average} of {queue}");
    assert!(gauge(&run, 1).iter().all(|max_p| *max_p == 0.01));
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
        // In the middle fifth a drop is due in 1.5 / p packets, p half of `max_p`; Reno's is due in 353.
        let moved = mean(&gauge(&run, 1));
        assert!((0.005..0.014).contains(&moved), "from {max_p}: {moved}");
    }
}

/// Mean queueing delay at the bottleneck, seconds, the time on the wire included.
fn delay_s(run: &Run) -> f64 {
    backlog(run) * 8000.0 / 20e6
}

#[test]
fn pie_holds_the_mean_delay_near_15_ms() {
    let run = eight(r#"kind = "pie""#, false);
    let (delay, (_, dropped, marked)) = (delay_s(&run), counted(&run));
    println!("pie: delay {:.2} ms, dropped {dropped}, utilization {:.4}", delay * 1e3, run.utilization(0));
    assert!((0.012..0.018).contains(&delay), "{delay}");
    assert!(dropped > 50 && marked == 0);
    // The gauges: no packet is dropped within the first 0.85 / p packets after a drop, and each with p from then
    // on, so the dropped share is p / 1.85; the delay is the measured one.
    let (p, seen) = (mean(&gauge(&run, 0)), mean(&gauge(&run, 1)));
    let share = dropped as f64 / counted(&run).0 as f64;
    println!("pie: p {p:.5} for a share of {share:.5}, delay {:.2} ms", seen * 1e3);
    assert!((p / 1.85 / share - 1.0).abs() < 0.15, "{p} for {share}");
    assert!((seen - delay).abs() < 0.001, "{seen} for {delay}");
}

#[test]
fn pie_marks_in_the_place_of_drops_where_flows_can_be_marked() {
    let run = eight(r#"kind = "pie""#, true);
    let (delay, (_, dropped, marked)) = (delay_s(&run), counted(&run));
    println!("pie with marks: delay {:.2} ms, dropped {dropped}, marked {marked}", delay * 1e3);
    assert!((0.012..0.018).contains(&delay), "{delay}");
    assert!(marked > 50 && dropped == 0, "{marked} marked, {dropped} dropped");
}

#[test]
fn sred_holds_the_queue_of_eight_flows_at_the_step_where_it_drops_enough() {
    // 150 packets and a queue of 67, a sixth of 400, are windows of 27, for which Reno wants a loss in 27^2 / 1.5
    // = 490 packets. With `flows = 16` the lower step drops (8 / 16)^2 x 0.0375, one in 107, and twice that with
    // hits: more than enough, so the queue stays near the beginning of the step. With 256 even the upper step
    // drops one in 6800 at most, and the queue is full.
    let sred =
        |law: &str, flows: u32, ecn| eight(&format!(r#"kind = "sred", flows = {flows}, law = "{law}""#), ecn);
    for law in ["full", "simple"] {
        let run = sred(law, 16, false);
        let (queue, (_, dropped, marked)) = (backlog(&run), counted(&run));
        println!("sred, {law}: backlog {queue:.1}, dropped {dropped}, utilization {:.4}", run.utilization(0));
        assert!((40.0..75.0).contains(&queue), "{law}: {queue}");
        assert!(dropped > 50 && marked == 0);
    }
    let (_, dropped, marked) = counted(&sred("full", 16, true));
    let few = backlog(&sred("simple", 256, false));
    println!("sred, 256 flows: backlog {few:.1}");
    assert!(few > 200.0, "{few}");
    println!("sred with marks: dropped {dropped}, marked {marked}");
    assert!(marked > 50 && dropped == 0, "{marked} marked, {dropped} dropped");
}

#[test]
fn sred_holds_the_queue_below_a_third_of_the_capacity_whatever_the_number_of_flows() {
    // 750 packets are in flight and 750 fit. From 250 on drops are four times as likely, and by N^2 as likely as N flows want.
    for flows in [32, 128] {
        let run = run_text(&format!(
            r#"
            duration = "20 s"
            warmup = "5 s"
            [bottleneck]
            rate = "100 Mbit/s"
            delay = "10 ms"
            queue = {{ kind = "sred", capacity = "1 bdp" }}
            [[flow]]
            name = "F"
            count = {flows}
            rtt = "60 ms"
            controller = "reno"
            start = "uniform 0 s..1 s"
            "#
        ));
        let queue = backlog(&run);
        println!("sred, {flows} flows: backlog {queue:.1}, utilization {:.4}", run.utilization(0));
        assert!((200.0..250.0).contains(&queue), "{flows}: {queue}");
        assert!(run.utilization(0) > 0.99);
    }
}

#[test]
fn codel_holds_the_mean_delay_near_5_ms() {
    let run = eight(r#"kind = "codel""#, false);
    let (delay, (_, dropped, marked)) = (delay_s(&run), counted(&run));
    println!("codel: delay {:.2} ms, dropped {dropped}, utilization {:.4}", delay * 1e3, run.utilization(0));
    assert!((0.003..0.008).contains(&delay), "{delay}");
    assert!(dropped > 50 && marked == 0);
    assert!(run.utilization(0) > 0.95, "{}", run.utilization(0));
    // The gauges: the dropping state alternates, and the count grows by one with each drop.
    let (dropping, count) = (gauge(&run, 0), gauge(&run, 1));
    assert!(dropping.contains(&0.0) && dropping.contains(&1.0));
    assert!(dropping.iter().all(|on| *on == 0.0 || *on == 1.0));
    let risen: f64 = count.windows(2).map(|two| (two[1] - two[0]).max(0.0)).sum();
    assert!(count.iter().all(|count| count.fract() == 0.0) && risen <= dropped as f64, "{risen}");
}

#[test]
fn codel_marks_in_the_place_of_drops_where_flows_can_be_marked() {
    for kind in ["codel", "fq_codel"] {
        let run = eight(&format!("kind = \"{kind}\""), true);
        let (delay, (_, dropped, marked)) = (delay_s(&run), counted(&run));
        println!("{kind} with marks: delay {:.2} ms, dropped {dropped}, marked {marked}", delay * 1e3);
        assert!(marked > 50 && dropped == 0, "{marked} marked, {dropped} dropped");
    }
}

#[test]
fn under_fq_codel_unequal_loads_get_equal_shares_and_a_sparse_flow_hardly_waits() {
    // 20 Mbit/s for datagrams of 15 and of 30 Mbit/s and an application of 200 kbit/s.
    let run = |queue: &str| {
        run_text(&format!(
            r#"
            duration = "40 s"
            warmup = "10 s"
            [bottleneck]
            rate = "20 Mbit/s"
            delay = "5 ms"
            queue = {{ kind = "{queue}", capacity = "400 packets" }}
            [[flow]]
            name = "light"
            rtt = "20 ms"
            traffic = {{ kind = "cbr", rate = "15 Mbit/s" }}
            [[flow]]
            name = "heavy"
            rtt = "20 ms"
            traffic = {{ kind = "cbr", rate = "30 Mbit/s" }}
            [[flow]]
            name = "sparse"
            rtt = "20 ms"
            controller = "reno"
            traffic = {{ kind = "onoff", rate = "200 kbit/s", on = "1 h", off = "1 ms" }}
            "#
        ))
    };
    let waits_ms = |run: &Run| {
        let first = run.record.grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
        let rows = run.record.flows[2][first..].iter().filter(|row| row.rtt_samples > 0);
        let (sum, samples) = rows.fold((0.0, 0), |(sum, samples), row| {
            (sum + row.rtt_s * row.rtt_samples as f64, samples + row.rtt_samples)
        });
        (sum / samples as f64 - 0.020) * 1e3
    };
    let (fair, tail) = (run("fq_codel"), run("droptail"));
    let shares = [0, 1].map(|flow| fair.goodput_bps(flow) / 1e6);
    println!(
        "fq_codel: {shares:.2?} Mbit/s, waits {:.2} ms; droptail {:.2} ms",
        waits_ms(&fair),
        waits_ms(&tail)
    );
    // (20 - 0.2) / 2 on the wire, of which 96 % are payload: 9.50 each.
    assert!(shares.iter().all(|share| (share / 9.50 - 1.0).abs() < 0.01), "{shares:?}");
    // Two buckets always have a packet, and the sparse flow's has one now and then.
    let (backlogged, dropping) = (gauge(&fair, 0), gauge(&fair, 1));
    assert!(backlogged.iter().all(|buckets| (2.0..=3.0).contains(buckets)), "{backlogged:?}");
    assert!(mean(&backlogged) < 2.1 && mean(&dropping) > 1.9);
    // A packet takes 0.4 ms on the link and may wait for one under way, and there are four access hops.
    assert!(waits_ms(&fair) < 1.3, "{}", waits_ms(&fair));
    assert!(waits_ms(&tail) > 20.0, "{}", waits_ms(&tail));
}
