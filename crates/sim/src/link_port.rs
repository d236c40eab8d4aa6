//! The port at which packets enter a link: its queue, losses, impairments and counters.

use fairhaul_experiment::Scenario;
use fairhaul_path::impair::{Impaired, Loss};
use fairhaul_path::{LinkModel, LinkRate};
use fairhaul_units::{Chance, Time};

use crate::queued_packet::QueuedPacket;

/// See the module.
pub struct LinkPort {
    pub link: LinkModel<QueuedPacket>,
    pub link_rate: LinkRate,
    pub loss: Option<Loss>,
    /// In a box, since most links have none.
    pub impaired: Option<Box<Impaired>>,
    /// Whether packets meet more than the queue and the delay: loss, an impairment, or a count of the bytes sent.
    pub does_more: bool,
    /// When the gauges of its queue are to be read next; never, where it has none.
    pub due: Time,
    pub passed: u64,
    pub policed: u64,
}

impl LinkPort {
    pub fn new(scenario: &Scenario, index: usize) -> LinkPort {
        let spec = &scenario.links[index];
        let stream = |purpose: &str| Chance::stream(scenario.seed, purpose, index as u64);
        let loss = spec.loss(stream("loss"));
        LinkPort {
            link: spec.model(stream("queue")).numbered(scenario.router(index)),
            does_more: loss.is_some() || !spec.impair.is_none() || scenario.counts_bytes(),
            loss,
            link_rate: spec.link_rate(),
            impaired: spec.impaired(stream).map(Box::new),
            due: if spec.queue.entry.gauges.is_empty() { Time::NEVER } else { Time::ZERO },
            passed: 0,
            policed: 0,
        }
    }

    /// Whether a policer lets a data packet in.
    pub fn admits(&mut self, size: u32, now: Time) -> bool {
        let admits = self.impaired.as_mut().is_none_or(|impaired| impaired.admits(size, now));
        self.policed += u64::from(!admits);
        admits
    }

    /// Adds what the gauges of its queue show to `shown`; the next time they are read is at `next`.
    pub fn gauges(&mut self, next: Time, shown: &mut Vec<f64>) {
        self.link.gauges(self.due, shown);
        self.due = next;
    }
}
