//! Data Center TCP [RFC 8257]: reduces the window in proportion to the fraction of marked packets.
//!
//! Queues mark early, and acknowledgements say exactly which packets were marked. Once in a window
//! the marked share moves an average, alpha; where a window holds marks, half of alpha is given up,
//! so that a short queue costs little and a long one as much as a loss. All else is standard TCP's.

use fairhaul_units::{Gauge, Parameter, parameters};

use crate::{AckEvent, Catalogued, Cause, Congestion, Controller, Needs, Window};

/// Data Center TCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    gain: f64,
    /// The average share of packets marked.
    alpha: f64,
    /// Packets delivered in the window under way, and the marked ones among them.
    delivered: f64,
    marked: f64,
}

parameters! {
    /// The parameters of Data Center TCP.
    pub(crate) struct DctcpParameters {
        gain: Number(0.0001..=1.0) = 0.0625,
            "weight of a new sample in the average fraction of marked packets, g [RFC 8257, 4.2]";
        alpha: Number(0.0..=1.0) = 1.0,
            "initial value of the average fraction of marked packets; with 1 the first mark halves the window \
             [RFC 8257, 3.3]";
    }
}

impl Dctcp {
    pub(crate) const TITLE: &'static str = "Data Center TCP: reduces the window in proportion to the \
                                            fraction of marked packets";
    pub(crate) const SOURCE: &'static str = "RFC 8257";
    pub(crate) const PARAMETERS: &'static [Parameter] = DctcpParameters::LIST;

    pub(crate) fn new(given: DctcpParameters) -> Dctcp {
        let (gain, alpha) = (given.gain, given.alpha);
        Dctcp { gain, alpha, delivered: 0.0, marked: 0.0 }
    }
}

impl Catalogued for Dctcp {
    const GAUGES: &'static [Gauge] =
        &[Gauge { name: "alpha", unit: "", help: "average fraction of marked packets" }];
}

impl Controller for Dctcp {
    // Differs from [RFC 8257, 3.3]: packets are counted, not bytes, and packets that are acknowledged
    // selectively count at once.
    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        self.delivered += ack.packets;
        self.marked += ack.marked;
        if ack.new_round {
            self.alpha += self.gain * (self.marked / self.delivered - self.alpha);
            (self.delivered, self.marked) = (0.0, 0.0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets / window.cwnd;
    }

    // Unclear in [RFC 8257, 3.3]: when the reduction takes place in a window with marks. With the first
    // mark, as in [RFC 3168, 6.1.2] and in Linux, and by the average of the windows before.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        match event.cause {
            Cause::Mark => window.give_up(self.alpha / 2.0),
            Cause::Loss => window.give_up(0.5), // [RFC 8257, 3.5]
        }
    }

    fn needs(&self) -> Needs {
        Needs { exact_echo: true, ..Needs::default() }
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance, close};
    use fairhaul_units::Span;

    fn dctcp() -> Dctcp {
        Dctcp::new(Default::default())
    }

    /// A window of 10 packets of which so many are marked; its last acknowledgement closes it.
    fn window_of_ten(flow: &mut Dctcp, marked: u32) {
        for number in 0..10 {
            let marked = f64::from(number < marked);
            let event = AckEvent { marked, new_round: number == 9, ..ack(Span::from_ms(1)) };
            flow.on_delivery(&mut avoidance(10.0), &event);
        }
    }

    /// alpha' = alpha + (F - alpha) / 16. From 1 with F = 0.4: 1 - 0.6 / 16 = 0.9625; then 0.9625 -
    /// 0.5625 / 16 = 0.92734375. What is left of the difference after n windows is 0.6 (15/16)^n.
    // Requirement: rfc8257-3.3-a
    #[test]
    fn alpha_comes_to_the_share_that_is_marked() {
        let mut flow = dctcp();
        let windows = [0; 2].map(|_| {
            window_of_ten(&mut flow, 4);
            flow.alpha
        });
        assert!(
            (windows[0] - 0.9625).abs() < 1e-12 && (windows[1] - 0.927_343_75).abs() < 1e-12,
            "{windows:?}"
        );
        (2..100).for_each(|_| window_of_ten(&mut flow, 4));
        close(flow.alpha - 0.4, 0.6 * libm::pow(0.9375, 100.0), 1e-6);
    }

    /// At alpha = 1 a mark halves 100; at 0.4 it leaves 100 (1 - 0.2) = 80. A loss halves always.
    // Requirement: rfc8257-3.3-c, rfc8257-3.5-b
    #[test]
    fn a_mark_gives_up_half_of_alpha_and_a_loss_half() {
        let mark = Congestion { cause: Cause::Mark, ..CONGESTION };
        let after = |alpha: f64, event: &Congestion| {
            let (mut flow, mut window) = (Dctcp { alpha, ..dctcp() }, avoidance(100.0));
            flow.on_congestion(&mut window, event);
            window.cwnd
        };
        assert_eq!((after(1.0, &mark), after(0.4, &mark), after(0.4, &CONGESTION)), (50.0, 80.0, 50.0));
    }

    /// Whatever is marked, the average stays from 0 to 1, and gets to both ends.
    // Requirement: rfc8257-4.2-a, rfc8257-4.2-b
    #[test]
    fn alpha_stays_between_none_and_all() {
        let mut flow = dctcp();
        for (marked, end) in [(10, 1.0), (0, 0.0), (10, 1.0)] {
            for _ in 0..1000 {
                window_of_ten(&mut flow, marked);
                assert!((0.0..=1.0).contains(&flow.alpha), "{}", flow.alpha);
            }
            assert!((flow.alpha - end).abs() < 1e-9, "{}", flow.alpha);
        }
    }

    /// Standard TCP's: from 100 packets one is left, towards 50, whatever alpha is.
    // Requirement: rfc8257-3.5-c
    #[test]
    fn a_timeout_leaves_one_packet() {
        let (mut flow, mut window) = (Dctcp { alpha: 0.1, ..dctcp() }, avoidance(100.0));
        flow.on_timeout(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 50.0));
    }

    /// An acknowledgement of two packets counts as two of one.
    // Requirement: rfc8257-3.3-b
    #[test]
    fn a_window_that_ends_within_an_acknowledgement_counts_all_of_it() {
        let mut flow = dctcp();
        let event = AckEvent { packets: 2.0, ..ack(Span::from_ms(1)) };
        flow.on_delivery(&mut avoidance(4.0), &event);
        flow.on_delivery(&mut avoidance(4.0), &AckEvent { marked: 2.0, new_round: true, ..event });
        assert!((flow.alpha - (1.0 - 0.5 / 16.0)).abs() < 1e-12);
        assert_eq!((flow.delivered, flow.marked), (0.0, 0.0));
    }
}
