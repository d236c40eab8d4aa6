//! CUBIC of Linux [LINUX, tcp_cubic]: the same curve in whole packets and ticks of the kernel's clock. An acknowledgement
//! asks how many packets must be acknowledged for one more in the window (bictcp_update), at most once per tick and, while
//! the window is the same, after a 32nd of a second. In the meantime acknowledgements are only counted: where the window
//! grows by less than a packet in a round trip, it does so with the first acknowledgement after a pause.

use fairhaul_units::{Span, Time};

use super::CubicParameters;
use crate::{AckEvent, Window};

/// What the growth is without a curve, in packets acknowledged for one more: where no loss has shown a
/// plateau, on the plateau (as a multiple of the window), and the fastest.
const BLIND: f64 = 20.0;
const STILL: f64 = 100.0;
const FASTEST: f64 = 2.0;
/// The kernel's clock (HZ = 250, as Debian has it), and for how many ticks the count stays while the window does (HZ / 32).
const TICK: Span = Span::from_ms(4);
const KEPT_TICKS: u64 = 7;
/// The number of parts of a second in which times of the curve are counted (BICTCP_HZ), and of the parts of C and beta
/// (BICTCP_BETA_SCALE).
const PARTS: f64 = 1024.0;
/// What C times the cube of a time in parts has to be divided by.
const CUBED_PARTS: f64 = PARTS * PARTS * PARTS * PARTS;

/// CUBIC of Linux.
#[derive(Clone, Debug)]
pub(super) struct CubicLinux {
    /// C, in parts of a packet per second cubed.
    c: f64,
    /// The share of the window that a loss leaves.
    beta: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    /// The window at the last loss, or less after two; zero: none since the start or a timeout.
    last_max: f64,
    epoch: Option<Epoch>,
    /// How many packets must be acknowledged for one more (cnt), and for which window and at which tick that was asked.
    count: f64,
    asked: (f64, u64),
    /// Packets acknowledged towards one more (snd_cwnd_cnt).
    credit: f64,
}

/// Since congestion avoidance began.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: u64,
    /// The plateau, and how long it takes to get there, parts of a second.
    origin: f64,
    k: f64,
    /// What standard TCP would have, and packets acknowledged towards one more of that.
    standard: f64,
    acknowledged: f64,
}

/// The tick of the kernel's clock.
fn tick(now: Time) -> u64 {
    now.since(Time::ZERO) / TICK
}

impl CubicLinux {
    pub(super) fn new(given: &CubicParameters) -> CubicLinux {
        CubicLinux {
            c: (given.c * PARTS).round(),
            beta: given.beta,
            fast_convergence: given.fast_convergence,
            tcp_friendliness: given.tcp_friendliness,
            last_max: 0.0,
            epoch: None,
            count: 0.0,
            asked: (0.0, 0),
            credit: 0.0,
        }
    }

    /// Asks how many packets must be acknowledged for one more, when `packets` are at `now`.
    fn update(&mut self, cwnd: f64, packets: f64, min_rtt: Span, now: Time) {
        let now = tick(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.acknowledged += packets;
        }
        let since = now.saturating_sub(self.asked.1);
        if self.asked.0 == cwnd && since <= KEPT_TICKS {
            return;
        }
        if self.epoch.is_none() || since > 0 {
            self.asked = (cwnd, now);
            self.count = self.curve(cwnd, packets, min_rtt, now);
        }
        if self.tcp_friendliness
            && let Some(epoch) = &mut self.epoch
        {
            let more = epoch.grow_standard(self.beta, cwnd) - cwnd;
            if more > 0.0 {
                self.count = self.count.min((cwnd / more).floor());
            }
        }
        self.count = self.count.max(FASTEST);
    }

    /// By the curve alone.
    fn curve(&mut self, cwnd: f64, packets: f64, min_rtt: Span, now: u64) -> f64 {
        let (c, last_max) = (self.c, self.last_max);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(c, cwnd, last_max, packets, now));
        let ahead = (min_rtt + TICK - Span::from_ps(1)) / TICK;
        let t = ((now - epoch.start + ahead) as f64 * PARTS * TICK.as_secs()).floor() - epoch.k;
        // The distance to the plateau is cut to whole packets, on both sides of it.
        let target = epoch.origin + (c * t * t * t / CUBED_PARTS).trunc();
        let count = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { STILL * cwnd };
        if last_max == 0.0 { count.min(BLIND) } else { count }
    }

    /// The plateau; zero where there is none.
    pub(super) fn plateau(&self) -> f64 {
        self.epoch.as_ref().map_or(self.last_max, |epoch| epoch.origin)
    }

    // Cold, because large runs use the RFC's rule, which stays small enough to be inlined.
    #[cold]
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.update(window.cwnd.floor(), ack.packets, ack.min_rtt, ack.now);
        window.cwnd += self.earn(ack.packets);
    }

    /// How many packets more these earn [LINUX, tcp_cong_avoid_ai]. What was counted while more were needed counts for
    /// one at most.
    fn earn(&mut self, packets: f64) -> f64 {
        let late = self.credit >= self.count;
        self.credit = if late { packets } else { self.credit + packets };
        let more = (self.credit / self.count).floor();
        self.credit -= more * self.count;
        more + f64::from(u8::from(late))
    }

    pub(super) fn on_congestion(&mut self, window: &mut Window) {
        let cwnd = window.cwnd.floor();
        let falling = self.fast_convergence && cwnd < self.last_max;
        self.last_max = if falling { (cwnd * (1.0 + self.beta) / 2.0).floor() } else { cwnd };
        (self.epoch, self.credit) = (None, 0.0);
        window.give_up(1.0 - self.beta);
    }

    /// From one packet towards beta of the window; the last maximum is forgotten.
    pub(super) fn on_timeout(&mut self, window: &mut Window) {
        (self.last_max, self.asked) = (0.0, (0.0, 0));
        (self.epoch, self.credit) = (None, 0.0);
        window.give_up(1.0 - self.beta);
        window.cwnd = 1.0;
    }

    /// Silence does not count, if nothing was in flight at its end; that the application used less than the window does
    /// (cubictcp_cwnd_event).
    pub(super) fn on_idle_end(&mut self, now: Time, silence: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = tick(now).min(epoch.start + silence / TICK);
        }
    }
}

impl Epoch {
    fn begin(c: f64, cwnd: f64, last_max: f64, packets: f64, now: u64) -> Epoch {
        let below = (last_max - cwnd).max(0.0);
        let (origin, k) = (last_max.max(cwnd), libm::cbrt(below * CUBED_PARTS / c).floor());
        Epoch { start: now, origin, k, standard: cwnd, acknowledged: packets }
    }

    /// What standard TCP has after what was acknowledged, with `beta` instead of its half.
    fn grow_standard(&mut self, beta: f64, cwnd: f64) -> f64 {
        // 8 (1 + beta) / 3 (1 - beta) is cut to a whole number, 15, and then divided by 8.
        let scale = (8.0 * (1.0 + beta) / (3.0 * (1.0 - beta))).floor();
        let each = (cwnd * scale / 8.0).floor().max(1.0);
        // One more comes when more than that many have been acknowledged, not with the last of them.
        let more = ((self.acknowledged / each).ceil() - 1.0).max(0.0);
        self.acknowledged -= more * each;
        self.standard += more;
        self.standard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::avoidance;

    fn linux(tcp_friendliness: bool) -> CubicLinux {
        CubicLinux { tcp_friendliness, ..CubicLinux::new(&Default::default()) }
    }

    fn at(s: f64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn asked(linux: &mut CubicLinux, cwnd: f64, rtt_ms: u64, s: f64) -> f64 {
        linux.update(cwnd, 1.0, Span::from_ms(rtt_ms), at(s));
        linux.count
    }

    /// After a loss at 1000 packets, from 700: K = cbrt(300 / 0.4) = 9.086 s. After 4 s and a round
    /// trip of 0.1 s: 1000 - trunc(0.4 x 4.986^3 = 49.57) = 951: at 900 packets one more for each
    /// floor(900 / 51) = 17, and none to speak of at 951. Long after it, for every second.
    #[test]
    fn four_seconds_after_a_loss_at_1000_packets_17_of_900_earn_one_more() {
        let mut linux = linux(false);
        linux.on_congestion(&mut avoidance(1000.0));
        let mut asked = |cwnd, s| asked(&mut linux, cwnd, 100, s);
        assert_eq!(asked(700.0, 1.0), 70.0); // 1000 - trunc(0.4 x 8.986^3 = 290.2) = 710
        assert_eq!(asked(900.0, 5.0), 17.0);
        assert_eq!(asked(951.0, 5.004), 95_100.0);
        assert_eq!(asked(951.0, 60.0), 2.0);
    }

    /// The question is asked anew in the next tick if the window is another one, and else after more than 28 ms.
    #[test]
    fn while_the_window_is_the_same_the_answer_is_kept_for_seven_ticks() {
        let mut linux = linux(false);
        linux.on_congestion(&mut avoidance(1000.0));
        let mut asked = |cwnd, s| asked(&mut linux, cwnd, 100, s);
        let first = asked(900.0, 5.0);
        assert_eq!([asked(900.0, 5.02), asked(900.0, 5.031)], [first; 2]);
        let second = asked(900.0, 5.5);
        assert!(second < first, "the curve has left the window behind: {first}, {second}");
        assert!(asked(910.0, 5.504) > second);
    }

    #[test]
    fn without_a_loss_twenty_packets_earn_one_more_at_least() {
        assert_eq!(asked(&mut linux(false), 500.0, 40, 1.0), 20.0);
    }

    /// What was acknowledged while the curve stood still earns one packet as soon as it rises.
    #[test]
    fn packets_that_were_counted_on_the_plateau_earn_one_at_once() {
        let mut linux = linux(false);
        linux.count = 4000.0;
        assert_eq!((0..100).map(|_| linux.earn(1.0)).sum::<f64>(), 0.0);
        linux.count = 40.0;
        assert_eq!(
            [linux.earn(1.0), linux.earn(38.0), linux.earn(1.0), linux.earn(79.0)],
            [1.0, 0.0, 1.0, 1.0]
        );
        assert_eq!([linux.earn(1.0), linux.earn(0.0)], [1.0, 0.0]);
    }

    /// On a plateau of 14 the curve stands still; one more of standard TCP takes 14 x 15 / 8 = 26 packets,
    /// and comes with the 27th.
    #[test]
    fn standard_tcp_gains_a_packet_for_every_26_of_14() {
        let mut linux = linux(true);
        linux.on_congestion(&mut avoidance(14.0));
        let counts = Vec::from_iter((0..40).map(|n| asked(&mut linux, 14.0, 1, 1.0 + 0.032 * f64::from(n))));
        assert!(counts[..26].iter().all(|&count| count == 1400.0), "{counts:?}");
        assert!(counts[26..].iter().all(|&count| count == 14.0), "{counts:?}");
    }

    /// At 900 after 1000: 900 x 1.7 / 2 = 765.
    #[test]
    fn a_loss_below_the_last_aims_lower() {
        let mut linux = linux(false);
        linux.on_congestion(&mut avoidance(1000.0));
        linux.on_congestion(&mut avoidance(900.0));
        assert_eq!(linux.last_max, 765.0);
    }

    /// As above, with a silence of 3 s half a second after the loss was left; and one that began before, which counts from its
    /// end.
    #[test]
    fn a_silence_does_not_count() {
        for (ends_s, silence_s, begun_s) in [(1.5, 0, 1.0), (4.5, 3, 4.0), (2.0, 100, 2.0)] {
            let mut linux = linux(false);
            linux.on_congestion(&mut avoidance(1000.0));
            asked(&mut linux, 700.0, 100, 1.0);
            linux.on_idle_end(at(ends_s), Span::from_s(silence_s));
            assert_eq!(asked(&mut linux, 900.0, 100, begun_s + 4.0), 17.0, "{silence_s}");
        }
    }
}
