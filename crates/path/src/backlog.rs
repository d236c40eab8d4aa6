//! The backlog of a link: packets that it has accepted and that have not left, counted as its queue needs them.

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Time};

use crate::queue::{Capacity, Discipline};

/// A limit that is larger is not worth a place for every packet below it.
const MOST_PLACES: u64 = 1 << 20;

/// The departures of the packets that may still be there. Its number is one of its own, which every packet asks for, and
/// which is hidden in the values of a variant otherwise.
#[derive(Clone, Debug)]
#[repr(u8)]
pub(crate) enum Backlog {
    /// No queue needs it.
    Unknown,
    /// Whether fewer packets wait than a drop-tail queue holds: whether the packet that came one queue length before
    /// has left.
    Last(Last),
    /// All of them.
    All(All),
}

/// The departures of the last packets accepted, as many as a queue holds.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    departures: Vec<Time>,
    most: usize,
    /// Which of them is the oldest, once there are as many.
    oldest: usize,
}

/// Departure, size and number of packets of what has been accepted and has not left.
#[derive(Clone, Debug, Default)]
pub(crate) struct All {
    ahead: VecDeque<(Time, u32, u8)>,
    packets: u64,
    pub bytes: Bytes,
}

impl Backlog {
    /// Of an empty link with that queue.
    pub fn of(queue: &Discipline) -> Backlog {
        match queue {
            Discipline::DropTail(queue) => match queue.only_limit() {
                Some(Capacity::Unlimited) => Backlog::Unknown,
                Some(Capacity::Packets(most)) if (1..=MOST_PLACES).contains(&most) => {
                    Backlog::Last(Last { departures: Vec::new(), most: most as usize, oldest: 0 })
                }
                _ => Backlog::All(All::default()),
            },
            _ => Backlog::All(All::default()),
        }
    }
}

impl Last {
    /// Whether `packets` more have room at `now`.
    #[inline(always)]
    pub fn has_room(&self, packets: u8, now: Time) -> bool {
        if packets > 1 {
            return self.have_room(packets.into(), now);
        }
        self.departures.len() < self.most || self.departures[self.oldest] <= now
    }

    #[inline(never)]
    fn have_room(&self, packets: usize, now: Time) -> bool {
        // The number of remembered packets that must have left.
        match (self.departures.len() + packets).checked_sub(self.most) {
            None | Some(0) => true,
            Some(left) if left <= self.departures.len() => self.departures[self.place(left - 1)] <= now,
            Some(_) => false,
        }
    }

    /// The place of the departure that is `behind` places after the oldest.
    fn place(&self, behind: usize) -> usize {
        let place = self.oldest + behind;
        if place < self.most { place } else { place - self.most }
    }

    /// How many are there at `now`.
    pub fn len(&self, now: Time) -> u64 {
        let (later, earlier) = self.departures.split_at(self.oldest);
        let left = |part: &[Time]| part.partition_point(|departs| *departs <= now);
        (self.departures.len() - left(earlier) - left(later)) as u64
    }

    /// `packets` more, which have room, leave at `departs`.
    #[inline(always)]
    pub fn push(&mut self, departs: Time, packets: u8) {
        if packets > 1 {
            return self.push_all(departs, packets.into());
        }
        if self.departures.len() < self.most {
            return self.departures.push(departs);
        }
        self.departures[self.oldest] = departs;
        self.oldest += 1;
        if self.oldest == self.most {
            self.oldest = 0;
        }
    }

    #[inline(never)]
    fn push_all(&mut self, departs: Time, packets: usize) {
        let new = packets.min(self.most - self.departures.len());
        self.departures.resize(self.departures.len() + new, departs);
        let end = self.oldest + packets - new;
        self.departures[self.oldest..end.min(self.most)].fill(departs);
        self.departures[..end.saturating_sub(self.most)].fill(departs);
        self.oldest = if end < self.most { end } else { end - self.most };
    }
}

impl All {
    pub fn len(&self) -> u64 {
        self.packets
    }

    /// Size of the one that is being sent, if any.
    pub fn first(&self) -> Option<Bytes> {
        self.ahead.front().map(|first| Bytes(first.1.into()))
    }

    /// One packet more, or `packets` of `size` in all, leave at `departs`.
    #[inline(always)]
    pub fn push(&mut self, departs: Time, size: u32, packets: u8) {
        self.ahead.push_back((departs, size, packets));
        self.packets += u64::from(packets);
        self.bytes += Bytes(size.into());
    }

    /// Forgets what has left by `now`.
    #[inline(always)]
    pub fn retire(&mut self, now: Time) {
        while let Some(&(departs, size, packets)) = self.ahead.front() {
            if departs > now {
                break;
            }
            self.bytes = self.bytes - Bytes(size.into());
            self.packets -= u64::from(packets);
            self.ahead.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A train has room where its packets have it one by one, and takes as many places.
        #[test]
        fn a_train_takes_the_places_of_its_packets(
            most in 1usize..40,
            steps in proptest::collection::vec((1u8..20, 0u64..50, 1u64..30), 1..80),
        ) {
            let mut trains = Last { departures: Vec::new(), most, oldest: 0 };
            let mut singles = trains.clone();
            let (mut now, mut departs) = (0, 0);
            for (packets, gap, takes) in steps {
                now += gap;
                let at = Time::from_ps(now);
                let length = singles.departures.iter().filter(|departs| **departs > at).count();
                prop_assert_eq!(trains.len(at), length as u64);
                let fits = length + usize::from(packets) <= most;
                prop_assert_eq!(trains.has_room(packets, at), fits);
                if fits {
                    departs = departs.max(now) + takes;
                    trains.push(Time::from_ps(departs), packets);
                    for _ in 0..packets {
                        prop_assert!(singles.has_room(1, at));
                        singles.push(Time::from_ps(departs), 1);
                    }
                }
            }
        }
    }
}
