//! The ranges within which the arithmetic of the ports is proven (tools/arithmetic), asserted while they run.

use crate::common::{Pair, ports_are_built};
use fairhaul_cc::Window;
use fairhaul_ports::Socket;
use fairhaul_units::Span;

static RANGES: &str = include_str!("../ranges.txt");

/// A line of the ranges.
struct Range<'a> {
    place: usize,
    bytes: usize,
    name: &'a str,
    least: i128,
    most: i128,
}

/// The ranges of the fields of a port, or of the socket.
fn of(owner: &str) -> impl Iterator<Item = Range<'static>> {
    let lines = RANGES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let rows = lines.map(|line| line.split(' ').collect::<Vec<_>>());
    let own = rows.filter(move |row| row[0] == owner);
    own.map(|row| {
        let number = |text: &str| text.parse::<i128>().expect("a number");
        let index = |text: &str| text.parse::<usize>().expect("a number");
        Range {
            place: index(row[1]),
            bytes: index(row[2]),
            name: row[3],
            least: number(row[4]),
            most: number(row[5]),
        }
    })
}

/// The bytes of a word that a field takes, with a sign if its range has one.
fn value(port: &Socket, range: &Range) -> i128 {
    let bits = 8 * range.bytes as u32;
    let word = port.own_word(range.place / 8) >> (8 * (range.place % 8));
    let unsigned = i128::from(word) & ((1 << bits) - 1);
    let is_negative = range.least < 0 && unsigned >> (bits - 1) == 1;
    if is_negative { unsigned - (1 << bits) } else { unsigned }
}

/// Asserts that the socket and what the port keeps in it are in their ranges.
pub fn hold(name: &str, port: &Socket) {
    let assert = |range: &Range, value: i128| {
        let (least, most) = (range.least, range.most);
        assert!((least..=most).contains(&value), "{name}: {} is {value}, not {least}..{most}", range.name);
    };
    for range in of("socket") {
        assert(&range, port.get(range.name).into());
    }
    for range in of(name) {
        assert(&range, value(port, &range));
    }
    hold_relations(name, port);
}

/// Asserts what the proofs assume of two fields.
fn hold_relations(name: &str, port: &Socket) {
    let field = |name_: &str| {
        let range = of(name).find(|range| range.name == name_).expect("a field of the port");
        value(port, &range)
    };
    match name {
        "htcp" => {
            let now = i128::from(port.get("tcp_mstamp"));
            assert!(field("since_us") <= now && field("round_since_us") <= now);
            assert!(field("max_rtt_us") == 0 || field("min_rtt_us") <= field("max_rtt_us"));
        }
        "ghstcp" => {
            let pairs = field("pairs");
            assert!(field("x").abs() <= pairs << 21 && field("y").abs() <= pairs << 20);
            assert!(field("xx") <= pairs << 42 && field("yy") <= pairs << 40);
            assert!(pairs == 0 || field("y") + pairs * field("first_rtt_us") >= pairs);
        }
        "synctcp" => assert!(field("average") <= field("most_us") << 32),
        _ => {}
    }
}

#[test]
fn a_field_with_a_sign_is_read_with_it() {
    let range = of("synctcp").find(|range| range.name == "earlier_us").expect("a field");
    assert_eq!((range.place, range.bytes, range.least), (64, 4, -1_073_741_823));
    assert_eq!(of("ghstcp").filter(|range| range.least < 0).count(), 3, "x, y and xy");
}

/// With segments longer than what the kernel sends at once, as on a loopback device, a burst is one segment,
/// whose pacing rate is not zero.
#[test]
fn a_burst_of_fhstcp_is_one_segment_where_segments_are_long() {
    if !ports_are_built() {
        return;
    }
    let rtt = Span::from_ms(200);
    let mut pair = Pair::new("fhstcp", &[], Window { cwnd: 50.0, ssthresh: 2.0 }, rtt);
    pair.port.set("mss_cache", 65_483);
    for _ in 0..3 {
        pair.round(50, 1, |_| rtt);
    }
    assert_eq!(pair.blocks().1, Some(1));
    // A segment in a fiftieth of the round-trip time, while the window grows by a few packets: 16 MB/s.
    let rate = pair.port.get("sk_pacing_rate");
    assert!((15_000_000..20_000_000).contains(&rate), "{rate}");
}
