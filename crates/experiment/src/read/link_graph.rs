//! The links of a scenario and the routes over them: a dumbbell, or a graph with shortest paths.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use fairhaul_path::impair::LossRule;
use fairhaul_path::{BucketRule, Schedule};
use fairhaul_units::{Rate, Span, Time};

use super::capacity_trace::Traces;
use super::fields::{BottleneckKeys, FlowKeys, GraphLinkKeys, LinkKeys, QueueKeys, ScenarioKeys};
use super::impairments::bucket;
use super::link_schedule::{LinkSchedule, link_schedule};
use super::mistake::{Notes, way_out};
use super::quantities::CapacitySpec;
use super::reader::{Keyed, KeyedOption};
use crate::Hop;

/// Routes are searched without an index of neighbours, so graphs are bounded.
const MOST_NODES: usize = 1000;
const MOST_LINKS: usize = 5000;
/// Changes of the delays and losses of all links in a run.
const MOST_CHANGES: usize = 1_000_000;

/// A link as the file describes it: both directions.
pub(super) struct DuplexLink<'a> {
    pub(super) name: String,
    /// The direction from `from` to `to`, and the other one.
    pub(super) directions: [LinkDirection<'a>; 2],
    pub(super) delay: Span,
    /// Of the rates that it ever has.
    fastest: Rate,
    /// What a trace says of losses in the forward direction.
    pub(super) traced_losses: Vec<(Time, LossRule)>,
    /// Its table, for what it does to packets.
    pub(super) keys: &'a LinkKeys,
    from: usize,
    to: usize,
}

/// What the directions of a link may differ in.
pub(super) struct LinkDirection<'a> {
    pub(super) rate: Rate,
    pub(super) shaper: Option<BucketRule>,
    /// What changes, except for what it loses.
    pub(super) schedule: Schedule,
    /// What its queue holds, and from where it marks.
    pub(super) capacity: Keyed<CapacitySpec>,
    pub(super) mark: Option<Keyed<CapacitySpec>>,
    pub(super) queue: &'a QueueKeys,
}

impl DuplexLink<'_> {
    /// How often its delay changes in a run, and its loss where that is in a trace.
    fn changes(&self) -> usize {
        self.directions[0].schedule.delays.len() + self.traced_losses.len()
    }
}

impl<'a> LinkDirection<'a> {
    fn new(rate: Rate, schedule: Schedule, queue: &'a QueueKeys) -> Option<LinkDirection<'a>> {
        let (capacity, mark) = (queue.limits.capacity.present()?, queue.limits.mark.present());
        Some(LinkDirection { rate, shaper: None, schedule, capacity, mark, queue })
    }

    /// What capacities in time and in bdp go by.
    pub(super) fn drain_rate(&self) -> Rate {
        self.shaper.map_or(self.rate, |shaper| shaper.rate.min(self.rate))
    }
}

/// All links.
pub(super) struct LinkGraph<'a> {
    pub(super) duplex_links: Vec<DuplexLink<'a>>,
    nodes: Vec<&'a str>,
    /// Of a dumbbell; a graph takes ten times the slowest link on the way.
    access: Option<Rate>,
    dumbbell: bool,
    /// Whether every link could be read: otherwise an unreachable node proves nothing.
    whole: bool,
}

/// The links from one end to another: numbers of directions, as in `Scenario::links`.
pub(super) struct LinkRoute {
    links: Vec<u32>,
    /// Whether every connection has access hops of its own at both ends.
    hops: bool,
}

impl LinkRoute {
    /// Its links, each with its direction, as data pass them.
    pub(super) fn directions<'a>(
        &'a self,
        net: &'a LinkGraph,
    ) -> impl Iterator<Item = (&'a DuplexLink<'a>, &'a LinkDirection<'a>)> {
        self.links.iter().map(|&link| {
            let duplex_link = net.duplex_link(link);
            (duplex_link, &duplex_link.directions[link as usize % 2])
        })
    }
}

impl<'a> LinkGraph<'a> {
    /// Reads `[bottleneck]`, or `[[node]]` and `[[link]]`.
    pub(super) fn read(root: &'a ScenarioKeys, traces: &Traces, notes: &mut Notes) -> LinkGraph<'a> {
        let (node, link) = (root.node.key, root.link.key);
        let graph = node.given || link.given;
        let end = root.duration.value.unwrap_or_default();
        if root.bottleneck.key.given {
            if graph {
                let origin = if link.given { link.origin } else { node.origin };
                notes.note(origin, "a scenario has either [bottleneck], or [[node]] and [[link]]");
            }
            return dumbbell(root.bottleneck.value.as_ref(), (end, traces), notes);
        }
        if !graph {
            notes.note(root.origin, "a scenario needs [bottleneck], or [[node]] and [[link]]");
        }
        let nodes = nodes(root, notes);
        let mut net =
            LinkGraph { duplex_links: Vec::new(), nodes, access: None, dumbbell: false, whole: graph };
        let links = root.link.value.as_deref().unwrap_or_default();
        if links.is_empty() && node.given && !link.given {
            notes.note(node.origin, "a graph needs at least one [[link]]");
        }
        if links.len() > MOST_LINKS {
            notes.note(link.origin, format!("{} links are too many; at most {MOST_LINKS}", links.len()));
            return LinkGraph { whole: false, ..net };
        }
        let (mut names, mut changes) = (BTreeSet::new(), 0);
        for link in links {
            match duplex_link(link, &net.nodes, (end, traces), notes) {
                Some(duplex_link) => {
                    let name = &duplex_link.name;
                    if !names.insert(name.clone()) {
                        let text = format!("duplicate link name \"{name}\"; give the link another name");
                        notes.note(link.origin, text);
                    }
                    changes += duplex_link.changes();
                    net.duplex_links.push(duplex_link);
                    if changes > MOST_CHANGES {
                        notes.note(
                            link.origin,
                            format!("the links change more than {MOST_CHANGES} times in all"),
                        );
                        return LinkGraph { whole: false, ..net };
                    }
                }
                None => net.whole = false,
            }
        }
        net
    }

    /// The way of a flow's data; `None` where there is none, which has been noted.
    pub(super) fn route(&self, flow: &FlowKeys, notes: &mut Notes) -> Option<LinkRoute> {
        if self.dumbbell {
            for key in [flow.from.key, flow.to.key].into_iter().filter(|key| key.given) {
                key.note("a dumbbell has no nodes; use [[node]] and [[link]]", notes);
            }
            return (!self.duplex_links.is_empty()).then(|| LinkRoute { links: vec![0], hops: true });
        }
        let mut end = |end: &KeyedOption<String>| {
            if !end.key.given && self.whole {
                let text = format!("[[flow]] needs \"{}\" in a graph: the name of a node", end.key.name);
                notes.note(flow.origin, text);
            }
            node(&self.nodes, end, notes)
        };
        let (from, to) = (end(&flow.from), end(&flow.to));
        let (from, to) = (from?, to?);
        if from == to {
            let text = format!("the flow starts and ends at the same node, \"{}\"", self.nodes[to]);
            flow.to.key.note(text, notes);
            return None;
        }
        let links = self.shortest(from, to);
        if links.is_none() && self.whole {
            let (from, to) = (self.nodes[from], self.nodes[to]);
            flow.to.key.note(format!("there is no path from \"{from}\" to \"{to}\""), notes);
        }
        Some(LinkRoute { links: links?, hops: flow.rtt.key.given })
    }

    /// The shortest path by delay; among equals that of fewer hops, then the first in the file.
    fn shortest(&self, from: usize, to: usize) -> Option<Vec<u32>> {
        let mut done = vec![false; self.nodes.len()];
        let mut heap = BinaryHeap::from([Reverse((Span::ZERO, 0, Vec::new(), from))]);
        while let Some(Reverse((delay, hops, path, node))) = heap.pop() {
            if node == to {
                return Some(path);
            }
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            for (index, duplex_link) in self.duplex_links.iter().enumerate() {
                let (next, direction) = match node {
                    _ if duplex_link.from == node => (duplex_link.to, 0),
                    _ if duplex_link.to == node => (duplex_link.from, 1),
                    _ => continue,
                };
                if !done[next] {
                    let path = path.iter().copied().chain([index as u32 * 2 + direction]).collect();
                    heap.push(Reverse((delay + duplex_link.delay, hops + 1, path, next)));
                }
            }
        }
        None
    }

    fn duplex_link(&self, link: u32) -> &DuplexLink<'a> {
        &self.duplex_links[link as usize / 2]
    }

    /// Two-way propagation of the links alone.
    pub(super) fn two_way(&self, route: &LinkRoute) -> Span {
        route.links.iter().fold(Span::ZERO, |sum, link| sum + self.duplex_link(*link).delay) * 2
    }

    /// The rate of the slowest link on the way.
    pub(super) fn slowest(&self, route: &LinkRoute) -> Rate {
        let rates = route.directions(self).map(|(_, one)| one.drain_rate());
        rates.min().expect("a way has at least one link")
    }

    /// The hops of data and of acknowledgements for a round trip of `rtt`, at least that of the
    /// links.
    pub(super) fn hops(&self, route: &LinkRoute, rtt: Span) -> (Vec<Hop>, Vec<Hop>) {
        let forward = route.links.iter().map(|link| Hop::Link(*link));
        let reverse = route.links.iter().rev().map(|link| Hop::Link(link ^ 1));
        if !route.hops {
            return (forward.collect(), reverse.collect());
        }
        let fastest = route.links.iter().map(|link| self.duplex_link(*link).fastest);
        let rate = self.access.or(fastest.min().map(|rate| rate * 10)).expect("a way has at least one link");
        let rest = rtt.saturating_sub(self.two_way(route));
        // Four access hops share what the links leave; the picoseconds that four do not divide go
        // to the first, so that the sum is exact.
        let quarter = rest / 4;
        let first = rest - quarter * 3;
        let side = |delay| [Hop::Access { rate, delay }];
        let forward = side(first).into_iter().chain(forward).chain(side(quarter));
        let reverse = side(quarter).into_iter().chain(reverse).chain(side(quarter));
        (forward.collect(), reverse.collect())
    }
}

impl LinkRoute {
    /// Whether the way uses that wire, in either direction.
    pub(super) fn crosses(&self, duplex_link: usize) -> bool {
        self.links.iter().any(|link| *link as usize / 2 == duplex_link)
    }

    /// The reverse path.
    pub(super) fn reversed(self) -> LinkRoute {
        LinkRoute { links: self.links.iter().rev().map(|link| link ^ 1).collect(), ..self }
    }
}

fn dumbbell<'a>(
    keys: Option<&'a BottleneckKeys>,
    (end, traces): (Span, &Traces),
    notes: &mut Notes,
) -> LinkGraph<'a> {
    let mut net =
        LinkGraph { duplex_links: Vec::new(), nodes: Vec::new(), access: None, dumbbell: true, whole: false };
    let Some(keys) = keys else { return net };
    let Some(link) = read_link("bottleneck".into(), &keys.link, (0, 1), (end, traces), notes) else {
        return net;
    };
    net.access = Some(keys.access_rate.value.unwrap_or(link.fastest * 10));
    net.duplex_links.push(link);
    net.whole = true;
    net
}

/// The link of a table; `None` where a part of it was wrong, which has been noted.
fn read_link<'a>(
    name: String,
    keys: &'a LinkKeys,
    (from, to): (usize, usize),
    (end, traces): (Span, &Traces),
    notes: &mut Notes,
) -> Option<DuplexLink<'a>> {
    let LinkSchedule { rate, fastest, schedule, traced_losses } = link_schedule(keys, end, traces, notes)?;
    let queue = keys.queue.value.as_ref()?;
    let back = match keys.reverse_rate.value {
        Some(rate) => (rate, Schedule { rates: None, ..schedule.clone() }),
        None => (rate, schedule.clone()),
    };
    let shaper = keys.shaper.value.as_ref().and_then(bucket);
    let other = keys.reverse_queue.value.as_ref().unwrap_or(queue);
    Some(DuplexLink {
        name,
        directions: [
            LinkDirection { shaper, ..LinkDirection::new(rate, schedule, queue)? },
            LinkDirection::new(back.0, back.1, other)?,
        ],
        fastest: fastest.max(back.0),
        delay: keys.delay.value?,
        traced_losses,
        keys,
        from,
        to,
    })
}

fn duplex_link<'a>(
    link: &'a GraphLinkKeys,
    nodes: &[&str],
    (end, traces): (Span, &Traces),
    notes: &mut Notes,
) -> Option<DuplexLink<'a>> {
    let (from, to) = (node(nodes, &link.from, notes), node(nodes, &link.to, notes));
    let (from, to) = (from?, to?);
    if from == to {
        link.to.key.note(format!("the link starts and ends at the same node, \"{}\"", nodes[to]), notes);
        return None;
    }
    let name = link.name.value.clone().unwrap_or_else(|| format!("{}-{}", nodes[from], nodes[to]));
    read_link(name, &link.link, (from, to), (end, traces), notes)
}

fn nodes<'a>(root: &'a ScenarioKeys, notes: &mut Notes) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut distinct = BTreeSet::new();
    let nodes = root.node.value.as_deref().unwrap_or_default();
    if nodes.len() > MOST_NODES {
        let text = format!("{} nodes are too many; at most {MOST_NODES}", nodes.len());
        notes.note(root.node.key.origin, text);
    }
    for node in nodes.iter().take(MOST_NODES) {
        let Some(name) = node.name.value.as_deref() else { continue };
        if distinct.insert(name) {
            names.push(name);
        } else {
            node.name.key.note(format!("duplicate node name \"{name}\""), notes);
        }
    }
    names
}

/// The node that `end` names.
fn node(nodes: &[&str], end: &KeyedOption<String>, notes: &mut Notes) -> Option<usize> {
    let name = end.value.as_deref()?;
    let index = nodes.iter().position(|node| *node == name);
    if index.is_none() {
        end.key.note(format!("unknown node \"{name}\"{}", way_out(name, nodes)), notes);
    }
    index
}
