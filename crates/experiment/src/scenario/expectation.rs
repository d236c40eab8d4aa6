//! What is expected of the figures of a run; nothing for an engine.

use fairhaul_units::Span;
use serde::Serialize;

use crate::json::seconds;

/// A number of a run, and the bounds within which it is expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    /// The expectation as a sentence.
    pub what: String,
    /// The number, as a formula over figures.
    pub number: String,
    /// The smallest that is expected.
    pub at_least: Option<f64>,
    /// The largest that is expected.
    pub at_most: Option<f64>,
    /// A setting of the run that the number is divided by that of; empty for none.
    pub relative_to: String,
    /// The key and place of its source, empty for none.
    pub source: String,
    /// The figures are those from then on,
    #[serde(rename = "from_s", serialize_with = "seconds")]
    pub from: Span,
    /// up to here.
    #[serde(rename = "until_s", serialize_with = "seconds")]
    pub until: Span,
}
