//! The site of a queue, which is the link that it precedes, and a parameter that it refuses there.

use fairhaul_units::{Rate, Span};

use super::Capacity;

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
