//! The sender's reaction to routers: to echoed ECN marks, which reduce the window as a loss would but retransmit
//! nothing [RFC 3168, 6.1.2], and to the feedback of XCP routers, which changes the window directly.
//!
//! In Linux the window comes down for an echo as it does in fast recovery [LINUX, tcp_enter_cwr and
//! tcp_cwnd_reduction]: the sender goes on at the share of what is delivered that stays, where a window that
//! falls at once would stop it for half a round. RFC 9937 and RFC 6937 speak of fast recovery only, so
//! `prr = true` of a SACK sender reduces at once.

use fairhaul_cc::{Cause, Controller, Window};
use fairhaul_units::Time;

use super::{CaState, Outcome, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// The queue discipline of the host has no room for a burst, which leaves later: the window is reduced as for a mark
    /// [LINUX, tcp_enter_cwr].
    #[cold]
    pub(super) fn on_local_drop(&mut self, now: Time) {
        if self.state != CaState::Open || self.in_cwr || !self.prr.is_used_for_marks() {
            return;
        }
        let cwnd = self.window.cwnd;
        self.on_congestion_event(Cause::Mark, now);
        self.delay_exit.on_reduction();
        self.marked_below = self.board.next();
        self.in_cwr = true;
        self.undo_state.discard();
        self.prr.begin(self.board.outstanding(), cwnd);
        self.reduce(0, false);
    }

    /// An acknowledgement outside recovery echoes a mark; `delivered`: the packets that it delivers; `advanced`: the
    /// cumulative acknowledgement moved.
    ///
    /// Data that were outstanding at the last reduction, for whatever reason, give no other. What
    /// follows them says CWR, so that its acknowledgement is the first whose echo is news.
    #[cold]
    pub(super) fn on_echo(&mut self, delivered: u64, advanced: bool, now: Time) -> Outcome {
        if self.board.una() <= self.recover.max(self.marked_below) {
            return Outcome::Quiet;
        }
        let (cwnd, single) = (self.window.cwnd, self.window.cwnd < 2.0);
        self.on_congestion_event(Cause::Mark, now);
        self.pacer.restart(now);
        // Differs from [RFC 3168, 6.1.2]: two packets remain, as at a loss and as in Linux, unless the least window is one
        // packet. A window of one packet (at the start, after a timeout, or by `max_window`) cannot be halved: the next
        // packet leaves when the timer would expire.
        if single {
            self.window.cwnd = 1.0;
            self.pacer.pause(now + self.rtt.timeout());
        }
        self.delay_exit.on_reduction();
        self.marked_below = self.board.next();
        self.cwr = true;
        if self.prr.is_used_for_marks() && !single {
            self.in_cwr = true;
            self.undo_state.discard(); // what a mark says is not taken back (tcp_enter_cwr)
            self.prr.begin(self.board.outstanding(), cwnd);
            self.reduce(delivered, advanced);
        }
        Outcome::Marked
    }

    /// In Linux: an acknowledgement goes on with the reduction that an echo began. It ends where
    /// something that left after it is acknowledged, or with a loss, whose recovery goes on with it.
    #[cold]
    pub(super) fn continue_cwr(&mut self, delivered: u64, advanced: bool) {
        if self.board.una() > self.marked_below {
            self.finish_cwr();
        } else {
            self.reduce(delivered, advanced);
        }
    }

    /// The reduction for an echo, if one is under way, is over: the window is at its threshold.
    pub(super) fn finish_cwr(&mut self) {
        if std::mem::take(&mut self.in_cwr) && self.state == CaState::Open && !self.is_held_by_first() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// An acknowledgement brings what routers answer: a change of the rate, bytes/s. It does so in
    /// whatever state the sender is: during a proportional reduction it changes where that leads.
    pub(super) fn apply_router_feedback(&mut self, feedback: i32) {
        let before = if self.sums_feedback() { self.router_feedback } else { 0 };
        self.router_feedback = feedback;
        let packets = f64::from(feedback.wrapping_sub(before)) / f64::from(self.config.packet);
        let srtt = self.rtt.smoothed();
        if self.reduces_in_proportion() {
            let mut target = Window { cwnd: self.window.ssthresh, ..self.window };
            self.controller.on_feedback(&mut target, packets, srtt);
            self.window.ssthresh = target.ssthresh;
            return;
        }
        self.controller.on_feedback(&mut self.window, packets, srtt);
        self.window.cwnd = self.window.cwnd.min(self.config.max_window);
    }

    /// Whether the first gap was outstanding when an echo reduced the window: a series of marks
    /// and losses in one window of data reduces it once. Not where the echo is exact: there it may
    /// have reduced the window by little, and a loss is met as ever [RFC 8257, 3.5].
    pub(super) fn was_reduced_by_echo(&self) -> bool {
        !self.exact_echo() && self.board.una() < self.marked_below
    }
}
