//! What BBR remembers of a recovery, and of a probe of the round-trip time.

use fairhaul_units::Time;

/// What is known of recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovering {
    /// Whether there is one.
    pub(super) now: bool,
    /// In its first round: no more leaves than arrives.
    pub(super) conserves: bool,
    /// The window before it, or before a probe of the round trip.
    pub(super) prior_cwnd: f64,
    /// In Linux: when the last one ended, and what it was, for one that begins with the same acknowledgement.
    pub(super) ended: Option<(Time, Before)>,
    /// Whether it follows a timeout.
    pub(super) in_loss: bool,
    /// In Linux: what a timeout found lost is not taken from the window that it leaves.
    pub(super) timed_out: bool,
    /// Of the last acknowledgement: what it left in flight, and what it delivered.
    pub(super) in_flight: f64,
    pub(super) packets: f64,
}

/// A recovery before it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) cwnd: f64,
    pub(super) prior_cwnd: f64,
    pub(super) conserves: bool,
    pub(super) in_loss: bool,
}
