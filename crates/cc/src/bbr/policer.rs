//! Detection of a policer [LINUX, bbr_lt_bw_sampling]: two intervals in a row with the same rate, in which much was lost.
//!
//! A token bucket lets a burst pass and then drops what exceeds its rate. The largest rate of the last rounds is then
//! that of the burst, and a sender that paces at it loses packets all the time. Where two intervals that begin and end
//! with losses have nearly the same rate, and a fifth was lost in each, that rate is used for 48 rounds.

use fairhaul_units::Time;

/// Rounds of an interval, at least and at most.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 16;
/// Packets lost for each delivered, at least: 50 of 256.
const LOSSY: f64 = 50.0 / 256.0;
/// Rates are the same if they differ by at most an eighth, or by 4000 bit/s.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BYTES: f64 = 500.0;
/// The number of rounds for which the rate of a policer is used.
const USED_ROUNDS: u32 = 48;

/// What an acknowledgement says about a policer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) now: Time,
    /// Packets lost and delivered so far.
    pub(super) lost: f64,
    pub(super) delivered: f64,
    /// Whether packets were found lost now.
    pub(super) finds_loss: bool,
    pub(super) new_round: bool,
    pub(super) app_limited: bool,
    /// Payload of a packet, bytes.
    pub(super) payload: f64,
}

/// The rate of a policer, if there seems to be one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The rate of the last interval, packets/s.
    rate: Option<f64>,
    is_used: bool,
    samples: bool,
    rounds: u32,
    began: Began,
}

/// When an interval began, with what had been lost and delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Began {
    ms: u64,
    lost: f64,
    delivered: f64,
}

impl Policer {
    /// The rate to use instead of the largest.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.is_used)
    }

    /// Takes an acknowledgement; `cycling`: in the cycle of gains. Whether the rate is not used any longer.
    pub(super) fn take(&mut self, progress: &Progress, cycling: bool) -> bool {
        if self.is_used {
            self.rounds += u32::from(cycling && progress.new_round);
            let over = self.rounds >= USED_ROUNDS;
            if over {
                *self = Policer::default();
            }
            return over;
        }
        self.sample(progress);
        false
    }

    fn sample(&mut self, progress: &Progress) {
        if !self.samples {
            if !progress.finds_loss {
                return;
            }
            self.samples = true;
            self.begin(progress);
        }
        if progress.app_limited {
            *self = Policer::default();
            return;
        }
        self.rounds += u32::from(progress.new_round);
        if self.rounds > MOST_ROUNDS {
            *self = Policer::default();
        } else if self.rounds >= LEAST_ROUNDS && progress.finds_loss {
            self.end(progress);
        }
    }

    /// An interval ends with a loss, when the bucket is probably empty; if little was lost, it goes on.
    fn end(&mut self, progress: &Progress) {
        let lost = progress.lost - self.began.lost;
        let delivered = progress.delivered - self.began.delivered;
        let ms = milliseconds(progress.now) - self.began.ms;
        if delivered == 0.0 || lost < LOSSY * delivered || ms == 0 {
            return;
        }
        let rate = delivered / (ms as f64 / 1e3);
        if let Some(last) = self.rate {
            let apart = (rate - last).abs();
            if apart <= SAME_SHARE * last || apart * progress.payload <= SAME_BYTES {
                (self.rate, self.is_used, self.rounds) = (Some((rate + last) / 2.0), true, 0);
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(progress);
    }

    fn begin(&mut self, progress: &Progress) {
        let Progress { now, lost, delivered, .. } = *progress;
        (self.began, self.rounds) = (Began { ms: milliseconds(now), lost, delivered }, 0);
    }
}

fn milliseconds(time: Time) -> u64 {
    time.as_ps() / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;

    use super::*;

    /// One acknowledgement a round of 100 ms, with what has been lost and delivered by then.
    fn round(number: u64, lost: f64, delivered: f64) -> Progress {
        let now = Time::ZERO + Span::from_ms(100 * number);
        let (finds_loss, new_round, app_limited, payload) = (true, true, false, 1448.0);
        Progress { now, lost, delivered, finds_loss, new_round, app_limited, payload }
    }

    /// Rounds that deliver 80 packets each and lose so many: in which one the rate is first used, and the rate.
    fn used(lost_each: f64, delivered_each: impl Fn(u64) -> f64) -> Option<(u64, f64)> {
        let (mut policer, mut delivered) = (Policer::default(), 0.0);
        for number in 0..40 {
            delivered += delivered_each(number);
            policer.take(&round(number, lost_each * number as f64, delivered), true);
            if let Some(rate) = policer.rate() {
                return Some((number, rate));
            }
        }
        None
    }

    /// The first loss, in round 0, begins an interval; rounds 3 and 6 and so on would be the fourth, because the first
    /// acknowledgement counts as one: intervals end in rounds 3 and 7. Each delivers 80 packets in 100 ms.
    #[test]
    fn two_intervals_with_the_same_rate_and_a_fifth_lost_are_a_policer() {
        assert_eq!(used(20.0, |_| 80.0), Some((7, 800.0)));
    }

    /// 15 lost for 80 delivered are 18.75 %, below 50 / 256 = 19.5 %.
    #[test]
    fn with_less_than_a_fifth_lost_there_is_none() {
        assert_eq!(used(15.0, |_| 80.0), None);
    }

    /// The first interval has 80 packets in 100 ms, the second 95, 19 % more: the third, with 95 again, is the same.
    #[test]
    fn rates_that_differ_by_more_than_an_eighth_are_not_the_same() {
        assert_eq!(used(20.0, |number| if number <= 3 { 80.0 } else { 95.0 }), Some((11, 950.0)));
    }

    #[test]
    fn the_rate_is_used_for_48_rounds_of_the_cycle() {
        let mut policer = Policer::default();
        (0..=7).for_each(|n| _ = policer.take(&round(n, 20.0 * n as f64, 80.0 * n as f64), true));
        assert!(policer.rate().is_some());
        assert!((8..=54).all(|n| !policer.take(&round(n, 160.0, 80.0 * n as f64), true)));
        assert!(!policer.take(&round(55, 160.0, 4400.0), false)); // not in the cycle
        assert!(policer.take(&round(56, 160.0, 4480.0), true) && policer.rate().is_none());
    }

    #[test]
    fn an_application_that_limits_the_sender_ends_the_samples() {
        let mut policer = Policer::default();
        (0..=6).for_each(|n| _ = policer.take(&round(n, 20.0 * n as f64, 80.0 * n as f64), true));
        policer.take(&Progress { app_limited: true, ..round(7, 140.0, 560.0) }, true);
        assert!(!policer.samples && policer.rate.is_none());
    }
}
