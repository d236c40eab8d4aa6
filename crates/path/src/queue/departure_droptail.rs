//! DropTail with the drops of a switch that looks at its queue in the pipeline behind it [SPANG 2021]: every packet is queued,
//! and the one that would leave is dropped while those behind it are as many as the capacity or more.
//
// Unclear in [SPANG 2021]: whether a packet that is dropped takes its time on the wire. It takes none: otherwise drops would not
// empty the queue.

use std::collections::VecDeque;

use fairhaul_units::Bytes;

use super::{Capacity, Queued};

/// See the module.
#[derive(Clone, Debug)]
pub struct DepartureDropTail<T> {
    queued: VecDeque<Queued<T>>,
    bytes: Bytes,
}

impl<T> Default for DepartureDropTail<T> {
    fn default() -> DepartureDropTail<T> {
        DepartureDropTail { queued: VecDeque::new(), bytes: Bytes(0) }
    }
}

impl<T> DepartureDropTail<T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// The packets that wait, the first in front.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.queued.iter()
    }

    /// Puts a packet behind the others.
    pub fn push(&mut self, queued: Queued<T>) {
        self.bytes += Bytes(queued.size.into());
        self.queued.push_back(queued);
    }

    /// The next packet that is sent; those before it go to `dropped`.
    pub fn next(&mut self, capacity: Capacity, dropped: &mut Vec<Queued<T>>) -> Option<Queued<T>> {
        loop {
            let queued = self.queued.pop_front()?;
            self.bytes = self.bytes - Bytes(queued.size.into());
            // The capacity is reached where not a byte more would fit. The last packet has nothing behind it.
            if self.is_empty() || capacity.admits(Bytes(1), self.queued.len() as u64, self.bytes) {
                return Some(queued);
            }
            dropped.push(queued);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{Ecn, Time};

    /// Of six packets with a capacity of three: behind the first are five, behind the second four and behind the third three,
    /// so the fourth leaves. 3000 B are the same for packets of 1000 B.
    #[test]
    fn at_departure_the_head_is_dropped_while_the_queue_behind_it_is_full() {
        for capacity in [Capacity::Packets(3), Capacity::Bytes(Bytes(3000))] {
            let (mut queue, mut dropped) = (DepartureDropTail::default(), Vec::new());
            let queued = |packet| Queued { packet, size: 1000, ecn: Ecn::NotCapable, arrived: Time::ZERO };
            (1..=6).for_each(|number| queue.push(queued(number)));
            let mut next = |dropped: &mut _| queue.next(capacity, dropped).map(|queued| queued.packet);
            assert_eq!(next(&mut dropped), Some(4));
            assert_eq!(dropped.iter().map(|queued| queued.packet).collect::<Vec<_>>(), [1, 2, 3]);
            assert_eq!(
                [next(&mut dropped), next(&mut dropped), next(&mut dropped)],
                [Some(5), Some(6), None]
            );
            assert_eq!(dropped.len(), 3);
        }
    }
}
