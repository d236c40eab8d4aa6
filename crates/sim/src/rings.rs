//! Rings: queues of packets that wait for their event, the earliest first.
//!
//! Flows whose packets have taken the same time since they were last in one order share a ring, so a new packet
//! almost always belongs at the end. A packet that would overtake many goes to a heap beside the ring, so that
//! overlapping bursts of several connections cost the logarithm of their size.

use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use fairhaul_units::{Ack, Data, Time};

use crate::event_key::EventKey;
use crate::event_queue::{EventQueue, SlotId};
use crate::route::RingLane;
use crate::waiting_ack::{RareStore, WaitingAck};

/// How far from the end a packet is compared with the waiting packets one by one.
const NEAR: usize = 8;
/// How many packets of a line may move for one that overtakes.
const MOST_MOVED: usize = 64;

/// From this number of packets on, a ring that is full grows by a quarter.
const MANY: usize = 65_536;

/// A packet of a connection, with the time and the key of its event.
#[derive(Clone, Debug)]
struct Waiting<T> {
    time: Time,
    key: EventKey,
    packet: T,
}

impl<T> Waiting<T> {
    #[inline(always)]
    fn sort_key(&self) -> u128 {
        #[cfg(test)]
        tests::count_look();
        self.key.at(self.time)
    }
}

/// A packet that waits beside the line. The first is the greatest, as a heap wants it.
#[derive(Clone, Debug)]
struct Early<T> {
    waiting: Waiting<T>,
    /// Of equals the one that came first is first.
    number: u64,
}

impl<T> Ord for Early<T> {
    fn cmp(&self, other: &Early<T>) -> Ordering {
        let rank = |early: &Early<T>| (early.waiting.sort_key(), early.number);
        rank(other).cmp(&rank(self))
    }
}

impl<T> PartialOrd for Early<T> {
    fn partial_cmp(&self, other: &Early<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Early<T> {
    fn eq(&self, other: &Early<T>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Early<T> {}

/// The packets that wait for events of one kind at one node.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// The packets in order. No packet aside comes before the head, so none is aside while this is empty.
    waiting: VecDeque<Waiting<T>>,
    /// The key of the last packet that was added at the end: no waiting packet has a later one.
    last: u128,
    slot: SlotId,
    /// What would have overtaken many in the line; apart, since in most rings nothing ever does.
    aside: Option<Box<Aside<T>>>,
}

/// Packets that wait beside the line.
#[derive(Clone, Debug)]
struct Aside<T> {
    early: BinaryHeap<Early<T>>,
    /// The latest key that has been put there since it was last empty, and how many have ever been.
    latest: u128,
    numbered: u64,
}

impl<T> Aside<T> {
    /// The first goes back to the line, behind its head, where it comes before all others in it.
    #[inline(never)]
    fn move_first_to(&mut self, line: &mut VecDeque<Waiting<T>>) {
        let Some(first) = self.early.peek_mut() else { return };
        // Of equals those in the line came first.
        if line.get(1).is_none_or(|second| first.waiting.sort_key() < second.sort_key()) {
            line.insert(1, PeekMut::pop(first).waiting);
        }
    }

    fn push(&mut self, waiting: Waiting<T>) {
        let key = waiting.sort_key();
        self.latest = if self.early.is_empty() { key } else { self.latest.max(key) };
        self.early.push(Early { waiting, number: self.numbered });
        self.numbered += 1;
    }
}

impl<T> Ring<T> {
    /// An empty ring whose head is the event of `slot`.
    pub fn new(slot: SlotId) -> Ring<T> {
        Ring { waiting: VecDeque::new(), last: 0, slot, aside: None }
    }

    /// Puts a packet whose event is at `time` in its place; whether it is the first.
    #[inline(always)]
    fn insert_in_order(&mut self, time: Time, key: EventKey, packet: T) -> bool {
        let waiting = Waiting { time, key, packet };
        let key = waiting.sort_key();
        if self.last > key {
            return self.insert_before_last(waiting);
        }
        self.last = key;
        if self.waiting.len() == self.waiting.capacity() {
            self.grow();
        }
        self.waiting.push_back(waiting);
        self.waiting.len() == 1
    }

    /// Makes room for a quarter more where there are many packets; twice the room would take twice the memory.
    #[inline(never)]
    fn grow(&mut self) {
        let packets = self.waiting.len();
        if packets >= MANY {
            self.waiting.reserve_exact(packets / 4);
        }
    }

    #[inline(never)]
    fn insert_before_last(&mut self, waiting: Waiting<T>) -> bool {
        let key = waiting.sort_key();
        // Of equals those in the line are first, so what has an equal beside it, or may have, goes there.
        if self.aside.as_ref().is_some_and(|aside| !aside.early.is_empty() && key <= aside.latest) {
            return self.insert_aside(waiting);
        }
        let near = self.waiting.iter().rev().take(NEAR).position(|other| other.sort_key() <= key);
        let ahead = match near {
            Some(behind) => self.waiting.len() - behind,
            None => self.waiting.partition_point(|other| other.sort_key() <= key),
        };
        if ahead.min(self.waiting.len() - ahead) > MOST_MOVED {
            return self.insert_aside(waiting);
        }
        self.waiting.insert(ahead, waiting);
        ahead == 0
    }

    /// A packet waits beside the line, unless it is the first; whether it is that.
    fn insert_aside(&mut self, waiting: Waiting<T>) -> bool {
        if self.waiting.front().is_none_or(|first| waiting.sort_key() < first.sort_key()) {
            self.waiting.push_front(waiting);
            return true;
        }
        let none = || Box::new(Aside { early: BinaryHeap::new(), latest: 0, numbered: 0 });
        self.aside.get_or_insert_with(none).push(waiting);
        false
    }

    /// Removes the head, whose event is processed; the next head.
    #[inline(always)]
    fn pop_head(&mut self) -> (T, Option<(Time, EventKey)>) {
        if let Some(aside) = &mut self.aside {
            aside.move_first_to(&mut self.waiting);
        }
        let first = self.waiting.pop_front().expect("a ring has an event while a packet waits in it");
        (first.packet, self.waiting.front().map(|next| (next.time, next.key)))
    }

    /// A packet waits.
    #[inline(always)]
    fn push(&mut self, events: &mut EventQueue, time: Time, key: EventKey, packet: T) {
        if self.insert_in_order(time, key, packet) {
            events.set_head(self.slot, Some((time, key)));
        }
    }

    /// Removes the head, whose event is processed.
    #[inline(always)]
    fn pop(&mut self, events: &mut EventQueue) -> T {
        let (packet, next) = self.pop_head();
        events.set_head(self.slot, next);
        packet
    }

    fn memory(&self) -> usize {
        let aside = self.aside.as_ref().map_or(0, |aside| aside.early.capacity());
        self.waiting.capacity() * size_of::<Waiting<T>>() + aside * size_of::<Early<T>>()
    }

    fn serials(&self) -> impl Iterator<Item = u32> {
        let early = self.aside.iter().flat_map(|aside| &aside.early).map(|early| &early.waiting);
        self.waiting.iter().chain(early).map(|waiting| waiting.key.serial())
    }
}

/// All rings of a run.
#[derive(Clone, Debug)]
pub struct Rings {
    data: Vec<Ring<Data>>,
    acks: Vec<Ring<WaitingAck>>,
    rare: RareStore,
}

impl Rings {
    /// Empty rings whose heads are the events of these slots.
    pub fn new(data: &[SlotId], acks: &[SlotId]) -> Rings {
        Rings {
            data: data.iter().map(|&slot| Ring::new(slot)).collect(),
            acks: acks.iter().map(|&slot| Ring::new(slot)).collect(),
            rare: RareStore::default(),
        }
    }

    /// A data packet of connection `serial` waits in `lane`.
    #[inline(always)]
    pub fn push_data(
        &mut self,
        events: &mut EventQueue,
        lane: RingLane,
        serial: u32,
        time: Time,
        data: Data,
    ) {
        self.data[lane.ring() as usize].push(events, time, lane.key(serial), data);
    }

    /// An acknowledgement of connection `serial` waits in `lane`.
    #[inline(always)]
    pub fn push_ack(&mut self, events: &mut EventQueue, lane: RingLane, serial: u32, time: Time, ack: &Ack) {
        self.acks[lane.ring() as usize].push(events, time, lane.key(serial), self.rare.put(ack));
    }

    /// Removes the data packet at the head of a ring, whose event is processed.
    #[inline(always)]
    pub fn pop_data(&mut self, events: &mut EventQueue, ring: u32) -> Data {
        self.data[ring as usize].pop(events)
    }

    /// Removes the acknowledgement at the head of a ring, whose event is processed.
    #[inline(always)]
    pub fn pop_ack(&mut self, events: &mut EventQueue, ring: u32) -> Ack {
        self.rare.take(&self.acks[ring as usize].pop(events))
    }

    /// Their memory, bytes.
    pub fn memory(&self) -> u64 {
        let data: usize = self.data.iter().map(Ring::memory).sum();
        let acks: usize = self.acks.iter().map(Ring::memory).sum();
        (data + acks + self.rare.memory()) as u64
    }

    /// Calls `each` with the connection of everything that waits.
    pub fn each_serial(&self, mut each: impl FnMut(u32)) {
        self.data.iter().flat_map(Ring::serials).for_each(&mut each);
        self.acks.iter().flat_map(Ring::serials).for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        /// How often a test has looked at the key of a waiting packet.
        static LOOKS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count_look() {
        LOOKS.set(LOOKS.get() + 1);
    }

    #[test]
    fn what_overtakes_others_takes_its_place_among_them() {
        let mut ring = Ring::new(SlotId::default());
        let mut insert_in_order =
            |ps, key, packet| ring.insert_in_order(Time::from_ps(ps), EventKey(key), packet);
        assert!(insert_in_order(10, 0, 'a'));
        assert!(!insert_in_order(30, 0, 'b'));
        assert!(!insert_in_order(20, 1, 'c'));
        assert!(!insert_in_order(20, 0, 'd')); // at the same time, with a smaller key
        assert!(!insert_in_order(20, 0, 'e')); // behind its equal
        assert!(insert_in_order(5, 0, 'f'));
        let order: Vec<char> = (0..6).map(|_| ring.pop_head().0).collect();
        assert_eq!(order, ['f', 'a', 'd', 'e', 'c', 'b']);
    }

    /// How many packets of the line moved for the insertion of the packet at `time`, after which there are more than
    /// `before` packets in the line, unless it waits beside it.
    fn moved(ring: &Ring<()>, before: usize, time: Time) -> usize {
        if ring.waiting.len() == before {
            return 0;
        }
        let ahead = ring.waiting.partition_point(|other| other.time < time);
        ahead.min(before - ahead)
    }

    /// Eight bursts over the same time: each packet of all but the first overtakes thousands. 2^19 packets are more
    /// than the 400 000 here: a search takes at most 20 looks, a heap takes at most 2 x 19 of two packets each.
    #[test]
    fn bursts_that_overlap_cost_the_logarithm_of_their_size() {
        const PACKETS: u64 = 8 * 50_000;
        let mut ring = Ring::new(SlotId::default());
        LOOKS.set(0);
        for burst in 0..8u64 {
            for number in 0..50_000u64 {
                let (time, before) = (Time::from_ps(number * 1000 + burst), ring.waiting.len());
                ring.insert_in_order(time, EventKey(burst), ());
                assert!(moved(&ring, before, time) <= MOST_MOVED);
            }
        }
        let inserted = LOOKS.take();
        assert!(inserted <= PACKETS * (1 + NEAR as u64 + 20 + 2 * 19), "{inserted}");
        let mut last = 0;
        while let ((), Some((time, _))) = ring.pop_head() {
            assert!(time.as_ps() > last);
            last = time.as_ps();
        }
        assert_eq!(last, 49_999_007);
        assert!(LOOKS.get() <= PACKETS * (2 + 4 * 19), "{}", LOOKS.get());
    }

    proptest! {
        /// Compared with a list that is sorted anew each time; each change of the head is reported.
        #[test]
        fn packets_that_overtake_many_keep_the_order(
            steps in proptest::collection::vec((0u64..400, any::<bool>()), 400..1200),
        ) {
            let mut ring = Ring::new(SlotId::default());
            let mut plain: Vec<(u64, usize)> = Vec::new();
            for (number, (time, leaves)) in steps.into_iter().enumerate() {
                let first = plain.first().is_none_or(|first| time < first.0);
                prop_assert_eq!(ring.insert_in_order(Time::from_ps(time), EventKey(0), number), first);
                plain.insert(plain.partition_point(|other| other.0 <= time), (time, number));
                if leaves && number > 300 {
                    let (out, next) = ring.pop_head();
                    prop_assert_eq!(out, plain.remove(0).1);
                    prop_assert_eq!(next.map(|next| next.0.as_ps()), plain.first().map(|next| next.0));
                }
                prop_assert_eq!(ring.serials().count(), plain.len());
            }
        }

        #[test]
        fn a_ring_is_sorted_whatever_lines_up(times in proptest::collection::vec(0u64..100, 1..60)) {
            let mut ring = Ring::new(SlotId::default());
            for (number, &time) in times.iter().enumerate() {
                let first = times[..number].iter().all(|&before| time < before);
                prop_assert_eq!(ring.insert_in_order(Time::from_ps(time), EventKey(0), number), first);
            }
            let mut sorted: Vec<usize> = (0..times.len()).collect();
            sorted.sort_by_key(|&number| times[number]);
            let out: Vec<usize> = (0..times.len()).map(|_| ring.pop_head().0).collect();
            prop_assert_eq!(out, sorted);
        }
    }
}
