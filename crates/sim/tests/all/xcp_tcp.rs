//! An XCP router beside TCP at work: without the mechanism of [XCP-TCP], and with it by both rules.

use crate::support::{Run, run_text};

/// A number of flows of XCP and of `other`, which start within a second, for `duration` seconds. Reno recovers as
/// the paper's TCP does, the others with SACK.
fn beside(queue: &str, rtt_ms: u32, asking: u32, others: u32, other: &str, duration: u32) -> Run {
    let recovery = if other == "reno" { "newreno" } else { "sack" };
    run_text(&format!(
        r#"
        duration = "{duration} s"
        warmup = "{} s"
        profile = "plain"
        [bottleneck]
        rate = "100 Mbit/s"
        delay = "{} ms"
        queue = {{ {queue}, capacity = "1 bdp" }}
        [[flow]]
        name = "X"
        count = {asking}
        rtt = "{rtt_ms} ms"
        controller = "xcp"
        start = "uniform 0 s..1 s"
        [[flow]]
        name = "T"
        count = {others}
        rtt = "{rtt_ms} ms"
        controller = "{other}"
        recovery = "{recovery}"
        start = "uniform 0 s..1 s"
        "#,
        duration / 2,
        rtt_ms / 4
    ))
}

/// The share of the link that the flows of XCP have together, headers included.
fn asking_share(run: &Run) -> f64 {
    let flows = run.scenario.flows.iter().enumerate().filter(|(_, flow)| flow.controller.entry.name == "xcp");
    flows.map(|(index, _)| run.goodput_bps(index)).sum::<f64>() / 0.94 / 1e8
}

/// Mean of a gauge of the bottleneck over the measured half.
fn gauge(run: &Run, name: &str) -> f64 {
    let names = run.scenario.links[0].queue.entry.gauges;
    let at = names.iter().position(|gauge| gauge.name == name).expect("the queue has it");
    let first = run.record.grid.bin(fairhaul_units::Time::ZERO + run.scenario.warmup);
    let rows: Vec<f64> = run.record.gauges[0].chunks(names.len()).skip(first).map(|row| row[at]).collect();
    rows.iter().sum::<f64>() / rows.len() as f64
}

#[test]
fn without_it_xcp_lives_on_what_is_shuffled() {
    // A tenth of the traffic is shuffled, and XCP gets an equal part of it at best while TCP keeps the
    // queue filled: about a tenth of the link [XCP-TCP, Fig. 1], where a third would be fair.
    for rtt in [20, 100] {
        let share = asking_share(&beside(r#"kind = "xcp""#, rtt, 1, 2, "reno", 100));
        println!("{rtt} ms: {share:.3}");
        assert!((0.02..0.2).contains(&share), "{share}");
    }
}

#[test]
fn with_it_classes_have_their_shares_where_windows_are_small() {
    // C M / (N + M), at 20 ms: windows of 19 and of 83 packets [XCP-TCP, Figs. 2a to 4a].
    for rule in ["literal", "adaptive"] {
        for (asking, others) in [(3, 10), (10, 3), (1, 2)] {
            let queue = format!(r#"kind = "xcp_tcp", rule = "{rule}", counter = "exact""#);
            let run = beside(&queue, 20, asking, others, "reno", 80);
            let (share, fair) = (asking_share(&run), f64::from(asking) / f64::from(asking + others));
            println!("{rule}, {asking} beside {others}: {share:.3} for {fair:.3}");
            assert!((share - fair).abs() < 0.07, "{rule}, {asking} beside {others}: {share} for {fair}");
        }
    }
}

#[test]
fn the_rule_that_learns_holds_other_controllers_too() {
    // Windows of 19 packets at 20 ms, of 416 at 100 ms, where NewReno takes 21 s of the 40 that count to
    // regain what a loss took; BIC a few round trips; and no loss below a tenth or so slows BBR down.
    for other in ["reno", "highspeed", "cubic", "bic", "bbr"] {
        for (rtt, asking, others) in [(20, 3, 10), (100, 1, 2)] {
            let queue = r#"kind = "xcp_tcp", rule = "adaptive", counter = "exact""#;
            let (share, fair) = (
                asking_share(&beside(queue, rtt, asking, others, other, 80)),
                f64::from(asking) / f64::from(asking + others),
            );
            println!("{other}, {rtt} ms: {share:.3} for {fair:.3}");
            assert!((share / fair - 1.0).abs() < 0.2, "{other}, {rtt} ms: {share} for {fair}");
        }
    }
}

#[test]
fn drops_at_the_least_probability_starve_long_round_trips() {
    // NewReno with p = 1e-4 has a window of 122 to 131 packets: two of them at 100 ms about a fifth of
    // 100 Mbit/s, where two thirds are theirs.
    let queue = |at_floor: bool| format!(r#"kind = "xcp_tcp", counter = "exact", at_floor = {at_floor}"#);
    let others = |at_floor| 1.0 - asking_share(&beside(&queue(at_floor), 100, 1, 2, "reno", 200));
    let (with, without) = (others(true), others(false));
    println!("TCP has {with:.3} with drops at the floor, {without:.3} without");
    assert!(with < 0.35 && without > 0.45, "{with} and {without}");
}

#[test]
fn the_list_of_zombies_counts_both_classes() {
    let run = beside(r#"kind = "xcp_tcp""#, 20, 3, 10, "reno", 60);
    let counted = ["flows_asking", "flows_plain", "plain_share"].map(|name| gauge(&run, name));
    println!("{counted:?}");
    assert!((2.6..3.2).contains(&counted[0]) && (7.5..10.5).contains(&counted[1]));
    assert!((0.72..0.79).contains(&counted[2]));
}
