//! A run that Python pauses, looks at, changes and copies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairhaul_experiment::EventRow;
use fairhaul_sim::{Control, FlowState as EngineState, Pause, RunError as Failure, Simulation as Engine};
use fairhaul_units::{Span, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::guard;
use crate::own;
use crate::run::{Outcome, failure};
use crate::study::Scenario;
use crate::table::tables;

/// A run under way.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Simulation {
    /// `None` after an error, and at the end.
    engine: Mutex<Option<Engine>>,
    control: Control,
}

/// The senders of a flow at one time; see `FlowState` of the engine.
#[pyclass(frozen, get_all, module = "fairhaul._core")]
pub struct FlowState {
    connections: usize,
    cwnd: f64,
    ssthresh: f64,
    in_flight: f64,
    acknowledged: u64,
    srtt_s: f64,
    min_rtt_s: f64,
    recovering: bool,
    mode: Option<u8>,
}

impl From<EngineState> for FlowState {
    fn from(state: EngineState) -> FlowState {
        let EngineState { connections, cwnd, ssthresh, in_flight, acknowledged, recovering, mode, .. } =
            state;
        let (srtt_s, min_rtt_s) = (state.srtt.as_secs(), state.min_rtt.as_secs());
        FlowState {
            connections,
            cwnd,
            ssthresh,
            in_flight,
            acknowledged,
            srtt_s,
            min_rtt_s,
            recovering,
            mode,
        }
    }
}

#[pymethods]
impl FlowState {
    fn __repr__(&self) -> String {
        let FlowState { connections, cwnd, ssthresh, in_flight, .. } = self;
        format!(
            "FlowState(connections={connections}, cwnd={cwnd}, ssthresh={ssthresh}, in_flight={in_flight})"
        )
    }
}

/// An event of a record: its time, kind, flow and value.
type Event = (f64, &'static str, u32, f64);

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

#[pymethods]
impl Simulation {
    /// `memory`: the limit of the memory for outstanding work, bytes.
    #[new]
    #[pyo3(signature = (scenario, memory=None))]
    fn new(py: Python<'_>, scenario: &Scenario, memory: Option<u64>) -> PyResult<Simulation> {
        let (question, control) = (scenario.question(), Control::asking(own::is_interrupted));
        if let Some(bytes) = memory {
            control.limit_memory(bytes);
        }
        let begun =
            py.detach(|| guard::watch(&control, || Engine::new(Arc::clone(&question), control.clone())));
        let engine = begun.map_err(|why| failure(&question, &why))?;
        Ok(Simulation { engine: Mutex::new(Some(engine)), control })
    }

    /// The time up to which everything has happened, seconds.
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, |engine| engine.now().as_secs())
    }

    /// Runs until a time, seconds.
    fn run_until(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.go_on(py, |engine| engine.run_until(at(seconds)).map(drop))
    }

    /// Runs until an event of one of these kinds, and of this flow if one is given, has happened, or until a time.
    fn run_until_event(
        &self,
        py: Python<'_>,
        seconds: f64,
        kinds: Vec<String>,
        flow: Option<u32>,
    ) -> PyResult<Option<Event>> {
        let wanted = |event: &EventRow| {
            flow.is_none_or(|flow| flow == event.flow) && kinds.iter().any(|kind| *kind == event.kind)
        };
        self.go_on(py, |engine| {
            Ok(match engine.run_until_event(at(seconds), wanted)? {
                Pause::Event(EventRow { t_s, kind, flow, value }) => Some((t_s, kind, flow, value)),
                Pause::Time | Pause::End => None,
            })
        })
    }

    /// The senders of the flow of that index.
    fn flow(&self, py: Python<'_>, flow: u32) -> PyResult<FlowState> {
        self.look(py, |engine| engine.flow(flow).into())
    }

    /// Packets that wait at the link of that index, or are being sent there.
    fn queued(&self, py: Python<'_>, link: u32) -> PyResult<u64> {
        self.look(py, |engine| engine.queued(link))
    }

    /// Sets window and threshold of the open connections of a flow, packets.
    fn set_window(&self, py: Python<'_>, flow: u32, cwnd: f64, ssthresh: f64) -> PyResult<()> {
        self.go_on(py, |engine| engine.set_window(flow, cwnd, ssthresh))
    }

    /// Goes on with the controllers of another scenario. Where that is refused nothing is changed.
    fn take_controllers(&self, py: Python<'_>, scenario: &Scenario) -> PyResult<()> {
        let question = scenario.question();
        py.detach(|| {
            let mut engine = self.engine();
            let running = engine.as_mut().ok_or_else(over)?;
            running.take_controllers(Arc::clone(&question)).map_err(|why| failure(&question, &why))
        })
    }

    /// A copy, which goes on by itself.
    fn copy(&self, py: Python<'_>) -> PyResult<Simulation> {
        let control = Control::asking(own::is_interrupted);
        control.limit_memory(self.control.most_memory());
        let copied = self.go_on(py, |engine| Ok(engine.copied(control.clone())))?;
        Ok(Simulation { engine: Mutex::new(Some(copied)), control })
    }

    /// Runs to the end; the simulation cannot be used any more.
    fn finish(&self, py: Python<'_>) -> PyResult<Outcome> {
        let engine = self.engine().take().ok_or_else(over)?;
        let question = Arc::clone(engine.scenario());
        let ended = py.detach(|| {
            guard::watch(&self.control, || {
                let record = engine.finish()?;
                let broken = |error| Failure::Broken {
                    at: self.control.reached(),
                    what: format!("a table could not be built: {error}"),
                };
                let built = tables(&question, &record, || !self.control.is_stopped()).map_err(broken)?;
                Ok((record, built.ok_or(Failure::Stopped)?))
            })
        });
        let (record, built) = ended.map_err(|why| failure(&question, &why))?;
        Outcome::new(py, &record, built, None)
    }

    /// Asks a call that is under way in another thread to end.
    pub fn stop(&self) {
        self.control.stop();
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the simulation has ended")
}

impl Simulation {
    fn engine(&self) -> MutexGuard<'_, Option<Engine>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the engine. Where it runs in another thread, that thread may need the interpreter before this one gets
    /// the engine.
    fn look<T: Send>(&self, py: Python<'_>, what: impl FnOnce(&mut Engine) -> T + Send) -> PyResult<T> {
        py.detach(|| self.engine().as_mut().map(what)).ok_or_else(over)
    }

    /// Does something with the engine in any thread. After an error it is over.
    pub fn with<T>(&self, what: impl FnOnce(&mut Engine, &Control) -> PyResult<T>) -> PyResult<T> {
        let mut engine = self.engine();
        let done = what(engine.as_mut().ok_or_else(over)?, &self.control);
        if done.is_err() {
            *engine = None;
        }
        done
    }

    /// Does something with the engine, and with the interpreter's lock released. After an error it is over.
    fn go_on<T: Send>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&mut Engine) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut engine = self.engine();
            let running = engine.as_mut().ok_or_else(over)?;
            let question = Arc::clone(running.scenario());
            let done = guard::watch(&self.control, || what(running));
            done.map_err(|why| {
                *engine = None;
                failure(&question, &why)
            })
        })
    }
}
