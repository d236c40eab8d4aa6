//! Ratios in a record lie between zero and one, because both of their terms count the same packets over the same time.

use crate::support::senders;
use fairhaul_experiment::{Record, Scenario, read};
use fairhaul_sim::{Control, run};

fn scenario(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set = set.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let set: Vec<(String, String)> = senders(text).into_iter().chain(set).collect();
    read(text, "test", &set).expect("it is a scenario").base
}

fn record(scenario: &Scenario) -> Record {
    run(scenario, &Control::default()).expect("the run ends")
}

/// Every bin counts its own packets, so every window does.
fn check(scenario: &Scenario) -> Record {
    let record = record(scenario);
    let slowest = scenario.bottlenecks();
    for bin in 0..record.grid.len() {
        let (from, to) = (record.grid.start(bin), record.grid.start(bin + 1));
        for (flow, rows) in record.flows.iter().enumerate() {
            let row = rows[bin];
            assert!(row.lost <= row.sent + row.copied, "flow {flow}, bin {bin}: {row:?}");
            let room = slowest[flow].map_or(0.0, |link| scenario.links[link as usize].offers(from, to));
            assert!(row.carried_bytes <= room, "flow {flow}, bin {bin}: {row:?}, {room}");
        }
        for (link, rows) in record.links.iter().enumerate() {
            let row = rows[bin];
            assert!(
                row.dropped <= row.arrived && row.marked <= row.arrived,
                "link {link}, bin {bin}: {row:?}"
            );
            let room = scenario.links[link].offers(from, to);
            assert!(row.sent_bytes <= room, "link {link}, bin {bin}: {row:?}, {room}");
        }
    }
    record
}

/// Of a burst of 500 packets that left at 0.8 s all but a few are dropped after the warm-up, which ends at 0.9 s.
#[test]
fn a_packet_is_lost_when_it_was_sent() {
    let text = r#"
        duration = "2.5 s"
        warmup = "0.9 s"
        packet = "1500 B"
        [bottleneck]
        rate = "10 Mbit/s"
        delay = "100 ms"
        queue = { kind = "droptail", capacity = "3 packets" }
        [[flow]]
        name = "f"
        rtt = "800 ms"
        controller = "reno"
        initial_window = 500
        overhead = "0 s"
    "#;
    let record = check(&scenario(text, &[]));
    let lost: u64 = record.flows[0].iter().map(|row| row.lost).sum();
    assert!(lost > 400, "{lost}");
}

/// 64 kB take 51 s at 10 kbit/s: what is sent over the edge of a bin is in both.
#[test]
fn a_link_that_changes_sends_each_bit_at_its_time() {
    let text = r#"
        duration = "108.9 s"
        warmup = "80 s"
        packet = "64 kB"
        [bottleneck]
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = { kind = "droptail", capacity = "20 packets" }
        schedule = [{ at = "59 s", rate = "10 kbit/s" }, { at = "108 s", rate = "100 Mbit/s" }]
        [[flow]]
        name = "f"
        controller = "reno"
    "#;
    let record = check(&scenario(text, &[]));
    // From 60 to 100 s the link is busy all the time.
    let busy = |row: &fairhaul_experiment::LinkRow| row.busy_s > 0.999 * 0.1;
    let bins = record.grid.bin(fairhaul_units::Time::ZERO + fairhaul_units::Span::from_s(60));
    assert!(record.links[0][bins..bins + 100].iter().all(busy));
    let sent: f64 = record.links[0][bins..bins + 100].iter().map(|row| row.sent_bytes).sum();
    let length: f64 =
        (bins..bins + 100).map(|bin| (record.grid.start(bin + 1) - record.grid.start(bin)).as_secs()).sum();
    assert!((sent / (1250.0 * length) - 1.0).abs() < 1e-9, "{sent}");
}

/// What is under way when the warm-up ends arrives in the window, and what waited for a hole is released in it; but
/// the link carried neither then.
#[test]
fn a_link_carries_payload_when_it_sends_it() {
    let text = r#"
        duration = "1.5 s"
        warmup = "1.3 s"
        [bottleneck]
        rate = "100 Mbit/s"
        delay = "200 ms"
        queue = { kind = "droptail", capacity = "unlimited" }
        schedule = [{ at = "1.29 s", rate = "0 bit/s" }, { at = "1.45 s", rate = "1 Mbit/s" }]
        [[flow]]
        name = "f"
        controller = "reno"
        initial_window = 3000
    "#;
    let record = check(&scenario(text, &[]));
    let sum = |of: fn(&fairhaul_experiment::FlowRow) -> f64| record.flows[0].iter().map(of).sum::<f64>();
    assert!(sum(|row| row.carried_bytes) > 1e6);
}

#[test]
fn packets_are_dropped_and_marked_when_they_were_offered() {
    let text = r#"
        duration = "300 s"
        warmup = "100 s"
        packet = "1000 B"
        profile = "linux-tcp"
        [bottleneck]
        rate = "48 kbit/s"
        delay = "1 ms"
        queue = { kind = "codel", capacity = "1 MB" }
        loss = 0.03
        duplicate = 0.5
        [[flow]]
        name = "c"
        traffic = { kind = "cbr", rate = "30 kbit/s" }
        role = "background"
        [[flow]]
        name = "f"
        controller = "htcp"
        count = 20
        ecn = true
    "#;
    for queue in ["codel", "fq_codel", "xcp", "droptail", "pie", "red"] {
        let found = scenario(text, &[("bottleneck.queue.kind", &format!("{queue:?}"))]);
        let record = check(&found);
        let drops: u64 = record.links[0].iter().map(|row| row.dropped).sum();
        assert!(drops > 10, "{queue}: {drops}");
    }
}
