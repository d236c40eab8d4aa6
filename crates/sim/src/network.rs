//! What connections share: the links, the event queue and the ledger.

use fairhaul_experiment::{Flow, Grid, Ledger, PacketRecorder, Scenario, Traffic};
use fairhaul_path::card::SendCard;
use fairhaul_path::queue::Queued;
use fairhaul_path::{Admission, Burst, Departure, LinkPacket, LinkPort};
use fairhaul_units::{Data, Span, Time};

use crate::control::Control;
use crate::event_key::EventKey;
use crate::event_queue::{EventQueue, SlotId};
use crate::limits::RunLimits;
use crate::queued_packet::QueuedPacket;
use crate::rings::Rings;
use crate::route::Routes;

/// Payload of the transfer that several connections share, of which `flow` is the first.
fn shared_payload(flow: &Flow) -> u64 {
    match flow.traffic {
        Traffic::Sized(size) => size.0,
        _ => 0,
    }
}

/// Identifies the payload of a flow that its bottleneck carries.
#[derive(Clone, Copy, Debug)]
pub struct BottleneckAccount {
    /// That link; no link's number where there is none.
    link: u32,
    /// Of its packets, bytes.
    headers: u32,
}

impl BottleneckAccount {
    /// The payload of a data packet that `link` counts.
    #[inline(always)]
    pub fn counted(&self, link: u32, data: &Data) -> u32 {
        if self.link == link && !data.opens() { data.payload(self.headers) as u32 } else { 0 }
    }
}

/// The accounts of all flows.
fn accounts(scenario: &Scenario) -> Vec<BottleneckAccount> {
    let account = |(flow, link): (&Flow, Option<u32>)| BottleneckAccount {
        link: link.unwrap_or(u32::MAX),
        headers: flow.headers().0 as u32,
    };
    scenario.flows.iter().zip(scenario.bottlenecks()).map(account).collect()
}

/// The slot for the departures of a link whose queue decides at departure.
fn departures(link: u32) -> SlotId {
    SlotId { node: link, number: 0 }
}

/// See the module.
#[derive(Clone)]
pub struct Network {
    ports: Vec<LinkPort<QueuedPacket>>,
    /// Packets that a queue has just dropped, not reported yet.
    pub dropped: Vec<Queued<QueuedPacket>>,
    accounts: Vec<BottleneckAccount>,
    /// Payload that is left of each transfer that several connections carry, bytes, by the first of
    /// their flows; empty where there is none.
    pub unclaimed: Vec<u64>,
    pub events: EventQueue,
    /// Their heads are in the event queue.
    pub rings: Rings,
    pub ledger: Ledger,
    pub trace: Option<Box<PacketRecorder>>,
    pub limits: RunLimits,
    /// Cards of senders that flows share.
    pub cards: Vec<SendCard>,
}

impl Network {
    /// `None`: the run was asked to stop.
    pub fn new(scenario: &Scenario, routes: &Routes, grid: Grid, control: &Control) -> Option<Network> {
        let rings = Rings::new(&routes.data_rings, &routes.ack_rings);
        let port = |(index, spec)| {
            let port = LinkPort::new(spec, index as u32, scenario.seed, scenario.counts_bytes());
            port.with_router_number(scenario.router(index))
        };
        let goes_on = || !control.is_stopped();
        Some(Network {
            dropped: Vec::new(),
            accounts: accounts(scenario),
            unclaimed: if scenario.flows.iter().any(|flow| flow.lead.is_some()) {
                scenario.flows.iter().map(shared_payload).collect()
            } else {
                Vec::new()
            },
            events: EventQueue::new(&routes.slots),
            rings,
            ports: scenario.links.iter().enumerate().map(port).collect(),
            ledger: Ledger::new_while(grid, scenario.flows.len(), scenario.links.len(), goes_on)?,
            trace: None,
            limits: RunLimits::new(control),
            cards: scenario.shared_cards(),
        })
    }

    /// Memory of all waiting packets, and of the events in the ledger, bytes.
    pub fn memory(&self) -> u64 {
        let waiting: u64 = self.ports.iter().map(|port| port.waiting() as u64).sum();
        let queued = waiting * 2 * size_of::<Queued<QueuedPacket>>() as u64;
        self.rings.memory() + queued + self.ledger.memory()
    }

    /// The link before which most packets wait, and how many.
    pub fn longest_queue(&self) -> Option<(usize, usize)> {
        let waiting = self.ports.iter().map(|port| port.waiting()).enumerate();
        waiting.max_by_key(|(_, waiting)| *waiting)
    }

    /// Where the payload of `flow` is counted.
    pub fn account(&self, flow: u32) -> BottleneckAccount {
        self.accounts[flow as usize]
    }

    /// Whether bursts of packets of `size` bytes that come with that `spacing` can pass `link` as one.
    pub fn carries_bursts(&mut self, link: u32, size: u32, spacing: Span) -> bool {
        self.ports[link as usize].carries_bursts(size, spacing)
    }

    /// Offers a burst, which it carries, to `link`, the first packet of it at `now`: how that leaves. `None`: each packet is to be
    /// offered at its time.
    pub fn offer_burst(
        &mut self,
        link: u32,
        packet: &LinkPacket,
        burst: Burst,
        now: Time,
    ) -> Option<Departure> {
        self.read_gauges(link, now);
        self.ports[link as usize].offer_burst(packet, burst, now, &mut self.ledger)
    }

    /// Packets that wait at `link` at `now`, or are being sent there.
    pub fn queued(&mut self, link: u32, now: Time) -> u64 {
        let port = &mut self.ports[link as usize];
        port.backlog(now) + port.waiting() as u64
    }

    /// Offers a packet to `link` at `now`.
    #[inline(always)]
    pub fn offer(&mut self, link: u32, packet: LinkPacket, now: Time) -> Admission {
        let port = &mut self.ports[link as usize];
        if port.gauges_due(now) {
            port.read_gauges(now, &mut self.ledger, || !self.limits.is_stopped());
        }
        port.offer(packet, now, &mut self.ledger)
    }

    /// A packet begins to wait before `link` at `now`; or where the link is idle it leaves at once, and is returned.
    #[inline(always)]
    pub fn hold(&mut self, link: u32, packet: &QueuedPacket, now: Time) -> Option<(QueuedPacket, Departure)> {
        let port = &mut self.ports[link as usize];
        let next = port.hold(packet, now, &mut self.ledger, &mut self.dropped);
        if next.is_none() && port.waiting() == 1 {
            self.schedule_service(link);
        }
        next
    }

    /// The packet that `link` was sending has left: it begins with the next one, which is returned. Another
    /// departure follows where more packets wait.
    pub fn serve(&mut self, link: u32, now: Time) -> Option<(QueuedPacket, Departure)> {
        self.read_gauges(link, now);
        let next = self.ports[link as usize].serve(now, &mut self.ledger, &mut self.dropped);
        self.schedule_service(link);
        next
    }

    #[inline(always)]
    fn schedule_service(&mut self, link: u32) {
        let next = self.ports[link as usize].next_service();
        self.events.set_head(departures(link), next.map(|at| (at, EventKey::of_link(link))));
    }

    /// Reads the gauges of the queue of `link` up to `now`, before an event there at that time.
    #[inline(always)]
    fn read_gauges(&mut self, link: u32, now: Time) {
        let port = &mut self.ports[link as usize];
        if port.gauges_due(now) {
            port.read_gauges(now, &mut self.ledger, || !self.limits.is_stopped());
        }
    }

    /// Calls `each` with the connection of every packet that waits for an event, in a ring or before a link.
    pub fn each_serial(&self, mut each: impl FnMut(u32)) {
        self.rings.each_serial(&mut each);
        for port in &self.ports {
            port.each_waiting(|packet| each(packet.serial));
        }
    }

    /// Reads the gauges of all links up to the end.
    pub fn close(&mut self) {
        let end = self.ledger.end();
        (0..self.ports.len()).for_each(|link| self.read_gauges(link as u32, end));
    }

    /// Whether every packet that was offered to a link was dropped, has left or waits there.
    pub fn balances(&self) -> bool {
        self.ports.iter().all(LinkPort::balances)
    }
}
