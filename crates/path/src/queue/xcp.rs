//! The XCP router [XCP-SPEC]: first in, first out. A sender asks in each packet for a change of its rate, and the
//! router reduces that to what the link allows.

mod allocator;
mod cloud;
mod fairness;

use std::collections::VecDeque;
use std::num::NonZeroU8;

use fairhaul_units::{Bytes, CongestionHeader, Gauge, Parameter, Time, parameters};

use super::{Queued, Refusal, Site};
use crate::packet::Packet;
use allocator::XcpAllocator;
use cloud::Cloud;
use fairness::Fair;
pub use fairness::{DropLaw, FlowCounter, XcpTcpParameters, XcpTcpRule};

/// First in, first out, with the rate allocation of XCP.
#[derive(Clone, Debug)]
pub struct Xcp<T> {
    queued: VecDeque<Queued<T>>,
    bytes: Bytes,
    rule: XcpRule,
    allocator: XcpAllocator,
    /// Its number among the XCP routers of the network.
    number: NonZeroU8,
    /// What lies between it and each XCP router before it, by that one's number.
    clouds: Vec<(NonZeroU8, Cloud)>,
    /// What limits those who do not ask.
    fair: Option<Box<Fair>>,
}

parameters! {
    /// The parameters of an XCP router.
    pub struct XcpRule {
        alpha: Number(0.0..=10.0) = 0.4,
            "fraction of the spare capacity that is allocated per control interval; stable below pi / (4 sqrt 2) = 0.555 [XCP]";
        beta: Number(0.0..=10.0) = 0.226,
            "fraction of the persistent queue that is drained per control interval; alpha^2 sqrt 2 [XCP]";
        gamma: Number(0.0..=1.0) = 0.1,
            "smallest fraction of the traffic that is shuffled between senders [XCP]";
        share: Number(0.01..=1.0) = 1.0,
            "fraction of the link's rate that is allocated to XCP; half beside TCP in ns-2 [NS-2]";
        min_interval: Milliseconds(0.1..=10_000.0) = 5.0,
            "lower bound of the control interval, unless the link's delay is longer [XCP-SPEC]";
        max_interval: Milliseconds(1.0..=10_000.0) = 1000.0,
            "upper bound of a sender's round-trip time, unless the link's delay is longer [XCP-SPEC]";
        virtual_router as "virtual": Switch = false,
            "whether it also controls the links without XCP between it and the previous XCP router [XCP-I]";
        probe: Number(0.0..=0.5) = 0.05,
            "with virtual: fraction by which the assumed rate of such links exceeds their measured throughput in the first interval without a queue in them; doubled in each interval that follows, up to 0.5";
        queueing: Number(0.1..=1000.0, "ms") = 3.0,
            "with virtual: smallest delay above the minimum that counts as a queue in such links";
    }
}

impl XcpRule {
    /// The same at `site`, whose delay the intervals are not below.
    pub(super) fn at(self, site: &Site) -> XcpRule {
        let [min_interval, max_interval] =
            [self.min_interval, self.max_interval].map(|bound| bound.max(site.delay));
        XcpRule { min_interval, max_interval, ..self }
    }

    /// Whether the bounds fit each other.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.min_interval <= self.max_interval {
            return Ok(());
        }
        let [least, most] = [self.min_interval, self.max_interval].map(|bound| bound.as_ps() as f64 / 1e9);
        Err(Refusal::new("min_interval", format!("{least} ms exceed max_interval, {most} ms")))
    }
}

impl Xcp<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "XCP's router: assigns each sender of controller xcp a change of its rate";
    pub(super) const SOURCE: &'static str = "XCP-SPEC";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = XcpRule::LIST;
    pub(super) const GAUGES: [Gauge; 4] = GAUGES;
}

pub(super) const GAUGES: [Gauge; 4] = [
    Gauge { name: "rtt_s", unit: "s", help: "mean round-trip time of the XCP flows" },
    Gauge { name: "standing_bytes", unit: "B", help: "persistent queue" },
    Gauge {
        name: "change",
        unit: "B/s",
        help: "aggregate feedback: change of the rate assigned to all flows together",
    },
    Gauge { name: "shuffled", unit: "B/s", help: "rate shuffled between flows in addition" },
];

impl<T: Packet> Xcp<T> {
    /// Nothing waits; the first of its network.
    pub fn new(rule: &XcpRule) -> Xcp<T> {
        let (queued, bytes, allocator) = (VecDeque::new(), Bytes(0), XcpAllocator::new(Time::ZERO));
        Xcp { queued, bytes, rule: *rule, allocator, number: NonZeroU8::MIN, clouds: Vec::new(), fair: None }
    }

    /// The same with another number.
    pub fn numbered(self, number: NonZeroU8) -> Xcp<T> {
        Xcp { number, ..self }
    }

    /// The same, limiting those who do not ask.
    pub fn with(self, rule: &XcpTcpRule) -> Xcp<T> {
        Xcp { fair: Some(Box::new(Fair::new(rule.clone(), allocator::FIRST))), ..self }
    }

    /// Adds what its gauges show to `shown`.
    pub fn gauges(&self, shown: &mut Vec<f64>) {
        shown.extend(self.allocator.gauges());
        shown.extend(self.fair.iter().flat_map(|fair| fair.gauges()));
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// The packets that wait, the first in front.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.queued.iter()
    }

    /// A packet of `flow` arrives, which may yet find no room; `capacity` bytes/s can leave. Whether it is
    /// let in.
    pub fn admits(&mut self, queued: &Queued<T>, flow: u32, capacity: f64) -> bool {
        self.advance(queued.arrived, capacity);
        let header = queued.packet.congestion();
        self.allocator.on_arrival(&self.rule, queued.size, header);
        if let Some(header) = header {
            self.on_arrival_from_cloud(queued, header);
        }
        match &mut self.fair {
            Some(fair) if queued.packet.at_link().data_of().is_some() => {
                fair.admits(queued.size, flow, header.is_some(), queued.arrived)
            }
            _ => true,
        }
    }

    /// A packet that asks arrives, perhaps across links that know nothing of XCP.
    fn on_arrival_from_cloud(&mut self, queued: &Queued<T>, header: &CongestionHeader) {
        let Some(from) = header.across().filter(|_| self.rule.virtual_router) else { return };
        let known = self.clouds.iter().position(|cloud| cloud.0 == from);
        let at = known.unwrap_or_else(|| {
            self.clouds.push((from, Cloud::new(queued.arrived)));
            self.clouds.len() - 1
        });
        self.clouds[at].1.on_arrival(&self.rule, queued.arrived, queued.size, header);
    }

    fn advance(&mut self, now: Time, capacity: f64) {
        self.allocator.advance(&self.rule, now, self.bytes.0, capacity);
        if let Some(fair) = &mut self.fair {
            fair.advance(now, capacity, self.allocator.rtt(), self.allocator.interval);
        }
    }

    /// Puts a packet behind the others.
    pub fn push(&mut self, queued: Queued<T>) {
        self.bytes += Bytes(queued.size.into());
        self.queued.push_back(queued);
    }

    /// The packet that is to be sent at `now`; `capacity` bytes/s can leave.
    pub fn next(&mut self, now: Time, capacity: f64) -> Option<Queued<T>> {
        self.advance(now, capacity);
        let mut queued = self.queued.pop_front()?;
        self.bytes = self.bytes - Bytes(queued.size.into());
        self.allocator.on_queue_length(self.bytes.0);
        if let Some(fair) = &mut self.fair {
            fair.on_departure(queued.size);
        }
        if let Some(header) = queued.packet.congestion_mut() {
            if let Some(from) = header.across()
                && let Some((_, cloud)) = self.clouds.iter_mut().find(|cloud| cloud.0 == from)
            {
                cloud.on_departure(&self.rule, now, queued.size, header);
            }
            self.allocator.on_departure(queued.size, header);
            header.leaves(self.number, now);
        }
        Some(queued)
    }
}
