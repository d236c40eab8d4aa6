//! One direction of a link, by when its queue decides: as a packet comes, or as one leaves.

use std::num::NonZeroU8;

use fairhaul_units::{Rate, Span, Time};

use crate::holding::Holding;
use crate::link::{Link, LinkTotals};
use crate::queue::{Built, Capacity, Packet};
use crate::schedule::Schedule;

/// See the module. Packets of type `T` wait before it.
#[derive(Clone, Debug)]
pub enum Carrier<T> {
    /// The fate of a packet is known as it comes, so none waits.
    OnArrival(Link),
    /// Packets wait by value.
    AtDeparture(Box<Holding<T>>),
}

impl<T: Packet> Carrier<T> {
    /// An idle link.
    pub fn new(rate: Rate, delay: Span, capacity: Capacity, queue: Built, schedule: &Schedule) -> Carrier<T> {
        match queue {
            Built::OnArrival(queue) => Carrier::OnArrival(Link::new(rate, delay, queue).following(schedule)),
            Built::AtDeparture(rule) => {
                let holding = Holding::new(rate, delay, capacity, &rule);
                Carrier::AtDeparture(Box::new(holding.following(schedule)))
            }
        }
    }

    /// The same as the XCP router of that number in its network, where it is one.
    pub fn numbered(self, number: NonZeroU8) -> Carrier<T> {
        match self {
            Carrier::AtDeparture(holding) => Carrier::AtDeparture(Box::new(holding.numbered(number))),
            link => link,
        }
    }

    /// How many packets wait.
    pub fn waiting(&self) -> usize {
        match self {
            Carrier::OnArrival(_) => 0,
            Carrier::AtDeparture(holding) => holding.waiting(),
        }
    }

    /// Adds what the gauges of its queue show at `at` to `shown`.
    pub fn gauges(&mut self, at: Time, shown: &mut Vec<f64>) {
        match self {
            Carrier::OnArrival(link) => link.gauges(at, shown),
            Carrier::AtDeparture(holding) => holding.gauges(at, shown),
        }
    }

    /// What it has seen.
    pub fn totals(&self) -> LinkTotals {
        match self {
            Carrier::OnArrival(link) => link.totals(),
            Carrier::AtDeparture(holding) => holding.totals(),
        }
    }
}
