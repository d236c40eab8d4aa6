//! Compound TCP [CTCP]: the window of standard TCP plus a delay-based window that grows while the queue is empty.
//!
//! What may be in flight is the sum. The second window grows by alpha w^k in a round while fewer
//! than gamma packets wait in queues, and gives way as they do, so that what is left beside others
//! on a full queue is standard TCP.

use fairhaul_units::{Gauge, Parameter, Time, parameters};

use crate::round::{Round, Rounds};
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    parameters: Box<CompoundParameters>,
    rounds: Box<Rounds>,
    /// The delay-based part of the window; the rest of it is the standard part.
    delay_window: f64,
    /// Packets by which the delay-based part is to grow.
    due: f64,
}

parameters! {
    /// The parameters of Compound TCP.
    pub(crate) struct CompoundParameters {
        alpha: Number(0.0..=100.0, "packets") = 0.125,
            "factor of the increase alpha w^k per round trip without congestion [CTCP]";
        k: Number(0.0..=1.0) = 0.75, "exponent of the window in the increase alpha w^k [CTCP]";
        beta: Number(0.0..=0.9) = 0.5, "fraction of the whole window given up at a loss [CTCP]";
        gamma: Number(0.0..=1e6, "packets") = 30.0,
            "number of own packets in queues at which the delay-based window starts to shrink [CTCP]";
        zeta: Number(0.0..=100.0) = 1.0,
            "packets by which the delay-based window shrinks for each own packet in queues [CTCP]";
        low_window: Number(0.0..=1e6, "packets") = 38.0,
            "below this window the delay-based window does not grow [CTCP 2008]";
    }
}

impl CompoundParameters {
    /// What a round without congestion adds to the delay-based part: with the packet that the
    /// standard part grows by, alpha w^k in all.
    fn gain(&self, w: f64) -> f64 {
        (self.alpha * libm::pow(w, self.k) - 1.0).max(0.0)
    }
}

impl Compound {
    pub(crate) const TITLE: &'static str = "Compound TCP: the sum of Reno's window and a delay-based window";
    pub(crate) const SOURCE: &'static str = "CTCP";
    pub(crate) const PARAMETERS: &'static [Parameter] = CompoundParameters::LIST;

    pub(crate) fn new(given: CompoundParameters) -> Compound {
        Compound { parameters: Box::new(given), rounds: Box::default(), delay_window: 0.0, due: 0.0 }
    }

    /// A round of congestion avoidance is over.
    fn round(&mut self, window: &mut Window, round: &Round, ack: &AckEvent) {
        let backlog = round.backlog(window.cwnd, ack.min_rtt);
        self.due = 0.0;
        if backlog >= self.parameters.gamma {
            let less = (self.parameters.zeta * backlog).min(self.delay_window);
            self.delay_window -= less;
            window.lower_to(window.cwnd - less);
        } else if window.cwnd >= self.parameters.low_window {
            self.due = self.parameters.gain(window.cwnd);
        }
    }
}

impl Catalogued for Compound {
    const GAUGES: &'static [Gauge] =
        &[Gauge { name: "delay_window_packets", unit: "packets", help: "delay-based part of the window" }];
}

impl Controller for Compound {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let round = self.rounds.take(ack);
        // Unclear in [CTCP]: slow start is not specified. It is that of standard TCP, and the delay-based
        // window does not change.
        if let Some(round) = round.filter(|_| !ack.recovering && !window.in_slow_start()) {
            self.round(window, &round, ack);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let due = std::mem::take(&mut self.due);
        self.delay_window += due;
        window.cwnd += due + ack.packets / window.cwnd;
    }

    // Differs from [CTCP 2008]: gamma is constant; the draft adapts it to the queue that standard TCP would
    // leave, between 5 and 30 packets.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        let standard = (window.cwnd - self.delay_window).max(0.0) / 2.0;
        let kept = window.cwnd * (1.0 - self.parameters.beta);
        self.delay_window = (kept - standard).max(0.0);
        self.due = 0.0;
        window.ssthresh = (standard + self.delay_window).max(2.0);
        window.cwnd = window.ssthresh;
    }

    // Unclear in [CTCP]: what remains of the delay-based window after a timeout. Nothing remains.
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.start_over();
        (self.delay_window, self.due) = (0.0, 0.0);
    }

    fn on_recovered(&mut self, _: &mut Window, _: Time) {
        self.rounds.restart();
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(self.delay_window);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;

    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, acknowledge, avoidance, close};

    fn with_delay_window(delay_window: f64) -> Compound {
        Compound { delay_window, ..Compound::new(Default::default()) }
    }

    /// The window and its delay-based part after the first acknowledgement of a second round.
    fn after(cwnd: f64, delay_window: f64, rtt_ms: u64) -> (f64, f64) {
        let (mut flow, mut window) = (with_delay_window(delay_window), avoidance(cwnd));
        let event = AckEvent { new_round: true, min_rtt: Span::from_ms(100), ..ack(Span::from_ms(rtt_ms)) };
        flow.on_delivery(&mut window, &event);
        acknowledge(&mut flow, &mut window, &event);
        (window.cwnd, flow.delay_window)
    }

    /// 10 000^0.75 / 8 = 1000 / 8 = 125: one from the standard part, 124 from the other; 256^0.75 /
    /// 8 = 64 / 8 = 8; below 38 packets, and where alpha w^k is below one, none.
    #[test]
    fn a_round_without_a_queue_adds_an_eighth_of_w_to_three_quarters() {
        for (cwnd, gain) in [(10_000.0, 124.0), (256.0, 7.0), (37.0, 0.0)] {
            let (_, delay_window) = after(cwnd, 0.0, 100);
            assert!((delay_window - gain).abs() < 1e-9, "{delay_window} at {cwnd}");
        }
        assert_eq!(with_delay_window(0.0).parameters.gain(15.0), 0.0, "15^0.75 / 8 = 0.95");
    }

    /// 400 packets at 108 ms: 400 x 8 / 108 = 29.6 wait, below gamma. At 110 ms 36.4 do, and go.
    #[test]
    fn gamma_packets_in_queues_are_taken_from_the_delay_based_part() {
        assert!(after(400.0, 100.0, 108).1 > 100.0);
        close(after(400.0, 100.0, 110).1, 100.0 - 400.0 * 10.0 / 110.0, 1e-9);
        let (cwnd, delay_window) = after(400.0, 20.0, 110);
        assert_eq!(delay_window, 0.0, "no more than there is");
        assert!((cwnd - 380.0).abs() < 0.01, "the standard part stays");
    }

    /// 100 packets, 60 of them by delay: half of 40 is 20, and half of all is 50, so 30 by delay.
    #[test]
    fn a_loss_halves_both_parts() {
        let (mut flow, mut window) = (with_delay_window(60.0), avoidance(100.0));
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh, flow.delay_window), (50.0, 50.0, 30.0));
        flow.on_timeout(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, flow.delay_window), (1.0, 0.0));
    }

    /// A path of 1000 packets: the standard part grows by one a round, and what it grows by the other
    /// gives up as soon as 30 packets wait, so that the sum stays near 1030 while both last.
    #[test]
    fn the_sum_stays_near_the_path_and_gamma_while_the_standard_part_grows() {
        let mut flows = [(with_delay_window(0.0), avoidance(100.0))];
        let mut path = SharedPath::new(Span::from_ms(100), 10_000.0);
        (0..200).for_each(|_| {
            path.round(&mut flows);
        });
        let queued: f64 = (0..200).map(|_| path.round(&mut flows)).sum::<f64>() / 200.0;
        let (flow, window) = &flows[0];
        assert!(queued > 0.0 && queued < 60.0, "{queued}");
        close(window.cwnd - flow.delay_window, 500.0, 0.02);
    }

    /// dw/dt = alpha w^k in rounds: w^(1/4) grows by alpha / 4 = 1/32 a round, from 256^(1/4) = 4 to
    /// 6 in 64 rounds, w = 1296.
    #[test]
    fn an_empty_path_is_climbed_by_the_fourth_power_of_time() {
        let mut flows = [(with_delay_window(0.0), avoidance(256.0))];
        let mut path = SharedPath::new(Span::from_ms(100), 1e6);
        (0..65).for_each(|_| {
            path.round(&mut flows);
        });
        close(flows[0].1.cwnd, 1296.0, 0.02);
    }
}
