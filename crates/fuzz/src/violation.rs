//! The invariants of every run, and the violation of one.

use std::fmt;

/// The invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// Nothing panics.
    Panic,
    /// An invalid file is refused within a second, with the number of a line.
    Refusal,
    /// In = out + dropped + inside.
    Conservation,
    /// Levels and figures lie within their bounds.
    Bounds,
    /// No round trip is shorter than the path.
    Rtt,
    /// A transfer completes once its path is intact again.
    Completion,
    /// Two runs give the same record.
    Same,
    /// A packet costs a bounded time.
    Cost,
    /// A run stops on request.
    Stop,
    /// The process survives, within bounds on its memory and time.
    Resources,
}

impl Invariant {
    /// Every invariant.
    pub const ALL: [Invariant; 10] = [
        Invariant::Panic,
        Invariant::Refusal,
        Invariant::Conservation,
        Invariant::Bounds,
        Invariant::Rtt,
        Invariant::Completion,
        Invariant::Same,
        Invariant::Cost,
        Invariant::Stop,
        Invariant::Resources,
    ];

    /// Its name.
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether it depends on the machine, so that one violation proves nothing.
    pub fn is_measured(self) -> bool {
        matches!(self, Invariant::Cost | Invariant::Stop | Invariant::Resources | Invariant::Refusal)
    }
}

/// A violated invariant.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The invariant.
    pub invariant: Invariant,
    /// The observation that violates it.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant.word(), self.text)
    }
}
