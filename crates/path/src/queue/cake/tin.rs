//! A tin of CAKE: the queues of its connections, which take turns by bytes, fewer for each the more queues its hosts have
//! [LINUX, cake_dequeue].

use std::collections::{BTreeMap, VecDeque};

use fairhaul_units::{Chance, Ecn, Time, real};

use super::cobalt::{Cobalt, Times, Verdict};
use super::shaper::Clock;
use crate::queue::Queued;

/// In which list a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    None,
    /// It has not used up its first quantum.
    Sparse,
    /// It was empty when that was used up, and waits among the bulk queues.
    SparseWait,
    /// It has a standing queue.
    Bulk,
    /// It is empty, and its AQM is not at rest.
    Decaying,
}

/// Between whom a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hosts {
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// Which hosts share equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Isolation {
    pub(super) by_source: bool,
    pub(super) by_destination: bool,
}

#[derive(Clone, Debug)]
struct Flow<T> {
    queued: VecDeque<Queued<T>>,
    bytes: u64,
    deficit: i64,
    set: Set,
    cobalt: Cobalt,
    hosts: Hosts,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Tin<T> {
    flows: Vec<Flow<T>>,
    fresh: VecDeque<u32>,
    standing: VecDeque<u32>,
    decaying: VecDeque<u32>,
    /// Queues with packets or an unused quantum.
    active: u64,
    /// Bulk queues of each host.
    of_source: BTreeMap<u32, u32>,
    of_destination: BTreeMap<u32, u32>,
    isolation: Isolation,
    quantum: f64,
    times: Times,
    pub(super) clock: Clock,
    /// Where nothing is shaped: bytes of its turn, and of a whole one.
    pub(super) deficit: i64,
    pub(super) turn: i64,
}

impl<T> Tin<T> {
    pub(super) fn new(
        queues: u64,
        isolation: Isolation,
        quantum: f64,
        times: Times,
        clock: Clock,
        turn: i64,
    ) -> Tin<T> {
        let flow = || Flow {
            queued: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            set: Set::None,
            cobalt: Cobalt::default(),
            hosts: Hosts::default(),
        };
        Tin {
            flows: (0..queues).map(|_| flow()).collect(),
            fresh: VecDeque::new(),
            standing: VecDeque::new(),
            decaying: VecDeque::new(),
            active: 0,
            of_source: BTreeMap::new(),
            of_destination: BTreeMap::new(),
            isolation,
            quantum,
            times,
            clock,
            deficit: 0,
            turn,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.flows.iter().flat_map(|flow| flow.queued.iter())
    }

    /// Whether a queue may have something to send.
    pub(super) fn is_active(&self) -> bool {
        self.active > 0
    }

    /// How many queues have packets, and how many of them a standing queue.
    pub(super) fn counts(&self) -> (usize, usize) {
        let listed = || self.fresh.iter().chain(&self.standing).map(|index| &self.flows[*index as usize]);
        let bulk = listed().filter(|flow| flow.set == Set::Bulk).count();
        (listed().filter(|flow| !flow.queued.is_empty()).count(), bulk)
    }

    /// The packets of a queue, to thin them.
    pub(super) fn queue(&mut self, index: u32) -> &mut VecDeque<Queued<T>> {
        &mut self.flows[index as usize].queued
    }

    /// That many bytes were removed from a queue.
    pub(super) fn removed(&mut self, index: u32, size: u32) {
        self.flows[index as usize].bytes -= u64::from(size);
    }

    /// Puts a packet into a queue of these hosts.
    pub(super) fn push(&mut self, index: u32, hosts: Hosts, queued: Queued<T>, chance: &mut Chance) {
        let flow = &mut self.flows[index as usize];
        flow.bytes += u64::from(queued.size);
        flow.queued.push_back(queued);
        match flow.set {
            Set::None | Set::Decaying => {
                if flow.set == Set::Decaying {
                    self.decaying.retain(|other| *other != index);
                }
                let flow = &mut self.flows[index as usize];
                (flow.set, flow.hosts) = (Set::Sparse, hosts);
                self.active += 1;
                self.fresh.push_back(index);
                self.flows[index as usize].deficit = self.quantum_of(hosts, chance);
            }
            Set::SparseWait => self.becomes_bulk(index),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The quantum of a queue: that of the tin by the bulk queues of its hosts, rounded at random.
    fn quantum_of(&self, hosts: Hosts, chance: &mut Chance) -> i64 {
        let of = |counts: &BTreeMap<u32, u32>, host| counts.get(&host).copied().unwrap_or(0);
        let by_source = if self.isolation.by_source { of(&self.of_source, hosts.source) } else { 0 };
        let by_destination =
            if self.isolation.by_destination { of(&self.of_destination, hosts.destination) } else { 0 };
        let load = by_source.max(by_destination).max(1);
        (self.quantum / f64::from(load) + chance.unit()).floor() as i64
    }

    fn becomes_bulk(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.set = Set::Bulk;
        *self.of_source.entry(flow.hosts.source).or_default() += 1;
        *self.of_destination.entry(flow.hosts.destination).or_default() += 1;
    }

    fn is_no_longer_bulk(&mut self, index: u32) {
        let Hosts { source, destination } = self.flows[index as usize].hosts;
        for (counts, host) in [(&mut self.of_source, source), (&mut self.of_destination, destination)] {
            let count = counts.get_mut(&host).expect("a bulk queue is counted");
            *count -= 1;
            if *count == 0 {
                counts.remove(&host);
            }
        }
    }

    /// The queue with most bytes, and how many they are.
    pub(super) fn longest(&self) -> Option<(u32, u64)> {
        let listed = self.fresh.iter().chain(&self.standing);
        let bytes = |index: &u32| self.flows[*index as usize].bytes;
        listed
            .map(|index| (*index, bytes(index)))
            .max_by_key(|(index, bytes)| (*bytes, std::cmp::Reverse(*index)))
    }

    /// Drops the first packet of a queue, because all queues together are full.
    pub(super) fn drop_first(&mut self, index: u32, now: Time) -> Option<Queued<T>> {
        let flow = &mut self.flows[index as usize];
        flow.cobalt.on_full(&self.times, now);
        let queued = flow.queued.pop_front()?;
        flow.bytes -= u64::from(queued.size);
        Some(queued)
    }

    /// The packet that leaves next at `now`, and whether it is marked; the packets dropped before it go to `dropped`. `None`:
    /// no queue has a packet.
    pub(super) fn next(
        &mut self,
        now: Time,
        chance: &mut Chance,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(Queued<T>, bool)> {
        let mut asks_decaying = true;
        loop {
            let list = match (asks_decaying && !self.decaying.is_empty(), self.fresh.is_empty()) {
                (true, _) => &mut self.decaying,
                (false, false) => &mut self.fresh,
                (false, true) if !self.standing.is_empty() => &mut self.standing,
                (false, true) => return None,
            };
            asks_decaying = false;
            let index = list.pop_front().expect("the list is not empty");
            if self.flows[index as usize].deficit <= 0 && self.flows[index as usize].set != Set::Decaying {
                self.renew(index, chance);
                continue;
            }
            if let Some((queued, marked)) = self.take(index, now, chance, dropped) {
                let flow = &mut self.flows[index as usize];
                flow.deficit -= i64::from(queued.size);
                let is_standing = matches!(flow.set, Set::Bulk | Set::SparseWait);
                if is_standing {
                    self.standing.push_front(index)
                } else {
                    self.fresh.push_front(index)
                }
                return Some((queued, marked));
            }
            self.settle(index, now);
        }
    }

    /// A queue has used up its quantum: it gets another, and is among the standing ones.
    fn renew(&mut self, index: u32, chance: &mut Chance) {
        let flow = &mut self.flows[index as usize];
        if flow.set == Set::Sparse {
            if flow.queued.is_empty() { flow.set = Set::SparseWait } else { self.becomes_bulk(index) }
        }
        let more = self.quantum_of(self.flows[index as usize].hosts, chance);
        self.flows[index as usize].deficit += more.max(1);
        self.standing.push_back(index);
    }

    fn take(
        &mut self,
        index: u32,
        now: Time,
        chance: &mut Chance,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(Queued<T>, bool)> {
        let flow = &mut self.flows[index as usize];
        while let Some(mut queued) = flow.queued.pop_front() {
            flow.bytes -= u64::from(queued.size);
            let sojourn = now.since(queued.arrived);
            let verdict = flow.cobalt.decide(&self.times, queued.ecn, sojourn, now, chance);
            // The last packet of a queue is not dropped.
            if verdict == Verdict::Dropped && !flow.queued.is_empty() {
                dropped.push(queued);
                continue;
            }
            let marked = verdict == Verdict::Marked && queued.ecn.is_unmarked();
            if marked {
                queued.ecn = Ecn::Marked;
            }
            return Some((queued, marked));
        }
        None
    }

    /// An empty queue has had its turn: it is kept until its AQM is at rest.
    fn settle(&mut self, index: u32, now: Time) {
        if self.flows[index as usize].set == Set::Bulk {
            self.is_no_longer_bulk(index);
        }
        let flow = &mut self.flows[index as usize];
        flow.cobalt.on_empty(&self.times, now);
        self.active -= u64::from(flow.set != Set::Decaying);
        if flow.cobalt.is_at_rest(now) {
            flow.set = Set::None;
        } else {
            flow.set = Set::Decaying;
            self.decaying.push_back(index);
        }
    }
}

/// The quantum of a tin of that rate, bytes/s [LINUX, cake_set_rate].
pub(super) fn quantum(rate: f64) -> f64 {
    if rate > 0.0 { (rate / 4096.0).floor().clamp(300.0, 1514.0) } else { 1514.0 }
}

/// The times of a tin of that clock [LINUX, cake_set_rate].
pub(super) fn times(
    clock: &Clock,
    mtu: f64,
    target: fairhaul_units::Span,
    interval: fairhaul_units::Span,
) -> Times {
    let packet = clock.time_of(mtu as u64);
    let longer = target.max(packet * 3 / 2);
    Times { target: longer, interval: (interval + longer.saturating_sub(target)).max(longer * 2), packet }
}

/// How many bytes of a turn a tin has that is below others by that shift.
pub(super) fn turn(shift: u32) -> i64 {
    (real(1024) / real(1 << shift)) as i64
}
