//! Scalable TCP [STCP]: every packet delivered adds the same, every loss takes the same share.
//!
//! The time to regain what a loss took is the same number of rounds at any window: 13.4 with the
//! published constants. Below the low window it is Reno.

use fairhaul_units::{Parameter, parameters, words};

use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    rule: ScalableRule,
}

words! {
    /// Whose rule it is.
    pub enum ScalableVariant {
        /// As published.
        Kelly = "kelly",
        /// As in Linux.
        Linux = "linux",
    }
}

#[derive(Clone, Copy, Debug)]
enum ScalableRule {
    /// As published: `increase` packets for each delivered, `decrease` of the window at a loss.
    Kelly { increase: f64, decrease: f64, low_window: f64 },
    /// As in Linux since 5.7: one packet for every `ai_count` delivered, an eighth at a loss.
    Linux { ai_count: f64 },
}

parameters! {
    /// The parameters of Scalable TCP.
    pub(crate) struct ScalableParameters {
        variant: Word(ScalableVariant) = ScalableVariant::Kelly,
            "kelly: as published, with a, b and low_window; linux: as in Linux, with ai_count [STCP]";
        a: Number(0.0..=1.0, "packets") = 0.01,
            "increase of the window per delivered packet, variant kelly [STCP]";
        b: Number(0.0..=0.9) = 0.125, "fraction of the window given up at a loss, variant kelly [STCP]";
        low_window: Number(0.0..=1e6, "packets") = 16.0,
            "below this window it behaves as Reno, variant kelly [STCP]";
        ai_count: Whole(1..=1_000_000) = 100,
            "delivered packets per increase by one packet, or the window if that is smaller, variant linux; \
             100 since Linux 5.7; 50 before, where an ACK of several packets counts as one [LINUX]";
    }
}

impl Scalable {
    pub(crate) const TITLE: &'static str = "Scalable TCP: a fixed increase per acknowledged packet, a fixed \
                                            fraction given up per loss";
    pub(crate) const SOURCE: &'static str = "STCP";
    pub(crate) const PARAMETERS: &'static [Parameter] = ScalableParameters::LIST;

    pub(crate) fn new(given: ScalableParameters) -> Scalable {
        let rule = match given.variant {
            ScalableVariant::Kelly => {
                ScalableRule::Kelly { increase: given.a, decrease: given.b, low_window: given.low_window }
            }
            ScalableVariant::Linux => ScalableRule::Linux { ai_count: given.ai_count as f64 },
        };
        Scalable { rule }
    }

    /// What one delivered packet adds to the window `w`.
    fn per_packet(&self, w: f64) -> f64 {
        match self.rule {
            // Unclear in [STCP]: which rule holds at the low window itself. The scalable one.
            ScalableRule::Kelly { low_window, .. } if w < low_window => 1.0 / w,
            ScalableRule::Kelly { increase, .. } => increase,
            // Differs from [LINUX]: in Linux the window is an integer and grows by one at every count; here the
            // same packet is added in fractions.
            ScalableRule::Linux { ai_count } => 1.0 / w.min(ai_count),
        }
    }

    /// What a loss leaves of the window `w`.
    fn left(&self, w: f64) -> f64 {
        match self.rule {
            ScalableRule::Kelly { low_window, .. } if w < low_window => w * 0.5,
            ScalableRule::Kelly { decrease, .. } => w * (1.0 - decrease),
            // Linux shifts the whole window right by three: below eight packets nothing goes.
            ScalableRule::Linux { .. } => w - (w / 8.0).floor(),
        }
    }
}

impl Catalogued for Scalable {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", ScalableVariant::Linux.value()));
}

impl Controller for Scalable {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.per_packet(window.cwnd) * ack.packets;
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.reduce_to(self.left(window.cwnd));
    }

    // Unclear in [STCP]: timeouts are not mentioned. As in standard TCP; in Linux slow start ends at the window
    // that a loss would have left.
    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        match self.rule {
            ScalableRule::Kelly { .. } => window.start_over(),
            ScalableRule::Linux { .. } => {
                self.on_congestion(window, event);
                window.cwnd = 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, avoidance, close, mean_window, one_round};

    fn kelly() -> Scalable {
        Scalable::new(Default::default())
    }

    fn linux() -> Scalable {
        Scalable::new(ScalableParameters { variant: ScalableVariant::Linux, ..Default::default() })
    }

    fn after_a_loss(mut controller: Scalable, cwnd: f64) -> f64 {
        let mut window = avoidance(cwnd);
        controller.on_congestion(&mut window, &CONGESTION);
        window.cwnd
    }

    #[test]
    fn a_round_adds_one_per_cent() {
        let mut window = avoidance(1000.0);
        one_round(&mut kelly(), &mut window);
        assert!((window.cwnd - 1010.0).abs() < 1e-6);
    }

    #[test]
    fn a_loss_takes_an_eighth_and_half_below_the_low_window() {
        assert_eq!(after_a_loss(kelly(), 1000.0), 875.0);
        assert_eq!(after_a_loss(kelly(), 16.0), 14.0);
        assert_eq!(after_a_loss(kelly(), 15.0), 7.5);
    }

    #[test]
    fn a_timeout_aims_at_half_and_in_linux_at_seven_eighths() {
        for (mut controller, ssthresh) in [(kelly(), 500.0), (linux(), 875.0)] {
            let mut window = avoidance(1000.0);
            controller.on_timeout(&mut window, &CONGESTION);
            assert_eq!((window.cwnd, window.ssthresh), (1.0, ssthresh));
        }
    }

    /// ln(1 / 0.875) / ln(1.01) = 0.13353 / 0.00995 = 13.4 rounds.
    #[test]
    fn a_loss_is_made_good_in_the_14th_round_at_any_window() {
        for cwnd in [1e3, 1e5] {
            let mut window = avoidance(cwnd);
            kelly().on_congestion(&mut window, &CONGESTION);
            for _ in 0..13 {
                one_round(&mut kelly(), &mut window);
            }
            assert!(window.cwnd < cwnd);
            one_round(&mut kelly(), &mut window);
            assert!(window.cwnd > cwnd);
        }
    }

    /// Growth from 0.875 W to W takes 0.125 W / 0.01 = 12.5 W packets, so W = 0.08 / p is the
    /// peak; the mean over time is 1/p packets in ln(1/0.875)/0.01 = 13.353 rounds, 0.0749 / p.
    #[test]
    fn periodic_loss_gives_a_mean_of_0_0749_by_p() {
        for p in [1e-3, 1e-4, 1e-5] {
            close(mean_window(&mut kelly(), p, 0.1) * p, 0.0749, 0.005);
        }
    }

    #[test]
    fn linux_adds_one_packet_for_every_hundred_or_every_window() {
        let mut window = avoidance(1000.0);
        one_round(&mut linux(), &mut window);
        assert!((window.cwnd - 1010.0).abs() < 1e-6, "1000 / 100 = 10");
        let mut window = avoidance(20.0);
        one_round(&mut linux(), &mut window);
        assert!((window.cwnd - 20.98).abs() < 0.01, "as Reno");
    }

    /// 269 - floor(269 / 8) = 269 - 33 = 236; as a share, 269 (1 - 33 / 269) is 235.99999999999997.
    #[test]
    fn linux_leaves_whole_packets_exactly() {
        for cwnd in 8..100_000_u32 {
            assert_eq!(after_a_loss(linux(), f64::from(cwnd)), f64::from(cwnd - cwnd / 8));
        }
    }

    #[test]
    fn linux_gives_up_a_whole_number_of_packets_and_none_below_eight() {
        assert_eq!(after_a_loss(linux(), 1000.0), 875.0);
        assert_eq!(after_a_loss(linux(), 15.0), 14.0);
        assert_eq!(after_a_loss(linux(), 7.0), 7.0);
    }
}
