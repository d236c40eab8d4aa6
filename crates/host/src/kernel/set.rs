//! The command `set`: changes parameters of an installed eBPF port while its flows run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::install_store::InstallStore;
use super::pinned;
use super::remove::warn_about_others;
use crate::error::{Error, Result};
use crate::ports::capabilities;
use crate::ports::install_spec::{freezes_short_paths, read_values, written};
use crate::steps::Steps;

/// The request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    name: String,
    set: BTreeMap<String, String>,
    #[serde(default)]
    dry_run: bool,
}

/// Changes parameters: all of them, or none.
pub fn set(store: &InstallStore, request: &Set) -> Result<Value> {
    capabilities::require()?;
    capabilities::keep_needed()?;
    let name = &request.name;
    let _lock = store.lock()?;
    let record = store.read(name).ok_or_else(|| store.not_installed(name))?;
    let changed = read_values(name, &record.parameters, &request.set)?;
    let mut values = pinned::parameters(store, &record)?;
    values.extend(changed.clone());
    if record.default_before.is_some() && freezes_short_paths(&record.port, &values) {
        return Err(Error::refused(format!(
            "{name} is the default of this host, and with these values of c and eta_floor it would stall \
             flows on short paths"
        )));
    }
    warn_about_others(&[(name.clone(), record.owner.clone())].into());
    let values = record.parameters.iter().filter_map(|parameter| {
        let value = changed.get(&parameter.name)?;
        Some(format!("{}={}", parameter.name, written(parameter, *value)))
    });
    let values: Vec<String> = values.collect();
    Steps::new(request.dry_run)
        .step(format!("set {} of {name} for all its flows", values.join(" ")), || {
            pinned::set(store, &record, &changed)
        })?;
    Ok(json!({ "name": name, "parameters": values, "dry_run": request.dry_run }))
}
