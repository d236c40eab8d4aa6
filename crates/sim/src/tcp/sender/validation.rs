//! Whether the window has been used, so that it says something about the path [RFC 7661].
//!
//! What a round delivers is a sample; the largest of the last second, or of three round trips, is what the path is known
//! to carry (pipeACK). A window of more than twice that is not validated: it is kept for five minutes, but a loss takes it
//! to a share of what was used, and not of itself.

use std::collections::VecDeque;

use fairhaul_cc::Controller;
use fairhaul_units::{Span, Time};

use super::Sender;

/// How long samples count, at least; and otherwise how many round trips.
const LEAST_PERIOD: Span = Span::from_s(1);
const PERIOD_ROUNDS: u64 = 3;
/// How long a window is kept that is not used.
const KEPT_FOR: Span = Span::from_s(300);

/// What is known of the use of a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Validation {
    /// Packets that rounds have delivered, and when these were over.
    samples: VecDeque<(Time, u64)>,
    /// The round under way is over when this packet is acknowledged; and the first packet of it.
    end: u64,
    begin: u64,
    /// Since when the window has not been validated.
    unused_since: Option<Time>,
}

impl Validation {
    /// Packets that the path is known to carry in a round, if anything is.
    fn used(&self) -> Option<f64> {
        self.samples
            .iter()
            .map(|sample| sample.1 as f64)
            .fold(None, |most, used| Some(used.max(most.unwrap_or(0.0))))
    }

    /// All below `una` is acknowledged at `now`, and all below `next` was sent.
    fn acknowledged(&mut self, una: u64, next: u64, srtt: Span, now: Time) {
        if una < self.end {
            return;
        }
        let period = LEAST_PERIOD.max(srtt * PERIOD_ROUNDS);
        self.samples.push_back((now, una - self.begin));
        while self.samples.front().is_some_and(|&(at, _)| now.since(at) > period) {
            self.samples.pop_front();
        }
        (self.begin, self.end) = (una, next);
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// The cumulative acknowledgement moved on.
    #[inline(always)]
    pub(super) fn validate(&mut self, now: Time) {
        if self.validation.is_some() {
            self.validate_window(now);
        }
    }

    #[inline(never)]
    fn validate_window(&mut self, now: Time) {
        let (una, next, srtt) = (self.board.una(), self.board.next(), self.rtt.smoothed());
        let Some(validation) = &mut self.validation else { return };
        validation.acknowledged(una, next, srtt, now);
        let is_used = validation.used().is_none_or(|used| 2.0 * used >= self.window.cwnd);
        let since = validation.unused_since.filter(|_| !is_used).or((!is_used).then_some(now));
        validation.unused_since = since;
        if since.is_some_and(|since| now.since(since) > KEPT_FOR) {
            validation.unused_since = Some(now);
            self.window.ssthresh = self.window.ssthresh.max(0.75 * self.window.cwnd);
            self.window.cwnd = (self.window.cwnd / 2.0).max(self.config.initial_window);
        }
    }

    /// A loss event is about to reduce the window: one that is not validated is first what was used.
    //
    // Differs from [RFC 7661, 4.4.1]: packets retransmitted in the recovery are not taken off at its end.
    pub(super) fn reduce_to_used(&mut self) {
        let Some(validation) = &self.validation else { return };
        if validation.unused_since.is_some() {
            let flight = self.board.outstanding() as f64;
            let used = validation.used().map_or(flight, |used| used.max(flight));
            self.window.cwnd = self.window.cwnd.min(used.max(1.0));
        }
    }
}
