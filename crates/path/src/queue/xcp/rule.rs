//! The parameters of an XCP router, in the units of its arithmetic.

use fairhaul_units::Span;

/// The parameters of a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XcpRule {
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) gamma: f64,
    /// The share of the link that it hands out.
    pub(super) share: f64,
    /// Bounds of the control interval.
    pub(super) least: Span,
    pub(super) most: Span,
    /// What it does for links before it that know nothing of XCP.
    pub(super) clouds: Option<CloudRule>,
}

/// The parameters of a router that answers for links without XCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudRule {
    /// By how much more than came through the links are taken to carry while nothing queues in them.
    pub(super) probe: f64,
    /// The least delay that is a queue, seconds.
    pub(super) queueing: f64,
}
