//! The events of the emulated network, in the order of time.
//!
//! Packets that pass the same link or wire mostly arrive in the order in which they left it. They wait in a lane, and
//! only the first packet of each lane takes part in the heap, whose size is then the number of links and wires in use,
//! not the number of packets in flight. The simulator's rings follow the same rule.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use fairhaul_units::Time;

/// The next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A link has sent a packet, and others wait.
    Serve(u32),
    /// A packet is at its next hop; simultaneous packets are ordered by the time at which they left.
    Step { order: u64, slot: u32 },
}

/// The number of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane(u32);

/// An event in the heap, and the lane whose first event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    event: Event,
    lane: Option<Lane>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    /// The packets of each lane, the first of which is in the heap, too.
    lanes: Vec<VecDeque<(Time, Event)>>,
    order: u64,
}

impl EventQueue {
    /// Another lane.
    pub fn lane(&mut self) -> Lane {
        self.lanes.push(VecDeque::new());
        Lane(self.lanes.len() as u32 - 1)
    }

    /// A link is to be served at `at`.
    pub fn serve(&mut self, link: u32, at: Time) {
        self.heap.push(Reverse(Entry { at, event: Event::Serve(link), lane: None }));
    }

    /// The packet in `slot` is at its next hop at `at`. A packet that overtakes others of its lane waits in the heap.
    pub fn step(&mut self, lane: Lane, slot: u32, at: Time) {
        self.order += 1;
        let event = Event::Step { order: self.order, slot };
        let waiting = &mut self.lanes[lane.0 as usize];
        match waiting.back() {
            Some(last) if last.0 <= at => waiting.push_back((at, event)),
            Some(_) => self.heap.push(Reverse(Entry { at, event, lane: None })),
            None => {
                waiting.push_back((at, event));
                self.heap.push(Reverse(Entry { at, event, lane: Some(lane) }));
            }
        }
    }

    /// When the next event is.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|first| first.0.at)
    }

    /// Removes the next event that is at or before `until`.
    pub fn next(&mut self, until: Time) -> Option<(Time, Event)> {
        let mut first = self.heap.peek_mut().filter(|first| first.0.at <= until)?;
        let Entry { at, event, lane } = first.0;
        let following = lane.and_then(|lane| {
            let waiting = &mut self.lanes[lane.0 as usize];
            waiting.pop_front();
            waiting.front()
        });
        match following {
            Some((at, event)) => first.0 = Entry { at: *at, event: *event, lane },
            None => drop(PeekMut::pop(first)),
        }
        Some((at, event))
    }

    /// The number of packets in flight to a hop.
    pub fn steps(&self) -> usize {
        let alone =
            |entry: &&Reverse<Entry>| entry.0.lane.is_none() && matches!(entry.0.event, Event::Step { .. });
        self.heap.iter().filter(alone).count() + self.lanes.iter().map(VecDeque::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{Chance, Span};

    /// Against a plain heap: three lanes, of which one has jitter, and a link that is served.
    #[test]
    fn events_leave_in_the_order_of_time_and_then_of_their_arrival() {
        let (mut queue, mut plain) = (EventQueue::default(), BinaryHeap::new());
        let lanes = [queue.lane(), queue.lane(), queue.lane()];
        let mut chance = Chance::stream(7, "test", 0);
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        for number in 0..5000 {
            let now = number / 2;
            let which = chance.below(4);
            let due = at(now + 10 + if which == 2 { chance.below(30) } else { which });
            if which == 3 {
                queue.serve(number as u32, due);
                plain.push(Reverse((due, Event::Serve(number as u32))));
            } else {
                queue.step(lanes[which as usize], number as u32, due);
                plain.push(Reverse((due, Event::Step { order: queue.order, slot: number as u32 })));
            }
            while let Some(event) = queue.next(at(now)) {
                assert_eq!(Some(Reverse(event)), plain.pop());
            }
            assert!(plain.peek().is_none_or(|first| first.0.0 > at(now)));
            let steps = plain.iter().filter(|entry| matches!(entry.0.1, Event::Step { .. })).count();
            assert_eq!(queue.steps(), steps);
            assert!(steps < 100, "{steps}");
        }
    }

    #[test]
    fn packets_of_a_lane_in_order_cost_one_place_in_the_heap() {
        let mut queue = EventQueue::default();
        let lane = queue.lane();
        (0..1000).for_each(|number| queue.step(lane, number as u32, Time::ZERO + Span::from_us(number)));
        assert_eq!((queue.heap.len(), queue.steps()), (1, 1000));
    }
}
