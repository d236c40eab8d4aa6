//! `install`: all requested eBPF ports, or none.

use serde::Deserialize;
use serde_json::{Value, json};

use super::default_scope::{DefaultScope, withdraw};
use super::install_store::{InstallRecord, InstallStore};
use super::{pinned, self_test};
use crate::error::{Context, Error, Result};
use crate::ports::cgroup::Cgroup;
use crate::ports::install_spec::{InstallSpec, ResolvedInstall, freezes_short_paths, written};
use crate::ports::load::has_options;
use crate::ports::{capabilities, congestion, load, probe};
use crate::signals;
use crate::steps::{Steps, warn};
use crate::sys::cgroups::root_of_cgroups;

/// The request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    ports: Vec<InstallSpec>,
    /// The cgroup to which the programs of ports for options of TCP are attached; else that of all processes.
    #[serde(default)]
    cgroup: Option<String>,
    #[serde(default)]
    scope: DefaultScope,
    #[serde(default)]
    dry_run: bool,
}

/// Installs eBPF ports.
pub fn install(store: &InstallStore, request: &Install) -> Result<Value> {
    let steps = Steps::new(request.dry_run);
    let installs =
        request.ports.iter().map(InstallSpec::resolve).collect::<Result<Vec<ResolvedInstall>>>()?;
    check(&installs, &request.scope, request.cgroup.as_deref())?;
    probe::require()?;
    capabilities::keep_needed_of_lab()?;
    request.scope.check()?;
    let _lock = store.lock()?;
    for install in &installs {
        check_free(store, &install.name)?;
    }
    for install in &installs {
        let what = format!("test {} on an emulated path in a temporary network namespace", install.note.name);
        steps.step(what, || self_test::run(install))?;
    }
    let _blocked = signals::block_interrupts()?;
    store.prepare(steps)?;
    let done = installs.iter().try_for_each(|install| install_one(store, install, request, steps));
    if let Err(error) = done {
        undo(store, &installs);
        return Err(error);
    }
    capabilities::keep(&Default::default())?;
    let names: Vec<&str> = installs.iter().map(|install| install.name.as_str()).collect();
    Ok(json!({ "installed": names, "dry_run": request.dry_run }))
}

fn check(installs: &[ResolvedInstall], scope: &DefaultScope, cgroup: Option<&str>) -> Result<()> {
    scope.check_names()?;
    if installs.is_empty() {
        return Err(Error::refused("name a controller; `fairhaul kernel list` lists them"));
    }
    for (index, install) in installs.iter().enumerate() {
        if installs[..index].iter().any(|other| other.name == install.name) {
            return Err(Error::refused(format!(
                "{} is requested twice; choose another name with --as",
                install.name
            )));
        }
    }
    if !scope.is_empty() && installs.len() > 1 {
        return Err(Error::refused("only one controller can be a default; install the others separately"));
    }
    if cgroup.is_some() && !installs.iter().any(|install| has_options(&install.elf)) {
        return Err(Error::refused("--cgroup is for a controller that needs options of TCP, such as xcp"));
    }
    let frozen = installs.iter().find(|install| freezes_short_paths(&install.note.name, &install.values));
    match frozen {
        Some(install) if scope.default => Err(Error::refused(format!(
            "{} with these values of c and eta_floor would stall the flows of this host on short paths, so it \
             cannot be its default: keep eta_floor on and c above 0, or use it by name, on a route or in a \
             namespace",
            install.name
        ))),
        _ => Ok(()),
    }
}

fn check_free(store: &InstallStore, name: &str) -> Result<()> {
    if store.names()?.contains(name) {
        let by = store.read(name).and_then(|record| record.owner);
        let by = by.map(|owner| format!(" (by {owner})")).unwrap_or_default();
        return Err(Error::refused(format!(
            "{name} is already installed{by}: change its parameters with `fairhaul kernel set`, remove it with \
             `remove`, or install a second one under another name with `install --as`"
        )));
    }
    if congestion::available()?.iter().any(|other| other == name) {
        return Err(Error::refused(format!(
            "the kernel already has a controller {name}, which was not installed by Fairhaul; choose \
             another name with --as"
        )));
    }
    Ok(())
}

fn install_one(
    store: &InstallStore,
    install: &ResolvedInstall,
    request: &Install,
    steps: Steps,
) -> Result<()> {
    let ResolvedInstall { note, name, .. } = install;
    let mut record = InstallRecord::new(name, note);
    let parameters = note.parameters.iter();
    let set = parameters.map(|key| format!("{}={}", key.name, written(key, install.values[&key.name])));
    let set: Vec<String> = set.collect();
    let set = if set.is_empty() { String::new() } else { format!(" with {}", set.join(" ")) };
    let which = [&note.name, " ", &note.version].concat();
    let options = has_options(&install.elf).then_some(request.cgroup.as_deref());
    let to = options.map(|name| name.map_or("all processes".into(), |name| format!("the cgroup {name}")));
    record.cgroup = to.clone();
    let attached = to.map(|to| {
        format!(
            ", and attach its program for options of TCP to {to}; a connection has these options only if the other \
             host has such a program, too"
        )
    });
    let what = format!("load {} as {name}{set} and pin it{}", which.trim_end(), attached.unwrap_or_default());
    steps.step(what, || {
        store.write(&record)?;
        let mut loaded = load::load(install)?;
        if load::wants_accurate_feedback(install) {
            warn(loaded.feedback(name));
        }
        if let Some(name) = options {
            match name {
                Some(name) => loaded.attach_options(Cgroup::open(Some(name))?)?,
                None => loaded.attach_options(root_of_cgroups().when("the cgroup of all processes")?)?,
            }
        }
        pinned::pin(loaded, store, name)
    })?;
    request.scope.apply(store, &mut record, steps)
}

/// Undoes a failed request; a change that cannot be undone is left for `remove`.
fn undo(store: &InstallStore, installs: &[ResolvedInstall]) {
    let quiet = Steps::new(false);
    let all = installs.iter().try_for_each(|install| {
        withdraw(&install.name, store.read(&install.name).as_ref(), quiet)?;
        pinned::unregister(store, &install.name)?;
        store.remove(&install.name)
    });
    if let Err(error) = all.and_then(|()| store.remove_if_empty(quiet)) {
        warn(format!(
            "the installation could not be undone completely ({error}); try again with `fairhaul \
                      kernel remove --all`"
        ));
    }
}
