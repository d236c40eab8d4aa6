//! The backlog of a link: packets that it has accepted and that have not left, counted as its queue needs them.

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Span, Time};

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

/// What has been accepted and has not left.
#[derive(Clone, Debug, Default)]
pub(crate) struct All {
    ahead: VecDeque<Group>,
    packets: u64,
    pub bytes: Bytes,
}

/// Packets of one size that leave one after the other: when the next of them does, and the time from one to the next.
#[derive(Clone, Copy, Debug)]
struct Group {
    departs: Time,
    step: Span,
    size: u32,
    packets: u8,
}

impl Group {
    /// How many of its packets have left by `now`, at which the first has.
    #[inline(always)]
    fn left_by(&self, now: Time) -> u8 {
        let others = self.packets - 1;
        if now >= self.departs + self.step * u64::from(others) {
            return self.packets;
        }
        ((now - self.departs) / self.step + 1) as u8
    }
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
    /// The same as all that has been accepted and has not left by `now`, packets of `size`.
    pub fn as_all(&self, size: u32, now: Time) -> All {
        let mut all = All::default();
        let (later, earlier) = self.departures.split_at(self.oldest);
        earlier
            .iter()
            .chain(later)
            .filter(|departs| **departs > now)
            .for_each(|departs| all.push(*departs, size));
        all
    }

    /// Whether one more has room at `now`.
    #[inline(always)]
    pub fn has_room(&self, now: Time) -> bool {
        self.departures.len() < self.most || self.departures[self.oldest] <= now
    }

    /// How many are there at `now`.
    pub fn len(&self, now: Time) -> u64 {
        let (later, earlier) = self.departures.split_at(self.oldest);
        let left = |part: &[Time]| part.partition_point(|departs| *departs <= now);
        (self.departures.len() - left(earlier) - left(later)) as u64
    }

    /// One more, which has room, leaves at `departs`.
    #[inline(always)]
    pub fn push(&mut self, departs: Time) {
        if self.departures.len() < self.most {
            return self.departures.push(departs);
        }
        self.departures[self.oldest] = departs;
        self.oldest += 1;
        if self.oldest == self.most {
            self.oldest = 0;
        }
    }
}

impl All {
    pub fn len(&self) -> u64 {
        self.packets
    }

    /// Size of the one that is being sent, if any.
    pub fn first(&self) -> Option<Bytes> {
        self.ahead.front().map(|first| Bytes(first.size.into()))
    }

    /// One packet more leaves at `departs`.
    #[inline(always)]
    pub fn push(&mut self, departs: Time, size: u32) {
        self.push_all(departs, Span::ZERO, size, 1);
    }

    /// `packets` more of that size leave, the first at `departs` and then one after each `step`.
    #[inline(always)]
    pub fn push_all(&mut self, departs: Time, step: Span, size: u32, packets: u8) {
        self.ahead.push_back(Group { departs, step, size, packets });
        self.packets += u64::from(packets);
        self.bytes += Bytes(u64::from(size) * u64::from(packets));
    }

    /// Forgets what has left by `now`.
    #[inline(always)]
    pub fn retire(&mut self, now: Time) {
        while let Some(group) = self.ahead.front_mut().filter(|group| group.departs <= now) {
            let left = group.left_by(now);
            self.bytes = self.bytes - Bytes(u64::from(group.size) * u64::from(left));
            self.packets -= u64::from(left);
            if group.packets == left {
                self.ahead.pop_front();
            } else {
                group.departs += group.step * u64::from(left);
                group.packets -= left;
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A burst has room where its packets have it one by one, whether all departures are known or the last of them.
        #[test]
        fn a_burst_has_room_where_all_its_packets_have(
            most in 1usize..40,
            steps in proptest::collection::vec((1u8..20, 0u64..50, 1u64..30), 1..80),
        ) {
            let mut last = Last { departures: Vec::new(), most, oldest: 0 };
            let mut all = All::default();
            let (mut now, mut departs) = (0u64, 0u64);
            for (packets, gap, step) in steps {
                now += gap;
                let at = Time::from_ps(now);
                let length = last.departures.iter().filter(|departs| **departs > at).count();
                all.retire(at);
                prop_assert_eq!((last.len(at), all.len()), (length as u64, length as u64));
                prop_assert_eq!(all.bytes, Bytes(10 * length as u64));
                let fits = length + usize::from(packets) <= most;
                prop_assert_eq!(last.as_all(10, at).len(), length as u64);
                if fits {
                    let first = departs.max(now) + step;
                    for place in 0..u64::from(packets) {
                        prop_assert!(last.has_room(at));
                        departs = first + place * step;
                        last.push(Time::from_ps(departs));
                    }
                    all.push_all(Time::from_ps(first), Span::from_ps(step), 10, packets);
                }
            }
        }
    }
}
