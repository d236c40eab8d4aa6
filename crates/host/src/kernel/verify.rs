//! `verify`: whether this kernel takes the twins and they work in it. Nothing is installed, and what
//! is installed is left as it is.

use serde::Deserialize;
use serde_json::{Value, json};

use super::install_spec::InstallSpec;
use super::{capabilities, probe, trial};
use crate::error::{Error, Result};
use crate::steps::Steps;

/// What is asked for: these twins, or all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verify {
    twins: Vec<InstallSpec>,
}

/// Tries each twin; the result tells of all of them, and a failure of any makes the whole fail.
pub fn verify(request: Verify) -> Result<Value> {
    let specs = if request.twins.is_empty() { every() } else { request.twins };
    let installs = specs.iter().map(InstallSpec::resolve).collect::<Result<Vec<_>>>()?;
    probe::require()?;
    capabilities::keep_needed()?;
    let steps = Steps::new(false);
    let mut wrong = Vec::new();
    for install in &installs {
        let name = &install.note.name;
        let tried = steps
            .step(format!("test {name} on an emulated path in a temporary network namespace"), || {
                trial::run(install)
            });
        wrong.extend(tried.err().map(|error| error.to_string()));
    }
    if wrong.is_empty() {
        let names: Vec<&str> = installs.iter().map(|install| install.note.name.as_str()).collect();
        return Ok(json!({ "kernel": probe::release(), "works": names }));
    }
    Err(Error::failed(wrong.join("\n")))
}

fn every() -> Vec<InstallSpec> {
    let spec = |object: fairhaul_twins::Object| InstallSpec {
        twin: object.note.name,
        name: None,
        set: Default::default(),
    };
    fairhaul_twins::objects().into_iter().map(spec).collect()
}
