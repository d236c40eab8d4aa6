//! A congestion window of whole packets [LINUX, tcp_cong_avoid_ai]: the fraction earned of the next packet is kept
//! apart (`snd_cwnd_cnt`), and lost with a reduction.

use fairhaul_cc::{AckEvent, Cause, Congestion, Controller, Window};
use fairhaul_experiment::Recovery;
use fairhaul_units::Time;

use super::{CaState, Sender};

/// A window this close below a whole packet is that packet: sums of fractions are rounded.
const ROUNDING: f64 = 1e-9;

impl<C: Controller + Clone> Sender<C> {
    /// An acknowledgement in congestion avoidance.
    #[inline(always)]
    pub(super) fn avoid(&mut self, event: &AckEvent) {
        let earned = if self.config.integer_cwnd { self.window.cwnd - self.window.cwnd.floor() } else { 0.0 };
        self.window.cwnd -= earned;
        self.controller.on_ack(&mut self.window, event);
        if self.config.integer_cwnd {
            self.window.cwnd = rounded(self.window.cwnd + earned);
        }
    }

    /// The window without the fraction earned of the next packet.
    //
    // Not inlined: compilers work out both branches, and rounding is a call on processors without SSE 4.1.
    #[inline(never)]
    pub(super) fn whole_window(&self) -> Window {
        Window { cwnd: self.window.cwnd.floor(), ..self.window }
    }

    pub(super) fn congestion(&self, cause: Cause, now: Time) -> Congestion {
        Congestion { cause, now, in_flight: self.board.outstanding() as f64, srtt: self.rtt.smoothed() }
    }

    /// Reports congestion to the controller.
    pub(super) fn on_congestion_event(&mut self, cause: Cause, now: Time) {
        self.drop_fraction();
        self.reduce_to_used();
        let (event, before) = (self.congestion(cause, now), self.window);
        self.controller.on_congestion(&mut self.window, &event);
        if let Some(beta) = self.beta(cause, before) {
            self.window.reduce_to(before.cwnd * beta);
        }
        if self.first.is_some() {
            self.first_congestion(before);
        }
        self.keep_least_window();
        self.leave_one_packet(cause, before);
        if cause == Cause::Mark && self.exact_echo() {
            // Of what exact marks reduce the window by, the kernel drops the fraction [LINUX, dctcp_ssthresh]: few
            // marks cost nothing.
            self.make_whole(|packets| (packets - ROUNDING).ceil());
        } else {
            self.drop_fraction();
        }
    }

    /// A mark at a window of two packets, which controllers leave, leaves one, if the least window is that: the threshold
    /// stays at two [RFC 9438, 4.6].
    fn leave_one_packet(&mut self, cause: Cause, before: Window) {
        let allows_one = self.config.min_window.is_some_and(|least| least < 2.0);
        if allows_one && cause == Cause::Mark && before.cwnd <= 2.0 && !self.moves_window_itself() {
            self.window.cwnd = 1.0;
        }
    }

    /// The share of the window that is to stay, where that is not for the controller to say: of the first reduction if it
    /// ends the first slow start, and of one for a mark, in slow start as well [RFC 8511, 3].
    fn beta(&self, cause: Cause, before: Window) -> Option<f64> {
        if self.moves_window_itself() || self.exact_echo() && cause == Cause::Mark {
            return None;
        }
        let is_first = before.in_slow_start() && before.ssthresh == self.config.initial_ssthresh;
        let first = self.config.first_beta.filter(|_| is_first);
        first.or(self.config.mark_beta.filter(|_| cause == Cause::Mark))
    }

    /// Reports a timeout to the controller.
    pub(super) fn on_timeout_event(&mut self, now: Time) {
        self.drop_fraction();
        let (event, ssthresh) = (self.congestion(Cause::Loss, now), self.window.ssthresh);
        self.controller.on_timeout(&mut self.window, &event);
        self.keep_least_window();
        self.drop_fraction();
        // In the kernel the recovery under way, or the echo of a mark, has reduced the threshold already.
        if self.config.recovery == Recovery::Rack && (self.state == CaState::Recovery || self.in_cwr) {
            self.window.ssthresh = ssthresh;
        }
    }

    /// No reduction leaves less than the least window.
    pub(super) fn keep_least_window(&mut self) {
        if let Some(least) = self.config.min_window {
            self.window.cwnd = self.window.cwnd.max(least);
            self.window.ssthresh = self.window.ssthresh.max(least);
        }
    }

    /// Drops the fraction earned of the next packet.
    pub(super) fn drop_fraction(&mut self) {
        self.make_whole(f64::floor);
    }

    /// In Linux: window and threshold become whole numbers of packets, at least one.
    fn make_whole(&mut self, whole: impl Fn(f64) -> f64) {
        if self.config.integer_cwnd {
            let Window { cwnd, ssthresh } = self.window;
            self.window = Window { cwnd: whole(cwnd).max(1.0), ssthresh: whole(ssthresh).max(1.0) };
        }
    }
}

/// A sum of fractions, which may have been rounded to just below a whole packet.
fn rounded(cwnd: f64) -> f64 {
    if cwnd.ceil() - cwnd < ROUNDING { cwnd.ceil() } else { cwnd }
}
