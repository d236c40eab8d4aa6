//! `status`: the installed eBPF ports, their defaults, and the flows that use them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use fairhaul_twins::PREFIX;
use serde::Serialize;
use serde_json::{Value, json};

use super::install_store::{InstallRecord, InstallStore};
use super::{capabilities, congestion, load, probe};
use crate::error::Result;
use crate::flows::{self, KernelFlow};
use crate::namespace;
use crate::steps::warn;

/// The time between the two samples of the flows: many round trips, and a short wait.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// A connection and its namespace.
#[derive(Clone, Debug, Serialize)]
pub struct LocatedFlow {
    /// The name in `ip netns`, or a process in the namespace; empty for the caller's namespace.
    pub namespace: String,
    /// The time of the sample.
    #[serde(skip)]
    pub at: Instant,
    /// The connection.
    #[serde(flatten)]
    pub flow: KernelFlow,
}

/// A connection that sends data, and its rate.
#[derive(Clone, Debug, Serialize)]
struct SendingFlow {
    #[serde(flatten)]
    located: LocatedFlow,
    /// The rate at which the receiver acknowledged data between the two samples; `None` if there is only one
    /// sample of it.
    // The kernel's own delivery rate covers at most one round trip: with few packets it is arbitrary.
    rate_bps: Option<f64>,
}

/// The installed eBPF ports and their connections. Without root, only what every user may see.
pub fn status(store: &InstallStore) -> Result<Value> {
    let names = names(store)?;
    let everything = capabilities::lacking().is_empty();
    if !everything {
        warn("without root, only the flows of this network namespace are shown, and no installation records");
    }
    let look = || if everything { everywhere() } else { here() };
    let first = look()?;
    let flows = if first.iter().any(|located| names.contains(&located.flow.controller) && sends(located)) {
        thread::sleep(BETWEEN_LOOKS);
        look()?
    } else {
        first.clone()
    };
    let twins: Vec<Value> =
        names.iter().map(|name| twin(store, name, &first, &flows)).collect::<Result<_>>()?;
    let defaults = if everything { defaults()? } else { BTreeMap::new() };
    Ok(
        json!({ "kernel": probe::release(), "default": congestion::default()?, "defaults": defaults, "twins": twins }),
    )
}

fn names(store: &InstallStore) -> Result<Vec<String>> {
    let mut names = store.names().unwrap_or_default();
    names.extend(congestion::available()?.into_iter().filter(|name| name.starts_with(PREFIX)));
    Ok(names.into_iter().collect())
}

fn twin(store: &InstallStore, name: &str, first: &[LocatedFlow], flows: &[LocatedFlow]) -> Result<Value> {
    let record = store.read(name);
    let registered = congestion::available()?.iter().any(|other| other == name);
    let own = flows.iter().filter(|located| located.flow.controller == name);
    let (senders, silent): (Vec<&LocatedFlow>, Vec<&LocatedFlow>) = own.partition(|located| sends(located));
    let senders: Vec<SendingFlow> = senders.into_iter().map(|now| sender(first, now)).collect();
    let values = record.as_ref().and_then(|record| load::parameters(store, record).ok());
    Ok(json!({
        "name": name,
        "twin": record.as_ref().map(|record| &record.twin),
        "version": record.as_ref().map(|record| &record.version),
        "state": state(record.as_ref(), registered, store.link(name).exists()),
        "parameters": values,
        "units": record.as_ref().map(units),
        "owner": record.as_ref().map(|record| &record.owner),
        "routes": record.as_ref().map(|record| record.routes.as_slice()).unwrap_or_default(),
        "flows": senders,
        "connections_without_data": silent.len(),
    }))
}

/// Whether this end has sent data: the controller of a connection that only receives has no effect.
fn sends(located: &LocatedFlow) -> bool {
    located.flow.sent > 0
}

fn sender(first: &[LocatedFlow], now: &LocatedFlow) -> SendingFlow {
    let before = first.iter().find(|then| then.flow.cookie == now.flow.cookie && then.at < now.at);
    let rate = before.map(|then| {
        let acked = now.flow.acked_bytes.saturating_sub(then.flow.acked_bytes);
        acked as f64 * 8.0 / (now.at - then.at).as_secs_f64()
    });
    SendingFlow { located: now.clone(), rate_bps: rate }
}

fn units(record: &InstallRecord) -> BTreeMap<&str, &str> {
    record.parameters.iter().map(|key| (key.name.as_str(), key.unit.as_str())).collect()
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

/// All connections of all namespaces that can be found.
pub fn everywhere() -> Result<Vec<LocatedFlow>> {
    let own = namespace::Namespace::own()?.inode();
    let mut located = Vec::new();
    for (label, namespace) in namespace::all()? {
        let label = if namespace.inode() == own { String::new() } else { label };
        let (at, flows) = (Instant::now(), namespace.inside(flows::all)?);
        located.extend(flows.into_iter().map(|flow| LocatedFlow { namespace: label.clone(), at, flow }));
    }
    Ok(located)
}

fn here() -> Result<Vec<LocatedFlow>> {
    let (at, flows) = (Instant::now(), flows::all()?);
    Ok(flows.into_iter().map(|flow| LocatedFlow { namespace: String::new(), at, flow }).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn located(at: Instant, acked_bytes: u64) -> LocatedFlow {
        let end = "10.0.0.1:5001".parse().expect("it is an address");
        let flow = KernelFlow {
            cookie: 7,
            local: end,
            remote: end,
            controller: "fh_x".into(),
            cwnd: 10,
            ssthresh: None,
            rtt_ms: 1.0,
            acked_bytes,
            sent: 9,
            retransmitted: 0,
        };
        LocatedFlow { namespace: String::new(), at, flow }
    }

    /// 1 250 000 bytes in half a second are 20 Mbit/s.
    #[test]
    fn the_rate_of_a_flow_is_of_the_bytes_acknowledged_between_two_looks() {
        let start = Instant::now();
        let (then, now) = (located(start, 1_000_000), located(start + Duration::from_millis(500), 2_250_000));
        assert_eq!(sender(std::slice::from_ref(&then), &now).rate_bps, Some(20e6));
        // A connection with only one sample has no rate.
        let other = LocatedFlow { flow: KernelFlow { cookie: 8, ..then.flow.clone() }, ..then.clone() };
        assert_eq!(sender(&[other], &now).rate_bps, None);
        assert_eq!(sender(std::slice::from_ref(&then), &then).rate_bps, None);
    }

    #[test]
    fn an_end_that_has_sent_no_data_is_no_sender() {
        let mut one = located(Instant::now(), 1);
        assert!(sends(&one));
        one.flow.sent = 0;
        assert!(!sends(&one));
    }
}
