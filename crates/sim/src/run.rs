//! The way in: a scenario goes in, a record comes out.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairhaul_experiment::{Record, Scenario};
use fairhaul_units::Time;

use crate::engine::Engine;
use crate::trace::Evidence;

/// What another thread may see of a run, and do to it.
#[derive(Clone, Debug)]
pub struct Control(Arc<State>);

#[derive(Debug)]
struct State {
    reached_ps: AtomicU64,
    stop: AtomicBool,
    most_memory: AtomicU64,
}

impl Default for Control {
    fn default() -> Control {
        let (reached_ps, stop, most_memory) =
            (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(u64::MAX));
        Control(Arc::new(State { reached_ps, stop, most_memory }))
    }
}

impl Control {
    /// How far virtual time has come.
    pub fn reached(&self) -> Time {
        Time::from_ps(self.0.reached_ps.load(Ordering::Relaxed))
    }

    /// Says how far virtual time has come; whether somebody asked the run to end.
    pub(crate) fn look(&self, now: Time) -> bool {
        self.0.reached_ps.store(now.as_ps(), Ordering::Relaxed);
        self.is_stopped()
    }

    /// Whether somebody asked the run to end.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// How much memory what is outstanding may take, in bytes; a run that needs more ends with an error.
    pub fn limit_memory(&self, bytes: u64) {
        self.0.most_memory.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn most_memory(&self) -> u64 {
        self.0.most_memory.load(Ordering::Relaxed)
    }

    /// Asks the run to end at once.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// Why a run gave no record.
#[derive(Clone, Debug, PartialEq)]
pub enum RunError {
    /// Somebody asked it to stop.
    Stopped,
    /// What is outstanding takes more memory than it may.
    Full {
        /// How far virtual time had come.
        at: Time,
        /// What takes it.
        what: String,
    },
    /// An invariant broke: a fault of the engine.
    Broken {
        /// How far virtual time had come.
        at: Time,
        /// Which invariant.
        what: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Stopped => f.write_str("stopped"),
            RunError::Full { at, what } | RunError::Broken { at, what } => {
                write!(f, "at {at} of simulated time: {what}")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `scenario` in virtual time. The same scenario gives the same record on every machine.
///
/// # Errors
/// [`RunError::Stopped`] after [`Control::stop`]; [`RunError::Full`] where memory ran out, see
/// [`Control::limit_memory`]; [`RunError::Broken`] where an invariant broke.
pub fn run(scenario: &Scenario, control: &Control) -> Result<Record, RunError> {
    guarded(control, || Engine::new(scenario, control)?.run()).map(|(record, _)| record)
}

/// The same, with evidence of every packet of the flow of that index.
///
/// # Errors
/// Those of [`run`].
pub fn run_traced(scenario: &Scenario, flow: u32, control: &Control) -> Result<(Record, Evidence), RunError> {
    let (record, trace) = guarded(control, || Engine::new(scenario, control)?.tracing(flow).run())?;
    Ok((record, trace.expect("the engine was asked to trace").close()))
}

/// Does `attempt`, part of the run behind `control`: a broken invariant becomes an error that says when. The one
/// place that catches panics, for the engine and for what is made of its record.
///
/// # Errors
/// Those of `attempt`, and [`RunError::Broken`].
pub fn guarded<T>(control: &Control, attempt: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().cloned();
        let what = what.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(RunError::Broken { at: control.reached(), what: what.unwrap_or_else(|| "a panic".into()) })
    })
}
