//! A controller that cannot go on ends its run with a reason.

use std::panic::resume_unwind;

use fairhaul_units::Time;

/// Why a controller cannot go on. The engine catches it and ends the run with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it found out; `None` where it knows no time.
    pub at: Option<Time>,
    /// The reason.
    pub what: String,
}

impl Fault {
    /// Ends the run.
    pub fn raise(self) -> ! {
        resume_unwind(Box::new(self))
    }
}
