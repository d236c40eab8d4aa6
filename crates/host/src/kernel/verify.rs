//! `verify`: whether this kernel accepts the eBPF ports and they work in it. Nothing is installed, and installed
//! eBPF ports are not changed.

use serde::Deserialize;
use serde_json::{Value, json};

use super::self_test;
use crate::error::{Error, Result};
use crate::ports::install_spec::InstallSpec;
use crate::ports::{capabilities, probe};
use crate::steps::Steps;

/// The request: these eBPF ports, or all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Verify {
    ports: Vec<InstallSpec>,
}

/// Tries each eBPF port. The result lists all of them; if one fails, the command fails.
pub fn verify(request: Verify) -> Result<Value> {
    let specs = if request.ports.is_empty() { every() } else { request.ports };
    let installs = specs.iter().map(InstallSpec::resolve).collect::<Result<Vec<_>>>()?;
    probe::require()?;
    capabilities::keep_needed_of_lab()?;
    let steps = Steps::new(false);
    let mut wrong = Vec::new();
    for install in &installs {
        let name = &install.note.name;
        let tried = steps
            .step(format!("test {name} on an emulated path in a temporary network namespace"), || {
                self_test::run(install)
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
    let spec = |object: fairhaul_ports::Object| InstallSpec {
        port: object.note.name,
        name: None,
        set: Default::default(),
    };
    fairhaul_ports::objects().into_iter().map(spec).collect()
}
