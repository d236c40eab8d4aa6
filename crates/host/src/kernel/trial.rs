//! `trial`: new connections get one of several controllers by lot, and what each has achieved is reported when it ends.
//!
//! All of it belongs to this process: the program of the lot, its maps, and the socket for connections that end. So
//! nothing is left, whatever ends the process.

mod closed;
mod lot;
mod transfers;

use std::thread;
use std::time::Duration;

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::{Value, json};

use self::closed::ClosedFlows;
use self::lot::{Lot, MOST, Prefix, Settings};
use self::transfers::Transfers;
use super::route::{RouteName, more_specific};
use crate::error::{Context, Error, Result};
use crate::ports::cgroup::Cgroup;
use crate::ports::{capabilities, congestion};
use crate::steps::{Steps, say};

/// The time between two readings of what the kernel has reported.
const INTERVAL: Duration = Duration::from_millis(100);
/// The number of readings for each report of the state.
const STATE_EVERY: u64 = 10;
/// In this part of a block, at its start, connections of the block before may still be open: they are not counted.
const SETTLING: f64 = 0.25;

/// The request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The controllers, the first of which the others are compared with.
    controllers: Vec<String>,
    /// The cgroup whose connections take part; by default all of the host.
    #[serde(default)]
    cgroup: Option<String>,
    /// Only connections to these addresses or prefixes,
    #[serde(default)]
    peers: Vec<String>,
    /// or over these routes of the main table.
    #[serde(default)]
    routes: Vec<String>,
    /// Only connections with one of these ports at either end.
    #[serde(default)]
    ports: Vec<u16>,
    /// By time: the controllers of the blocks, by their numbers.
    #[serde(default)]
    blocks: Vec<usize>,
    /// The length of a block.
    #[serde(default)]
    block_s: f64,
    #[serde(default)]
    dry_run: bool,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Counts {
    /// Connections that got each controller.
    opened: Vec<u64>,
    /// Connections to which the kernel did not give the controller.
    failed: u64,
    /// Connections that began too early in a block.
    settling: u64,
    /// How often connections that ended were not reported, for lack of room.
    overflows: u64,
}

/// Makes a trial, until this process is ended, the cgroup is removed, or the blocks are over.
pub fn trial(request: &Trial) -> Result<Value> {
    let steps = Steps::new(request.dry_run);
    let settings = check(request)?;
    capabilities::require()?;
    let cgroup = Cgroup::open(request.cgroup.as_deref())?;
    capabilities::keep_needed()?;
    let what = format!(
        "attach a program to the cgroup {} that gives each new connection {} one of {}; it is detached when this \
         command ends",
        cgroup.path().display(),
        request.scope(),
        request.controllers.join(", "),
    );
    let Some(lot) = steps.step(what, || Lot::attach(&cgroup, settings))? else {
        return Ok(json!({ "ended": "dry run" }));
    };
    watch(request, &cgroup, lot)
}

fn watch(request: &Trial, cgroup: &Cgroup, mut lot: Lot) -> Result<Value> {
    let closed = ClosedFlows::new().when("cannot listen for connections that end")?;
    let mut transfers = Transfers::new(!request.blocks.is_empty());
    let mut counts = Counts { opened: vec![0; request.controllers.len()], ..Counts::default() };
    let begun_ns = now_ns()?;
    let (mut block, mut settled_ns) = (None, 0);
    if request.blocks.is_empty() {
        lot.draw(None)?;
    }
    for reading in 0_u64.. {
        let now_ns = now_ns()?;
        if !request.blocks.is_empty() {
            let number = ((now_ns - begun_ns) as f64 / 1e9 / request.block_s) as usize;
            let Some(controller) = request.blocks.get(number) else {
                return Ok(json!({ "ended": "the blocks are over" }));
            };
            if block != Some(number) {
                lot.draw(Some((number as u64 + 1, *controller as u64)))?;
                (block, settled_ns) = (Some(number), now_ns + (SETTLING * request.block_s * 1e9) as u64);
            }
        }
        for flow in lot.opened() {
            counts.opened[(flow.transfer as usize) % MOST] += u64::from(flow.assigned);
            counts.failed += u64::from(!flow.assigned);
            let settling = flow.at_ns < settled_ns;
            counts.settling += u64::from(settling && flow.assigned);
            if flow.assigned && !settling {
                transfers.opened(&flow);
            }
        }
        let (ended, dropped) = closed.next().when("cannot read which connections have ended")?;
        counts.overflows += u64::from(dropped);
        ended.into_iter().for_each(|flow| transfers.closed(flow));
        for transfer in transfers.complete(now_ns) {
            say(&json!({ "transfer": transfer }));
        }
        if reading % STATE_EVERY == 0 {
            say(&json!({ "state": counts.report(&lot, &transfers)? }));
            if !cgroup.exists() {
                return Ok(json!({ "ended": "the cgroup was removed" }));
            }
        }
        thread::sleep(INTERVAL);
    }
    unreachable!("the loop has no end")
}

impl Counts {
    fn report(&self, lot: &Lot, transfers: &Transfers) -> Result<Value> {
        let Counts { opened, failed, settling, overflows } = self;
        Ok(json!({
            "opened": opened,
            "open": transfers.open(),
            "failed": failed,
            "settling": settling,
            "lost": lot.lost()?,
            "overflows": overflows,
        }))
    }
}

impl Trial {
    /// Which connections take part, as a part of a sentence.
    fn scope(&self) -> String {
        let to = self.peers.iter().map(|peer| format!("to {peer}"));
        let over = self.routes.iter().map(|route| format!("over the route to {route}"));
        let at = self.ports.iter().map(|port| format!("with the port {port}"));
        let (peers, ports): (Vec<String>, Vec<String>) = (to.chain(over).collect(), at.collect());
        let parts = [peers.join(" or "), ports.join(" or ")];
        let words: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        if words.is_empty() { "of its processes".into() } else { words.join(" ") }
    }
}

/// Checks the request, and gives the settings of the lot.
fn check(request: &Trial) -> Result<Settings> {
    let Trial { controllers, ports, blocks, .. } = request;
    let is_twice = |(at, name): (usize, &String)| controllers[..at].contains(name);
    if !(2..=MOST).contains(&controllers.len()) || controllers.iter().enumerate().any(is_twice) {
        return Err(Error::refused(format!("wanted two to {MOST} different controllers to draw from")));
    }
    let available = congestion::available()?;
    if let Some(missing) = controllers.iter().find(|name| !available.contains(name)) {
        return Err(Error::refused(format!(
            "this kernel has no controller {missing:?}; it has {}. One of its own is loaded with `modprobe \
             tcp_NAME`, an eBPF port with `fairhaul kernel install`",
            available.join(", ")
        )));
    }
    if ports.len() > MOST || ports.contains(&0) {
        return Err(Error::refused(format!("wanted at most {MOST} ports from 1 to 65535")));
    }
    let is_long = request.block_s.is_finite() && request.block_s >= 1.0;
    if !(blocks.is_empty() || is_long) {
        return Err(Error::refused("wanted blocks of at least 1 s"));
    }
    if blocks.iter().any(|controller| *controller >= controllers.len()) {
        return Err(Error::refused("a block has a controller that is not in the list"));
    }
    Ok(Settings { controllers: controllers.clone(), ports: ports.clone(), peers: peers(request)? })
}

/// The peers whose connections take part. Peers to which a more specific route leads do not use the one that is named.
fn peers(request: &Trial) -> Result<Vec<(Prefix, bool)>> {
    if request.peers.is_empty() && request.routes.is_empty() {
        return Ok(vec![(Prefix::ALL, true)]);
    }
    let mut peers = Vec::new();
    for text in &request.routes {
        RouteName::read(text)?.find(true)?;
        let prefix = text.split_whitespace().next().unwrap_or_default();
        let named =
            if prefix == "default" { Some(Prefix { bits: 96, ..mapped() }) } else { Prefix::read(prefix) };
        let named = named.ok_or_else(|| Error::refused(format!("{prefix:?} is not a prefix")))?;
        peers.extend(more_specific(prefix)?.iter().filter_map(|line| Some((Prefix::read(line)?, false))));
        peers.retain(|(prefix, _)| *prefix != named);
        peers.push((named, true));
    }
    for text in &request.peers {
        let prefix = Prefix::read(text).ok_or_else(|| {
            Error::refused(format!("{text:?} is not an address or a prefix such as 10.1.0.0/16"))
        })?;
        peers.push((prefix, true));
    }
    Ok(peers)
}

/// Any address of IPv4.
fn mapped() -> Prefix {
    Prefix { bits: 96, address: std::net::Ipv4Addr::UNSPECIFIED.to_ipv6_mapped() }
}

/// The host's monotonic clock, by which the program in the kernel reports times.
fn now_ns() -> Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).when("the clock")?;
    Ok(now.num_nanoseconds() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(more: Value) -> Trial {
        let mut whole = json!({ "controllers": ["reno", "cubic"] });
        let fields = more.as_object().expect("it is an object").clone();
        whole.as_object_mut().expect("it is an object").extend(fields);
        serde_json::from_value(whole).expect("it is a request")
    }

    fn refusal(more: Value) -> String {
        match check(&request(more)) {
            Err(Error::Refused(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        assert!(refusal(json!({ "controllers": ["reno"] })).contains("two to 8 different"));
        assert!(refusal(json!({ "controllers": ["reno", "reno"] })).contains("different"));
        assert!(refusal(json!({ "controllers": ["reno", "none"] })).contains("no controller \"none\""));
        assert!(refusal(json!({ "ports": [0] })).contains("ports"));
        assert!(refusal(json!({ "blocks": [0], "block_s": 0.5 })).contains("at least 1 s"));
        assert!(refusal(json!({ "blocks": [2], "block_s": 9 })).contains("not in the list"));
        assert!(refusal(json!({ "peers": ["example.org"] })).contains("\"example.org\" is not an address"));
    }

    #[test]
    fn the_scope_is_a_sentence() {
        assert_eq!(request(json!({})).scope(), "of its processes");
        let both = json!({ "peers": ["10.1.0.0/16"], "routes": ["default"], "ports": [80, 443] });
        assert_eq!(
            request(both).scope(),
            "to 10.1.0.0/16 or over the route to default with the port 80 or with the port 443"
        );
    }
}
