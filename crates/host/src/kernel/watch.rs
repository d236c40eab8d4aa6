//! `watch`: polls the host's flows and removes an eBPF port whose flows lose too much.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::host_flows::check_interval;
use super::install_store::InstallStore;
use super::looks::{FlowFilter, Look, Looks, sent_counts};
use super::loss_monitor::{ConnectionCounts, Limits, LossMonitor};
use super::remove::take_out;
use super::status::port;
use crate::error::{Error, Result};
use crate::ports::capabilities;
use crate::steps::{Steps, say, warn};

/// The request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The eBPF ports to watch; default: all that are installed, now or later.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    limits: Limits,
    /// Time between polls.
    #[serde(default = "five")]
    interval_s: f64,
    /// Report what would be removed, but remove nothing.
    #[serde(default)]
    dry_run: bool,
    /// Report every look at the host's flows, and go on when no eBPF port is left to watch.
    #[serde(default)]
    flows: bool,
    /// Use the kernel's tracepoints for these looks.
    #[serde(default)]
    trace: bool,
}

/// Long enough that a flow with occasional losses has one in every interval.
fn five() -> f64 {
    5.0
}

/// Watches until nothing is left to watch.
pub fn watch(store: &InstallStore, request: &Watch) -> Result<Value> {
    let interval = check(store, request)?;
    capabilities::require()?;
    capabilities::keep_needed()?;
    let mut looks = Looks::new(FlowFilter::default())?;
    if request.trace {
        looks = looks.traced();
    }
    let (mut monitor, start) = (LossMonitor::default(), Instant::now());
    let mut removed = Vec::new();
    if store.names()?.is_empty() && !request.flows {
        warn("no eBPF port is installed, so there is nothing to watch");
    }
    loop {
        let watched: BTreeSet<String> = {
            let installed = store.names()?;
            installed
                .into_iter()
                .filter(|name| request.names.is_empty() || request.names.contains(name))
                .collect()
        };
        if watched.is_empty() && !request.flows {
            return Ok(json!({ "removed": removed }));
        }
        let look = looks.next()?;
        monitor.update(start.elapsed().as_secs_f64(), &connection_counts(&look), &request.limits);
        for name in watched {
            removed.extend(check_port(store, &monitor, name, request)?);
        }
        if request.flows {
            say(&json!({ "flows": look }));
        }
        thread::sleep(interval);
    }
}

/// Checks the request, and gives the time between two looks.
fn check(store: &InstallStore, request: &Watch) -> Result<Duration> {
    let Limits { share, times, seconds, .. } = request.limits;
    let interval = check_interval(request.interval_s)?;
    let fits = (0.0..1.0).contains(&share) && times >= 0.0 && seconds > 0.0;
    if !fits || request.interval_s > seconds {
        return Err(Error::refused(
            "wanted a share of at least 0 and below 1, a factor (times) of at least 0, a duration (seconds) \
             above 0, and an interval that is not longer than the duration",
        ));
    }
    let installed = store.names().unwrap_or_default();
    match request.names.iter().find(|name| !installed.contains(*name)) {
        Some(unknown) => Err(store.not_installed(unknown)),
        None => Ok(interval),
    }
}

/// Reports the retransmissions of one eBPF port, and removes it if it is over the limits.
fn check_port(
    store: &InstallStore,
    monitor: &LossMonitor,
    name: String,
    request: &Watch,
) -> Result<Option<String>> {
    let comparison = monitor.compare(&name, &request.limits);
    say(&json!({ "look": name, "finding": comparison, "port": port(store, &name)? }));
    if !comparison.over_limit {
        return Ok(None);
    }
    warn(format!(
        "{name} retransmitted {:.2} % of its packets and the other flows of the host {:.2} %, for {} s",
        100.0 * comparison.own.share(),
        100.0 * comparison.others.share(),
        request.limits.seconds
    ));
    let _lock = store.lock()?;
    let steps = Steps::new(request.dry_run);
    take_out(store, &name, steps)?;
    store.remove_if_empty(steps)?;
    if request.dry_run {
        return Ok(None);
    }
    say(&json!({ "removed": name }));
    Ok(Some(name))
}

/// The counts of all connections, also of connections that have sent no data: they may begin to.
fn connection_counts(look: &Look) -> Vec<ConnectionCounts> {
    let located = look.flows.iter().map(|sender| &sender.located).chain(&look.silent);
    let of = |located: &super::looks::LocatedFlow| ConnectionCounts {
        cookie: located.flow.cookie,
        controller: located.flow.controller.clone(),
        counts: sent_counts(&located.flow),
    };
    located.map(of).collect()
}
