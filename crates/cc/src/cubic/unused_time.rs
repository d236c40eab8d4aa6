//! Time in which the window was not used, which moves CUBIC's curve to the right [RFC 9438, 4.2, 5.8].

use fairhaul_units::{Span, Time};

/// Between the last two deliveries: whether the window grew by the first of them, and how long nothing was in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct UnusedTime {
    delivered: Time,
    grew: bool,
    idle: Span,
}

impl UnusedTime {
    /// The window grows by what was just delivered, because it was used.
    pub(super) fn window_grows(&mut self) {
        self.grew = true;
    }

    /// A packet leaves at `now`, after nothing was in flight since the last delivery.
    pub(super) fn idle_ends(&mut self, now: Time) {
        self.idle = now.since(self.delivered);
    }

    /// Something is delivered at `now`: of the time since the last delivery, that in which nothing was in flight, and all
    /// of it if the window did not grow then.
    pub(super) fn take(&mut self, now: Time) -> Span {
        let unused = if self.grew { self.idle } else { now.since(self.delivered) };
        *self = UnusedTime { delivered: now, grew: false, idle: Span::ZERO };
        unused
    }
}
