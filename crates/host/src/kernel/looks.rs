//! Looks at the host's TCP connections, one after the other: the state of each, what it did since the look before, and
//! what the flows of each controller have done since the first look.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fairhaul_experiment::Limit;
use fairhaul_units::{Span, hint};
use serde::{Deserialize, Serialize};

use super::flow_probe::{Bounds, EndedFlow, FlowProbe};
use super::loss_monitor::SentCounts;
use crate::error::{Error, Result};
use crate::flows::{self, KernelFlow};
use crate::namespace;
use crate::ports::capabilities;
use crate::steps::warn;

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

/// A connection that has sent data, and what it did since the look before.
#[derive(Clone, Debug, Serialize)]
pub struct SendingFlow {
    /// The connection.
    #[serde(flatten)]
    pub located: LocatedFlow,
    /// The rate at which the receiver acknowledged data between the two looks; `None` if the look before did not have
    /// the connection.
    // The kernel's own delivery rate covers at most one round trip: with few packets it is arbitrary.
    pub rate_bps: Option<f64>,
    /// The packets that it has sent between the two looks.
    pub recent: Option<SentCounts>,
    /// What has kept it back between the two looks, and in which part of the time, 0 to 1.
    pub limits: Option<BTreeMap<&'static str, f64>>,
    /// The bounds of its window and round-trip times between the two looks; `None` without the tracepoints, or if no
    /// packet arrived.
    pub bounds: Option<Bounds>,
}

/// What the flows of a controller have done since the first look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Bytes that receivers have acknowledged.
    pub acked_bytes: u64,
    /// Packets.
    #[serde(flatten)]
    pub counts: SentCounts,
}

/// The connections at one time.
#[derive(Clone, Debug, Serialize)]
pub struct Look {
    /// The time, in seconds since 1970.
    pub unix_s: f64,
    /// Whether the tracepoints have reported what happened between the looks.
    pub traced: bool,
    /// Connections that ended and were not reported, because more ended at a time than there is room for.
    pub lost_ends: u64,
    /// Connections that have sent data.
    pub flows: Vec<SendingFlow>,
    /// Connections that have sent no data: the controller of a connection that only receives has no effect.
    #[serde(skip)]
    pub silent: Vec<LocatedFlow>,
    /// What the flows of each controller have done since the first look, flows that have ended included.
    pub controllers: BTreeMap<String, Totals>,
    /// The time that the look took.
    pub took_s: f64,
}

/// Which connections a look has; by default all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlowFilter {
    /// Connections of these controllers.
    pub controllers: BTreeSet<String>,
    /// Connections with one of these ports at either end.
    pub ports: BTreeSet<u16>,
    /// Connections in these namespaces.
    pub namespaces: BTreeSet<String>,
}

/// The series of looks.
#[derive(Debug)]
pub struct Looks {
    filter: FlowFilter,
    everywhere: bool,
    probe: Option<FlowProbe>,
    before: Option<BTreeMap<u64, LocatedFlow>>,
    controllers: BTreeMap<String, Totals>,
}

impl Looks {
    /// Looks at all namespaces that can be found if this process has the capabilities for it, and otherwise at its own
    /// namespace.
    ///
    /// # Errors
    /// The filter names a namespace that does not exist, or other namespaces without root.
    pub fn new(filter: FlowFilter) -> Result<Looks> {
        let everywhere = capabilities::lacking().is_empty();
        if everywhere {
            filter.check()?;
        } else if !filter.namespaces.is_empty() {
            return Err(Error::refused("only root can look into other network namespaces"));
        }
        Ok(Looks { filter, everywhere, probe: None, before: None, controllers: BTreeMap::new() })
    }

    /// Attaches to the kernel's tracepoints, if that is possible, and warns if it is not.
    pub fn traced(mut self) -> Looks {
        let probe = if self.everywhere { FlowProbe::new() } else { Err(Error::refused("it needs root")) };
        match probe {
            Ok(probe) => self.probe = Some(probe),
            Err(reason) => warn(format!(
                "the kernel's tracepoints are not used ({reason}): the bounds of windows and round-trip times \
                 between two looks are missing, and what a flow sends after the last look at it is not counted"
            )),
        }
        self
    }

    /// Whether all namespaces are looked at.
    pub fn everywhere(&self) -> bool {
        self.everywhere
    }

    /// Looks at the connections.
    pub fn next(&mut self) -> Result<Look> {
        let start = Instant::now();
        let located = if self.everywhere { everywhere(&self.filter)? } else { here(&self.filter)? };
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let (bounds, ended, lost_ends) = match &mut self.probe {
            Some(probe) => (probe.bounds()?, probe.ended(), probe.lost_ends()?),
            None => (BTreeMap::new(), Vec::new(), 0),
        };
        self.count(&located, &ended);
        let before = self.before.take().unwrap_or_default();
        let (senders, silent): (Vec<_>, Vec<_>) =
            located.iter().cloned().partition(|located| located.flow.sent > 0);
        let of = |now: LocatedFlow| {
            let bounds = bounds.get(&now.flow.cookie).copied();
            sender(before.get(&now.flow.cookie), now, bounds)
        };
        let flows = senders.into_iter().map(of).collect();
        self.before = Some(located.into_iter().map(|located| (located.flow.cookie, located)).collect());
        let controllers = self.controllers.clone();
        let traced = self.probe.is_some();
        let took_s = start.elapsed().as_secs_f64();
        Ok(Look { unix_s, traced, lost_ends, flows, silent, controllers, took_s })
    }

    /// Adds to the totals what the connections have done since the look before. A connection that the look before did
    /// not have has begun since; at the first look it counts from there.
    fn count(&mut self, located: &[LocatedFlow], ended: &[EndedFlow]) {
        let now: BTreeMap<u64, &LocatedFlow> =
            located.iter().map(|located| (located.flow.cookie, located)).collect();
        let Some(before) = &self.before else {
            for located in located.iter().filter(|located| located.flow.sent > 0) {
                self.controllers.entry(located.flow.controller.clone()).or_default();
            }
            return;
        };
        let counted = |located: &LocatedFlow| Totals {
            acked_bytes: located.flow.acked_bytes,
            counts: sent_counts(&located.flow),
        };
        let former = |cookie: &u64| before.get(cookie).map(counted);
        for located in located.iter().filter(|located| located.flow.sent > 0) {
            let total = self.controllers.entry(located.flow.controller.clone()).or_default();
            total.add(counted(located), former(&located.flow.cookie).unwrap_or_default());
        }
        for flow in ended {
            let base = now.get(&flow.cookie).map(|located| counted(located)).or_else(|| former(&flow.cookie));
            // What is known of a connection that ended between two looks does not say where it was.
            if base.is_none() && !self.filter.is_empty() {
                continue;
            }
            let last = Totals { acked_bytes: flow.acked_bytes, counts: flow.counts };
            let total = self.controllers.entry(flow.controller.clone()).or_default();
            total.add(last, base.unwrap_or_default());
        }
    }
}

impl Totals {
    fn add(&mut self, now: Totals, before: Totals) {
        self.acked_bytes += now.acked_bytes.saturating_sub(before.acked_bytes);
        self.counts.add(now.counts.since(before.counts));
    }
}

impl FlowFilter {
    fn is_empty(&self) -> bool {
        self.controllers.is_empty() && self.ports.is_empty() && self.namespaces.is_empty()
    }

    fn check(&self) -> Result<()> {
        if self.namespaces.is_empty() {
            return Ok(());
        }
        let known: Vec<String> = namespace::all()?.into_iter().map(|(label, _)| label).collect();
        match self.namespaces.iter().find(|name| !known.contains(name)) {
            Some(unknown) => {
                let hint = hint(unknown, known.iter().map(String::as_str));
                Err(Error::refused(format!("unknown network namespace {unknown:?}; {hint}")))
            }
            None => Ok(()),
        }
    }

    fn has(&self, flow: &KernelFlow) -> bool {
        let port = self.ports.contains(&flow.local.port()) || self.ports.contains(&flow.remote.port());
        (self.controllers.is_empty() || self.controllers.contains(&flow.controller))
            && (self.ports.is_empty() || port)
    }
}

/// The packets that a connection has sent since it began.
pub fn sent_counts(flow: &KernelFlow) -> SentCounts {
    SentCounts { sent: flow.sent, retransmitted: flow.retransmitted }
}

fn sender(before: Option<&LocatedFlow>, now: LocatedFlow, bounds: Option<Bounds>) -> SendingFlow {
    let before = before.filter(|then| then.at < now.at);
    let rate_bps = before.map(|then| {
        let acked = now.flow.acked_bytes.saturating_sub(then.flow.acked_bytes);
        acked as f64 * 8.0 / (now.at - then.at).as_secs_f64()
    });
    let recent = before.map(|then| sent_counts(&now.flow).since(sent_counts(&then.flow)));
    let limits = before.map(|then| limits(&now, then));
    SendingFlow { located: now, rate_bps, recent, limits, bounds }
}

fn limits(now: &LocatedFlow, then: &LocatedFlow) -> BTreeMap<&'static str, f64> {
    let ago = Span::from_secs((now.at - then.at).as_secs_f64());
    let mut parts = BTreeMap::new();
    for (limit, span) in now.flow.limits.since(then.flow.limits, ago, false) {
        if !span.is_zero() {
            *parts.entry(Limit::WORDS[limit as usize]).or_default() += span.as_secs() / ago.as_secs();
        }
    }
    parts
}

/// The connections of all namespaces that can be found.
fn everywhere(filter: &FlowFilter) -> Result<Vec<LocatedFlow>> {
    let own = namespace::Namespace::own()?.inode();
    let mut located = Vec::new();
    for (label, namespace) in namespace::all()? {
        if !filter.namespaces.is_empty() && !filter.namespaces.contains(&label) {
            continue;
        }
        let label = if namespace.inode() == own { String::new() } else { label };
        located.extend(taken(label, filter, namespace.inside(flows::all)?));
    }
    Ok(located)
}

fn here(filter: &FlowFilter) -> Result<Vec<LocatedFlow>> {
    Ok(taken(String::new(), filter, flows::all()?).collect())
}

fn taken(
    namespace: String,
    filter: &FlowFilter,
    flows: Vec<KernelFlow>,
) -> impl Iterator<Item = LocatedFlow> {
    let at = Instant::now();
    let flows = flows.into_iter().filter(|flow| filter.has(flow));
    flows.map(move |flow| LocatedFlow { namespace: namespace.clone(), at, flow })
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;
    use std::time::Duration;

    use super::*;
    use crate::flows::NewerFields;
    use crate::lab::tcp_info::SenderLimits;

    fn located(cookie: u64, at: Instant, acked_bytes: u64, sent: u64) -> LocatedFlow {
        let end = "10.0.0.1:5001".parse().expect("it is an address");
        let flow = KernelFlow {
            cookie,
            local: end,
            remote: end,
            controller: "fh_x".into(),
            cwnd: 10,
            ssthresh: None,
            mss: 1448,
            rtt_ms: 1.0,
            min_rtt_ms: None,
            pacing_rate_bps: None,
            acked_bytes,
            sent,
            retransmitted: sent / 10,
            uid: 0,
            mark: None,
            delivery_rate_bps: 0.0,
            app_limited: false,
            unsent_bytes: 0,
            busy_s: 0.0,
            receive_window_s: 0.0,
            send_buffer_s: 0.0,
            newer: NewerFields::default(),
            limits: SenderLimits::default(),
        };
        LocatedFlow { namespace: String::new(), at, flow }
    }

    fn ended(cookie: u64, acked_bytes: u64, sent: u64) -> EndedFlow {
        let counts = SentCounts { sent, retransmitted: sent / 10 };
        EndedFlow { cookie, acked_bytes, counts, controller: "fh_x".into() }
    }

    /// What two looks count: at the second one the first is known.
    fn counted(
        filter: FlowFilter,
        first: &[LocatedFlow],
        second: &[LocatedFlow],
        ended: &[EndedFlow],
    ) -> Totals {
        let mut looks =
            Looks { filter, everywhere: true, probe: None, before: None, controllers: BTreeMap::new() };
        looks.count(first, &[]);
        looks.before = Some(first.iter().map(|located| (located.flow.cookie, located.clone())).collect());
        looks.count(second, ended);
        looks.controllers.get("fh_x").copied().unwrap_or_default()
    }

    fn totals(acked_bytes: u64, sent: u64, retransmitted: u64) -> Totals {
        Totals { acked_bytes, counts: SentCounts { sent, retransmitted } }
    }

    /// 1 250 000 bytes in half a second are 20 Mbit/s.
    #[test]
    fn the_rate_of_a_flow_is_of_the_bytes_acknowledged_between_two_looks() {
        let start = Instant::now();
        let then = located(7, start, 1_000_000, 900);
        let mut now = located(7, start + Duration::from_millis(500), 2_250_000, 1900);
        let [busy, receive_window] = [400, 300].map(Span::from_ms);
        now.flow.limits = SenderLimits { busy, receive_window, ..SenderLimits::default() };
        let seen = sender(Some(&then), now, None);
        assert_eq!(seen.rate_bps, Some(20e6));
        assert_eq!(seen.recent, Some(SentCounts { sent: 1000, retransmitted: 100 }));
        let limits = [("application", 0.2), ("congestion window", 0.2), ("receive window", 0.6)];
        assert_eq!(seen.limits, Some(limits.into()));
        // A connection with only one look has none of them.
        assert_eq!(sender(None, then.clone(), None).rate_bps, None);
        assert_eq!(sender(Some(&then), then.clone(), None).recent, None);
    }

    #[test]
    fn a_flow_counts_from_the_first_look_and_one_that_begins_later_counts_as_a_whole() {
        let now = Instant::now();
        let (old, later) = (located(7, now, 1_000_000, 900), located(7, now, 1_500_000, 1200));
        assert_eq!(
            counted(FlowFilter::default(), from_ref(&old), from_ref(&later), &[]),
            totals(500_000, 300, 30)
        );
        let new = located(8, now, 250_000, 100);
        assert_eq!(counted(FlowFilter::default(), &[old], &[later, new], &[]), totals(750_000, 400, 40));
    }

    /// The look had 1.5 MB of it when it had 1.6 MB in all; one that no look had counts as a whole.
    #[test]
    fn flows_that_end_between_two_looks_are_counted_once() {
        let now = Instant::now();
        let (old, later) = (located(7, now, 1_000_000, 900), located(7, now, 1_500_000, 1200));
        let ends = [ended(7, 1_600_000, 1300), ended(9, 10_000, 10)];
        let both = totals(610_000, 410, 41);
        assert_eq!(counted(FlowFilter::default(), from_ref(&old), &[], &ends), both);
        // It ended after the look and before its end was read.
        assert_eq!(counted(FlowFilter::default(), from_ref(&old), &[later], &ends), both);
        // Where the one that no look had was is unknown, so a filter excludes it.
        let filter = FlowFilter { ports: [5001].into(), ..FlowFilter::default() };
        assert_eq!(counted(filter, &[old], &[], &ends), totals(600_000, 400, 40));
    }

    #[test]
    fn a_filter_takes_flows_by_controller_and_by_the_port_of_either_end() {
        let flow = located(7, Instant::now(), 0, 0).flow;
        let by_port = |port| FlowFilter { ports: [port].into(), ..FlowFilter::default() }.has(&flow);
        assert!(by_port(5001) && !by_port(5002));
        let by_controller =
            |name: &str| FlowFilter { controllers: [name.into()].into(), ..FlowFilter::default() }.has(&flow);
        assert!(by_controller("fh_x") && !by_controller("cubic"));
    }
}
