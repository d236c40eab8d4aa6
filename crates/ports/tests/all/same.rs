//! Every eBPF port but that of BBR (`bbr3.rs`) grows as its Rust controller does: with the same script of acknowledgements, losses and
//! timeouts the two windows differ by at most the larger of one packet and 1 % after each round.
//!
//! The scripts of Sync-TCP have some noise in their round-trip times. Its trend compares averages. If the delay
//! is constant, the average in double precision continues to rise, by less than a millionth of a nanosecond, for
//! about 40 samples after that of the eBPF port has stopped: the Rust controller then detects a rise, and the
//! eBPF port equal medians. With the noise of a real path, even of a microsecond, both decide alike.

use crate::common::{Pair, STAIRCASE, Script, Step, growing, noise, ports};
use fairhaul_cc::words::{
    GhstcpVariant, MinimumOver, PhasesApply, RenoDecrease, SigmaSamples, SynctcpVariant, Trend, TrendTest,
};
use fairhaul_cc::{Controller, Window};
use fairhaul_units::Span;

/// Settings of the Rust controller, and the corresponding parameters of the eBPF port.
type Values<'a> = (&'a [(&'static str, f64)], &'a [(&'a str, u32)]);
const DEFAULTS: Values = (&[], &[]);

/// The eBPF port `name` and its controller.
fn pair(name: &str, values: Values, script: &Script) -> Pair {
    let mut pair = Pair::new(name, values.0, script.start, (script.path)(1));
    for (parameter, value) in values.1 {
        pair.port.set_variable(parameter, (*value).into()).expect("the eBPF port has the parameter");
    }
    pair
}

/// Runs the eBPF port `name` with a script and compares it with its controller.
fn climbs(what: &str, name: &str, values: Values, script: &Script) {
    let mut pair = pair(name, values, script);
    let script = if name == "synctcp" { &Script { wave: noise, ..script.clone() } } else { script };
    let (worst, round) = pair.climb(script);
    println!("{what}: {name}: {worst:.3} of what is allowed, in round {round}; at last {}", pair.cwnd());
    assert!(worst <= 1.0, "{what}: {name} is {worst:.3} of what is allowed off in round {round}");
}

/// Runs all eBPF ports with their defaults, and the controllers with theirs.
fn all_climb(what: &str, script: &Script) {
    for object in growing() {
        climbs(what, &object.note.name, DEFAULTS, script);
    }
}

#[test]
fn on_the_staircase() {
    all_climb("staircase", &STAIRCASE);
}

#[test]
fn with_noise() {
    all_climb("noise", &Script { wave: noise, ..STAIRCASE });
}

/// 300 packets on each.
#[test]
fn on_short_and_long_paths() {
    let paths: [fn(u32) -> Span; 4] =
        [|_| Span::from_ms(5), |_| Span::from_ms(20), |_| Span::from_ms(80), |_| Span::from_ms(200)];
    for path in paths {
        let packets_per_s = 300.0 / path(1).as_secs();
        all_climb(&format!("a path of {}", path(1)), &Script { path, packets_per_s, ..STAIRCASE });
    }
}

/// 30 000 packets in 100 ms: 3.5 Gbit/s.
#[test]
fn at_windows_of_tens_of_thousands() {
    let script = Script {
        rounds: 250,
        path: |_| Span::from_ms(100),
        packets_per_s: 30_000.0 / 0.100,
        step: |round| if round % 60 == 0 { Step::Loss } else { Step::Nothing },
        start: Window { cwnd: 20_000.0, ssthresh: 2.0 },
        batch: 8,
        ..STAIRCASE
    };
    all_climb("large windows", &script);
}

/// One acknowledgement for up to 20 packets, as network cards and receivers make them.
#[test]
fn with_acknowledgements_of_many_packets() {
    let script = Script {
        start: Window { cwnd: 150.0, ssthresh: 2.0 },
        step: |round| if round % 25 == 0 { Step::Loss } else { Step::Nothing },
        batch: 20,
        ..STAIRCASE
    };
    all_climb("stretched", &script);
}

/// A path that becomes longer for good: 42 s of 140 ms, then 80 s of 200 ms. Sync-TCP takes the difference for a
/// queue until its memory of 30 to 60 s has ended.
#[test]
fn synctcp_on_a_path_that_stays_longer() {
    if !ports().is_empty() {
        let path = |round| Span::from_ms(if round <= 300 { 140 } else { 200 });
        climbs("a longer path", "synctcp", DEFAULTS, &Script { rounds: 700, path, ..STAIRCASE });
    }
}

/// Losses in consecutive rounds, and timeouts at windows down to two packets.
#[test]
fn under_many_losses() {
    let script = Script {
        rounds: 300,
        step: |round| match round % 37 {
            9 | 10 | 21 => Step::Loss,
            30 => Step::Timeout,
            _ => Step::Nothing,
        },
        ..STAIRCASE
    };
    all_climb("many losses", &script);
}

/// Round-trip times with 0.4 ms of noise, whose standard deviation is 0.115 ms, that are low, rise by up to 0.6
/// ms within a round, fall within the next, and are high: free, between the thresholds with a trend and without,
/// and full.
fn tides(round: u32, number: u64) -> Span {
    let height = match round % 4 {
        0 => 0,
        1 => number.min(200),
        2 => 200 - number.min(200),
        _ => 200,
    };
    Span::from_us(3 * height) + noise(round, number)
}

#[test]
fn every_variant_of_gentle_highspeed() {
    if ports().is_empty() {
        return;
    }
    const ORIGINAL: (&str, f64) = ("variant", GhstcpVariant::Original.value());
    const BY_SIGN: (&str, f64) = ("significance", TrendTest::Sign.value());
    let variants: [Values; 10] = [
        DEFAULTS,
        (&[ORIGINAL], &[("original", 1)]),
        (&[ORIGINAL, BY_SIGN], &[("original", 1), ("significance", 0)]),
        (&[BY_SIGN], &[("significance", 0)]),
        (&[("free", 0.5), ("full", 1.5)], &[("free", 50), ("full", 150)]),
        (&[("free", 20.0), ("full", 40.0)], &[("free", 2000), ("full", 4000)]),
        (&[("sigma", SigmaSamples::Round.value())], &[("sigma_round", 1)]),
        (&[("sigma_floor", 5.0)], &[("sigma_floor", 5000)]),
        (&[("cycle", MinimumOver::Lifetime.value())], &[("lifetime", 1)]),
        (&[("reno_decrease", RenoDecrease::Half.value())], &[("reno_half", 1)]),
    ];
    for (number, values) in variants.into_iter().enumerate() {
        for (shape, wave) in [("tides", tides as fn(u32, u64) -> Span), ("noise", noise)] {
            for start in [Window { cwnd: 9.0, ssthresh: 2.0 }, Window { cwnd: 150.0, ssthresh: 2.0 }] {
                let script = Script { wave, start, rounds: 150, ..STAIRCASE };
                climbs(&format!("variant {number}, {shape}"), "ghstcp", values, &script);
            }
        }
    }
}

#[test]
fn every_variant_of_the_others() {
    if ports().is_empty() {
        return;
    }
    let variants: [(&str, Values); 14] = [
        ("fhstcp", (&[("c", 20.0), ("eta_floor", 0.0)], &[("c", 20_000), ("eta_floor", 0)])),
        ("fhstcp", (&[("c", 2.5)], &[("c", 2500)])),
        ("fhstcp", (&[("factor", 0.0)], &[("factor", 0)])),
        (
            "scalable",
            (
                &[("a", 0.02), ("b", 0.25), ("low_window", 100.0)],
                &[("a", 20_000), ("b", 250_000), ("low_window", 100)],
            ),
        ),
        ("bic", (&[("smax", 8.0), ("beta", 0.2)], &[("smax", 8), ("beta", 200_000)])),
        ("bic", (&[("smin", 1.0), ("low_window", 200.0)], &[("smin", 1_000_000), ("low_window", 200)])),
        ("bic", (&[("fast_convergence", 0.0)], &[("fast_convergence", 0)])),
        ("htcp", (&[("delta_l", 0.2), ("rtt_scaling", 0.0)], &[("delta_l", 200), ("rtt_scaling", 0)])),
        ("htcp", (&[("adaptive_backoff", 0.0)], &[("adaptive_backoff", 0)])),
        ("htcp", (&[("throughput_switch", 0.0)], &[("throughput_switch", 0)])),
        ("synctcp", (&[("variant", SynctcpVariant::Original.value())], &[("c_low", 0), ("c_high", 0)])),
        (
            "synctcp",
            (
                &[("phases", PhasesApply::Always.value()), ("alpha0", 0.2)],
                &[("always", 1), ("alpha0", 200_000)],
            ),
        ),
        (
            "synctcp",
            (
                &[("tie", Trend::Rising.value()), ("qmax_floor", 30.0)],
                &[("tie_rises", 1), ("qmax_floor", 30_000)],
            ),
        ),
        (
            "synctcp",
            (
                &[("c_low", 20.0), ("c_high", 60.0), ("memory", 0.0)],
                &[("c_low", 20), ("c_high", 60), ("memory", 0)],
            ),
        ),
    ];
    for (number, (name, values)) in variants.into_iter().enumerate() {
        climbs(&format!("variant {number}"), name, values, &STAIRCASE);
    }
}

/// The comparison detects a loss that takes 15 % instead of 12.5 %, and growth that is 3 % faster.
#[test]
fn a_port_with_other_parameters_differs_from_its_controller() {
    if ports().is_empty() {
        return;
    }
    for wrong in [("b", 150_000), ("a", 10_300)] {
        let (worst, _) = pair("scalable", (&[], &[wrong]), &STAIRCASE).climb(&STAIRCASE);
        assert!(worst > 1.0, "{wrong:?} differs by {worst} only");
    }
}

/// With this script the mode of Gentle HighSpeed TCP changes; otherwise the comparison would prove little.
#[test]
fn the_tides_switch_modes() {
    if ports().is_empty() {
        return;
    }
    let script = Script { wave: tides, start: Window { cwnd: 150.0, ssthresh: 2.0 }, ..STAIRCASE };
    let mut pair = pair("ghstcp", DEFAULTS, &script);
    let modes: Vec<Option<u8>> = (1..=script.rounds)
        .map(|round| {
            pair.one(&script, round);
            pair.controller.mode()
        })
        .collect();
    let changes = modes.windows(2).filter(|two| two[0] != two[1]).count();
    println!("{changes} changes of mode");
    assert!(changes >= 20, "{changes} changes of mode");
}
