//! The scopes for which an eBPF port can be the default of new connections: the host, a network namespace, or a
//! route. Each change is reported, made only on request, and undone on removal.

use serde::Deserialize;

use super::install_store::{InstallRecord, InstallStore};
use super::route::{Route, RouteName, is_on_route};
use crate::error::{Context, Error, Result};
use crate::namespace::{self, Namespace, ip};
use crate::ports::congestion;
use crate::steps::Steps;

/// The default that a namespace gets on removal if its former default is unknown.
const LAST_RESORT: [&str; 2] = ["cubic", "reno"];

/// The requested scope.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DefaultScope {
    /// New connections of the host that choose no controller.
    pub default: bool,
    /// New connections in these namespaces, by their names.
    pub namespaces: Vec<String>,
    /// New connections over these routes of the main table, as `ip route` names them: `10.1.0.0/16`, or
    /// `10.1.0.0/16 metric 100` where several routes have the prefix.
    pub routes: Vec<String>,
    /// Take the place of the controller that such a route has already.
    pub replace: bool,
}

impl DefaultScope {
    /// Whether no connections are in the scope.
    pub fn is_empty(&self) -> bool {
        !self.default && self.namespaces.is_empty() && self.routes.is_empty()
    }

    /// Refuses names that `ip netns` could not have made, such as a path out of its folder, and prefixes that `ip`
    /// would take for other arguments.
    pub fn check_names(&self) -> Result<()> {
        let is_name = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        match self.namespaces.iter().find(|name| !is_name(name)) {
            Some(name) => Err(Error::refused(format!(
                "{name:?} is not a valid name of a network namespace: wanted a name that `ip netns list` \
                 prints"
            ))),
            None => self.routes.iter().try_for_each(|text| RouteName::read(text).map(drop)),
        }
    }

    /// Refuses a namespace or a route that does not exist.
    pub fn check(&self) -> Result<()> {
        for name in &self.namespaces {
            Namespace::named(name).map_err(|error| {
                Error::refused(format!("unknown network namespace {name:?} (see ip netns list): {error}"))
            })?;
        }
        for text in &self.routes {
            RouteName::read(text)?.find(self.replace)?;
        }
        Ok(())
    }

    /// Makes the eBPF port the default of the scope, each change after the install record mentions it.
    pub fn apply(&self, store: &InstallStore, record: &mut InstallRecord, steps: Steps) -> Result<()> {
        let name = record.name.clone();
        if self.default {
            let before = congestion::default()?;
            steps.step(
                format!("make {name} the default for new connections of this host (now {before})"),
                || {
                    record.default_before = Some(before.clone());
                    store.write(record)?;
                    congestion::set_default(&name)
                },
            )?;
        }
        for namespace in &self.namespaces {
            let target = Namespace::named(namespace).when(namespace)?;
            let before = target.inside(congestion::default)?;
            steps.step(
                format!(
                    "make {name} the default for new connections of namespace {namespace} (now \
                                {before})"
                ),
                || {
                    record.namespaces.push((namespace.clone(), before.clone()));
                    store.write(record)?;
                    target.inside(|| Ok(congestion::set_default(&name)))?
                },
            )?;
        }
        for text in &self.routes {
            let route = RouteName::read(text)?.find(self.replace)?;
            let command = format!("route replace {} congctl {name}", route.bare);
            let instead =
                route.controller.as_ref().map(|other| format!(" (now {other})")).unwrap_or_default();
            steps.step(format!("ip {command}{instead}"), || {
                record.routes.push(route.line.clone());
                store.write(record)?;
                ip(&command)?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Removes `name` from all defaults, however it was set: a namespace that was created since has the default of
/// its host, and an administrator may have set it by hand.
pub fn withdraw(name: &str, record: Option<&InstallRecord>, steps: Steps) -> Result<()> {
    for route in record.map(|record| record.routes.as_slice()).unwrap_or_default() {
        // A route that no longer has the eBPF port was changed by another program and is left unchanged.
        if is_on_route(name, route) {
            // The eBPF port whose place it took may have been removed meanwhile.
            let restored = Route::of(route).with_controller(&congestion::available()?);
            let command = format!("route replace {restored}");
            steps.step(format!("ip {command}"), || Ok(ip(&command)?))?;
        }
    }
    for (label, there) in namespace::all()? {
        if there.inside(congestion::default)? != name {
            continue;
        }
        let before = before(&label, name, record)?;
        let what = format!("restore {before} as the default of {}", namespace_label(&label));
        steps.step(what, || there.inside(|| Ok(congestion::set_default(&before)))?)?;
    }
    Ok(())
}

fn namespace_label(label: &str) -> String {
    if label.starts_with("process ") {
        format!("the network of {label}")
    } else {
        format!("namespace {label}")
    }
}

/// The former default of a namespace, if it is known and still allowed.
fn before(label: &str, name: &str, record: Option<&InstallRecord>) -> Result<String> {
    let recorded = record.and_then(|record| {
        let of_name = record.namespaces.iter().find(|(namespace, _)| namespace == label);
        of_name.map(|(_, before)| before).or(record.default_before.as_ref())
    });
    // Others cannot be made the default, and then the eBPF port could never be removed.
    let allowed = congestion::allowed()?;
    let candidates = recorded.map(String::as_str).into_iter().chain(LAST_RESORT);
    let mut fit = candidates.filter(|candidate| *candidate != name && allowed.iter().any(|a| a == candidate));
    fit.next()
        .map(str::to_string)
        .ok_or_else(|| Error::failed("the kernel has no other congestion controller"))
}
