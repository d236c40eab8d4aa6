//! The control of a run from another thread (stop, progress, memory limit), and the errors of a run without a record.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairhaul_units::Time;

/// The handle by which another thread follows a run and stops it.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    reached_ps: AtomicU64,
    stop: AtomicBool,
    most_memory: AtomicU64,
}

impl Default for Control {
    fn default() -> Control {
        let (reached_ps, stop, most_memory) =
            (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(u64::MAX));
        Control(Arc::new(Shared { reached_ps, stop, most_memory }))
    }
}

impl Control {
    /// How far simulated time has come.
    pub fn reached(&self) -> Time {
        Time::from_ps(self.0.reached_ps.load(Ordering::Relaxed))
    }

    /// Publishes how far simulated time has come; whether the run was asked to end.
    pub(crate) fn report_time(&self, now: Time) -> bool {
        self.0.reached_ps.store(now.as_ps(), Ordering::Relaxed);
        self.is_stopped()
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    /// Bounds the memory of outstanding packets, in bytes; a run that needs more ends with an error.
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
    /// Only kernels can do what the scenario requests: a sentence for each.
    Refused(Vec<String>),
    /// It was asked to stop.
    Stopped,
    /// The outstanding packets take more memory than they may.
    Full {
        /// How far simulated time had come.
        at: Time,
        /// What takes it.
        what: String,
    },
    /// A controller cannot go on.
    Faulty {
        /// How far simulated time had come.
        at: Time,
        /// Why not.
        what: String,
    },
    /// An invariant broke: a fault of the engine.
    Broken {
        /// How far simulated time had come.
        at: Time,
        /// Which invariant.
        what: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Refused(requests) => {
                write!(f, "the simulator cannot run this scenario:\n{}", requests.join("\n"))
            }
            RunError::Stopped => f.write_str("stopped"),
            RunError::Full { at, what } | RunError::Faulty { at, what } | RunError::Broken { at, what } => {
                write!(f, "at {at} of simulated time: {what}")
            }
        }
    }
}

impl std::error::Error for RunError {}
