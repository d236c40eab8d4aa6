//! Time in which the window was not used, which moves CUBIC's curve to the right [RFC 9438, 4.2, 5.8].

use fairhaul_units::{Span, Time};

/// Between the last two deliveries: whether the window grew by the first of them.
#[derive(Clone, Debug, Default)]
pub(super) struct UnusedTime {
    delivered: Time,
    grew: bool,
}

impl UnusedTime {
    /// The window grows by what was just delivered, because it was used.
    pub(super) fn window_grows(&mut self) {
        self.grew = true;
    }

    /// Something is delivered at `now`: the time since the last delivery, if the window did not grow then.
    pub(super) fn take(&mut self, now: Time) -> Span {
        let unused = if self.grew { Span::ZERO } else { now.since(self.delivered) };
        *self = UnusedTime { delivered: now, grew: false };
        unused
    }
}
