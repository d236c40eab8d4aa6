//! A link at work in a run: its queue, and what it does to packets beside carrying them.

use fairhaul_experiment::{LinkSpec, Scenario};
use fairhaul_path::impair::{Duplicate, Impairments, Jitter, Loss, LossRule, Policer, Reorder};
use fairhaul_path::queue::Built;
use fairhaul_path::{Holding, Link, LinkTotals};
use fairhaul_units::{Bytes, Chance, Time};

use crate::parcel::Parcel;
use crate::world::Crossing;

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
        let loss = loss(spec, stream("loss"));
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

/// The impairments of a link at work.
pub struct Impaired {
    policer: Option<Policer>,
    jitter: Option<Jitter>,
    reorder: Option<Reorder>,
    duplicate: Duplicate,
}

impl Impaired {
    fn new(rules: &Impairments, stream: impl Fn(&str) -> Chance) -> Impaired {
        Impaired {
            policer: rules.policer.map(Policer::new),
            jitter: rules.jitter.map(|rule| Jitter::new(rule, stream("jitter"))),
            reorder: rules.reorder.map(|rule| Reorder::new(rule, stream("reorder"))),
            duplicate: Duplicate::new(rules.duplicate, stream("duplicate")),
        }
    }

    pub fn admits(&mut self, size: u32, now: Time) -> bool {
        self.policer.as_mut().is_none_or(|policer| policer.admits(Bytes(size.into()), now))
    }

    pub fn cross(&mut self, arrives: Time, marked: bool) -> Crossing {
        let jittered = self.jitter.as_mut().map_or(arrives, |jitter| jitter.delays(arrives));
        let arrives = self.reorder.as_mut().map_or(jittered, |reorder| jittered + reorder.holds());
        Crossing { arrives, marked, twice: self.duplicate.doubles() }
    }
}

/// What `spec` loses now or later.
fn loss(spec: &LinkSpec, chance: Chance) -> Option<Loss> {
    let changes = &spec.schedule.losses;
    let rule = spec.loss.clone().or_else(|| (!changes.is_empty()).then_some(LossRule::Probability(0.0)));
    rule.map(|rule| Loss::new(rule, chance).then(changes))
}
