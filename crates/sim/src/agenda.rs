//! What happens when: a heap of (time, order), the earliest first.
//!
//! `order` says what happens to whom, so that events of the same picosecond come in an order that
//! follows from their content, never from when they were put in. An entry is 16 bytes; whatever
//! travels waits in a ring of its own, and only the head of each ring has an entry here.

use fairhaul_units::Time;

const CHILDREN: usize = 4;

/// The heap; see the module.
#[derive(Debug, Default)]
pub struct Agenda {
    /// A heap of `time << 64 | order`, each smaller than its four children.
    heap: Vec<u128>,
}

impl Agenda {
    /// What is next.
    pub fn top(&self) -> Option<(Time, u64)> {
        self.heap.first().map(|&entry| (Time::from_ps((entry >> 64) as u64), entry as u64))
    }

    /// Adds an entry.
    pub fn push(&mut self, time: Time, order: u64) {
        self.heap.push(entry(time, order));
        self.rise(self.heap.len() - 1);
    }

    /// Removes what is next.
    pub fn pop(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        if !self.heap.is_empty() {
            self.sink(last);
        }
    }

    /// Puts another entry in the place of what is next.
    pub fn replace_top(&mut self, time: Time, order: u64) {
        self.sink(entry(time, order));
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

fn entry(time: Time, order: u64) -> u128 {
    u128::from(time.as_ps()) << 64 | u128::from(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out_by_time_then_order(steps in proptest::collection::vec((0u64..50, 0u64..9, 0u8..4), 1..300)) {
            let (mut agenda, mut plain) = (Agenda::default(), std::collections::BinaryHeap::new());
            for (time, order, step) in steps {
                match step {
                    0 => { agenda.pop(); plain.pop(); }
                    1 if !plain.is_empty() => {
                        agenda.replace_top(Time::from_ps(time), order);
                        plain.pop();
                        plain.push(std::cmp::Reverse((time, order)));
                    }
                    _ => {
                        agenda.push(Time::from_ps(time), order);
                        plain.push(std::cmp::Reverse((time, order)));
                    }
                }
                let top = agenda.top().map(|(t, order)| std::cmp::Reverse((t.as_ps(), order)));
                prop_assert_eq!(top.as_ref(), plain.peek());
            }
        }
    }
}
