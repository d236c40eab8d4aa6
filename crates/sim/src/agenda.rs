//! What happens when: the earliest of (time, order).
//!
//! `order` says what happens to whom, so that events of the same picosecond come in an order that
//! follows from their content, never from when they were put in. Whatever travels waits in a ring
//! ([`rings`](crate::rings)), and only the head of each ring is here: the rings play a tournament, in
//! which a ring whose head has changed plays its matches up to the root again. What there are few of
//! (timers, links that have sent a packet) lies in a heap.

use fairhaul_units::Time;

use crate::turn::Order;

const CHILDREN: usize = 4;
/// Later than anything.
const NEVER: u128 = u128::MAX;

/// See the module. An entry is `time << 64 | order`.
#[derive(Debug)]
pub struct Agenda {
    /// The two that meet in each match. The winner of match n plays in match n / 2, and rings come in
    /// behind the last; match 0 is not played.
    matches: Vec<[u128; 2]>,
    /// The winner of all.
    winner: u128,
    /// Each entry is smaller than its four children.
    heap: Vec<u128>,
}

impl Agenda {
    /// Nothing is to happen, and there are so many rings.
    pub fn new(rings: usize) -> Agenda {
        Agenda { matches: vec![[NEVER; 2]; rings.max(1)], winner: NEVER, heap: Vec::new() }
    }

    /// What is next; [`Time::NEVER`]: nothing.
    #[inline(always)]
    pub fn top(&self) -> (Time, Order) {
        let first = self.heap.first().map_or(self.winner, |&other| other.min(self.winner));
        (Time::from_ps((first >> 64) as u64), Order(first as u64))
    }

    /// The head of a ring has changed; `None`: it is empty.
    #[inline(always)]
    pub fn leads(&mut self, ring: usize, head: Option<(Time, Order)>) {
        let mut winner = head.map_or(NEVER, |(time, order)| entry(time, order));
        let mut player = self.matches.len() + ring;
        while player > 1 {
            let pair = &mut self.matches[player / 2];
            pair[player % 2] = winner;
            winner = pair[0].min(pair[1]);
            player /= 2;
        }
        self.winner = winner;
    }

    /// Adds an entry that is no ring's.
    pub fn push(&mut self, time: Time, order: Order) {
        self.heap.push(entry(time, order));
        self.rise(self.heap.len() - 1);
    }

    /// Removes what is next, which is no ring's.
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

    /// Lets `value` take its place from the top.
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
fn entry(time: Time, order: Order) -> u128 {
    u128::from(time.as_ps()) << 64 | u128::from(order.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a list of all: rings have the orders 0 to 4, and of the others each has its own.
        #[test]
        fn what_goes_in_comes_out_by_time_then_order(steps in proptest::collection::vec((0u64..50, 0usize..5, 0u8..4), 1..300)) {
            let mut agenda = Agenda::new(5);
            let (mut rings, mut others) = ([None; 5], std::collections::BTreeSet::new());
            for (number, (time, ring, step)) in steps.into_iter().enumerate() {
                let at = Time::from_ps(time);
                match step {
                    0 => {
                        rings[ring] = None;
                        agenda.leads(ring, None);
                    }
                    1 => {
                        rings[ring] = Some((time, ring as u64));
                        agenda.leads(ring, Some((at, Order(ring as u64))));
                    }
                    2 => {
                        others.insert((time, 5 + number as u64));
                        agenda.push(at, Order(5 + number as u64));
                    }
                    _ if (5..u64::MAX).contains(&agenda.top().1.0) => {
                        others.pop_first();
                        agenda.pop();
                    }
                    _ => {}
                }
                let first = rings.iter().flatten().chain(others.first()).min().copied();
                let (time, order) = agenda.top();
                prop_assert_eq!((time.as_ps(), order.0), first.unwrap_or((u64::MAX, u64::MAX)));
            }
        }
    }
}
