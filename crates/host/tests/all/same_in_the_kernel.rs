//! eBPF ports in the running kernel increase and reduce their windows as their Rust controllers do.
//!
//! A flow of each fills a path of the lab, and its sender is sampled every 10 ms. Between reductions the Rust
//! controller starts from the same window and gets as many packets as the kernel delivered; at each reduction its
//! new window is compared. A sample is up to 10 ms late and in whole packets, so the two may differ by two
//! packets plus 1 %.
//!
//! Between two samples a sender that waits for a processor may have done what no sample shows: a window that was
//! not full does not grow. Such a run does not count and is repeated. A rule that is wrong differs in every run,
//! so the test fails if no run agrees from its settled beginning to its end.
//!
//! A rule may depend on whether a window is above or below that of the reduction before (BIC and CUBIC converge
//! fast below it), and one packet decides. So at each reduction three controllers go on, reduced from one packet
//! less than the sample, from the sample, and from one packet more; the one that ends its climb nearest to the
//! kernel counts, and goes on alone.

use crate::common;
use fairhaul_cc::{AckEvent, Builtin, Cause, Congestion, Controller, ControllerChoice, Window};
use fairhaul_experiment::grid;
use fairhaul_host::lab::clock::Clock;
use fairhaul_host::lab::tcp_info::{CaState, Info};
use fairhaul_host::lab::traffic::{LabTransfer, run_transfers};
use fairhaul_host::lab::{Dumbbell, Lab};
use fairhaul_host::ports::install_spec::InstallSpec;
use fairhaul_host::ports::load::{hidden_name, load};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Rate, Settings, Span, Time};

const DURATION: Span = Span::from_s(10);
const RTT: Span = Span::from_ms(30);
/// 20 Mbit/s for 30 ms are 50 packets; with the queue a flow reaches 110.
const RATE_BPS: u64 = 20_000_000;
const QUEUE: u64 = 60;

/// A sample of a sender, and its time.
type Sample = (Time, Info);

/// The samples of a flow of the eBPF port with these parameters.
fn samples(port: &str, set: &[(&str, &str)]) -> Vec<Sample> {
    let set = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let spec = InstallSpec { port: port.into(), name: Some(hidden_name()), set };
    let install = spec.resolve().expect("there is such an eBPF port");
    let _loaded = load(&install).expect("the kernel takes it");
    flow(&install.name)
}

fn flow(name: &str) -> Vec<Sample> {
    let path = Dumbbell {
        rate: Rate::from_bps(RATE_BPS).expect("not zero"),
        rtt: RTT,
        capacity: Capacity::Packets(QUEUE),
        loss: None,
        connections: 1,
    };
    let transfer = LabTransfer::endless(0, name);
    let lab = Lab::new(path.layout()).expect("root may make hosts");
    let clock = Clock::starting_in(Span::from_ms(50)).expect("there is a clock");
    let running = lab.start(clock, grid(DURATION, Span::ZERO, 1, 1)).expect("the router can start");
    let mut samples = Vec::new();
    let results = run_transfers(&running, clock, Time::ZERO + DURATION, &[transfer], &mut |now, _, info| {
        samples.push((now, *info));
    });
    assert_eq!(results.expect("there is room for threads")[0].failure, None);
    assert!(running.finish().expect("devices can be read").1.counts.balance());
    samples
}

fn controller(name: &str, settings: &[(&'static str, f64)]) -> Builtin {
    let choice = ControllerChoice::named(name).expect("it is in the catalogue");
    let values = Settings::defaults(choice.entry.parameters);
    let values = settings.iter().fold(values, |values, (key, value)| values.with(key, *value));
    ControllerChoice { settings: values, ..choice }.build()
}

/// What came of following the kernel's flow with the Rust controller.
#[derive(Debug, Default)]
struct Followed {
    /// Climbs of 300 ms or more: since when, the window at their beginning, at their end, and the
    /// nearest controller's there.
    climbs: Vec<(Time, f64, f64, f64)>,
    /// Falls: when, the threshold that the kernel had after, and the controller's.
    falls: Vec<(Time, f64, f64)>,
}

/// Whether the flow is in congestion avoidance at both samples and between them.
fn climbs(before: &Info, after: &Info) -> bool {
    let avoids = |info: &Info| {
        info.ca_state == CaState::Open && info.ssthresh.is_some_and(|threshold| info.cwnd >= threshold)
    };
    avoids(before) && avoids(after) && before.ssthresh == after.ssthresh && after.cwnd >= before.cwnd
}

/// Leaves the controller whose window is nearest to the kernel's, and returns its window.
fn keep_nearest(rules: &mut Vec<(Builtin, Window)>, kernel: f64) -> f64 {
    let distance = |rule: &(Builtin, Window)| (rule.1.cwnd - kernel).abs();
    rules.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    rules.truncate(1);
    rules[0].1.cwnd
}

/// The controllers after a reduction from one packet less than the kernel's window, from that window, and from
/// one packet more.
fn reduced(rule: &Builtin, now: Time, before: &Info, srtt: Span) -> Vec<(Builtin, Window)> {
    let reduce = |packets: f64| {
        let mut rule = rule.clone();
        let cwnd = f64::from(before.cwnd) + packets;
        let mut window = Window { cwnd, ssthresh: before.ssthresh.map_or(1e9, f64::from) };
        let event = Congestion { cause: Cause::Loss, now, in_flight: cwnd, srtt };
        rule.on_congestion(&mut window, &event);
        (rule, window)
    };
    [0.0, -1.0, 1.0].map(reduce).into()
}

fn follow(samples: &[Sample], controller: Builtin) -> Followed {
    let mut followed = Followed::default();
    let mut rules = vec![(controller, Window { cwnd: 0.0, ssthresh: 0.0 })];
    let mut climb: Option<(Time, f64)> = None;
    let mut round = Time::ZERO;
    // After a climb that ends without a reduction, or a longer time without a sample, the controller has missed
    // acknowledgements. A rule may depend on them until the next reduction, so until then nothing is compared.
    let mut follows = true;
    for pair in samples.windows(2) {
        let ((_, before), (now, after)) = (&pair[0], &pair[1]);
        let srtt = after.srtt.unwrap_or(RTT);
        let missed = now.since(pair[0].0) > LATEST;
        follows &= !missed;
        if follows && climbs(before, after) {
            let whole = f64::from(before.cwnd);
            if climb.is_none() {
                climb = Some((pair[0].0, whole));
                let ssthresh = f64::from(before.ssthresh.expect("it avoids congestion"));
                rules.iter_mut().for_each(|(_, window)| *window = Window { cwnd: whole, ssthresh });
            }
            let new_round = *now >= round + srtt;
            if new_round {
                round = *now;
            }
            let packets = f64::from(delivered(after) - delivered(before));
            let ack = acknowledgement(*now, packets, srtt, after, new_round);
            for (rule, window) in &mut rules {
                rule.on_delivery(window, &ack);
                rule.on_ack(window, &ack);
            }
            continue;
        }
        let ended = climb.take();
        if let Some((since, from)) = ended {
            let kernel = f64::from(before.cwnd);
            let rule = keep_nearest(&mut rules, kernel);
            if pair[0].0.since(since) >= Span::from_ms(300) {
                followed.climbs.push((since, from, kernel, rule));
            }
        }
        if after.ca_state == CaState::Recovery && before.ca_state != CaState::Recovery {
            rules = reduced(&rules[0].0, *now, before, srtt);
            // A reduction that is undone before the sample has left no threshold.
            if let Some(threshold) = after.ssthresh.filter(|_| follows) {
                followed.falls.push((*now, threshold.into(), rules[0].1.ssthresh));
            }
            follows = !missed;
            for (rule, window) in &mut rules {
                rule.on_recovered(window, *now);
            }
        } else {
            follows &= ended.is_none();
        }
    }
    followed
}

/// The packets delivered so far.
fn delivered(info: &Info) -> u32 {
    info.delivered.expect("Linux 4.18 and later report it")
}

fn acknowledgement(now: Time, packets: f64, srtt: Span, info: &Info, new_round: bool) -> AckEvent {
    AckEvent {
        now,
        packets,
        marked: 0.0,
        lost: 0.0,
        rtt: srtt,
        srtt,
        min_rtt: info.min_rtt.unwrap_or(srtt),
        one_way: srtt / 2,
        in_flight: f64::from(info.cwnd),
        new_round,
        recovering: false,
        window_limited: true,
        rate: None,
    }
}

/// The allowed difference: a number of packets plus 1 %.
fn near(kernel: f64, rust: f64, packets: f64) -> bool {
    (kernel - rust).abs() <= packets + rust / 100.0
}

const LATE: f64 = 2.0;

/// The longest time between samples, which are due every 10 ms; the sampling thread may have to wait for a
/// processor.
const LATEST: Span = Span::from_ms(20);

/// Slow start's end takes recoveries of its own: what it overshot is not compared.
const SETTLED: Time = Time::from_ps(1_500_000_000_000);

fn holds(port: &str, set: &[(&str, &str)], settings: &[(&'static str, f64)], packets: f64) {
    if !common::is_root() {
        return;
    }
    let _held = common::beside_its_like();
    common::until_it_counts(|| {
        let mut followed = follow(&samples(port, set), controller(port, settings));
        followed.climbs.retain(|climb| climb.0 > SETTLED);
        followed.falls.retain(|fall| fall.0 > SETTLED);
        eprintln!("{port}: {followed:.1?}");
        compared(&followed, packets).map_err(|difference| format!("{port} {difference}"))
    });
}

/// Whether all that was followed agrees. If not, says where it does not.
fn compared(followed: &Followed, packets: f64) -> Result<(), String> {
    // On a busy machine samples are late, and what is between them is not followed.
    if followed.climbs.is_empty() || followed.falls.is_empty() {
        return Err("was not followed in a climb and a fall".to_owned());
    }
    for (_, from, kernel, rust) in &followed.climbs {
        if !near(*kernel, *rust, packets) {
            return Err(format!("climbed from {from} to {kernel} in the kernel, to {rust} by the rule"));
        }
    }
    for (_, kernel, rust) in &followed.falls {
        if !near(*kernel, *rust, packets) {
            return Err(format!("fell to {kernel} in the kernel, to {rust} by the rule"));
        }
    }
    Ok(())
}

#[test]
fn reno() {
    holds("reno", &[], &[], LATE);
}

#[test]
fn highspeed() {
    holds("highspeed", &[], &[], LATE);
}

#[test]
fn scalable() {
    holds("scalable", &[], &[], LATE);
}

#[test]
fn fhstcp() {
    holds("fhstcp", &[], &[], LATE);
}

#[test]
fn fhstcp_by_the_printed_rule() {
    holds("fhstcp", &[("c", "20/s"), ("eta_floor", "off")], &[("c", 20.0), ("eta_floor", 0.0)], LATE);
}

/// Its steps double in each round beyond the last maximum, which a sample gives only to within one or two
/// packets.
#[test]
fn bic() {
    holds("bic", &[], &[], 2.0 * LATE);
}

#[test]
fn htcp() {
    holds("htcp", &[], &[], LATE);
}

/// It reacts to single round-trip times, of which the kernel reports only a mean; so it must lie between the two
/// rules that it chooses from.
#[test]
fn ghstcp_is_between_reno_and_highspeed() {
    if !common::is_root() {
        return;
    }
    let _held = common::beside_its_like();
    common::until_it_counts(|| {
        let samples = samples("ghstcp", &[]);
        let slow = follow(&samples, controller("reno", &[])).climbs;
        let fast = follow(&samples, controller("highspeed", &[])).climbs;
        let pairs: Vec<_> = slow.into_iter().zip(fast).filter(|(slow, _)| slow.0 > SETTLED).collect();
        if pairs.is_empty() {
            return Err("it never climbed".to_owned());
        }
        for ((_, from, kernel, slow), (.., fast)) in pairs {
            eprintln!("ghstcp: from {from} to {kernel}; Reno's rule {slow:.1}, HighSpeed TCP's {fast:.1}");
            if kernel < slow - 2.0 || kernel > fast * 1.01 + 2.0 {
                return Err(format!("from {from} to {kernel}, not between {slow} and {fast}"));
            }
        }
        Ok(())
    });
}

/// It reacts to single transit times, which the kernel does not report; so its purpose is tested, a shorter queue
/// than Reno's with fewer packets lost, on the same path.
#[test]
fn synctcp_keeps_the_queue_shorter_than_reno() {
    if !common::is_root() {
        return;
    }
    let _held = common::beside_its_like();
    common::until_it_counts(|| {
        let [(queue, lost), (reno_queue, reno_lost)] = ["synctcp", "reno"].map(|name| {
            let samples = samples(name, &[]);
            let late: Vec<&Info> =
                samples.iter().filter(|(now, _)| *now > SETTLED).map(|(_, info)| info).collect();
            let srtt: f64 = late.iter().filter_map(|info| info.srtt).map(Span::as_secs).sum();
            let lost = late[late.len() - 1].retransmitted - late[0].retransmitted;
            (srtt / late.len() as f64 - RTT.as_secs(), lost)
        });
        let found = format!(
            "mean queue {:.1} ms, Reno's {:.1}; retransmitted {lost}, {reno_lost}",
            queue * 1e3,
            reno_queue * 1e3
        );
        eprintln!("{found}");
        if queue < reno_queue && lost <= reno_lost { Ok(()) } else { Err(found) }
    });
}
