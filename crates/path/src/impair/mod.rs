//! Impairments of a link, one file each.

mod duplicate;
mod jitter;
mod loss;
mod policer;
mod reorder;

pub use duplicate::Duplicate;
pub use jitter::{Jitter, JitterRule};
pub use loss::{Bursts, Loss, LossRule};
pub use policer::{Policer, PolicerRule};
pub use reorder::{Reorder, ReorderRule};

/// What a link does beside carrying, queueing and losing; by default nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Drops data packets beyond a rate, before the queue.
    pub policer: Option<PolicerRule>,
    /// Behind the queue, delays every packet by a random time.
    pub jitter: Option<JitterRule>,
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
