//! Writes `bpf/tables.h`: a(w) and b(w) of HighSpeed TCP as the Rust controller has them, and logarithms.
//!
//! `cargo run -p fairhaul-ports --example tables`; a test compares the file with its output.

use std::fmt::Write as _;

use fairhaul_cc::{AckEvent, Builtin, Cause, Congestion, Controller, ControllerChoice, Window};
use fairhaul_units::{Span, Time};

/// Up to this window the law is Reno's.
const LOW_WINDOW: u32 = 38;
/// The table begins at 2^5 packets and ends at 2^24, with 2^4 rows to an octave.
const FIRST_OCTAVE: u32 = 5;
const LAST_OCTAVE: u32 = 24;
const ROW_BITS: u32 = 4;

/// The acknowledgement of `packets`; HighSpeed TCP uses no other field.
fn ack(packets: f64) -> AckEvent {
    let rtt = Span::from_ms(100);
    AckEvent {
        now: Time::ZERO,
        packets,
        marked: 0.0,
        lost: 0.0,
        rtt,
        srtt: rtt,
        min_rtt: rtt,
        one_way: rtt / 2,
        in_flight: 0.0,
        new_round: false,
        recovering: false,
        window_limited: true,
        rate: None,
    }
}

fn highspeed() -> Builtin {
    ControllerChoice::named("highspeed").expect("the catalogue has HighSpeed TCP").build()
}

/// a(w): what an acknowledgement of the whole window adds to it.
pub fn increase(w: f64) -> f64 {
    let mut window = Window { cwnd: w, ssthresh: 2.0 };
    highspeed().on_ack(&mut window, &ack(w));
    window.cwnd - w
}

/// b(w): the share that a loss event takes.
pub fn decrease(w: f64) -> f64 {
    let mut window = Window { cwnd: w, ssthresh: 2.0 };
    let event = Congestion { cause: Cause::Loss, now: Time::ZERO, in_flight: w, srtt: Span::from_ms(100) };
    highspeed().on_congestion(&mut window, &event);
    1.0 - window.cwnd / w
}

/// The windows of the rows.
pub fn windows() -> impl Iterator<Item = u32> {
    let octave = |e: u32| (0..1 << ROW_BITS).map(move |row| (1 << e) + (row << (e - ROW_BITS)));
    (FIRST_OCTAVE..LAST_OCTAVE).flat_map(octave).chain([1 << LAST_OCTAVE])
}

/// A multiplier whose product with 2^(k + 1) - 1 has other highest six bits for each k: 64 numbers of
/// six bits, overlapping in one word.
const SPREAD: u64 = 0x03f6_eaf2_cd27_1461;

/// The k of each of these six bits. Zero falls on the place of 2^0, and gets its logarithm.
pub fn logarithms() -> [u8; 64] {
    let mut table = [u8::MAX; 64];
    for k in 0..64 {
        let ones = u64::MAX >> (63 - k);
        let place = &mut table[(ones.wrapping_mul(SPREAD) >> 58) as usize];
        assert!(*place == u8::MAX, "two logarithms fall on one place");
        *place = k;
    }
    table
}

fn q16(x: f64) -> u32 {
    (x * 65536.0).round() as u32
}

/// The header.
pub fn text() -> String {
    let mut text = format!(
        "// SPDX-License-Identifier: GPL-2.0-only OR MIT\n//\n\
         // Written by `cargo run -p fairhaul-ports --example tables`; a test compares it with the Rust controller.\n\n\
         #pragma once\n\n\
         // a(w) and b(w) of HighSpeed TCP.\nstruct law {{\n\tu32 increase_q16;\n\tu32 decrease_q16;\n}};\n\n\
         #define LAW_LOW_WINDOW {LOW_WINDOW}\n#define LAW_FIRST_OCTAVE {FIRST_OCTAVE}\n\
         #define LAW_ROW_BITS {ROW_BITS}\n#define LAW_ROWS {}\n\n\
         // From 2^{FIRST_OCTAVE} packets to 2^{LAST_OCTAVE}, {} rows to an octave.\n\
         static const struct law LAW[LAW_ROWS] = {{\n",
        windows().count(),
        1 << ROW_BITS,
    );
    for (number, w) in windows().map(f64::from).enumerate() {
        let end = if number % 4 == 3 { "\n" } else { "" };
        let tab = if number % 4 == 0 { "\t" } else { " " };
        write!(text, "{tab}{{ {}, {} }},{end}", q16(increase(w)), q16(decrease(w)))
            .expect("a string takes every line");
    }
    text += "\n};\n\n// Logarithms to base two by the highest six bits of LOG2_SPREAD (2^(k + 1) - 1).\n";
    let rows: Vec<String> =
        logarithms().chunks(16).map(|row| format!("\t{row:?},\n").replace(['[', ']'], "")).collect();
    let rows = rows.concat();
    text + &format!("#define LOG2_SPREAD {SPREAD:#x}ULL\nstatic const u8 LOG2[64] = {{\n{rows}}};\n")
}

#[allow(dead_code, reason = "a test takes the functions above")]
fn main() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/tables.h");
    std::fs::write(path, text()).expect("the folder bpf can be written to");
}
