//! The port of a link: its queue, its loss and its impairments, as in the simulator.

use fairhaul_experiment::{CarriedPayload, Ledger};
use fairhaul_path::impair::{Impaired, Loss};
use fairhaul_path::queue::{Packet, Queued};
use fairhaul_path::{Departure, LinkModel, LinkOutcome, LinkRate, LinkSpec};
use fairhaul_units::{Chance, CongestionHeader, Ecn, Span, Time};

/// A packet at a link: the fields that queues and losses read, and its slot in the network.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Its slot in the network.
    pub slot: u32,
    pub connection: u32,
    /// The flow of a data packet, which may be lost.
    pub data_of: Option<u32>,
    /// Its payload, where this link counts the payload of the flow.
    pub counted: Option<u32>,
    pub size: u32,
    pub ecn: Ecn,
}

impl Packet for QueuedPacket {
    fn congestion(&self) -> Option<&CongestionHeader> {
        None
    }

    fn carries_data(&self) -> bool {
        self.data_of.is_some()
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        None
    }
}

/// The fate of a packet at a link.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It will be at the other end, perhaps twice.
    Crosses { arrives: Time, marked: bool, twice: bool },
    /// It was dropped, then.
    Dropped(Time),
}

/// Packets whose fate a link has just decided.
pub type Fates = Vec<(QueuedPacket, Fate)>;

/// One direction of a link.
pub struct LinkPort {
    /// Its number in the ledger.
    link: u32,
    carrier: LinkModel<QueuedPacket>,
    link_rate: LinkRate,
    loss: Option<Loss>,
    impaired: Option<Impaired>,
    /// Whether the ledger counts the bytes that links have sent.
    counts_bytes: bool,
    /// When its gauges are due to be read; never, where it has none.
    due: Time,
    /// The departure for which the network last scheduled a service.
    scheduled: Option<Time>,
    dropped: Vec<Queued<QueuedPacket>>,
}

impl LinkPort {
    pub fn new(spec: &LinkSpec, link: u32, seed: u64, counts_bytes: bool) -> LinkPort {
        let stream = |purpose: &str| Chance::stream(seed, purpose, u64::from(link));
        LinkPort {
            link,
            carrier: spec.model(stream("queue")),
            link_rate: spec.link_rate(),
            loss: spec.loss(stream("loss")),
            impaired: spec.impaired(stream),
            counts_bytes,
            due: if spec.queue.entry.gauges.is_empty() { Time::NEVER } else { Time::ZERO },
            scheduled: None,
            dropped: Vec::new(),
        }
    }

    /// A packet is offered at `now`, which must not run backwards.
    pub fn offer(&mut self, packet: QueuedPacket, now: Time, ledger: &mut Ledger, fates: &mut Fates) {
        self.read_gauges(now, ledger);
        let admits = |impaired: &mut Impaired| impaired.admits(packet.size, now);
        if packet.data_of.is_some() && !self.impaired.as_mut().is_none_or(admits) {
            ledger.refused(self.link, now);
            return fates.push((packet, Fate::Dropped(now)));
        }
        let LinkModel::OnArrival(link) = &mut self.carrier else {
            return self.hold(packet, now, ledger, fates);
        };
        match link.offer(packet.size, packet.ecn, packet.connection, now) {
            LinkOutcome::Dropped => {
                ledger.refused(self.link, now);
                fates.push((packet, Fate::Dropped(now)));
            }
            LinkOutcome::Sent { departs, arrives, on_wire, marked } => {
                ledger.enqueued(self.link, packet.size, now);
                let departure = Leaving { offered: now, departs, arrives, on_wire, marked };
                fates.push((packet, self.leave(&packet, departure, now, ledger)));
            }
        }
    }

    /// The packet in transmission has left: the link begins to send the next one.
    pub fn serve(&mut self, now: Time, ledger: &mut Ledger, fates: &mut Fates) {
        self.read_gauges(now, ledger);
        let LinkModel::AtDeparture(buffered) = &mut self.carrier else { return };
        let departure = buffered.begin(now, &mut self.dropped);
        self.settle(departure, now, ledger, fates);
    }

    /// When it is to be served next; returned once for each such time.
    pub fn next_service(&mut self) -> Option<Time> {
        let LinkModel::AtDeparture(buffered) = &self.carrier else { return None };
        let next = (buffered.waiting() > 0).then(|| buffered.departs())?;
        (self.scheduled.replace(next) != Some(next)).then_some(next)
    }

    /// How many packets wait in a queue that decides at departure.
    pub fn waiting(&self) -> usize {
        self.carrier.waiting()
    }

    /// Reads the gauges of its queue up to `now`, before anything happens then.
    pub fn read_gauges(&mut self, now: Time, ledger: &mut Ledger) {
        while self.due <= now && self.due < ledger.end() {
            let (shown, next) = ledger.gauges(self.link, self.due);
            self.carrier.gauges(self.due, shown);
            self.due = next;
        }
    }

    /// A packet comes to a queue that decides at departure.
    fn hold(&mut self, packet: QueuedPacket, now: Time, ledger: &mut Ledger, fates: &mut Fates) {
        let LinkModel::AtDeparture(buffered) = &mut self.carrier else { return };
        let queued = Queued { size: packet.size, ecn: packet.ecn, arrived: now, packet };
        ledger.enqueued(self.link, packet.size, now);
        let departure = if buffered.is_idle(now) && buffered.waiting() == 0 {
            buffered.offer_idle(queued, packet.connection, &mut self.dropped)
        } else {
            buffered.offer(queued, packet.connection, &mut self.dropped);
            None
        };
        self.settle(departure, now, ledger, fates);
    }

    /// Books what a queue that decides at departure has done: a packet begins to leave, and others are dropped.
    fn settle(
        &mut self,
        departure: Option<Departure<QueuedPacket>>,
        now: Time,
        ledger: &mut Ledger,
        fates: &mut Fates,
    ) {
        let mut drops = std::mem::take(&mut self.dropped);
        for Queued { packet, size, arrived, .. } in drops.drain(..) {
            ledger.dropped(self.link, size, arrived, now);
            fates.push((packet, Fate::Dropped(now)));
        }
        self.dropped = drops;
        if let Some(Departure { packet, arrived: offered, departs, arrives, on_wire, marked, .. }) = departure
        {
            let departure = Leaving { offered, departs, arrives, on_wire, marked };
            fates.push((packet, self.leave(&packet, departure, now, ledger)));
        }
    }

    /// A packet leaves the queue; the link may still lose, delay or duplicate it.
    fn leave(&mut self, packet: &QueuedPacket, leaving: Leaving, now: Time, ledger: &mut Ledger) -> Fate {
        let Leaving { offered, departs, arrives, on_wire, marked } = leaving;
        if marked {
            ledger.marked(self.link, offered, now);
        }
        let work = |from, to| self.link_rate.work_between(from, to);
        let carried =
            packet.data_of.zip(packet.counted).map(|(flow, payload)| CarriedPayload { flow, payload });
        ledger.departed_with(self.link, packet.size, carried, departs, on_wire, work);
        if self.counts_bytes {
            ledger.sent_by_link(self.link, departs, on_wire, work);
        }
        if let (Some(loss), Some(flow)) = (&mut self.loss, packet.data_of)
            && loss.loses(flow, departs)
        {
            ledger.lost_after_queue(self.link, offered, departs);
            return Fate::Dropped(departs);
        }
        let crossing = self.impaired.as_mut().map(|impaired| impaired.cross(arrives));
        let (arrives, twice) = crossing.unwrap_or((arrives, false));
        Fate::Crosses { arrives, marked, twice }
    }
}

/// How a packet leaves a queue.
struct Leaving {
    offered: Time,
    departs: Time,
    arrives: Time,
    on_wire: Span,
    marked: bool,
}
