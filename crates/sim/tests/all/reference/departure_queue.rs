//! Queues that decide at departure, written from the pseudocode of their sources once more: lists that
//! are walked from end to end.

use fairhaul_experiment::Scenario;
use fairhaul_path::queue::{Capacity, CodelRule, FqCodelRule};
use fairhaul_units::{Chance, Data, Ecn, Span, Time};

use super::link::{is_ack, size};
use super::xcp::Xcp;
use super::{DataOrAck, Packet};

/// Drop tail with drops at departure, CoDel, one that thins acknowledgements, with `fair` FQ-CoDel, or with `xcp` an XCP router.
pub struct DepartureQueue {
    target: Span,
    interval: Span,
    max_packet: u64,
    capacity: Capacity,
    fair: bool,
    /// Where acknowledgements are thinned: how many were replaced.
    replaced: Option<u64>,
    /// Whether it is drop tail.
    drops_tail: bool,
    xcp: Option<Xcp>,
    quantum: i64,
    /// In FQ-CoDel: the packet that came when none waited.
    direct: Option<Packet>,
    buckets: Vec<Bucket>,
    new: Vec<usize>,
    old: Vec<usize>,
}

#[derive(Clone, Default)]
struct Bucket {
    packets: Vec<(Time, Packet)>,
    credits: i64,
    first_above_time: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u64,
    lastcount: u64,
}

impl DepartureQueue {
    /// The queue of a link; `None` if it decides on arrival.
    pub fn of(scenario: &Scenario, index: usize, chance: Chance) -> Option<DepartureQueue> {
        let spec = &scenario.links[index];
        let fair = match spec.queue.entry.name {
            "droptail" if spec.queue.entry.at_departure => {
                return Some(DepartureQueue {
                    drops_tail: true,
                    capacity: spec.capacity,
                    ..DepartureQueue::first_in_first_out()
                });
            }
            "ack_filter" => {
                return Some(DepartureQueue {
                    replaced: Some(0),
                    capacity: spec.capacity,
                    ..DepartureQueue::first_in_first_out()
                });
            }
            "codel" => false,
            "fq_codel" => true,
            "xcp" | "xcp_tcp" => {
                return Some(DepartureQueue {
                    xcp: Xcp::of(scenario, index, chance),
                    capacity: spec.capacity,
                    ..DepartureQueue::first_in_first_out()
                });
            }
            _ => return None,
        };
        let codel = CodelRule::from(&spec.queue.settings);
        let buckets = fair.then(|| FqCodelRule::from(&spec.queue.settings));
        Some(DepartureQueue {
            target: codel.target,
            interval: codel.interval,
            max_packet: codel.max_packet as u64,
            capacity: spec.capacity,
            fair,
            replaced: None,
            drops_tail: false,
            xcp: None,
            quantum: buckets.map_or(0, |rule| rule.quantum as i64),
            direct: None,
            buckets: vec![Bucket::default(); buckets.map_or(1, |rule| rule.buckets as usize)],
            new: Vec::new(),
            old: Vec::new(),
        })
    }

    /// Its gauges, in the order of the catalogue.
    pub fn gauges(&self) -> Vec<f64> {
        if let Some(xcp) = &self.xcp {
            return xcp.gauges();
        }
        if let Some(replaced) = self.replaced {
            return vec![replaced as f64];
        }
        if self.drops_tail {
            return Vec::new();
        }
        if !self.fair {
            let Bucket { dropping, count, .. } = self.buckets[0];
            return vec![if dropping { 1.0 } else { 0.0 }, count as f64];
        }
        let backlogged = || self.buckets.iter().filter(|bucket| !bucket.packets.is_empty());
        vec![backlogged().count() as f64, backlogged().filter(|bucket| bucket.dropping).count() as f64]
    }

    fn first_in_first_out() -> DepartureQueue {
        DepartureQueue {
            target: Span::ZERO,
            interval: Span::ZERO,
            max_packet: 0,
            capacity: Capacity::Unlimited,
            fair: false,
            replaced: None,
            drops_tail: false,
            xcp: None,
            quantum: 0,
            direct: None,
            buckets: vec![Bucket::default()],
            new: Vec::new(),
            old: Vec::new(),
        }
    }

    /// The waiting packets.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        let in_buckets =
            self.buckets.iter().flat_map(|bucket| bucket.packets.iter().map(|(_, packet)| packet));
        self.direct.iter().chain(in_buckets)
    }

    /// A packet arrives while `sending` is on the wire, which carries `bps`; the packets that do not fit.
    pub fn arrive(&mut self, packet: Packet, sending: Option<&Packet>, now: Time, bps: u64) -> Vec<Packet> {
        if let Some(xcp) = &mut self.xcp
            && !xcp.arrive(&packet, now, self.buckets[0].bytes(), bps)
        {
            return vec![packet];
        }
        if let Some(replaced) = &mut self.replaced
            && is_ack(&packet)
        {
            let same =
                |waiting: &&mut (Time, Packet)| is_ack(&waiting.1) && waiting.1.serial == packet.serial;
            if let Some(waiting) = self.buckets[0].packets.iter_mut().find(same) {
                *replaced += 1;
                return vec![std::mem::replace(waiting, (now, packet)).1];
            }
        }
        if !self.fair {
            if !self.drops_tail && self.overflows(sending, Some(&packet)) {
                return vec![packet];
            }
            self.buckets[0].packets.push((now, packet));
            return Vec::new();
        }
        if self.waiting().count() == 0 {
            self.direct = Some(packet);
            return if self.overflows(sending, None) {
                self.direct.take().into_iter().collect()
            } else {
                Vec::new()
            };
        }
        let spread = u64::from(packet.serial.wrapping_mul(2_654_435_769));
        let index = (spread * self.buckets.len() as u64 / (1 << 32)) as usize;
        self.buckets[index].packets.push((now, packet));
        if !self.new.contains(&index) && !self.old.contains(&index) {
            self.buckets[index].credits = self.quantum;
            self.new.push(index);
        }
        let mut dropped = Vec::new();
        while self.overflows(sending, None) && self.waiting().count() > 0 {
            let mut fattest = 0;
            for index in 1..self.buckets.len() {
                if self.buckets[index].bytes() > self.buckets[fattest].bytes() {
                    fattest = index;
                }
            }
            let bucket = &mut self.buckets[fattest].packets;
            let first = if bucket.is_empty() { None } else { Some(bucket.remove(0).1) };
            dropped.extend(first.or_else(|| self.direct.take()));
        }
        dropped
    }

    fn overflows(&self, sending: Option<&Packet>, more: Option<&Packet>) -> bool {
        let all: Vec<u64> = self.waiting().chain(sending).chain(more).map(size).collect();
        match self.capacity {
            Capacity::Unlimited => false,
            Capacity::Packets(most) => all.len() as u64 > most,
            Capacity::Bytes(most) => all.iter().sum::<u64>() > most.0,
        }
    }

    /// The next packet to send, whether it was marked just now, and the packets dropped before it.
    pub fn next(&mut self, now: Time, bps: u64) -> (Option<(Packet, bool)>, Vec<Packet>) {
        let mut dropped = Vec::new();
        if let Some(xcp) = &mut self.xcp {
            let waiting = self.buckets[0].bytes();
            if waiting == 0 {
                xcp.idle(now, bps);
                return (None, dropped);
            }
            let (_, mut packet) = self.buckets[0].packets.remove(0);
            xcp.depart(&mut packet, now, waiting, bps);
            return (Some((packet, false)), dropped);
        }
        if self.drops_tail {
            return (self.next_of_tail(&mut dropped), dropped);
        }
        if self.replaced.is_some() {
            let waiting = &mut self.buckets[0].packets;
            return (if waiting.is_empty() { None } else { Some((waiting.remove(0).1, false)) }, dropped);
        }
        if !self.fair {
            return (self.dequeue(0, now, &mut dropped), dropped);
        }
        if let Some(packet) = self.direct.take() {
            return (Some((packet, false)), dropped);
        }
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let Some(&index) = list.first() else { return (None, dropped) };
            if self.buckets[index].credits <= 0 {
                self.buckets[index].credits += self.quantum;
                list.remove(0);
                self.old.push(index);
                continue;
            }
            if let Some((packet, marked)) = self.dequeue(index, now, &mut dropped) {
                self.buckets[index].credits -= size(&packet) as i64;
                return (Some((packet, marked)), dropped);
            }
            let list = if from_new { &mut self.new } else { &mut self.old };
            list.remove(0);
            if from_new {
                self.old.push(index);
            }
        }
    }

    fn next_of_tail(&mut self, dropped: &mut Vec<Packet>) -> Option<(Packet, bool)> {
        loop {
            let bucket = &mut self.buckets[0];
            if bucket.packets.is_empty() {
                return None;
            }
            let packet = bucket.packets.remove(0).1;
            let behind = bucket.packets.len() as u64;
            let is_full = match self.capacity {
                Capacity::Unlimited => false,
                Capacity::Packets(most) => behind >= most,
                Capacity::Bytes(most) => behind > 0 && bucket.bytes() >= most.0,
            };
            if !is_full {
                return Some((packet, false));
            }
            dropped.push(packet);
        }
    }

    fn dodequeue(&mut self, index: usize, now: Time) -> (Option<Packet>, bool) {
        let bucket = &mut self.buckets[index];
        if bucket.packets.is_empty() {
            bucket.first_above_time = None;
            return (None, false);
        }
        let (arrived, packet) = bucket.packets.remove(0);
        let mut ok_to_drop = false;
        if now.since(arrived) < self.target || bucket.bytes() <= self.max_packet {
            bucket.first_above_time = None;
        } else if let Some(first_above) = bucket.first_above_time {
            ok_to_drop = now >= first_above;
        } else {
            bucket.first_above_time = Some(now + self.interval);
        }
        (Some(packet), ok_to_drop)
    }

    fn control_law(&self, time: Time, count: u64) -> Time {
        time + Span::from_ps((self.interval.as_ps() as f64 / libm::sqrt(count as f64)) as u64)
    }

    fn dequeue(&mut self, index: usize, now: Time, dropped: &mut Vec<Packet>) -> Option<(Packet, bool)> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(index, now);
        if self.buckets[index].dropping {
            if !ok_to_drop {
                self.buckets[index].dropping = false;
            }
            while self.buckets[index].dropping && now >= self.buckets[index].drop_next {
                self.buckets[index].count += 1;
                let (due, count) = (self.buckets[index].drop_next, self.buckets[index].count);
                let selected = packet.take().expect("a standing queue has a packet");
                if let Some(marked) = marked(selected) {
                    self.buckets[index].drop_next = self.control_law(due, count);
                    return Some(marked);
                }
                dropped.push(selected);
                (packet, ok_to_drop) = self.dodequeue(index, now);
                if ok_to_drop {
                    self.buckets[index].drop_next = self.control_law(due, count);
                } else {
                    self.buckets[index].dropping = false;
                }
            }
        } else if ok_to_drop {
            let bucket = &mut self.buckets[index];
            bucket.dropping = true;
            let delta = bucket.count - bucket.lastcount;
            let recent = now.since(bucket.drop_next) < self.interval * 16;
            bucket.count = if delta > 1 && recent { delta } else { 1 };
            bucket.lastcount = bucket.count;
            let count = bucket.count;
            self.buckets[index].drop_next = self.control_law(now, count);
            let selected = packet.take().expect("a standing queue has a packet");
            if let Some(marked) = marked(selected) {
                return Some(marked);
            }
            dropped.push(selected);
            packet = self.dodequeue(index, now).0;
        }
        packet.map(|packet| (packet, false))
    }
}

impl Bucket {
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|(_, packet)| size(packet)).sum()
    }
}

/// The packet, marked if it can be; and whether it was not marked before.
fn marked(packet: Packet) -> Option<(Packet, bool)> {
    match packet.content {
        DataOrAck::Data(data) if data.ecn != Ecn::NotCapable => {
            let content = DataOrAck::Data(Data { ecn: Ecn::Marked, ..data });
            Some((Packet { content, ..packet }, data.ecn == Ecn::Capable))
        }
        _ => None,
    }
}
