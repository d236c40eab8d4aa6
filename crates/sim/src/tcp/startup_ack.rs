//! An acknowledgement, as the rules of the first round trips take it.

use fairhaul_units::{Span, Time};

/// An acknowledgement, as the rules of the first round trips see it.
#[derive(Clone, Copy, Debug)]
pub struct StartupAck {
    /// When the sender got it.
    pub now: Time,
    /// Packets that it newly delivers, and that have come to be believed lost.
    pub delivered: f64,
    /// See there.
    pub lost: f64,
    /// The latest round trip, and the smallest.
    pub rtt: Span,
    /// See there.
    pub min_rtt: Span,
    /// All below is acknowledged.
    pub una: u64,
    /// All below was sent.
    pub next: u64,
    /// Packets in flight after it.
    pub in_flight: f64,
    /// Whether more could be sent than the window allows.
    pub has_more: bool,
    /// Whether the sender is recovering.
    pub recovering: bool,
}
