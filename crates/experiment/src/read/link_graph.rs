//! The links of a scenario and the ways over them: a dumbbell, or a graph with shortest paths.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use fairhaul_path::Schedule;
use fairhaul_units::{Rate, Span};

use super::capacity_trace::Traces;
use super::link_schedule::{LinkSchedule, link_schedule};
use super::mistake::{Notes, SourceSpan, way_out};
use super::quantities::CapacitySpec;
use super::reader::{Value, Values};
use crate::Hop;

/// Routes are searched without an index of neighbours, so graphs are bounded.
const MOST_NODES: usize = 1000;
const MOST_LINKS: usize = 5000;

/// A link as the file describes it: both directions.
pub(super) struct DuplexLink {
    pub(super) name: String,
    pub(super) rate: Rate,
    pub(super) delay: Span,
    /// What changes, but for what it loses.
    pub(super) schedule: Schedule,
    /// Of the rates that it ever has.
    fastest: Rate,
    pub(super) capacity: Limit,
    /// From where its queue marks.
    pub(super) mark: Option<Limit>,
    /// The table of its queue.
    pub(super) queue: Values,
    pub(super) loss: Option<Value>,
    /// Its table, for what else it does to packets.
    pub(super) table: Values,
    from: usize,
    to: usize,
}

/// A limit of a queue, and where it stands.
pub(super) struct Limit {
    pub(super) key: &'static str,
    pub(super) spec: CapacitySpec,
    pub(super) origin: SourceSpan,
}

/// All links.
pub(super) struct LinkGraph {
    pub(super) duplex_links: Vec<DuplexLink>,
    nodes: Vec<String>,
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
    /// Its links, as data pass them.
    pub(super) fn duplex_links<'a>(&'a self, net: &'a LinkGraph) -> impl Iterator<Item = &'a DuplexLink> {
        self.links.iter().map(|link| net.duplex_link(*link))
    }
}

impl LinkGraph {
    /// Reads `[bottleneck]`, or `[[node]]` and `[[link]]`.
    pub(super) fn read(root: &Values, traces: &Traces, notes: &mut Notes) -> LinkGraph {
        let graph = root.given("node") || root.given("link");
        if root.given("bottleneck") {
            if graph {
                let origin = root.origin(if root.given("link") { "link" } else { "node" });
                notes.note(origin, "a scenario has either [bottleneck], or [[node]] and [[link]]");
            }
            return dumbbell(root.table("bottleneck"), traces, notes);
        }
        if !graph {
            notes.note(root.origin, "a scenario needs [bottleneck], or [[node]] and [[link]]");
        }
        let mut net = LinkGraph {
            duplex_links: Vec::new(),
            nodes: nodes(root, notes),
            access: None,
            dumbbell: false,
            whole: graph,
        };
        let links = root.tables("link").unwrap_or_default();
        if links.is_empty() && root.given("node") && !root.given("link") {
            notes.note(root.origin("node"), "a graph needs at least one [[link]]");
        }
        if links.len() > MOST_LINKS {
            notes.note(
                root.origin("link"),
                format!("{} links are too many; at most {MOST_LINKS}", links.len()),
            );
            return LinkGraph { whole: false, ..net };
        }
        let mut names = BTreeSet::new();
        for link in &links {
            match duplex_link(link, &net.nodes, traces, notes) {
                Some(duplex_link) => {
                    if !names.insert(duplex_link.name.clone()) {
                        notes.note(
                            link.origin,
                            format!(
                                "duplicate link name \"{}\"; give the link another name",
                                duplex_link.name
                            ),
                        );
                    }
                    net.duplex_links.push(duplex_link);
                }
                None => net.whole = false,
            }
        }
        net
    }

    /// The way of a flow's data; `None` where there is none, which has been noted.
    pub(super) fn route(&self, flow: &Values, notes: &mut Notes) -> Option<LinkRoute> {
        if self.dumbbell {
            for key in ["from", "to"].into_iter().filter(|key| flow.given(key)) {
                notes.note(
                    flow.origin(key),
                    format!("{key}: a dumbbell has no nodes; use [[node]] and [[link]]"),
                );
            }
            return (!self.duplex_links.is_empty()).then(|| LinkRoute { links: vec![0], hops: true });
        }
        let mut end = |key: &str| match flow.text(key) {
            Some(name) => node(&self.nodes, key, &name, flow.origin(key), notes),
            None => {
                if !flow.given(key) && self.whole {
                    notes.note(
                        flow.origin,
                        format!("[[flow]] needs \"{key}\" in a graph: the name of a node"),
                    );
                }
                None
            }
        };
        let (from, to) = (end("from"), end("to"));
        let (from, to) = (from?, to?);
        if from == to {
            notes.note(
                flow.origin("to"),
                format!("to: the flow starts and ends at the same node, \"{}\"", self.nodes[to]),
            );
            return None;
        }
        let links = self.shortest(from, to);
        if links.is_none() && self.whole {
            let (from, to) = (&self.nodes[from], &self.nodes[to]);
            notes.note(flow.origin("to"), format!("to: there is no path from \"{from}\" to \"{to}\""));
        }
        Some(LinkRoute { links: links?, hops: flow.given("rtt") })
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

    fn duplex_link(&self, link: u32) -> &DuplexLink {
        &self.duplex_links[link as usize / 2]
    }

    /// Two-way propagation of the links alone.
    pub(super) fn two_way(&self, route: &LinkRoute) -> Span {
        route.links.iter().fold(Span::ZERO, |sum, link| sum + self.duplex_link(*link).delay) * 2
    }

    /// The rate of the slowest link on the way.
    pub(super) fn slowest(&self, route: &LinkRoute) -> Rate {
        let rates = route.links.iter().map(|link| self.duplex_link(*link).rate);
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

    /// The way back.
    pub(super) fn reversed(self) -> LinkRoute {
        LinkRoute { links: self.links.iter().rev().map(|link| link ^ 1).collect(), ..self }
    }
}

fn dumbbell(table: Option<Values>, traces: &Traces, notes: &mut Notes) -> LinkGraph {
    let mut net =
        LinkGraph { duplex_links: Vec::new(), nodes: Vec::new(), access: None, dumbbell: true, whole: false };
    let Some(table) = table else { return net };
    let Some(duplex_link) = read_link("bottleneck".into(), &table, (0, 1), traces, notes) else { return net };
    net.access = Some(table.rate("access_rate").unwrap_or(duplex_link.fastest * 10));
    net.duplex_links.push(duplex_link);
    net.whole = true;
    net
}

/// The link of a table; `None` where a part of it was wrong, which has been noted.
fn read_link(
    name: String,
    table: &Values,
    (from, to): (usize, usize),
    traces: &Traces,
    notes: &mut Notes,
) -> Option<DuplexLink> {
    let link_schedule = link_schedule(table, traces, notes);
    let queue = table.table("queue")?;
    let limit = |key| Some(Limit { key, spec: queue.capacity(key)?, origin: queue.origin(key) });
    let LinkSchedule { rate, fastest, schedule } = link_schedule?;
    Some(DuplexLink {
        name,
        rate,
        fastest,
        schedule,
        delay: table.span("delay")?,
        capacity: limit("capacity")?,
        mark: queue.has("mark").then(|| limit("mark")).flatten(),
        loss: table.get("loss").cloned(),
        table: table.clone(),
        queue,
        from,
        to,
    })
}

fn duplex_link(link: &Values, nodes: &[String], traces: &Traces, notes: &mut Notes) -> Option<DuplexLink> {
    let ends = (link.text("from"), link.text("to"));
    let mut end = |key: &str, name: Option<&String>| node(nodes, key, name?, link.origin(key), notes);
    let (from, to) = (end("from", ends.0.as_ref()), end("to", ends.1.as_ref()));
    let (from, to) = (from?, to?);
    if from == to {
        notes.note(
            link.origin("to"),
            format!("to: the link starts and ends at the same node, \"{}\"", nodes[to]),
        );
        return None;
    }
    let name = link.text("name").unwrap_or_else(|| format!("{}-{}", nodes[from], nodes[to]));
    read_link(name, link, (from, to), traces, notes)
}

fn nodes(root: &Values, notes: &mut Notes) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let tables = root.tables("node").unwrap_or_default();
    if tables.len() > MOST_NODES {
        notes.note(root.origin("node"), format!("{} nodes are too many; at most {MOST_NODES}", tables.len()));
    }
    for table in tables.iter().take(MOST_NODES) {
        let Some(name) = table.text("name") else { continue };
        if !seen.insert(name.clone()) {
            notes.note(table.origin("name"), format!("name: duplicate node name \"{name}\""));
            continue;
        }
        names.push(name);
    }
    names
}

/// The node of that name.
fn node(nodes: &[String], key: &str, name: &str, origin: SourceSpan, notes: &mut Notes) -> Option<usize> {
    let found = nodes.iter().position(|n| n == name);
    if found.is_none() {
        let known: Vec<&str> = nodes.iter().map(String::as_str).collect();
        notes.note(origin, format!("{key}: unknown node \"{name}\"{}", way_out(name, &known)));
    }
    found
}
