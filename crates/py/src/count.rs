//! Flow counters on packets of random flows.

use fairhaul_path::count::estimated_flows;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The number of flows that `counter` estimates for each of `seeds`. `settings` are pairs of parameter and value
/// as a person types them.
#[pyfunction]
pub fn count_flows(
    py: Python<'_>,
    counter: &str,
    settings: Vec<(String, String)>,
    rates: Vec<f64>,
    packets: u64,
    gap_s: f64,
    seeds: Vec<u64>,
) -> PyResult<Vec<f64>> {
    let one = |seed| {
        py.check_signals()?;
        py.detach(|| estimated_flows(counter, &settings, &rates, packets, gap_s, seed))
            .map_err(PyValueError::new_err)
    };
    seeds.into_iter().map(one).collect()
}
