//! Between hosts: links, queue disciplines, flow counters and impairments.
//!
//! Nothing here has a clock: a [`Link`] is driven by the `now` of its owner, which is the simulator's time or the
//! clock of the host on which a router runs.

mod backlog;
mod buffered_link;
pub mod count;
pub mod impair;
mod link;
mod link_model;
pub mod queue;
mod schedule;

pub use buffered_link::{BufferedLink, Departure};
pub use link::{Link, LinkOutcome, LinkTotals, Wire};
pub use link_model::LinkModel;
pub use schedule::{LinkRate, Rates, Schedule, WORK_PER_BYTE};
