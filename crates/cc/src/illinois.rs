//! TCP-Illinois [ILLINOIS]: losses decide when the window is reduced, delay decides by how much and how fast it grows.
//!
//! An AIMD rule whose two numbers are set once a round by the mean queueing delay: a short queue
//! means up to ten packets a round and an eighth at a loss, a full one a third of a packet and half.

use fairhaul_units::{Gauge, Parameter, Span, Time, parameters};

use crate::round::Rounds;
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    parameters: Box<IllinoisParameters>,
    rounds: Box<Rounds>,
    /// The largest round-trip time so far.
    most: Span,
    /// Packets that a round adds.
    increase: f64,
    /// The share that a loss takes.
    decrease: f64,
    /// Rounds of a short queue since a long one; `None` where there was no long one.
    short: Option<u64>,
}

/// The shares of the largest queueing delay: up to the first growth is largest; up to the second
/// the decrease is smallest, from the third on largest.
const SHORT: f64 = 0.01;
const LITTLE: f64 = 0.1;
const MUCH: f64 = 0.8;

parameters! {
    /// The parameters of TCP-Illinois.
    pub(crate) struct IllinoisParameters {
        alpha_min: Number(0.001..=1e4, "packets") = 0.3,
            "increase per round trip with a full queue [ILLINOIS]";
        alpha_max: Number(0.001..=1e4, "packets") = 10.0,
            "increase per round trip with an empty queue; raised to alpha_min if it is lower [ILLINOIS]";
        beta_min: Number(0.0..=0.9) = 0.125,
            "fraction of the window given up at a loss with a short queue [ILLINOIS]";
        beta_max: Number(0.0..=0.9) = 0.5,
            "fraction of the window given up at a loss with a long queue; raised to beta_min if it is lower \
             [ILLINOIS]";
        win_thresh: Number(0.0..=1e6, "packets") = 15.0, "below this window it behaves as Reno [LINUX]";
        theta: Whole(1..=1_000_000) = 5,
            "round trips with an empty queue before growth returns to its maximum [ILLINOIS]";
    }
}

impl IllinoisParameters {
    /// Packets a round where the mean queueing delay is the share `delay` of the largest, above
    /// [`SHORT`]: a hyperbola from alpha_max to alpha_min.
    fn increase(&self, delay: f64) -> f64 {
        let share = (delay - SHORT) / (1.0 - SHORT);
        self.alpha_max / (1.0 + share * (self.alpha_max - self.alpha_min) / self.alpha_min)
    }

    /// The share that a loss takes.
    fn decrease(&self, delay: f64) -> f64 {
        let share = ((delay - LITTLE) / (MUCH - LITTLE)).clamp(0.0, 1.0);
        self.beta_min + share * (self.beta_max - self.beta_min)
    }
}

impl Illinois {
    pub(crate) const TITLE: &'static str =
        "TCP-Illinois: delay sets the size of increase and decrease, loss triggers the decrease";
    pub(crate) const SOURCE: &'static str = "ILLINOIS";
    pub(crate) const PARAMETERS: &'static [Parameter] = IllinoisParameters::LIST;

    pub(crate) fn new(given: IllinoisParameters) -> Illinois {
        let parameters = IllinoisParameters {
            alpha_max: given.alpha_max.max(given.alpha_min),
            beta_max: given.beta_max.max(given.beta_min),
            ..given
        };
        Illinois {
            parameters: Box::new(parameters),
            rounds: Box::default(),
            most: Span::ZERO,
            // Differs from [LINUX]: before the first round is over growth is that of Reno; in Linux it is
            // alpha_max.
            increase: 1.0,
            decrease: 0.5,
            short: None,
        }
    }

    /// Sets both numbers by the mean round-trip time of a round.
    fn set(&mut self, mean: Span, base: Span) {
        let largest_s = self.most.saturating_sub(base).as_secs();
        let mean_s = mean.saturating_sub(base).as_secs();
        let delay = if largest_s > 0.0 { mean_s / largest_s } else { 0.0 };
        self.decrease = self.parameters.decrease(delay);
        if delay > SHORT {
            self.increase = self.parameters.increase(delay);
            self.short = Some(0);
            return;
        }
        // Differs from [LINUX]: in Linux rounds with a short queue count even if a round with a long queue lies
        // between them.
        self.short = self.short.map(|rounds| rounds + 1).filter(|&rounds| rounds < self.parameters.theta);
        if self.short.is_none() {
            self.increase = self.parameters.alpha_max;
        }
    }
}

impl Catalogued for Illinois {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "alpha_packets", unit: "packets", help: "what a round trip adds to the window" },
        Gauge { name: "beta", unit: "", help: "fraction of the window that a loss takes" },
    ];
}

impl Controller for Illinois {
    // Differs from [LINUX]: in Linux rounds end only outside recovery, and the first acknowledgement after a
    // recovery ends the round in which the loss occurred. Here rounds in a recovery count, and another one
    // begins after it: until that one ends, increase and decrease are those of the recovery.
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        self.most = self.most.max(ack.rtt);
        let Some(round) = self.rounds.take(ack) else {
            return;
        };
        if window.cwnd < self.parameters.win_thresh {
            (self.increase, self.decrease) = (1.0, 0.5);
        } else {
            self.set(round.mean(), ack.min_rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.increase * ack.packets / window.cwnd;
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(self.decrease);
    }

    // Unclear in [ILLINOIS]: what a timeout does. It acts as in standard TCP, and increase and decrease begin
    // anew, as in [LINUX].
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.start_over();
        (self.increase, self.decrease, self.short) = (1.0, 0.5, None);
    }

    fn on_recovered(&mut self, _: &mut Window, _: Time) {
        self.rounds.restart();
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([self.increase, self.decrease]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, ack, acknowledge, avoidance, close};

    fn illinois() -> Illinois {
        Illinois::new(Default::default())
    }

    /// The largest queueing delay is 100 ms. At 1 ms and less 10 packets; at 100 ms
    /// 10 / (1 + 9.7 / 0.3) = 0.3; half way from 1 to 100 ms, at 50.5, 10 / (1 + 16.17) = 0.5825.
    #[test]
    fn growth_is_a_hyperbola_of_the_delay() {
        for (delay_us, expected) in [(0, 10.0), (1000, 10.0), (50_500, 0.582_52), (100_000, 0.3)] {
            let mut flow = illinois();
            flow.most = Span::from_ms(200);
            flow.set(Span::from_ms(100) + Span::from_us(delay_us), Span::from_ms(100));
            close(flow.increase, expected, 1e-4);
        }
    }

    /// An eighth up to a tenth of the largest delay, half from eight tenths on, 5 / 16 between.
    #[test]
    fn decrease_is_linear_in_the_delay() {
        let parameters = *illinois().parameters;
        for (delay, expected) in [(0.0, 0.125), (0.1, 0.125), (0.45, 0.3125), (0.8, 0.5), (1.0, 0.5)] {
            assert!((parameters.decrease(delay) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn growth_is_largest_again_after_five_rounds_of_a_short_queue() {
        let mut flow = illinois();
        flow.most = Span::from_ms(200);
        let base = Span::from_ms(100);
        flow.set(Span::from_ms(200), base);
        let after = [(); 5].map(|()| {
            flow.set(base, base);
            flow.increase
        });
        assert_eq!(after.map(|a| a > 1.0), [false, false, false, false, true]);
        flow.set(Span::from_ms(200), base);
        (0..4).for_each(|_| flow.set(base, base));
        flow.set(Span::from_ms(150), base);
        flow.set(base, base);
        assert!(flow.increase < 1.0, "the rounds must follow each other");
    }

    /// A round of `packets` acknowledgements at `rtt` and the first of the next.
    fn round(flow: &mut Illinois, window: &mut Window, rtt: Span) {
        for number in 0..window.cwnd as u64 {
            let event = AckEvent { new_round: number == 0, min_rtt: Span::from_ms(100), ..ack(rtt) };
            acknowledge(flow, window, &event);
        }
    }

    /// Without a queue: 10 packets in the second round, an eighth of the rest at a loss.
    #[test]
    fn an_empty_path_is_climbed_at_ten_packets_a_round() {
        let (mut flow, mut window) = (illinois(), avoidance(100.0));
        round(&mut flow, &mut window, Span::from_ms(100));
        close(window.cwnd, 101.0, 0.001);
        round(&mut flow, &mut window, Span::from_ms(100));
        close(window.cwnd, 110.5, 0.005);
        let before = window.cwnd;
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 0.875 * before);
    }

    #[test]
    fn below_15_packets_it_is_reno() {
        let (mut flow, mut window) = (illinois(), avoidance(10.0));
        round(&mut flow, &mut window, Span::from_ms(100));
        round(&mut flow, &mut window, Span::from_ms(100));
        close(window.cwnd, 12.0, 0.02);
        flow.on_congestion(&mut window, &CONGESTION);
        close(window.cwnd, 6.0, 0.02);
    }

    /// A fixed delay is AIMD: a = 10, b = 1/8 give sqrt(a (2 - b) / (2 b p)) = sqrt(75 / p); the
    /// decrease taken once in 1/p packets, without a queue.
    #[test]
    fn periodic_loss_without_a_queue_gives_8_66_by_root_p() {
        for p in [1e-3, 1e-4] {
            let mut flow = illinois();
            let mut window = avoidance(1000.0);
            round(&mut flow, &mut window, Span::from_ms(100));
            round(&mut flow, &mut window, Span::from_ms(100));
            let mean = crate::test_support::mean_window(&mut flow, p, 0.1);
            close(mean, (75.0 / p).sqrt(), 0.02);
        }
    }
}
