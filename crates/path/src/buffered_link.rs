//! A link whose queue decides at departure: it stores the packets, and its owner calls it again when the packet being
//! sent has left, if another waits by then.

use std::num::NonZeroU8;

use fairhaul_units::{Bytes, Rate, Span, Time};

use crate::link::{Departure, LinkTotals, Wire};
use crate::packet::{Packet, PacketKind};
use crate::queue::{
    AckFilter, Cake, Capacity, Codel, DepartureDropTail, DepartureRule, DualPi2, Fq, FqCodel, Queued, Xcp,
};
use crate::schedule::{Pace, Schedule};
use crate::token_bucket::BucketRule;

/// One direction of a link in whose queue packets of type `T` wait.
#[derive(Clone, Debug)]
pub struct BufferedLink<T> {
    wire: Wire,
    /// Used instead of the wire, where something about it changes, or a shaper is before it.
    pace: Option<Box<Pace>>,
    capacity: Capacity,
    queue: Queue<T>,
    bytes: Bytes,
    /// When the packet being sent has left, and its size.
    sending: (Time, u32),
    /// The queue has not been asked what follows it. Where nothing waits it is asked only once a caller
    /// looks, since that may be long after.
    unasked: bool,
    totals: LinkTotals,
}

#[derive(Clone, Debug)]
enum Queue<T> {
    DropTail(DepartureDropTail<T>),
    AckFilter(AckFilter<T>),
    Codel(crate::queue::CodelRule, Codel<T>),
    FqCodel(crate::queue::FqCodelRule, FqCodel<T>),
    DualPi2(Box<DualPi2<T>>),
    Fq(Box<Fq<T>>),
    Cake(Box<Cake<T>>),
    Xcp(Box<Xcp<T>>),
}

impl<T: Packet> BufferedLink<T> {
    /// An idle link.
    pub fn new(rate: Rate, delay: Span, capacity: Capacity, rule: &DepartureRule) -> BufferedLink<T> {
        BufferedLink {
            wire: Wire::new(rate, delay),
            pace: None,
            capacity,
            queue: match *rule {
                DepartureRule::DropTail => Queue::DropTail(DepartureDropTail::default()),
                DepartureRule::AckFilter => Queue::AckFilter(AckFilter::default()),
                DepartureRule::Codel(rule) => Queue::Codel(rule, Codel::default()),
                DepartureRule::FqCodel(rule) => Queue::FqCodel(rule, FqCodel::new(&rule)),
                DepartureRule::DualPi2(ref rule) => Queue::DualPi2(Box::new(DualPi2::new(rule))),
                DepartureRule::Fq(ref rule) => Queue::Fq(Box::new(Fq::new(rule))),
                DepartureRule::Cake(ref choice) => Queue::Cake(Box::new(Cake::new(choice))),
                DepartureRule::Xcp(ref rule) => Queue::Xcp(Box::new(Xcp::new(rule))),
                DepartureRule::XcpTcp(ref rules) => Queue::Xcp(Box::new(Xcp::new(&rules.0).with(&rules.1))),
            },
            bytes: Bytes(0),
            sending: (Time::ZERO, 0),
            unasked: false,
            totals: LinkTotals::default(),
        }
    }

    /// The same with the rates and delays of `schedule`, behind a shaper.
    pub fn following(self, schedule: &Schedule, shaper: Option<BucketRule>) -> BufferedLink<T> {
        BufferedLink { pace: self.wire.following(schedule, shaper), ..self }
    }

    /// The same as the XCP router of that number in its network, where it is one.
    pub fn numbered(self, number: NonZeroU8) -> BufferedLink<T> {
        let queue = match self.queue {
            Queue::Xcp(xcp) => Queue::Xcp(Box::new(xcp.numbered(number))),
            other => other,
        };
        BufferedLink { queue, ..self }
    }

    /// Whether nothing is being sent at `now`.
    #[inline(always)]
    pub fn is_idle(&self, now: Time) -> bool {
        self.sending.0 <= now
    }

    /// When what is being sent has left.
    #[inline(always)]
    pub fn departs(&self) -> Time {
        self.sending.0
    }

    /// Takes a packet of connection `flow`; what does not fit, itself or another, goes to `dropped`.
    #[inline(always)]
    pub fn offer(&mut self, queued: Queued<T>, flow: u32, dropped: &mut Vec<Queued<T>>) {
        self.totals.arrived += 1;
        let (now, size) = (queued.arrived, Bytes(queued.size.into()));
        if self.unasked && self.sending.0 <= now {
            self.ask_empty();
        }
        match &mut self.queue {
            Queue::DropTail(tail) => {
                self.bytes += size;
                tail.push(queued);
            }
            Queue::AckFilter(filter) => {
                let ack = ack_of(&queued.packet);
                let queued = match filter.replace(queued, ack) {
                    Ok(replaced) => return self.replaced(replaced, size, dropped),
                    Err(queued) => queued,
                };
                let (packets, bytes) = beside(filter.len(), self.bytes, self.sending, now);
                if !self.capacity.admits(size, packets, bytes) {
                    self.totals.dropped += 1;
                    return dropped.push(queued);
                }
                self.bytes += size;
                filter.push(queued, ack);
            }
            Queue::Codel(_, codel) => {
                let (packets, bytes) = beside(codel.len(), self.bytes, self.sending, now);
                if !self.capacity.admits(size, packets, bytes) {
                    self.totals.dropped += 1;
                    return dropped.push(queued);
                }
                self.bytes += size;
                codel.push(queued);
            }
            Queue::FqCodel(rule, fair) => {
                self.bytes += size;
                if fair.is_empty() {
                    fair.push_direct(queued);
                } else {
                    fair.push(rule, flow, queued);
                }
                loop {
                    let (packets, bytes) = beside(fair.len(), self.bytes, self.sending, now);
                    if self.capacity.holds(packets, bytes) {
                        break;
                    }
                    let Some(packet) = fair.pop_fattest() else { break };
                    self.bytes = self.bytes - Bytes(packet.size.into());
                    self.totals.dropped += 1;
                    dropped.push(packet);
                }
            }
            Queue::DualPi2(_) | Queue::Fq(_) | Queue::Cake(_) | Queue::Xcp(_) => {
                self.offer_to_others(queued, flow, dropped)
            }
        }
    }

    /// The same of the queues that do more with it.
    #[inline(never)]
    fn offer_to_others(&mut self, queued: Queued<T>, flow: u32, dropped: &mut Vec<Queued<T>>) {
        let (now, size) = (queued.arrived, Bytes(queued.size.into()));
        match &mut self.queue {
            Queue::DualPi2(dual) => {
                let (packets, bytes) = beside(dual.len(), self.bytes, self.sending, now);
                dual.catch_up(now);
                if !self.capacity.admits(dual.room_for(size), packets, bytes) {
                    self.totals.dropped += 1;
                    return dropped.push(queued);
                }
                self.bytes += size;
                dual.push(queued);
            }
            Queue::Fq(fq) => {
                let (packets, bytes) = beside(fq.len(), self.bytes, self.sending, now);
                if !fq.admits(flow) || !self.capacity.admits(size, packets, bytes) {
                    self.totals.dropped += 1;
                    return dropped.push(queued);
                }
                self.bytes += size;
                if fq.is_calm() {
                    fq.push_direct(queued);
                } else {
                    fq.push(flow, queued);
                }
            }
            Queue::Cake(cake) => {
                let from = dropped.len();
                self.bytes += size;
                cake.push(flow, queued, dropped);
                loop {
                    let (packets, bytes) = beside(cake.len(), self.bytes, self.sending, now);
                    if self.capacity.holds(packets, bytes) {
                        break;
                    }
                    let Some(packet) = cake.pop_longest(now) else { break };
                    dropped.push(packet);
                }
                for packet in &dropped[from..] {
                    self.bytes = self.bytes - Bytes(packet.size.into());
                    self.totals.dropped += 1;
                }
            }
            Queue::Xcp(xcp) => {
                let admitted = xcp.admits(&queued, flow, bytes_per_s(&self.wire, self.pace.as_deref(), now));
                let (packets, bytes) = beside(xcp.len(), self.bytes, self.sending, now);
                if !admitted || !self.capacity.admits(size, packets, bytes) {
                    self.totals.dropped += 1;
                    return dropped.push(queued);
                }
                self.bytes += size;
                xcp.push(queued);
            }
            _ => unreachable!("the others have been asked"),
        }
    }

    /// A packet of that size waits instead of another.
    fn replaced(&mut self, other: Queued<T>, size: Bytes, dropped: &mut Vec<Queued<T>>) {
        self.bytes = self.bytes + size - Bytes(other.size.into());
        self.totals.dropped += 1;
        dropped.push(other);
    }

    /// Begins to send the next packet at `now`, when nothing is being sent; the packets that its queue
    /// drops before it go to `dropped`.
    #[inline(always)]
    pub fn begin(&mut self, now: Time, dropped: &mut Vec<Queued<T>>) -> Option<(Queued<T>, Departure)> {
        let from = dropped.len();
        let next = self.next(now, dropped);
        for packet in &dropped[from..] {
            self.bytes = self.bytes - Bytes(packet.size.into());
            self.totals.dropped += 1;
        }
        self.unasked = next.is_some();
        let (queued, marked) = next?;
        self.bytes = self.bytes - Bytes(queued.size.into());
        Some(self.send(queued, marked, now))
    }

    /// Takes a packet of connection `flow` that finds nothing waiting and nothing being sent: it begins to
    /// leave, unless it fits nowhere or its queue drops it, and it goes to `dropped`.
    #[inline(always)]
    pub fn offer_idle(
        &mut self,
        queued: Queued<T>,
        flow: u32,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(Queued<T>, Departure)> {
        let (now, size) = (queued.arrived, Bytes(queued.size.into()));
        if let Queue::Xcp(_) | Queue::DualPi2(_) | Queue::Fq(_) | Queue::Cake(_) = self.queue {
            self.offer(queued, flow, dropped);
            return self.begin(now, dropped);
        }
        self.totals.arrived += 1;
        if self.unasked {
            self.ask_empty();
        }
        debug_assert!(self.waiting() == 0, "its owner comes back where another waits");
        // The packet alone has nothing behind it.
        if !matches!(self.queue, Queue::DropTail(_)) && !self.capacity.admits(size, 0, Bytes(0)) {
            self.totals.dropped += 1;
            dropped.push(queued);
            return None;
        }
        match &mut self.queue {
            Queue::DropTail(_) | Queue::AckFilter(_) | Queue::FqCodel(..) => {}
            Queue::Codel(_, codel) => codel.on_empty(),
            Queue::Xcp(_) | Queue::DualPi2(_) | Queue::Fq(_) | Queue::Cake(_) => {
                unreachable!("they take every packet")
            }
        }
        self.unasked = true;
        Some(self.send(queued, false, now))
    }

    /// A packet begins to leave.
    #[inline(always)]
    fn send(&mut self, mut queued: Queued<T>, marked: bool, now: Time) -> (Queued<T>, Departure) {
        if !matches!(self.queue, Queue::Xcp(_))
            && let Some(header) = queued.packet.congestion_mut()
        {
            header.passes_plain();
        }
        let size = queued.size;
        let ((departs, arrives), on_wire) = match &mut self.pace {
            None => {
                let passage = self.wire.passage(size);
                (self.wire.pass(passage, now), passage.on_wire)
            }
            Some(pace) => (pace.send(size, now), pace.occupied()),
        };
        // A shaper of the queue itself holds the next packet longer than this one takes.
        let free = if let Queue::Cake(cake) = &self.queue { departs.max(cake.ready()) } else { departs };
        self.sending = (free, size);
        (queued, Departure { departs, arrives, on_wire, marked, copies: 1 })
    }

    #[inline(always)]
    fn next(&mut self, now: Time, dropped: &mut Vec<Queued<T>>) -> Option<(Queued<T>, bool)> {
        match &mut self.queue {
            Queue::DropTail(tail) => tail.next(self.capacity, dropped).map(|queued| (queued, false)),
            Queue::AckFilter(filter) => filter.pop(ack_of).map(|queued| (queued, false)),
            Queue::Codel(rule, codel) => codel.next(rule, Bytes(0), now, dropped),
            Queue::FqCodel(rule, fair) => fair.next(rule, now, dropped),
            Queue::DualPi2(dual) => dual.next(now, dropped),
            Queue::Fq(fq) => fq.next(now),
            Queue::Cake(cake) => cake.next(now, dropped),
            Queue::Xcp(xcp) => {
                let capacity = bytes_per_s(&self.wire, self.pace.as_deref(), now);
                xcp.next(now, capacity).map(|queued| (queued, false))
            }
        }
    }

    /// What was being sent left when nothing waited.
    #[inline(never)]
    fn ask_empty(&mut self) {
        self.unasked = false;
        let next = self.next(self.sending.0, &mut Vec::new());
        debug_assert!(next.is_none(), "its owner comes back where another waits");
    }

    /// What the link has counted.
    pub fn totals(&self) -> LinkTotals {
        self.totals
    }

    /// Adds what the gauges of the queue show at `at`, before anything happens then, to `shown`, in the order
    /// of its entry.
    pub fn gauges(&mut self, at: Time, shown: &mut Vec<f64>) {
        if self.unasked && self.waiting() == 0 && self.sending.0 < at {
            self.ask_empty();
        }
        match &mut self.queue {
            Queue::DropTail(_) => {}
            Queue::AckFilter(filter) => shown.extend(filter.gauges()),
            Queue::Codel(_, codel) => shown.extend(codel.gauges()),
            Queue::FqCodel(_, fair) => shown.extend(fair.gauges()),
            Queue::DualPi2(dual) => shown.extend(dual.gauges(at)),
            Queue::Fq(fq) => shown.extend(fq.gauges()),
            Queue::Cake(cake) => shown.extend(cake.gauges()),
            Queue::Xcp(xcp) => xcp.gauges(shown),
        }
    }

    /// How many wait, without the one being sent.
    pub fn waiting(&self) -> usize {
        match &self.queue {
            Queue::DropTail(tail) => tail.len(),
            Queue::AckFilter(filter) => filter.len(),
            Queue::Codel(_, codel) => codel.len(),
            Queue::FqCodel(_, fair) => fair.len(),
            Queue::DualPi2(dual) => dual.len(),
            Queue::Fq(fq) => fq.len(),
            Queue::Cake(cake) => cake.len(),
            Queue::Xcp(xcp) => xcp.len(),
        }
    }

    /// Calls `each` with everything that waits.
    pub fn each_waiting(&self, each: impl FnMut(&Queued<T>)) {
        match &self.queue {
            Queue::DropTail(tail) => tail.iter().for_each(each),
            Queue::AckFilter(filter) => filter.iter().for_each(each),
            Queue::Codel(_, codel) => codel.iter().for_each(each),
            Queue::FqCodel(_, fair) => fair.iter().for_each(each),
            Queue::DualPi2(dual) => dual.iter().for_each(each),
            Queue::Fq(fq) => fq.iter().for_each(each),
            Queue::Cake(cake) => cake.iter().for_each(each),
            Queue::Xcp(xcp) => xcp.iter().for_each(each),
        }
    }
}

/// The connection of an acknowledgement.
fn ack_of<T: Packet>(packet: &T) -> Option<u32> {
    let packet = packet.at_link();
    (packet.kind == PacketKind::Ack).then_some(packet.connection)
}

/// What can leave at `now`.
fn bytes_per_s(wire: &Wire, pace: Option<&Pace>, now: Time) -> f64 {
    let rate = pace.map_or(Some(wire.rate()), |pace| pace.rate(now));
    rate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0)
}

/// What waits, and what is being sent at `now`, which counts for the capacity of every queue.
fn beside(waiting: usize, bytes: Bytes, sending: (Time, u32), now: Time) -> (u64, Bytes) {
    let busy = sending.0 > now;
    let size = if busy { sending.1 } else { 0 };
    (waiting as u64 + u64::from(busy), bytes + Bytes(size.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::LinkPacket;
    use crate::queue::{Built, QueueChoice, Site, entry};
    use fairhaul_units::{Chance, CongestionHeader, Ecn, Sending};
    use proptest::prelude::*;
    use std::sync::Arc;

    const MEGABYTE: u64 = 8_000_000;
    /// Drop tail with drops at departure.
    const AT_DEPARTURE: &str = "departure";

    impl Packet for u32 {
        fn at_link(&self) -> LinkPacket {
            LinkPacket {
                connection: 0,
                size: 1000,
                ecn: Ecn::NotCapable,
                flow: 0,
                kind: PacketKind::Data,
                sending: Sending::First,
                counted: 0,
            }
        }

        fn congestion(&self) -> Option<&CongestionHeader> {
            None
        }

        fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
            None
        }
    }

    fn link(name: &str, capacity: Capacity, values: &[(&str, f64)]) -> BufferedLink<u32> {
        let rate = Rate::from_bps(MEGABYTE).expect("not zero");
        let site = Site { rate, delay: Span::from_ms(10), capacity, mark: Capacity::Unlimited };
        let mut choice = match name {
            AT_DEPARTURE => QueueChoice::dropping_at_departure(),
            _ => QueueChoice::named(name).expect("it is in the catalogue"),
        };
        values.iter().for_each(|(key, value)| choice.settings.set(key, *value));
        let choice = choice.resolved(&site, Bytes(1500)).expect("the values fit");
        let Built::AtDeparture(rule) = choice.build(&site, Chance::stream(1, "queue", 0)) else {
            unreachable!()
        };
        BufferedLink::new(rate, site.delay, capacity, &rule)
    }

    fn queued(packet: u32, size: u32, arrived: Time) -> Queued<u32> {
        Queued { packet, size, ecn: Ecn::NotCapable, arrived }
    }

    #[test]
    fn a_packet_leaves_after_its_time_on_the_wire_and_a_change_of_the_rate_holds() {
        // 1000 B at 8 Mbit/s take 1 ms, at 4 Mbit/s from 1 ms on 2 ms.
        let steps =
            [(Span::ZERO, Rate::from_bps(MEGABYTE)), (Span::from_ms(1), Rate::from_bps(MEGABYTE / 2))];
        let rates = Some(Arc::new(crate::Rates::new(&steps, None)));
        let schedule = Schedule { rates, ..Schedule::default() };
        for (changes, second) in [(Schedule::default(), 2), (schedule, 3)] {
            let mut link = link("codel", Capacity::Unlimited, &[]).following(&changes, None);
            let (at, mut gone) = (|ms| Time::ZERO + Span::from_ms(ms), Vec::new());
            (0..2).for_each(|n| link.offer(queued(n, 1000, at(0)), n, &mut gone));
            let (_, first) = link.begin(at(0), &mut gone).expect("one waits");
            assert_eq!((first.departs, first.arrives), (at(1), at(11)));
            assert!(!link.is_idle(at(0)) && link.is_idle(at(1)));
            let (queued, next) = link.begin(at(1), &mut gone).expect("one waits");
            assert_eq!((queued.packet, next.departs), (1, at(second)));
        }
    }

    #[test]
    fn the_packet_being_sent_counts_for_the_capacity() {
        let mut link = link("codel", Capacity::Packets(2), &[]);
        let mut gone = Vec::new();
        link.offer(queued(0, 1000, Time::ZERO), 0, &mut gone);
        link.begin(Time::ZERO, &mut gone);
        (1..3).for_each(|n| link.offer(queued(n, 1000, Time::ZERO), 0, &mut gone));
        assert_eq!(gone.iter().map(|queued| queued.packet).collect::<Vec<_>>(), [2]);
    }

    /// What leaves and when, and what the gauges show before each packet; `passes`: one that finds the link
    /// idle does not wait first.
    fn drive(
        mut link: BufferedLink<u32>,
        packets: &[(u64, u32, u32)],
        passes: bool,
    ) -> (Vec<(u32, Time)>, Vec<f64>) {
        let number_and_time = |(queued, next): (Queued<u32>, Departure)| (queued.packet, next.departs);
        let (mut now, mut gone, mut left, mut shown) = (Time::ZERO, Vec::new(), Vec::new(), Vec::new());
        for (number, &(gap_us, size, flow)) in (0u32..).zip(packets) {
            now += Span::from_us(gap_us);
            while link.departs() <= now && link.waiting() > 0 {
                left.extend(link.begin(link.departs(), &mut gone).map(number_and_time));
            }
            link.gauges(now, &mut shown);
            let queued = queued(number, size, now);
            if link.is_idle(now) && passes {
                left.extend(link.offer_idle(queued, flow, &mut gone).map(number_and_time));
                continue;
            }
            let idle = link.is_idle(now);
            link.offer(queued, flow, &mut gone);
            if idle {
                left.extend(link.begin(now, &mut gone).map(number_and_time));
            }
        }
        (left, shown)
    }

    proptest! {
        #[test]
        fn a_packet_that_finds_the_link_idle_passes_as_if_it_had_waited(
            name in proptest::sample::select(vec!["codel", "fq_codel", "dualpi2", "fq", "cake", "xcp", AT_DEPARTURE]),
            packets in proptest::collection::vec((0u64..2500, 40u32..1500, 0u32..5), 1..300),
        ) {
            let values: &[(&str, f64)] = if ["xcp", "dualpi2", "fq", "cake", AT_DEPARTURE].contains(&name) { &[] } else { &[("target", 1.0), ("interval", 5.0)] };
            let link = link(name, Capacity::Packets(20), values);
            prop_assert_eq!(drive(link.clone(), &packets, true), drive(link, &packets, false));
        }

        #[test]
        fn what_comes_leaves_is_dropped_or_waits(
            name in proptest::sample::select(vec!["codel", "fq_codel", "dualpi2", "fq", "cake", "xcp", "xcp_tcp", AT_DEPARTURE]),
            most in 1u64..40,
            packets in proptest::collection::vec((0u64..1500, 40u32..1500, 0u32..5), 1..300),
        ) {
            let capacity = Capacity::Packets(most);
            let has_values = name.ends_with("codel");
            let mut link = link(name, capacity, if !has_values { &[] } else { &[("target", 1.0), ("interval", 5.0)] });
            let (mut now, mut gone, mut sent) = (Time::ZERO, Vec::new(), Vec::new());
            let mut busy_until = Time::ZERO;
            for (number, &(gap_us, size, flow)) in (0u32..).zip(&packets) {
                now += Span::from_us(gap_us);
                while busy_until <= now && link.waiting() > 0 {
                    let Some((queued, next)) = link.begin(busy_until, &mut gone) else { break };
                    prop_assert!(next.departs > busy_until && queued.arrived <= busy_until);
                    busy_until = next.departs;
                    sent.push(queued.packet);
                }
                busy_until = busy_until.max(now);
                link.offer(queued(number, size, now), flow, &mut gone);
                prop_assert!(link.waiting() as u64 <= most || name == AT_DEPARTURE);
                let mut shown = Vec::new();
                link.gauges(now, &mut shown);
                prop_assert_eq!(shown.len(), entry(name).map_or(0, |entry| entry.gauges.len()));
                let mut bytes = Bytes(0);
                link.each_waiting(|queued| bytes += Bytes(queued.size.into()));
                prop_assert_eq!(bytes, link.bytes);
            }
            let mut waiting = Vec::new();
            link.each_waiting(|queued| waiting.push(queued.packet));
            let mut all: Vec<u32> = gone.iter().map(|queued| queued.packet).chain(sent).chain(waiting).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..packets.len() as u32).collect::<Vec<_>>());
            prop_assert_eq!(link.totals().dropped as usize, gone.len());
        }
    }
}
