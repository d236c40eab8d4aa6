//! `remove`: removes eBPF ports, and undoes their defaults. The leftovers of a killed process are found by their
//! pins and records.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::default_scope::withdraw;
use super::install_store::InstallStore;
use super::pinned;
use crate::error::{Error, Result};
use crate::ports::owner::Owner;
use crate::ports::{capabilities, congestion};
use crate::signals;
use crate::steps::{Steps, warn};

/// The kernel frees a name a moment after its link is removed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    dry_run: bool,
}

/// Removes eBPF ports.
pub fn remove(store: &InstallStore, request: &Remove) -> Result<Value> {
    capabilities::require()?;
    capabilities::keep_needed()?;
    let steps = Steps::new(request.dry_run);
    let _lock = store.lock()?;
    let installed = store.names()?;
    let names: Vec<String> = if request.all {
        installed.into_iter().collect()
    } else {
        if let Some(unknown) = request.names.iter().find(|name| !installed.contains(*name)) {
            return Err(store.not_installed(unknown));
        }
        request.names.clone()
    };
    if names.is_empty() && !request.all {
        return Err(Error::refused(
            "name the eBPF ports to remove; `fairhaul kernel status` lists the \
                                   installed ones, and --all removes all of them",
        ));
    }
    let owner = |name: &String| (name.clone(), store.read(name).and_then(|record| record.owner));
    let owners: BTreeMap<String, Option<Owner>> = names.iter().map(owner).collect();
    warn_about_others(&owners);
    let _blocked = signals::block_interrupts()?;
    for name in &names {
        take_out(store, name, steps)?;
    }
    store.remove_if_empty(steps)?;
    Ok(json!({ "removed": names, "owners": owners, "dry_run": request.dry_run }))
}

/// Warns about eBPF ports of other users, whom the change affects.
// It does not refuse them: a user who gets here is root or can become root, so a refusal would protect from nothing, and
// in an emergency one command has to restore the host.
pub fn warn_about_others(owners: &BTreeMap<String, Option<Owner>>) {
    let remover = Owner::here_and_now();
    for (name, owner) in owners {
        if let Some(owner) = owner.as_ref().filter(|owner| owner.uid != remover.uid) {
            warn(format!("{name} was installed by {owner}, not by {}", remover.person()));
        }
    }
}

/// Removes one eBPF port. Its flows keep it until they end; new connections get the former default.
pub fn take_out(store: &InstallStore, name: &str, steps: Steps) -> Result<()> {
    let record = store.read(name);
    if store.is_damaged(name) {
        warn(format!(
            "the record of {name} is damaged, so its owner, the former defaults and its routes are unknown; `ip \
             route show table all | grep 'congctl {name}'` lists the routes"
        ));
    }
    withdraw(name, record.as_ref(), steps)?;
    let by = match record.and_then(|record| record.owner) {
        Some(owner) => format!("installed by {owner}"),
        None => "installed by an unknown user".to_string(),
    };
    let what = format!("remove {name} from the kernel, {by}; flows that use it keep it until they end");
    steps.step(what, || {
        pinned::unregister(store, name)?;
        store.remove(name)?;
        wait_until_removed(name)
    })?;
    Ok(())
}

fn wait_until_removed(name: &str) -> Result<()> {
    let start = Instant::now();
    while congestion::available()?.iter().any(|other| other == name) {
        if start.elapsed() > PATIENCE {
            return Err(Error::failed(format!(
                "the kernel still has the controller {name}: something else holds a reference to it (see \
                 bpftool struct_ops and bpftool link)"
            )));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
