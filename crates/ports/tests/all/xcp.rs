//! The eBPF port of XCP moves its window and asks of routers as the Rust controller does in its variant `xcp-r`.
//!
//! Both get the same acknowledgements and the same answers, also at windows that no lab carries. An answer comes as the
//! program of the option leaves it: the change since the last look, and that a router had answered.

use crate::common::{MSS, Pair, ports_are_built};
use fairhaul_cc::{Controller, Window};
use fairhaul_ports::Socket;
use fairhaul_units::{Chance, Fixed, Span};

/// Headers that the port adds to its segments: the packets of both have 1500 bytes.
const PACKET: f64 = MSS as f64 + 52.0;
/// `line` of the port, packets a second.
const LINE: f64 = 10_000.0 * 125_000.0 / PACKET;
/// A port, and what the program of the option does.
fn pair(cwnd: f64, rtt: Span) -> Pair {
    let mut pair = Pair::new("xcp", &[("variant", 1.0)], Window { cwnd, ssthresh: cwnd }, rtt);
    pair.port.set("srtt_us", rtt.as_ps() / 125_000);
    pair.port.init().expect("the port runs");
    pair
}

/// An answer of `change` bytes/s, in the storage that the port shares with the program of the option: its third word ends
/// with whether one has come, and the fourth is the change.
fn answer(port: &mut Socket, change: i64) {
    let storage = port.storage_mut();
    storage[2] |= 1 << 63;
    storage[3] = storage[3].wrapping_add_signed(change);
}

/// What the port asks for: X and the round-trip time in seconds, and the change in bytes/s; the three numbers after the
/// first of the storage.
fn asked(port: &Socket) -> (f64, f64, f64) {
    let storage = port.storage();
    let [first, second] = [storage[0], storage[1]];
    let seconds = |parts: u64| Fixed::of_parts(parts as u32).as_secs();
    (seconds(first >> 32), seconds(second), f64::from((second >> 32) as u32))
}

fn near(a: f64, b: f64, share: f64) -> bool {
    (a - b).abs() <= share * b.abs()
}

/// Rounds with answers that are drawn, losses and timeouts. Both windows differ by at most a packet or 1 %, and requests
/// as much.
fn follow(start: f64, rtt_ms: u64, rounds: u32) {
    // The kernel smooths the round-trip time of an acknowledgement before it calls the port, the engine afterwards.
    let rtt = Span::from_ms(rtt_ms);
    let mut flow = pair(start, rtt);
    let mut chance = Chance::stream(u64::from(rounds), "test", rtt_ms);
    for round in 0..rounds {
        match round % 29 {
            11 => flow.lose(),
            23 => flow.time_out(),
            _ => {}
        }
        let rate = flow.window.cwnd * PACKET / rtt.as_secs();
        let change = (chance.below(2000) as f64 / 1000.0 - 0.9) * rate;
        let change = change.clamp(-1e9, (LINE * PACKET - rate).clamp(0.0, 1e9)) as i64;
        answer(&mut flow.port, change);
        let packets = (flow.window.cwnd as u64).max(1);
        // The port applies an answer when it takes the acknowledgement, the engine just before.
        let srtt = flow.srtt();
        flow.controller.on_feedback(&mut flow.window, change as f64 / PACKET, srtt);
        flow.round(packets.min(40), 1, |_| rtt);
        let (window, port) = (flow.window.cwnd, f64::from(flow.cwnd()));
        assert!((window - port).abs() <= 1.0 + window / 100.0, "round {round}: {window} and {port}");
        let request = flow.controller.request(&flow.window, flow.srtt(), LINE).expect("it asks");
        let (gap, rtt, delta) = asked(&flow.port);
        assert!(near(gap, request.gap.as_secs(), 0.03 + 1.0 / window), "{round}: {gap}, {:?}", request.gap);
        assert!(near(rtt, request.rtt.as_secs(), 0.001), "{round}: {rtt} {:?}", request.rtt);
        let wanted = (request.change * PACKET).min(f64::from(i32::MAX));
        // Of what it would ask for from rest; near the rate of the line little is left of it.
        let allowed = (0.03 + 2.0 / window) * LINE * PACKET / window;
        assert!((delta - wanted).abs() <= allowed, "{round}: {delta} for {wanted}");
    }
}

#[test]
fn the_window_and_the_requests_follow_answers_as_the_controller_does() {
    if !ports_are_built() {
        return;
    }
    follow(10.0, 20, 200);
    follow(300.0, 100, 200);
    follow(30_000.0, 200, 100);
}

/// In segments of 9000 bytes with headers, at 100 ms, a change of 67.5 kB/s is 3/4 of a packet: 40 of them are 30 packets.
#[test]
fn an_answer_moves_the_window_by_parts_of_a_jumbo_frame() {
    if !ports_are_built() {
        return;
    }
    let rtt = Span::from_ms(100);
    let mut flow = pair(100.0, rtt);
    flow.port.set("mss_cache", 8948);
    for _ in 0..40 {
        answer(&mut flow.port, 67_500);
        flow.round(1, 1, |_| rtt);
    }
    assert!((129..=130).contains(&flow.cwnd()), "{}", flow.cwnd());
}
