//! Starts the program for one run, passes its answers on, and watches it: its progress, and whether its clock stands still
//! for too long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::{Value, json};

use super::memory_file::{inherited, memory_file};
use super::variables::{self, CLOCK_BYTES};
use crate::error::{Context, Error, Result};
use crate::lab::run_request::RequestedScenario;
use crate::lab::simulated_path::RECORD;
use crate::steps::say;
use crate::sys;

/// When the program's clock starts, nanoseconds since 1970: any time, but always the same.
const START_NS: &str = "1700000000000000000";
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(200);
/// Processor time that a program may use without a step of its clock.
const MOST_STILL_S: f64 = 60.0;
/// The library that carries packets, beside this binary.
const LIBRARY: &str = "libfairhaul_linux.so";

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
    let request = json!({ "request": { "do": "lab", "scenario": run.scenario, "record": RECORD } });
    let record = File::create(&run.record).when(run.record.display())?;
    let program = Program { path: &run.program, memory_mb: run.memory_mb, seed: scenario.seed };
    let duration_s = scenario.duration.as_secs();
    let mut result = program.run(&request, record, duration_s)?;
    result["cpu_s"] = json!(children_s()?);
    Ok(result)
}

/// Processor time of child processes that have ended.
fn children_s() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).when("processor time")?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}

/// How the program is started.
struct Program<'a> {
    path: &'a Path,
    memory_mb: u64,
    seed: u64,
}

impl Program<'_> {
    /// Runs it for a request; returns the result.
    fn run(&self, request: &Value, record: File, duration_s: f64) -> Result<Value> {
        let clock = memory_file("clock", &[0; CLOCK_BYTES]).when("memory for the clock of the program")?;
        let (child, answers) = self.start(request, &clock, record).when(self.path.display())?;
        let process = Pid::from_raw(child.id() as i32);
        let ended = AtomicBool::new(false);
        let (last, still) = thread::scope(|scope| {
            let watch = scope.spawn(|| watch(process, &clock, duration_s, &ended));
            let last = last_answer(answers);
            ended.store(true, Ordering::Relaxed);
            (last, watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let output = child.wait_with_output().when("the program")?;
        if still {
            return Err(Error::failed(format!(
                "the program used {MOST_STILL_S} s of processor time without a step of its clock, so it was ended: \
                 something in it never waits"
            )));
        }
        match last {
            Some(Value::Object(mut last)) if last.contains_key("result") => {
                Ok(last.remove("result").unwrap_or_default())
            }
            Some(last) if last["refused"] == json!(true) => Err(Error::refused(text(&last["error"]))),
            Some(last) if last["error"].is_string() => Err(Error::failed(text(&last["error"]))),
            _ => Err(Error::failed(format!(
                "the program {} ended without an answer ({}); it wrote: {}",
                self.path.display(),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
        }
    }

    fn start(&self, request: &Value, clock: &File, record: File) -> io::Result<(Child, PipeReader)> {
        let request = memory_file("request", request.to_string().as_bytes())?;
        let (answers, written) = io::pipe()?;
        let written = File::from(OwnedFd::from(written));
        let itself = std::env::current_exe()?;
        let library = itself.with_file_name(LIBRARY);
        let mut command = Command::new(self.path);
        command
            .env_clear()
            .env(variables::REQUEST, inherited(&request)?.to_string())
            .env(variables::ANSWERS, inherited(&written)?.to_string())
            .env(variables::RECORD, inherited(&record)?.to_string())
            .env(variables::CLOCK, inherited(clock)?.to_string())
            .env(variables::SEED, self.seed.to_string())
            .arg(joined("fairhaul=", &library))
            .arg(format!("mem={}M", self.memory_mb))
            .args(["root=/dev/root", "rootfstype=hostfs", "ro", "time-travel=inf-cpu"])
            .arg(format!("time-travel-start={START_NS}"))
            .args(["con=null", "con0=null,fd:2", "quiet", "loglevel=1", "panic=-1"])
            .arg(joined("init=", &itself))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.process_group(0);
        sys::end_with_parent(&mut command);
        sys::without_randomization(&mut command);
        let child = command.spawn()?;
        Ok((child, answers))
    }
}

fn joined(parameter: &str, path: &Path) -> OsString {
    let mut joined = OsString::from(parameter);
    joined.push(path);
    joined
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

/// Passes on what the program answers, and returns its last line.
fn last_answer(answers: PipeReader) -> Option<Value> {
    let mut last = None;
    for line in BufReader::new(answers).lines().map_while(io::Result::ok) {
        let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
        if value.get("result").is_none() && value.get("error").is_none() {
            say(&value);
        }
        last = Some(value);
    }
    last
}

/// Reports progress until the program has `ended`; ends it, and returns true, if its clock stands still for too long.
fn watch(process: Pid, clock: &File, duration_s: f64, ended: &AtomicBool) -> bool {
    let (mut last_ns, mut since_s) = (0, 0.0);
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(REPORT);
        let mut bytes = [0; CLOCK_BYTES];
        let Ok(()) = clock.read_exact_at(&mut bytes, 0) else { return false };
        let now_ns = u64::from_ne_bytes(bytes);
        let used_s = sys::processor_time_s(process).unwrap_or(since_s);
        if now_ns != last_ns {
            say(&json!({ "reached_s": (now_ns as f64 * 1e-9).min(duration_s) }));
            (last_ns, since_s) = (now_ns, used_s);
        } else if used_s - since_s > MOST_STILL_S {
            let _ = kill(process, Signal::SIGKILL);
            return true;
        }
    }
    false
}
