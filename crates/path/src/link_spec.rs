//! The description of a link: what an engine builds its port from.

use fairhaul_units::{Chance, Rate, Span, Time};

use crate::impair::{Impaired, Impairments, Loss, LossRule};
use crate::queue::{Capacity, QueueChoice};
use crate::schedule::{LinkRate, Schedule, WORK_PER_BYTE};
use crate::token_bucket::BucketRule;

/// One direction of a named link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Its name; the other direction has " (reverse)" behind it.
    pub name: String,
    /// What it can carry: at the start, or the mean of a trace.
    pub rate: Rate,
    /// Propagation, one way, at the start.
    pub delay: Span,
    /// What its queue holds.
    pub capacity: Capacity,
    /// What its queue holds before it marks; without limit: it never does.
    pub mark: Capacity,
    /// Its queue, with numbers for all that is automatic.
    pub queue: QueueChoice,
    /// What it loses of the packets that have left the queue, at the start.
    pub loss: Option<LossRule>,
    /// Whether its losses and its policer apply to acknowledgements, too, and not only to data packets.
    pub loses_acks: bool,
    /// What else it does to packets.
    pub impair: Impairments,
    /// Lets packets wait in the queue until a bucket has tokens for them.
    pub shaper: Option<BucketRule>,
    /// What of this changes.
    pub schedule: Schedule,
}

impl LinkSpec {
    /// Whether packets may arrive in another order than that in which they left the queue.
    pub fn disorders(&self) -> bool {
        self.impair.disorders() || self.schedule.disorders(self.delay)
    }

    /// What it does to packets beside carrying and losing them, with a stream for each purpose; most do nothing.
    pub(crate) fn impaired(&self, stream: impl Fn(&str) -> Chance) -> Option<Impaired> {
        (!self.impair.is_none()).then(|| Impaired::new(&self.impair, stream))
    }

    /// What loses packets behind its queue, now or later, which owns `chance`.
    pub(crate) fn loss(&self, chance: Chance) -> Option<Loss> {
        let changes = &self.schedule.losses;
        let rule = self.loss.clone().or_else(|| (!changes.is_empty()).then_some(LossRule::Probability(0.0)));
        rule.map(|rule| Loss::new(rule, chance).with_changes(changes))
    }

    /// What leaves its queue in the long run: its rate, or that of its shaper.
    pub fn drain_rate(&self) -> Rate {
        self.shaper.map_or(self.rate, |shaper| shaper.rate.min(self.rate))
    }

    /// What it can send over time.
    pub(crate) fn link_rate(&self) -> LinkRate {
        LinkRate::new(self.rate, &self.schedule)
    }

    /// What it can send from `from` to `to`, in bytes.
    pub fn offers(&self, from: Time, to: Time) -> f64 {
        self.link_rate().work_between(from, to) as f64 / WORK_PER_BYTE as f64
    }

    /// The same, as far as its shaper lets it: in the long run, without the burst.
    pub fn passes(&self, from: Time, to: Time) -> f64 {
        let shaped = self.shaper.map(|shaper| shaper.rate.as_bps() as f64 / 8.0 * (to - from).as_secs());
        shaped.unwrap_or(f64::INFINITY).min(self.offers(from, to))
    }
}
