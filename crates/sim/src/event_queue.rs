//! The event queue: the earliest event at each node, by time and key.
//!
//! A node is where events of several connections are processed in the order of time: a link where flows meet, or the
//! hosts. The [`EventKey`] says what happens to which connection, so the order of events in the same picosecond
//! follows from their content, never from when they were added. Packets wait in rings ([`rings`](crate::rings)), and
//! only the head of each ring is an event here: the heads of a node are the leaves of a winner tree (a tournament
//! tree), in which a changed leaf is compared again on its path to the root. The few other events (the timers of the
//! hosts) lie in a heap.

use fairhaul_units::Time;

use crate::event_key::EventKey;

const CHILDREN: usize = 4;
/// Later than anything.
const NEVER: u128 = u128::MAX;

/// The leaf of a winner tree that holds the head of one ring, or the departures of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotId {
    /// The node: the index of a link, or the number of links for the hosts.
    pub node: u32,
    /// Number of the leaf in the tree of that node.
    pub number: u32,
}

/// Up to this many links are searched one by one for the earliest event; more have a winner tree of their own.
const MOST_SCANNED_LINKS: usize = 12;

/// The earliest event of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextEvent {
    /// At which node.
    pub node: usize,
    /// At what time.
    pub now: Time,
    /// Time of the earliest event at any other node.
    pub others: Time,
}

/// See the module. An entry is an [`EventKey`] at its time.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// By node.
    trees: Vec<WinnerTree>,
    /// Over the links, where there are many: leaf n holds the winner of link n.
    links: Option<Box<WinnerTree>>,
    /// Events of the hosts without a ring. Each entry is smaller than its four children.
    heap: Vec<u128>,
}

/// A winner tree of four children per node: the smallest entry of each group is an entry of the group above.
#[derive(Clone, Debug)]
struct WinnerTree {
    groups: Vec<[u128; 4]>,
    /// The number of the first group of each level, from the leaves to the root.
    levels: Vec<u32>,
    winner: u128,
}

impl WinnerTree {
    fn new(slots: u32) -> WinnerTree {
        let (mut levels, mut groups, mut left) = (Vec::new(), 0, slots);
        while left > 1 {
            levels.push(groups);
            left = left.div_ceil(4);
            groups += left;
        }
        WinnerTree { groups: vec![[NEVER; 4]; groups as usize], levels, winner: NEVER }
    }

    /// The entry of a leaf becomes another.
    #[inline(always)]
    fn update(&mut self, slot: u32, entry: u128) {
        let (mut best, mut number) = (entry, slot);
        for first in self.levels.iter() {
            let four = &mut self.groups[(first + number / 4) as usize];
            four[number as usize % 4] = best;
            best = four[0].min(four[1]).min(four[2].min(four[3]));
            number /= 4;
        }
        self.winner = best;
    }

    /// The leaf of the smallest entry, and the smallest of all other entries.
    fn two_earliest(&self) -> (usize, u128) {
        let (mut number, mut second) = (0, NEVER);
        for first in self.levels.iter().rev() {
            let four = &self.groups[*first as usize + number];
            let at = four.iter().position(|entry| *entry == self.winner).unwrap_or(0);
            for other in (0..4).filter(|other| *other != at) {
                second = second.min(four[other]);
            }
            number = number * 4 + at;
        }
        (number, second)
    }
}

impl EventQueue {
    /// An empty queue with that many slots at each node. The last node is the hosts.
    pub fn new(slots: &[u32]) -> EventQueue {
        let trees: Vec<WinnerTree> = slots.iter().map(|&slots| WinnerTree::new(slots)).collect();
        let links = trees.len() - 1;
        let links = (links > MOST_SCANNED_LINKS).then(|| Box::new(WinnerTree::new(links as u32)));
        EventQueue { trees, links, heap: Vec::new() }
    }

    /// The earliest event, where the next transfer begins at `start` at the hosts.
    pub fn next(&self, start: Time) -> NextEvent {
        let hosts = self.trees.len() - 1;
        let at_hosts = time_of(self.earliest_at_hosts()).min(start);
        let (link, first, second) = match &self.links {
            None => self.earliest_links(),
            Some(links) => {
                let (link, second) = links.two_earliest();
                (link, time_of(links.winner), time_of(second))
            }
        };
        if at_hosts <= first {
            return NextEvent { node: hosts, now: at_hosts, others: first };
        }
        NextEvent { node: link, now: first, others: second.min(at_hosts) }
    }

    /// The link with the earliest event, the time of that, and the time of the earliest at any other link.
    fn earliest_links(&self) -> (usize, Time, Time) {
        let (mut link, mut first, mut second) = (0, Time::NEVER, Time::NEVER);
        for (node, tree) in self.trees[..self.trees.len() - 1].iter().enumerate() {
            let time = time_of(tree.winner);
            if time < first {
                (link, second, first) = (node, first, time);
            } else {
                second = second.min(time);
            }
        }
        (link, first, second)
    }

    /// The earliest event at a link; [`Time::NEVER`]: none.
    #[inline(always)]
    pub fn at_link(&self, link: usize) -> (Time, EventKey) {
        unpacked(self.trees[link].winner)
    }

    /// The earliest event at the hosts; [`Time::NEVER`]: none.
    #[inline(always)]
    pub fn at_hosts(&self) -> (Time, EventKey) {
        unpacked(self.earliest_at_hosts())
    }

    #[inline(always)]
    fn earliest_at_hosts(&self) -> u128 {
        let winner = self.trees[self.trees.len() - 1].winner;
        self.heap.first().map_or(winner, |&other| other.min(winner))
    }

    /// The event of `slot` becomes another; `None`: it has none.
    #[inline(always)]
    pub fn set_head(&mut self, slot: SlotId, head: Option<(Time, EventKey)>) {
        let tree = &mut self.trees[slot.node as usize];
        tree.update(slot.number, head.map_or(NEVER, |(time, key)| key.at(time)));
        if self.links.is_some() {
            self.update_links(slot.node);
        }
    }

    /// Updates the tree of all links, where there is one, after a change at `node`.
    #[inline(never)]
    fn update_links(&mut self, node: u32) {
        let winner = self.trees[node as usize].winner;
        let is_link = (node as usize) < self.trees.len() - 1;
        if let Some(links) = self.links.as_mut().filter(|_| is_link) {
            links.update(node, winner);
        }
    }

    /// Adds an event of the hosts that belongs to no ring.
    pub fn push(&mut self, time: Time, key: EventKey) {
        self.heap.push(key.at(time));
        self.rise(self.heap.len() - 1);
    }

    /// Removes the earliest event of the hosts, which belongs to no ring.
    pub fn pop(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        if !self.heap.is_empty() {
            self.sink(last);
        }
    }

    fn rise(&mut self, mut at: usize) {
        let value = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.heap[parent] <= value {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = value;
    }

    /// Moves `value` down from the root to its place.
    fn sink(&mut self, value: u128) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            if first >= heap.len() {
                break;
            }
            let last = (first + CHILDREN).min(heap.len());
            let mut least = first;
            for child in first + 1..last {
                if heap[child] < heap[least] {
                    least = child;
                }
            }
            if value <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = value;
    }
}

#[inline(always)]
fn time_of(entry: u128) -> Time {
    Time::from_ps((entry >> 64) as u64)
}

#[inline(always)]
fn unpacked(entry: u128) -> (Time, EventKey) {
    (Time::from_ps((entry >> 64) as u64), EventKey(entry as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compared with lists of all: twenty rings at link 0, whose keys are 0 to 19, and twenty at the
        /// hosts, whose keys are 20 to 39; each other event of the hosts has a key of its own.
        #[test]
        fn events_come_out_by_time_then_key(steps in proptest::collection::vec((0u64..50, 0u32..40, 0u8..4), 1..300)) {
            let mut queue = EventQueue::new(&[20, 20]);
            let (mut rings, mut others) = ([None; 40], BTreeSet::new());
            for (number, (time, ring, step)) in steps.into_iter().enumerate() {
                let at = Time::from_ps(time);
                let slot = SlotId { node: ring / 20, number: ring % 20 };
                match step {
                    0 => {
                        rings[ring as usize] = None;
                        queue.set_head(slot, None);
                    }
                    1 => {
                        rings[ring as usize] = Some((time, u64::from(ring)));
                        queue.set_head(slot, Some((at, EventKey(ring.into()))));
                    }
                    2 => {
                        others.insert((time, 40 + number as u64));
                        queue.push(at, EventKey(40 + number as u64));
                    }
                    _ if (40..u64::MAX).contains(&queue.at_hosts().1.0) => {
                        others.pop_first();
                        queue.pop();
                    }
                    _ => {}
                }
                let never = (u64::MAX, u64::MAX);
                let link = rings[..20].iter().flatten().min().copied().unwrap_or(never);
                let hosts = rings[20..].iter().flatten().chain(others.first()).min().copied().unwrap_or(never);
                let plain = |(time, key): (Time, EventKey)| (time.as_ps(), key.0);
                prop_assert_eq!((plain(queue.at_link(0)), plain(queue.at_hosts())), (link, hosts));
                let node = usize::from(link.0 >= hosts.0);
                let (now, others) = (link.0.min(hosts.0), link.0.max(hosts.0));
                let next = NextEvent { node, now: Time::from_ps(now), others: Time::from_ps(others) };
                prop_assert_eq!(queue.next(Time::NEVER), next);
                let start = queue.next(Time::ZERO);
                prop_assert_eq!((start.node, start.now, start.others.as_ps()), (1, Time::ZERO, link.0));
            }
        }

        /// A ring at each of few and of many links, compared with the times of all.
        #[test]
        fn the_two_earliest_of_many_links_are_found(
            links in prop_oneof![Just(3usize), Just(12), Just(13), Just(64), Just(100)],
            steps in proptest::collection::vec((0usize..100, 0u64..1000, any::<bool>()), 1..200),
        ) {
            let mut slots = vec![1; links];
            slots.push(0);
            let mut queue = EventQueue::new(&slots);
            let mut times = vec![u64::MAX; links];
            for (link, time, leaves) in steps {
                let link = link % links;
                times[link] = if leaves { u64::MAX } else { time };
                let head = (!leaves).then(|| (Time::from_ps(time), EventKey(link as u64)));
                queue.set_head(SlotId { node: link as u32, number: 0 }, head);
                let NextEvent { node, now, others } = queue.next(Time::NEVER);
                let mut sorted = times.clone();
                sorted.sort_unstable();
                prop_assert_eq!((now.as_ps(), others.as_ps()), (sorted[0], sorted[1]));
                if now < Time::NEVER {
                    prop_assert_eq!(times[node], now.as_ps());
                }
            }
        }
    }
}
