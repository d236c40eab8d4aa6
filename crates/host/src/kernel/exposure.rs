//! What is made to use a twin that did not ask for it by name: the host's default, that of a
//! namespace, a route. Each is told, done only when asked for, and undone on removal.

use std::io;

use serde::Deserialize;

use super::congestion;
use super::place::{Place, Record};
use crate::error::{Context, Error, Result};
use crate::namespace::{self, Namespace, ip};
use crate::steps::Steps;

/// What a namespace gets back where nobody knows what it had.
const LAST_RESORT: [&str; 2] = ["cubic", "reno"];

/// What a request asks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exposure {
    /// New connections of the host that choose nothing.
    pub default: bool,
    /// Those of these namespaces, by their names.
    pub namespaces: Vec<String>,
    /// Those that these routes of the main table lead out, as `ip route` names them: `10.1.0.0/16`.
    pub routes: Vec<String>,
}

impl Exposure {
    /// Whether something is asked for.
    pub fn any(&self) -> bool {
        self.default || !self.namespaces.is_empty() || !self.routes.is_empty()
    }

    /// Refuses what `ip netns` could not have made, such as a way out of its folder.
    pub fn check_names(&self) -> Result<()> {
        let is_name = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        match self.namespaces.iter().find(|name| !is_name(name)) {
            Some(name) => Err(Error::refused(format!(
                "{name:?} is not a valid name of a network namespace: wanted a name that `ip netns list` \
                 prints"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses what cannot be: a namespace or a route that is not there.
    pub fn check(&self) -> Result<()> {
        for name in &self.namespaces {
            Namespace::named(name).map_err(|error| {
                Error::refused(format!("unknown network namespace {name:?} (see ip netns list): {error}"))
            })?;
        }
        for prefix in &self.routes {
            route(prefix)?;
        }
        Ok(())
    }

    /// Does it all, after the record tells of it.
    pub fn apply(&self, place: &Place, record: &mut Record, steps: Steps) -> Result<()> {
        let name = record.name.clone();
        if self.default {
            let before = congestion::default()?;
            steps.step(
                format!("make {name} the default for new connections of this host (now {before})"),
                || {
                    record.default_before = Some(before.clone());
                    place.write(record)?;
                    congestion::set_default(&name)
                },
            )?;
        }
        for namespace in &self.namespaces {
            let there = Namespace::named(namespace).when(namespace)?;
            let before = there.inside(congestion::default)?;
            steps.step(
                format!(
                    "make {name} the default for new connections of namespace {namespace} (now \
                                {before})"
                ),
                || {
                    record.namespaces.push((namespace.clone(), before.clone()));
                    place.write(record)?;
                    there.inside(|| Ok(congestion::set_default(&name)))?
                },
            )?;
        }
        for prefix in &self.routes {
            let before = route(prefix)?;
            steps.step(format!("ip route replace {before} congctl {name}"), || {
                record.routes.push(before.clone());
                place.write(record)?;
                ip(&format!("route replace {before} congctl {name}"))?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The routes of the main table to exactly this prefix, as `ip` prints them.
fn routes(prefix: &str) -> io::Result<String> {
    let family = if prefix.contains(':') { "-6 " } else { "" };
    let to = if prefix == "default" { "default" } else { &format!("exact {prefix}") };
    ip(&format!("{family}route show {to}"))
}

/// The only one of them, without a controller.
fn route(prefix: &str) -> Result<String> {
    let found = routes(prefix).map_err(|error| Error::refused(format!("route {prefix:?}: {error}")))?;
    let line = found.lines().next().unwrap_or_default().trim();
    match (line, found.lines().count()) {
        ("", _) => Err(Error::refused(format!("there is no route to exactly {prefix} (see ip route show)"))),
        (_, 2..) => Err(Error::refused(format!("there are several routes to {prefix}; wanted exactly one"))),
        _ if line.contains("congctl") => {
            Err(Error::refused(format!("the route to {prefix} already sets a controller: {line}")))
        }
        // What the kernel tells of a link's state is no part of a route.
        _ => Ok(line
            .split_whitespace()
            .filter(|word| !["linkdown", "dead"].contains(word))
            .collect::<Vec<_>>()
            .join(" ")),
    }
}

/// Undoes all that makes connections use `name` unasked, wherever it was done: a namespace that was made
/// meanwhile has the default of its host, and somebody may have set it by hand.
pub fn withdraw(name: &str, record: Option<&Record>, steps: Steps) -> Result<()> {
    for route in record.map(|record| record.routes.as_slice()).unwrap_or_default() {
        // Whether it still has the twin; if not, it is no longer ours to change.
        let prefix = route.split_whitespace().next().unwrap_or_default();
        let now = routes(prefix).unwrap_or_default();
        if now.split_whitespace().any(|word| word == name) {
            steps.step(format!("ip route replace {route}"), || Ok(ip(&format!("route replace {route}"))?))?;
        }
    }
    for (label, there) in namespace::all()? {
        if there.inside(congestion::default)? != name {
            continue;
        }
        let before = before(&label, name, record)?;
        let what = format!("restore {before} as the default of {}", place_name(&label));
        steps.step(what, || there.inside(|| Ok(congestion::set_default(&before)))?)?;
    }
    Ok(())
}

fn place_name(label: &str) -> String {
    if label.starts_with("process ") {
        format!("the network of {label}")
    } else {
        format!("namespace {label}")
    }
}

/// What a namespace had before, as far as it is known and still there.
fn before(label: &str, name: &str, record: Option<&Record>) -> Result<String> {
    let recorded = record.and_then(|record| {
        let of_name = record.namespaces.iter().find(|(namespace, _)| namespace == label);
        of_name.map(|(_, before)| before).or(record.default_before.as_ref())
    });
    let available = congestion::available()?;
    let candidates = recorded.map(String::as_str).into_iter().chain(LAST_RESORT);
    let mut fit =
        candidates.filter(|candidate| *candidate != name && available.iter().any(|a| a == candidate));
    fit.next()
        .map(str::to_string)
        .ok_or_else(|| Error::failed("the kernel has no other congestion controller"))
}
