//! Starts the program for a run of a scenario.

use std::fs::File;
use std::path::PathBuf;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Deserialize;
use serde_json::{Value, json};

use super::memory_file::memory_file;
use super::program::Program;
use crate::error::{Context, Result};
use crate::lab::program::{AllowedPrograms, allowed};
use crate::lab::run_request::RequestedScenario;
use crate::lab::simulated_path::RECORD;
use crate::variables;

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
    /// The file for the record, as JSON; the packet trace follows it.
    record: PathBuf,
    /// The number of the flow whose packets are traced.
    #[serde(default)]
    trace: Option<u32>,
    /// What programs of the scenario may do, if the user allows them.
    #[serde(default)]
    programs: Option<AllowedPrograms>,
}

/// Runs a scenario in the program; returns its validity.
///
/// # Errors
/// A refusal if the program cannot be started, or the kernel in it cannot run the scenario; a failure if it ends early.
pub fn launch(run: &LinuxRun) -> Result<Value> {
    let scenario = run.scenario.read_in_bounds()?;
    let programs = allowed(&scenario, run.programs.as_ref())?;
    let programs = programs.map(AllowedPrograms::for_simulation).transpose()?;
    let record = File::create(&run.record).when(run.record.display())?;
    let mut files = vec![(variables::RECORD, record)];
    if programs.is_some() {
        // With an input, even an empty one, the payload of packets is carried.
        files.push((variables::INPUT, memory_file("input", b"").when("memory for an input")?));
    }
    let program = Program {
        path: &run.program,
        memory_mb: run.memory_mb,
        seed: scenario.seed,
        files,
        writes: false,
        console: None,
    };
    let mut question = json!({ "do": "lab", "scenario": run.scenario, "record": RECORD, "trace": run.trace });
    if let Some(programs) = programs {
        question["programs"] = json!(programs);
    }
    let request = json!({ "request": question });
    let mut result = program.run(&request, Some(scenario.duration.as_secs()))?;
    result["cpu_s"] = json!(children_s()?);
    Ok(result)
}

/// Asks whether the program can run scenarios, before other work is done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxReady {
    /// The program.
    program: PathBuf,
    /// The memory of the kernel in it, MB.
    memory_mb: u64,
    /// What is to be run.
    scenarios: Vec<RequestedScenario>,
}

/// Checks what can be checked without running anything, by the kernel in the program itself.
///
/// # Errors
/// A refusal if the program cannot be started, or cannot run one of the scenarios.
pub fn ready(question: &LinuxReady) -> Result<Value> {
    let program = Program {
        path: &question.program,
        memory_mb: question.memory_mb,
        seed: 0,
        files: Vec::new(),
        writes: false,
        console: None,
    };
    program.run(&json!({ "request": { "do": "ready", "scenarios": question.scenarios } }), None)
}

/// Processor time of child processes that have ended.
fn children_s() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).when("processor time")?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}
