//! A link: a queue in which every packet stays until its own departure.

use std::collections::VecDeque;

use fairhaul_experiment::Scenario;
use fairhaul_path::impair::{Duplicate, Jitter, Loss, LossRule, Reorder};
use fairhaul_path::queue::Capacity;
use fairhaul_path::{LinkPacket, PacketKind, Rates, Schedule, TokenBucket};
use fairhaul_units::{Bytes, Chance, Data, Ecn, Rate, Sending, Span, Time};

use super::aqm::{Aqm, ArrivingPacket, QueueDecision};
use super::calendar::{Calendar, Event};
use super::departure_queue::DepartureQueue;
use super::ledger::{Fact, Ledger};
use super::{DataOrAck, Packet, Place};

/// See the module.
pub struct Link {
    rate: Rate,
    delay: Span,
    capacity: Capacity,
    mark: Capacity,
    /// What drops or marks beside the capacity and the mark.
    aqm: Option<Aqm>,
    /// The queue of packets that are dropped or marked at departure; `queue` then has the packet in transmission.
    departure_queue: Option<DepartureQueue>,
    /// Whether its queue asks for nothing but room, nothing happens behind it, and its rate is constant.
    is_steady: bool,
    /// Whether it knows nothing of XCP, and is no host's own wire.
    plain: bool,
    loss: Option<Loss>,
    /// Whether losses and the policer apply to acknowledgements, too.
    loses_acks: bool,
    policer: Option<TokenBucket>,
    shaper: Option<TokenBucket>,
    /// The same for packets as they arrive, if the queue has a periodic update.
    shaper_ahead: Option<TokenBucket>,
    jitter: Option<Jitter>,
    /// Times between releases, and the first.
    releases: Option<(Span, Time)>,
    reorder: Option<Reorder>,
    duplicate: Option<Duplicate>,
    schedule: Schedule,
    /// How many changes of the rule of loss have been applied.
    loss_changes: usize,
    /// The first is being sent.
    queue: VecDeque<Packet>,
    /// Since when the queue has been as it is.
    since: Time,
    /// When the last packet left.
    left: Time,
    /// When the first began to leave, and when it will have left.
    pub began: Time,
    departs: Time,
    /// When the queue will be empty, if the queue has a periodic update.
    empty_at: Time,
    /// Whether the scenario names it: a connection's own wire is not recorded.
    pub recorded: bool,
}

impl Link {
    /// A link of the scenario.
    pub fn of_scenario(scenario: &Scenario, index: usize) -> Link {
        let spec = &scenario.links[index];
        let chance = |purpose| Chance::stream(scenario.seed, purpose, index as u64);
        let rule = match (&spec.loss, spec.schedule.losses.len()) {
            (None, 1..) => Some(LossRule::Probability(0.0)),
            (rule, _) => rule.clone(),
        };
        Link {
            capacity: spec.capacity,
            mark: spec.mark,
            aqm: Aqm::of(spec, chance("queue")),
            departure_queue: DepartureQueue::of(scenario, index, chance("queue")),
            is_steady: is_steady(scenario, index),
            plain: !spec.queue.entry.answers,
            loses_acks: spec.loses_acks,
            loss: rule.map(|rule| Loss::new(rule, chance("loss"))),
            schedule: spec.schedule.clone(),
            policer: spec.impair.policer.map(TokenBucket::new),
            shaper: spec.shaper.map(TokenBucket::new),
            shaper_ahead: spec.shaper.map(TokenBucket::new),
            jitter: spec.impair.jitter.map(|rule| Jitter::new(rule, chance("jitter"))),
            releases: spec.impair.aggregate.map(|rule| (rule.every, rule.from)),
            reorder: spec.impair.reorder.map(|rule| Reorder::new(rule, chance("reorder"))),
            duplicate: Some(Duplicate::new(spec.impair.duplicate, chance("duplicate"))),
            recorded: true,
            ..Link::wire(spec.rate, spec.delay)
        }
    }

    /// A connection's own wire.
    pub fn wire(rate: Rate, delay: Span) -> Link {
        Link {
            rate,
            delay,
            capacity: Capacity::Unlimited,
            mark: Capacity::Unlimited,
            aqm: None,
            departure_queue: None,
            is_steady: false,
            plain: false,
            loss: None,
            loses_acks: false,
            policer: None,
            shaper: None,
            shaper_ahead: None,
            jitter: None,
            releases: None,
            reorder: None,
            duplicate: None,
            schedule: Schedule::default(),
            loss_changes: 0,
            queue: VecDeque::new(),
            since: Time::ZERO,
            left: Time::ZERO,
            began: Time::ZERO,
            departs: Time::ZERO,
            empty_at: Time::ZERO,
            recorded: false,
        }
    }

    /// When a packet that has been sent at `now` is at the other end, and how many of it.
    pub fn propagate(&mut self, now: Time) -> (Time, usize) {
        let mut changes = self.schedule.delays.iter().rev().filter(|change| change.0 <= now);
        let mut arrives = now + changes.next().map_or(self.delay, |change| change.1);
        if let Some(jitter) = &mut self.jitter {
            arrives = jitter.delays(arrives);
        }
        if let Some((every, from)) = self.releases
            && arrives > from
            && !((arrives - from) % every).is_zero()
        {
            arrives += every - (arrives - from) % every;
        }
        if let Some(reorder) = &mut self.reorder {
            arrives += reorder.holds();
        }
        let twice = self.duplicate.as_mut().is_some_and(Duplicate::doubles);
        (arrives, if twice { 2 } else { 1 })
    }

    /// A packet arrives; returns the packets that are dropped. `me` is the number of this link.
    pub fn offer(
        &mut self,
        mut packet: Packet,
        now: Time,
        me: usize,
        calendar: &mut Calendar,
        ledger: &mut Ledger,
    ) -> Vec<Packet> {
        packet.offered = now;
        let policer = self.policer.as_mut().filter(|_| may_lose(&packet, self.loses_acks));
        let policed = policer.is_some_and(|policer| !policer.take(Bytes(size(&packet)), now));
        if self.departure_queue.is_some() && !policed {
            return self.enqueue(packet, now, me, calendar, ledger);
        }
        let decision = if policed { QueueDecision::Dropped } else { self.decide(&packet, now) };
        let fits = decision != QueueDecision::Dropped;
        if self.recorded {
            ledger.note(now, Fact::Offered { link: me, refused: !fits });
        }
        if !fits {
            return vec![packet];
        }
        if let DataOrAck::Data(Data { ecn: ecn @ Ecn::Capable, .. }) = &mut packet.content
            && decision == QueueDecision::Marked
        {
            *ecn = Ecn::Marked;
            ledger.note(now, Fact::Marked { link: me, offered: now });
        }
        self.record_backlog(now, me, ledger);
        if self.aqm.as_ref().is_some_and(|aqm| aqm.period().is_some()) {
            let begins = starts(&mut self.shaper_ahead, size(&packet), self.empty_at.max(now));
            self.empty_at = self.sent(size(&packet), begins);
        }
        packet.is_doomed = self.is_steady && self.draws_loss(&packet, 0, now);
        self.queue.push_back(packet);
        if self.queue.len() == 1 {
            self.send_first(now, me, calendar);
        }
        Vec::new()
    }

    /// Whether it carries a burst as one: no packet comes later than it could leave.
    pub fn carries_bursts(&self, burst: &Data, spacing: Span) -> bool {
        self.is_steady && spacing <= self.on_wire(u64::from(burst.size) / u64::from(burst.packets))
    }

    /// How long a packet of that size takes at the rate of the link.
    pub fn on_wire(&self, size: u64) -> Span {
        self.rate.on_wire(Bytes(size))
    }

    /// Whether none of the packets of a burst will be lost, and there is room for it and for two others of the largest size.
    pub fn takes_whole(&self, burst: &Data) -> bool {
        let spared = self.loss.as_ref().map_or(u64::MAX, Loss::spared);
        if spared < burst.packets.into() {
            return false;
        }
        let single = u64::from(burst.size) / u64::from(burst.packets);
        let packets = self.packets() + u64::from(burst.packets) + 2 * 65_536 / single;
        self.holds(packets, self.bytes() + u64::from(burst.size) + 2 * 65_536)
    }

    /// The packets of a burst arrive, the first at `now` and then one after each `spacing`. They leave in a row: what others offer
    /// in between leaves behind them.
    pub fn offer_burst(
        &mut self,
        packet: &Packet,
        burst: &Data,
        now: Time,
        me: usize,
        calendar: &mut Calendar,
        ledger: &mut Ledger,
    ) {
        let is_idle = self.queue.is_empty();
        self.loss.iter_mut().for_each(|loss| loss.pass(burst.packets));
        for (place, data) in (0..).zip(burst.each()) {
            let at = now + packet.spacing * place;
            ledger.note(at, Fact::Offered { link: me, refused: false });
            let place = if place == 0 { Place::Leads(*burst) } else { Place::Follows };
            self.queue.push_back(Packet { offered: at, content: DataOrAck::Data(data), place, ..*packet });
        }
        if is_idle {
            self.send_first(now, me, calendar);
        }
    }

    /// Whether the capacity holds that much.
    fn holds(&self, packets: u64, bytes: u64) -> bool {
        match self.capacity {
            Capacity::Unlimited => true,
            Capacity::Packets(most) => packets <= most,
            Capacity::Bytes(most) => bytes <= most.0,
        }
    }

    /// Whether a burst is crossing this wire.
    pub fn is_burst(&self) -> bool {
        packets(&self.queue[0]) > 1
    }

    /// The burst has crossed this wire.
    pub fn depart_from_wire(&mut self, now: Time, me: usize, calendar: &mut Calendar) {
        self.queue.pop_front();
        if !self.queue.is_empty() {
            self.send_first(now, me, calendar);
        }
    }

    /// A packet arrives at a queue that decides at departure.
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        me: usize,
        calendar: &mut Calendar,
        ledger: &mut Ledger,
    ) -> Vec<Packet> {
        ledger.note(now, Fact::Offered { link: me, refused: false });
        self.record_backlog(now, me, ledger);
        let bps = self.bps(now);
        let departure_queue = self.departure_queue.as_mut().expect("it decides at departure");
        let mut dropped = departure_queue.arrive(packet, self.queue.front(), now, bps);
        dropped.iter().for_each(|packet| {
            ledger.note(now, Fact::DroppedAfterQueue { link: me, offered: packet.offered })
        });
        if self.queue.is_empty() {
            dropped.extend(self.send_next(now, me, calendar, ledger));
        }
        dropped
    }

    /// A queue that decides at departure selects the next packet; returns the packets that it drops before.
    fn send_next(
        &mut self,
        now: Time,
        me: usize,
        calendar: &mut Calendar,
        ledger: &mut Ledger,
    ) -> Vec<Packet> {
        let bps = self.bps(now);
        let Some(departure_queue) = &mut self.departure_queue else { return Vec::new() };
        let (next, dropped) = departure_queue.next(now, bps);
        dropped.iter().for_each(|packet| {
            ledger.note(now, Fact::DroppedAfterQueue { link: me, offered: packet.offered })
        });
        if let Some((packet, marked)) = next {
            if marked {
                ledger.note(now, Fact::Marked { link: me, offered: packet.offered });
            }
            self.queue.push_back(packet);
            self.send_first(now, me, calendar);
        }
        dropped
    }

    fn fits(&self, packet: &Packet) -> bool {
        self.holds(self.packets() + 1, self.bytes() + size(packet))
    }

    /// What the queue decides about an arriving packet.
    fn decide(&mut self, packet: &Packet, now: Time) -> QueueDecision {
        let fits = self.fits(packet);
        if let Some(aqm) = &mut self.aqm {
            let ecn = if let DataOrAck::Data(data) = &packet.content { data.ecn } else { Ecn::NotCapable };
            let sizes: Vec<u64> = self.queue.iter().map(size).collect();
            let packet = ArrivingPacket { id: packet.serial, size: size(packet), ecn };
            return aqm.arrive(packet, fits, &sizes, self.left, now);
        }
        let reached = match self.mark {
            Capacity::Unlimited => false,
            Capacity::Packets(least) => self.packets() >= least,
            Capacity::Bytes(least) => self.bytes() >= least.0,
        };
        match (fits, reached) {
            (false, _) => QueueDecision::Dropped,
            (true, true) => QueueDecision::Marked,
            (true, false) => QueueDecision::Accepted,
        }
    }

    /// The first packet has been sent; returns it, and the packets dropped before the next begins to leave.
    pub fn depart(
        &mut self,
        now: Time,
        me: usize,
        calendar: &mut Calendar,
        ledger: &mut Ledger,
    ) -> (Packet, Vec<Packet>) {
        self.record_backlog(now, me, ledger);
        let mut packet = self.queue.pop_front().expect("a departure has a packet");
        if let DataOrAck::Data(Data { congestion: Some(header), .. }) = &mut packet.content
            && self.plain
        {
            header.plain = header.plain.saturating_add(1);
        }
        self.left = now;
        if self.is_steady {
            let (bytes, since) = (size(&packet), packet.offered);
            ledger.note(now, Fact::Backlog { link: me, packets: 1, bytes, since });
        }
        if !self.queue.is_empty() {
            self.send_first(now, me, calendar);
        }
        let dropped = self.send_next(now, me, calendar, ledger);
        (packet, dropped)
    }

    /// Whether a packet that has been sent is lost. Where bursts may pass, that was drawn when it came.
    pub fn loses(&mut self, packet: &Packet, flow: u32, now: Time) -> bool {
        if self.is_steady { packet.is_doomed } else { self.draws_loss(packet, flow, now) }
    }

    fn draws_loss(&mut self, packet: &Packet, flow: u32, now: Time) -> bool {
        match &mut self.loss {
            Some(loss) if may_lose(packet, self.loses_acks) => {
                while let Some((at, rule)) =
                    self.schedule.losses.get(self.loss_changes).filter(|c| c.0 <= now)
                {
                    loss.change_rule(rule.clone(), *at);
                    self.loss_changes += 1;
                }
                loss.loses(&at_link(packet, flow), now)
            }
            _ => false,
        }
    }

    /// Notes that the queue has been as it is until `now`; where bursts may pass, what has been in it leaves or the run ends.
    pub fn record_backlog(&mut self, now: Time, me: usize, ledger: &mut Ledger) {
        if !self.is_steady && self.recorded && !self.queue.is_empty() {
            let all = self.queue.iter().chain(self.departure_queue.iter().flat_map(DepartureQueue::waiting));
            let (packets, bytes) = all.fold((0, 0), |sum, packet| (sum.0 + 1, sum.1 + size(packet)));
            ledger.note(now, Fact::Backlog { link: me, packets, bytes, since: self.since });
        }
        self.since = now;
    }

    fn send_first(&mut self, now: Time, me: usize, calendar: &mut Calendar) {
        let packet = self.queue[0];
        if packets(&packet) > 1 {
            // On a wire a burst is at the next hop when its first packet is.
            let first = self.on_wire(size(&packet) / packets(&packet));
            let last_offered = packet.offered + packet.spacing * (packets(&packet) - 1);
            self.departs = (now + first * packets(&packet)).max(last_offered + first);
            calendar.add(now + first + self.delay, Event::Arrival(Packet { hop: packet.hop + 1, ..packet }));
        } else {
            let begins = starts(&mut self.shaper, size(&packet), now.max(packet.offered));
            (self.began, self.departs) = (begins, self.sent(size(&packet), begins));
        }
        calendar.add(self.departs, Event::Departure(me));
    }

    /// The run ends: what is still in the queue.
    pub fn record_rest(&mut self, end: Time, me: usize, ledger: &mut Ledger) {
        self.record_backlog(end, me, ledger);
        for packet in self.queue.iter().filter(|packet| self.is_steady && packet.offered < end) {
            let (bytes, since) = (size(packet), packet.offered);
            ledger.note(end, Fact::Backlog { link: me, packets: 1, bytes, since });
        }
    }

    fn packets(&self) -> u64 {
        self.queue.len() as u64
    }

    /// The packet in transmission, and the end of its transmission.
    pub fn sending(&self) -> Option<(Packet, Time)> {
        self.queue.front().map(|packet| (*packet, self.departs))
    }

    /// When a packet of `bytes` has been sent that begins to leave at `now`.
    fn sent(&self, bytes: u64, now: Time) -> Time {
        match &self.schedule.rates {
            None => now + self.rate.on_wire(Bytes(bytes)),
            Some(rates) => stepped(rates, bytes, now),
        }
    }

    /// The rate now.
    fn bps(&self, now: Time) -> u64 {
        let shaped = self.shaper.as_ref().map_or(u64::MAX, |shaper| shaper.rate().as_bps());
        self.wire_bps(now).min(shaped)
    }

    fn wire_bps(&self, now: Time) -> u64 {
        let Some(rates) = &self.schedule.rates else { return self.rate.as_bps() };
        let at = now.as_ps() % rates.lap().map_or(u64::MAX, Span::as_ps);
        let steps: Vec<(Span, u64)> = rates.steps().collect();
        steps.iter().rev().find(|step| step.0.as_ps() <= at).expect("one is at zero").1
    }

    /// The periodic update of the queue.
    pub fn update_queue(&mut self, now: Time, me: usize, calendar: &mut Calendar) {
        let Some(period) = self.aqm.as_ref().and_then(Aqm::period) else { return };
        if now > Time::ZERO {
            let delay = self.empty_at.since(now);
            self.aqm.iter_mut().for_each(|aqm| aqm.update(delay));
        }
        calendar.add(now + period, Event::QueueUpdate(me));
    }

    /// The gauges of its queue.
    pub fn gauges(&self) -> Vec<f64> {
        let early = self.aqm.iter().flat_map(Aqm::gauges);
        early.chain(self.departure_queue.iter().flat_map(DepartureQueue::gauges)).collect()
    }

    fn bytes(&self) -> u64 {
        self.queue.iter().map(size).sum()
    }
}

/// When `bytes` have left that begin to leave at `now`, piece by piece of the rate; never if nothing has been
/// sent for an hour.
fn stepped(rates: &Rates, bytes: u64, now: Time) -> Time {
    const HOUR: u64 = 3_600_000_000_000_000;
    let steps: Vec<(u64, u64)> = rates.steps().map(|(at, bps)| (at.as_ps(), bps)).collect();
    let lap = rates.lap().map(Span::as_ps);
    let (mut at, mut left) = (now.as_ps(), u128::from(bytes) * 8 * 1_000_000_000_000);
    while at < now.as_ps().saturating_add(HOUR) {
        let begun = lap.map_or(0, |lap| at / lap * lap);
        let (_, bps) = *steps.iter().rev().find(|step| begun + step.0 <= at).expect("one is at zero");
        let next = steps.iter().map(|step| begun + step.0).find(|&from| from > at);
        let ends = next.or(lap.map(|lap| begun + lap)).unwrap_or(u64::MAX);
        let sendable = u128::from(bps) * u128::from(ends - at);
        if sendable >= left {
            return Time::from_ps(at + left.div_ceil(bps.into()) as u64);
        }
        left -= sendable;
        at = ends;
    }
    Time::NEVER
}

/// See [`Link::is_steady`].
fn is_steady(scenario: &Scenario, index: usize) -> bool {
    let spec = &scenario.links[index];
    let is_plain = matches!(spec.loss, None | Some(LossRule::Spaced(_)))
        && spec.impair.is_none()
        && spec.shaper.is_none();
    let is_droptail = spec.queue.entry.name == "droptail"
        && !spec.queue.entry.at_departure
        && spec.mark == Capacity::Unlimited;
    is_plain && is_droptail && spec.schedule.is_none() && !scenario.counts_bytes()
}

/// When a packet has its tokens.
fn starts(shaper: &mut Option<TokenBucket>, bytes: u64, now: Time) -> Time {
    shaper.as_mut().map_or(now, |shaper| shaper.wait(Bytes(bytes), now))
}

/// What a rule of loss reads of a packet.
fn at_link(packet: &Packet, flow: u32) -> LinkPacket {
    let (kind, ecn, sending) = match packet.content {
        DataOrAck::Data(data) => (PacketKind::Data, data.ecn, data.sending),
        DataOrAck::Ack(_) => (PacketKind::Ack, Ecn::NotCapable, Sending::First),
    };
    let (connection, size) = (packet.serial, size(packet) as u32);
    LinkPacket { connection, size, ecn, flow, kind, sending, counted: 0 }
}

/// Whether losses and a policer apply to a packet.
fn may_lose(packet: &Packet, loses_acks: bool) -> bool {
    match packet.content {
        DataOrAck::Data(data) => !data.opens(),
        DataOrAck::Ack(ack) => loses_acks && !ack.opens,
    }
}

/// Whether it is an acknowledgement, and no answer that opens a connection.
pub fn is_ack(packet: &Packet) -> bool {
    matches!(packet.content, DataOrAck::Ack(ack) if !ack.opens)
}

/// How many packets a burst is; one is one.
pub fn packets(packet: &Packet) -> u64 {
    match packet.content {
        DataOrAck::Data(data) => u64::from(data.packets).max(1),
        DataOrAck::Ack(_) => 1,
    }
}

/// On the wire.
pub fn size(packet: &Packet) -> u64 {
    match packet.content {
        DataOrAck::Data(data) => data.size.into(),
        DataOrAck::Ack(ack) => ack.size().into(),
    }
}
