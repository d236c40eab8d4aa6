//! What a controller is told, and what it may move.

use fairhaul_units::{Rate, Span, Time};

/// The two numbers that every controller moves, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window: how many packets may be in flight.
    pub cwnd: f64,
    /// Below this window the sender is in slow start.
    pub ssthresh: f64,
}

impl Window {
    /// Whether the sender is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Gives up the share `decrease` of the window, as at a loss event; at least 2 packets stay
    /// [RFC 5681, 3.1].
    pub fn give_up(&mut self, decrease: f64) {
        self.ssthresh = (self.cwnd * (1.0 - decrease)).max(2.0);
        self.cwnd = self.ssthresh;
    }

    /// Starts again from one packet, towards half the window, as at a timeout [RFC 5681, 3.1].
    pub fn start_over(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).max(2.0);
        self.cwnd = 1.0;
    }
}

/// An acknowledgement that delivered something new, outside recovery.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When the sender got it.
    pub now: Time,
    /// Packets that it newly reports as delivered.
    pub packets: f64,
    /// The round-trip sample that it carries.
    pub rtt: Span,
    /// Smoothed round-trip time [RFC 6298].
    pub srtt: Span,
    /// The smallest sample so far.
    pub min_rtt: Span,
    /// One-way transit time of the packet that caused it.
    pub one_way: Span,
    /// Packets in flight after it.
    pub in_flight: f64,
}

/// A loss event: one or more packets of a window were lost, or arrived marked; told once per window.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When the sender saw it.
    pub now: Time,
    /// Packets in flight, the lost ones included.
    pub in_flight: f64,
    /// Smoothed round-trip time.
    pub srtt: Span,
}

/// How the sender spreads what the window lets go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// At once, as acknowledgements arrive.
    None,
    /// Packet by packet at this rate.
    Even(Rate),
    /// In `count` blocks of ceil(cwnd / count) packets each, one block every `round / count`.
    Blocks {
        /// Blocks in a round; at least 2.
        count: u32,
        /// The round-trip time that the blocks divide.
        round: Span,
    },
}

/// A congestion controller. Most need only `on_ack` and `on_congestion`.
pub trait Controller {
    /// Something new was delivered in congestion avoidance, by a flow that used its window.
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent);

    /// A loss event, told on entering recovery or with the echo of a mark.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion);

    /// Something new was delivered in slow start: one packet more for each, at most two an ACK
    /// [RFC 3465, 2.2].
    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets.min(2.0);
    }

    /// The retransmission timer ran out, the first time for this data: start again from one
    /// packet, towards half the window [RFC 5681, 3.1].
    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        let _ = event;
        window.start_over();
    }

    /// How to spread what the window lets go; asked outside recovery.
    fn pacing(&self, window: &Window) -> Pacing {
        let _ = window;
        Pacing::None
    }
}
