//! Between hosts: links, queue disciplines, flow counters and impairments.
//!
//! Nothing here has a clock: a [`LinkPort`] is driven by the `now` of its owner, which is the simulator's time or the
//! clock of the host on which a router runs.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod backlog;
mod buffered_link;
pub mod card;
pub mod count;
pub mod impair;
mod link;
mod link_ledger;
mod link_model;
mod link_port;
mod link_spec;
mod packet;
pub mod queue;
mod schedule;
mod steps;
mod token_bucket;

pub use link::{Departure, Wire};
pub use link_ledger::LinkLedger;
pub use link_port::{Admission, LinkPort};
pub use link_spec::LinkSpec;
pub use packet::{Burst, LinkPacket, Packet, PacketKind};
pub use schedule::{LinkRate, Rates, Schedule, WORK_PER_BYTE};
pub use token_bucket::{BucketRule, TokenBucket};
