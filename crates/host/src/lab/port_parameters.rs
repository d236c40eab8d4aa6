//! The parameters with which an eBPF port does what the controller of a scenario does, as `kernel install --set`
//! takes them. Commands that are printed after a simulation carry them, so that what is installed is what was
//! simulated.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::run_request::RequestedScenario;
use super::temporary_ports::port;
use crate::error::{Error, Result};
use crate::ports::install_spec::{ResolvedInstall, written};

/// The request: what the controller of each flow of a scenario requires.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortParameters {
    scenario: RequestedScenario,
}

/// Gives for each flow the values that differ from the defaults of its eBPF port, or the reason why no port can do
/// what it does.
///
/// # Errors
/// The scenario has mistakes.
pub fn port_parameters(question: &PortParameters) -> Result<Value> {
    let scenario = question.scenario.read_in_bounds()?;
    let flows = scenario.flows.iter().map(|flow| {
        let port = port(flow).unwrap_or_else(|| Err(Error::refused("it has no eBPF port")));
        match port {
            Ok(install) => json!({ "port": install.note.name, "set": others_than_defaults(&install) }),
            Err(error) => json!({ "refused": error.sentence() }),
        }
    });
    Ok(json!({ "flows": flows.collect::<Vec<_>>() }))
}

fn others_than_defaults(install: &ResolvedInstall) -> BTreeMap<&str, String> {
    let parameters = install.note.parameters.iter();
    let others = parameters.filter(|parameter| install.values[&parameter.name] != parameter.default);
    others
        .map(|parameter| (parameter.name.as_str(), written(parameter, install.values[&parameter.name])))
        .collect()
}
