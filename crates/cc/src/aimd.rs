//! AIMD: a fixed increase per round, a fixed share given up at a loss event.
//!
//! With a = 1 and b = 0.5 it is Reno. It is about as fast as Reno at the same loss probability if a = 3 b / (2 - b)
//! [FHP 2000].

use fairhaul_units::{Parameter, parameters};

use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// Additive increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Aimd {
    values: AimdParameters,
}

parameters! {
    /// The parameters of AIMD.
    pub(crate) struct AimdParameters {
        a: Number(0.0..=1e6, "packets") = 1.0, "increase of the window per round trip";
        b: Number(0.0..=0.99) = 0.5, "fraction of the window given up at a loss event";
    }
}

impl Aimd {
    pub(crate) const TITLE: &'static str = "AIMD: a fixed increase per round trip, a fixed fraction given up per \
                                            loss";
    pub(crate) const SOURCE: &'static str = "CHIU";
    pub(crate) const PARAMETERS: &'static [Parameter] = AimdParameters::LIST;

    pub(crate) fn new(values: AimdParameters) -> Aimd {
        Aimd { values }
    }
}

impl Catalogued for Aimd {}

impl Controller for Aimd {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.values.a * ack.packets / window.cwnd;
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(self.values.b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reno;
    use crate::test_support::{CONGESTION, avoidance, close, mean_window, one_round};

    fn aimd(a: f64, b: f64) -> Aimd {
        Aimd::new(AimdParameters { a, b })
    }

    #[test]
    fn a_round_adds_a_and_a_loss_takes_b() {
        let (mut controller, mut window) = (aimd(1.5, 0.7), avoidance(1000.0));
        one_round(&mut controller, &mut window);
        assert!((window.cwnd - 1001.5).abs() < 0.01);
        let mut window = avoidance(1000.0);
        controller.on_congestion(&mut window, &CONGESTION);
        assert!((window.cwnd - 300.0).abs() < 1e-9);
    }

    #[test]
    fn by_default_it_is_reno_to_the_bit() {
        let (mut own, mut renos) = (avoidance(100.0), avoidance(100.0));
        for _ in 0..10 {
            one_round(&mut aimd(1.0, 0.5), &mut own);
            one_round(&mut Reno, &mut renos);
        }
        assert_eq!(own.cwnd, renos.cwnd);
    }

    /// sqrt(a (2 - b) / (2 b)) / sqrt(p): 1.225 for a = 1, b = 0.5, and the same for a = 3 b / (2 - b).
    #[test]
    fn the_mean_window_is_that_of_the_response_function() {
        for b in [0.125, 0.25, 0.5, 0.7] {
            let friendly = 3.0 * b / (2.0 - b);
            for (a, constant) in [(friendly, 1.225), (2.0, f64::sqrt(2.0 * (2.0 - b) / (2.0 * b)))] {
                for p in [1e-3, 1e-4] {
                    close(mean_window(&mut aimd(a, b), p, 0.1), constant / p.sqrt(), 0.03);
                }
            }
        }
    }
}
