//! `status`: what is installed, what uses it unasked, and the flows that use it now.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::choice::PREFIX;
use super::place::{Place, Record};
use super::{capabilities, congestion, load, probe};
use crate::error::Result;
use crate::flows::{self, Flow};
use crate::namespace;
use crate::steps::warn;

/// A connection, and the namespace it is in.
#[derive(Clone, Debug, Serialize)]
pub struct Placed {
    /// As `ip netns` calls it, or by a process in it; empty: that of whoever asked.
    pub namespace: String,
    /// The connection.
    #[serde(flatten)]
    pub flow: Flow,
}

/// What is installed and used. Without root: what every user may see.
pub fn status(place: &Place) -> Result<Value> {
    let names = names(place)?;
    let everything = capabilities::lacking().is_empty();
    if !everything {
        warn("without root only the flows of this network namespace are seen, and no records");
    }
    let flows = if everything { everywhere()? } else { here()? };
    let twins: Vec<Value> = names.iter().map(|name| twin(place, name, &flows)).collect::<Result<_>>()?;
    let defaults = if everything { defaults()? } else { BTreeMap::new() };
    Ok(
        json!({ "kernel": probe::release(), "default": congestion::default()?, "defaults": defaults, "twins": twins }),
    )
}

fn names(place: &Place) -> Result<Vec<String>> {
    let mut names = place.names().unwrap_or_default();
    names.extend(congestion::available()?.into_iter().filter(|name| name.starts_with(PREFIX)));
    Ok(names.into_iter().collect())
}

fn twin(place: &Place, name: &str, flows: &[Placed]) -> Result<Value> {
    let record = place.read(name);
    let registered = congestion::available()?.iter().any(|other| other == name);
    let used: Vec<&Placed> = flows.iter().filter(|placed| placed.flow.controller == name).collect();
    let values = record.as_ref().and_then(|record| load::parameters(place, record).ok());
    Ok(json!({
        "name": name,
        "twin": record.as_ref().map(|record| &record.twin),
        "version": record.as_ref().map(|record| &record.version),
        "state": state(record.as_ref(), registered, place.link(name).exists()),
        "parameters": values,
        "units": record.as_ref().map(units),
        "routes": record.map(|record| record.routes).unwrap_or_default(),
        "flows": used,
    }))
}

fn units(record: &Record) -> BTreeMap<&str, &str> {
    record.parameters.iter().map(|key| (key.name.as_str(), key.unit.as_str())).collect()
}

/// In words: whether it works, and if not, what is wrong.
fn state(record: Option<&Record>, registered: bool, pinned: bool) -> &'static str {
    match (registered, pinned, record) {
        (true, true, Some(_)) => "installed",
        (true, true, None) => "installed, without a record",
        (true, false, _) => "in the kernel, but not pinned here",
        (false, _, _) => "left behind; `fairhaul kernel remove` clears it away",
    }
}

/// All connections of all namespaces that can be found.
pub fn everywhere() -> Result<Vec<Placed>> {
    let own = namespace::Namespace::own()?.inode();
    let mut found = Vec::new();
    for (label, there) in namespace::all()? {
        let label = if there.inode() == own { String::new() } else { label };
        let flows = there.inside(flows::all)?;
        found.extend(flows.into_iter().map(|flow| Placed { namespace: label.clone(), flow }));
    }
    Ok(found)
}

fn here() -> Result<Vec<Placed>> {
    let flows = flows::all()?;
    Ok(flows.into_iter().map(|flow| Placed { namespace: String::new(), flow }).collect())
}

/// The namespaces whose default is a twin.
fn defaults() -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (label, there) in namespace::all()? {
        let default = there.inside(congestion::default)?;
        if default.starts_with(PREFIX) {
            found.insert(label, default);
        }
    }
    Ok(found)
}
