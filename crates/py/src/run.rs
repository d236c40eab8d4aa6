//! A run that Python can start, watch and stop.

use std::sync::Arc;

use arrow_schema::ArrowError;
use fairhaul_experiment::{Outlet, PacketTrace, Record, Scenario as Question, from_lines, printable};
use fairhaul_sim::{Control, RunError as Failure};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::guard;
use crate::own;
use crate::study::{Scenario, refused};
use crate::table::{Table, Tables, packets, tables};

create_exception!(
    fairhaul._core,
    RunError,
    PyRuntimeError,
    "A run failed; the message has scenario, seed, \
    time and reason."
);
create_exception!(fairhaul._core, Stopped, RunError, "A run was stopped on request.");

/// One run of a scenario in simulated time.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Run {
    question: Arc<Question>,
    trace: Option<u32>,
    control: Control,
}

#[pymethods]
impl Run {
    /// `trace`: the index of a flow whose packets are recorded. `memory`: the limit of the memory for outstanding
    /// work, bytes.
    #[new]
    #[pyo3(signature = (scenario, trace=None, memory=None))]
    fn new(scenario: &Scenario, trace: Option<u32>, memory: Option<u64>) -> PyResult<Run> {
        let question = scenario.question();
        if trace.is_some_and(|flow| flow as usize >= question.flows.len()) {
            return Err(PyValueError::new_err("no flow has this index"));
        }
        let control = Control::asking(own::is_interrupted);
        if let Some(bytes) = memory {
            control.limit_memory(bytes);
        }
        Ok(Run { question, trace, control })
    }

    /// Runs to the end with the interpreter's lock released.
    fn run(&self, py: Python<'_>) -> PyResult<Outcome> {
        py.detach(|| self.outcome())
    }

    /// Whether a stop was requested.
    #[getter]
    fn is_stopped(&self) -> bool {
        self.control.is_stopped()
    }

    /// How far simulated time has come, in seconds.
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
        let broken = |error| Failure::Broken {
            at: self.control.reached(),
            what: format!("a table could not be built: {error}"),
        };
        let (record, tables, trace) = guard::watch(&self.control, || {
            let (record, trace) = self.answer()?;
            let goes_on = || !self.control.is_stopped();
            let tables = tables(&self.question, &record, goes_on).map_err(broken)?.ok_or(Failure::Stopped)?;
            let trace = trace.map(traced).transpose();
            Ok((record, tables, trace.map_err(broken)?))
        })
        .map_err(|why| failure(&self.question, &why))?;
        Python::attach(|py| Outcome::new(py, &record, tables, trace))
    }

    /// The record, and the packet trace if it was requested.
    fn answer(&self) -> Result<(Record, Option<PacketTrace>), Failure> {
        let Some(flow) = self.trace else {
            return Ok((fairhaul_sim::run(&self.question, &self.control)?, None));
        };
        let (record, evidence) = fairhaul_sim::run_traced(&self.question, flow, &self.control)?;
        Ok((record, Some(evidence)))
    }
}

/// The exception for a run of a scenario that failed.
pub fn failure(question: &Question, why: &Failure) -> PyErr {
    let Question { title, seed, .. } = question;
    let title = printable(title);
    match why {
        Failure::Refused(requests) => refused(&title, requests),
        Failure::Stopped if let Some(raised) = own::take_request_to_end() => raised,
        Failure::Stopped => Stopped::new_err(format!("{title}, seed {seed}: stopped")),
        Failure::Faulty { at, .. } if let Some(raised) = own::take_raised() => {
            let note = format!("{title}, seed {seed}, at {at} of simulated time");
            Python::attach(|py| raised.add_note(py, note).map_or_else(|error| error, |()| raised))
        }
        why => RunError::new_err(format!("{title}, seed {seed}, {why}")),
    }
}

/// Reads the record of a run of `scenario` in another process, and its packet trace if there is one: a line of JSON each.
#[pyfunction]
pub fn received(py: Python<'_>, scenario: &Scenario, record: &[u8]) -> PyResult<Outcome> {
    let question = scenario.question();
    let title = printable(&question.title);
    let wrong = |why: String| RunError::new_err(format!("{title}: the record is damaged: {why}"));
    let (record, trace) = from_lines(record).map_err(wrong)?;
    if (record.flows.len(), record.links.len()) != (question.flows.len(), question.links.len()) {
        return Err(wrong("it belongs to another scenario".into()));
    }
    let tables = tables(&question, &record, || true).map_err(|error| wrong(error.to_string()))?;
    let tables = tables.expect("nothing ends it");
    let trace = trace.map(traced).transpose();
    Outcome::new(py, &record, tables, trace.map_err(|error| wrong(error.to_string()))?)
}

/// A packet trace for Python: its rows, whether later ones are missing, and what a transport stack gave beside them.
type Traced = (Table, bool, Outlet);

fn traced(trace: PacketTrace) -> Result<Traced, ArrowError> {
    Ok((packets(&trace.rows)?, trace.full, trace.outlet))
}

/// The contents of datagrams by connection, whether the sender sent it, and number; the keys, the logs of sender and
/// receiver; and whether something is missing.
type Given = (Py<PyDict>, Py<PyBytes>, [Py<PyBytes>; 2], bool);

fn given(py: Python<'_>, outlet: &Outlet) -> PyResult<Given> {
    let contents = PyDict::new(py);
    for of in &outlet.contents {
        contents.set_item((of.connection, of.forward, of.number), PyBytes::new(py, &of.bytes))?;
    }
    let text = |bytes: &Vec<u8>| PyBytes::new(py, bytes).unbind();
    Ok((contents.unbind(), text(&outlet.keys), outlet.logs.each_ref().map(text), outlet.full))
}

/// The result of a run.
#[pyclass(frozen, get_all, module = "fairhaul._core")]
pub struct Outcome {
    /// The engine of the run.
    engine: &'static str,
    /// Distinct data packets delivered in the whole run.
    packets: u64,
    /// Of each connection that a transport stack has closed: when, seconds, the index of its flow, and why.
    closures: Vec<(f64, u32, String)>,
    /// The tables of the record, by name.
    tables: Py<PyDict>,
    /// One row per packet of the traced flow and place; none without one.
    trace: Option<Py<Table>>,
    /// Whether the trace is incomplete, because it reached its limit of packets.
    trace_is_full: bool,
    /// What the transport stack of the traced flow gave: contents, keys, logs, and whether something is missing.
    outlet: Option<Given>,
}

impl Outcome {
    pub fn new(py: Python<'_>, record: &Record, tables: Tables, trace: Option<Traced>) -> PyResult<Outcome> {
        let by_name = PyDict::new(py);
        for (name, table) in tables {
            by_name.set_item(name, Py::new(py, table)?)?;
        }
        let (trace, trace_is_full, outlet) = match trace {
            Some((table, full, outlet)) => (Some(table), full, Some(given(py, &outlet)?)),
            None => (None, false, None),
        };
        Ok(Outcome {
            engine: record.engine,
            packets: record.packets,
            closures: record.closures.iter().map(|of| (of.t_s, of.flow, of.reason.clone())).collect(),
            tables: by_name.unbind(),
            trace: trace.map(|table| Py::new(py, table)).transpose()?,
            trace_is_full,
            outlet,
        })
    }
}
