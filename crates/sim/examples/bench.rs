//! Runs a scenario once and prints the data packets that it delivered, the processor time of the
//! engine in seconds and the peak of the process's memory in kB: what `make bench` runs, and what
//! a program that counts instructions watches.
//!
//! `bench FILE [KEY=VALUE]...`

use std::process::ExitCode;

use fairhaul_sim::{Control, run};

mod usage;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scenario = match usage::scenario("bench", &arguments) {
        Ok(scenario) => scenario,
        Err(status) => return status,
    };
    let begun = usage::cpu_s();
    let record = run(&scenario, &Control::default()).expect("the engine keeps its invariants");
    let cpu_s = usage::cpu_s() - begun;
    println!("{} {cpu_s:.6} {}", record.packets, usage::peak_kb());
    ExitCode::SUCCESS
}
