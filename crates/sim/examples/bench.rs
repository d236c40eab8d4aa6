//! How fast the engine is: four workloads, delivered data packets per CPU second and peak memory.
//!
//! `cargo run --release -p fairhaul-sim --example bench` runs each workload in a process of its
//! own, so that the peak is the workload's; with the name of one, only that, in this process.

use std::process::{Command, ExitCode};

use fairhaul_experiment::read;
use fairhaul_sim::{Control, run};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Times that a workload is run; the best counts, since the machine's speed drifts.
const RUNS: usize = 3;

/// Name, what it is, and its scenario.
fn workloads() -> Vec<(&'static str, &'static str, String)> {
    let flows = |name: &str, count: u32, controller: &str, rtt: &str, ssthresh: f64| {
        format!(
            "[[flow]]\nname = \"{name}\"\ncount = {count}\ncontroller = \"{controller}\"\nrtt = \"{rtt}\"\n\
             start = \"uniform 0 s..1 s\"\ninitial_ssthresh = {ssthresh:.1}\n"
        )
    };
    let dumbbell = |seconds: u32, rate: &str, delay: &str| {
        format!(
            "duration = \"{seconds} s\"\n[bottleneck]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
             queue = {{ kind = \"droptail\", capacity = \"1 bdp\" }}\n"
        )
    };
    let ten_rtts: String =
        (1..=10).map(|n| flows(&format!("r{n}"), 100, "reno", &format!("{} ms", 20 * n), 13.75)).collect();
    let share = 17_500.0 / 8.0;
    vec![
        (
            "W1",
            "1 highspeed, 1 Gbit/s, 100 ms, 60 s",
            dumbbell(60, "1 Gbit/s", "20 ms") + &flows("F", 1, "highspeed", "100 ms", 12_500.0),
        ),
        (
            "W2",
            "3 highspeed (80, 140, 200 ms) + 5 reno (140 ms), 1 Gbit/s, 100 s",
            dumbbell(100, "1 Gbit/s", "20 ms")
                + &flows("F1", 1, "highspeed", "80 ms", share)
                + &flows("F2", 1, "highspeed", "140 ms", share)
                + &flows("F3", 1, "highspeed", "200 ms", share)
                + &flows("reno", 5, "reno", "140 ms", share),
        ),
        (
            "W3",
            "100 highspeed, 10 Gbit/s, 50 ms, 10 s",
            dumbbell(10, "10 Gbit/s", "10 ms") + &flows("F", 100, "highspeed", "50 ms", 625.0),
        ),
        (
            "W4",
            "1000 reno, 1 Gbit/s, ten RTTs 20 to 200 ms, 20 s",
            dumbbell(20, "1 Gbit/s", "5 ms") + &ten_rtts,
        ),
    ]
}

fn cpu_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its own usage");
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e-6
}

/// Runs one workload here and prints its row.
fn measure(name: &str, what: &str, text: &str) {
    let study = read(text, name, &[]).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut best = f64::INFINITY;
    let mut packets = 0;
    for _ in 0..RUNS {
        let begun = cpu_s();
        let record = run(&study.base, &Control::default()).expect("the engine keeps its invariants");
        best = best.min(cpu_s() - begun);
        packets = record.packets;
    }
    let peak_kb = getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its own usage").max_rss();
    let million = packets as f64 / best / 1e6;
    println!("{name}  {million:5.2} M/s  {packets:9} packets  {best:6.3} s  {:4} MB  {what}", peak_kb / 1000);
}

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1);
    if let Some((name, what, text)) = workloads().iter().find(|w| Some(w.0) == wanted.as_deref()) {
        measure(name, what, text);
        return ExitCode::SUCCESS;
    }
    if let Some(name) = wanted {
        eprintln!("bench: no workload {name:?}; there are W1, W2, W3 and W4");
        return ExitCode::from(2);
    }
    println!("delivered data packets per CPU second, best of {RUNS}; peak memory of the process");
    let here = std::env::current_exe().expect("a running program has a path");
    let runs = workloads()
        .iter()
        .all(|(name, ..)| Command::new(&here).arg(name).status().is_ok_and(|status| status.success()));
    if runs { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
