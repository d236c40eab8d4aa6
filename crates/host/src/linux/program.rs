//! The program as a process: how it is started, what it answers, and how it is watched.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::memory_file::{inherited, memory_file};
use crate::error::{Context, Error, Result};
use crate::steps::say;
use crate::sys;
use crate::variables::{self, CLOCK_BYTES};

/// When the program's clock starts, nanoseconds since 1970: any time, but always the same.
const START_NS: &str = "1700000000000000000";
/// How often the clock is read.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks there are for each report of progress.
const LOOKS: u32 = 10;
/// Processor time that a program may use without a step of its clock, unless the variable of this environment has
/// another one.
const MOST_STILL_S: f64 = 60.0;
const STILL_S: &str = "FAIRHAUL_STILL_S";
/// The library that carries packets, beside this binary.
const LIBRARY: &str = "libfairhaul_linux.so";

/// A program for one request.
pub struct Program<'a> {
    /// Its file.
    pub path: &'a Path,
    /// The memory of its kernel, MB.
    pub memory_mb: u64,
    /// The seed of its random numbers.
    pub seed: u64,
    /// Files that it inherits, with the variables that hold their descriptors.
    pub files: Vec<(&'static str, File)>,
    /// Whether it may write to the files of this user.
    pub writes: bool,
    /// Where its console is: descriptors of a terminal, or standard error.
    pub console: Option<(File, File)>,
}

impl Program<'_> {
    /// Runs it for a request, with progress until `duration_s` if it is known; returns the result.
    ///
    /// # Errors
    /// Those of the request; a failure if the program ends early, or if its clock stands still for too long.
    pub fn run(mut self, request: &Value, duration_s: Option<f64>) -> Result<Value> {
        let clock = memory_file("clock", &[0; CLOCK_BYTES]).when("memory for the clock of the program")?;
        let (child, answers) = self.start(request, &clock).map_err(|error| self.refusal(&error))?;
        let watched = Watched {
            process: Pid::from_raw(child.id() as i32),
            clock: &clock,
            most_still_s: most_still_s(),
        };
        let ended = AtomicBool::new(false);
        let (last, still) = thread::scope(|scope| {
            let watch = scope.spawn(|| watched.watch(duration_s, &ended));
            let last = last_answer(answers);
            ended.store(true, Ordering::Relaxed);
            (last, watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let output = child.wait_with_output().when("the program")?;
        if still {
            return Err(Error::failed(format!(
                "the program used {} s of processor time without a step of its clock, so it was ended: something in it \
                 never waits",
                watched.most_still_s
            )));
        }
        match last {
            Some(Value::Object(mut last)) if last.contains_key("result") => {
                Ok(last.remove("result").unwrap_or_default())
            }
            Some(last) if last["refused"] == json!(true) => Err(Error::refused(text(&last["error"]))),
            Some(last) if last["error"].is_string() => Err(Error::failed(text(&last["error"]))),
            _ => Err(self.early_end(output.status, String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Why it did not start.
    fn refusal(&self, error: &io::Error) -> Error {
        let path = self.path.display();
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => format!(
                ". Its file is not executable (chmod +x {path}), or its file system is mounted noexec (findmnt -T {path}); \
                 with XDG_CACHE_HOME=FOLDER, fairhaul linux build writes it elsewhere"
            ),
            io::ErrorKind::NotFound => "; build it: fairhaul linux build".into(),
            _ => String::new(),
        };
        Error::refused(format!("the program {path} cannot be started: {error}{remedy}"))
    }

    /// Why it ended without an answer; `text`: what it wrote. A refusal if it had not begun.
    fn early_end(&self, status: ExitStatus, text: &str) -> Error {
        let path = self.path.display();
        let wrote = if text.is_empty() { String::new() } else { format!("; it wrote: {text}") };
        let ended = format!("the program {path} ended without an answer ({status}){wrote}");
        if text.contains("ptrace") {
            return Error::refused(format!(
                "the program {path} executes processes by ptrace, which is forbidden here. A container has to allow it \
                 (docker run --cap-add SYS_PTRACE), and sysctl kernel.yama.ptrace_scope has to be less than 3{wrote}"
            ));
        }
        if text.starts_with("fairhaul: ") {
            return Error::refused(format!(
                "{ended}. Fairhaul's program and its library are of different versions, or one is missing: install \
                 Fairhaul again, and build the program again: fairhaul linux build"
            ));
        }
        Error::failed(ended)
    }

    fn start(&mut self, request: &Value, clock: &File) -> io::Result<(Child, PipeReader)> {
        let request = memory_file("request", request.to_string().as_bytes())?;
        let (answers, written) = io::pipe()?;
        let written = File::from(OwnedFd::from(written));
        let itself = std::env::current_exe()?;
        let mut command = Command::new(self.path);
        command.env_clear().env(variables::SEED, self.seed.to_string());
        command.env(variables::PARENT, std::process::id().to_string());
        let of_all =
            [(variables::REQUEST, &request), (variables::ANSWERS, &written), (variables::CLOCK, clock)];
        let own = self.files.iter().map(|(variable, file)| (*variable, file));
        for (variable, file) in of_all.into_iter().chain(own) {
            command.env(variable, inherited(file)?.to_string());
        }
        command
            .arg(joined("fairhaul=", &itself.with_file_name(LIBRARY)))
            .arg(format!("mem={}M", self.memory_mb))
            .args(["root=/dev/root", "rootfstype=hostfs", if self.writes { "rw" } else { "ro" }])
            .args(["time-travel=inf-cpu", &format!("time-travel-start={START_NS}")])
            .args(["con=null", &self.console()?, "quiet", "loglevel=1", "panic=-1"])
            .arg(joined("init=", &itself))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(if self.has_program() { Stdio::inherit() } else { Stdio::piped() });
        sys::end_with_parent(&mut command);
        sys::without_randomization(&mut command);
        let child = command.spawn()?;
        // The program alone holds them from now on, so that their other ends notice when it ends.
        self.files.clear();
        Ok((child, answers))
    }

    /// Whether a program of the user runs in it, which may write to standard error.
    fn has_program(&self) -> bool {
        self.console.is_some() || self.files.iter().any(|(variable, _)| *variable == variables::OUTPUT)
    }

    /// The parameter of its console.
    fn console(&self) -> io::Result<String> {
        Ok(match &self.console {
            Some((input, output)) => format!("con0=fd:{},fd:{}", inherited(input)?, inherited(output)?),
            None => "con0=null,fd:2".into(),
        })
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

/// The processor time that a program may use without a step of its clock, seconds.
fn most_still_s() -> f64 {
    let given = std::env::var(STILL_S).ok().and_then(|text| text.parse().ok());
    given.filter(|given| *given > 0.0).unwrap_or(MOST_STILL_S)
}

/// A program whose clock is read from time to time.
struct Watched<'a> {
    process: Pid,
    clock: &'a File,
    most_still_s: f64,
}

impl Watched<'_> {
    /// Reports progress until the program has `ended`; ends it, and returns true, if its clock stands still for too long.
    fn watch(&self, duration_s: Option<f64>, ended: &AtomicBool) -> bool {
        let (mut last_ns, mut since_s) = (0, 0.0);
        for look in 1.. {
            if ended.load(Ordering::Relaxed) {
                break;
            }
            thread::sleep(LOOK);
            let mut bytes = [0; CLOCK_BYTES];
            let Ok(()) = self.clock.read_exact_at(&mut bytes, 0) else { break };
            let now_ns = u64::from_ne_bytes(bytes);
            let used_s = self.processor_time_s();
            if now_ns != last_ns {
                (last_ns, since_s) = (now_ns, used_s);
                if let Some(duration_s) = duration_s.filter(|_| look % LOOKS == 0) {
                    say(&json!({ "reached_s": (now_ns as f64 * 1e-9).min(duration_s) }));
                }
            } else if used_s < since_s {
                since_s = used_s;
            } else if used_s - since_s > self.most_still_s {
                let _ = kill(self.process, Signal::SIGKILL);
                return true;
            }
        }
        false
    }

    /// The processor time of the program and of its child processes, which execute the processes in it. Processes that have
    /// ended do not count, so that it may become less; it then begins anew.
    fn processor_time_s(&self) -> f64 {
        let children =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.process)).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|child| child.parse().ok()).map(Pid::from_raw);
        children.chain([self.process]).filter_map(|process| sys::processor_time_s(process).ok()).sum()
    }
}
