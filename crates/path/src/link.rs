//! A link: a rate, a queue before it, and the way to the next node.
//!
//! The queue decides on arrival, and the rate is constant or changes at times known in advance (`schedule`), so the
//! whole passage of a packet is arithmetic: it leaves at max(now, last departure) + size / rate and arrives after
//! the delay. What is still queued is known from the departures that lie ahead. A caller that is late (a router on
//! a busy host) therefore delays a delivery, but never changes the rate.

use fairhaul_units::{Bytes, Ecn, Rate, Span, Time};

use crate::backlog::{All, Backlog};
use crate::packet::{Burst, LinkPacket};
use crate::queue::{Arrival, Discipline, QueueDecision};
use crate::schedule::{Pace, Schedule};
use crate::token_bucket::BucketRule;

/// Besides a burst that passes as one there is room for two others of the largest size. Otherwise packets of which each has a
/// place before it arrives would keep those of others out that arrive before.
const ROOM_BESIDE: Bytes = Bytes(2 * 65_536);

/// How a packet leaves a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When its last bit leaves.
    pub departs: Time,
    /// When it is at the other end.
    pub arrives: Time,
    /// How long it occupies the link; an outage in which it is at the head of the queue counts.
    pub on_wire: Span,
    /// Whether the queue has marked it.
    pub marked: bool,
    /// How often it arrives: not at all where the link loses it behind the queue, twice where it duplicates it.
    pub copies: u8,
}

impl Departure {
    /// When its first bit leaves, or the outage begins in which it is at the head of the queue.
    #[inline(always)]
    pub fn began(&self) -> Time {
        Time::from_ps(self.departs.as_ps() - self.on_wire.as_ps())
    }

    /// From when to when it occupies the link.
    #[inline(always)]
    pub fn on_link(&self) -> (Time, Time) {
        (self.began(), self.departs)
    }

    /// That of the packet which leaves that number of `places` behind it, all of one size and one after the other.
    #[inline(always)]
    pub fn of_follower(&self, places: u64) -> Departure {
        let later = self.on_wire * places;
        Departure { departs: self.departs + later, arrives: self.arrives + later, ..*self }
    }
}

/// What a link has counted since the start; packets of every kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Packets offered.
    pub arrived: u64,
    /// Packets that the queue refused.
    pub dropped: u64,
}

/// A link without a limit of its queue: packets wait, however long. A host's own interface
/// is one, since it pushes back on its sender instead of dropping.
#[derive(Clone, Debug)]
pub struct Wire {
    rate: Rate,
    delay: Span,
    busy_until: Time,
    /// Of what was sent last: most packets are of one size.
    last: Passage,
}

/// How a packet crosses a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    size: u32,
    /// How long it occupies the wire.
    pub on_wire: Span,
    /// From when its first bit leaves to when it is at the other end.
    crosses: Span,
}

impl Wire {
    /// An idle wire.
    pub fn new(rate: Rate, delay: Span) -> Wire {
        let last = Passage { size: 0, on_wire: Span::ZERO, crosses: delay };
        Wire { rate, delay, busy_until: Time::ZERO, last }
    }

    /// Sends a packet offered at `now`, which must not run backwards: when its last bit leaves, and when it is at the
    /// other end.
    #[inline(always)]
    pub fn send(&mut self, size: u32, now: Time) -> (Time, Time) {
        let passage = self.passage(size);
        self.pass(passage, now)
    }

    /// Sends a burst of packets of that size, of which the first is offered at `now`: its times. Behind the wire they are as far
    /// apart as the slower of what they come from and the wire lets them through.
    pub fn send_burst(&mut self, size: u32, burst: Burst, now: Time) -> (Time, Time) {
        let passage = self.passage(size);
        let (departs, arrives) = self.pass(passage, now);
        let others = u64::from(burst.packets) - 1;
        let last_offered = now + burst.spacing * others;
        self.busy_until = (departs + passage.on_wire * others).max(last_offered + passage.on_wire);
        (departs, arrives)
    }

    /// How long a packet of that size occupies it.
    pub fn occupied_by(&mut self, size: u32) -> Span {
        self.passage(size).on_wire
    }

    /// Sends what crosses it in that way.
    #[inline(always)]
    pub(crate) fn pass(&mut self, passage: Passage, now: Time) -> (Time, Time) {
        let begins = self.busy_until.max(now);
        self.busy_until = begins + passage.on_wire;
        (self.busy_until, begins + passage.crosses)
    }

    /// What goes in its place where its rate or its delay changes, or a shaper is before it.
    pub(crate) fn following(&self, schedule: &Schedule, shaper: Option<BucketRule>) -> Option<Box<Pace>> {
        Pace::following(self.rate, self.delay, schedule, shaper)
    }

    /// What it can carry.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// How a packet crosses the wire.
    #[inline(always)]
    pub(crate) fn passage(&mut self, size: u32) -> Passage {
        if self.last.size != size {
            self.compute_passage(size);
        }
        self.last
    }

    #[inline(never)]
    fn compute_passage(&mut self, size: u32) {
        let on_wire = self.rate.on_wire(Bytes(size.into()));
        self.last = Passage { size, on_wire, crosses: on_wire + self.delay };
    }
}

/// One direction of a link with a queue before it.
#[derive(Clone, Debug)]
pub struct Link {
    wire: Wire,
    /// Used instead of the wire, where something about it changes, or a shaper is before it.
    pace: Option<Box<Pace>>,
    queue: Discipline,
    backlog: Backlog,
    totals: LinkTotals,
}

impl Link {
    /// An idle link.
    pub fn new(rate: Rate, delay: Span, queue: impl Into<Discipline>) -> Link {
        let queue = queue.into();
        Link {
            wire: Wire::new(rate, delay),
            pace: None,
            backlog: Backlog::of(&queue),
            queue,
            totals: LinkTotals::default(),
        }
    }

    /// The same with the rates and delays of `schedule`, behind a shaper.
    pub fn following(self, schedule: &Schedule, shaper: Option<BucketRule>) -> Link {
        Link { pace: self.wire.following(schedule, shaper), ..self }
    }

    /// Offers a packet at `now`, which must not run backwards: how it leaves, unless the queue drops it.
    #[inline(always)]
    pub fn offer(&mut self, packet: &LinkPacket, now: Time) -> Option<Departure> {
        let &LinkPacket { size, ecn, connection, .. } = packet;
        self.totals.arrived += 1;
        let verdict = match &mut self.backlog {
            Backlog::Unknown => QueueDecision::Enqueue,
            Backlog::Last(last) if last.has_room(now) => QueueDecision::Enqueue,
            Backlog::Last(_) => QueueDecision::Drop,
            Backlog::All(_) => self.decide(Bytes(size.into()), ecn, connection, now),
        };
        if verdict == QueueDecision::Drop {
            self.totals.dropped += 1;
            return None;
        }
        let ((departs, arrives), on_wire) = match &mut self.pace {
            None => {
                let passage = self.wire.passage(size);
                (self.wire.pass(passage, now), passage.on_wire)
            }
            Some(pace) => (pace.send(size, now), pace.occupied()),
        };
        match &mut self.backlog {
            Backlog::Unknown => {}
            Backlog::Last(last) => last.push(departs),
            Backlog::All(all) => all.push(departs, size),
        }
        Some(Departure { departs, arrives, on_wire, marked: verdict == QueueDecision::Mark, copies: 1 })
    }

    /// Whether bursts of packets of `size` bytes can pass it as one: the queue asks for nothing but room, at a constant rate,
    /// and each packet is there when it can leave, where they come with that `spacing`.
    pub fn carries_bursts(&mut self, size: u32, spacing: Span) -> bool {
        let Discipline::DropTail(queue) = &self.queue else { return false };
        queue.only_limit().is_some() && self.pace.is_none() && spacing <= self.wire.passage(size).on_wire
    }

    /// Offers a burst, which it [carries](Link::carries_bursts), of packets like `packet`, the first of them at `now`: how the
    /// first leaves, and the others right behind it. `None`: so little room is left that it matters which packets come first,
    /// so each is to be offered at its time.
    pub fn offer_burst(&mut self, packet: &LinkPacket, burst: Burst, now: Time) -> Option<Departure> {
        if let Backlog::Last(last) = &self.backlog {
            // Once there are bursts, what leaves in a row is stored as one.
            self.backlog = Backlog::All(last.as_all(packet.size, now));
        }
        if let (Backlog::All(all), Discipline::DropTail(queue)) = (&mut self.backlog, &self.queue) {
            all.retire(now);
            let (size, count) = (u64::from(packet.size), u64::from(burst.packets));
            let packets = all.len() + count + ROOM_BESIDE.0 / size.max(1);
            let bytes = all.bytes + Bytes(size * count) + ROOM_BESIDE;
            if !queue.only_limit()?.holds(packets, bytes) {
                return None;
            }
        }
        self.totals.arrived += u64::from(burst.packets);
        let on_wire = self.wire.passage(packet.size).on_wire;
        let (departs, arrives) = self.wire.send_burst(packet.size, burst, now);
        if let Backlog::All(all) = &mut self.backlog {
            all.push_all(departs, on_wire, packet.size, burst.packets);
        }
        Some(Departure { departs, arrives, on_wire, marked: false, copies: 1 })
    }

    /// Packets in the queue at `now`, in a queue that counts them.
    pub fn backlog(&mut self, now: Time) -> u64 {
        match &mut self.backlog {
            Backlog::Unknown => 0,
            Backlog::Last(last) => last.len(now),
            Backlog::All(all) => {
                all.retire(now);
                all.len()
            }
        }
    }

    /// What the link has counted.
    pub fn totals(&self) -> LinkTotals {
        self.totals
    }

    /// Adds what the gauges of the queue show at `at`, before anything arrives then, to `shown`, in the
    /// order of its entry.
    pub fn gauges(&mut self, at: Time, shown: &mut Vec<f64>) {
        let busy_until = self.busy_until();
        self.queue.gauges(at, busy_until, shown);
    }

    /// Apart, so that a drop-tail queue that counts packets does not carry the others' code with it.
    #[inline(never)]
    fn decide(&mut self, size: Bytes, ecn: Ecn, flow: u32, now: Time) -> QueueDecision {
        let busy_until = self.busy_until();
        let Backlog::All(all) = &mut self.backlog else { unreachable!("other queues do not decide by this") };
        all.retire(now);
        if let Discipline::DropTail(queue) = &self.queue {
            return queue.decide(size, ecn, all.len(), all.bytes);
        }
        let arrival = arrival(all, size, ecn, flow, now, busy_until);
        match &mut self.queue {
            Discipline::DropTail(_) => unreachable!("it looks at less"),
            Discipline::Red(red) => red.decide(&arrival),
            Discipline::Pie(pie) => pie.decide(&arrival),
            Discipline::KernelPie(pie) => pie.decide(&arrival),
            Discipline::Sred(sred) => sred.decide(&arrival),
        }
    }

    fn busy_until(&self) -> Time {
        self.pace.as_ref().map_or(self.wire.busy_until, |pace| pace.busy_until())
    }
}

/// What a packet finds.
fn arrival(all: &All, size: Bytes, ecn: Ecn, flow: u32, now: Time, busy_until: Time) -> Arrival {
    Arrival {
        size,
        ecn,
        flow,
        now,
        packets: all.len(),
        bytes: all.bytes,
        waiting: all.len().saturating_sub(1),
        waiting_bytes: all.first().map_or(Bytes(0), |first| all.bytes - first),
        busy_until,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;
    use crate::queue::{Built, Capacity, DropTail, QueueChoice, Site};
    use fairhaul_units::{Chance, Sending};
    use proptest::prelude::*;

    fn marking(capacity: Capacity, mark: Capacity) -> Link {
        let queue = DropTail::new(capacity, mark);
        Link::new(Rate::from_bps(8_000_000).expect("not zero"), Span::from_ms(10), queue)
    }

    fn packet(size: u32, ecn: Ecn, connection: u32) -> LinkPacket {
        let (kind, sending) = (PacketKind::Control, Sending::First);
        LinkPacket { connection, size, ecn, flow: 0, kind, sending, counted: 0 }
    }

    fn offer(link: &mut Link, size: u32, ecn: Ecn, connection: u32, now: Time) -> Option<Departure> {
        link.offer(&packet(size, ecn, connection), now)
    }

    fn link(capacity: Capacity) -> Link {
        marking(capacity, Capacity::Unlimited)
    }

    /// Packets of a burst that are offered 0.5 ms apart, and take 1 ms each, leave and arrive as they would one by one, where
    /// the link has been idle and where others wait.
    #[test]
    fn a_burst_crosses_as_its_packets_do() {
        for capacity in [Capacity::Packets(200), Capacity::Bytes(Bytes(200_000)), Capacity::Unlimited] {
            let (mut bursts, mut singles) = (link(capacity), link(capacity));
            let spacing = Span::from_us(500);
            for (packets, ms) in [(5u8, 0), (8, 3), (1, 8), (16, 50), (15, 60)] {
                let now = Time::ZERO + Span::from_ms(ms);
                let burst = Burst { packets, spacing };
                assert!(
                    bursts.carries_bursts(1000, spacing) && !bursts.carries_bursts(1000, Span::from_us(1001))
                );
                let first =
                    bursts.offer_burst(&packet(1000, Ecn::NotCapable, 0), burst, now).expect("it has room");
                for (place, at) in (0..).zip(burst.times(now)) {
                    let single = offer(&mut singles, 1000, Ecn::NotCapable, 0, at).expect("it has room");
                    assert_eq!(first.of_follower(place), single);
                }
            }
            assert_eq!(bursts.totals(), singles.totals());
            let burst = Burst { packets: 80, spacing };
            let refused = bursts
                .offer_burst(&packet(1000, Ecn::NotCapable, 0), burst, Time::ZERO + Span::from_ms(90))
                .is_none();
            assert_eq!(refused, capacity != Capacity::Unlimited);
        }
    }

    #[test]
    fn a_packet_leaves_after_those_before_it_and_arrives_a_delay_later() {
        // 1000 B at 8 Mbit/s take 1 ms.
        let mut link = link(Capacity::Unlimited);
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut passes = |ms| {
            let departure = offer(&mut link, 1000, Ecn::NotCapable, 0, at(ms)).expect("there is no limit");
            (departure.departs, departure.arrives, departure.marked)
        };
        assert_eq!(passes(0), (at(1), at(11), false));
        assert_eq!(passes(0), (at(2), at(12), false));
        assert_eq!(passes(5), (at(6), at(16), false));
    }

    #[test]
    fn the_packet_being_sent_counts_until_its_last_bit_has_left() {
        let mut link = link(Capacity::Packets(2));
        let at = |us| Time::ZERO + Span::from_us(us);
        offer(&mut link, 1000, Ecn::NotCapable, 0, at(0));
        offer(&mut link, 1000, Ecn::NotCapable, 0, at(0));
        assert_eq!(offer(&mut link, 1000, Ecn::NotCapable, 0, at(999)), None);
        assert!(offer(&mut link, 1000, Ecn::NotCapable, 0, at(1000)).is_some());
    }

    #[test]
    fn a_queue_in_bytes_holds_25_small_packets_where_it_holds_one_large() {
        let mut link = link(Capacity::Bytes(Bytes(1000)));
        assert!((0..25).all(|_| offer(&mut link, 40, Ecn::NotCapable, 0, Time::ZERO).is_some()));
        assert_eq!(offer(&mut link, 40, Ecn::NotCapable, 0, Time::ZERO), None);
    }

    #[test]
    fn a_mark_of_2000_bytes_is_reached_by_two_packets_and_leaves_what_cannot_be_marked_alone() {
        let mut link = marking(Capacity::Bytes(Bytes(3000)), Capacity::Bytes(Bytes(2000)));
        let mut marked = |ecn| offer(&mut link, 1000, ecn, 0, Time::ZERO).map(|departure| departure.marked);
        assert_eq!(marked(Ecn::Capable), Some(false));
        assert_eq!(marked(Ecn::Capable), Some(false));
        assert_eq!(marked(Ecn::Capable), Some(true));
        assert_eq!(marked(Ecn::Capable), None);
        assert_eq!(link.totals(), LinkTotals { arrived: 4, dropped: 1 });
    }

    proptest! {
        #[test]
        fn what_arrives_is_dropped_or_passes_in_order_and_the_limit_and_the_mark_hold(
            most in 1u64..8,
            mark in 1u64..8,
            gaps_us in proptest::collection::vec(0u64..3000, 1..200),
        ) {
            let mut link = marking(Capacity::Packets(most), Capacity::Packets(mark));
            let (mut now, mut last, mut passed) = (Time::ZERO, Time::ZERO, Vec::new());
            for (n, gap) in gaps_us.into_iter().enumerate() {
                now += Span::from_us(gap);
                let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][n % 3];
                let found = passed.iter().filter(|&&d| d > now).count() as u64;
                if let Some(Departure { departs, marked, .. }) = offer(&mut link, 1000, ecn, 0, now) {
                    prop_assert_eq!(marked, ecn == Ecn::Capable && found >= mark);
                    prop_assert!(departs > last && departs > now);
                    last = departs;
                    passed.push(departs);
                    let inside = passed.iter().filter(|&&d| d > now).count() as u64;
                    prop_assert!(inside <= most);
                }
            }
            let totals = link.totals();
            prop_assert_eq!(totals.arrived, totals.dropped + passed.len() as u64);
        }

        #[test]
        fn whatever_decides_on_arrival_drops_or_passes_in_order_and_keeps_the_limit(
            name in proptest::sample::select(vec!["droptail", "red", "pie", "sred"]),
            most in 1u64..30,
            seed in any::<u64>(),
            packets in proptest::collection::vec((0u64..1500, 40u32..1500), 1..300),
        ) {
            let rate = Rate::from_bps(8_000_000).expect("not zero");
            let (capacity, mark) = (Capacity::Packets(most), Capacity::Unlimited);
            let site = Site { rate, delay: Span::ZERO, capacity, mark };
            let mut choice = QueueChoice::named(name).expect("it is in the catalogue");
            if name == "red" {
                let values = [("min_threshold", 2.0), ("max_threshold", 6.0), ("q_weight", 0.3)];
                values.iter().for_each(|(key, value)| choice.settings.set(key, *value));
            }
            if name == "pie" {
                [("target", 1.0), ("max_burst", 0.0)].iter().for_each(|(key, value)| choice.settings.set(key, *value));
            }
            if name == "sred" {
                [("flows", 1.0), ("entries", 10.0)].iter().for_each(|(key, value)| choice.settings.set(key, *value));
            }
            let choice = choice.resolved(&site, Bytes(1500)).expect("the values fit");
            let gauges = choice.entry.gauges.len();
            let Built::OnArrival(queue) = choice.build(&site, Chance::stream(seed, "queue", 0)) else { unreachable!() };
            let mut link = Link::new(rate, Span::ZERO, queue);
            let (mut now, mut passed) = (Time::ZERO, Vec::new());
            for (n, (gap_us, size)) in packets.into_iter().enumerate() {
                now += Span::from_us(gap_us);
                let ecn = [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][n % 3];
                let mut shown = Vec::new();
                link.gauges(now, &mut shown);
                prop_assert_eq!(shown.len(), gauges);
                if let Some(Departure { departs, marked, .. }) = offer(&mut link, size, ecn, (n % 5) as u32, now) {
                    prop_assert!(departs > now && passed.last().is_none_or(|last| *last < departs));
                    prop_assert!(!marked || ecn == Ecn::Capable);
                    passed.push(departs);
                    prop_assert!(passed.iter().filter(|&&d| d > now).count() as u64 <= most);
                }
            }
            let totals = link.totals();
            prop_assert_eq!(totals.arrived, totals.dropped + passed.len() as u64);
        }
    }
}
