//! BBR, version 1 [BBR, LINUX]: paces at the measured delivery rate, with about one bandwidth-delay product in flight.
//!
//! Two numbers model the path: the largest rate of delivery in the last ten rounds and the smallest
//! round-trip time in the last ten seconds. The sender paces at the rate, a quarter faster in one
//! round of eight to see whether there is more and as much slower in the next, and now and then
//! lets the path run nearly empty to see its round-trip time. A loss is no sign of congestion.
//!
//! This file has its name, its parameters and its events; the model of the path and its states are in `bbr/model.rs`,
//! the window is in `bbr/window.rs`. What only Linux has is in files of its own.

use fairhaul_units::{Gauge, Parameter, Settings, Time, parameters, words};

use crate::bbr_shared::PATH_GAUGES;
use crate::{AckEvent, Catalogued, Cause, Congestion, Controller, Needs, Pacing, ProbeCycle, Start, Window};

mod aggregated_acks;
mod burst_goal;
mod model;
mod policer;
mod rate_filter;
mod recovering;
mod window;

use model::BbrModel;

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    model: Box<BbrModel>,
}

words! {
    /// Whose rules they are.
    pub enum BbrVariant {
        /// As in the kernel since 5.1.
        Linux = "linux",
        /// Those of the first draft.
        Draft = "draft",
    }
}

parameters! {
    /// The parameters of BBR.
    pub(crate) struct BbrParameters {
        variant: Word(BbrVariant) = BbrVariant::Linux,
            "linux: as in Linux, with windows for bursts and for aggregated acknowledgements, a pacing margin and the \
             detection of policers; draft: as in the first draft, without them [LINUX, BBR]";
        high_gain: Number(1.1..=10.0) = 2.885,
            "pacing and window gain during startup, 2 / ln 2; drain uses its inverse [BBR]";
        cwnd_gain: Number(1.0..=10.0) = 2.0,
            "limit of the packets in flight, in bandwidth-delay products [BBR]";
        bandwidth_window: Whole(2..=1000) = 10,
            "length of the filter for the maximum delivery rate, in round trips [BBR]";
        min_rtt_window: Seconds(0.1..=1000.0) = 10.0,
            "length of the filter for the minimum round-trip time, and the interval between its probes [BBR]";
        probe_rtt: Seconds(0.0..=10.0) = 0.2,
            "duration of a probe for the minimum round-trip time, with four packets in flight [BBR]";
    }
}

impl Bbr {
    pub(crate) const TITLE: &'static str = "BBR version 1: paces at the measured delivery rate of the path";
    pub(crate) const SOURCE: &'static str = "BBR";
    pub(crate) const PARAMETERS: &'static [Parameter] = BbrParameters::LIST;

    pub(crate) fn new(given: BbrParameters) -> Bbr {
        Bbr { model: Box::new(BbrModel::new(given)) }
    }
}

impl Catalogued for Bbr {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", BbrVariant::Linux.value()));
    const GAUGES: &'static [Gauge] = &PATH_GAUGES;

    /// It probes for the round-trip time whenever its filter ends [BBR].
    fn probe_cycle(settings: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle::seconds(BbrParameters::from(settings).min_rtt_window.as_secs()))
    }
}

impl Controller for Bbr {
    fn on_start(&mut self, start: &Start) {
        self.model.carries(start.payload);
    }

    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {}

    fn on_slow_start(&mut self, _: &mut Window, _: &AckEvent) {}

    // Differs from [BBR]: packets that are sent before the first acknowledgement are not paced. The sender
    // knows a round-trip time at that point, but the controller does not. In Linux the first ten packets are
    // not paced, which are as many as its initial window.
    // Differs from [BBR]: after an idle period packets are paced with the gain of the current state, not at the
    // estimated rate itself, because a controller is not called before its packets leave.
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let model = &mut *self.model;
        model.begin(window, ack);
        if let Some(sample) = &ack.rate {
            model.learn(window, ack, sample);
        }
        model.follow_rate();
        model.set_window(window, ack);
    }

    /// A loss: in the first round of recovery as much leaves as arrives. A mark says nothing.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        let model = &mut *self.model;
        if event.cause == Cause::Mark {
            model.on_mark(window);
        } else {
            model.on_loss(window, event.now);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        self.model.on_timeout(window, event.now);
    }

    fn on_departure(&mut self, at: Time) {
        self.model.departs_at(at);
    }

    fn on_recovered(&mut self, window: &mut Window, now: Time) {
        self.model.on_recovered(window, now);
    }

    /// The end of the recovery, which follows, gives the window back.
    fn on_undo(&mut self, _: &mut Window, _: f64, _: Time) {
        self.model.on_undo();
    }

    fn needs(&self) -> Needs {
        Needs { rates: true, pacing: true, modes: true, ..Needs::default() }
    }

    fn mode(&self) -> Option<u8> {
        Some(self.model.mode())
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend(self.model.gauges());
    }

    fn pacing(&self, _: &Window) -> Pacing {
        self.model.pacing()
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Bytes, Span};

    use super::BbrVariant::{Draft, Linux};
    use super::*;
    use crate::RateSample;
    use crate::test_support::{CONGESTION, ack, close};

    const RTT: Span = Span::from_ms(100);

    /// A path of 1000 packets a second and 100 ms that is always full: a round of 100 packets, all
    /// acknowledged, with so many in flight before each acknowledgement.
    struct FlowInRounds {
        flow: Bbr,
        window: Window,
        now: Time,
        delivered: f64,
    }

    impl FlowInRounds {
        fn new(variant: BbrVariant) -> FlowInRounds {
            let mut flow = Bbr::new(BbrParameters { variant, ..Default::default() });
            flow.on_start(&Start { payload: Bytes(1448), together: 1 });
            let window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
            FlowInRounds { flow, window, now: Time::ZERO, delivered: 0.0 }
        }

        fn acknowledge(&mut self, in_flight: f64, rtt: Span) {
            self.now += Span::from_ms(1);
            self.delivered += 1.0;
            self.deliver(in_flight, rtt, 100.0, 0.0);
        }

        /// An acknowledgement of a packet that left a round ago, in which `round` packets were delivered.
        fn deliver(&mut self, in_flight: f64, rtt: Span, round: f64, lost: f64) {
            let sample = RateSample {
                delivered: round,
                interval: RTT,
                delivered_before: (self.delivered - round).max(0.0),
                delivered_total: self.delivered,
                in_flight_then: in_flight,
                lost_since: lost,
                app_limited: false,
            };
            let event = AckEvent { now: self.now, in_flight, lost, rate: Some(sample), ..ack(rtt) };
            self.flow.on_delivery(&mut self.window, &event);
        }

        fn run(&mut self, packets: u32, in_flight: f64) {
            (0..packets).for_each(|_| self.acknowledge(in_flight, RTT));
        }

        fn gap(&self) -> f64 {
            let Pacing::Even(gap) = self.flow.pacing(&self.window) else { panic!("it is paced") };
            gap.as_secs()
        }
    }

    /// The first sample is the rate, 1000 a second; rounds begin with packets 1, 100, 200 and 300
    /// (the first delivered when 0, 1, 100 and 200 had been), and the last three do not grow by a
    /// quarter. It starts at 2885 packets a second, and drains at 1000 / 2.885 until 100 and the
    /// three of bursts are in flight.
    #[test]
    fn the_start_ends_after_three_rounds_without_growth_and_drains() {
        let mut path = FlowInRounds::new(Draft);
        path.run(1, 200.0);
        close(path.gap(), 1.0 / 2885.0, 1e-6);
        let mut packets = 1;
        while path.flow.mode() == Some(0) {
            path.run(1, 200.0);
            packets += 1;
        }
        assert!((300..=305).contains(&packets), "{packets}");
        assert_eq!(path.flow.mode(), Some(1));
        close(path.gap(), 2.885 / 1000.0, 1e-6);
        path.run(1, 104.0);
        assert_eq!(path.flow.mode(), Some(1));
        path.run(1, 103.0);
        assert!(matches!(path.flow.mode(), Some(2 | 4)), "{:?}", path.flow.mode());
    }

    /// A packet every 100 ms is a target of 2.885 + 3 packets, below the first window of 10; but up to
    /// the ninth packet delivered that says nothing.
    #[test]
    fn the_first_window_is_doubled_whatever_the_first_samples_say() {
        let mut path = FlowInRounds::new(Draft);
        for _ in 0..20 {
            path.now += RTT;
            path.delivered += 1.0;
            let rate = RateSample {
                delivered: 1.0,
                interval: RTT,
                delivered_before: path.delivered - 1.0,
                delivered_total: path.delivered,
                in_flight_then: 2.0,
                lost_since: 0.0,
                app_limited: true,
            };
            let event = AckEvent { now: path.now, in_flight: 9.0, rate: Some(rate), ..ack(RTT) };
            path.flow.on_delivery(&mut path.window, &event);
        }
        assert_eq!(path.window.cwnd, 19.0);
    }

    fn cycling(variant: BbrVariant) -> FlowInRounds {
        let mut path = FlowInRounds::new(variant);
        path.run(400, 200.0);
        path.run(100, 100.0);
        path
    }

    /// 2 x 100 packets and three bursts; a quarter faster is 0.8 ms a packet, as much slower 1.333.
    #[test]
    fn the_window_is_two_paths_and_the_gains_of_a_cycle_are_paced() {
        let mut path = cycling(Draft);
        path.run(300, 128.0);
        assert_eq!(path.window.cwnd, 203.0);
        let mut gaps = std::collections::BTreeMap::new();
        for _ in 0..800 {
            path.run(1, 127.0);
            *gaps.entry((path.gap() * 1e7).round() as u64).or_insert(0) += 1;
        }
        assert_eq!(gaps.keys().copied().collect::<Vec<_>>(), [8000, 10_000, 13_333]);
        // A round of 100 ms each, over at the first acknowledgement after it: 101 packets.
        assert!(gaps[&8000] >= 100 && gaps[&13_333] >= 100 && gaps[&10_000] > 550, "{gaps:?}");
    }

    /// At 1000 packets/s, 28 packets are delivered until a burst departs in 28 ms: with 128 in flight before, and two of the
    /// next burst, 125 are not reached, so that the phase that probes goes on.
    #[test]
    fn linux_does_not_count_what_is_delivered_until_the_next_burst_departs() {
        let rounds_of_probing = |wait: Span| {
            let mut path = cycling(Linux);
            let mut probing = 0;
            for _ in 0..1600 {
                path.flow.on_departure(path.now + Span::from_ms(1) + wait);
                path.run(1, 134.0);
                probing += u32::from((path.gap() * 1e7).round() == 8081.0);
            }
            probing
        };
        let (at_once, later) = (rounds_of_probing(Span::ZERO), rounds_of_probing(Span::from_ms(28)));
        assert!(at_once >= 100 && later > at_once + 200, "{at_once} {later}");
    }

    /// Ten seconds after the smallest round trip, at 100 ms, all are 120 ms long.
    #[test]
    fn an_old_round_trip_is_probed_with_four_packets_for_200_ms() {
        let mut path = cycling(Draft);
        (0..10_100).for_each(|_| path.acknowledge(120.0, Span::from_ms(120)));
        assert_eq!((path.flow.mode(), path.window.cwnd), (Some(5), 4.0));
        let began = path.now;
        while path.flow.mode() == Some(5) {
            path.acknowledge(3.0, Span::from_ms(101));
        }
        let took = path.now - began;
        assert!(took > Span::from_ms(200) && took < Span::from_ms(210), "{took}");
        assert!(path.window.cwnd > 100.0, "{}", path.window.cwnd);
    }

    /// 150 are in flight when a loss is found: with the one just acknowledged 151 for a round, and
    /// then the window of before, 203. A timeout leaves one.
    #[test]
    fn a_loss_holds_what_is_in_flight_and_recovery_gives_the_window_back() {
        let mut path = cycling(Draft);
        path.run(300, 150.0);
        path.flow.on_congestion(&mut path.window, &CONGESTION);
        assert_eq!(path.window.cwnd, 151.0);
        path.flow.on_recovered(&mut path.window, path.now);
        assert_eq!(path.window.cwnd, 203.0);
        path.flow.on_timeout(&mut path.window, &CONGESTION);
        assert_eq!(path.window.cwnd, 1.0);
        path.flow.on_recovered(&mut path.window, path.now);
        assert_eq!(path.window.cwnd, 203.0);
    }

    /// 1 % below 1000 packets a second. 11.5 Mbit/s are bursts of two packets, six for three bursts, and a packet that
    /// comes in time is an excess of one: 200 + 1 + 6 and rounded up 208, in the phase that probes 210.
    #[test]
    fn linux_has_three_bursts_beyond_two_paths_in_pairs_and_paces_below_the_rate() {
        let mut path = cycling(Linux);
        path.run(300, 128.0);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..800 {
            path.run(1, 131.0);
            seen.insert((path.gap() * 1e7).round() as u64, path.window.cwnd);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(8081, 210.0), (10_101, 208.0), (13_468, 208.0)]);
    }

    /// 25 packets at once every 25 ms: the last of them leaves an excess of 25. 200 + 25 + 6 are 232 in pairs.
    #[test]
    fn linux_adds_what_acknowledgements_bring_together() {
        let mut path = cycling(Linux);
        for _ in 0..100 {
            let began = path.now;
            for _ in 0..25 {
                path.acknowledge(127.0, RTT);
                path.now = began;
            }
            path.now = began + Span::from_ms(25);
        }
        assert!([232.0, 234.0].contains(&path.window.cwnd), "{}", path.window.cwnd);
    }

    /// All round trips take 100 ms. In the draft each renews the minimum; in Linux it is 10 s old and is probed for.
    #[test]
    fn an_equal_round_trip_renews_the_minimum_in_the_draft_only() {
        for (variant, mode) in [(Draft, None), (Linux, Some(5))] {
            let mut path = cycling(variant);
            path.run(10_100, 127.0);
            assert_eq!(path.flow.mode().filter(|&mode| mode == 5), mode, "{variant:?}");
        }
    }

    /// 150 in flight and one just acknowledged: 151 for the first round. The acknowledgement that ends the recovery
    /// shows another loss: in Linux the window goes on from what it was, in the draft it is 151 again.
    #[test]
    fn a_recovery_that_follows_another_at_once_has_no_first_round_of_its_own_in_linux() {
        for (variant, cwnd) in [(Draft, 151.0), (Linux, 180.0)] {
            let mut path = cycling(variant);
            path.run(300, 150.0);
            path.flow.on_congestion(&mut path.window, &CONGESTION);
            assert_eq!(path.window.cwnd, 151.0);
            path.window.cwnd = 180.0;
            path.flow.on_recovered(&mut path.window, path.now);
            assert!(path.window.cwnd >= 203.0);
            path.flow.on_congestion(&mut path.window, &Congestion { now: path.now, ..CONGESTION });
            assert_eq!(path.window.cwnd, cwnd, "{variant:?}");
            path.flow.on_recovered(&mut path.window, path.now);
            assert!(path.window.cwnd >= 203.0, "{variant:?} {}", path.window.cwnd);
        }
    }

    /// What follows a timeout has reached 100 packets when its last acknowledgement shows a loss: a first round, in which
    /// 91 are in flight or leave, and after it the window of before the timeout.
    #[test]
    fn a_recovery_that_follows_a_timeout_at_once_has_a_first_round() {
        let mut path = cycling(Linux);
        path.run(300, 150.0);
        path.flow.on_timeout(&mut path.window, &CONGESTION);
        path.run(1, 90.0);
        path.window.cwnd = 100.0;
        path.flow.on_recovered(&mut path.window, path.now);
        path.flow.on_congestion(&mut path.window, &Congestion { now: path.now, ..CONGESTION });
        assert_eq!(path.window.cwnd, 91.0);
        path.flow.on_recovered(&mut path.window, path.now + RTT);
        assert_eq!(path.window.cwnd, 208.0);
    }

    /// 500 packets/s pass a policer, which drops 13 for 50 delivered; a burst had shown 1000. The first loss is in the
    /// first round, and two intervals of four rounds end in the fifth and the ninth. From then on for 48 rounds the flow
    /// paces 1 % below 500 in every phase.
    #[test]
    fn linux_paces_at_the_rate_of_a_policer() {
        let mut path = cycling(Linux);
        let mut gaps = Vec::new();
        for _ in 0..60 {
            for number in 0..50 {
                path.now += Span::from_ms(1);
                path.delivered += 1.0;
                let lost = if number == 49 { 13.0 } else { 0.0 };
                path.deliver(100.0, RTT, 50.0, lost);
            }
            path.now += Span::from_ms(50);
            gaps.push(path.gap());
        }
        assert!(gaps[..8].iter().all(|&gap| gap < 0.0014), "{gaps:?}");
        assert!(gaps[8..56].iter().all(|&gap| (gap * 495.0 - 1.0).abs() < 0.01), "{gaps:?}");
        assert!(gaps[56..].iter().any(|&gap| (gap * 495.0 - 1.0).abs() > 0.2), "{gaps:?}");
    }
}
