//! The control of a run from another thread (stop, progress, memory limit), and the errors of a run without a record.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairhaul_units::Time;

/// The handle by which another thread follows a run and stops it.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

/// How often a run asks whether it is interrupted.
const ASKS_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct Shared {
    reached_ps: AtomicU64,
    stop: AtomicBool,
    most_memory: AtomicU64,
    interrupt: Option<Interrupt>,
}

/// What the thread of a run asks from time to time.
#[derive(Debug)]
struct Interrupt {
    /// Whether the run is to end.
    is_interrupted: fn() -> bool,
    begun: Instant,
    /// When it was asked last, milliseconds after `begun`.
    asked_ms: AtomicU64,
}

impl Interrupt {
    fn is_due(&self) -> bool {
        let now = self.begun.elapsed().as_millis() as u64;
        let is_due = now >= self.asked_ms.load(Ordering::Relaxed) + ASKS_EVERY.as_millis() as u64;
        if is_due {
            self.asked_ms.store(now, Ordering::Relaxed);
        }
        is_due
    }
}

impl Default for Control {
    fn default() -> Control {
        Control::with(None)
    }
}

impl Control {
    fn with(interrupt: Option<Interrupt>) -> Control {
        Control(Arc::new(Shared { most_memory: AtomicU64::new(u64::MAX), interrupt, ..Shared::default() }))
    }

    /// A run whose thread asks `is_interrupted` some times a second, and ends when that is so.
    pub fn asking(is_interrupted: fn() -> bool) -> Control {
        let (begun, asked_ms) = (Instant::now(), AtomicU64::new(0));
        Control::with(Some(Interrupt { is_interrupted, begun, asked_ms }))
    }

    /// How far simulated time has come.
    pub fn reached(&self) -> Time {
        Time::from_ps(self.0.reached_ps.load(Ordering::Relaxed))
    }

    /// Publishes how far simulated time has come; whether the run was asked to end.
    pub(crate) fn report_time(&self, now: Time) -> bool {
        self.0.reached_ps.store(now.as_ps(), Ordering::Relaxed);
        if let Some(interrupt) = &self.0.interrupt
            && interrupt.is_due()
            && (interrupt.is_interrupted)()
        {
            self.stop();
        }
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

    /// The bound of the memory, bytes.
    pub fn most_memory(&self) -> u64 {
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
