//! Runs a scenario once in the lab, and prints for each flow what it got after the warm-up, and whether the run is
//! to be believed. Needs root, and Linux.
//!
//! `lab FILE [KEY=VALUE]...`

use std::process::ExitCode;

fn main() -> ExitCode {
    match laboratory::go() {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("lab: {sentence}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod laboratory {
    pub fn go() -> Result<(), String> {
        Err("it works on Linux only".into())
    }
}

#[cfg(target_os = "linux")]
mod laboratory {
    use fairhaul_experiment::{FlowRow, Scenario, read};
    use fairhaul_host::lab::flow_controller::KernelNames;
    use fairhaul_host::lab::{RunResult, run};
    use fairhaul_units::Time;

    pub fn go() -> Result<(), String> {
        let mut arguments = std::env::args().skip(1);
        let file = arguments.next().ok_or("wanted a scenario: lab FILE [KEY=VALUE]...")?;
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let split = |pair: String| {
            let (key, value) = pair.split_once('=').unwrap_or((&pair, ""));
            (key.to_string(), value.to_string())
        };
        let settings: Vec<(String, String)> = arguments.map(split).collect();
        let scenario = read(&text, &file, &settings).map_err(|mistakes| mistakes.to_string())?.base;
        let answer = run(&scenario, &KernelNames::new(), None, None).map_err(|error| error.to_string())?;
        print(&scenario, &answer);
        Ok(())
    }

    fn print(scenario: &Scenario, answer: &RunResult) {
        let RunResult { record, validity, .. } = answer;
        let first = (0..record.grid.len())
            .find(|bin| record.grid.start(*bin) >= Time::ZERO + scenario.warmup)
            .unwrap_or_default();
        let seconds = (scenario.duration - scenario.warmup).as_secs();
        for (flow, rows) in scenario.flows.iter().zip(&record.flows) {
            let rows = &rows[first..];
            let sum = |of: fn(&FlowRow) -> u64| rows.iter().map(of).sum::<u64>() as f64;
            let mean = |of: fn(&FlowRow) -> f64| {
                let known: Vec<f64> = rows.iter().map(of).filter(|value| value.is_finite()).collect();
                known.iter().sum::<f64>() / known.len() as f64
            };
            println!(
                "{:12} {:10} {:9.3} Mbit/s  loss {:.2e}  rtt {:.2} ms  cwnd {:.1}",
                flow.name,
                flow.controller.entry.name,
                sum(|row| row.goodput_bytes) * 8e-6 / seconds,
                sum(|row| row.lost) / sum(|row| row.sent),
                mean(|row| row.rtt_s) * 1e3,
                mean(|row| row.cwnd_packets),
            );
        }
        println!("{}", serde_json::to_string_pretty(validity).expect("it has no keys but strings"));
    }
}
