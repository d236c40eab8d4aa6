//! Queue disciplines, one file each.

mod droptail;

pub use droptail::{Capacity, DropTail};

/// What a discipline that decides on arrival does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It queues.
    Takes,
    /// It queues, marked [RFC 3168, 5].
    Marks,
    /// It is dropped.
    Drops,
}
