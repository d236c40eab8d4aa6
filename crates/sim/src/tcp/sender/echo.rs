//! What acknowledgements bring from routers. The echo of a mark reduces the window as a loss would,
//! and nothing is sent again [RFC 3168, 6.1.2]; an answer to a request moves it by itself.

use fairhaul_cc::{Cause, Controller};
use fairhaul_units::Time;

use super::{Outcome, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// An acknowledgement outside recovery echoes a mark.
    ///
    /// Data that were outstanding at the last reduction, for whatever reason, give no other. What
    /// follows them says CWR, so that its acknowledgement is the first whose echo is news.
    pub(super) fn heed_echo(&mut self, now: Time) -> Outcome {
        if self.board.una() <= self.recover.max(self.marked_below) {
            return Outcome::Quiet;
        }
        let single = self.window.cwnd < 2.0;
        self.tell(Cause::Mark, now);
        self.pacer.restart(now);
        // Differs from [RFC 3168, 6.1.2]: two packets stay, as at a loss, so that marks alone never
        // make the window one. Where it is (at the start, after a timeout, or by `max_window`) it
        // cannot be halved: the next packet leaves when the timer would run out.
        if single {
            self.window.cwnd = 1.0;
            self.pacer.pause(now + self.rtt.timeout());
        }
        self.hystart = None;
        self.marked_below = self.board.next();
        self.cwr = true;
        Outcome::Marked
    }

    /// An acknowledgement brings what routers answer: a change of the rate, bytes/s. It does so in
    /// whatever state the sender is.
    pub(super) fn heed_answer(&mut self, feedback: i32) {
        let before = if self.sums_feedback() { self.answered } else { 0 };
        self.answered = feedback;
        let packets = f64::from(feedback.wrapping_sub(before)) / f64::from(self.profile.packet);
        self.controller.on_feedback(&mut self.window, packets, self.rtt.smoothed());
        self.window.cwnd = self.window.cwnd.min(self.profile.max_window);
    }

    /// Whether the first gap was outstanding when an echo reduced the window: a series of marks
    /// and losses in one window of data reduces it once. Not where the echo is exact: there it may
    /// have reduced the window by little, and a loss is met as ever [RFC 8257, 3.5].
    pub(super) fn is_heeded(&self) -> bool {
        !self.exact_echo() && self.board.una() < self.marked_below
    }
}
