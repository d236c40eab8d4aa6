//! The site of a queue, which is the link that it precedes; a refused parameter, and a gauge.

use fairhaul_units::{Rate, Span};

use super::Capacity;

/// A number that a queue keeps for itself and that is worth seeing over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Its name in the record.
    pub name: &'static str,
    /// What it counts in, as an axis says it; empty for a plain number.
    pub unit: &'static str,
    /// One line of what it is.
    pub help: &'static str,
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// What the link can carry: at the start, or the mean of a trace.
    pub rate: Rate,
    /// Its propagation, one way, at the start.
    pub delay: Span,
    /// What the queue holds.
    pub capacity: Capacity,
    /// What a drop-tail queue holds before it marks.
    pub mark: Capacity,
}

/// A parameter that does not fit the others or the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Which.
    pub parameter: &'static str,
    /// Why, as the rest of a sentence.
    pub text: String,
}

impl Refusal {
    pub(super) fn new(parameter: &'static str, text: String) -> Refusal {
        Refusal { parameter, text }
    }
}
