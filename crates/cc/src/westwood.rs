//! Westwood+ [WESTWOOD]: growth of standard TCP; a loss reduces the window to the estimated bandwidth x min RTT.
//!
//! The returning acknowledgements are counted once in a round trip and filtered: the bandwidth
//! estimate. At a loss the window becomes that times the smallest round-trip time, so that a queue
//! is emptied and a loss without a queue costs little.

use fairhaul_units::{Bytes, Gauge, Parameter, Span, Time, parameters};

use crate::gauge::{payload_bps, seconds};
use crate::{AckEvent, Catalogued, Congestion, Controller, Start, Window};

/// Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    parameters: Box<WestwoodParameters>,
    /// Packets delivered since the interval under way began.
    packets: f64,
    since: Time,
    /// The rate filtered once, and twice, in packets per second; zero before the first interval.
    once: f64,
    twice: f64,
    min_rtt: Span,
    /// Whether a timeout has made the smallest round trip that of the next sample.
    forgets: bool,
    /// What a full packet carries, bytes: in 32 bits, so that a controller stays small.
    payload: u32,
}

parameters! {
    /// The parameters of Westwood+.
    pub(crate) struct WestwoodParameters {
        filter: Number(0.0..=0.999) = 0.875,
            "weight of the old value in each of the two bandwidth filters [LINUX]";
        least_interval: Seconds(0.0..=100.0) = 0.05,
            "shortest interval between bandwidth samples, which are taken once per round trip [WESTWOOD]";
    }
}

impl Westwood {
    pub(crate) const TITLE: &'static str = "Westwood+: after a loss the window is the estimated bandwidth \
                                            times the minimum round-trip time";
    pub(crate) const SOURCE: &'static str = "WESTWOOD";
    pub(crate) const PARAMETERS: &'static [Parameter] = WestwoodParameters::LIST;

    pub(crate) fn new(given: WestwoodParameters) -> Westwood {
        Westwood {
            parameters: Box::new(given),
            packets: 0.0,
            since: Time::NEVER,
            once: 0.0,
            twice: 0.0,
            min_rtt: Span::ZERO,
            forgets: false,
            payload: 0,
        }
    }

    /// Takes the rate of an interval into both filters; the first one fills them.
    // Unclear in [WESTWOOD]: how often the bandwidth is filtered. Twice, as in [LINUX].
    fn sample(&mut self, rate: f64) {
        if self.twice == 0.0 {
            (self.once, self.twice) = (rate, rate);
            return;
        }
        let kept = self.parameters.filter;
        self.once = kept * self.once + (1.0 - kept) * rate;
        self.twice = kept * self.twice + (1.0 - kept) * self.once;
    }

    /// Keeps the smallest round trip: that of the connection, or after a timeout that of the samples
    /// since.
    // Unclear in [WESTWOOD]: how a path that has become longer is handled. As in [LINUX], a timeout forgets the
    // smallest round-trip time; otherwise every later loss would leave too small a window.
    fn watch_round_trip(&mut self, ack: &AckEvent) {
        self.min_rtt = if std::mem::take(&mut self.forgets) {
            ack.rtt
        } else if self.min_rtt.is_zero() {
            ack.min_rtt
        } else {
            self.min_rtt.min(ack.rtt)
        };
    }

    /// The window that fills the path without a queue; half of `cwnd` before there is an estimate.
    fn path(&self, cwnd: f64) -> f64 {
        let left = if self.twice > 0.0 { self.twice * self.min_rtt.as_secs() } else { cwnd / 2.0 };
        left.max(2.0)
    }
}

impl Catalogued for Westwood {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "rate_bps", unit: "bit/s", help: "estimated rate of the flow, of payload" },
        Gauge { name: "min_rtt_s", unit: "s", help: "smallest round-trip time since the last timeout" },
    ];
}

impl Controller for Westwood {
    fn on_start(&mut self, start: &Start) {
        self.payload = start.payload.0 as u32;
    }

    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        self.watch_round_trip(ack);
        self.since = self.since.min(ack.now);
        let interval = ack.now.since(self.since);
        if interval > ack.srtt.max(self.parameters.least_interval) {
            self.sample(self.packets / interval.as_secs());
            (self.since, self.packets) = (ack.now, 0.0);
        }
        self.packets += ack.packets;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets / window.cwnd;
    }

    // Differs from [LINUX]: in Linux a loss also raises a window that is below the estimate.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.ssthresh = self.path(window.cwnd);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.ssthresh = self.path(window.cwnd);
        window.cwnd = 1.0;
        self.forgets = true;
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([payload_bps(self.twice, Bytes(self.payload.into())), seconds(self.min_rtt)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, avoidance, close};

    fn westwood() -> Westwood {
        Westwood::new(Default::default())
    }

    /// Filled with 1000; then 2000: once 7/8 x 1000 + 1/8 x 2000 = 1125, twice 7/8 x 1000 + 1/8 x
    /// 1125 = 1015.625; then once 1234.375 and twice 1042.97.
    #[test]
    fn the_rate_is_filtered_twice() {
        let mut flow = westwood();
        let rates = [1000.0, 2000.0, 2000.0].map(|rate| {
            flow.sample(rate);
            flow.twice
        });
        assert_eq!(rates, [1000.0, 1015.625, 1_042.968_75]);
    }

    /// The estimate after a second of a packet every millisecond, on a path of `rtt_ms`.
    fn after_a_second(rtt_ms: u64) -> (Westwood, u64) {
        let (mut flow, mut samples) = (westwood(), 0);
        for ms in 0..=1000 {
            let now = Time::ZERO + Span::from_ms(ms);
            flow.on_delivery(&mut avoidance(9.0), &AckEvent { now, ..ack(Span::from_ms(rtt_ms)) });
            samples += u64::from(flow.packets == 1.0 && ms > 0);
        }
        (flow, samples)
    }

    /// An interval is the first that is longer than 100 ms: 101 ms, 9 of them in a second; at 10 ms
    /// 51 ms, 19 of them.
    #[test]
    fn the_rate_is_sampled_once_a_round_trip_and_not_below_50_ms() {
        for (rtt_ms, samples) in [(100, 9), (10, 19)] {
            let (flow, found) = after_a_second(rtt_ms);
            assert_eq!(found, samples);
            close(flow.twice, 1000.0, 1e-9);
        }
    }

    /// 1000 packets/s x 100 ms = 100 packets, however large the window was.
    #[test]
    fn a_loss_leaves_the_rate_times_the_smallest_round_trip() {
        for (cwnd, left) in [(180.0, 100.0), (101.0, 100.0), (40.0, 40.0)] {
            let mut window = avoidance(cwnd);
            after_a_second(100).0.on_congestion(&mut window, &CONGESTION);
            close(window.cwnd, left, 1e-9);
            close(window.ssthresh, 100.0, 1e-9);
        }
        let mut window = avoidance(180.0);
        after_a_second(100).0.on_timeout(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 1.0);
        close(window.ssthresh, 100.0, 1e-9);
    }

    /// A packet every millisecond, on a path that goes from 100 to 200 ms: a loss leaves 100 packets,
    /// as long as there is no timeout; the threshold of the timeout is the last by the old path, and a
    /// loss after it leaves 200.
    #[test]
    fn a_timeout_forgets_the_smallest_round_trip() {
        let (mut flow, _) = after_a_second(100);
        let mut loss_after = |timeout: bool| {
            let mut window = avoidance(400.0);
            if timeout {
                flow.on_timeout(&mut window, &CONGESTION);
                close(window.ssthresh, 100.0, 1e-9);
            }
            for ms in [300, 200, 250] {
                flow.on_delivery(
                    &mut window,
                    &AckEvent { min_rtt: Span::from_ms(100), ..ack(Span::from_ms(ms)) },
                );
            }
            window.cwnd = 400.0;
            flow.on_congestion(&mut window, &CONGESTION);
            window.cwnd
        };
        close(loss_after(false), 100.0, 1e-9);
        close(loss_after(true), 200.0, 1e-9);
    }

    #[test]
    fn without_an_estimate_a_loss_takes_half() {
        let mut window = avoidance(40.0);
        westwood().on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (20.0, 20.0));
    }

    /// A path of 100 packets and a queue of 50, lost at 150: what is left fills the path and leaves
    /// the queue empty, where half, 75, would leave a quarter of it idle.
    #[test]
    fn a_loss_empties_the_queue_and_no_more() {
        let mut flows = [(westwood(), avoidance(120.0))];
        let mut path = SharedPath::new(Span::from_ms(100), 1000.0);
        while path.round(&mut flows) < 50.0 {}
        let (flow, window) = &mut flows[0];
        flow.on_congestion(window, &CONGESTION);
        close(window.cwnd, 100.0, 0.02);
    }
}
