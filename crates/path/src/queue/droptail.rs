//! DropTail: first in, first out. A packet that finds the queue full is dropped; one that finds it at its marking
//! threshold is marked, if the sender understands marks [RFC 3168].
//!
//! The packet being sent still counts as in the queue, as on a router whose buffer holds it until its last bit has
//! left.

use fairhaul_units::{Bytes, Ecn, Gauge, Parameter};

use super::QueueDecision;

/// What a queue holds at most, or before it marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// No limit, as in a host's own interface that pushes back on its sender.
    Unlimited,
    /// That many packets of whatever size.
    Packets(u64),
    /// That many bytes on the wire.
    Bytes(Bytes),
}

impl Capacity {
    /// Whether `size` still fits beside `packets` packets of `bytes` in all.
    pub(crate) fn admits(self, size: Bytes, packets: u64, bytes: Bytes) -> bool {
        match self {
            Capacity::Unlimited => true,
            Capacity::Packets(most) => packets < most,
            Capacity::Bytes(most) => bytes + size <= most,
        }
    }

    /// Whether `packets` packets of `bytes` in all are not too much.
    pub(crate) fn holds(self, packets: u64, bytes: Bytes) -> bool {
        match self {
            Capacity::Unlimited => true,
            Capacity::Packets(most) => packets <= most,
            Capacity::Bytes(most) => bytes <= most,
        }
    }
}

/// The arrival law of a drop-tail queue.
#[derive(Clone, Copy, Debug)]
pub struct DropTail {
    capacity: Capacity,
    mark: Capacity,
}

impl DropTail {
    /// One line of what it is.
    pub const TITLE: &'static str = "First in, first out; a packet that arrives at a full queue is dropped";
    pub(super) const SOURCE: &'static str = "";
    pub(super) const PARAMETERS: &'static [Parameter] = &[];
    pub(super) const GAUGES: [Gauge; 0] = [];

    /// A queue that holds at most `capacity`, and marks what finds `mark` or more in it;
    /// [`Capacity::Unlimited`]: nothing.
    pub fn new(capacity: Capacity, mark: Capacity) -> DropTail {
        DropTail { capacity, mark }
    }

    /// Its capacity, where that is all it goes by.
    pub(crate) fn only_limit(&self) -> Option<Capacity> {
        (self.mark == Capacity::Unlimited).then_some(self.capacity)
    }

    /// What becomes of a packet of `size` that finds `packets` packets of `bytes` in all.
    pub fn decide(&self, size: Bytes, ecn: Ecn, packets: u64, bytes: Bytes) -> QueueDecision {
        if !self.capacity.admits(size, packets, bytes) {
            return QueueDecision::Drop;
        }
        // The mark is reached where not a byte more would fit below it.
        let reached = ecn.is_unmarked() && !self.mark.admits(Bytes(1), packets, bytes);
        if reached { QueueDecision::Mark } else { QueueDecision::Enqueue }
    }
}
