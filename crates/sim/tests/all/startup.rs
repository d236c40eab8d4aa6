//! The first round trips of a connection: SEARCH, the rules of `startup`, and growth of a window that is not used.

use fairhaul_experiment::{Recovery, SearchVariant, SlowStart, Startup};
use fairhaul_sim::tcp::SenderConfig;
use fairhaul_units::{Span, Time};

use crate::support::within;
use crate::wire::{Pipe, at, config};

const RTT: Span = Span::from_ms(100);

/// A sender with an initial window of ten.
fn of_ten() -> SenderConfig {
    SenderConfig { initial_window: 10.0, ..config(Recovery::Sack) }
}

/// Its connection over a path of 1000 packets in a round trip.
fn pipe(config: SenderConfig, lost: &'static [u64]) -> Pipe {
    Pipe::new(config, RTT, Span::from_us(100), move |data, tries| tries == 1 && lost.contains(&data.number))
}

/// When new data left, ms.
fn departures(pipe: &Pipe) -> Vec<f64> {
    let data = pipe.sent.iter().filter(|(_, data)| !data.opens());
    data.map(|(time, _)| time.since(Time::ZERO).as_secs() * 1e3).collect()
}

/// Runs on in steps of a fifth of a millisecond while `goes_on`; when it ended.
fn run_while(pipe: &mut Pipe, mut goes_on: impl FnMut(&Pipe) -> bool) -> Time {
    let mut now = at(100);
    while goes_on(pipe) && now < at(5000) {
        now += Span::from_us(200);
        pipe.run(now);
    }
    now
}

/// The windows at the ends of rounds.
fn windows(pipe: &mut Pipe, rounds: u64) -> Vec<f64> {
    let after = |round| {
        pipe.run(at(100 * round + 99));
        pipe.sender.window().cwnd
    };
    (1..=rounds).map(after).collect()
}

/// [RATE-LIMITED, appendix]: of 4, 8, 4 and 20 packets, with an acknowledgement each.
#[test]
fn a_window_that_is_not_used_grows_as_far_as_what_was_in_flight_allows() {
    let cwnds = |offers: &[u64]| {
        let config = SenderConfig { rate_limited_increase: true, ..of_ten() };
        let mut pipe = Pipe::new(config, RTT, Span::ZERO, |_, _| false);
        let (mut sent, mut cwnds) = (0, Vec::new());
        pipe.sender.ready(0);
        for (round, packets) in (1..).zip(offers) {
            pipe.run(at(200 * round));
            sent += packets;
            pipe.offer(sent, at(200 * round));
            pipe.run(at(200 * round + 150));
            cwnds.push(pipe.sender.window().cwnd);
        }
        cwnds
    };
    assert_eq!(cwnds(&[4, 8, 4, 20]), [14.0, 20.0, 20.0, 40.0]);
    assert_eq!(cwnds(&[10, 4]), [20.0, 20.0]);
}

/// In congestion avoidance: one packet more than what was in flight, where the window was larger as it is.
#[test]
fn in_congestion_avoidance_a_window_that_is_not_used_stays() {
    let config = SenderConfig { initial_ssthresh: 10.0, rate_limited_increase: true, ..of_ten() };
    let mut pipe = Pipe::new(config, RTT, Span::ZERO, |_, _| false);
    pipe.sender.ready(0);
    for round in 1..30 {
        pipe.run(at(200 * round));
        pipe.offer(5 * round, at(200 * round));
    }
    assert!((pipe.sender.window().cwnd - 11.0).abs() < 1e-9, "{:?}", pipe.sender.window());
}

/// 40 packets over 100 ms are 2.5 ms apart.
#[test]
fn a_paced_initial_window_is_spread_over_the_round_trip() {
    let config = SenderConfig { initial_window: 40.0, startup: Startup::Paced, ..of_ten() };
    let mut pipe = pipe(config, &[]);
    pipe.run(at(199));
    let left = departures(&pipe);
    assert_eq!(left.len(), 40);
    assert!(left.windows(2).all(|pair| (pair[1] - pair[0] - 2.5).abs() < 0.01), "{left:?}");
}

/// Twice the initial window over a round trip; then three times as much each round.
#[test]
fn rapid_start_triples_the_window() {
    let mut pipe = pipe(SenderConfig { startup: Startup::RapidStart, ..of_ten() }, &[]);
    assert_eq!(windows(&mut pipe, 3)[0], 20.0);
    let left = departures(&pipe);
    assert!(left[..20].windows(2).all(|pair| (pair[1] - pair[0] - 5.0).abs() < 0.01), "{left:?}");
    let mut windows = windows(&mut pipe, 6).split_off(3);
    windows.dedup();
    assert!(windows[0] >= 3.0 * 3.0 * 20.0 && windows[0] <= 3.0 * 3.0 * 20.0 * 3.0, "{windows:?}");
}

/// One loss of many packets: Reno keeps half of the window, as Rapid Start does at the end of its recovery.
#[test]
fn rapid_start_ends_with_beta_of_the_window_if_little_is_lost() {
    let mut pipe = pipe(SenderConfig { startup: Startup::RapidStart, ..of_ten() }, &[300]);
    let mut most: f64 = 0.0;
    let reduced = run_while(&mut pipe, |pipe| {
        most = most.max(if pipe.reductions() == 0 { pipe.sender.window().cwnd } else { 0.0 });
        pipe.reductions() == 0
    });
    pipe.run(reduced + Span::from_ms(250));
    let window = pipe.sender.window();
    within(0.05, 0.5 * most, window.ssthresh, "threshold");
}

#[test]
fn jumpstart_sends_all_in_a_round_trip_and_keeps_half_of_what_arrived() {
    let config = SenderConfig { startup: Startup::Jumpstart, size: Some(960 * 400), ..of_ten() };
    let mut unharmed = pipe(config, &[]);
    unharmed.run(at(200));
    let left = departures(&unharmed);
    assert_eq!(left.len(), 400);
    assert!((left[399] - left[0] - 99.75).abs() < 0.1, "{left:?}");
    let mut harmed = Pipe::new(config, RTT, Span::from_us(100), |data, tries| {
        tries == 1 && !data.opens() && data.number % 4 == 0
    });
    harmed.run(at(2000));
    assert!(harmed.sender.is_done());
    assert!((harmed.sender.window().ssthresh - 150.0).abs() < 3.0, "{:?}", harmed.sender.window());
}

/// A saved window of 800 packets: when the first ten are acknowledged the window is 400, which leave over a round trip.
#[test]
fn careful_resume_jumps_to_half_of_the_saved_window() {
    let startup = Startup::CarefulResume { cwnd: 800.0, rtt: RTT, max_jump: 1e6 };
    let mut resumed = pipe(SenderConfig { startup, ..of_ten() }, &[]);
    resumed.run(at(250));
    assert_eq!(resumed.sender.window().cwnd, 400.0);
    let left = departures(&resumed);
    let of_jump: Vec<f64> = left.iter().copied().filter(|&ms| ms > 202.0).collect();
    assert!(of_jump.windows(2).all(|pair| pair[1] - pair[0] > 0.2), "{of_jump:?}");
    resumed.run(at(900));
    assert!(resumed.sender.window().cwnd > 400.0);
}

/// A packet of the jump is lost: what was acknowledged before is the pipe, and half of it the window.
#[test]
fn careful_resume_retreats_to_half_of_what_was_acknowledged() {
    let startup = Startup::CarefulResume { cwnd: 800.0, rtt: RTT, max_jump: 1e6 };
    let mut resumed = pipe(SenderConfig { startup, ..of_ten() }, &[200]);
    run_while(&mut resumed, |pipe| pipe.reductions() == 0);
    within(0.05, 100.0, resumed.sender.window().cwnd, "window");
    resumed.run(at(1000));
    assert!(resumed.sender.window().ssthresh >= 150.0, "{:?}", resumed.sender.window());
}

/// Where slow start ends by SEARCH in an endless buffer, in bandwidth-delay products; computed apart from this code, by a
/// simulation of one flow: 5.5 for SEARCH 4.0 and 6.5 for 3.1, with 1000 packets in a round trip.
#[test]
fn search_ends_slow_start_at_5_5_bandwidth_delay_products() {
    for (variant, products) in [(SearchVariant::Draft, 5.5), (SearchVariant::Linux, 6.5)] {
        let slow_start = SlowStart::Search { variant, drain: false };
        let mut pipe = pipe(SenderConfig { slow_start, ..of_ten() }, &[]);
        run_while(&mut pipe, |pipe| pipe.sender.window().in_slow_start());
        within(0.03, 1000.0 * products, pipe.sender.window().ssthresh, "threshold");
    }
}
