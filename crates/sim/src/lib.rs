//! A packet-level simulator of TCP over the links of `path`.
//!
//! [`run`] is the entry point. `tcp` holds the two ends of a connection; it is public so that another engine can be
//! compared with this one.

mod connection;
mod control;
mod engine;
mod event_key;
mod event_queue;
mod flow_state;
mod limits;
mod network;
mod packet_trace;
mod queued_packet;
mod rings;
mod route;
mod run;
mod simulation;
mod stack;
pub mod tcp;
mod waiting_ack;

pub use control::{Control, RunError};
pub use fairhaul_cc::Observed;
pub use flow_state::FlowState;
pub use run::{guarded, run, run_traced};
pub use simulation::{Pause, Simulation};
