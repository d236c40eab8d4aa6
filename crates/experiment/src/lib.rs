//! The input and the output of a run: a checked [`Scenario`] ([`read`]), the transfers drawn from it and its seed
//! ([`plan`], [`Source`]), and the [`Record`] that every engine writes, with its scenario as JSON ([`describe`]). The
//! keys of a scenario are listed from the tables that the reader follows.

mod describe;
mod describe_sender;
mod estimate;
mod grain;
mod host;
mod json;
mod kernel_only;
mod ledger;
mod listing;
mod packet_trace;
mod plan;
mod read;
mod receiver_clock;
mod record;
mod scenario;
mod source;
mod tables;
mod traffic;
mod vectors;

pub use describe::describe;
pub use estimate::CostEstimate;
pub use grain::{LONGEST_TRAIN, TRAINS_PER_WINDOW};
pub use host::HostSettings;
pub use kernel_only::RUNS_WITH;
pub use ledger::{Ledger, NO_WINDOW, RecordedWindow};
pub use listing::{
    Catalogue, Gauge, Key, Word, catalogue, controllers, counters, page, queues, recoveries, schema, traffics,
};
pub use packet_trace::{PacketRecorder, PacketRow, PacketTrace, PacketWhat, from_lines, to_lines};
pub use plan::{NextTransfer, Transfer, plan, plan_while};
pub use read::{
    Mistake, Mistakes, Quantity, RangeEnds, Study, Variant, check_trace, drawn, printable, quantity,
    range_ends, read, read_with,
};
pub use receiver_clock::ReceiverClock;
pub use record::{EventRow, FlowRow, Grid, LinkRow, Record, TransferRow, grid};
pub use scenario::{
    Expectation, Flow, Grain, Growth, Hold, Hop, HostPacing, OnTimeout, Recovery, Restart, Role, Rto,
    Scenario, SlowStart, Sockbuf, Start,
};
pub use source::Source;
pub use tables::{Column, Table, Values, packet_table, tables};
pub use traffic::{SizeLaw, Traffic, WebPages};
pub use vectors::{Side, Unit, Vector, Vectors};

/// The tables of keys that the reader follows, for what draws or checks scenarios by them.
pub mod table {
    pub use crate::read::{Accepts, Fallback, Field, SCENARIO, Shape, Words};
}
