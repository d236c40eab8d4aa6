//! Event scripts: windows by hand, the same in packets and bytes, and what cannot happen.

use fairhaul_cc::{Amounts, ControllerChoice, entries, run_script};
use fairhaul_units::Bytes;

/// A window that is in use, one packet lost, two rounds of congestion avoidance.
const LOSS: &str = "\
0 s      sent 10
100 ms   ack 10 rtt 100 ms     # slow start
100 ms   sent 12
200 ms   lost 1
200 ms   lost 1                # the same window of data: no further reduction
201 ms   ack 9 rtt 101 ms      # in recovery: no growth
202 ms   ack 1 rtt 102 ms
210 ms   sent 6
310 ms   ack 6 rtt 100 ms
";

fn windows(controller: &str, script: &str, amounts: Amounts) -> Vec<String> {
    let choice = ControllerChoice::named(controller).expect("it is in the catalogue");
    let table = run_script(script, &choice, 10.0, amounts).expect("the script is well formed");
    table.lines().skip(1).map(|line| line.split_whitespace().nth(1).expect("the window").to_owned()).collect()
}

/// New Reno in QUIC [RFC 9002, 7.3]: slow start adds what is acknowledged (10), a loss halves the window (20 to 10), and an
/// acknowledgement of n packets adds n / cwnd (6 / 10).
#[test]
fn reno_by_hand() {
    let expected =
        ["10.0000", "20.0000", "20.0000", "10.0000", "10.0000", "10.0000", "10.0000", "10.0000", "10.6000"];
    assert_eq!(windows("reno", LOSS, Amounts::Packets), expected);
}

#[test]
fn bytes_give_the_windows_of_packets() {
    let mut in_bytes = String::new();
    for line in LOSS.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let scaled = format!("{}000", words[3]);
        let line = words.iter().enumerate().map(|(index, word)| if index == 3 { &*scaled } else { word });
        in_bytes += &(line.collect::<Vec<_>>().join(" ") + "\n");
    }
    for entry in entries() {
        let bytes = windows(entry.name, &in_bytes, Amounts::Bytes(Bytes(1000)));
        for (packets, bytes) in windows(entry.name, LOSS, Amounts::Packets).iter().zip(bytes) {
            let [packets, bytes] = [&**packets, &*bytes].map(|text| text.parse::<f64>().expect("a number"));
            assert!((packets * 1000.0 - bytes).abs() <= 0.6, "{}: {packets} and {bytes}", entry.name);
        }
    }
}

#[test]
fn the_application_a_mark_and_a_timeout() {
    let script = "\
0 s      sent 10
90 ms    app-limited
100 ms   ack 5 rtt 100 ms            # the application limits: no growth
110 ms   sent 5
120 ms   ack 5 rtt 120 ms marked 1   # half of 10
130 ms   ack 1 rtt 20 ms marked 1    # sent before the reduction
500 ms   timeout
600 ms   sent 1
700 ms   ack 1 rtt 100 ms            # slow start
";
    let expected =
        ["10.0000", "10.0000", "10.0000", "10.0000", "5.0000", "5.0000", "1.0000", "1.0000", "2.0000"];
    assert_eq!(windows("reno", script, Amounts::Packets), expected);
}

#[test]
fn what_cannot_happen_names_its_line() {
    let error = |script: &str| {
        let reno = ControllerChoice::named("reno").expect("it is in the catalogue");
        run_script(script, &reno, 10.0, Amounts::Packets).expect_err("it cannot happen")
    };
    assert_eq!(error("0 s sent 2\n1 s ack 3 rtt 1 s"), "line 2: 3 cannot be acknowledged: 2 are in flight");
    assert_eq!(error("1 s sent 2\n0 s sent 1"), "line 2: the time is earlier than that of the line before");
}
