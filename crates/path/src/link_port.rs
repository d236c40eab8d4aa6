//! The port of a link, where a packet enters it: its largest packet, a policer, the queue, and behind the queue losses and impairments.
//! What happens there is recorded in a [`LinkLedger`].

use std::num::NonZeroU8;

use fairhaul_units::{Chance, Span, Time};

use crate::impair::{Impaired, Loss};
use crate::link::Departure;
use crate::link_ledger::LinkLedger;
use crate::link_model::LinkModel;
use crate::link_spec::LinkSpec;
use crate::packet::{Burst, LinkPacket, Packet, PacketKind};
use crate::queue::Queued;
use crate::schedule::LinkRate;

/// The outcome of a packet that is offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It was dropped at once.
    Dropped,
    /// It is to wait there, see [`LinkPort::hold`].
    Queued,
    /// It leaves.
    Sent(Departure),
}

/// See the module. Packets of type `T` wait in its queue.
#[derive(Clone, Debug)]
pub struct LinkPort<T> {
    /// The number of its link in the ledger.
    number: u32,
    model: LinkModel<T>,
    rate: LinkRate,
    loss: Option<Loss>,
    /// Whether losses and the policer apply to acknowledgements, too.
    loses_acks: bool,
    /// In a box, since most links have none.
    impaired: Option<Box<Impaired>>,
    /// Whether the ledger counts the bytes that links have sent.
    counts_bytes: bool,
    /// Whether packets meet more than the queue and the delay: loss, an impairment, or a count of the bytes sent.
    does_more: bool,
    /// When the gauges of its queue are to be read next; never, where it has none.
    gauges_due: Time,
    passed: u64,
}

impl<T: Packet> LinkPort<T> {
    /// The port of an idle link, which is `number` in the ledger, in a run with that seed; `counts_bytes`: the
    /// ledger counts the bytes that links have sent.
    pub fn new(spec: &LinkSpec, number: u32, seed: u64, counts_bytes: bool) -> LinkPort<T> {
        let stream = |purpose: &str| Chance::stream(seed, purpose, u64::from(number));
        let loss = spec.loss(stream("loss"));
        let impaired = spec.impaired(stream).map(Box::new);
        LinkPort {
            number,
            model: LinkModel::new(spec, stream("queue")),
            rate: spec.link_rate(),
            does_more: loss.is_some() || impaired.is_some() || counts_bytes,
            loss,
            loses_acks: spec.loses_acks,
            impaired,
            counts_bytes,
            gauges_due: if spec.queue.entry.gauges.is_empty() { Time::NEVER } else { Time::ZERO },
            passed: 0,
        }
    }

    /// The same as the XCP router of that number in its network, where it is one.
    pub fn with_router_number(self, router: NonZeroU8) -> LinkPort<T> {
        LinkPort { model: self.model.numbered(router), ..self }
    }

    /// Offers a packet at `now`, which must not run backwards. Gauges that were due have been read.
    #[inline(always)]
    pub fn offer(&mut self, packet: LinkPacket, now: Time, ledger: &mut impl LinkLedger) -> Admission {
        if self.does_more && !self.admits(packet.size, packet.kind, now) {
            ledger.refused(self.number, now);
            return Admission::Dropped;
        }
        let LinkModel::OnArrival(link) = &mut self.model else {
            return Admission::Queued;
        };
        let Some(departure) = link.offer(&packet, now) else {
            ledger.refused(self.number, now);
            return Admission::Dropped;
        };
        ledger.passed(self.number, &packet, now, departure, &self.rate);
        Admission::Sent(self.leave(&packet, now, departure, now, ledger))
    }

    /// A packet that was offered at `offered` and has waited in a queue of a kernel begins to leave at `now`, which must not
    /// run backwards; `marked`: that queue has marked it. The link itself queues and drops nothing then.
    pub fn pass(
        &mut self,
        packet: LinkPacket,
        offered: Time,
        marked: bool,
        now: Time,
        ledger: &mut impl LinkLedger,
    ) -> Departure {
        let LinkModel::OnArrival(link) = &mut self.model else {
            unreachable!("behind a queue of a kernel nothing waits")
        };
        let departure = link.offer(&packet, now).expect("behind a queue of a kernel a link has no limit");
        self.depart(&packet, offered, Departure { marked, ..departure }, now, ledger)
    }

    /// Whether bursts of packets of `size` bytes that come with that `spacing` can pass as one: nothing is decided packet by
    /// packet but whether there is room, and whether one of them is lost.
    pub fn carries_bursts(&mut self, size: u32, spacing: Span) -> bool {
        let LinkModel::OnArrival(link) = &mut self.model else { return false };
        let only_loses = || {
            self.loss.as_ref().is_some_and(Loss::is_spaced) && self.impaired.is_none() && !self.counts_bytes
        };
        (!self.does_more || only_loses()) && link.carries_bursts(size, spacing)
    }

    /// Offers a burst, which it [carries](LinkPort::carries_bursts), of packets like `packet`, the first of them at `now`: how
    /// the first leaves, and the others right behind it. `None`: little room is left, or one will be lost, so each is to be
    /// offered at its time.
    pub fn offer_burst(
        &mut self,
        packet: &LinkPacket,
        burst: Burst,
        now: Time,
        ledger: &mut impl LinkLedger,
    ) -> Option<Departure> {
        let LinkModel::OnArrival(link) = &mut self.model else { return None };
        if self.loss.as_ref().is_some_and(|loss| loss.spared() < u64::from(burst.packets)) {
            return None;
        }
        let first = link.offer_burst(packet, burst, now)?;
        if let Some(loss) = &mut self.loss {
            loss.pass(burst.packets);
        }
        self.passed += u64::from(burst.packets);
        if !ledger.enqueued_together(self.number, packet.size, burst, now) {
            burst.times(now).for_each(|at| ledger.enqueued(self.number, packet.size, at));
        }
        if !ledger.departed_together(self.number, packet, burst, now, first) {
            for (place, at) in (0..).zip(burst.times(now)) {
                ledger.departed(self.number, packet, at, first.of_follower(place), &self.rate);
            }
        }
        Some(first)
    }

    /// Packets in a drop-tail queue at `now`.
    pub fn backlog(&mut self, now: Time) -> u64 {
        if let LinkModel::OnArrival(link) = &mut self.model { link.backlog(now) } else { 0 }
    }

    /// A packet begins to wait at `now`; on an idle link it leaves at once. Packets that the queue drops go to
    /// `dropped`, which is empty before.
    #[inline(always)]
    pub fn hold(
        &mut self,
        packet: &T,
        now: Time,
        ledger: &mut impl LinkLedger,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(T, Departure)> {
        let LinkModel::AtDeparture(buffered) = &mut self.model else {
            unreachable!("a queue that decides on arrival holds nothing")
        };
        let LinkPacket { connection, size, ecn, .. } = packet.at_link();
        let queued = Queued { size, ecn, arrived: now, packet: *packet };
        ledger.enqueued(self.number, size, now);
        let next = if buffered.is_idle(now) {
            buffered.offer_idle(queued, connection, dropped)
        } else {
            buffered.offer(queued, connection, dropped);
            None
        };
        self.settle(next, now, ledger, dropped)
    }

    /// The packet that the link was sending has left: it begins with the next one, which is returned. Packets that
    /// the queue drops before it go to `dropped`, which is empty before. Gauges that were due have been read.
    #[inline(always)]
    pub fn serve(
        &mut self,
        now: Time,
        ledger: &mut impl LinkLedger,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(T, Departure)> {
        let LinkModel::AtDeparture(buffered) = &mut self.model else {
            unreachable!("only a queue that decides at departure is served")
        };
        let next = buffered.begin(now, dropped);
        self.settle(next, now, ledger, dropped)
    }

    /// When it is to be served: its link is idle then, and a packet waits.
    #[inline(always)]
    pub fn next_service(&self) -> Option<Time> {
        let LinkModel::AtDeparture(buffered) = &self.model else { return None };
        (buffered.waiting() > 0).then(|| buffered.departs())
    }

    /// How many packets wait in a queue that decides at departure.
    #[inline(always)]
    pub fn waiting(&self) -> usize {
        self.model.waiting()
    }

    /// Calls `each` with every packet that waits.
    pub fn each_waiting(&self, mut each: impl FnMut(&T)) {
        if let LinkModel::AtDeparture(buffered) = &self.model {
            buffered.each_waiting(|queued| each(&queued.packet));
        }
    }

    /// Whether gauges are to be read before an event at `now`.
    #[inline(always)]
    pub fn gauges_due(&self, now: Time) -> bool {
        self.gauges_due <= now
    }

    /// Reads the gauges of the queue up to `now`, before an event at that time, while `goes_on` says so: after a
    /// long silence there may be very many readings. A queue does not change between events, so its gauges need
    /// not be read in between.
    #[inline(never)]
    pub fn read_gauges(&mut self, now: Time, ledger: &mut impl LinkLedger, goes_on: impl Fn() -> bool) {
        // In an outage without an end a packet comes at no time at all.
        while self.gauges_due <= now && self.gauges_due != Time::NEVER && goes_on() {
            let (shown, next) = ledger.gauges(self.number, self.gauges_due);
            self.model.gauges(self.gauges_due, shown);
            self.gauges_due = next;
        }
    }

    /// Whether every packet that was offered was dropped, has left or waits.
    pub fn balances(&self) -> bool {
        let totals = self.model.totals();
        totals.arrived == totals.dropped + self.passed + self.waiting() as u64
    }

    /// Whether losses and the policer apply to packets of this kind.
    fn may_lose(&self, kind: PacketKind) -> bool {
        match kind {
            PacketKind::Data => true,
            PacketKind::Ack => self.loses_acks,
            PacketKind::Control => false,
        }
    }

    /// Whether a packet gets to the queue: it is not too large, and a policer lets it in.
    fn admits(&mut self, size: u32, kind: PacketKind, now: Time) -> bool {
        let policed = self.may_lose(kind);
        self.impaired.as_mut().is_none_or(|impaired| impaired.admits(size, policed, now))
    }

    /// Records what the queue has done at `now`: it has dropped packets, and the next one begins to leave.
    #[inline(always)]
    fn settle(
        &mut self,
        next: Option<(Queued<T>, Departure)>,
        now: Time,
        ledger: &mut impl LinkLedger,
        dropped: &[Queued<T>],
    ) -> Option<(T, Departure)> {
        for queued in dropped {
            ledger.dropped(self.number, queued.size, queued.arrived, now);
        }
        let (Queued { packet, arrived, .. }, departure) = next?;
        let departure = self.depart(&packet.at_link(), arrived, departure, now, ledger);
        Some((packet, departure))
    }

    /// A packet that was offered at `offered` begins to leave.
    #[inline(always)]
    fn depart(
        &mut self,
        packet: &LinkPacket,
        offered: Time,
        departure: Departure,
        now: Time,
        ledger: &mut impl LinkLedger,
    ) -> Departure {
        ledger.departed(self.number, packet, offered, departure, &self.rate);
        self.leave(packet, offered, departure, now, ledger)
    }

    /// The same, once the ledger knows.
    #[inline(always)]
    fn leave(
        &mut self,
        packet: &LinkPacket,
        offered: Time,
        departure: Departure,
        now: Time,
        ledger: &mut impl LinkLedger,
    ) -> Departure {
        self.passed += 1;
        if departure.marked {
            ledger.marked(self.number, offered, now);
        }
        if !self.does_more {
            return departure;
        }
        // Copies, so that a packet that meets nothing more never has to be written to memory.
        let (arrives, copies) = self.cross(*packet, offered, departure.on_link(), departure.arrives, ledger);
        Departure { arrives, copies, ..departure }
    }

    /// Behind the queue the link may lose a packet, delay it or duplicate it: when it arrives, and how often.
    #[inline(never)]
    fn cross(
        &mut self,
        packet: LinkPacket,
        offered: Time,
        (began, departs): (Time, Time),
        arrives: Time,
        ledger: &mut impl LinkLedger,
    ) -> (Time, u8) {
        if self.counts_bytes {
            ledger.sent_by_link(self.number, (began, departs), &self.rate);
        }
        let may_lose = self.may_lose(packet.kind);
        if let Some(loss) = self.loss.as_mut().filter(|_| may_lose)
            && loss.loses(&packet, departs)
        {
            ledger.lost_after_queue(self.number, offered, departs);
            return (arrives, 0);
        }
        let crossed = self.impaired.as_mut().map(|impaired| impaired.cross(arrives));
        crossed.unwrap_or((arrives, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impair::{Impairments, JitterRule, LossRule};
    use crate::queue::{Capacity, QueueChoice, Site};
    use crate::schedule::Schedule;
    use crate::token_bucket::BucketRule;
    use fairhaul_units::{Bytes, CongestionHeader, Ecn, Rate, Sending, Span};
    use proptest::prelude::*;

    impl Packet for LinkPacket {
        fn at_link(&self) -> LinkPacket {
            *self
        }

        fn congestion(&self) -> Option<&CongestionHeader> {
            None
        }

        fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
            None
        }
    }

    /// How many packets met each fate, and how many gauges were read.
    #[derive(Debug, Default)]
    struct Counts {
        refused: usize,
        enqueued: usize,
        dropped: usize,
        departed: usize,
        marked: usize,
        lost: usize,
        gauges: Vec<f64>,
    }

    impl LinkLedger for Counts {
        fn gauges(&mut self, _: u32, now: Time) -> (&mut Vec<f64>, Time) {
            (&mut self.gauges, now + Span::from_ms(10))
        }

        fn refused(&mut self, _: u32, _: Time) {
            self.refused += 1;
        }

        fn enqueued(&mut self, _: u32, _: u32, _: Time) {
            self.enqueued += 1;
        }

        fn marked(&mut self, _: u32, _: Time, _: Time) {
            self.marked += 1;
        }

        fn dropped(&mut self, _: u32, _: u32, _: Time, _: Time) {
            self.dropped += 1;
        }

        fn departed(&mut self, _: u32, _: &LinkPacket, _: Time, _: Departure, _: &LinkRate) {
            self.departed += 1;
        }

        fn sent_by_link(&mut self, _: u32, _: (Time, Time), _: &LinkRate) {}

        fn lost_after_queue(&mut self, _: u32, _: Time, _: Time) {
            self.lost += 1;
        }
    }

    #[test]
    fn behind_a_queue_of_a_kernel_a_packet_takes_its_time_on_the_wire_and_meets_the_losses() {
        let of_kernel = |loss| LinkSpec {
            queue: QueueChoice::of_kernel("fq_codel"),
            capacity: Capacity::Unlimited,
            mark: Capacity::Unlimited,
            ..spec("droptail", loss, Impairments::default())
        };
        let packet = LinkPacket {
            connection: 0,
            size: 1000,
            ecn: Ecn::Capable,
            flow: 0,
            kind: DATA,
            sending: Sending::First,
            counted: 960,
        };
        let mut counts = Counts::default();
        let mut port = LinkPort::<LinkPacket>::new(&of_kernel(None), 0, 1, false);
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        // 1000 B take 1 ms at 8 Mbit/s, then 10 ms.
        let departure = port.pass(packet, ms(2), true, ms(5), &mut counts);
        assert_eq!((departure.departs, departure.arrives, departure.copies), (ms(6), ms(16), 1));
        assert_eq!((counts.marked, counts.departed, counts.enqueued), (1, 1, 0));
        assert!(port.balances());
        let mut port = LinkPort::<LinkPacket>::new(&of_kernel(Some(LossRule::Probability(1.0))), 0, 1, false);
        assert_eq!(port.pass(packet, ms(2), false, ms(5), &mut counts).copies, 0);
        assert_eq!((counts.marked, counts.lost), (1, 1));
    }

    const DATA: PacketKind = PacketKind::Data;

    /// 8 Mbit/s, 10 ms, six packets, which that queue marks above three.
    fn spec(queue: &str, loss: Option<LossRule>, impair: Impairments) -> LinkSpec {
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let (delay, capacity, mark) = (Span::from_ms(10), Capacity::Packets(6), Capacity::Packets(3));
        let mut choice = QueueChoice::named(queue).expect("it is in the catalogue");
        let values: &[(&str, f64)] = match queue {
            "red" => &[("min_threshold", 1.0), ("max_threshold", 4.0), ("q_weight", 0.3)],
            "codel" | "fq_codel" => &[("target", 1.0), ("interval", 5.0)],
            _ => &[],
        };
        values.iter().for_each(|(key, value)| choice.settings.set(key, *value));
        let queue = choice.resolved(&Site { rate, delay, capacity, mark }, Bytes(1500)).expect("it fits");
        let (name, schedule) = (String::new(), Schedule::default());
        LinkSpec {
            name,
            rate,
            delay,
            capacity,
            mark,
            queue,
            loss,
            loses_acks: false,
            impair,
            shaper: None,
            schedule,
        }
    }

    fn packet(size: u32, kind: PacketKind) -> LinkPacket {
        LinkPacket {
            connection: 0,
            size,
            ecn: Ecn::Capable,
            flow: 0,
            kind,
            sending: Sending::First,
            counted: 0,
        }
    }

    #[test]
    fn a_policer_refuses_data_and_no_acknowledgement() {
        let policer = BucketRule { rate: Rate::from_bps(8_000).expect("not zero"), burst: Bytes(1000) };
        let impair = Impairments { policer: Some(policer), ..Impairments::default() };
        let mut port: LinkPort<LinkPacket> = LinkPort::new(&spec("droptail", None, impair), 0, 1, false);
        let mut ledger = Counts::default();
        let mut offer = |kind| port.offer(packet(1000, kind), Time::ZERO, &mut ledger);
        assert!(matches!(offer(DATA), Admission::Sent(_)));
        assert_eq!(offer(DATA), Admission::Dropped);
        assert!(matches!(offer(PacketKind::Ack), Admission::Sent(_)));
        assert_eq!((ledger.refused, ledger.departed, port.balances()), (1, 2, true));
    }

    #[test]
    fn a_packet_above_the_mtu_is_refused_whatever_it_carries() {
        let impair = Impairments { mtu: vec![(Time::ZERO, 1300)], ..Impairments::default() };
        let mut port: LinkPort<LinkPacket> = LinkPort::new(&spec("droptail", None, impair), 0, 1, false);
        let mut ledger = Counts::default();
        for kind in [DATA, PacketKind::Ack, PacketKind::Control] {
            assert_eq!(port.offer(packet(1301, kind), Time::ZERO, &mut ledger), Admission::Dropped);
            let passes = port.offer(packet(1300, kind), Time::ZERO, &mut ledger);
            assert!(matches!(passes, Admission::Sent(_)));
        }
        assert_eq!((ledger.refused, ledger.departed, port.balances()), (3, 3, true));
    }

    #[test]
    fn every_second_data_packet_uses_the_link_and_does_not_arrive() {
        let spec = spec("codel", Some(LossRule::Every(2)), Impairments::default());
        let mut port: LinkPort<LinkPacket> = LinkPort::new(&spec, 0, 1, false);
        let (mut ledger, mut dropped) = (Counts::default(), Vec::new());
        let mut copies = |ms, kind| {
            // 1000 B take 1 ms, so each packet finds the link idle.
            let now = Time::ZERO + Span::from_ms(ms);
            assert_eq!(port.offer(packet(1000, kind), now, &mut ledger), Admission::Queued);
            let (_, departure) = port.hold(&packet(1000, kind), now, &mut ledger, &mut dropped)?;
            assert_eq!(departure.departs, now + Span::from_ms(1));
            Some(departure.copies)
        };
        let all = [copies(0, DATA), copies(1, DATA), copies(2, PacketKind::Ack), copies(3, DATA)];
        assert_eq!(all, [Some(1), Some(0), Some(1), Some(1)]);
        assert_eq!((ledger.departed, ledger.lost), (4, 1));
    }

    #[test]
    fn where_acknowledgements_are_lost_only_what_opens_a_connection_passes() {
        let policer = BucketRule { rate: Rate::from_bps(8_000).expect("not zero"), burst: Bytes(2000) };
        let impair = Impairments { policer: Some(policer), ..Impairments::default() };
        let spec = LinkSpec { loses_acks: true, ..spec("droptail", Some(LossRule::Every(2)), impair) };
        let mut port: LinkPort<LinkPacket> = LinkPort::new(&spec, 0, 1, false);
        let mut ledger = Counts::default();
        let mut copies = |kind| match port.offer(packet(1000, kind), Time::ZERO, &mut ledger) {
            Admission::Sent(departure) => Some(departure.copies),
            _ => None,
        };
        let (ack, control) = (PacketKind::Ack, PacketKind::Control);
        // The bucket holds two packets, and the second of them is lost; what opens a connection is not counted.
        let all = [ack, control, control, ack, DATA, ack, control].map(&mut copies);
        assert_eq!(all, [Some(1), Some(1), Some(1), Some(0), None, None, Some(1)]);
        assert_eq!((ledger.refused, ledger.lost), (2, 1));
    }

    proptest! {
        #[test]
        fn what_is_offered_is_recorded_once_and_leaves_is_dropped_or_waits(
            queue in proptest::sample::select(
                vec!["droptail", "red", "pie", "sred", "codel", "fq_codel", "dualpi2", "fq", "cake", "xcp", "xcp_tcp"],
            ),
            impaired in any::<bool>(),
            packets in proptest::collection::vec((0u64..1500, 40u32..1500, 0u32..5), 1..300),
        ) {
            let jitter = Some(JitterRule { most: Span::from_ms(3), keeps_order: false });
            let impair = Impairments { jitter, duplicate: 0.1, ..Impairments::default() };
            let spec = if impaired {
                spec(queue, Some(LossRule::Probability(0.1)), impair)
            } else {
                spec(queue, None, Impairments::default())
            };
            let mut port: LinkPort<LinkPacket> = LinkPort::new(&spec, 0, 1, false);
            let (mut ledger, mut dropped, mut sent) = (Counts::default(), Vec::new(), Vec::new());
            let (mut now, mut drops) = (Time::ZERO, 0);
            for &(gap_us, size, flow) in &packets {
                now += Span::from_us(gap_us);
                while let Some(due) = port.next_service().filter(|due| *due <= now) {
                    port.read_gauges(due, &mut ledger, || true);
                    sent.extend(port.serve(due, &mut ledger, &mut dropped).map(|next| next.1));
                    drops += dropped.drain(..).count();
                }
                port.read_gauges(now, &mut ledger, || true);
                let packet = LinkPacket { connection: flow, flow, ..packet(size, DATA) };
                match port.offer(packet, now, &mut ledger) {
                    Admission::Dropped => {}
                    Admission::Sent(departure) => sent.push(departure),
                    Admission::Queued => {
                        sent.extend(port.hold(&packet, now, &mut ledger, &mut dropped).map(|next| next.1));
                        drops += dropped.drain(..).count();
                    }
                }
            }
            prop_assert!(port.balances());
            prop_assert_eq!(ledger.refused + ledger.enqueued, packets.len());
            prop_assert_eq!(ledger.enqueued, sent.len() + drops + port.waiting());
            prop_assert_eq!((ledger.departed, ledger.dropped), (sent.len(), drops));
            prop_assert_eq!(ledger.lost, sent.iter().filter(|departure| departure.copies == 0).count());
            prop_assert_eq!(ledger.marked, sent.iter().filter(|departure| departure.marked).count());
            prop_assert!(sent.iter().all(|departure| departure.arrives >= departure.departs + spec.delay));
            prop_assert!(impaired || sent.iter().all(|departure| departure.copies == 1));
            let readings = now.since(Time::ZERO) / Span::from_ms(10) + 1;
            prop_assert_eq!(ledger.gauges.len() as u64, spec.queue.entry.gauges.len() as u64 * readings);
        }
    }
}
