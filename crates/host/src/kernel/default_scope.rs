//! The scopes for which an eBPF port can be the default of new connections: the host, a network namespace, or a
//! route. Each change is reported, made only on request, and undone on removal.

use std::io;
use std::net::IpAddr;

use serde::Deserialize;

use super::congestion;
use super::install_store::{InstallRecord, InstallStore};
use crate::error::{Context, Error, Result};
use crate::namespace::{self, Namespace, ip};
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
    /// New connections over these routes of the main table, as `ip route` names them: `10.1.0.0/16`.
    pub routes: Vec<String>,
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
            None => match self.routes.iter().find(|prefix| !is_prefix(prefix)) {
                Some(prefix) => Err(Error::refused(format!(
                    "{prefix:?} is not a valid prefix of a route: wanted `default`, or an address and a length \
                     such as 10.1.0.0/16, as `ip route show` prints them"
                ))),
                None => Ok(()),
            },
        }
    }

    /// Refuses a namespace or a route that does not exist.
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
        for prefix in &self.routes {
            let before = route(prefix)?;
            steps.step(format!("ip route replace {before} congctl {name}"), || {
                record.routes.push(before.clone());
                store.write(record)?;
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

/// The only such route; refuses if there is none, if there are several, or if it already sets a controller.
fn route(prefix: &str) -> Result<String> {
    let routes = routes(prefix).map_err(|error| Error::refused(format!("route {prefix:?}: {error}")))?;
    let line = routes.lines().next().unwrap_or_default().trim();
    match (line, routes.lines().count()) {
        ("", _) => Err(Error::refused(format!("there is no route to exactly {prefix} (see ip route show)"))),
        (_, 2..) => Err(Error::refused(format!("there are several routes to {prefix}; wanted exactly one"))),
        _ if line.contains("congctl") => {
            Err(Error::refused(format!("the route to {prefix} already sets a controller: {line}")))
        }
        // The kernel adds the state of the link, which is not part of the route.
        _ => Ok(line
            .split_whitespace()
            .filter(|word| !["linkdown", "dead"].contains(word))
            .collect::<Vec<_>>()
            .join(" ")),
    }
}

/// Removes `name` from all defaults, however it was set: a namespace that was created since has the default of
/// its host, and an administrator may have set it by hand.
pub fn withdraw(name: &str, record: Option<&InstallRecord>, steps: Steps) -> Result<()> {
    for route in record.map(|record| record.routes.as_slice()).unwrap_or_default() {
        // A route that no longer has the eBPF port was changed by another program and is left unchanged.
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
        let what = format!("restore {before} as the default of {}", namespace_label(&label));
        steps.step(what, || there.inside(|| Ok(congestion::set_default(&before)))?)?;
    }
    Ok(())
}

/// Whether a text is the prefix of a route, and nothing else that `ip` understands.
fn is_prefix(text: &str) -> bool {
    let (address, length) = text.split_once('/').unwrap_or((text, "0"));
    let bits = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return text == "default",
    };
    length.bytes().all(|digit| digit.is_ascii_digit())
        && length.parse().is_ok_and(|length: u8| length <= bits)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prefix_reaches_the_arguments_of_ip() {
        for prefix in ["default", "10.1.0.0/16", "10.1.2.3", "2001:db8::/32"] {
            assert!(is_prefix(prefix), "{prefix}");
        }
        let wrong = [
            "",
            "-force",
            "10.0.0.0/8 table 5",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "all",
            "default\n",
            "10.1/16/1",
        ];
        for prefix in wrong {
            assert!(!is_prefix(prefix), "{prefix}");
        }
    }
}
