//! Quantities and words that a person gives outside of a scenario.

use fairhaul_experiment::{Quantity, RangeEnds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::study::ScenarioError;

/// Reads a time, a round-trip time, a rate or the size of a transfer with the units and the bounds of a scenario; in
/// seconds, bits per second or bytes.
#[pyfunction]
pub fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    let kind = match kind {
        "time" => Quantity::Time,
        "rtt" => Quantity::RoundTrip,
        "rate" => Quantity::Rate,
        "size" => Quantity::Size,
        _ => return Err(PyValueError::new_err("a quantity is a time, rtt, rate or size")),
    };
    fairhaul_experiment::quantity(kind, text).map_err(ScenarioError::new_err)
}

/// The ends of a range `{ from = …, to = …, scale = … }` that is searched, as TOML, and its scale, if it has one; a
/// single value is both ends.
#[pyfunction]
pub fn range_ends(toml: &str) -> PyResult<(String, String, Option<&'static str>)> {
    let RangeEnds { from, to, scale } =
        fairhaul_experiment::range_ends(toml).map_err(ScenarioError::new_err)?;
    Ok((from, to, scale))
}

/// The number and the unit of a quantity such as `"80 ms"`; nothing of another text.
#[pyfunction]
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    fairhaul_units::number_and_unit(text)
}

/// The word of `known` that `word` was probably meant to be.
#[pyfunction]
pub fn nearest(word: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    fairhaul_units::nearest(word, &known).map(str::to_owned)
}
