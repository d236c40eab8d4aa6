//! A run that Python can start, watch and stop.

use std::sync::Arc;

use fairhaul_experiment::Scenario as Question;
use fairhaul_sim::{Control, RunError as Failure};
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::guard;
use crate::study::Scenario;
use crate::table::{Table, tables};

create_exception!(fairhaul._core, RunError, PyRuntimeError, "A run failed: scenario, seed, time and reason.");
create_exception!(fairhaul._core, Stopped, PyRuntimeError, "A run was asked to stop.");

/// One run of a scenario in virtual time.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Run {
    question: Arc<Question>,
    control: Control,
}

#[pymethods]
impl Run {
    #[new]
    fn new(scenario: &Scenario) -> Run {
        Run { question: scenario.question(), control: Control::default() }
    }

    /// Runs to the end with the interpreter's lock released.
    fn run(&self, py: Python<'_>) -> PyResult<Outcome> {
        py.detach(|| self.outcome())
    }

    /// How far virtual time has come, in seconds.
    #[getter]
    fn reached_s(&self) -> f64 {
        self.control.reached().as_secs()
    }

    /// Asks the run to end at once; it then raises `Stopped`.
    fn stop(&self) {
        self.control.stop();
    }
}

impl Run {
    fn outcome(&self) -> PyResult<Outcome> {
        let (record, tables) = guard::watch(&self.control, || {
            let record = fairhaul_sim::run(&self.question, &self.control)?;
            let tables = tables(&self.question, &record).map_err(|error| Failure::Broken {
                at: self.control.reached(),
                what: format!("a table could not be built: {error}"),
            })?;
            Ok((record, tables))
        })
        .map_err(|why| self.error(&why))?;
        Python::attach(|py| {
            Ok(Outcome {
                engine: record.engine,
                packets: record.packets,
                flow_series: Py::new(py, tables.flow_series)?,
                link_series: Py::new(py, tables.link_series)?,
                transfer: Py::new(py, tables.transfer)?,
                event: Py::new(py, tables.event)?,
            })
        })
    }

    fn error(&self, why: &Failure) -> PyErr {
        let Question { title, seed, .. } = &*self.question;
        match why {
            Failure::Stopped => Stopped::new_err(format!("{title}, seed {seed}: stopped")),
            why => RunError::new_err(format!("{title}, seed {seed}, {why}")),
        }
    }
}

/// What a run gave.
#[pyclass(frozen, get_all, module = "fairhaul._core")]
pub struct Outcome {
    /// Which engine ran.
    engine: &'static str,
    /// Distinct data packets delivered in the whole run.
    packets: u64,
    /// One row per flow and bin.
    flow_series: Py<Table>,
    /// One row per link, direction and bin.
    link_series: Py<Table>,
    /// One row per transfer.
    transfer: Py<Table>,
    /// One row per event.
    event: Py<Table>,
}
