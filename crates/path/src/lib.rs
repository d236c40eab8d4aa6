//! Between hosts: links, queue disciplines, flow counters and impairments.
//!
//! Nothing here has a clock: a [`Link`] is driven by the `now` of its owner, the simulator
//! in virtual time or a router with its host's clock.

mod backlog;
mod buffered_link;
pub mod count;
pub mod impair;
mod link;
mod link_model;
mod link_spec;
pub mod queue;
mod schedule;

pub use buffered_link::{BufferedLink, Departure};
pub use link::{Link, LinkOutcome, LinkTotals, Wire};
pub use link_model::LinkModel;
pub use link_spec::LinkSpec;
pub use schedule::{LinkRate, Rates, Schedule, WORK_PER_BYTE};
