//! The invariants of every run, and the violation of one.

use std::fmt;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// Nothing panics.
    Panic,
    /// What is no scenario is refused within a second, with the number of a line.
    Refusal,
    /// In = out + dropped + inside.
    Conservation,
    /// Levels and figures lie within their bounds.
    Bounds,
    /// No round trip is shorter than the path.
    Rtt,
    /// A transfer over a path that is sound again ends.
    Completion,
    /// Two runs give the same record.
    Same,
    /// A packet costs a bounded time.
    Cost,
    /// A run that is asked to stop does.
    Stop,
    /// The process lives: it needs no more memory and time than is sensible.
    Life,
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
        Invariant::Life,
    ];

    /// Its word.
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether it depends on the machine, so that one look decides nothing.
    pub fn is_measured(self) -> bool {
        matches!(self, Invariant::Cost | Invariant::Stop | Invariant::Life | Invariant::Refusal)
    }
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// What was seen instead.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant.word(), self.text)
    }
}
