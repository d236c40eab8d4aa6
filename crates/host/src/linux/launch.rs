//! Starts the program for a run of a scenario.

use std::fs::File;
use std::path::PathBuf;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Deserialize;
use serde_json::{Value, json};

use super::program::Program;
use super::variables;
use crate::error::{Context, Result};
use crate::lab::run_request::RequestedScenario;
use crate::lab::simulated_path::RECORD;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxRun {
    /// The program.
    program: PathBuf,
    /// The memory of the kernel in it, MB.
    memory_mb: u64,
    /// What is run.
    scenario: RequestedScenario,
    /// The file for the record, as JSON.
    record: PathBuf,
}

/// Runs a scenario in the program; returns its validity.
///
/// # Errors
/// A refusal if the program cannot be started, or the kernel in it cannot run the scenario; a failure if it ends early.
pub fn launch(run: &LinuxRun) -> Result<Value> {
    let scenario = run.scenario.read()?;
    let record = File::create(&run.record).when(run.record.display())?;
    let program = Program {
        path: &run.program,
        memory_mb: run.memory_mb,
        seed: scenario.seed,
        files: vec![(variables::RECORD, record)],
        writes: false,
        console: None,
    };
    let request = json!({ "request": { "do": "lab", "scenario": run.scenario, "record": RECORD } });
    let mut result = program.run(&request, Some(scenario.duration.as_secs()))?;
    result["cpu_s"] = json!(children_s()?);
    Ok(result)
}

/// Processor time of child processes that have ended.
fn children_s() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).when("processor time")?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}
