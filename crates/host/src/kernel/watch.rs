//! `watch`: polls the host's flows and removes an eBPF port whose flows lose too much.

use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::capabilities;
use super::install_store::InstallStore;
use super::loss_monitor::{ConnectionCounts, Limits, LossMonitor, SentCounts};
use super::remove::take_out;
use super::status::everywhere;
use crate::error::{Error, Result};
use crate::nearest::hint;
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
}

/// Long enough that a flow with occasional losses has one in every interval.
fn five() -> f64 {
    5.0
}

/// Watches until nothing is left to watch.
pub fn watch(store: &InstallStore, request: &Watch) -> Result<Value> {
    check(store, request)?;
    capabilities::require()?;
    capabilities::keep_needed()?;
    let (mut monitor, start) = (LossMonitor::default(), Instant::now());
    let mut removed = Vec::new();
    loop {
        let watched: Vec<String> = {
            let installed = store.names()?;
            installed
                .into_iter()
                .filter(|name| request.names.is_empty() || request.names.contains(name))
                .collect()
        };
        if watched.is_empty() {
            return Ok(json!({ "removed": removed }));
        }
        monitor.update(start.elapsed().as_secs_f64(), &connection_counts()?, &request.limits);
        for name in watched {
            removed.extend(check_port(store, &monitor, name, request)?);
        }
        thread::sleep(Duration::from_secs_f64(request.interval_s));
    }
}

fn check(store: &InstallStore, request: &Watch) -> Result<()> {
    let Limits { share, times, seconds, .. } = request.limits;
    let fits = (0.0..1.0).contains(&share) && times >= 0.0 && seconds > 0.0 && request.interval_s > 0.0;
    let fits = fits && Duration::try_from_secs_f64(request.interval_s).is_ok();
    if !fits || request.interval_s > seconds {
        return Err(Error::refused(
            "wanted a share of at least 0 and below 1, a factor (times) of at least 0, a duration (seconds) \
             and an interval above 0, and an interval that is not longer than the duration",
        ));
    }
    let installed = store.names().unwrap_or_default();
    match request.names.iter().find(|name| !installed.contains(*name)) {
        Some(unknown) => {
            let known = installed.iter().map(String::as_str);
            Err(Error::refused(format!("{unknown} is not installed; {}", hint(unknown, known))))
        }
        None => Ok(()),
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
    say(&json!({ "look": name, "finding": comparison }));
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
    Ok((!request.dry_run).then_some(name))
}

fn connection_counts() -> Result<Vec<ConnectionCounts>> {
    let of = |located: super::status::LocatedFlow| ConnectionCounts {
        cookie: located.flow.cookie,
        controller: located.flow.controller,
        counts: SentCounts { sent: located.flow.sent, retransmitted: located.flow.retransmitted },
    };
    Ok(everywhere()?.into_iter().map(of).collect())
}
