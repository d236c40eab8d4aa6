//! Runs a scenario once and prints how many data packets it delivered: what a program that counts
//! instructions watches.
//!
//! `packets FILE`

use std::process::ExitCode;

use fairhaul_experiment::read;
use fairhaul_sim::{Control, run};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("packets: a scenario is wanted: packets FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("packets: {path}: {error}");
            return ExitCode::from(2);
        }
    };
    match read(&text, &path, &[]) {
        Ok(study) => {
            let record = run(&study.base, &Control::default()).expect("the engine keeps its invariants");
            println!("{}", record.packets);
            ExitCode::SUCCESS
        }
        Err(mistakes) => {
            eprintln!("{mistakes}");
            ExitCode::from(2)
        }
    }
}
