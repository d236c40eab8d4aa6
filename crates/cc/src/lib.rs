//! End hosts: congestion controllers, one file each.
//!
//! A controller receives events and moves a [`Window`]; the sender owns what all controllers share
//! (slow start, recovery, retransmission timer, packets in flight, the pacer). No controller
//! knows a clock, a socket or another controller: `now` comes with each event.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod agent;
mod aimd;
mod bbr;
mod bbr3;
mod bbr_shared;
mod bic;
mod catalogue;
mod cdg;
mod classic_ecn;
mod compound;
mod controller;
mod copa;
mod correlation;
mod cubic;
mod dctcp;
mod draw;
mod fast;
mod fault;
mod fhstcp;
mod gauge;
mod ghstcp;
mod highspeed;
mod highspeed_law;
mod htcp;
mod hybla;
mod illinois;
mod law;
#[path = "ledbat++.rs"]
mod ledbat_plus_plus;
mod lp;
mod nv;
mod own;
mod packet_sender;
mod prague;
mod probe_cycle;
mod recent_minimum;
mod reno;
mod round;
mod scalable;
mod script;
mod skew;
mod stack;
mod synctcp;
#[cfg(test)]
mod test_support;
mod vegas;
mod veno;
mod westwood;
mod windowed_max;
mod xcp;
mod yeah;

pub use agent::{Agent, AgentKind, Observed};
pub use aimd::Aimd;
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub(crate) use catalogue::Catalogued;
pub use catalogue::{Builtin, ControllerChoice, ControllerEntry, entries, entry};
pub use cdg::Cdg;
pub use compound::Compound;
pub use controller::{
    AckEvent, Cause, Congestion, Controller, Needs, Pacing, RateSample, Request, Start, Window,
};
pub use copa::Copa;
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use fast::Fast;
pub use fault::Fault;
pub use fhstcp::Fhstcp;
pub use ghstcp::Ghstcp;
pub use highspeed::Highspeed;
pub use htcp::Htcp;
pub use hybla::Hybla;
pub use illinois::Illinois;
pub use law::Law;
pub use ledbat_plus_plus::LedbatPlusPlus;
pub use lp::Lp;
pub use nv::Nv;
pub use own::{Own, OwnChoice, OwnKind, OwnKinds, OwnMaker, OwnValue, OwnValues, STACK, digest};
pub use packet_sender::PacketSender;
pub use prague::Prague;
pub use probe_cycle::ProbeCycle;
pub use reno::Reno;
pub use scalable::Scalable;
pub use script::{Amounts, ScriptEvent, ScriptLine, ScriptedSender, run_script};
pub use stack::{StackEnd, StackMaker, StackSetup, StackState, StackText, Transmit};
pub use synctcp::Synctcp;
pub use vegas::Vegas;
pub use veno::Veno;
pub use westwood::Westwood;
pub use xcp::Xcp;
pub use yeah::Yeah;

/// The words of the controllers' parameters.
pub mod words {
    pub use crate::bbr::BbrVariant;
    pub use crate::bic::BicVariant;
    pub use crate::classic_ecn::ClassicEcnFallback;
    pub use crate::cubic::CubicVariant;
    pub use crate::fhstcp::RttEstimate;
    pub use crate::ghstcp::{GhstcpVariant, MinimumOver, RenoDecrease, SigmaSamples, TrendTest};
    pub use crate::highspeed::HighspeedGrowth;
    pub use crate::scalable::ScalableVariant;
    pub use crate::synctcp::{PhasesApply, SynctcpVariant, Trend};
}
