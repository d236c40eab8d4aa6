//! Queue disciplines, one file each, and their catalogue.

mod ack_filter;
mod cake;
mod catalogue;
mod codel;
mod departure_droptail;
mod droptail;
mod dualpi2;
mod fq;
mod fq_codel;
mod kernel;
mod pie;
mod red;
mod site;
mod sred;
mod variant;
mod xcp;
mod xcp_tcp;

use fairhaul_units::{Bytes, Ecn, Span, Time};

pub use ack_filter::AckFilter;
pub use cake::{Cake, CakeChoice, CakeRule, FlowLabel};
pub use catalogue::{Built, DepartureRule, Discipline, QueueChoice, QueueEntry, entries, entry};
pub use codel::{Codel, CodelRule, Queued};
pub use departure_droptail::DepartureDropTail;
pub use droptail::{Capacity, DropTail};
pub use dualpi2::{DualPi2, DualPi2Rule};
pub use fq::{Fq, FqRule};
pub use fq_codel::{FqCodel, FqCodelRule};
pub use kernel::Kernel;
pub use pie::{KernelPie, Pie, PieParameters};
pub use red::{Red, RedParameters, ThresholdUnit};
pub use site::{Refusal, Site};
pub use sred::{Sred, SredLaw, SredParameters};
pub use variant::Variant;
pub use xcp::{DropLaw, FlowCounter, Xcp, XcpRule, XcpTcpParameters, XcpTcpRule};
pub use xcp_tcp::XcpTcp;

/// What a discipline that decides on arrival does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueDecision {
    /// Enqueue it.
    Enqueue,
    /// Mark it [RFC 3168, 5] and enqueue it.
    Mark,
    /// Drop it.
    Drop,
}

/// A packet, and what it finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Of the packet, on the wire.
    pub size: Bytes,
    /// Whether it can be marked.
    pub ecn: Ecn,
    /// Whose it is.
    pub flow: u32,
    /// When it is there.
    pub now: Time,
    /// In the queue, the one being sent included.
    pub packets: u64,
    /// Their size.
    pub bytes: Bytes,
    /// In the queue without the one being sent.
    pub waiting: u64,
    /// Their size.
    pub waiting_bytes: Bytes,
    /// When the last that was taken has left, or will have.
    pub busy_until: Time,
}

impl Arrival {
    /// How long the link has been idle, where it is.
    fn idle(&self) -> Option<Span> {
        (self.busy_until <= self.now).then(|| self.now.since(self.busy_until))
    }
}
