//! Whether a controller as an eBPF object does in the kernel of the program what it does in this project's interpreter: the
//! kernel records every call of the object in a run, and the interpreter repeats them (`fairhaul_bpf::replay`).

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use fairhaul_bpf::{Replayed, replay};
use serde::Deserialize;
use serde_json::{Value, json};

use super::memory_file::memory_file;
use super::program::Program;
use crate::error::{Context, Error, Result};
use crate::lab::run_request::RequestedScenario;
use crate::lab::simulated_path::RECORD;
use crate::lab::temporary_ports::objects;
use crate::variables;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinuxCalls {
    /// The program.
    program: PathBuf,
    /// The memory of the kernel in it, MB.
    memory_mb: u64,
    /// What is run: its flows with an eBPF object have the same one, with any parameters.
    scenario: RequestedScenario,
    /// A file for the calls, if they are to be kept.
    #[serde(default)]
    keep: Option<PathBuf>,
    /// A file for the record of the run, if it is to be kept.
    #[serde(default)]
    record: Option<PathBuf>,
}

/// Runs a scenario in the program, and repeats the calls of its eBPF object; returns the comparison.
///
/// # Errors
/// Those of a run; a refusal if the flows have no eBPF object, or several.
pub fn compare_calls(asked: &LinuxCalls) -> Result<Value> {
    let scenario = asked.scenario.read_in_bounds()?;
    let (object, controller) = match &objects(&scenario.flows)?[..] {
        [only] => only.clone(),
        several => {
            let count = several.len();
            return Err(Error::refused(format!("the flows have {count} eBPF objects, and must have one")));
        }
    };
    let of_memory = |name| memory_file(name, b"").when("memory for the calls of a run");
    let (calls, record) = (of_memory("calls")?, of_memory("record")?);
    let kept = |file: &File| file.try_clone().when("memory for the calls of a run");
    let program = Program {
        path: &asked.program,
        memory_mb: asked.memory_mb,
        seed: scenario.seed,
        files: vec![(variables::RECORD, kept(&record)?), (variables::CALLS, kept(&calls)?)],
        writes: false,
        console: None,
    };
    let request = json!({ "request": { "do": "lab", "scenario": asked.scenario, "record": RECORD } });
    program.run(&request, Some(scenario.duration.as_secs()))?;
    let calls = content(calls).when("the calls of a run")?;
    let record = content(record).when("the record of a run")?;
    for (path, bytes) in [(&asked.keep, &calls), (&asked.record, &record)] {
        if let Some(path) = path {
            fs::write(path, bytes).when(path.display())?;
        }
    }
    let replayed =
        replay(&calls, &object, Some(&controller)).map_err(|error| Error::failed(error.to_string()))?;
    Ok(described(&controller, &replayed))
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn described(controller: &str, replayed: &Replayed) -> Value {
    json!({
        "controller": controller,
        "sockets": replayed.sockets,
        "calls": replayed.total(),
        "operations": replayed.calls,
        "values": replayed.values,
        "changed": replayed.changed,
        "differences": replayed.differences,
        "first": replayed.first,
        "outside": replayed.outside,
    })
}
