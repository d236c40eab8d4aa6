//! The base probability of DualPI2 [RFC 9332, A.1]: a proportional integral controller of the queueing delay.

use fairhaul_units::{Span, Time};

/// The base probability p', which follows the delay of the longer queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pi2 {
    pub(super) target: Span,
    pub(super) every: Span,
    /// Gains, 1/s.
    pub(super) alpha: f64,
    pub(super) beta: f64,
    /// The largest probability.
    pub(super) most: f64,
    pub(super) p: f64,
    /// The delay at the last update.
    pub(super) last: Span,
    pub(super) next_update: Time,
}

impl Pi2 {
    /// Makes the updates that are due up to `now`, one at this very time included; `oldest`: when the packet came that
    /// has waited longest, and still waits.
    pub(super) fn catch_up(&mut self, now: Time, oldest: Option<Time>) {
        while self.next_update <= now {
            let delay = oldest.map_or(Span::ZERO, |arrived| self.next_update.since(arrived));
            let before = (self.p, self.last);
            self.update(delay);
            self.next_update += self.every;
            let is_settled = oldest.is_none() && before == (self.p, self.last)
                || before.0 == self.most && self.p == self.most && delay > self.target && delay >= before.1;
            if is_settled && self.next_update <= now {
                // Nothing changes any more but the delay of the last update.
                let count = now.since(self.next_update) / self.every + 1;
                self.next_update += self.every * count;
                self.last =
                    oldest.map_or(Span::ZERO, |arrived| (self.next_update.since(arrived)) - self.every);
            }
        }
    }

    fn update(&mut self, delay: Span) {
        let [delay_s, target_s, last_s] = [delay, self.target, self.last].map(Span::as_secs);
        let step = self.alpha * (delay_s - target_s) + self.beta * (delay_s - last_s);
        self.p = (self.p + step).clamp(0.0, self.most);
        self.last = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pi2() -> Pi2 {
        let every = Span::from_ms(16);
        Pi2 {
            target: Span::from_ms(15),
            every,
            alpha: 0.16,
            beta: 3.2,
            most: 1.0,
            p: 0.0,
            last: Span::ZERO,
            next_update: Time::ZERO + every,
        }
    }

    /// A packet waits from 24 ms on. Nothing at 16 ms; at 32 ms 0.16 (8 - 15) ms + 3.2 x 8 ms = 0.02448; at 48 ms
    /// 0.16 (24 - 15) ms + 3.2 x 16 ms = 0.05264 more; and so on.
    #[test]
    fn the_probability_follows_the_delay_and_its_trend() {
        let mut pi2 = pi2();
        let oldest = |ms| (ms > 24).then_some(Time::ZERO + Span::from_ms(24));
        for (n, wanted) in (1..).zip([0.0, 0.02448, 0.07712, 0.13232, 0.19008, 0.2504, 0.31328]) {
            pi2.catch_up(Time::ZERO + Span::from_ms(16 * n), oldest(16 * n));
            assert!((pi2.p - wanted).abs() < 1e-12, "{} for {wanted}", pi2.p);
        }
    }

    /// An hour of 225 000 updates, at once and in steps of 10 ms.
    #[test]
    fn updates_that_change_nothing_are_skipped_and_all_others_are_made() {
        for oldest in [None, Some(Time::ZERO)] {
            let (mut late, mut often) = (Pi2 { p: 0.9, ..pi2() }, Pi2 { p: 0.9, ..pi2() });
            let hour = Time::ZERO + Span::from_s(3600);
            late.catch_up(hour, oldest);
            (1..=360_000).for_each(|n| often.catch_up(Time::ZERO + Span::from_ms(10 * n), oldest));
            assert_eq!((late.p, late.last, late.next_update), (often.p, often.last, often.next_update));
            assert_eq!(late.p, if oldest.is_some() { 1.0 } else { 0.0 });
        }
    }
}
