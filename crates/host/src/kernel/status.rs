//! `status`: the installed eBPF ports, their defaults, and the flows that use them.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use fairhaul_ports::PREFIX;
use serde::Serialize;
use serde_json::{Value, json};

use super::install_store::{InstallRecord, InstallStore};
use super::looks::{FlowFilter, Look, Looks, SendingFlow};
use super::pinned;
use super::route::{Route, is_on_route};
use crate::error::Result;
use crate::namespace;
use crate::ports::owner::Owner;
use crate::ports::{congestion, probe};
use crate::steps::warn;

/// The time between the two looks at the flows: many round trips, and a short wait.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// An eBPF port in the running kernel; what only its record says is `None` where there is no record, or without root.
#[derive(Clone, Debug, Serialize)]
pub struct InstalledPort {
    name: String,
    port: Option<String>,
    version: Option<String>,
    state: &'static str,
    parameters: Option<BTreeMap<String, u32>>,
    units: Option<BTreeMap<String, String>>,
    /// The parameters that are on or off.
    switches: Option<Vec<String>>,
    owner: Option<Owner>,
    routes: Vec<String>,
    /// Whose connections have its options of TCP, if it needs them.
    cgroup: Option<String>,
}

/// The installed eBPF ports and their connections. Without root, only what every user may see.
pub fn status(store: &InstallStore) -> Result<Value> {
    let names = names(store)?;
    let mut looks = Looks::new(FlowFilter::default())?;
    let everything = looks.everywhere();
    if !everything {
        warn("without root, only the flows of this network namespace are shown, and no installation records");
    }
    let mut look = looks.next()?;
    if look.flows.iter().any(|sender| names.contains(&sender.located.flow.controller)) {
        thread::sleep(BETWEEN_LOOKS);
        look = looks.next()?;
    }
    let ports: Vec<Value> =
        names.iter().map(|name| port_with_flows(store, name, &look)).collect::<Result<_>>()?;
    let defaults = if everything { defaults()? } else { BTreeMap::new() };
    Ok(
        json!({ "kernel": probe::release(), "default": congestion::default()?, "defaults": defaults, "ports": ports }),
    )
}

fn names(store: &InstallStore) -> Result<Vec<String>> {
    let mut names = store.names().unwrap_or_default();
    names.extend(congestion::available()?.into_iter().filter(|name| name.starts_with(PREFIX)));
    Ok(names.into_iter().collect())
}

fn port_with_flows(store: &InstallStore, name: &str, look: &Look) -> Result<Value> {
    let senders: Vec<&SendingFlow> =
        look.flows.iter().filter(|sender| sender.located.flow.controller == name).collect();
    let silent = look.silent.iter().filter(|located| located.flow.controller == name).count();
    let mut port = json!(port(store, name)?);
    port["flows"] = json!(senders);
    port["connections_without_data"] = json!(silent);
    Ok(port)
}

/// The eBPF port `name` as it is now.
pub fn port(store: &InstallStore, name: &str) -> Result<InstalledPort> {
    let record = store.read(name);
    let registered = congestion::available()?.iter().any(|other| other == name);
    let state = state(record.as_ref(), registered, store.link(name).exists());
    let parameters = record.as_ref().and_then(|record| pinned::parameters(store, record).ok());
    let units = record.as_ref().map(units);
    let switches = record.as_ref().map(switches);
    Ok(match record {
        Some(InstallRecord { port, version, owner, routes, cgroup, .. }) => InstalledPort {
            name: name.to_string(),
            port: Some(port),
            version: Some(version),
            state,
            parameters,
            units,
            switches,
            owner,
            // Another eBPF port may have taken its place on a route.
            routes: routes
                .iter()
                .filter(|line| is_on_route(name, line))
                .map(|line| Route::of(line).bare)
                .collect(),
            cgroup,
        },
        None => InstalledPort {
            name: name.to_string(),
            port: None,
            version: None,
            state,
            parameters,
            units,
            switches,
            owner: None,
            routes: Vec::new(),
            cgroup: None,
        },
    })
}

fn units(record: &InstallRecord) -> BTreeMap<String, String> {
    record.parameters.iter().map(|key| (key.name.clone(), key.unit.clone())).collect()
}

fn switches(record: &InstallRecord) -> Vec<String> {
    let switches = record.parameters.iter().filter(|key| key.is_switch());
    switches.map(|key| key.name.clone()).collect()
}

/// Its state in words: whether it works, and if not, why.
fn state(record: Option<&InstallRecord>, registered: bool, pinned: bool) -> &'static str {
    match (registered, pinned, record) {
        (true, true, Some(_)) => "installed",
        (true, true, None) => "installed, but without an installation record",
        (true, false, _) => "in the kernel, but not pinned here",
        (false, _, _) => "left over from an earlier installation; remove it with `fairhaul kernel remove`",
    }
}

/// The namespaces whose default is an eBPF port.
fn defaults() -> Result<BTreeMap<String, String>> {
    let mut defaults = BTreeMap::new();
    for (label, namespace) in namespace::all()? {
        let default = namespace.inside(congestion::default)?;
        if default.starts_with(PREFIX) {
            defaults.insert(label, default);
        }
    }
    Ok(defaults)
}
