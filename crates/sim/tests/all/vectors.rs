//! Connection vectors: what follows what, by hand.

use crate::support::senders;
use fairhaul_experiment::{TransferRow, read};
use fairhaul_sim::{Control, run};

/// The transfers of a run of 200 ms in which `flows` play the connections of `file` over 8 Mbit/s and 10 ms each way. A
/// packet of 1000 B takes 1 ms on the link and 0.1 ms on each access hop.
fn transfers(name: &str, file: &str, more: &str) -> Vec<TransferRow> {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder of the test");
    std::fs::write(folder.join("site.cvec"), file).expect("a file of the test");
    let text = format!(
        r#"
        duration = "200 ms"
        [bottleneck]
        rate = "8 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "droptail", capacity = "unlimited" }}
        {more}
        [[flow]]
        name = "requests"
        controller = "reno"
        overhead = "0 s"
        traffic = {{ kind = "vectors", file = "site.cvec" }}
        [[flow]]
        name = "responses"
        direction = "reverse"
        controller = "reno"
        overhead = "0 s"
        traffic = {{ kind = "answers", to = "requests" }}
        "#
    );
    let study = read(&text, folder.join("site.toml").to_str().expect("a path in UTF-8"), &senders(&text));
    let scenario = study.expect("a scenario of the test").base;
    run(&scenario, &Control::default()).expect("the engine keeps its invariants").transfers
}

/// The flow, the start and the end in microseconds, and the payload that arrived.
fn rounded(rows: &[TransferRow]) -> Vec<(u32, i64, i64, u64)> {
    let us = |seconds: f64| (seconds * 1e6).round() as i64;
    rows.iter().map(|row| (row.flow, us(row.start_s), us(row.end_s), row.bytes)).collect()
}

#[test]
fn an_answer_follows_the_arrival_of_what_it_answers() {
    let file = "SEQ 2000 2 1 1\n> 960\nt 5000\n< 1920\nt 1000\n> 960\nSEQ 200000 1 2 1\n> 5\n";
    // A packet arrives 0.1 + 1 + 10 + 0.1 = 11.2 ms after it was sent, and its acknowledgement of 40 B takes
    // 4 us + 40 us + 10 ms + 4 us more; opening a connection takes two such packets. The second packet of the answer
    // waits 1 ms at the link.
    let (there, back) = (2 * 10_048 + 11_200, 10_048);
    let answered = 2_000 + there + 5_000;
    let again = answered + there + 1_000 + 1_000;
    assert_eq!(
        rounded(&transfers("follows", file, "")),
        [
            (0, 2_000, 2_000 + there + back, 960),
            (0, again, again + there + back, 960),
            (1, answered, answered + there + 1_000 + back, 1920),
        ]
    );
}

#[test]
fn an_answer_begins_once_although_other_connections_open_later() {
    // The answer begins at 41.296 ms, before the second connection opens.
    let rows =
        rounded(&transfers("once", "SEQ 0 1 1 1\n> 960\nt 10000\n< 960\nSEQ 60000 1 2 1\n> 960\n", ""));
    let took = 2 * 10_048 + 11_200 + 10_048;
    let answered = 2 * 10_048 + 11_200 + 10_000;
    assert_eq!(
        rows,
        [(0, 0, took, 960), (0, 60_000, 60_000 + took, 960), (1, answered, answered + took, 960),]
    );
}

#[test]
fn both_sides_of_a_concurrent_connection_write_at_their_own_times() {
    let file = "CONC 1000 2 1 1 1\nc> 5\nt> 7000\nc> 6\nt< 20000\nc< 7\n";
    let begun: Vec<(u32, i64, u64)> = rounded(&transfers("concurrent", file, ""))
        .iter()
        .map(|&(flow, start, _, bytes)| (flow, start, bytes))
        .collect();
    assert_eq!(begun, [(0, 1_000, 5), (0, 8_000, 6), (1, 21_000, 7)]);
}

#[test]
fn what_would_follow_a_transfer_that_does_not_arrive_is_no_row() {
    let file = "SEQ 0 1 1 1\n> 960\nt 5000\n< 1920\n";
    let rows = transfers("lost", file, "loss = 1.0");
    assert_eq!((rows.len(), rows[0].bytes), (1, 0));
    assert!(rows[0].end_s.is_nan());
}
