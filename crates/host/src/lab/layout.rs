//! What the lab lays out: hosts, links, and the way of every flow over them.

use fairhaul_experiment::Hop;
use fairhaul_path::impair::{Impairments, LossRule};
use fairhaul_path::queue::{Capacity, QueueChoice, Site};
use fairhaul_path::{LinkSpec, Schedule};
use fairhaul_units::{Bytes, Rate, Span};
use serde::Serialize;

/// Hosts, links and ways.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Of each host, by its number: packets that it hands over in one burst, at most.
    pub hosts: Vec<u64>,
    /// One entry per direction, as in a scenario.
    pub links: Vec<LinkSpec>,
    /// By flow.
    pub routes: Vec<Route>,
    /// By flow: the link that keeps account of its payload, see [`FlowRow::carried_bytes`].
    ///
    /// [`FlowRow::carried_bytes`]: fairhaul_experiment::FlowRow::carried_bytes
    pub bottlenecks: Vec<Option<u32>>,
    /// The flow of each connection, by its number.
    pub connections: Vec<u32>,
    /// Every random number of a link follows from it.
    pub seed: u64,
    /// The largest packet.
    pub mtu: Bytes,
    /// How hosts hand packets over.
    pub mode: Mode,
}

/// How hosts hand packets over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each for itself.
    Exact,
    /// Many at once, for rates above some 200 Mbit/s. Queues see each for itself, but a host of which a
    /// burst of 1 is asked makes them as long as it likes, and what reaches a receiver within a tick is acknowledged together.
    Fast,
}

/// The way of a flow.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where its data come from.
    pub from: u8,
    /// Where they go.
    pub to: u8,
    /// Over what they go.
    pub forward: Vec<Hop>,
    /// Over what its acknowledgements go.
    pub reverse: Vec<Hop>,
    /// What its ends are told of it.
    pub metrics: Metrics,
}

/// What the tables of both ends say of a way; by default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Window after the handshake, packets; else the kernel's.
    pub initial_window: Option<u32>,
    /// Least margin of the retransmission timer; else the kernel's.
    pub min_rto: Option<Span>,
    /// Whether queues may mark data.
    pub ecn: bool,
    /// Whether every packet is acknowledged at once.
    pub acknowledges_at_once: bool,
}

/// Two hosts with one link between them.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Of the link, both ways.
    pub rate: Rate,
    /// Two-way propagation.
    pub rtt: Span,
    /// Of its drop-tail queue, each way.
    pub capacity: Capacity,
    /// What it loses of the data, behind the queue.
    pub loss: Option<LossRule>,
    /// How many connections there are, each a flow.
    pub connections: u32,
}

/// What Ethernet carries.
const MTU: Bytes = Bytes(1500);

impl Dumbbell {
    /// Its layout: data go from host 0 to host 1, over link 0 there and link 1 back.
    pub fn layout(&self) -> Layout {
        let link = |name: &str, loss: Option<LossRule>| LinkSpec {
            name: name.into(),
            rate: self.rate,
            delay: self.rtt / 2,
            capacity: self.capacity,
            mark: Capacity::Unlimited,
            queue: self.droptail(),
            loss,
            impair: Impairments::default(),
            schedule: Schedule::default(),
        };
        let route = Route {
            from: 0,
            to: 1,
            forward: vec![Hop::Link(0)],
            reverse: vec![Hop::Link(1)],
            metrics: Metrics::default(),
        };
        Layout {
            hosts: vec![1; 2],
            links: vec![link("bottleneck", self.loss.clone()), link("bottleneck (reverse)", None)],
            routes: vec![route; self.connections as usize],
            bottlenecks: vec![Some(0); self.connections as usize],
            connections: (0..self.connections).collect(),
            seed: 1,
            mtu: MTU,
            mode: Mode::Exact,
        }
    }

    fn droptail(&self) -> QueueChoice {
        let site =
            Site { rate: self.rate, delay: self.rtt / 2, capacity: self.capacity, mark: Capacity::Unlimited };
        let choice = QueueChoice::named("droptail").expect("it is in the catalogue");
        choice.resolved(&site, MTU).expect("it has no parameters")
    }
}
