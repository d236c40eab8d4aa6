//! The compiled path: where arithmetic will do, and where events are needed.
//!
//! Flows meet at a link that more than one connection feeds, and there a packet must wait for its
//! turn in the order of time: an event. Everywhere else (a connection's own access, a link that one
//! connection alone feeds and that does nothing but carry) the passage of a packet is arithmetic,
//! done ahead of the clock.

use fairhaul_experiment::{Hop, LinkSpec, Scenario, Traffic};
use fairhaul_units::{Rate, Span};

/// Places where packets wait on one way of a route, at most.
pub const MOST_LANES: usize = 120;

/// One step of a compiled path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Over the connection's own wire of that number.
    Wire(u8),
    /// Over a link that this connection alone feeds.
    Alone(u32),
    /// Over a link where flows meet; packets wait for it in the lane of that number.
    Meet {
        /// Index of the link.
        link: u32,
        /// The connection's lane before it.
        lane: u8,
    },
    /// Behind a link where packets overtake each other: what follows takes them in order of time.
    Wait {
        /// The connection's lane.
        lane: u8,
    },
}

/// The compiled path of a flow's connections, both ways.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// The way of data.
    pub forward: Vec<Step>,
    /// The way of acknowledgements; after it they wait for their sender in one more lane.
    pub reverse: Vec<Step>,
    /// Rate and delay of the connection's own wires.
    pub wires: Vec<(Rate, Span)>,
    /// For each lane of data, the step that it waits for.
    pub data_lanes: Vec<usize>,
    /// For each lane of acknowledgements, the step that it waits for; the last waits for the sender.
    pub ack_lanes: Vec<usize>,
}

/// What a path must know of each link.
struct Links {
    alone: Vec<bool>,
    /// Packets overtake each other there.
    disorders: Vec<bool>,
}

/// Compiles the path of every flow of `scenario`.
pub fn compile(scenario: &Scenario) -> Vec<Route> {
    let disorders = scenario.links.iter().map(LinkSpec::disorders).collect();
    let links = Links { alone: fed_alone(scenario), disorders };
    let compile_flow = |flow: &fairhaul_experiment::Flow| {
        let mut route = Route::default();
        let (forward, data_lanes) = steps(&flow.forward, &links, false, &mut route.wires);
        let (reverse, mut ack_lanes) = steps(&flow.reverse, &links, true, &mut route.wires);
        ack_lanes.push(reverse.len());
        assert!(data_lanes.len().max(ack_lanes.len()) <= MOST_LANES, "a route is of bounded length");
        Route { forward, reverse, data_lanes, ack_lanes, ..route }
    };
    scenario.flows.iter().map(compile_flow).collect()
}

/// The steps of a way, and for each lane the step that it waits for. `ends_in_lane`: behind the last
/// step packets wait anyway.
fn steps(
    hops: &[Hop],
    links: &Links,
    ends_in_lane: bool,
    wires: &mut Vec<(Rate, Span)>,
) -> (Vec<Step>, Vec<usize>) {
    let (mut steps, mut lanes) = (Vec::new(), Vec::new());
    let waits = |hop: Option<&Hop>| match hop {
        Some(Hop::Link(link)) => !links.alone[*link as usize],
        Some(Hop::Access { .. }) => false,
        None => ends_in_lane,
    };
    let mut lane = |step| {
        lanes.push(step);
        lanes.len() as u8 - 1
    };
    for (at, hop) in hops.iter().enumerate() {
        match *hop {
            Hop::Access { rate, delay } => {
                wires.push((rate, delay));
                steps.push(Step::Wire(wires.len() as u8 - 1));
            }
            Hop::Link(link) if links.alone[link as usize] => steps.push(Step::Alone(link)),
            Hop::Link(link) => {
                steps.push(Step::Meet { link, lane: lane(steps.len()) });
                if links.disorders[link as usize] && !waits(hops.get(at + 1)) {
                    steps.push(Step::Wait { lane: lane(steps.len()) });
                }
            }
        }
    }
    (steps, lanes)
}

/// Which links one connection alone feeds, in one direction, without loss or another impairment, whose
/// queue decides on arrival. Rates
/// and delays may change there, unless packets then overtake each other.
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
