//! A gauge of a queue or of a controller: a number of its state, in the record over time.

/// A number that a queue or a controller keeps and that is worth a look over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Its name in the record.
    pub name: &'static str,
    /// What it counts in, as an axis says it; empty for a plain number.
    pub unit: &'static str,
    /// One line of what it is.
    pub help: &'static str,
}
