//! How much of the estimated rate and of the path each state sends [BBRV3].

use super::{Bbr3Model, Bbr3State};

impl Bbr3Model {
    /// How much faster than the estimated rate it sends.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            Bbr3State::Startup => 2.77,
            // Differs from [LINUX]: the pacing gain of drain is the draft's; the kernel of its authors has 0.35.
            Bbr3State::Drain => 0.5,
            Bbr3State::Up => 1.25,
            Bbr3State::Down => 0.9,
            Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::ProbeRtt => 1.0,
        }
    }

    /// How many paths a window has.
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            Bbr3State::Up => 2.25,
            Bbr3State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }
}
