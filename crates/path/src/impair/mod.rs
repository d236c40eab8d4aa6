//! Impairments of a link, one file each.

mod aggregate;
mod duplicate;
mod jitter;
mod loss;
mod mtu;
mod reorder;
mod timed_bursts;

pub use aggregate::AggregateRule;
pub use duplicate::Duplicate;
pub use jitter::{Jitter, JitterRule};
pub use loss::{Bursts, Loss, LossRule};
use mtu::Mtu;
pub use reorder::{Reorder, ReorderRule};
pub use timed_bursts::TimedBursts;

use fairhaul_units::{Bytes, Chance, Time};

use crate::token_bucket::{BucketRule, TokenBucket};

/// What a link does beside carrying, queueing and losing; by default nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// From when on packets above which size are dropped before the queue, ascending; before: none.
    pub mtu: Vec<(Time, u32)>,
    /// Drops data packets beyond a rate, before the queue.
    pub policer: Option<BucketRule>,
    /// Behind the queue, delays every packet by a random time.
    pub jitter: Option<JitterRule>,
    /// Behind the queue, holds packets and releases them in bursts.
    pub aggregate: Option<AggregateRule>,
    /// Behind the queue, holds some packets so that others overtake them.
    pub reorder: Option<ReorderRule>,
    /// Behind the queue, the probability that a packet arrives twice.
    pub duplicate: f64,
}

impl Impairments {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Impairments::default()
    }

    /// Whether packets may arrive in another order than that in which they left the queue.
    pub fn disorders(&self) -> bool {
        self.reorder.is_some() || self.jitter.is_some_and(|rule| !rule.keeps_order)
    }
}

/// The impairments of a link at work.
#[derive(Clone, Debug)]
pub struct Impaired {
    mtu: Mtu,
    policer: Option<TokenBucket>,
    jitter: Option<Jitter>,
    aggregate: Option<AggregateRule>,
    reorder: Option<Reorder>,
    duplicate: Duplicate,
}

impl Impaired {
    /// A fresh start of `rules`; each draws from the `stream` of its name.
    pub fn new(rules: &Impairments, stream: impl Fn(&str) -> Chance) -> Impaired {
        Impaired {
            mtu: Mtu::new(&rules.mtu),
            policer: rules.policer.map(TokenBucket::new),
            jitter: rules.jitter.map(|rule| Jitter::new(rule, stream("jitter"))),
            aggregate: rules.aggregate,
            reorder: rules.reorder.map(|rule| Reorder::new(rule, stream("reorder"))),
            duplicate: Duplicate::new(rules.duplicate, stream("duplicate")),
        }
    }

    /// Whether a packet of `size` gets to the queue at `now`, which must not run backwards; `policed`: it needs the tokens of
    /// the policer.
    pub fn admits(&mut self, size: u32, policed: bool, now: Time) -> bool {
        let policer = self.policer.as_mut().filter(|_| policed);
        self.mtu.passes(size, now) && policer.is_none_or(|policer| policer.take(Bytes(size.into()), now))
    }

    /// When a packet is at the other end that would be there at `arrives`, and how often: a copy of it may be right
    /// behind it.
    pub fn cross(&mut self, arrives: Time) -> (Time, u8) {
        let jittered = self.jitter.as_mut().map_or(arrives, |jitter| jitter.delays(arrives));
        let released = self.aggregate.map_or(jittered, |rule| rule.releases(jittered));
        let arrives = self.reorder.as_mut().map_or(released, |reorder| released + reorder.holds());
        (arrives, if self.duplicate.doubles() { 2 } else { 1 })
    }
}
