//! The tables in C are those of the Rust controllers, and interpolation between their rows is as accurate as the
//! header states.

#[path = "../../examples/tables.rs"]
mod example;

use crate::common::{Pair, ports_are_built};
use fairhaul_cc::Window;
use fairhaul_units::Span;

#[test]
fn the_table_matches_the_controller() {
    let header = include_str!("../../bpf/tables.h");
    assert!(header == example::text(), "cargo run -p fairhaul-ports --example tables");
}

/// The eBPF port at a whole window `w`, far from slow start.
fn at(w: u32) -> Pair {
    Pair::new("highspeed", &[], Window { cwnd: w.into(), ssthresh: 2.0 }, Span::from_ms(100))
}

/// The errors of the eBPF port at a window: of the growth by a million packets, relative to it, and of the
/// reduction at a loss, relative to the window, minus the half packet that is rounded off.
fn errors(w: u32) -> (f64, f64) {
    let whole = f64::from(w);
    let mut pair = at(w);
    pair.port.cong_avoid(1_000_000).expect("the port runs");
    let grown = f64::from(pair.cwnd() - w);
    let wanted = example::increase(whole) * 1e6 / whole;
    let left = f64::from(at(w).port.ssthresh().expect("the port runs"));
    let kept = 1.0 - example::decrease(whole);
    (((grown + 0.5 - wanted).abs() - 0.5) / wanted, (left + 0.5 - kept * whole).abs() / whole - 0.5 / whole)
}

/// Linear interpolation misses the two kinks: where a(w) first exceeds one, at 41.9 packets, and where b(w) stops
/// falling, at 100 000.
#[test]
fn interpolation_between_rows_is_as_accurate_as_documented() {
    if !ports_are_built() {
        return;
    }
    let (mut anywhere, mut elsewhere) = ((0.0f64, 0.0f64), (0.0f64, 0.0f64));
    let mut w = 38.0;
    while w < f64::from(1 << 24) {
        let found = errors(w as u32);
        let worse = |worst: (f64, f64)| (worst.0.max(found.0), worst.1.max(found.1));
        anywhere = worse(anywhere);
        if !(40.0..42.0).contains(&w) && !(98_304.0..102_400.0).contains(&w) {
            elsewhere = worse(elsewhere);
        }
        w = (w * 1.003f64).max(w + 1.0);
    }
    println!("a(w) and b(w) within {anywhere:.6?}, {elsewhere:.6?} without the bends");
    assert!(anywhere.0 <= 0.006 && anywhere.1 <= 0.0006, "{anywhere:?}");
    assert!(elsewhere.0 <= 0.0002 && elsewhere.1 <= 0.000_05, "{elsewhere:?}");
}
