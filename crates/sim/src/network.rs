//! What connections share: the links, the event queue and the ledger.

use fairhaul_experiment::{CarriedPayload, Flow, Grid, Ledger, Scenario, Traffic};
use fairhaul_path::queue::Queued;
use fairhaul_path::{Departure, LinkModel, LinkOutcome};
use fairhaul_units::{Ecn, Span, Time};

use crate::control::Control;
use crate::event_key::EventKey;
use crate::event_queue::{EventQueue, SlotId};
use crate::limits::RunLimits;
use crate::link_port::LinkPort;
use crate::packet_trace::TraceRecorder;
use crate::queued_packet::QueuedPacket;
use crate::rings::Rings;
use crate::route::Routes;

/// Payload of the transfer that several connections share, of which `flow` is the first.
fn to_share(flow: &Flow) -> u64 {
    match flow.traffic {
        Traffic::Sized(size) => size.0,
        _ => 0,
    }
}

/// Identifies the payload of a flow that its bottleneck carries.
#[derive(Clone, Copy, Debug)]
pub struct BottleneckAccount {
    flow: u32,
    /// That link; no link's number where there is none.
    link: u32,
    /// Of its packets, bytes.
    headers: u32,
}

impl BottleneckAccount {
    /// What `link` carries on this account with a data packet of `size`.
    #[inline(always)]
    fn carried(&self, link: u32, size: u32) -> Option<CarriedPayload> {
        (self.link == link).then(|| CarriedPayload { flow: self.flow, payload: size - self.headers })
    }
}

/// The accounts of all flows.
fn accounts(scenario: &Scenario) -> Vec<BottleneckAccount> {
    let account = |(index, (flow, link)): (usize, (&Flow, Option<u32>))| BottleneckAccount {
        flow: index as u32,
        link: link.unwrap_or(u32::MAX),
        headers: flow.headers().0 as u32,
    };
    scenario.flows.iter().zip(scenario.bottlenecks()).enumerate().map(account).collect()
}

/// A packet that crosses a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// When it is at the other end.
    pub arrives: Time,
    /// Whether the queue has marked it.
    pub marked: bool,
    /// Whether a copy of it is right behind it.
    pub twice: bool,
}

/// The outcome of a packet that is offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It crosses the link.
    Sent(Crossing),
    /// It was dropped, then.
    Dropped(Time),
    /// It is to wait there, see [`Network::hold`].
    Queued,
}

/// The slot for the departures of a link whose queue decides at departure.
fn departures(link: u32) -> SlotId {
    SlotId { node: link, number: 0 }
}

/// A packet that has begun to leave a link, and how it gets to the other end, or when it is dropped.
pub type Served = (QueuedPacket, Result<Crossing, Time>);

/// Readings of gauges between two checks whether the run was asked to stop.
const READINGS_PER_CHECK: u32 = 1024;

/// See the module.
pub struct Network {
    ports: Vec<LinkPort>,
    /// Packets that a queue has just dropped, not reported yet.
    pub dropped: Vec<Queued<QueuedPacket>>,
    /// Whether the ledger counts the bytes that links have sent.
    counts_bytes: bool,
    accounts: Vec<BottleneckAccount>,
    /// Payload that is left of each transfer that several connections carry, bytes, by the first of
    /// their flows; empty where there is none.
    pub left: Vec<u64>,
    pub events: EventQueue,
    /// Their heads are in the event queue.
    pub rings: Rings,
    pub ledger: Ledger,
    pub trace: Option<TraceRecorder>,
    pub limits: RunLimits,
}

/// What the links of a run have counted, for the check that no packet was lost uncounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    pub offered: u64,
    pub refused: u64,
    /// Or still there.
    pub passed: u64,
}

impl Network {
    /// `None`: the run was asked to stop.
    pub fn new(scenario: &Scenario, routes: &Routes, grid: Grid, control: &Control) -> Option<Network> {
        let rings = Rings::new(&routes.data_rings, &routes.ack_rings);
        let port = |index| LinkPort::new(scenario, index);
        let ports: Vec<LinkPort> = (0..scenario.links.len()).map(port).collect();
        let goes_on = || !control.is_stopped();
        Some(Network {
            dropped: Vec::new(),
            counts_bytes: scenario.counts_bytes(),
            accounts: accounts(scenario),
            left: if scenario.flows.iter().any(|flow| flow.lead.is_some()) {
                scenario.flows.iter().map(to_share).collect()
            } else {
                Vec::new()
            },
            events: EventQueue::new(&routes.slots),
            rings,
            ports,
            ledger: Ledger::new_while(grid, scenario.flows.len(), scenario.links.len(), goes_on)?,
            trace: None,
            limits: RunLimits::new(control),
        })
    }

    /// Memory of all waiting packets, and of the events in the ledger, bytes.
    pub fn memory(&self) -> u64 {
        let queued =
            |port: &LinkPort| port.link.waiting() as u64 * 2 * size_of::<Queued<QueuedPacket>>() as u64;
        self.rings.memory() + self.ports.iter().map(queued).sum::<u64>() + self.ledger.memory()
    }

    /// The link before which most packets wait, and how many.
    pub fn longest_queue(&self) -> Option<(usize, usize)> {
        let waiting = self.ports.iter().map(|port| port.link.waiting()).enumerate();
        waiting.max_by_key(|(_, waiting)| *waiting)
    }

    /// Where the payload of `flow` is counted.
    pub fn account(&self, flow: u32) -> BottleneckAccount {
        self.accounts[flow as usize]
    }

    /// Offers a packet of `size` of connection `serial` to `link` at `now`. `data_of`: it is a data
    /// packet of the flow with that account, which the link may lose.
    #[inline(always)]
    pub fn offer(
        &mut self,
        link: u32,
        serial: u32,
        size: u32,
        ecn: Ecn,
        data_of: Option<&BottleneckAccount>,
        now: Time,
    ) -> Admission {
        self.gauge(link, now);
        let port = &mut self.ports[link as usize];
        if port.does_more && data_of.is_some() && !port.admits(size, now) {
            self.ledger.refused(link, now);
            return Admission::Dropped(now);
        }
        let LinkModel::OnArrival(model) = &mut port.link else {
            return Admission::Queued;
        };
        let outcome = model.offer(size, ecn, serial, now);
        let LinkOutcome::Sent { departs, arrives, on_wire, marked } = outcome else {
            self.ledger.refused(link, now);
            return Admission::Dropped(now);
        };
        self.ledger.enqueued(link, size, now);
        if marked {
            self.ledger.marked(link, now, now);
        }
        port.passed += 1;
        let does_more = port.does_more;
        let carried = data_of.and_then(|account| account.carried(link, size));
        self.leaves(link, size, carried, departs, on_wire);
        let crossing = Crossing { arrives, marked, twice: false };
        if !does_more {
            return Admission::Sent(crossing);
        }
        match self.cross(link, data_of.map(|account| account.flow), now, (departs, on_wire), crossing) {
            Ok(crossing) => Admission::Sent(crossing),
            Err(when) => Admission::Dropped(when),
        }
    }

    /// Records that a packet leaves `link` at `departs`.
    #[inline(always)]
    fn leaves(
        &mut self,
        link: u32,
        size: u32,
        carried: Option<CarriedPayload>,
        departs: Time,
        on_wire: Span,
    ) {
        let ports = &self.ports;
        let work = |from, to| ports[link as usize].link_rate.work_between(from, to);
        self.ledger.departed_with(link, size, carried, departs, on_wire, work);
    }

    /// A packet that was offered at `offered` leaves `link`, which may lose it yet, or hold it up on its way.
    #[inline(never)]
    fn cross(
        &mut self,
        link: u32,
        may_lose: Option<u32>,
        offered: Time,
        (departs, on_wire): (Time, Span),
        crossing: Crossing,
    ) -> Result<Crossing, Time> {
        let port = &mut self.ports[link as usize];
        if self.counts_bytes {
            let link_rate = &port.link_rate;
            self.ledger.sent_by_link(link, departs, on_wire, |from, to| link_rate.work_between(from, to));
        }
        if let (Some(loss), Some(flow)) = (&mut port.loss, may_lose)
            && loss.loses(flow, departs)
        {
            self.ledger.lost_after_queue(link, offered, departs);
            return Err(departs);
        }
        match &mut port.impaired {
            Some(impaired) => {
                let (arrives, twice) = impaired.cross(crossing.arrives);
                Ok(Crossing { arrives, twice, ..crossing })
            }
            None => Ok(crossing),
        }
    }

    /// A packet begins to wait before `link` at `now`; or where the link is idle it leaves at once: then
    /// what [`serve`](Network::serve) tells of it.
    #[inline(always)]
    pub fn hold(&mut self, link: u32, packet: &QueuedPacket, now: Time) -> Option<Served> {
        let LinkModel::AtDeparture(buffered) = &mut self.ports[link as usize].link else {
            unreachable!("a queue that decides on arrival holds nothing")
        };
        let size = packet.size();
        let queued = Queued { size, ecn: packet.ecn(), arrived: now, packet: *packet };
        self.ledger.enqueued(link, size, now);
        if buffered.is_idle(now) {
            let departure = buffered.offer_idle(queued, packet.serial, &mut self.dropped)?;
            return Some(self.depart(link, departure, now));
        }
        buffered.offer(queued, packet.serial, &mut self.dropped);
        if buffered.waiting() == 1 {
            self.events.set_head(departures(link), Some((buffered.departs(), EventKey::of_link(link))));
        }
        None
    }

    /// The packet that `link` was sending has left: it begins with the next one, which is returned with how it gets
    /// to the other end, or when it is dropped. Another departure follows where more packets wait.
    pub fn serve(&mut self, link: u32, now: Time) -> Option<Served> {
        self.gauge(link, now);
        let LinkModel::AtDeparture(buffered) = &mut self.ports[link as usize].link else {
            unreachable!("only a queue that decides at departure is served")
        };
        let departure = buffered.begin(now, &mut self.dropped);
        let next = (buffered.waiting() > 0).then(|| (buffered.departs(), EventKey::of_link(link)));
        self.events.set_head(departures(link), next);
        Some(self.depart(link, departure?, now))
    }

    /// A packet begins to leave `link`.
    #[inline(always)]
    fn depart(&mut self, link: u32, departure: Departure<QueuedPacket>, now: Time) -> Served {
        let Departure { packet, size, arrived, departs, arrives, on_wire, marked } = departure;
        let port = &mut self.ports[link as usize];
        port.passed += 1;
        let does_more = port.does_more;
        if marked {
            self.ledger.marked(link, arrived, now);
        }
        let carried = packet.may_lose().and_then(|flow| self.account(flow).carried(link, size));
        self.leaves(link, size, carried, departs, on_wire);
        let crossing = Crossing { arrives, marked, twice: false };
        let outcome = if does_more {
            self.cross(link, packet.may_lose(), arrived, (departs, on_wire), crossing)
        } else {
            Ok(crossing)
        };
        (packet, outcome)
    }

    /// Records the gauges of the queue of `link` at the starts of bins up to `now`, before an event there at that
    /// time. A queue does not change between events, so it need not be read in between.
    #[inline(always)]
    fn gauge(&mut self, link: u32, now: Time) {
        if self.ports[link as usize].due <= now {
            self.read_gauges(link, now);
        }
    }

    #[inline(never)]
    fn read_gauges(&mut self, link: u32, now: Time) {
        let port = &mut self.ports[link as usize];
        // In an outage without an end a packet comes at no time at all.
        let mut read = 0u32;
        while port.due <= now.min(self.ledger.end()) {
            let (shown, next) = self.ledger.gauges(link, port.due);
            port.gauges(next, shown);
            // After a long silence, or at the end, there may be very many.
            read += 1;
            if read.is_multiple_of(READINGS_PER_CHECK) && self.limits.is_stopped() {
                return;
            }
        }
    }

    /// Calls `each` with the connection of every packet that waits for an event, in a ring or before a link.
    pub fn each_serial(&self, mut each: impl FnMut(u32)) {
        self.rings.each_serial(&mut each);
        for port in &self.ports {
            if let LinkModel::AtDeparture(buffered) = &port.link {
                buffered.each_waiting(|queued| each(queued.packet.serial));
            }
        }
    }

    /// Reads the gauges of all links up to the end.
    pub fn close(&mut self) {
        let end = self.ledger.end();
        for link in 0..self.ports.len() {
            if self.limits.is_stopped() {
                return;
            }
            self.gauge(link as u32, end);
        }
    }

    /// The sum over all links.
    pub fn crossings(&self) -> Crossings {
        self.ports.iter().fold(Crossings::default(), |sum, port| {
            let totals = port.link.totals();
            Crossings {
                offered: sum.offered + totals.arrived + port.policed,
                refused: sum.refused + totals.dropped + port.policed,
                passed: sum.passed + port.passed + port.link.waiting() as u64,
            }
        })
    }
}
