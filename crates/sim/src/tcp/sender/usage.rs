//! Whether the sender uses its window, without which the window must not grow.

use fairhaul_cc::Controller;
use fairhaul_experiment::Limit;

use super::Sender;

/// How much of the window was used, as the sender last knew it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// The sender uses its window: that, or the pacing by which a controller spreads it, was the last thing to stop it. In
    /// Linux: it stopped it since this window of data began.
    pub(super) limited: bool,
    /// The same of the window alone.
    pub(super) full: bool,
    /// In Linux: the most packets that were outstanding in this window of data, where it is not limited.
    most: u64,
    /// In Linux: this window of data is over when all below this packet is acknowledged, for `limited` and for `full`.
    end: u64,
    full_end: u64,
}

impl Usage {
    /// Nothing was sent.
    pub(super) const NEW: Usage = Usage { limited: true, full: true, most: 0, end: 0, full_end: 0 };
}

impl<C: Controller + Clone> Sender<C> {
    /// The window, and nothing else, keeps the next packet back.
    #[inline(always)]
    pub(super) fn stopped_by_window(&mut self) {
        (self.usage.full, self.usage.full_end) = (true, self.board.next());
        self.uses_window();
    }

    /// The pacing by which the controller spreads its window keeps the next packet back.
    #[inline(always)]
    pub(super) fn stopped_by_own_pacing(&mut self) {
        self.usage.full &= self.config.slow_start.is_full();
        self.uses_window();
    }

    #[inline(always)]
    fn uses_window(&mut self) {
        self.usage.limited = true;
        let below = self.window.cwnd < self.config.max_window;
        self.limit = Some(if below { Limit::CongestionWindow } else { Limit::ReceiveWindow });
        if self.config.slow_start.is_full() {
            (self.usage.most, self.usage.end) = (self.board.outstanding(), self.board.next());
        }
    }

    /// The pacer, the application or a buffer, `limit`, keeps the next packet back. Linux does not forget for that
    /// that the window did so before, in this window of data [LINUX, tcp_cwnd_validate].
    #[inline(always)]
    pub(super) fn stopped_otherwise(&mut self, limit: Limit) {
        self.limit = Some(limit);
        self.usage.limited &= self.config.slow_start.is_full();
        self.usage.full &= self.config.slow_start.is_full();
    }

    /// In Linux: a packet has left that was never sent before [LINUX, tcp_cwnd_validate].
    #[inline(always)]
    pub(super) fn note_usage(&mut self) {
        if !self.config.slow_start.is_full() {
            return;
        }
        let (usage, outstanding) = (&mut self.usage, self.board.outstanding());
        if self.board.una() >= usage.full_end {
            (usage.full, usage.full_end) = (false, self.board.next());
        }
        if self.board.una() >= usage.end || (!usage.limited && outstanding > usage.most) {
            *usage = Usage { limited: false, most: outstanding, end: self.board.next(), ..*usage };
        }
    }

    /// In Linux: whether a window that does not limit the sender may grow in slow start all the same,
    /// to twice what was used of it [LINUX, tcp_is_cwnd_limited].
    pub(super) fn is_half_used(&self) -> bool {
        let most = self.usage.most as f64;
        self.config.slow_start.is_full() && self.window.in_slow_start() && self.window.cwnd < 2.0 * most
    }
}
