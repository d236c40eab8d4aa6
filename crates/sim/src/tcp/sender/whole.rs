//! A window that counts whole packets [LINUX, tcp_cong_avoid_ai]: what is earned of the next one is kept
//! apart, and lost with a reduction.

use fairhaul_cc::{AckEvent, Cause, Controller};
use fairhaul_units::Time;

use super::{Sender, State};

/// A window that lies below a whole packet by no more than sums of fractions round off is that.
const ROUNDING: f64 = 1e-9;

impl<C: Controller + Clone> Sender<C> {
    /// Something was delivered in congestion avoidance.
    #[inline(always)]
    pub(super) fn avoid(&mut self, event: &AckEvent) {
        let earned =
            if self.profile.whole_window { self.window.cwnd - self.window.cwnd.floor() } else { 0.0 };
        self.window.cwnd -= earned;
        self.controller.on_ack(&mut self.window, event);
        if self.profile.whole_window {
            self.window.cwnd = rounded(self.window.cwnd + earned);
        }
    }

    /// Tells the controller of congestion.
    pub(super) fn tell(&mut self, cause: Cause, now: Time) {
        self.drop_fraction();
        let event = self.congestion(cause, now);
        self.controller.on_congestion(&mut self.window, &event);
        self.drop_fraction();
    }

    /// Tells the controller of a timeout.
    pub(super) fn tell_timeout(&mut self, now: Time) {
        self.drop_fraction();
        let (event, ssthresh) = (self.congestion(Cause::Loss, now), self.window.ssthresh);
        self.controller.on_timeout(&mut self.window, &event);
        self.drop_fraction();
        // In the kernel the recovery under way, or the echo of a mark, has reduced the threshold already.
        if self.rack_tlp.is_some() && (self.state == State::Recovery || self.easing) {
            self.window.ssthresh = ssthresh;
        }
    }

    /// What is earned of the next packet is lost.
    pub(super) fn drop_fraction(&mut self) {
        if self.profile.whole_window {
            let whole = |packets: f64| packets.floor().max(1.0);
            (self.window.cwnd, self.window.ssthresh) = (whole(self.window.cwnd), whole(self.window.ssthresh));
        }
    }
}

/// A sum of fractions, which may have been rounded to just below a whole packet.
fn rounded(cwnd: f64) -> f64 {
    if cwnd.ceil() - cwnd < ROUNDING { cwnd.ceil() } else { cwnd }
}
