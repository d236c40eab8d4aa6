//! The input and the output of a run: a checked [`Scenario`] ([`read`]), the transfers drawn from it and its seed
//! ([`plan`], [`Source`]), and the [`Record`] that every engine writes, with its scenario as JSON ([`describe`]). The
//! keys of a scenario are listed from the tables that the reader follows.
//!
//! `scenario` has the types of a question and what follows from it before a run, `read` the reader, `listing` the lists
//! of keys and words, and `record` the answer.

mod json;
mod listing;
mod read;
mod record;
mod scenario;

pub use listing::{
    Catalogue, Gauge, Key, Word, catalogue, controllers, counters, page, queues, recoveries, schema, traffics,
};
pub use read::{
    Mistake, Mistakes, Quantity, RangeEnds, Study, Variant, check_trace, drawn, printable, quantity,
    range_ends, read, read_with,
};
pub use record::describe::describe;
pub use record::ledger::{Ledger, NO_WINDOW, RecordedWindow, UNKNOWN_WINDOW};
pub use record::outlet::{Content, Outlet};
pub use record::packet_trace::{PacketRecorder, PacketRow, PacketTrace, PacketWhat, from_lines, to_lines};
pub use record::tables::{Column, Table, Values, packet_table, tables};
pub use record::{Closure, DelayRow, EventRow, FlowRow, Grid, Limit, LinkRow, Record, TransferRow, grid};
pub use scenario::accecn::{AccEcnOption, EcnFeedback, Middlebox};
pub use scenario::estimate::CostEstimate;
pub use scenario::expectation::Expectation;
pub use scenario::fq_horizon::FqHorizon;
pub use scenario::host::{HostSettings, SharedSender};
pub use scenario::kernel_only::RUNS_WITH;
pub use scenario::kernel_release::KernelRelease;
pub use scenario::plan::{NextTransfer, Transfer, plan, plan_while};
pub use scenario::program_pair::ProgramPair;
pub use scenario::receiver_clock::ReceiverClock;
pub use scenario::sender::{
    Growth, Hold, HostPacing, OnTimeout, Profile, Recovery, Restart, Rto, SearchVariant, SlowStart, Sockbuf,
    Startup,
};
pub use scenario::source::Source;
pub use scenario::traffic::{SizeLaw, Traffic, WebPages};
pub use scenario::vectors::{Side, Unit, Vector, Vectors};
pub use scenario::{Flow, Grain, Hop, Role, Scenario, Start};

/// The tables of keys that the reader follows, for what draws or checks scenarios by them.
pub mod table {
    pub use crate::read::{Accepts, Fallback, Field, SCENARIO, Shape, Words};
}
