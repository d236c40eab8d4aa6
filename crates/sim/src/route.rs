//! The compiled path of a flow: where a packet needs an event, and where arithmetic is enough.
//!
//! Flows meet at a link that more than one connection feeds, and there a packet waits for an event, in the order
//! of time. Everywhere else (a connection's own access, a link that one
//! connection alone feeds and that does nothing but carry) the passage of a packet is arithmetic,
//! done ahead of the clock.

use std::collections::HashMap;

use fairhaul_experiment::{Hop, Scenario, Traffic};
use fairhaul_path::LinkSpec;
use fairhaul_units::{HEADER, Rate, Span};

use crate::control::Control;
use crate::event_key::{EventKey, EventKind, MOST_LEGS, MOST_RINGS};
use crate::event_queue::SlotId;

/// Where packets of a connection wait at the end of a leg: the key of their events, of connection 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingLane(EventKey);

impl RingLane {
    /// The key of the event of connection `serial`.
    #[inline(always)]
    pub fn key(self, serial: u32) -> EventKey {
        self.0.of(serial)
    }

    /// The ring in which they wait, with those of other connections.
    #[inline(always)]
    pub fn ring(self) -> u32 {
        self.0.ring()
    }
}

/// Part of a compiled path: over wires of the connection's own, then what they lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Leg {
    /// Numbers of the first wire and of the first after them.
    pub wires: (u8, u8),
    /// What is behind them.
    pub end: LegEnd,
}

/// Where a leg ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LegEnd {
    /// At a link that this connection alone feeds.
    OwnLink(u32),
    /// Where packets wait.
    Ring {
        /// In which ring.
        lane: RingLane,
        /// For that link, where flows meet. `None`: behind a link where packets overtake each other, or at a sender with
        /// bonded links, where what follows takes them in order of time; or, for acknowledgements, at their sender.
        link: Option<u32>,
    },
    /// At the receiver, which takes data packets as they come.
    Receiver,
}

/// The compiled path of a flow's connections, both ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Route {
    /// The way of data.
    pub forward: Vec<Leg>,
    /// The way of acknowledgements.
    pub reverse: Vec<Leg>,
    /// Rate and delay of the connection's own wires.
    pub wires: Vec<(Rate, Span)>,
}

/// The routes of all flows, and what they take.
#[derive(Clone, Debug)]
pub struct Routes {
    /// All that differ: of thousands of flows that pass the same only one, which then stays in the cache.
    pub all: Vec<Route>,
    /// By flow, the index of its route.
    pub of: Vec<u32>,
    /// Rings of data packets.
    pub data_rings: Vec<SlotId>,
    /// Rings of acknowledgements.
    pub ack_rings: Vec<SlotId>,
    /// How many slots each node has; the last node is the hosts.
    pub slots: Vec<u32>,
    /// By node.
    pub reach: Vec<Reach>,
}

/// How near other nodes are to one: the shortest way to it from any of them, and from it to any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub to: Span,
    pub from: Span,
}

/// What a path must know of each link.
struct Links<'a> {
    specs: &'a [LinkSpec],
    alone: Vec<bool>,
    /// Packets overtake each other there.
    disorders: Vec<bool>,
}

impl Links<'_> {
    /// The number of the node that is the hosts.
    fn hosts(&self) -> u32 {
        self.specs.len() as u32
    }

    /// The shortest time that a packet takes over that link: of the smallest one, at its fastest.
    fn shortest(&self, link: u32) -> Span {
        let spec = &self.specs[link as usize];
        let later = spec.schedule.delays.iter().map(|change| change.1);
        let fastest = spec.schedule.rates.as_ref().map_or(Some(spec.rate), |rates| rates.fastest());
        later.fold(spec.delay, Span::min) + fastest.map_or(Span::ZERO, |rate| rate.on_wire(HEADER))
    }
}

/// The legs of one way.
struct Legs {
    /// The first wire of the leg under way.
    first: u8,
    legs: Vec<Leg>,
}

impl Legs {
    /// A leg ends; the connection has `wires` wires by now.
    fn add(&mut self, wires: usize, end: LegEnd) {
        let first = std::mem::replace(&mut self.first, wires as u8);
        self.legs.push(Leg { wires: (first, wires as u8), end });
    }
}

/// What packets have passed since they last stood in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mark {
    /// The link at which they were put in order.
    Ordered(u32),
    Wire(Rate, Span),
    /// A place that only the flow of that index passes, or only its packets pass in order.
    Own(usize),
}

/// Gives out rings: one to the packets of a kind that wait at the end of legs of the same number at the
/// same node and have passed the same.
#[derive(Debug)]
struct RingNumbers {
    /// The event of a packet of that kind at the end of a leg.
    kind: fn(u16) -> EventKind,
    known: HashMap<(u16, u32, Vec<Mark>), u32>,
    slots: Vec<SlotId>,
}

impl RingNumbers {
    fn new(kind: fn(u16) -> EventKind) -> RingNumbers {
        RingNumbers { kind, known: HashMap::new(), slots: Vec::new() }
    }

    fn lane(&mut self, leg: usize, node: u32, passed: &[Mark], slots: &mut [u32]) -> RingLane {
        let (leg, next) = (leg as u16, self.slots.len() as u32);
        let ring = *self.known.entry((leg, node, passed.to_vec())).or_insert(next);
        if ring == next {
            self.slots.push(SlotId { node, number: slots[node as usize] });
            slots[node as usize] += 1;
        }
        RingLane((self.kind)(leg).key_in_ring(0, ring))
    }
}

/// Compiles the path of every flow of `scenario`; `in_steps`: nothing is done ahead of the clock at a link, as where
/// a run is paused. `None`: the run was asked to stop.
pub fn compile(scenario: &Scenario, in_steps: bool, control: &Control) -> Option<Routes> {
    let alone = if in_steps { vec![false; scenario.links.len()] } else { fed_alone(scenario) };
    let disorders = scenario.links.iter().map(LinkSpec::disorders).collect();
    let links = Links { specs: &scenario.links, alone, disorders };
    // The departures of a link whose queue decides at departure have a slot, too.
    let mut slots: Vec<u32> =
        scenario.links.iter().map(|link| u32::from(link.queue.entry.at_departure)).collect();
    slots.push(0);
    let (mut data, mut acks) = (RingNumbers::new(EventKind::Data), RingNumbers::new(EventKind::Ack));
    let far = Span::from_ps(u64::MAX);
    let mut reach = vec![Reach { to: far, from: far }; slots.len()];
    let compile_flow = |(index, flow): (usize, &fairhaul_experiment::Flow)| {
        let mut compiler = Compiler::new(&links, index, &mut slots, &mut reach);
        let bond = flow.is_bonded().then(|| compiler.wait(0, links.hosts(), &mut data));
        let forward = compiler.legs(&flow.forward, bond, false, &mut data);
        let is_stack = flow.controller.stack().is_some();
        if flow.delayed_ack.is_some() || flow.host.is_some() || has_followers(flow) || is_stack {
            compiler.reach(links.hosts()); // the receiver has a timer, or begins the next transfer
        }
        let reverse = compiler.legs(&flow.reverse, None, true, &mut acks);
        assert!(forward.len().max(reverse.len()) <= MOST_LEGS, "a route is of bounded length");
        Route { forward, reverse, wires: compiler.wires }
    };
    let flows = scenario.flows.iter().enumerate().take_while(|_| !control.is_stopped());
    let (mut all, mut known) = (Vec::new(), HashMap::new());
    let of = flows.map(compile_flow).map(|route| {
        *known.entry(route).or_insert_with_key(|route| {
            all.push(route.clone());
            all.len() as u32 - 1
        })
    });
    let of = of.collect();
    if control.is_stopped() {
        return None;
    }
    let (data_rings, ack_rings) = (data.slots, acks.slots);
    let most = data_rings.len().max(ack_rings.len());
    assert!(most <= MOST_RINGS as usize, "a scenario has a bounded number of flows");
    Some(Routes { all, of, data_rings, ack_rings, slots, reach })
}

/// One flow's route while it is compiled.
struct Compiler<'a> {
    links: &'a Links<'a>,
    flow: usize,
    slots: &'a mut [u32],
    wires: Vec<(Rate, Span)>,
    passed: Vec<Mark>,
    /// The last node, and how far from it the way has come at least.
    node: u32,
    since: Span,
    reach: &'a mut [Reach],
}

impl<'a> Compiler<'a> {
    fn new(links: &'a Links<'a>, flow: usize, slots: &'a mut [u32], reach: &'a mut [Reach]) -> Compiler<'a> {
        let (wires, passed) = (Vec::new(), Vec::new());
        Compiler { links, flow, slots, wires, passed, node: links.hosts(), since: Span::ZERO, reach }
    }

    /// The way has come to a node.
    fn reach(&mut self, node: u32) {
        if node != self.node {
            let (from, to) = (self.node as usize, node as usize);
            self.reach[from].from = self.reach[from].from.min(self.since);
            self.reach[to].to = self.reach[to].to.min(self.since);
        }
        (self.node, self.since) = (node, Span::ZERO);
    }

    /// Packets wait at a node, where what has passed the same as they has a ring.
    fn wait(&mut self, leg: usize, node: u32, rings: &mut RingNumbers) -> RingLane {
        self.reach(node);
        rings.lane(leg, node, &self.passed, self.slots)
    }

    /// The legs of a way. `bond`: where packets wait before the first hop; `ends_in_lane`: behind the last hop they wait, too.
    fn legs(
        &mut self,
        hops: &[Hop],
        bond: Option<RingLane>,
        ends_in_lane: bool,
        rings: &mut RingNumbers,
    ) -> Vec<Leg> {
        let mut way = Legs { first: self.wires.len() as u8, legs: Vec::new() };
        bond.into_iter().for_each(|lane| way.add(self.wires.len(), LegEnd::Ring { lane, link: None }));
        for (at, hop) in hops.iter().enumerate() {
            match *hop {
                Hop::Access { rate, delay } => {
                    self.passed.push(Mark::Wire(rate, delay));
                    self.wires.push((rate, delay));
                    self.since += delay + rate.on_wire(HEADER); // no packet is smaller
                }
                Hop::Link(link) if self.links.alone[link as usize] => {
                    self.passed.push(Mark::Own(self.flow));
                    way.add(self.wires.len(), LegEnd::OwnLink(link));
                    self.since += self.links.shortest(link);
                }
                Hop::Link(link) => {
                    let lane = self.wait(way.legs.len(), link, rings);
                    way.add(self.wires.len(), LegEnd::Ring { lane, link: Some(link) });
                    self.since = self.links.shortest(link);
                    let disorders = self.links.disorders[link as usize];
                    self.passed = vec![if disorders { Mark::Own(self.flow) } else { Mark::Ordered(link) }];
                    if disorders && !self.waits(hops.get(at + 1), ends_in_lane) {
                        let lane = self.wait(way.legs.len(), self.links.hosts(), rings);
                        way.add(self.wires.len(), LegEnd::Ring { lane, link: None });
                    }
                }
            }
        }
        let end = if ends_in_lane {
            LegEnd::Ring { lane: self.wait(way.legs.len(), self.links.hosts(), rings), link: None }
        } else {
            LegEnd::Receiver
        };
        way.add(self.wires.len(), end);
        way.legs
    }

    fn waits(&self, hop: Option<&Hop>, ends_in_lane: bool) -> bool {
        match hop {
            Some(Hop::Link(link)) => !self.links.alone[*link as usize],
            Some(Hop::Access { .. }) => false,
            None => ends_in_lane,
        }
    }
}

/// Whether a transfer of `flow` may begin another one when it arrives.
fn has_followers(flow: &fairhaul_experiment::Flow) -> bool {
    matches!(flow.traffic, Traffic::Vectors { .. } | Traffic::Answers { .. })
}

/// Which links one connection alone feeds, in one direction, without loss or another impairment, whose
/// queue decides on arrival. Rates and delays may change there, unless packets then overtake each other.
fn fed_alone(scenario: &Scenario) -> Vec<bool> {
    let mut feeders = vec![0u32; scenario.links.len()];
    for flow in &scenario.flows {
        let single = !matches!(flow.traffic, Traffic::Short { .. } | Traffic::Web(_)) && !has_followers(flow);
        for link in flow.links() {
            feeders[link as usize] += if single { 1 } else { 2 };
        }
    }
    let alone = |(link, &feeders): (&LinkSpec, &u32)| {
        let loses = link.loss.is_some() || !link.schedule.losses.is_empty();
        feeders <= 1 && !loses && link.impair.is_none() && !link.disorders() && !link.queue.entry.at_departure
    };
    scenario.links.iter().zip(&feeders).map(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_experiment::read;

    /// Round trips of 80 ms twice and of 140 ms once over a bottleneck of 20 ms: the rest lies in four wires of
    /// 10 and of 25 ms.
    fn routes(more: &str) -> Routes {
        let flow = |name: &str, rtt: u32| {
            format!("[[flow]]\nname = \"{name}\"\nrtt = \"{rtt} ms\"\ncontroller = \"reno\"\n{more}\n")
        };
        let dumbbell = "profile = \"plain\"\nduration = \"1 s\"\n[bottleneck]\nrate = \"1 Gbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"droptail\", capacity = \"1 bdp\" }\n";
        let text = [dumbbell, &flow("F1", 80), &flow("F2", 80), &flow("F3", 140)].concat();
        let scenario = read(&text, "test", &[]).expect("it is a scenario").base;
        compile(&scenario, false, &Control::default()).expect("nobody stops it")
    }

    #[test]
    fn flows_that_have_passed_the_same_share_a_ring_at_each_node() {
        let routes = routes("");
        let ends = |flow: usize| {
            let route = &routes.all[routes.of[flow] as usize];
            route.forward.iter().chain(&route.reverse).map(|leg| leg.end).collect::<Vec<_>>()
        };
        assert_eq!(ends(0), ends(1));
        let (first, third) = (ends(0), ends(2));
        let lanes = |ends: &[LegEnd]| match ends {
            [
                LegEnd::Ring { link: Some(0), lane: a },
                LegEnd::Receiver,
                LegEnd::Ring { link: Some(1), lane: b },
                LegEnd::Ring { link: None, lane: c },
            ] => [a.ring(), b.ring(), c.ring()],
            other => panic!("not the way of a dumbbell: {other:?}"),
        };
        assert!(lanes(&first).iter().zip(lanes(&third)).all(|(a, b)| *a != b));
        // Two rings for data, two for acknowledgements at the way back, and two at the hosts.
        assert_eq!((routes.data_rings.len(), routes.ack_rings.len()), (2, 4));
        assert_eq!(routes.slots, [2, 2, 2]);
    }

    /// From a host to the bottleneck are 10 ms, and from there by a receiver to that of the way back 20 + 10 + 10.
    /// A receiver that holds acknowledgements is at a node, from which 10 ms lead on. 40 bytes take 320 ns at
    /// 1 Gbit/s, and 32 ns on each of the wires at 10 Gbit/s.
    #[test]
    fn a_node_is_as_near_to_others_as_the_smallest_packet_takes() {
        let ns = |ms: u64, ns: u64| Span::from_ms(ms) + Span::from_ps(1000 * ns);
        let reach = |to, from| Reach { to, from };
        let (wire, there, back) = (ns(10, 32), ns(40, 320 + 64), ns(30, 320 + 32));
        assert_eq!(routes("").reach, [reach(wire, there), reach(there, back), reach(back, wire)]);
        let held = routes("delayed_ack = \"40 ms\"").reach;
        assert_eq!(held, [reach(wire, back), reach(wire, back), reach(back, wire)]);
    }

    /// Without a round-trip time there is no way but that of the bottleneck, and no node is at another.
    #[test]
    fn nodes_are_apart_where_wires_have_no_delay() {
        let text = "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Gbit/s\"\ndelay = \"20 ms\"\nqueue = { kind = \"droptail\", capacity = \"1 bdp\" }\n[[flow]]\nname = \"f\"\ncontroller = \"reno\"\ncount = 2\n";
        let scenario = read(text, "test", &[]).expect("it is a scenario").base;
        let reach = compile(&scenario, false, &Control::default()).expect("nobody stops it").reach;
        assert!(reach.iter().all(|reach| !reach.to.is_zero() && !reach.from.is_zero()), "{reach:?}");
    }
}
