//! One direction of a link, in one of two forms: its queue decides to drop or mark on arrival, or at departure.

use std::num::NonZeroU8;

use fairhaul_units::{Chance, Time};

use crate::buffered_link::BufferedLink;
use crate::link::{Link, LinkTotals};
use crate::link_spec::LinkSpec;
use crate::packet::Packet;
use crate::queue::{Built, Site};

/// See the module. Packets of type `T` wait in its queue.
#[derive(Clone, Debug)]
pub enum LinkModel<T> {
    /// What happens to a packet is known on arrival, so it need not be stored.
    OnArrival(Link),
    /// Packets are stored in the queue.
    AtDeparture(Box<BufferedLink<T>>),
}

impl<T: Packet> LinkModel<T> {
    /// An idle link, whose queue owns `chance`.
    pub fn new(spec: &LinkSpec, chance: Chance) -> LinkModel<T> {
        let &LinkSpec { rate, delay, capacity, mark, .. } = spec;
        match spec.queue.build(&Site { rate: spec.drain_rate(), delay, capacity, mark }, chance) {
            Built::OnArrival(queue) => {
                LinkModel::OnArrival(Link::new(rate, delay, queue).following(&spec.schedule, spec.shaper))
            }
            Built::AtDeparture(rule) => {
                let buffered = BufferedLink::new(rate, delay, capacity, &rule);
                LinkModel::AtDeparture(Box::new(buffered.following(&spec.schedule, spec.shaper)))
            }
        }
    }

    /// The same as the XCP router of that number in its network, where it is one.
    pub fn numbered(self, number: NonZeroU8) -> LinkModel<T> {
        match self {
            LinkModel::AtDeparture(buffered) => LinkModel::AtDeparture(Box::new(buffered.numbered(number))),
            link => link,
        }
    }

    /// How many packets wait.
    pub fn waiting(&self) -> usize {
        match self {
            LinkModel::OnArrival(_) => 0,
            LinkModel::AtDeparture(buffered) => buffered.waiting(),
        }
    }

    /// Adds what the gauges of its queue show at `at` to `shown`.
    pub fn gauges(&mut self, at: Time, shown: &mut Vec<f64>) {
        match self {
            LinkModel::OnArrival(link) => link.gauges(at, shown),
            LinkModel::AtDeparture(buffered) => buffered.gauges(at, shown),
        }
    }

    /// What it has counted.
    pub fn totals(&self) -> LinkTotals {
        match self {
            LinkModel::OnArrival(link) => link.totals(),
            LinkModel::AtDeparture(buffered) => buffered.totals(),
        }
    }
}
