//! A link at work: its queue, what it loses and what else it does to packets, as in the simulator.

use fairhaul_experiment::{CarriedPayload, Ledger, LinkSpec};
use fairhaul_path::impair::{Impaired, Loss};
use fairhaul_path::queue::{Packet, Queued};
use fairhaul_path::{Departure, LinkModel, LinkOutcome, LinkRate};
use fairhaul_units::{Chance, CongestionHeader, Ecn, Span, Time};

/// A packet at a link: what of it queues and losses look at, and its place in the network.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// Where the network keeps it.
    pub slot: u32,
    pub connection: u32,
    /// The flow of a data packet, which may be lost.
    pub data_of: Option<u32>,
    /// Its payload, where this link keeps account of it.
    pub counted: Option<u32>,
    pub size: u32,
    pub ecn: Ecn,
}

impl Packet for Parcel {
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

/// What became of a packet at a link.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It will be at the other end, perhaps twice.
    Crosses { arrives: Time, marked: bool, twice: bool },
    /// It was dropped, then.
    Dropped(Time),
}

/// Packets of whose fate a link has just decided.
pub type Fates = Vec<(Parcel, Fate)>;

/// One direction of a link.
pub struct Stage {
    /// Its place in the books.
    link: u32,
    carrier: LinkModel<Parcel>,
    link_rate: LinkRate,
    loss: Option<Loss>,
    impaired: Option<Impaired>,
    /// Whether the books hold what links have sent.
    counts_bytes: bool,
    /// When its gauges are due to be read; never, where it has none.
    due: Time,
    /// The last departure at which the network was told to come back.
    told: Option<Time>,
    victims: Vec<Queued<Parcel>>,
}

impl Stage {
    pub fn new(spec: &LinkSpec, link: u32, seed: u64, counts_bytes: bool) -> Stage {
        let stream = |purpose: &str| Chance::stream(seed, purpose, u64::from(link));
        Stage {
            link,
            carrier: spec.model(stream("queue")),
            link_rate: spec.link_rate(),
            loss: spec.loss(stream("loss")),
            impaired: spec.impaired(stream),
            counts_bytes,
            due: if spec.queue.entry.gauges.is_empty() { Time::NEVER } else { Time::ZERO },
            told: None,
            victims: Vec::new(),
        }
    }

    /// A packet is offered at `now`, which must not run backwards.
    pub fn offer(&mut self, parcel: Parcel, now: Time, ledger: &mut Ledger, fates: &mut Fates) {
        self.read_gauges(now, ledger);
        let admits = |impaired: &mut Impaired| impaired.admits(parcel.size, now);
        if parcel.data_of.is_some() && !self.impaired.as_mut().is_none_or(admits) {
            ledger.refused(self.link, now);
            return fates.push((parcel, Fate::Dropped(now)));
        }
        let LinkModel::OnArrival(link) = &mut self.carrier else {
            return self.hold(parcel, now, ledger, fates);
        };
        match link.offer(parcel.size, parcel.ecn, parcel.connection, now) {
            LinkOutcome::Dropped => {
                ledger.refused(self.link, now);
                fates.push((parcel, Fate::Dropped(now)));
            }
            LinkOutcome::Sent { departs, arrives, on_wire, marked } => {
                ledger.enqueued(self.link, parcel.size, now);
                let departure = Leaving { offered: now, departs, arrives, on_wire, marked };
                fates.push((parcel, self.leave(&parcel, departure, now, ledger)));
            }
        }
    }

    /// What was being sent has left: the link begins with the next packet.
    pub fn serve(&mut self, now: Time, ledger: &mut Ledger, fates: &mut Fates) {
        self.read_gauges(now, ledger);
        let LinkModel::AtDeparture(buffered) = &mut self.carrier else { return };
        let departure = buffered.begin(now, &mut self.victims);
        self.settle(departure, now, ledger, fates);
    }

    /// When it is to be served next, told once for each time.
    pub fn wakes(&mut self) -> Option<Time> {
        let LinkModel::AtDeparture(buffered) = &self.carrier else { return None };
        let next = (buffered.waiting() > 0).then(|| buffered.departs())?;
        (self.told.replace(next) != Some(next)).then_some(next)
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
    fn hold(&mut self, parcel: Parcel, now: Time, ledger: &mut Ledger, fates: &mut Fates) {
        let LinkModel::AtDeparture(buffered) = &mut self.carrier else { return };
        let queued = Queued { size: parcel.size, ecn: parcel.ecn, arrived: now, packet: parcel };
        ledger.enqueued(self.link, parcel.size, now);
        let departure = if buffered.is_idle(now) && buffered.waiting() == 0 {
            buffered.offer_idle(queued, parcel.connection, &mut self.victims)
        } else {
            buffered.offer(queued, parcel.connection, &mut self.victims);
            None
        };
        self.settle(departure, now, ledger, fates);
    }

    /// What a queue that decides at departure has done: a packet begins to leave, and others are dropped.
    fn settle(
        &mut self,
        departure: Option<Departure<Parcel>>,
        now: Time,
        ledger: &mut Ledger,
        fates: &mut Fates,
    ) {
        let mut victims = std::mem::take(&mut self.victims);
        for Queued { packet, size, arrived, .. } in victims.drain(..) {
            ledger.dropped(self.link, size, arrived, now);
            fates.push((packet, Fate::Dropped(now)));
        }
        self.victims = victims;
        if let Some(Departure { packet, arrived: offered, departs, arrives, on_wire, marked, .. }) = departure
        {
            let departure = Leaving { offered, departs, arrives, on_wire, marked };
            fates.push((packet, self.leave(&packet, departure, now, ledger)));
        }
    }

    /// A packet leaves the queue, which may lose it yet, or hold it up on its way.
    fn leave(&mut self, parcel: &Parcel, leaving: Leaving, now: Time, ledger: &mut Ledger) -> Fate {
        let Leaving { offered, departs, arrives, on_wire, marked } = leaving;
        if marked {
            ledger.marked(self.link, offered, now);
        }
        let work = |from, to| self.link_rate.work_between(from, to);
        let carried =
            parcel.data_of.zip(parcel.counted).map(|(flow, payload)| CarriedPayload { flow, payload });
        ledger.departed_with(self.link, parcel.size, carried, departs, on_wire, work);
        if self.counts_bytes {
            ledger.sent_by_link(self.link, departs, on_wire, work);
        }
        if let (Some(loss), Some(flow)) = (&mut self.loss, parcel.data_of)
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
