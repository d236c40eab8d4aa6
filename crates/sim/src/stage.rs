//! A link at work in a run: its queue, and what it does to packets beside carrying them.

use fairhaul_experiment::Scenario;
use fairhaul_path::impair::{Impaired, Loss};
use fairhaul_path::queue::Built;
use fairhaul_path::{Holding, Link, LinkTotals};
use fairhaul_units::{Chance, Time};

use crate::parcel::Parcel;

/// See the module.
pub struct Stage {
    pub carrier: Carrier,
    pub loss: Option<Loss>,
    /// Apart, since most links have none.
    pub impaired: Option<Box<Impaired>>,
    /// Whether anything but carrying is done to packets: loss, an impairment, or a count of what leaves.
    pub does_more: bool,
    /// When the gauges of its queue are due to be read; never, where it has none.
    pub due: Time,
    pub passed: u64,
    pub policed: u64,
}

/// A link by when its queue decides.
pub enum Carrier {
    OnArrival(Link),
    AtDeparture(Box<Holding<Parcel>>),
}

impl Stage {
    pub fn new(scenario: &Scenario, index: usize) -> Stage {
        let spec = &scenario.links[index];
        let stream = |purpose: &str| Chance::stream(scenario.seed, purpose, index as u64);
        let carrier = match spec.queue(stream("queue")) {
            Built::OnArrival(queue) => {
                Carrier::OnArrival(Link::new(spec.rate, spec.delay, queue).following(&spec.schedule))
            }
            Built::AtDeparture(rule) => {
                let holding = Holding::new(spec.rate, spec.delay, spec.capacity, &rule);
                let holding = holding.following(&spec.schedule).numbered(scenario.router(index));
                Carrier::AtDeparture(Box::new(holding))
            }
        };
        let loss = spec.loss(stream("loss"));
        Stage {
            carrier,
            does_more: loss.is_some() || !spec.impair.is_none() || scenario.counts_bytes(),
            loss,
            impaired: (!spec.impair.is_none()).then(|| Box::new(Impaired::new(&spec.impair, stream))),
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

    /// How many packets wait in a queue that decides at departure.
    pub fn waiting(&self) -> u64 {
        match &self.carrier {
            Carrier::OnArrival(_) => 0,
            Carrier::AtDeparture(holding) => holding.waiting() as u64,
        }
    }

    /// Adds what the gauges of its queue show to `shown`; the next time they are read is at `next`.
    pub fn gauges(&mut self, next: Time, shown: &mut Vec<f64>) {
        match &mut self.carrier {
            Carrier::OnArrival(link) => link.gauges(self.due, shown),
            Carrier::AtDeparture(holding) => holding.gauges(self.due, shown),
        }
        self.due = next;
    }

    pub fn totals(&self) -> LinkTotals {
        match &self.carrier {
            Carrier::OnArrival(link) => link.totals(),
            Carrier::AtDeparture(holding) => holding.totals(),
        }
    }
}
