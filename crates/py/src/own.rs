//! Controllers written in Python: the engine calls an object of the user's class, which moves the window.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use fairhaul_cc::{
    AckEvent, AgentKind, Cause, Congestion, Controller, Fault, Needs, Own, OwnKind, OwnMaker, OwnValue,
    OwnValues, Pacing, Window as EngineWindow,
};
use fairhaul_units::{Span, Time};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::own_events::{Ack, Event, Round, RoundSum, Window};

thread_local! {
    /// What a controller of this thread has raised.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Takes what a controller of this thread has raised.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

/// Whether a handler of signals has raised an exception, such as `KeyboardInterrupt`, which ends the run. Handlers run
/// in the main thread only.
pub fn is_interrupted() -> bool {
    Python::attach(|py| py.check_signals().map_err(|raised| RAISED.set(Some(raised))).is_err())
}

/// Takes what a controller of this thread has raised, or a handler of signals, if it is not an error of the
/// controller: it asks the program to end.
pub fn take_request_to_end() -> Option<PyErr> {
    let asks_to_end = |raised: &PyErr| Python::attach(|py| !raised.is_instance_of::<PyException>(py));
    take_raised().filter(asks_to_end)
}

/// Ends the run with an exception of a controller.
fn fail(raised: PyErr, at: Option<Time>) -> ! {
    let what = raised.to_string();
    RAISED.set(Some(raised));
    Fault { at, what }.raise()
}

/// When a controller is called.
#[derive(Clone, Copy, Debug)]
enum Every {
    /// For every acknowledgement.
    Ack,
    /// Once a round.
    Round,
    /// As often as that, at the next acknowledgement.
    Time(Span),
}

/// A class of controllers, as an engine needs it.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct PythonKind(Arc<Class>);

struct Class {
    class: Py<PyAny>,
    /// The name and the source of the class.
    identity: String,
    every: Every,
    /// Whether slow start is the sender's.
    has_slow_start: bool,
    /// The methods that it defines.
    methods: Vec<String>,
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.identity)
    }
}

#[pymethods]
impl PythonKind {
    /// `identity`: a text that differs where the class differs. `every`: "ack", "round" or seconds. `slow_start`: whether
    /// slow start is the sender's. `methods`: the methods that the class defines.
    #[new]
    fn new(
        class: Py<PyAny>,
        identity: String,
        every: &Bound<'_, PyAny>,
        slow_start: bool,
        methods: Vec<String>,
    ) -> PyResult<PythonKind> {
        let every = match every.extract::<String>() {
            Ok(word) if word == "ack" => Every::Ack,
            Ok(word) if word == "round" => Every::Round,
            Ok(word) => return Err(PyTypeError::new_err(format!("every = {word:?}"))),
            Err(_) => Every::Time(Span::from_secs(every.extract::<f64>()?)),
        };
        Ok(PythonKind(Arc::new(Class { class, identity, every, has_slow_start: slow_start, methods })))
    }

    /// For `pickle`: the class, by reference.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        Ok((py.import("fairhaul.scenario.own")?.getattr("kind")?, (self.0.class.clone_ref(py),)))
    }
}

impl PythonKind {
    /// As a reader of scenarios knows it.
    pub fn kind(&self) -> Arc<dyn OwnKind> {
        Arc::new(Kind(Arc::clone(&self.0)))
    }
}

#[derive(Debug)]
struct Kind(Arc<Class>);

impl OwnKind for Kind {
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String> {
        let maker = Maker { class: Arc::clone(&self.0), values: values.clone() };
        let made = Python::attach(|py| maker.object(py, 0).map(drop));
        made.map_err(|raised| {
            let what = raised.to_string();
            RAISED.set(Some(raised));
            what
        })?;
        Ok(Arc::new(maker))
    }
}

#[derive(Debug)]
struct Maker {
    class: Arc<Class>,
    values: OwnValues,
}

impl Maker {
    fn object<'py>(&self, py: Python<'py>, stream: u64) -> PyResult<Bound<'py, PyAny>> {
        let values = PyDict::new(py);
        for (name, value) in &self.values {
            match value {
                OwnValue::Number(number) => values.set_item(name, number)?,
                OwnValue::Whole(number) => values.set_item(name, number)?,
                OwnValue::Switch(switch) => values.set_item(name, switch)?,
                OwnValue::Text(text) => values.set_item(name, text)?,
            }
        }
        let object = self.class.class.bind(py).call((), Some(&values))?;
        let random = py.import("random")?.getattr("Random")?.call1((stream,))?;
        object.setattr("random", random)?;
        Ok(object)
    }
}

impl OwnMaker for Maker {
    fn build(&self, stream: u64) -> Box<dyn Own> {
        let built = Python::attach(|py| PythonController::new(&self.class, self.object(py, stream)?));
        Box::new(built.unwrap_or_else(|raised| fail(raised, None)))
    }
}

/// The bound methods of an object; `None` where its class does not define one.
struct Methods {
    ack: Option<Py<PyAny>>,
    round: Option<Py<PyAny>>,
    congestion: Option<Py<PyAny>>,
    timeout: Option<Py<PyAny>>,
    recovered: Option<Py<PyAny>>,
    pacing: Option<Py<PyAny>>,
}

impl Methods {
    fn of(class: &Class, object: &Bound<'_, PyAny>) -> PyResult<Methods> {
        let bound = |name: &str| {
            let defined = class.methods.iter().any(|method| method == name);
            defined.then(|| object.getattr(name).map(Bound::unbind)).transpose()
        };
        Ok(Methods {
            ack: bound("on_ack")?,
            round: bound("on_round")?,
            congestion: bound("on_congestion")?,
            timeout: bound("on_timeout")?,
            recovered: bound("on_recovered")?,
            pacing: bound("pacing")?,
        })
    }
}

struct PythonController {
    class: Arc<Class>,
    object: Py<PyAny>,
    methods: Methods,
    window: Py<Window>,
    /// What a round trip adds to the window, where the object is not called for each acknowledgement.
    growth: f64,
    pacing: Pacing,
    round: RoundSum,
}

impl PythonController {
    fn new(class: &Arc<Class>, object: Bound<'_, PyAny>) -> PyResult<PythonController> {
        Ok(PythonController {
            class: Arc::clone(class),
            methods: Methods::of(class, &object)?,
            window: Py::new(object.py(), Window::default())?,
            object: object.unbind(),
            growth: 0.0,
            pacing: Pacing::None,
            round: RoundSum::default(),
        })
    }

    /// Calls a method with the window and an event, and takes over what it did; whether there is such a method.
    fn tell<T: pyo3::PyClass>(
        &mut self,
        which: fn(&Methods) -> Option<&Py<PyAny>>,
        window: &mut EngineWindow,
        now: Time,
        event: impl FnOnce() -> T,
    ) -> bool
    where
        PyClassInitializer<T>: From<T>,
    {
        let Some(method) = which(&self.methods) else { return false };
        let done = Python::attach(|py| {
            let shown = self.window.bind(py);
            *shown.borrow_mut() = Window::of(window, self.growth);
            method.call1(py, (shown, Py::new(py, event())?))?;
            let pacing = match &self.methods.pacing {
                None => Pacing::None,
                Some(pacing) => match pacing.call1(py, (shown,))?.extract::<Option<f64>>(py)? {
                    None => Pacing::None,
                    Some(rate) => Pacing::Even(interval(rate)?),
                },
            };
            let shown = *shown.borrow();
            shown.check()?;
            Ok((shown, pacing))
        });
        let (shown, pacing) = done.unwrap_or_else(|raised: PyErr| fail(raised, Some(now)));
        let goes_on = !window.in_slow_start() && shown.ssthresh == window.ssthresh;
        if goes_on && shown.cwnd < window.cwnd {
            window.lower_to(shown.cwnd);
        } else {
            *window = EngineWindow { cwnd: shown.cwnd.max(1.0), ssthresh: shown.ssthresh };
        }
        (self.growth, self.pacing) = (shown.growth, pacing);
        true
    }

    fn is_due(&self, ack: &AckEvent) -> bool {
        match self.class.every {
            Every::Ack => false,
            Every::Round => ack.new_round,
            Every::Time(span) => self.round.lasted(ack.now) >= span,
        }
    }
}

/// The time between two packets at a rate in packets/s.
fn interval(rate: f64) -> PyResult<Span> {
    if rate > 0.0 && rate.is_finite() {
        return Ok(Span::from_secs(1.0 / rate));
    }
    Err(pyo3::exceptions::PyValueError::new_err(format!(
        "pacing gave {rate}; wanted packets per second, or None"
    )))
}

impl Controller for PythonController {
    fn on_ack(&mut self, window: &mut EngineWindow, ack: &AckEvent) {
        if let Every::Ack = self.class.every {
            self.tell(|methods| methods.ack.as_ref(), window, ack.now, || Ack::of(ack));
        } else {
            window.move_to(window.cwnd + self.growth * ack.packets / window.cwnd);
        }
    }

    fn on_slow_start(&mut self, window: &mut EngineWindow, ack: &AckEvent) {
        if self.class.has_slow_start {
            window.cwnd += ack.packets.min(2.0);
        } else {
            self.on_ack(window, ack);
        }
    }

    fn on_delivery(&mut self, window: &mut EngineWindow, ack: &AckEvent) {
        if let Every::Ack = self.class.every {
            return;
        }
        if self.is_due(ack) {
            let round = std::mem::replace(&mut self.round, RoundSum::from(ack.now));
            let is_slow = window.in_slow_start() && self.class.has_slow_start;
            self.tell(|methods| methods.round.as_ref(), window, ack.now, || Round::of(&round, ack, is_slow));
        }
        self.round.add(ack);
    }

    fn on_congestion(&mut self, window: &mut EngineWindow, event: &Congestion) {
        if !self.tell(|methods| methods.congestion.as_ref(), window, event.now, || Event::of(event)) {
            window.give_up(0.5);
        }
    }

    fn on_timeout(&mut self, window: &mut EngineWindow, event: &Congestion) {
        if !self.tell(|methods| methods.timeout.as_ref(), window, event.now, || Event::of(event)) {
            window.start_over();
        }
    }

    fn on_recovered(&mut self, window: &mut EngineWindow, now: Time) {
        let event = Congestion { cause: Cause::Loss, now, in_flight: 0.0, srtt: Span::ZERO };
        self.tell(|methods| methods.recovered.as_ref(), window, now, || Event::of(&event));
    }

    fn needs(&self) -> Needs {
        Needs { pacing: self.methods.pacing.is_some(), ..Needs::default() }
    }

    fn pacing(&self, _: &EngineWindow) -> Pacing {
        self.pacing
    }
}

impl Own for PythonController {
    fn copied(&self) -> Box<dyn Own> {
        let copied = Python::attach(|py| {
            let object = py.import("copy")?.getattr("deepcopy")?.call1((&self.object,))?;
            let copy = PythonController::new(&self.class, object)?;
            Ok(PythonController { growth: self.growth, pacing: self.pacing, round: self.round, ..copy })
        });
        Box::new(copied.unwrap_or_else(|raised: PyErr| fail(raised, None)))
    }
}

/// The kind of controller that holds what a program decides.
#[pyclass(frozen, name = "AgentKind", module = "fairhaul._core")]
pub struct Driven;

#[pymethods]
impl Driven {
    #[new]
    fn new() -> Driven {
        Driven
    }
}

impl Driven {
    pub const KIND: AgentKind = AgentKind;
}
