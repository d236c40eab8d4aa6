//! The state of a flow while a run is paused.

use fairhaul_units::Span;

/// The senders of a flow at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowState {
    /// Its open connections.
    pub connections: usize,
    /// The sum of their congestion windows, packets.
    pub cwnd: f64,
    /// The slow-start threshold of the last of them, packets.
    pub ssthresh: f64,
    /// Packets in flight.
    pub in_flight: f64,
    /// Packets that are acknowledged, in open connections.
    pub acknowledged: u64,
    /// The smoothed round-trip time of the last connection.
    pub srtt: Span,
    /// The smallest round-trip time of the last connection.
    pub min_rtt: Span,
    /// Whether any of them is recovering from a loss event or a timeout.
    pub recovering: bool,
    /// The mode of the controller of the last one, if it has several.
    pub mode: Option<u8>,
}
