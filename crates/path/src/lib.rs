//! Between hosts: links, queue disciplines, flow counters and impairments.
//!
//! Nothing here has a clock: a [`Link`] is driven by the `now` of whoever owns it, the simulator
//! in virtual time or a router with its host's clock.

mod backlog;
mod carrier;
pub mod count;
mod holding;
pub mod impair;
mod link;
pub mod queue;
mod schedule;

pub use carrier::Carrier;
pub use holding::{Departure, Holding};
pub use link::{Link, LinkTotals, Passage, Wire};
pub use schedule::{Ability, Rates, Schedule, WORK_PER_BYTE};
