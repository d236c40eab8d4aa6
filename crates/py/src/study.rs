//! Scenarios for Python: read, described, given another seed; and the catalogue of keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairhaul_bpf::BpfKind;
use fairhaul_cc::{OwnKind, OwnKinds};
use fairhaul_controller::LibraryKind;
use fairhaul_experiment::{CostEstimate, Scenario as Question, Variant, describe};
use fairhaul_stack::StackKind;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use serde::Serialize;

use crate::own::{self, Driven, PythonKind};

create_exception!(
    fairhaul._core,
    ScenarioError,
    PyValueError,
    "A scenario is invalid; `args` holds its errors, one line each."
);

/// A scenario that was read, checked and resolved.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Scenario {
    question: Arc<Question>,
    /// What `[sweep]` set for this one: pairs of key and value, the value as TOML.
    #[pyo3(get)]
    variant: Vec<(String, String)>,
    source: Arc<ScenarioText>,
    described: PyOnceLock<Py<PyAny>>,
}

/// The text that scenarios were read from.
struct ScenarioText {
    text: String,
    file: String,
    overrides: Vec<(String, String)>,
    /// The controllers that are known beside the catalogue.
    own: OwnClasses,
}

/// Controllers of one's own by their names.
type OwnClasses = BTreeMap<String, Given>;

/// A class of Python, what a program drives, or the path of an eBPF object or of a shared library.
#[derive(FromPyObject, IntoPyObject)]
pub enum Given {
    Class(Py<PythonKind>),
    Driven(Py<Driven>),
    File(PathBuf),
}

impl Given {
    fn clone_ref(&self, py: Python<'_>) -> Given {
        match self {
            Given::Class(class) => Given::Class(class.clone_ref(py)),
            Given::Driven(driven) => Given::Driven(driven.clone_ref(py)),
            Given::File(path) => Given::File(path.clone()),
        }
    }

    fn kind(&self) -> Arc<dyn OwnKind> {
        match self {
            Given::Class(class) => class.get().kind(),
            Given::Driven(_) => Arc::new(Driven::KIND),
            Given::File(path) if path.extension().is_some_and(|extension| extension == "o") => {
                Arc::new(BpfKind { folder: PathBuf::new(), object: Some(path.clone()) })
            }
            Given::File(path) => {
                Arc::new(LibraryKind { folder: PathBuf::new(), library: Some(path.clone()) })
            }
        }
    }
}

/// The same as a reader takes them, and the kinds that name their file in the scenario itself, `file`.
fn kinds(own: &OwnClasses, file: &str) -> Arc<OwnKinds> {
    let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
    let objects: Arc<dyn OwnKind> = Arc::new(BpfKind { folder: folder.clone(), object: None });
    let libraries: Arc<dyn OwnKind> = Arc::new(LibraryKind { folder: folder.clone(), library: None });
    let stacks: Arc<dyn OwnKind> = Arc::new(StackKind { folder: folder.clone(), named: stacks_of_package() });
    let mut controllers = BTreeMap::from([("bpf".to_owned(), objects), ("library".to_owned(), libraries)]);
    controllers.extend(own.iter().map(|(name, given)| (name.clone(), given.kind())));
    Arc::new(OwnKinds { controllers, stacks: Some(stacks) })
}

/// The folder of the transport stacks that have names, beside this module.
fn stacks_of_package() -> PathBuf {
    let file = Python::attach(|py| py.import("fairhaul._core")?.getattr("__file__")?.extract::<PathBuf>());
    file.ok().and_then(|file| Some(file.parent()?.join("stacks"))).unwrap_or_default()
}

impl Scenario {
    fn new(question: Question, variant: Vec<(String, String)>, source: &Arc<ScenarioText>) -> Scenario {
        let (question, source) = (Arc::new(question), Arc::clone(source));
        Scenario { question, variant, source, described: PyOnceLock::new() }
    }

    /// The input of an engine.
    pub fn question(&self) -> Arc<Question> {
        Arc::clone(&self.question)
    }
}

#[pymethods]
impl Scenario {
    /// Its title.
    #[getter]
    fn title(&self) -> &str {
        &self.question.title
    }

    /// The seed of all random numbers of its run.
    #[getter]
    fn seed(&self) -> u64 {
        self.question.seed
    }

    /// How long its run lasts, in seconds of simulated time.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.question.duration.as_secs()
    }

    /// The same with another seed, from 0 to 2^64 - 1.
    fn with_seed(&self, seed: u64) -> Scenario {
        let question = Question { seed, ..Question::clone(&self.question) };
        Scenario::new(question, self.variant.clone(), &self.source)
    }

    /// Its source: the text, the name of the text, and the keys and values of `--set`.
    fn source(&self) -> (&str, &str, Vec<(String, String)>) {
        let ScenarioText { text, file, overrides, .. } = &*self.source;
        (text, file, overrides.clone())
    }

    /// The controllers of one's own that it knows: their files, or nothing for classes.
    fn own(&self) -> BTreeMap<String, Option<PathBuf>> {
        let file = |given: &Given| match given {
            Given::Class(_) | Given::Driven(_) => None,
            Given::File(path) => Some(path.clone()),
        };
        self.source.own.iter().map(|(name, given)| (name.clone(), file(given))).collect()
    }

    /// Whether a run of it calls what a user has written: a class, an object, a library, or formulas.
    fn calls_users_code(&self) -> bool {
        self.question.flows.iter().any(|flow| flow.controller.is_users_code())
    }

    /// Whether a run of it starts programs on this machine.
    fn has_programs(&self) -> bool {
        self.question.flows.iter().any(|flow| flow.program.is_some())
    }

    /// An estimate of what a run of it needs, by name.
    fn estimate(&self) -> [(&'static str, f64); 8] {
        let CostEstimate { flows, transfers, rows, packets, waiting, in_flight, bytes, seconds } =
            CostEstimate::of(&self.question);
        [
            ("flows", flows as f64),
            ("transfers", transfers),
            ("rows", rows as f64),
            ("packets", packets),
            ("waiting", waiting),
            ("in_flight", in_flight),
            ("bytes", bytes),
            ("seconds", seconds),
        ]
    }

    /// What the simulator cannot do of it because only kernels can, a sentence each.
    fn kernel_requests(&self) -> Vec<String> {
        self.question.kernel_requests()
    }

    /// The resolved scenario as JSON.
    fn describe(&self) -> String {
        describe(&self.question)
    }

    /// The same as a dictionary, which is made once.
    #[getter]
    fn described<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let described = self.described.get_or_try_init(py, || {
            let described = py.import("json")?.call_method1("loads", (self.describe(),))?;
            PyResult::Ok(described.unbind())
        })?;
        Ok(described.bind(py).clone())
    }

    /// What is expected of the figures of its run, in the order of the file, as JSON.
    fn expectations(&self) -> String {
        json(&self.question.expectations)
    }

    /// A text that is the same for two scenarios whose runs with one seed give the same record: every value that
    /// an engine receives, but the title, the name of its source and the seed.
    fn identity(&self) -> String {
        let (title, source, expectations) = (String::new(), String::new(), Vec::new());
        format!("{:?}", Question { title, source, expectations, seed: 0, ..Question::clone(&self.question) })
    }

    /// What a notebook shows.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("fairhaul.scenario.read")?.getattr("shown")?.call1((slf,))
    }

    /// For `pickle`: [`restored`] and its arguments.
    fn __reduce__(slf: PyRef<'_, Self>) -> PyResult<(Bound<'_, PyAny>, Restored)> {
        let restored = slf.py().import("fairhaul._core")?.getattr("restored")?;
        let ScenarioText { text, file, overrides, own } = &*slf.source;
        let source = (text.clone(), file.clone(), overrides.clone());
        let own = own.iter().map(|(name, class)| (name.clone(), class.clone_ref(slf.py()))).collect();
        Ok((restored, (source.0, source.1, source.2, slf.variant.clone(), slf.question.seed, own)))
    }
}

/// What `pickle` keeps of a scenario: its text, the name of the text, `--set`, what the sweep set, the seed, and the
/// classes of controllers.
type Restored = (String, String, Vec<(String, String)>, Vec<(String, String)>, u64, OwnClasses);

/// Reads a scenario again, from what `pickle` kept of it.
#[pyfunction]
pub fn restored(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    variant: Vec<(String, String)>,
    seed: u64,
    own: OwnClasses,
) -> PyResult<Scenario> {
    let all: Vec<_> = overrides.iter().chain(&variant).cloned().collect();
    let study = fairhaul_experiment::read_with(text, file, &all, kinds(&own, file))
        .map_err(|mistakes| ScenarioError::new_err(mistakes.to_string()))?;
    let source = Arc::new(ScenarioText { text: text.into(), file: file.into(), overrides, own });
    Ok(Scenario::new(Question { seed, ..study.base }, variant, &source))
}

/// Reads the scenarios of a TOML text: one, or one for every combination of its `[sweep]`. `overrides` are pairs
/// of key and value as for `--set`; `own` are controllers that are known beside the catalogue.
#[pyfunction]
pub fn read(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    own: OwnClasses,
) -> PyResult<Vec<Scenario>> {
    own::take_raised();
    let study =
        fairhaul_experiment::read_with(text, file, &overrides, kinds(&own, file)).map_err(|mistakes| {
            // An interrupt while an object of a class is made is no mistake of the class.
            if let Some(raised) = own::take_request_to_end() {
                return raised;
            }
            let lines = mistakes.0.iter().map(ToString::to_string);
            PyTuple::new(py, lines).map_or_else(|error| error, |lines| ScenarioError::new_err(lines.unbind()))
        })?;
    let source = Arc::new(ScenarioText { text: text.into(), file: file.into(), overrides, own });
    if study.sweep.is_empty() {
        return Ok(vec![Scenario::new(study.base, Vec::new(), &source)]);
    }
    let variant = |Variant { settings, scenario }| Scenario::new(scenario, settings, &source);
    Ok(study.sweep.into_iter().map(variant).collect())
}

/// The exception for a scenario that the simulator cannot run, for each of these reasons.
pub fn refused(title: &str, reasons: &[String]) -> PyErr {
    let lines = reasons.iter().map(|reason| format!("{title}: {reason}"));
    Python::attach(|py| {
        PyTuple::new(py, lines).map_or_else(|error| error, |lines| ScenarioError::new_err(lines.unbind()))
    })
}

/// The settings of a table as `[sweep]` takes it: pairs of key and value, the value as TOML.
#[pyfunction]
pub fn drawn(py: Python<'_>, text: &str, file: &str) -> PyResult<Vec<Vec<(String, String)>>> {
    fairhaul_experiment::drawn(text, file).map_err(|mistakes| {
        let lines = mistakes.0.iter().map(ToString::to_string);
        PyTuple::new(py, lines).map_or_else(|error| error, |lines| ScenarioError::new_err(lines.unbind()))
    })
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub fn schema() -> String {
    fairhaul_experiment::schema()
}

/// The controllers, queues, flow counters, loss recoveries and traffic models, each with its keys, and a queue
/// with its gauges, as JSON.
#[pyfunction]
pub fn catalogue() -> String {
    json(&fairhaul_experiment::catalogue())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it has no keys but texts")
}

/// The sources that a controller in Rust needs: pairs of a path and a text.
#[pyfunction]
pub fn sources() -> Vec<(&'static str, &'static str)> {
    const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
    SOURCES.to_vec()
}
