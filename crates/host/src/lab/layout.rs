//! The layout of a lab: hosts, links, and the path of every flow.

use fairhaul_experiment::{Hop, Middlebox};
use fairhaul_path::impair::{Impairments, LossRule};
use fairhaul_path::queue::{Capacity, QueueChoice, Site};
use fairhaul_path::{LinkSpec, Schedule};
use fairhaul_units::{Bytes, Rate, Span};
use serde::Serialize;

use super::host_settings::HostSettings;

/// Hosts, links and paths.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The settings of each host, by its number.
    pub hosts: Vec<HostSettings>,
    /// One entry per direction, as in a scenario.
    pub links: Vec<LinkSpec>,
    /// The path of each flow.
    pub routes: Vec<FlowPath>,
    /// The link that counts the payload of each flow, see [`FlowRow::carried_bytes`].
    ///
    /// [`FlowRow::carried_bytes`]: fairhaul_experiment::FlowRow::carried_bytes
    pub bottlenecks: Vec<Option<u32>>,
    /// The flow of each connection, by its number.
    pub connections: Vec<u32>,
    /// The seed of all random numbers of the links.
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
    /// Each packet individually.
    Exact,
    /// Many at once, for rates at which the router cannot carry each packet individually. Queues process each packet individually, but the kernel
    /// decides the length of bursts even if bursts of 1 were requested, and packets that reach a receiver within
    /// a tick are acknowledged together.
    Fast,
}

/// The path of a flow.
#[derive(Clone, Debug)]
pub struct FlowPath {
    /// The host of the sender.
    pub from: u8,
    /// The host of the receiver.
    pub to: u8,
    /// The longest random processing time at the sender; order is kept. Zero where real hosts have their own.
    pub overhead: Span,
    /// The hops of data.
    pub forward: Vec<Hop>,
    /// The hops of acknowledgements.
    pub reverse: Vec<Hop>,
    /// Settings of the routes at both ends.
    pub metrics: Metrics,
    /// Whether its application always has more to send, as long as it lasts.
    pub writes_ahead: bool,
    /// Whether it has no connection that the network could follow: programs open as many as they want.
    pub is_opaque: bool,
    /// What the network does to marks and to their feedback.
    pub marks: MarksOnPath,
}

/// What the network of the engine `linux` does to marks and to their feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarksOnPath {
    /// Whether data that leave with ECT(0) get ECT(1): the kernel sends no data with it, whatever its controller.
    pub ect1: bool,
    /// Whether accurate feedback is requested.
    pub accurate: bool,
    /// What a middlebox changes.
    pub middlebox: Middlebox,
}

impl Default for MarksOnPath {
    fn default() -> MarksOnPath {
        MarksOnPath { ect1: false, accurate: false, middlebox: Middlebox::None }
    }
}

/// Settings of a route at both ends; by default those of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Initial window, packets; else the kernel's.
    pub initial_window: Option<u32>,
    /// Smallest margin of the retransmission timer; else the kernel's.
    pub min_rto: Option<Span>,
    /// Whether queues may mark data.
    pub ecn: bool,
    /// Whether every packet is acknowledged at once.
    pub acknowledges_at_once: bool,
}

/// Two hosts with one link between them.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The rate of the link in both directions.
    pub rate: Rate,
    /// Two-way propagation delay.
    pub rtt: Span,
    /// The capacity of its drop-tail queue in each direction.
    pub capacity: Capacity,
    /// Loss of data packets after the queue.
    pub loss: Option<LossRule>,
    /// The number of connections, each of which is a flow.
    pub connections: u32,
}

/// The size of a packet of Ethernet.
const MTU: Bytes = Bytes(1500);

impl Dumbbell {
    /// Its layout: data go from host 0 to host 1 over link 0, acknowledgements return over link 1.
    pub fn layout(&self) -> Layout {
        let link = |name: &str, loss: Option<LossRule>| LinkSpec {
            name: name.into(),
            rate: self.rate,
            delay: self.rtt / 2,
            capacity: self.capacity,
            mark: Capacity::Unlimited,
            queue: self.droptail(),
            loss,
            loses_acks: false,
            shaper: None,
            impair: Impairments::default(),
            schedule: Schedule::default(),
        };
        let route = FlowPath {
            from: 0,
            to: 1,
            overhead: Span::ZERO,
            forward: vec![Hop::Link(0)],
            reverse: vec![Hop::Link(1)],
            metrics: Metrics::default(),
            writes_ahead: true,
            is_opaque: false,
            marks: MarksOnPath::default(),
        };
        Layout {
            hosts: vec![HostSettings::default(); 2],
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
