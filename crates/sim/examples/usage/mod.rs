//! What a process has used so far, and how the examples that are measured read their scenario.

use std::process::ExitCode;

use fairhaul_experiment::{Scenario, read};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Processor time, of the user and of the system, in seconds.
pub fn cpu_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its own usage");
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e-6
}

/// The most memory that it has held, in kB. What the system counts for a process begins with what its
/// parent held as it started it, so this asks for the program's own peak where that is told.
pub fn peak_kb() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let own = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let own = own.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
    own.unwrap_or_else(|| getrusage(UsageWho::RUSAGE_SELF).expect("a process knows its own usage").max_rss())
}

/// Reads the scenario of `FILE [KEY=VALUE]...`; what is wrong with it was printed where there is none.
pub fn scenario(program: &str, arguments: &[String]) -> Result<Scenario, ExitCode> {
    let refuse = |what: String| {
        eprintln!("{what}");
        ExitCode::from(2)
    };
    let Some((path, settings)) = arguments.split_first() else {
        return Err(refuse(format!("{program}: wanted a scenario: {program} FILE [KEY=VALUE]...")));
    };
    let text =
        std::fs::read_to_string(path).map_err(|error| refuse(format!("{program}: {path}: {error}")))?;
    let split = |pair: &String| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.to_string(), value.to_string())
    };
    let settings: Vec<(String, String)> = settings.iter().map(split).collect();
    let study = read(&text, path, &settings).map_err(|mistakes| refuse(mistakes.to_string()))?;
    Ok(study.base)
}
