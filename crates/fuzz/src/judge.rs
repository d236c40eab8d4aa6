//! Checks a text in a separate process with limits of memory and processor time, and its figures in a process of
//! the Python side.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use nix::sys::resource::{Resource, setrlimit};

use crate::check::{Verdict, check};
use crate::draw::FILE;
use crate::violation::{Invariant, Violation};

/// Address space of a checking process, bytes: what a current machine can spare per processor.
const MEMORY: u64 = 3 << 30;
/// Processor time after which a run is stopped, seconds, and that of the whole process.
const BUDGET_S: f64 = 8.0;
const CPU_LIMIT_S: u64 = 60;
/// How often a violation that depends on the machine has to occur.
const ATTEMPTS: usize = 3;

/// Starts checking processes.
#[derive(Debug)]
pub struct Judge {
    /// The program `fairhaul-fuzz`.
    pub program: PathBuf,
    /// The folder of the traces.
    pub beside: PathBuf,
    /// The process that checks the figures of a scenario, if requested.
    pub figures: Option<FigureProcess>,
}

/// The Python side: it reads a text and answers with the violations in its figures.
#[derive(Debug)]
pub struct FigureProcess(Mutex<Child>);

impl Judge {
    /// The verdict on `text`; a violation that depends on the machine must occur three times.
    pub fn judge(&self, text: &str) -> Verdict {
        let mut verdict = self.judge_once(text);
        for _ in 1..ATTEMPTS {
            match &verdict {
                Verdict::Broken(violation) if violation.invariant.is_measured() => {
                    verdict = self.judge_once(text)
                }
                _ => break,
            }
        }
        match (&verdict, &self.figures) {
            (Verdict::Fine(_), Some(figures)) => figures.judge(text).map_or(verdict, Verdict::Broken),
            _ => verdict,
        }
    }

    fn judge_once(&self, text: &str) -> Verdict {
        self.ask(text).unwrap_or_else(|error| panic!("{} cannot be run: {error}", self.program.display()))
    }

    fn ask(&self, text: &str) -> io::Result<Verdict> {
        let mut child = Command::new(&self.program)
            .arg("judge")
            .arg(&self.beside)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // If a process ended before it had read everything, its status decides.
        let _ = child.stdin.take().expect("it is piped").write_all(text.as_bytes());
        let output = child.wait_with_output()?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let last = stdout.lines().last().unwrap_or_default();
        Ok(answer(last).unwrap_or_else(|| {
            let status = output.status;
            let why = match status.signal() {
                Some(6) => format!(
                    "the process was aborted, e.g. because it requested more than {MEMORY} B \
                                    of memory"
                ),
                Some(9 | 24) => format!("the process took more than {CPU_LIMIT_S} s of processor time"),
                Some(11) => "the process overflowed its stack or accessed invalid memory".to_owned(),
                _ => format!("the process ended with {status}"),
            };
            Verdict::Broken(Violation { invariant: Invariant::Resources, text: why })
        }))
    }
}

impl FigureProcess {
    /// Starts `command`, a program and its arguments.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(command: &str) -> io::Result<FigureProcess> {
        let mut words = command.split_whitespace();
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let child = Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        Ok(FigureProcess(Mutex::new(child)))
    }

    /// The violation in the figures of `text`.
    fn judge(&self, text: &str) -> Option<Violation> {
        let mut child = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut ask = || -> io::Result<String> {
            let input = child.stdin.as_mut().expect("it is piped");
            writeln!(input, "{}", text.len())?;
            input.write_all(text.as_bytes())?;
            input.flush()?;
            let mut line = String::new();
            // It answers each text with one line, so nothing is lost with the buffer.
            BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut line)?;
            Ok(line)
        };
        let line = ask().unwrap_or_else(|error| panic!("the figures cannot be requested: {error}"));
        assert!(line.ends_with('\n'), "the process that computes the figures has ended");
        let line = line.trim();
        (line != "fine").then(|| Violation { invariant: Invariant::Bounds, text: line.to_owned() })
    }
}

impl Drop for FigureProcess {
    fn drop(&mut self) {
        if let Ok(child) = self.0.get_mut() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn answer(line: &str) -> Option<Verdict> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "fine" => rest.parse().ok().map(Verdict::Fine),
        "refused" => Some(Verdict::Refused),
        "unfinished" => Some(Verdict::Unfinished),
        "broken" => {
            let (word, text) = rest.split_once(": ")?;
            let invariant = Invariant::ALL.into_iter().find(|invariant| invariant.word() == word)?;
            Some(Verdict::Broken(Violation { invariant, text: text.to_owned() }))
        }
        _ => None,
    }
}

/// The checking process: reads a text from its input and prints the verdict.
///
/// # Errors
/// Input cannot be read, or limits cannot be set.
pub fn serve(beside: &std::path::Path) -> io::Result<()> {
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY)?;
    setrlimit(Resource::RLIMIT_CPU, CPU_LIMIT_S, CPU_LIMIT_S)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    std::panic::set_hook(Box::new(|_| {}));
    let text = io::read_to_string(io::stdin())?;
    let file = beside.join(FILE);
    let judged = std::panic::catch_unwind(|| check(&text, &file.to_string_lossy(), BUDGET_S));
    let verdict = judged.unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Verdict::Broken(Violation {
            invariant: Invariant::Panic,
            text: what.unwrap_or_default().replace('\n', " "),
        })
    });
    match verdict {
        Verdict::Fine(share) => println!("fine {share:.3}"),
        Verdict::Refused => println!("refused"),
        Verdict::Unfinished => println!("unfinished"),
        Verdict::Broken(violation) => println!("broken {}", violation.to_string().replace('\n', " ")),
    }
    Ok(())
}
