//! FAST TCP [FAST]: keeps a fixed number of its packets in the queue, and reaches it in a few rounds.
//!
//! Where Vegas goes a packet at a time, FAST goes half the way, however far it is. Every flow that
//! keeps alpha packets in a queue of delay q has the rate alpha / q, whatever its round-trip time.

use fairhaul_units::{Gauge, Parameter, Settings, parameters};

use crate::gauge::known;
use crate::{AckEvent, Catalogued, Congestion, Controller, ProbeCycle, Window};

/// FAST TCP.
#[derive(Clone, Debug)]
pub struct Fast {
    alpha: f64,
    gamma: f64,
    /// The average round-trip time, in seconds; zero before the first sample.
    average_s: f64,
    /// Packets by which the window is to grow.
    due: f64,
    /// Own packets in queues at the end of the last round; not a number before there is one.
    backlog: f64,
}

parameters! {
    /// The parameters of FAST TCP.
    pub(crate) struct FastParameters {
        // Unclear in [FAST]: the value of alpha, which the source sets by the rate of the link. It is 200,
        // the source's value for 1 Gbit/s; if a queue holds fewer packets, every flow loses packets.
        alpha: Number(1.0..=1e6, "packets") = 200.0,
            "packets that the flow keeps in queues; must be less than the capacity of the queue [FAST]";
        gamma: Number(0.001..=1.0) = 0.5,
            "fraction of the distance to its target that the window moves in one step [FAST]";
    }
}

impl Fast {
    pub(crate) const TITLE: &'static str = "FAST TCP: keeps alpha packets in the queue and moves halfway to \
                                            the target each round trip";
    pub(crate) const SOURCE: &'static str = "FAST";
    pub(crate) const PARAMETERS: &'static [Parameter] = FastParameters::LIST;

    pub(crate) fn new(given: FastParameters) -> Fast {
        Fast { alpha: given.alpha, gamma: given.gamma, average_s: 0.0, due: 0.0, backlog: f64::NAN }
    }

    /// The average follows a sample by 3/w, at most a quarter.
    fn sample(&mut self, rtt_s: f64, w: f64) {
        let weight = if self.average_s > 0.0 { (3.0 / w).min(0.25) } else { 1.0 };
        self.average_s += weight * (rtt_s - self.average_s);
    }

    /// The window after `w`, where the path without queues takes the share `base` of a round trip.
    fn next(&self, w: f64, base: f64) -> f64 {
        (2.0 * w).min(w + self.gamma * (base * w + self.alpha - w))
    }
}

impl Catalogued for Fast {
    const GAUGES: &'static [Gauge] = &[
        Gauge {
            name: "backlog_packets",
            unit: "packets",
            help: "own packets in queues, by the last round trip",
        },
        Gauge { name: "average_rtt_s", unit: "s", help: "average round-trip time" },
    ];

    /// A round trip goes `gamma` of the way to a target that moves along: what it is wrong by becomes smaller by
    /// gamma (1 - base / RTT), in equilibrium gamma alpha / w, and at most gamma [FAST].
    fn probe_cycle(settings: &Settings) -> Option<ProbeCycle> {
        let given = FastParameters::from(settings);
        let rounds_per_packet = 1.0 / (given.gamma * given.alpha);
        Some(ProbeCycle { rounds_per_packet, ..ProbeCycle::rounds(1.0 / given.gamma) })
    }
}

impl Controller for Fast {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        self.sample(ack.rtt.as_secs(), window.cwnd);
        // Unclear in [FAST]: the update period. Once per round trip, as in the analysis of the rule.
        if !ack.new_round || ack.recovering {
            return;
        }
        let base = (ack.min_rtt.as_secs() / self.average_s).min(1.0);
        self.backlog = window.cwnd * (1.0 - base);
        // Unclear in [FAST]: when slow start ends. As soon as alpha packets wait in queues.
        if window.in_slow_start() {
            if self.backlog < self.alpha {
                return;
            }
            window.lower_to(window.cwnd);
        }
        self.due = self.next(window.cwnd, base) - window.cwnd;
        if self.due < 0.0 {
            window.lower_to(window.cwnd + self.due);
        }
    }

    fn on_ack(&mut self, window: &mut Window, _: &AckEvent) {
        window.cwnd += std::mem::take(&mut self.due).max(0.0);
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(0.5);
        self.due = 0.0;
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([self.backlog, known(self.average_s)]);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;

    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, acknowledge, avoidance, close};

    fn with_alpha(alpha: f64) -> Fast {
        Fast::new(FastParameters { alpha, ..Default::default() })
    }

    /// The window after the first acknowledgement of a round, on a path of 100 ms without queues.
    fn after(mut window: Window, rtt_ms: u64) -> Window {
        let event = AckEvent { new_round: true, min_rtt: Span::from_ms(100), ..ack(Span::from_ms(rtt_ms)) };
        acknowledge(&mut with_alpha(20.0), &mut window, &event);
        window
    }

    /// Half of 1000 and of 1000 x 100 / 125 + 20 = 820 is 910; without a queue 1000 + 20 / 2.
    #[test]
    fn the_window_goes_half_the_way() {
        assert_eq!(after(avoidance(1000.0), 125).cwnd, 910.0);
        assert_eq!(after(avoidance(1000.0), 100).cwnd, 1010.0);
    }

    #[test]
    fn the_window_never_more_than_doubles() {
        assert_eq!(after(avoidance(4.0), 100).cwnd, 8.0);
    }

    /// 100 x 60 / 160 = 37.5 packets wait: slow start is over, and the window is on its half way to
    /// 100 x 100 / 160 + 20 = 82.5. At 120 ms they are 16.7.
    #[test]
    fn slow_start_ends_when_alpha_packets_wait() {
        let slow = Window { cwnd: 100.0, ssthresh: 1e9 };
        assert_eq!(after(slow, 160), Window { cwnd: 91.25, ssthresh: 91.25 });
        assert_eq!(after(slow, 120), Window { cwnd: 101.0, ssthresh: 1e9 });
    }

    /// A sample of 200 ms after one of 100 ms: 3 / 30 of the way, and a quarter at small windows.
    #[test]
    fn the_average_follows_within_a_third_of_a_window() {
        for (w, average) in [(30.0, 0.110), (4.0, 0.125)] {
            let mut fast = with_alpha(20.0);
            fast.sample(0.1, w);
            fast.sample(0.2, w);
            assert!((fast.average_s - average).abs() < 1e-12);
        }
    }

    /// 5000 packets/s x 100 ms = 500 packets on the way, and 20 queued for each flow.
    #[test]
    fn every_flow_keeps_alpha_packets_queued() {
        for number in [1, 3] {
            let mut flows = vec![(with_alpha(20.0), avoidance(10.0)); number];
            let mut path = SharedPath::new(Span::from_ms(100), 5000.0);
            let queued = (0..300).map(|_| path.round(&mut flows)).last().unwrap();
            close(queued, 20.0 * number as f64, 0.06);
            close(flows[0].1.cwnd, 500.0 / number as f64 + 20.0, 0.01);
        }
    }

    #[test]
    fn a_loss_takes_half() {
        let mut window = avoidance(100.0);
        with_alpha(20.0).on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 50.0);
    }
}
