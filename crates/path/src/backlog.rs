//! The backlog of a link: packets that it has accepted and that have not left, counted as its queue needs them.

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Time};

use crate::queue::{Capacity, Discipline};

/// A limit that is larger is not worth a place for every packet below it.
const MOST_PLACES: u64 = 1 << 20;

/// The departures of the packets that may still be there.
#[derive(Clone, Debug)]
pub(crate) enum Backlog {
    /// Nobody asks.
    Unknown,
    /// Whether fewer are there than a drop-tail queue holds: the one that came so many before has left.
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

/// Departure and size of what has been accepted and has not left.
#[derive(Clone, Debug, Default)]
pub(crate) struct All {
    ahead: VecDeque<(Time, u32)>,
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
    /// Whether one more has room at `now`.
    #[inline(always)]
    pub fn has_room(&self, now: Time) -> bool {
        self.departures.len() < self.most || self.departures[self.oldest] <= now
    }

    /// One more that has room leaves at `departs`.
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
        self.ahead.len() as u64
    }

    /// Size of the one that is being sent, if any.
    pub fn first(&self) -> Option<Bytes> {
        self.ahead.front().map(|first| Bytes(first.1.into()))
    }

    /// One more of `size` leaves at `departs`.
    #[inline(always)]
    pub fn push(&mut self, departs: Time, size: u32) {
        self.ahead.push_back((departs, size));
        self.bytes += Bytes(size.into());
    }

    /// Forgets what has left by `now`.
    #[inline(always)]
    pub fn retire(&mut self, now: Time) {
        while let Some(&(departs, size)) = self.ahead.front() {
            if departs > now {
                break;
            }
            self.bytes = self.bytes - Bytes(size.into());
            self.ahead.pop_front();
        }
    }
}
