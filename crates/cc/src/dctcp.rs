//! Data Center TCP [RFC 8257]: reduces the window in proportion to the fraction of marked packets.
//!
//! Queues mark early, and acknowledgements say exactly which packets were marked. Once in a window
//! the marked share moves an average, alpha; where a window holds marks, half of alpha is given up,
//! so that a short queue costs little and a long one as much as a loss. All else is standard TCP's.

use fairhaul_units::{Gauge, Parameter, parameters, words};

use crate::{AckEvent, Catalogued, Cause, Congestion, Controller, Needs, Window};

/// Data Center TCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    variant: DctcpVariant,
    gain: f64,
    /// The average share of packets marked.
    alpha: f64,
    /// Packets delivered in the window under way, and the marked ones among them.
    delivered: f64,
    marked: f64,
}

words! {
    /// Whose arithmetic it is.
    enum DctcpVariant {
        Rfc8257 = "rfc8257",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of Data Center TCP.
    pub(crate) struct DctcpParameters {
        variant: Word(DctcpVariant) = DctcpVariant::Rfc8257,
            "rfc8257: alpha has fractions; linux: as in Linux, alpha is a whole number of 1/1024, which falls to 0 where \
             its decrease would be less than one of them [RFC 8257]";
        gain: Number(0.0001..=1.0) = 0.0625,
            "weight of a new sample in the average fraction of marked packets, g [RFC 8257, 4.2]";
        alpha: Number(0.0..=1.0) = 1.0,
            "initial value of the average fraction of marked packets; with 1 the first mark halves the window \
             [RFC 8257, 3.3]";
    }
}

/// Linux counts alpha in this part of 1.
const PARTS: f64 = 1024.0;

impl Dctcp {
    pub(crate) const TITLE: &'static str = "Data Center TCP: reduces the window in proportion to the \
                                            fraction of marked packets";
    pub(crate) const SOURCE: &'static str = "RFC 8257";
    pub(crate) const PARAMETERS: &'static [Parameter] = DctcpParameters::LIST;

    pub(crate) fn new(given: DctcpParameters) -> Dctcp {
        let alpha = match given.variant {
            DctcpVariant::Rfc8257 => given.alpha,
            DctcpVariant::Linux => (given.alpha * PARTS).floor() / PARTS,
        };
        Dctcp { variant: given.variant, gain: given.gain, alpha, delivered: 0.0, marked: 0.0 }
    }

    /// Moves the average towards the share of the window that has ended.
    fn average(&mut self) {
        let share = self.marked / self.delivered;
        self.alpha = match self.variant {
            DctcpVariant::Rfc8257 => self.alpha + self.gain * (share - self.alpha),
            DctcpVariant::Linux => {
                let held = self.alpha * PARTS;
                let decrease = (held * self.gain).floor();
                let kept = if decrease > 0.0 { held - decrease } else { 0.0 };
                (kept + (share * self.gain * PARTS).floor()).min(PARTS) / PARTS
            }
        };
    }
}

impl Catalogued for Dctcp {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", DctcpVariant::Linux.value()));
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
            self.average();
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

    /// From 1024 parts with 4 of 10 marked: 1024 - 64 + floor(25.6) = 985; then 985 - 61 + 25 = 949. Without marks it falls
    /// by a sixteenth, rounded down, and from 15 parts to none. One mark of 100 adds floor(0.64) = 0, two add 1.
    #[test]
    fn linux_counts_alpha_in_whole_parts() {
        let mut flow = Dctcp::new(DctcpParameters { variant: DctcpVariant::Linux, ..Default::default() });
        let mut after = |delivered: f64, marked: f64| {
            let event = AckEvent { packets: delivered, marked, new_round: true, ..ack(Span::from_ms(1)) };
            flow.on_delivery(&mut avoidance(10.0), &event);
            flow.alpha * PARTS
        };
        assert_eq!([after(10.0, 4.0), after(10.0, 4.0)], [985.0, 949.0]);
        let least = (0..1000).map(|_| after(10.0, 0.0)).filter(|&alpha| alpha > 0.0).last();
        assert_eq!((least, after(10.0, 0.0)), (Some(15.0), 0.0));
        assert_eq!([after(100.0, 1.0), after(100.0, 2.0), after(10.0, 10.0)], [0.0, 1.0, 64.0]);
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
