//! One transfer over several connections, compared with results worked out by hand.

use crate::support::{run_text, within};
use fairhaul_experiment::{Record, TransferRow};

/// A transfer over `connections` on a path of 100 ms that is never full; windows stay at 10 packets
/// of 960 bytes.
fn transfer(size: u64, connections: u64, more: &str) -> Record {
    let text = format!(
        r#"
        duration = "20 s"
        [bottleneck]
        rate = "10 Gbit/s"
        delay = "50 ms"
        queue = {{ kind = "droptail", capacity = "unlimited" }}
        {more}
        [[flow]]
        name = "f"
        rtt = "100 ms"
        controller = "reno"
        connections = {connections}
        traffic = "{size} B"
        initial_window = 10
        max_window = 10
        start = "uniform 0 s..1 s"
        overhead = "0 s"
        "#
    );
    run_text(&text).record
}

fn took(rows: &[TransferRow]) -> f64 {
    rows.iter().map(|row| row.end_s - row.start_s).fold(0.0, f64::max)
}

fn bytes(rows: &[TransferRow]) -> Vec<u64> {
    rows.iter().map(|row| row.bytes).collect()
}

#[test]
fn four_connections_bring_a_transfer_over_in_a_quarter_of_its_rounds() {
    // 200 packets: 20 rounds of 10, or 5 rounds of 40, and one for the handshake. The first
    // acknowledgements of a round let the next go, so each round is 100 ms and the time of a packet.
    let (one, four) = (transfer(192_000, 1, ""), transfer(192_000, 4, ""));
    within(0.01, 2.1, took(&one.transfers), "one connection, seconds");
    within(0.01, 0.6, took(&four.transfers), "four connections, seconds");
    assert_eq!(bytes(&four.transfers), [48_000; 4]);
    assert!(four.transfers.windows(2).all(|pair| pair[0].start_s == pair[1].start_s));
}

#[test]
fn a_transfer_that_does_not_divide_is_brought_over_to_the_byte() {
    // 10 packets of 960 bytes and one of 400, which the second connection takes: the first takes ten at
    // the end of its handshake, the third finds nothing left and ends.
    let record = transfer(10_000, 3, "");
    assert_eq!(bytes(&record.transfers), [9600, 400, 0]);
    assert!(record.transfers.iter().all(|row| row.end_s.is_finite()));
    assert!(record.transfers[2].end_s < record.transfers[0].end_s);
}

#[test]
fn what_a_connection_that_waits_cannot_carry_the_others_do() {
    // The first flow loses every packet for a second, and waits for its timer while the other brings over
    // what it would have carried: 100 rounds of one connection are 50 of two.
    let times: Vec<String> = (0..40).map(|i| format!("\"{} ms\"", 2000 + 50 * i)).collect();
    let loss = format!("loss = {{ at = [{}], flows = [\"f[0]\"] }}", times.join(", "));
    let record = transfer(960_000, 2, &loss);
    let found = bytes(&record.transfers);
    assert_eq!(found.iter().sum::<u64>(), 960_000);
    assert!(found[0] < found[1] * 3 / 4, "{found:?}");
    // Both end within a round or a timeout of each other.
    let (first, second) = (record.transfers[0].end_s, record.transfers[1].end_s);
    assert!((first - second).abs() < 1.0, "{first} and {second}");
}
