//! DropTail: first in, first out, and what finds the queue full is dropped.
//!
//! The packet being sent still counts as in the queue, as on a router whose buffer holds it until
//! its last bit has left.

use fairhaul_units::Bytes;

/// What a queue holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// No limit, as in a host's own interface that pushes back on its sender.
    Unlimited,
    /// That many packets of whatever size.
    Packets(u64),
    /// That many bytes on the wire.
    Bytes(Bytes),
}

/// The arrival law of a drop-tail queue.
#[derive(Clone, Copy, Debug)]
pub struct DropTail {
    capacity: Capacity,
}

impl DropTail {
    /// One line of what it is.
    pub const TITLE: &'static str = "First in, first out; what finds the queue full is dropped";

    /// A queue that holds at most `capacity`.
    pub fn new(capacity: Capacity) -> DropTail {
        DropTail { capacity }
    }

    /// Whether a packet of `size` still fits beside `packets` packets of `bytes` in all.
    pub fn admits(&self, size: Bytes, packets: u64, bytes: Bytes) -> bool {
        match self.capacity {
            Capacity::Unlimited => true,
            Capacity::Packets(most) => packets < most,
            Capacity::Bytes(most) => bytes + size <= most,
        }
    }
}
