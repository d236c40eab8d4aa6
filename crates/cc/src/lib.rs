//! End hosts: congestion controllers, one file each.
//!
//! A controller is told of events and moves a [`Window`]; the sender owns what all of them share
//! (slow start, recovery, retransmission timer, packets in flight, the pacer). No controller
//! knows a clock, a socket or another controller: `now` comes with each event.

mod catalogue;
mod controller;
mod reno;

pub use catalogue::{Builtin, Choice, Entry, entries, entry};
pub use controller::{AckEvent, Congestion, Controller, Pacing, Window};
pub use reno::Reno;
