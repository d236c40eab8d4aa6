//! The engine against the closed forms: response functions, utilisation, growth.

use crate::support;
use crate::support::{lossy, run_text, within};

/// Response under periodic loss: the law of the window rule, which knows no recovery, so that the
/// rounds of recovery are left out (`Run::avoidance`).
fn periodic(controller: &str, p: f64, law: impl Fn(f64) -> f64, band: f64) {
    // Cycles of 100,000 packets take long, and half as many of them suffice.
    periodic_at(10, if p < 5e-5 { 30.0 } else { 60.0 }, controller, p, law, band);
}

/// The same with that round trip, over so many losses.
fn periodic_at(rtt_ms: u64, cycles: f64, controller: &str, p: f64, law: impl Fn(f64) -> f64, band: f64) {
    let every = (1.0 / p).round();
    let rtt_s = rtt_ms as f64 / 1000.0;
    let cycle_s = every / law(p) * rtt_s;
    let seconds = (cycle_s * cycles).ceil().max(5.0) as u64;
    let run = lossy(&format!("\"{controller}\""), &format!("{{ every = {every} }}"), rtt_ms, law(p), seconds);
    let (window, rate) = run.avoidance(rtt_s);
    println!("{controller} at {p:e}: {:.4} of the law with recovery included", run.cwnd_mean(0) / law(p));
    within(band, law(rate), window, &format!("{controller} at p = {p:e}"));
}

fn reno(p: f64) -> f64 {
    1.225 / p.sqrt()
}

fn highspeed(p: f64) -> f64 {
    0.12 / libm::pow(p, 0.835)
}

fn scalable(p: f64) -> f64 {
    0.0749 / p
}

/// dw/dt = w^0.75 / 8 in rounds, and half at a loss: the peak W has 1/p = W^1.25 (1 - 2^-1.25) / (1.25 / 8)
/// packets in W^0.25 (1 - 2^-0.25) / (0.25 / 8) rounds, so that the mean is 0.7285 W = 0.2553 / p^0.8.
fn compound(p: f64) -> f64 {
    0.2553 / libm::pow(p, 0.8)
}

#[test]
fn compound_under_periodic_loss_without_a_queue_follows_its_response_function() {
    [1e-4, 1e-5].into_iter().for_each(|p| periodic("compound", p, compound, 0.05));
}

// Requirement: rfc5681-4.3-d
#[test]
fn reno_under_periodic_loss_follows_the_square_root_law() {
    [1e-3, 1e-4, 1e-5].into_iter().for_each(|p| periodic("reno", p, reno, 0.03));
}

/// The sawtooth of a sender with whole packets, in rounds: one of recovery, in which the window
/// stands still [RFC 6675], then floor(w) acknowledgements of 1/w each, until 1/p packets were
/// sent; the three that reveal the loss add nothing. Its mean window over time.
fn reno_in_whole_packets(p: f64) -> f64 {
    let (mut window, mut mean) = (10.0f64, 0.0);
    for _ in 0..100 {
        let (mut sent, mut time, mut area) = (window.floor(), 1.0, window);
        while sent < 1.0 / p {
            let round = window.floor();
            for _ in 0..round as u64 {
                area += window / round;
                time += 1.0 / round;
                sent += 1.0;
                window += if sent < 1.0 / p - 3.0 { 1.0 / window } else { 0.0 };
                if sent >= 1.0 / p {
                    break;
                }
            }
        }
        window /= 2.0;
        mean = area / time;
    }
    mean
}

#[test]
fn reno_with_small_windows_follows_the_law_in_whole_packets() {
    // At p = 1e-2 the window is 12 packets: the round of recovery and the part of a packet that
    // cannot be sent take 9 % off the law, which knows neither. The few per cent that are left are
    // the pause of the acknowledgement clock: recovery lets nothing go until half is acknowledged.
    for p in [1e-2f64, 1e-3] {
        let every = (1.0 / p).round();
        let run = lossy("\"reno\"", &format!("{{ every = {every} }}"), 10, reno(p), 100);
        let what = format!("reno at p = {p:e}, in whole packets");
        within(0.05, reno_in_whole_packets(p), run.cwnd_mean(0), &what);
    }
}

#[test]
fn highspeed_under_periodic_loss_follows_its_response_function() {
    [1e-4, 1e-5].into_iter().for_each(|p| periodic("highspeed", p, highspeed, 0.03));
    // Cycles of a million packets, each of which takes long.
    periodic_at(10, 30.0, "highspeed", 1e-6, highspeed, 0.03);
    periodic("highspeed", 1e-3, highspeed, 0.06);
}

#[test]
fn gentle_highspeed_without_a_queue_follows_highspeeds_response_function() {
    [1e-4, 1e-5].into_iter().for_each(|p| periodic("ghstcp", p, highspeed, 0.03));
}

#[test]
fn scalable_under_periodic_loss_follows_the_linear_law() {
    [1e-3, 1e-4, 1e-5].into_iter().for_each(|p| periodic("scalable", p, scalable, 0.03));
}

/// [RFC 9438, 5.1 and Table 1], at 0.1 s; `times` 1.054 where losses are periodic.
fn cubic(times: f64, p: f64) -> f64 {
    times * libm::pow(0.1 / p, 0.75)
}

/// Hundreds of losses: the steady state is reached slowly (`crates/cc/src/cubic.rs` says why).
#[test]
fn cubic_under_periodic_loss_follows_its_response_function() {
    periodic_at(100, 600.0, "cubic", 1e-4, |p| cubic(1.054, p), 0.06);
    periodic_at(100, 100.0, "cubic", 1e-5, |p| cubic(1.054, p), 0.06);
}

/// [RFC 9438, Tables 1 and 2], where CUBIC is no more than standard TCP.
#[test]
fn cubic_under_periodic_loss_on_a_short_or_slow_path_is_standard_tcp() {
    periodic_at(100, 60.0, "cubic", 1e-3, |p| 1.2 / p.sqrt(), 0.06);
    [1e-3, 1e-4, 1e-5].into_iter().for_each(|p| periodic("cubic", p, |p| 1.2 / p.sqrt(), 0.06));
}

/// Response under random loss, time-weighted, recovery included: at least 1000 loss events.
fn random(controller: &str, p: f64, wanted: f64) {
    random_at(10, controller, p, wanted, 0.06);
}

/// The same with that round trip.
fn random_at(rtt_ms: u64, controller: &str, p: f64, wanted: f64, band: f64) {
    let cycle_s = 1.0 / p / wanted * rtt_ms as f64 / 1000.0;
    let seconds = (cycle_s * 1500.0).ceil().max(5.0) as u64;
    let run = lossy(&format!("\"{controller}\""), &format!("{p}"), rtt_ms, wanted, seconds);
    let events = run.events("reduction").len();
    assert!(events >= 1000, "{events} loss events are too few");
    within(band, wanted, run.cwnd_mean(0), &format!("{controller} at random p = {p:e}"));
}

#[test]
fn reno_under_random_loss_holds_1_31_over_root_p() {
    [1e-3, 1e-4].into_iter().for_each(|p| random("reno", p, 1.31 / p.sqrt()));
}

#[test]
fn highspeed_under_random_loss_holds_1_02_of_its_law() {
    random("highspeed", 1e-4, 1.02 * highspeed(1e-4));
}

#[test]
fn cubic_under_random_loss_holds_1_20_times_rtt_over_p_to_the_0_75() {
    random_at(100, "cubic", 1e-4, cubic(1.20, 1e-4), 0.07);
}

#[cfg(feature = "slow")]
#[test]
fn long_runs_under_random_loss_hold_the_same_laws() {
    random_at(100, "cubic", 1e-5, cubic(1.20, 1e-5), 0.07);
    random("reno", 1e-5, 1.31 / 1e-5f64.sqrt());
    random("highspeed", 1e-5, 1.02 * highspeed(1e-5));
}

#[test]
fn one_reno_flow_fills_what_its_buffer_allows() {
    // 50 Mbit/s x 60 ms = 375 packets; the closed form of a sawtooth between buffer and half of it.
    for (packets, wanted) in [(4, 0.757), (75, 0.871), (188, 0.964), (375, 1.0)] {
        let run = run_text(&format!(
            r#"
            duration = "300 s"
            warmup = "60 s"
            [bottleneck]
            rate = "50 Mbit/s"
            delay = "10 ms"
            queue = {{ kind = "droptail", capacity = "{packets} packets" }}
            [[flow]]
            name = "F"
            rtt = "60 ms"
            controller = "reno"
            "#
        ));
        let found = run.utilization(0);
        println!("buffer of {packets}: {found:.4} for {wanted}");
        assert!((found - wanted).abs() <= 0.015, "buffer of {packets}: {found} for {wanted}");
    }
}

/// Two flows, of `rtt_ms` and of three times that, on a path without a queue that loses as `loss`
/// says: the ratios of their windows and of their goodputs, the longer path over the shorter.
fn two_paths(controller: &str, rtt_ms: u64, loss: &str, warmup_s: u64, duration_s: u64) -> (f64, f64) {
    let flow = |name: &str, rtt_ms: u64| {
        format!(
            "[[flow]]\nname = \"{name}\"\nrtt = \"{rtt_ms} ms\"\ncontroller = {controller}\n\
             initial_ssthresh = 100\n"
        )
    };
    let run = run_text(&format!(
        "duration = \"{duration_s} s\"\nwarmup = \"{warmup_s} s\"\n[bottleneck]\nrate = \"10 Gbit/s\"\n\
         delay = \"5 ms\"\nqueue = {{ kind = \"droptail\", capacity = \"unlimited\" }}\nloss = {loss}\n{}{}",
        flow("short", rtt_ms),
        flow("long", 3 * rtt_ms)
    ));
    (run.cwnd_mean(1) / run.cwnd_mean(0), run.goodput_bps(1) / run.goodput_bps(0))
}

/// A loss every `period_s` seconds to both flows, `episodes` times.
fn together(period_s: u64, episodes: u64) -> String {
    let times: Vec<String> = (1..=episodes).map(|n| format!("\"{} s\"", n * period_s)).collect();
    format!("{{ at = [{}], flows = [\"short\", \"long\"] }}", times.join(", "))
}

/// The exponent e of (rtt ratio)^e = `ratio`, for paths of which one is three times as long.
fn exponent(ratio: f64) -> f64 {
    libm::log(ratio) / libm::log(3.0)
}

#[track_caller]
fn near(band: f64, wanted: f64, found: f64, what: &str) {
    println!("{what}: {found:.4} for {wanted}");
    assert!((found - wanted).abs() <= band, "{what}: {found} for {wanted}");
}

#[test]
fn renos_throughput_falls_with_the_square_of_the_rtt_when_losses_come_together() {
    let (_, goodput) = two_paths("\"reno\"", 50, &together(20, 30), 200, 600);
    near(0.1, -2.0, exponent(goodput), "reno, synchronised");
}

#[test]
fn renos_throughput_falls_with_the_rtt_under_a_common_random_loss() {
    let (_, goodput) = two_paths("\"reno\"", 50, "0.0005", 100, 4000);
    near(0.05, -1.0, exponent(goodput), "reno, common p");
}

#[test]
fn fhstcps_windows_are_equal_when_losses_come_together() {
    // After 100 episodes of 4 s, over the next 50. The paths are short beside an episode: the round
    // of recovery, longer on the longer path, is taken from its growth, five times over.
    let (windows, goodput) = two_paths("{ kind = \"fhstcp\", c = 10 }", 10, &together(4, 150), 400, 600);
    within(0.05, 1.0, windows, "fhstcp, windows, synchronised");
    within(0.05, 1.0 / 3.0, goodput, "fhstcp, goodput, synchronised");
}

#[test]
fn fhstcps_window_grows_with_the_rtt_under_a_common_random_loss() {
    let (windows, _) = two_paths("{ kind = \"fhstcp\", c = 10 }", 50, "0.0001", 100, 4_000);
    near(0.05, 0.835, exponent(windows), "fhstcp, common p");
}

#[test]
fn cubics_window_grows_by_time_whatever_the_rtt() {
    // Windows that are equal where losses come together: rates are as 1 / RTT.
    let (windows, _) = two_paths("\"cubic\"", 50, &together(10, 50), 250, 500);
    near(0.1, 0.0, exponent(windows), "cubic, windows, synchronised");
}

#[test]
fn htcps_windows_are_equal_when_losses_come_together() {
    // Growth over time is the same on both paths, but for the first second after a loss, which is
    // Reno's on the shorter one (2 % of the 512 packets that four seconds add), and for
    // acknowledgements being those of the window a round ago, which is smaller (2 and 4.5 %).
    // Half is kept: a path without a bottleneck has no steady throughput.
    let half = "{ kind = \"htcp\", adaptive_backoff = false }";
    let (windows, goodput) = two_paths(half, 50, &together(4, 20), 40, 80);
    within(0.03, 0.955 / (1.02 * 0.98), windows, "htcp, windows, synchronised");
    within(0.03, 0.955 / (1.02 * 0.98) / 3.0, goodput, "htcp, goodput, synchronised");
}

#[test]
fn htcp_without_scaling_grows_by_the_round() {
    let plain = "{ kind = \"htcp\", adaptive_backoff = false, rtt_scaling = false }";
    let (windows, _) = two_paths(plain, 50, &together(4, 20), 40, 80);
    within(0.06, 1.0 / 3.0, windows, "htcp without scaling, windows, synchronised");
}

#[test]
fn htcp_grows_with_the_time_since_the_last_loss() {
    // From 1000 packets at 100 ms: 10 in the first second, then 10 (t + 5 t^2 + t^3 / 12) in t more.
    let run = run_text(
        r#"
        duration = "11 s"
        [bottleneck]
        rate = "100 Gbit/s"
        delay = "50 ms"
        queue = { kind = "droptail", capacity = "unlimited" }
        [[flow]]
        name = "F"
        rtt = "100 ms"
        controller = "htcp"
        initial_window = 1000
        initial_ssthresh = 1
        overhead = "0 s"
        "#,
    );
    // The handshake takes a round and the first acknowledgement another.
    for t in [1.0, 4.0, 9.0] {
        let law = 1010.0 + 10.0 * (t + 5.0 * t * t + t * t * t / 12.0);
        within(0.03, law, mean_cwnd(&run, 1.15 + t, 0.1), &format!("htcp {t} s into its growth"));
    }
}

#[test]
fn slow_start_doubles_in_a_round() {
    let run = lossy("\"reno\"", "0.0", 100, 1e9, 2);
    // The handshake takes the first round; the mean over the n-th lies between 2^n and 2^(n+1).
    let rounds: Vec<f64> = (1..15).map(|n| mean_cwnd(&run, n as f64 * 0.1, 0.1)).collect();
    for pair in rounds.windows(2) {
        within(0.02, 2.0, pair[1] / pair[0], "growth in a round of slow start");
    }
}

#[test]
fn highspeed_grows_as_the_rfc_tabulates() {
    // [RFC 3649, Table 6]: the window after so many round trips, from one packet.
    let run = run_text(
        r#"
        duration = "155 s"
        [bottleneck]
        rate = "100 Gbit/s"
        delay = "50 ms"
        queue = { kind = "droptail", capacity = "unlimited" }
        [[flow]]
        name = "F"
        rtt = "100 ms"
        controller = "highspeed"
        initial_window = 1
        initial_ssthresh = 1
        overhead = "0 s"
        "#,
    );
    for (rounds, window) in
        [(100, 131.0), (200, 475.0), (300, 1131.0), (500, 3601.0), (1000, 17409.0), (1500, 41336.0)]
    {
        let found = mean_cwnd(&run, 0.1 * f64::from(rounds + 1), 0.2);
        within(0.03, window, found, &format!("highspeed after {rounds} rounds"));
    }
}

/// The mean window of flow 0 between two times.
fn mean_cwnd(run: &support::Run, from_s: f64, length_s: f64) -> f64 {
    let grid = run.record.grid;
    let inside = |bin: &usize| {
        let start = grid.start(*bin).as_secs();
        start >= from_s - 1e-9 && start < from_s + length_s - 1e-9
    };
    let cwnd: Vec<f64> =
        (0..grid.len()).filter(inside).map(|bin| run.record.flows[0][bin].cwnd_packets).collect();
    cwnd.iter().sum::<f64>() / cwnd.len() as f64
}
