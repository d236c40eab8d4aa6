//! When flows send trains: decided for each link at boundaries that the clock sets.
//!
//! Which packets a full queue drops depends on the order of single packets. So a queue must fill with single packets, and
//! have done so for a while before it is full. At each boundary, every link asks whether it has room for what its flows
//! may add in the next few round trips. If not, its flows send single packets until it has had room for a round trip, and
//! trains in flight are split where they arrive. A flow in slow start or in recovery sends single packets by itself
//! (`tcp/sender`).
//!
//! A boundary is at the same time for all nodes, whichever of them the engine processes first, so what is decided
//! depends on nothing but the scenario.

use fairhaul_experiment::{Flow, Grain, LONGEST_TRAIN, Scenario, TRAINS_PER_WINDOW};
use fairhaul_path::LinkSpec;
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Span, Time};

/// Time between two boundaries.
const PERIOD: Span = Span::from_ms(10);
/// For how many round trips of growth a queue has room while its flows send trains.
const ROUNDS: f64 = 2.0;
/// And for how many trains of each flow: two may arrive in a bunch, between two boundaries.
const TRAINS: f64 = 2.0;

/// See the module.
#[derive(Clone, Debug)]
pub struct Trains {
    /// The next boundary.
    next: Time,
    /// By the index of the link.
    links: Vec<LinkState>,
    flows: Vec<FlowState>,
}

/// A link.
#[derive(Clone, Debug)]
struct LinkState {
    /// What its queue holds, packets.
    capacity: u64,
    /// Until then its flows send single packets.
    single_until: Time,
    /// At the last boundary: what its flows may add in a round trip, packets, and the longest round trip.
    growth: f64,
    round: Span,
}

/// A flow.
#[derive(Clone, Debug)]
struct FlowState {
    /// Whether it may send trains.
    eligible: bool,
    /// Its links, of data and of acknowledgements.
    links: Vec<u32>,
    /// The windows of its connections at this boundary, packets, and their longest smoothed round-trip time.
    cwnd: f64,
    srtt: Span,
    /// When its round began, its window then, and by how much it grew in the round before, packets.
    round_began: Time,
    cwnd_then: f64,
    growth: f64,
}

impl FlowState {
    /// What it adds in a round trip, packets, by what it added in the last round and has added in this one.
    fn growth(&mut self, now: Time) -> f64 {
        let more = (self.cwnd - self.cwnd_then).max(0.0);
        let growth = self.growth.max(more);
        if now.since(self.round_began) >= self.srtt {
            (self.round_began, self.cwnd_then, self.growth) = (now, self.cwnd, more);
        }
        growth
    }
}

impl Trains {
    /// `None`: no flow of `scenario` sends any.
    pub fn of(scenario: &Scenario) -> Option<Trains> {
        if scenario.grain == Grain::Packet {
            return None;
        }
        let reasons = scenario.why_no_trains();
        if reasons.iter().all(Option::is_some) {
            return None;
        }
        let smallest = scenario.flows.iter().map(|flow| flow.packet).min().unwrap_or(Bytes(1));
        let link_state = |spec: &LinkSpec| LinkState {
            capacity: match spec.capacity {
                Capacity::Unlimited => u64::MAX,
                Capacity::Packets(packets) => packets,
                Capacity::Bytes(bytes) => bytes.0 / smallest.0,
            },
            single_until: Time::ZERO,
            growth: 0.0,
            round: Span::ZERO,
        };
        let flow_state = |(flow, reason): (&Flow, &Option<String>)| FlowState {
            eligible: reason.is_none(),
            links: flow.links().collect(),
            cwnd: 0.0,
            srtt: Span::ZERO,
            round_began: Time::ZERO,
            cwnd_then: 0.0,
            growth: 0.0,
        };
        Some(Trains {
            next: Time::ZERO + PERIOD,
            links: scenario.links.iter().map(link_state).collect(),
            flows: scenario.flows.iter().zip(&reasons).map(flow_state).collect(),
        })
    }

    /// The next boundary.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Takes the load of a connection of `flow` at the boundary: its window, packets, and its smoothed round-trip time.
    pub fn load(&mut self, flow: u32, cwnd: f64, srtt: Span) {
        let state = &mut self.flows[flow as usize];
        (state.cwnd, state.srtt) = (state.cwnd + cwnd, state.srtt.max(srtt));
    }

    /// Decides until the next boundary, after the loads of all flows. `backlog`: packets in the queue of a link.
    pub fn decide(&mut self, mut backlog: impl FnMut(u32, Time) -> u64) {
        let now = self.next;
        for flow in &mut self.flows {
            // What it may add, and what may arrive at once.
            let train = (flow.cwnd / TRAINS_PER_WINDOW).clamp(1.0, LONGEST_TRAIN.into());
            let more = ROUNDS * flow.growth(now) + TRAINS * train;
            for link in &flow.links {
                let link = &mut self.links[*link as usize];
                link.growth += more;
                link.round = link.round.max(flow.srtt);
            }
            (flow.cwnd, flow.srtt) = (0.0, Span::ZERO);
        }
        for (link, state) in (0..).zip(&mut self.links) {
            let room = state.capacity.saturating_sub(backlog(link, now));
            if (room as f64) < state.growth {
                state.single_until = now + state.round;
            }
            (state.growth, state.round) = (0.0, Span::ZERO);
        }
        self.next = now + PERIOD;
    }

    /// Whether `flow` sends trains until the next boundary.
    pub fn allowed(&self, flow: u32) -> bool {
        let state = &self.flows[flow as usize];
        let single = |link: &u32| self.links[*link as usize].single_until >= self.next;
        state.eligible && !state.links.iter().any(single)
    }
}
