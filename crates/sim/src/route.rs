//! The compiled path: where arithmetic will do, and where events are needed.
//!
//! Flows meet at a link that more than one connection feeds, and there a packet must wait for its
//! turn in the order of time: an event. Everywhere else (a connection's own access, a link that one
//! connection alone feeds and that does nothing but carry) the passage of a packet is arithmetic,
//! done ahead of the clock.

use std::collections::HashMap;

use fairhaul_experiment::{Hop, LinkSpec, Scenario, Traffic};
use fairhaul_units::{Rate, Span};

use crate::turn::MOST_RINGS;

/// Places where packets wait on one way of a route, at most.
pub const MOST_LANES: usize = 120;

/// Where packets of a connection wait for their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Its number among those of the connection for packets of the kind.
    pub number: u8,
    /// The ring in which they wait, with those of other connections.
    pub ring: u32,
}

/// Part of a compiled path: over wires of the connection's own, then what they lead to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Numbers of the first wire and of the first after them.
    pub wires: (u8, u8),
    /// What is behind them.
    pub end: End,
}

/// Where a leg ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// At a link that this connection alone feeds.
    Alone(u32),
    /// At a link where flows meet; packets wait for it.
    Meet {
        /// Index of the link.
        link: u32,
        /// Where they wait.
        lane: Lane,
    },
    /// Behind a link where packets overtake each other, where what follows takes them in order of time;
    /// or, for acknowledgements, at their sender.
    Wait {
        /// Where they wait.
        lane: Lane,
    },
    /// At the receiver, which takes data packets as they come.
    There,
}

/// The compiled path of a flow's connections, both ways.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// The way of data.
    pub forward: Vec<Leg>,
    /// The way of acknowledgements.
    pub reverse: Vec<Leg>,
    /// Rate and delay of the connection's own wires.
    pub wires: Vec<(Rate, Span)>,
    /// For each lane of data, the leg at whose end it is.
    pub data_lanes: Vec<usize>,
    /// For each lane of acknowledgements, the leg at whose end it is.
    pub ack_lanes: Vec<usize>,
}

/// The routes of all flows, and how many rings they take.
#[derive(Clone, Debug)]
pub struct Routes {
    /// By flow.
    pub of: Vec<Route>,
    /// Rings of data packets.
    pub data_rings: usize,
    /// Rings of acknowledgements.
    pub ack_rings: usize,
}

/// What a path must know of each link.
struct Links {
    alone: Vec<bool>,
    /// Packets overtake each other there.
    disorders: Vec<bool>,
}

/// What packets have passed since they last stood in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mark {
    /// The link at which they were put in order.
    Ordered(u32),
    Wire(Rate, Span),
    /// What nobody but the flow of that index passes, or passes in order.
    Own(usize),
}

/// Gives out rings: one to the packets that wait in lanes of the same number for the same link and have
/// passed the same.
#[derive(Debug, Default)]
struct RingNumbers(HashMap<(u8, Option<u32>, Vec<Mark>), u32>);

impl RingNumbers {
    fn lane(&mut self, number: usize, link: Option<u32>, passed: &[Mark]) -> Lane {
        let (number, next) = (number as u8, self.0.len() as u32);
        Lane { number, ring: *self.0.entry((number, link, passed.to_vec())).or_insert(next) }
    }
}

/// Compiles the path of every flow of `scenario`.
pub fn compile(scenario: &Scenario) -> Routes {
    let disorders = scenario.links.iter().map(LinkSpec::disorders).collect();
    let links = Links { alone: fed_alone(scenario), disorders };
    let (mut data, mut acks) = (RingNumbers::default(), RingNumbers::default());
    let compile_flow = |(index, flow): (usize, &fairhaul_experiment::Flow)| {
        let mut compiler = Compiler { links: &links, flow: index, wires: Vec::new(), passed: Vec::new() };
        let (forward, data_lanes) = compiler.legs(&flow.forward, false, &mut data);
        let (reverse, ack_lanes) = compiler.legs(&flow.reverse, true, &mut acks);
        assert!(data_lanes.len().max(ack_lanes.len()) <= MOST_LANES, "a route is of bounded length");
        Route { forward, reverse, wires: compiler.wires, data_lanes, ack_lanes }
    };
    let of = scenario.flows.iter().enumerate().map(compile_flow).collect();
    let (data_rings, ack_rings) = (data.0.len(), acks.0.len());
    assert!(data_rings.max(ack_rings) <= MOST_RINGS, "a scenario has a bounded number of flows");
    Routes { of, data_rings, ack_rings }
}

/// One flow's route while it is compiled.
struct Compiler<'a> {
    links: &'a Links,
    flow: usize,
    wires: Vec<(Rate, Span)>,
    passed: Vec<Mark>,
}

impl Compiler<'_> {
    /// The legs of a way, and for each lane the leg at whose end it is. `ends_in_lane`: behind the last
    /// hop packets wait.
    fn legs(
        &mut self,
        hops: &[Hop],
        ends_in_lane: bool,
        rings: &mut RingNumbers,
    ) -> (Vec<Leg>, Vec<usize>) {
        let (mut legs, mut lanes) = (Vec::new(), Vec::new());
        let mut first = self.wires.len() as u8;
        let mut leg = |wires: &[(Rate, Span)], end| {
            legs.push(Leg { wires: (std::mem::replace(&mut first, wires.len() as u8), wires.len() as u8), end });
            if let End::Meet { .. } | End::Wait { .. } = end {
                lanes.push(legs.len() - 1);
            }
            lanes.len()
        };
        let mut number = 0;
        for (at, hop) in hops.iter().enumerate() {
            match *hop {
                Hop::Access { rate, delay } => {
                    self.passed.push(Mark::Wire(rate, delay));
                    self.wires.push((rate, delay));
                }
                Hop::Link(link) if self.links.alone[link as usize] => {
                    self.passed.push(Mark::Own(self.flow));
                    leg(&self.wires, End::Alone(link));
                }
                Hop::Link(link) => {
                    let lane = rings.lane(number, Some(link), &self.passed);
                    number = leg(&self.wires, End::Meet { link, lane });
                    let disorders = self.links.disorders[link as usize];
                    self.passed = vec![if disorders { Mark::Own(self.flow) } else { Mark::Ordered(link) }];
                    if disorders && !self.waits(hops.get(at + 1), ends_in_lane) {
                        let lane = rings.lane(number, None, &self.passed);
                        number = leg(&self.wires, End::Wait { lane });
                    }
                }
            }
        }
        let end = if ends_in_lane {
            End::Wait { lane: rings.lane(number, None, &self.passed) }
        } else {
            End::There
        };
        leg(&self.wires, end);
        (legs, lanes)
    }

    fn waits(&self, hop: Option<&Hop>, ends_in_lane: bool) -> bool {
        match hop {
            Some(Hop::Link(link)) => !self.links.alone[*link as usize],
            Some(Hop::Access { .. }) => false,
            None => ends_in_lane,
        }
    }
}

/// Which links one connection alone feeds, in one direction, without loss or another impairment, whose
/// queue decides on arrival. Rates and delays may change there, unless packets then overtake each other.
fn fed_alone(scenario: &Scenario) -> Vec<bool> {
    let mut feeders = vec![0u32; scenario.links.len()];
    for flow in &scenario.flows {
        let single = !matches!(flow.traffic, Traffic::Short { .. } | Traffic::Web(_));
        for hop in flow.forward.iter().chain(&flow.reverse) {
            if let Hop::Link(link) = hop {
                feeders[*link as usize] += if single { 1 } else { 2 };
            }
        }
    }
    let alone = |(link, &feeders): (&LinkSpec, &u32)| {
        let loses = link.loss.is_some() || !link.schedule.losses.is_empty();
        feeders <= 1 && !loses && link.impair.is_none() && !link.disorders() && !link.queue.entry.late
    };
    scenario.links.iter().zip(&feeders).map(alone).collect()
}
