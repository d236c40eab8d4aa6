//! eBPF ports and Rust controllers with random scripts, and random damage to objects.
//!
//! Two windows may diverge if a decision depends on a threshold and rounding (to whole packets or microseconds)
//! puts the numbers on different sides of it. So the tolerance is wider than with the scripts of `same.rs`: two
//! packets or 2 % of the window. The seed is fixed, so that a rare script cannot make the test fail now and then.

use crate::common::{Pair, growing, noise, ports, ports_are_built, seeded};
use crate::ranges;
use fairhaul_cc::Window;
use fairhaul_ports::{Note, Sample, Socket};
use fairhaul_units::Span;
use proptest::prelude::*;

/// Above this window a loss ends the growth of controllers without a limit.
const MOST: f64 = 5000.0;

/// The next event on a path.
#[derive(Clone, Debug)]
enum Event {
    /// A number of rounds with a round-trip time that increases slightly, and a number of packets per
    /// acknowledgement.
    Rounds {
        count: u32,
        rtt_ms: u64,
        rise_us: u64,
        batch: u32,
    },
    Loss,
    Timeout,
}

fn event() -> impl Strategy<Value = Event> {
    let rounds = (1..12u32, 1..300u64, 0..3000u64, 1..6u32)
        .prop_map(|(count, rtt_ms, rise_us, batch)| Event::Rounds { count, rtt_ms, rise_us, batch });
    prop_oneof![6 => rounds, 3 => Just(Event::Loss), 1 => Just(Event::Timeout)]
}

/// The largest difference so far, as a share of the tolerance.
fn run(name: &str, start: f64, events: &[Event]) -> f64 {
    let mut pair = Pair::new(name, &[], Window { cwnd: start, ssthresh: 2.0 }, Span::from_ms(1));
    let mut worst = 0.0f64;
    let mut judge = |pair: &Pair| {
        ranges::hold(name, &pair.port);
        worst = worst.max(pair.difference() / (pair.window.cwnd / 50.0).max(2.0));
    };
    let mut number = 0;
    for event in events {
        match *event {
            Event::Loss => pair.lose(),
            Event::Timeout => pair.time_out(),
            Event::Rounds { count, rtt_ms, rise_us, batch } => {
                // Slow start counts at most two packets of an acknowledgement in the Rust
                // controllers [RFC 3465], and all of them in the kernel.
                let batch = if pair.window.in_slow_start() { 1 } else { batch };
                for round in 0..count {
                    number += 1;
                    let queue = Span::from_us(rise_us * u64::from(round));
                    let packets = (pair.window.cwnd as u64).max(1);
                    pair.round(packets, batch, |ack| Span::from_ms(rtt_ms) + queue + noise(number, ack));
                    judge(&pair);
                    if pair.window.cwnd > MOST {
                        pair.lose();
                    }
                }
            }
        }
        judge(&pair);
    }
    worst
}

proptest! {
    #![proptest_config(seeded(200))]

    #[test]
    fn ports_agree_with_their_controllers(
        start in 2.0..500.0f64,
        events in proptest::collection::vec(event(), 1..30),
    ) {
        for object in growing() {
            let worst = run(&object.note.name, start.floor(), &events);
            prop_assert!(worst <= 1.0, "{} is {worst} of what is allowed off", object.note.name);
        }
    }
}

proptest! {
    #![proptest_config(seeded(1000))]

    /// An object with damaged bytes is refused, or runs to some result or error: nothing panics.
    #[test]
    fn a_damaged_object_causes_an_error_only(
        which in 0..9usize,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        length in any::<prop::sample::Index>(),
    ) {
        let objects = ports();
        if objects.is_empty() {
            return Ok(());
        }
        let mut bytes = objects[which % objects.len()].elf.to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if length.index(4) == 0 {
            bytes.truncate(length.index(bytes.len()));
        }
        let _ = Note::of(&bytes, None);
        if let Ok(mut port) = Socket::new(&bytes) {
            let _ = port.cong_avoid(10);
            let _ = port.ssthresh();
            let _ = port.pkts_acked(Sample { packets: 1, rtt_us: 1000, in_flight: 1 });
        }
    }
}

#[test]
fn the_kernel_takes_their_names_and_their_parameters_are_in_their_bounds() {
    for object in ports() {
        let note = object.note;
        let name = note.kernel_name().into_bytes();
        assert!(
            name.len() <= 15 && object.elf.windows(name.len()).any(|bytes| bytes == name),
            "{}",
            note.name
        );
        assert_eq!(note.version, env!("CARGO_PKG_VERSION"));
        let port = Socket::new(object.elf).expect("our own object");
        for p in &note.parameters {
            assert!((p.least..=p.most).contains(&p.default), "{}: {}", note.name, p.name);
            assert_eq!(port.variable(&p.name), Some(p.default.into()));
        }
        assert_eq!(port.variables().count(), note.parameters.len(), "{}: all are described", note.name);
    }
}

#[test]
fn a_file_that_is_no_object_is_refused() {
    assert!(Note::of(b"", None).is_err() && Socket::new(b"\x7fELF").is_err());
    if ports_are_built() {
        let own = std::env::current_exe().and_then(std::fs::read).expect("this test is a file");
        let error = Note::of(&own, None).expect_err("this test is no object of eBPF").to_string();
        assert_eq!(error, "the object has no type information (.BTF)");
    }
}
