//! The options of TCP's sender, each with its law: slow start that is limited or watches the delay,
//! a fastest rate, and recovery in proportion.

use crate::support;
use crate::wire::{Pipe, at, config};
use fairhaul_experiment::{Recovery, SlowStart};
use fairhaul_sim::tcp::{Outcome, SenderConfig};
use fairhaul_units::{Data, Rate, Span, Time};

/// Windows at the start of each round of a limited slow start without loss.
fn limited(max_ssthresh: f64, rounds: u64) -> Vec<f64> {
    let config = SenderConfig {
        slow_start: SlowStart::Limited { max_ssthresh },
        min_rto: Span::from_s(1),
        ..config(Recovery::Sack)
    };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, |_, _| false);
    let after = |round| {
        pipe.run(at(100 * round + 1));
        pipe.sender.window().cwnd
    };
    (1..=rounds).map(after).collect()
}

#[test]
fn limited_slow_start_adds_half_its_bound_in_a_round_and_no_more() {
    // [RFC 3742, 2]: log2(m) + (w - m) / (m / 2) rounds to w. For m = 20 and w = 1000:
    // 4.3 + 980 / 10 = 102.3; from a window of 2 rather than 1, one round less. The window grows
    // while its round lasts, so a round adds sqrt(w^2 + m w) - w, about m/2 - m^2 / 8w: over all
    // rounds ln(50) / 2, two rounds more.
    let windows = limited(20.0, 110);
    let rounds = windows.iter().position(|&cwnd| cwnd >= 1000.0).expect("it grows that far");
    assert!((102..=104).contains(&rounds), "{rounds}");
    for pair in windows.windows(2).filter(|pair| pair[0] > 20.0) {
        assert!(pair[1] - pair[0] <= 10.0 + 1e-9, "{pair:?}");
    }
    assert_eq!(windows[..4], [2.0, 4.0, 8.0, 16.0]); // as ever, below the bound
}

#[test]
fn a_fastest_rate_spaces_packets_evenly_and_stops_the_window() {
    // 1000 B at 4 Mbit/s: 2 ms, 50 packets in 100 ms.
    let rate = Rate::from_bps(4_000_000).expect("not zero");
    let config = SenderConfig { max_pacing_rate: Some(rate), initial_window: 10.0, ..config(Recovery::Sack) };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::ZERO, |_, _| false);
    pipe.run(at(5000));
    let data = || pipe.sent.iter().filter(|(_, data)| !data.opens()).map(|sent| sent.0);
    let times: Vec<Time> = data().collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Span::from_ms(2)));
    let last_second = data().filter(|&time| time >= at(4000)).count();
    assert!((495..=500).contains(&last_second), "{last_second} packets, not 500");
    assert!(pipe.sender.window().cwnd < 200.0, "{:?}", pipe.sender.window());
}

#[test]
fn a_flow_gets_its_fastest_rate_and_with_blocks_the_slower_of_the_two() {
    let goodput = |controller: &str, most: &str| {
        support::run_text(&format!(
            "duration = \"12 s\"\nwarmup = \"2 s\"\n[bottleneck]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
             queue = {{ kind = \"droptail\", capacity = \"1 bdp\" }}\n[[flow]]\nname = \"F\"\nrtt = \"40 ms\"\n\
             controller = {controller}\nmax_window = 100\n{most}"
        ))
        .goodput_bps(0)
    };
    // 960 of 1000 bytes are payload.
    for controller in ["\"reno\"", "{ kind = \"fhstcp\", c = 10 }"] {
        let slow = goodput(controller, "max_pacing_rate = \"5 Mbit/s\"");
        assert!((slow / 4.8e6 - 1.0).abs() < 0.01, "{controller} {slow}");
        let free = goodput(controller, "");
        let fast = goodput(controller, "max_pacing_rate = \"90 Mbit/s\"");
        assert!((fast / free - 1.0).abs() < 0.03, "{controller} {fast} {free}");
    }
}

/// A window of 100 of which those packets are lost once; the recovery, and what left in it.
fn recovering(recovery: Recovery, lost: std::ops::Range<u64>) -> (Pipe, Vec<Time>) {
    let fate = move |data: &Data, tries: u32| tries == 1 && !data.opens() && lost.contains(&data.number);
    let config = SenderConfig { initial_window: 100.0, initial_ssthresh: 100.0, ..config(recovery) };
    let mut pipe = Pipe::new(config, Span::from_ms(100), Span::from_ms(1), fate);
    let over = |pipe: &Pipe| pipe.outcomes.iter().any(|(_, outcome)| *outcome == Outcome::Recovered);
    let mut ms = 0;
    while !over(&pipe) && ms < 2000 {
        ms += 1; // acknowledgements are that far apart: it stops at the one that ends the recovery
        pipe.run(at(ms) + Span::from_us(1));
    }
    let when = |wanted| pipe.outcomes.iter().find(|(_, outcome)| *outcome == wanted).map(|found| found.0);
    let began = when(Outcome::Reduced).expect("a loss");
    let ended = when(Outcome::Recovered).expect("an end");
    let within = |time: &Time| *time >= began && *time < ended;
    let left = pipe.sent.iter().map(|sent| sent.0).filter(within).collect();
    (pipe, left)
}

// Requirement: rfc5681-4.3-c
#[test]
fn recovery_in_proportion_sends_one_packet_for_two_and_ends_at_the_threshold() {
    let (pipe, left) = recovering(Recovery::SackPrr, 100..101);
    assert_eq!((pipe.reductions(), pipe.timeouts(), pipe.retransmissions()), (1, 0, 1));
    // Acknowledgements are 1 ms apart, and the threshold is half of what was outstanding: 2 ms
    // between packets, from the start on. Without it, half a round trip of silence.
    assert!(left[..48].windows(2).all(|pair| pair[1] - pair[0] <= Span::from_ms(3)), "{left:?}");
    let (_, plain) = recovering(Recovery::Sack, 100..101);
    assert!(plain.windows(2).any(|pair| pair[1] - pair[0] > Span::from_ms(30)), "{plain:?}");
    let window = pipe.sender.window();
    assert_eq!(window.cwnd, window.ssthresh);
    assert!((49.0..=51.0).contains(&window.ssthresh), "{window:?}");
}

#[test]
fn recovery_in_proportion_makes_no_burst_after_heavy_loss() {
    let burst = |left: &[Time]| left.iter().map(|t| left.iter().filter(|u| *u == t).count()).max();
    let (pipe, left) = recovering(Recovery::SackPrr, 100..180);
    assert_eq!((pipe.timeouts(), pipe.retransmissions()), (0, 80));
    assert!(burst(&left) <= Some(2), "{left:?}");
    let (_, plain) = recovering(Recovery::Sack, 100..180);
    assert!(burst(&plain) > Some(10), "{:?}", burst(&plain));
}

/// The first four seconds of a flow on 375 packets (50 Mbit/s, 60 ms): packets lost, and where slow
/// start ended.
fn first_slow_start(slow_start: &str, capacity: &str) -> (u64, f64) {
    let run = support::run_text(&format!(
        "duration = \"4 s\"\n[bottleneck]\nrate = \"50 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"{capacity}\" }}\n[[flow]]\nname = \"F\"\nrtt = \"60 ms\"\n\
         controller = \"reno\"\nslow_start = \"{slow_start}\"\n"
    ));
    let rows = &run.record.flows[0];
    let threshold = rows.iter().map(|row| row.ssthresh_packets).find(|packets| packets.is_finite());
    let lost = rows.iter().map(|row| row.lost).sum();
    println!("{slow_start}, {capacity}: {lost} lost, {threshold:?}");
    (lost, threshold.unwrap_or(f64::INFINITY))
}

/// Standard slow start detects the first loss when a round has doubled the window that filled path and queue: it
/// loses as many packets as both hold.
#[test]
fn standard_slow_start_loses_what_path_and_queue_hold() {
    for (capacity, wanted) in [("1 bdp", 750.0), ("2 bdp", 1125.0), ("4 bdp", 1875.0), ("8 bdp", 3375.0)] {
        let (lost, _) = first_slow_start("standard", capacity);
        assert!((lost as f64 / wanted - 1.0).abs() < 0.01, "{capacity}: {lost}, not {wanted}");
    }
}

/// The first samples of a round are of packets that left a round before, when the window was half
/// as large. They show 60 / 8 = 7.5 ms, or 47 packets, where that half is 375 + 47 or more: 512.
/// The window is then 1024, and 1032 with the eighth sample; five rounds of a quarter make 3.05
/// times as much of it, which a queue of 8 times the path holds.
// Requirement: rfc9438-4.10-b
#[test]
fn slow_start_that_watches_the_delay_ends_without_a_loss_in_a_deep_queue() {
    let (lost, threshold) = first_slow_start("hystart++", "8 bdp");
    assert_eq!(lost, 0);
    assert!((threshold / (1032.0 * 3.052) - 1.0).abs() < 0.01, "{threshold}");
}

/// In a queue that 1024 packets or the rounds after them overflow it loses a part of the window
/// that it came with, and not as much as the path holds.
#[test]
fn slow_start_that_watches_the_delay_loses_less_in_a_shallow_queue() {
    for (capacity, share) in [("1 bdp", 0.6), ("2 bdp", 0.3), ("4 bdp", 0.3), ("6 bdp", 0.25)] {
        let lost = |slow_start| first_slow_start(slow_start, capacity).0 as f64;
        let found = lost("hystart++") / lost("standard");
        assert!(found < share, "{capacity}: {found}");
    }
}
