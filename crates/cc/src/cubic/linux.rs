//! CUBIC of Linux [LINUX, tcp_cubic]: the same curve in whole packets. An acknowledgement asks how many
//! packets must be acknowledged for one more in the window (bictcp_update).

use fairhaul_units::{Span, Time};

use super::CubicParameters;
use crate::{AckEvent, Window};

/// What the growth is without a curve, in packets acknowledged for one more: where no loss has shown a
/// plateau, on the plateau (as a multiple of the window), and the fastest.
const BLIND: f64 = 20.0;
const STILL: f64 = 100.0;
const FASTEST: f64 = 2.0;

/// CUBIC of Linux.
#[derive(Clone, Debug)]
pub(super) struct CubicLinux {
    /// C, in packets per second cubed.
    c: f64,
    /// The share of the window that a loss leaves.
    beta: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    /// The window at the last loss, or less after two; zero: none since the start or a timeout.
    last_max: f64,
    epoch: Option<Epoch>,
}

/// Since congestion avoidance began.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// The plateau, and how long it takes to get there.
    origin: f64,
    k_s: f64,
    /// What standard TCP would have, and packets acknowledged towards one more of that.
    standard: f64,
    acknowledged: f64,
}

impl CubicLinux {
    pub(super) fn new(given: &CubicParameters) -> CubicLinux {
        CubicLinux {
            c: given.c,
            beta: given.beta,
            fast_convergence: given.fast_convergence,
            tcp_friendliness: given.tcp_friendliness,
            last_max: 0.0,
            epoch: None,
        }
    }

    /// How many packets must be acknowledged for one more, when `packets` are at `now`.
    fn count(&mut self, cwnd: f64, packets: f64, min_rtt: Span, now: Time) -> f64 {
        let (c, last_max) = (self.c, self.last_max);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(c, cwnd, last_max, now));
        let t_s = (now.since(epoch.start) + min_rtt).as_secs() - epoch.k_s;
        // The distance to the plateau is cut to whole packets, on both sides of it.
        let target = epoch.origin + (c * t_s * t_s * t_s).trunc();
        let mut count = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { STILL * cwnd };
        if last_max == 0.0 {
            count = count.min(BLIND);
        }
        if self.tcp_friendliness {
            let more = epoch.grow_standard(self.beta, cwnd, packets) - cwnd;
            if more > 0.0 {
                count = count.min((cwnd / more).floor());
            }
        }
        count.max(FASTEST)
    }

    // Cold, because large runs use the RFC's rule, which stays small enough to be inlined.
    #[cold]
    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets / self.count(window.cwnd.floor(), ack.packets, ack.min_rtt, ack.now);
    }

    pub(super) fn on_congestion(&mut self, window: &mut Window) {
        let cwnd = window.cwnd.floor();
        let falling = self.fast_convergence && cwnd < self.last_max;
        self.last_max = if falling { (cwnd * (1.0 + self.beta) / 2.0).floor() } else { cwnd };
        self.epoch = None;
        window.give_up(1.0 - self.beta);
    }

    /// From one packet towards beta of the window; the last maximum is forgotten.
    pub(super) fn on_timeout(&mut self, window: &mut Window) {
        self.last_max = 0.0;
        self.epoch = None;
        window.give_up(1.0 - self.beta);
        window.cwnd = 1.0;
    }

    /// Silence does not count, if nothing was in flight at its end; that the application used less than the window does
    /// (cubictcp_cwnd_event).
    pub(super) fn on_idle_end(&mut self, now: Time, silence: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = now.min(epoch.start + silence);
        }
    }
}

impl Epoch {
    fn begin(c: f64, cwnd: f64, last_max: f64, now: Time) -> Epoch {
        let below = (last_max - cwnd).max(0.0);
        let (origin, k_s) = (last_max.max(cwnd), libm::cbrt(below / c));
        Epoch { start: now, origin, k_s, standard: cwnd, acknowledged: 0.0 }
    }

    /// What standard TCP has after `packets` more, with `beta` in place of its half.
    fn grow_standard(&mut self, beta: f64, cwnd: f64, packets: f64) -> f64 {
        // 8 (1 + beta) / 3 (1 - beta) is cut to a whole number, 15, and then divided by 8.
        let scale = (8.0 * (1.0 + beta) / (3.0 * (1.0 - beta))).floor();
        let each = (cwnd * scale / 8.0).floor().max(1.0);
        // One more comes when more than that many have been acknowledged, not with the last of them.
        self.acknowledged += packets;
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

    /// After a loss at 1000 packets, from 700: K = cbrt(300 / 0.4) = 9.086 s. After 4 s and a round
    /// trip of 0.1 s: 1000 - trunc(0.4 x 4.986^3 = 49.57) = 951: at 900 packets one more for each
    /// floor(900 / 51) = 17, and none to speak of at 951. Long after it, for every second.
    #[test]
    fn four_seconds_after_a_loss_at_1000_packets_17_of_900_earn_one_more() {
        let mut linux = linux(false);
        linux.on_congestion(&mut avoidance(1000.0));
        let mut count = |cwnd, s| linux.count(cwnd, 1.0, Span::from_ms(100), at(s));
        assert_eq!(count(700.0, 1.0), 70.0); // 1000 - trunc(0.4 x 8.986^3 = 290.2) = 710
        assert_eq!(count(900.0, 5.0), 17.0);
        assert_eq!(count(951.0, 5.0), 95_100.0);
        assert_eq!(count(951.0, 60.0), 2.0);
    }

    #[test]
    fn without_a_loss_twenty_packets_earn_one_more_at_least() {
        assert_eq!(linux(false).count(500.0, 1.0, Span::from_ms(40), at(1.0)), 20.0);
    }

    /// On a plateau of 14 the curve stands still; one more of standard TCP takes 14 x 15 / 8 = 26 packets,
    /// and comes with the 27th, the next with the 53rd.
    #[test]
    fn standard_tcp_gains_a_packet_for_every_26_of_14() {
        let mut linux = linux(true);
        linux.on_congestion(&mut avoidance(14.0));
        let counts: Vec<f64> = (0..54).map(|_| linux.count(14.0, 1.0, Span::from_ms(1), at(1.0))).collect();
        assert!(counts[..26].iter().all(|&count| count == 1400.0), "{counts:?}");
        assert!(counts[26..52].iter().all(|&count| count == 14.0), "{counts:?}");
        assert_eq!(counts[52..], [7.0, 7.0]);
    }

    /// At 900 after 1000: 900 x 1.7 / 2 = 765.
    #[test]
    fn a_loss_below_the_last_aims_lower() {
        let mut linux = linux(false);
        linux.on_congestion(&mut avoidance(1000.0));
        linux.on_congestion(&mut avoidance(900.0));
        assert_eq!(linux.last_max, 765.0);
    }
}
