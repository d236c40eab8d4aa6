//! `status`: what is installed, what uses it unasked, and the flows that use it now.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::choice::PREFIX;
use super::place::{Place, Record};
use super::{capabilities, congestion, load, probe};
use crate::error::Result;
use crate::flows::{self, Flow};
use crate::namespace;
use crate::steps::warn;

/// How long after the first look at the flows the second is: many round trips, and little to wait.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// A connection, and the namespace it is in.
#[derive(Clone, Debug, Serialize)]
pub struct Placed {
    /// As `ip netns` calls it, or by a process in it; empty: that of whoever asked.
    pub namespace: String,
    /// When it was looked at.
    #[serde(skip)]
    pub at: Instant,
    /// The connection.
    #[serde(flatten)]
    pub flow: Flow,
}

/// A connection that sends data, and how fast.
#[derive(Clone, Debug, Serialize)]
struct Sender {
    #[serde(flatten)]
    placed: Placed,
    /// What the other end acknowledged between two looks; `None` where there was one look at it only.
    // The kernel's own delivery rate is that of a round trip at most: of a few packets it can be anything.
    rate_bps: Option<f64>,
}

/// What is installed and used. Without root: what every user may see.
pub fn status(place: &Place) -> Result<Value> {
    let names = names(place)?;
    let everything = capabilities::lacking().is_empty();
    if !everything {
        warn("without root, only the flows of this network namespace are shown, and no installation records");
    }
    let look = || if everything { everywhere() } else { here() };
    let first = look()?;
    let flows = if first.iter().any(|placed| names.contains(&placed.flow.controller) && sends(placed)) {
        thread::sleep(BETWEEN_LOOKS);
        look()?
    } else {
        first.clone()
    };
    let twins: Vec<Value> =
        names.iter().map(|name| twin(place, name, &first, &flows)).collect::<Result<_>>()?;
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

fn twin(place: &Place, name: &str, first: &[Placed], flows: &[Placed]) -> Result<Value> {
    let record = place.read(name);
    let registered = congestion::available()?.iter().any(|other| other == name);
    let own = flows.iter().filter(|placed| placed.flow.controller == name);
    let (senders, silent): (Vec<&Placed>, Vec<&Placed>) = own.partition(|placed| sends(placed));
    let senders: Vec<Sender> = senders.into_iter().map(|now| sender(first, now)).collect();
    let values = record.as_ref().and_then(|record| load::parameters(place, record).ok());
    Ok(json!({
        "name": name,
        "twin": record.as_ref().map(|record| &record.twin),
        "version": record.as_ref().map(|record| &record.version),
        "state": state(record.as_ref(), registered, place.link(name).exists()),
        "parameters": values,
        "units": record.as_ref().map(units),
        "owner": record.as_ref().map(|record| &record.owner),
        "routes": record.as_ref().map(|record| record.routes.as_slice()).unwrap_or_default(),
        "flows": senders,
        "connections_without_data": silent.len(),
    }))
}

/// Whether this end has sent data: the controller of a connection that only receives decides nothing.
fn sends(placed: &Placed) -> bool {
    placed.flow.sent > 0
}

fn sender(first: &[Placed], now: &Placed) -> Sender {
    let before = first.iter().find(|then| then.flow.cookie == now.flow.cookie && then.at < now.at);
    let rate = before.map(|then| {
        let acked = now.flow.acked_bytes.saturating_sub(then.flow.acked_bytes);
        acked as f64 * 8.0 / (now.at - then.at).as_secs_f64()
    });
    Sender { placed: now.clone(), rate_bps: rate }
}

fn units(record: &Record) -> BTreeMap<&str, &str> {
    record.parameters.iter().map(|key| (key.name.as_str(), key.unit.as_str())).collect()
}

/// In words: whether it works, and if not, what is wrong.
fn state(record: Option<&Record>, registered: bool, pinned: bool) -> &'static str {
    match (registered, pinned, record) {
        (true, true, Some(_)) => "installed",
        (true, true, None) => "installed, but without an installation record",
        (true, false, _) => "in the kernel, but not pinned here",
        (false, _, _) => "left over from an earlier installation; remove it with `fairhaul kernel remove`",
    }
}

/// All connections of all namespaces that can be found.
pub fn everywhere() -> Result<Vec<Placed>> {
    let own = namespace::Namespace::own()?.inode();
    let mut found = Vec::new();
    for (label, there) in namespace::all()? {
        let label = if there.inode() == own { String::new() } else { label };
        let (at, flows) = (Instant::now(), there.inside(flows::all)?);
        found.extend(flows.into_iter().map(|flow| Placed { namespace: label.clone(), at, flow }));
    }
    Ok(found)
}

fn here() -> Result<Vec<Placed>> {
    let (at, flows) = (Instant::now(), flows::all()?);
    Ok(flows.into_iter().map(|flow| Placed { namespace: String::new(), at, flow }).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(at: Instant, acked_bytes: u64) -> Placed {
        let end = "10.0.0.1:5001".parse().expect("it is an address");
        let flow = Flow {
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
        Placed { namespace: String::new(), at, flow }
    }

    /// 1 250 000 bytes in half a second are 20 Mbit/s.
    #[test]
    fn the_rate_of_a_flow_is_of_the_bytes_acknowledged_between_two_looks() {
        let start = Instant::now();
        let (then, now) = (placed(start, 1_000_000), placed(start + Duration::from_millis(500), 2_250_000));
        assert_eq!(sender(std::slice::from_ref(&then), &now).rate_bps, Some(20e6));
        // A connection that began in between, and one that was looked at once, have none.
        let other = Placed { flow: Flow { cookie: 8, ..then.flow.clone() }, ..then.clone() };
        assert_eq!(sender(&[other], &now).rate_bps, None);
        assert_eq!(sender(std::slice::from_ref(&then), &then).rate_bps, None);
    }

    #[test]
    fn an_end_that_has_sent_no_data_is_no_sender() {
        let mut one = placed(Instant::now(), 1);
        assert!(sends(&one));
        one.flow.sent = 0;
        assert!(!sends(&one));
    }
}
