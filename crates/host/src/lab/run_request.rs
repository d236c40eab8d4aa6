//! The request of another process for a run: the scenario is a text, the record is written to a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairhaul_bpf::BpfKind;
use fairhaul_cc::{OwnKind, OwnKinds};
use fairhaul_experiment::{Scenario, read_with, to_lines};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::device::DeviceKind;
use super::flow_controller::KernelNames;
use super::host_settings;
use super::plan::plan;
use super::program::{AllowedPrograms, allowed};
use super::run::run;
use super::simulated_path::SimulatedPath;
use super::temporary_ports::load_ports;
use crate::error::{Context, Error, Result};
use crate::memory_limit::MemoryLimit;
use crate::ports::{capabilities, probe};
use crate::user_namespace;

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// What is run.
    pub scenario: RequestedScenario,
    /// The file for the record, as JSON; the packet trace follows it.
    record: PathBuf,
    /// The number of the flow whose packets are traced; only where time is simulated.
    #[serde(default)]
    pub trace: Option<u32>,
    /// What programs of the scenario may do, if the user allows them.
    #[serde(default)]
    pub programs: Option<AllowedPrograms>,
}

/// A scenario as a text.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedScenario {
    /// As TOML.
    text: String,
    /// Its name in messages.
    file: String,
    /// Keys and values of `--set`.
    overrides: Vec<(String, String)>,
    /// The values of `[sweep]` for the requested scenario.
    variant: Vec<(String, String)>,
    /// The seed, instead of the scenario's own.
    seed: u64,
    /// Objects of eBPF that are known as controllers, by their names.
    #[serde(default)]
    objects: BTreeMap<String, PathBuf>,
}

/// Asks whether the lab can run scenarios, before other work is done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// What is to be run.
    pub scenarios: Vec<RequestedScenario>,
}

/// Checks what can be checked without running anything: the rights of this process and, without root, what the
/// scenarios need. As root, the eBPF ports of a run would have to be loaded first.
///
/// # Errors
/// A refusal if hosts cannot be created here, or if they cannot run one of the scenarios.
pub fn ready(question: &Ready) -> Result<Value> {
    let scenarios =
        question.scenarios.iter().map(RequestedScenario::read_in_bounds).collect::<Result<Vec<_>>>()?;
    let as_root = capabilities::lacking().is_empty();
    prepare(false)?;
    if SimulatedPath::is_here() {
        scenarios.iter().try_for_each(fits)?;
    } else if !as_root {
        scenarios.iter().try_for_each(|scenario| plan(scenario, &KernelNames::new()).map(drop))?;
    }
    Ok(json!({ "as_root": as_root, "devices": DeviceKind::available() }))
}

/// Checks what a run in the engine `linux` needs, without running it: ports, controllers, settings, queues.
fn fits(scenario: &Scenario) -> Result<()> {
    let ports = load_ports(&scenario.flows)?;
    let layout = plan(scenario, &ports.names)?.layout;
    host_settings::check(&layout.hosts, &layout.links)
}

/// Runs the scenario once: returns its validity.
///
/// # Errors
/// A refusal if hosts cannot be created here, or if they cannot run the scenario.
pub fn answer(question: &RunRequest) -> Result<Value> {
    let scenario = question.scenario.read_in_bounds()?;
    let programs = allowed(&scenario, question.programs.as_ref())?;
    let programs = programs.map(AllowedPrograms::resolved).transpose()?;
    let programs = programs.as_ref();
    programs.map_or(Ok(()), |programs| programs.make_folders(&scenario))?;
    prepare(programs.is_some())?;
    let ports = load_ports(&scenario.flows)?;
    let answer = run(&scenario, &ports.names, question.trace, programs)?;
    let text = to_lines(&answer.record, answer.trace.as_ref());
    fs::write(&question.record, text).when(question.record.display())?;
    Ok(json!({ "trust": answer.validity, "kernel": probe::release() }))
}

/// Has this process run a lab as root, or else in a user namespace, where it is root, and drops all other capabilities.
/// The process must have one thread only. `starts_programs`: as another user than root.
pub(super) fn prepare(starts_programs: bool) -> Result<()> {
    if SimulatedPath::is_here() {
        return Ok(());
    }
    if capabilities::lacking().is_empty() {
        probe::kernel()?;
    } else {
        user_namespace::enter()?;
    }
    if starts_programs {
        capabilities::keep_needed_to_start_programs()
    } else {
        capabilities::keep_needed_of_lab()
    }
}

impl RequestedScenario {
    /// The requested scenario, read within the limit of memory. In the program of the engine `linux` the kernel there is
    /// limited already, and a system call more would change its time.
    ///
    /// # Errors
    /// Those of [`RequestedScenario::read`].
    pub fn read_in_bounds(&self) -> Result<Scenario> {
        let _limit = (!SimulatedPath::is_here()).then(MemoryLimit::begin);
        self.read()
    }

    /// The requested scenario.
    ///
    /// # Errors
    /// A refusal with all its mistakes.
    pub fn read(&self) -> Result<Scenario> {
        let study = read_with(&self.text, &self.file, &self.overrides, Arc::new(self.kinds()))
            .map_err(|mistakes| Error::refused(mistakes.to_string()))?;
        let scenario = if study.sweep.is_empty() {
            Some(study.base)
        } else {
            study
                .sweep
                .into_iter()
                .find(|variant| variant.settings == self.variant)
                .map(|variant| variant.scenario)
        };
        let scenario = scenario
            .ok_or_else(|| Error::refused(format!("{}: the sweep has no such variant", self.file)))?;
        Ok(Scenario { seed: self.seed, ..scenario })
    }

    /// The controllers that are known beside the catalogue.
    fn kinds(&self) -> OwnKinds {
        let folder = Path::new(&self.file).parent().unwrap_or(Path::new("")).to_owned();
        let kind = |object: Option<PathBuf>| -> Arc<dyn OwnKind> {
            Arc::new(BpfKind { folder: folder.clone(), object })
        };
        let named = self.objects.iter().map(|(name, path)| (name.clone(), kind(Some(path.clone()))));
        let controllers = named.chain([("bpf".to_owned(), kind(None))]).collect();
        OwnKinds { controllers, stacks: None }
    }
}
