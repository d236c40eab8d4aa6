//! BBR, version 1 [BBR]: paces at the measured delivery rate, with about one bandwidth-delay product in flight.
//!
//! Two numbers model the path: the largest rate of delivery in the last ten rounds and the smallest
//! round-trip time in the last ten seconds. The sender paces at the rate, a quarter faster in one
//! round of eight to see whether there is more and as much slower in the next, and now and then
//! lets the path run nearly empty to see its round-trip time. A loss is no sign of congestion.

use fairhaul_units::{Parameter, Span, Time, parameters};

use crate::bbr_shared::{DeliveryRounds, Plateau, Spacing, after_idle, draw, flight_before};
use crate::windowed_max::WindowedMax;
use crate::{AckEvent, Catalogued, Cause, Congestion, Controller, Needs, Pacing, RateSample, Window};

/// The pacing gains of a cycle, a smallest round trip each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// So many packets keep acknowledgements coming, and are in flight while the round trip is probed.
const LEAST_WINDOW: f64 = 4.0;
/// Packets beyond the product of rate and round trip, for those that ends hold: three bursts.
//
// Differs from [BBR]: a burst is one packet, whatever `offload` says and at any rate.
// Differs from [LINUX]: in Linux the window is rounded up to an even number of packets, and is larger by two in
// the phase that probes for more bandwidth.
const BURSTS: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BbrState {
    Startup,
    Drain,
    ProbeBw { phase: u8 },
    ProbeRtt,
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    model: Box<BbrModel>,
}

#[derive(Clone, Debug)]
struct BbrModel {
    high_gain: f64,
    cwnd_gain: f64,
    min_rtt_window: Span,
    probe_rtt: Span,
    state: BbrState,
    rounds: DeliveryRounds,
    rates: WindowedMax,
    spacing: Spacing,
    min_rtt: Span,
    min_rtt_at: Time,
    plateau: Plateau,
    filled: bool,
    /// When the phase of the cycle began.
    phase_began: Time,
    /// While the round trip is probed: when that ends, once the flight is small.
    probe_ends: Option<Time>,
    probe_round_done: bool,
    /// Samples of packets that left before so much had been delivered are not of a full window.
    probed_until: f64,
    /// The window before a recovery or a probe of the round trip.
    prior_cwnd: f64,
    /// The window at the first acknowledgement. Until as much is delivered the rate says little.
    first_window: f64,
    /// In the first round of a recovery: no more leaves than arrives.
    conserves: bool,
    recovering: bool,
    /// Of the last acknowledgement: what it left in flight, what it delivered, and all delivered.
    in_flight: f64,
    packets: f64,
    delivered: f64,
}

parameters! {
    /// The parameters of BBR.
    pub(crate) struct BbrParameters {
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
        let model = BbrModel {
            high_gain: given.high_gain,
            cwnd_gain: given.cwnd_gain,
            min_rtt_window: given.min_rtt_window,
            probe_rtt: given.probe_rtt,
            state: BbrState::Startup,
            rounds: DeliveryRounds::default(),
            // Differs from [LINUX]: the maximum of the rate is taken over ten rounds, including the current
            // one; the filter in Linux keeps eleven.
            rates: WindowedMax::new(given.bandwidth_window),
            spacing: Spacing::default(),
            min_rtt: Span::ZERO,
            min_rtt_at: Time::ZERO,
            plateau: Plateau::default(),
            filled: false,
            phase_began: Time::ZERO,
            probe_ends: None,
            probe_round_done: false,
            probed_until: 0.0,
            prior_cwnd: 0.0,
            first_window: 0.0,
            conserves: false,
            recovering: false,
            in_flight: 0.0,
            packets: 1.0,
            delivered: 0.0,
        };
        Bbr { model: Box::new(model) }
    }
}

impl BbrModel {
    fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup => self.high_gain,
            BbrState::Drain => 1.0 / self.high_gain,
            BbrState::ProbeBw { phase } => CYCLE[usize::from(phase)],
            BbrState::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup | BbrState::Drain => self.high_gain,
            BbrState::ProbeBw { .. } => self.cwnd_gain,
            BbrState::ProbeRtt => 1.0,
        }
    }

    /// Packets in flight that fill the path `gain` times.
    fn in_flight_at(&self, gain: f64) -> f64 {
        gain * self.rates.largest() * self.min_rtt.as_secs() + BURSTS
    }

    /// Moves the model of the path with an acknowledgement.
    fn learn(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        self.rounds.take(sample);
        let limited = sample.app_limited || sample.delivered_before < self.probed_until;
        if !limited || sample.rate() >= self.rates.largest() {
            self.rates.take(self.rounds.count, sample.rate());
        }
        self.move_phase(ack);
        if !self.filled && self.rounds.started && !limited {
            self.filled = self.plateau.take(self.rates.largest());
        }
        if self.state == BbrState::Startup && self.filled {
            self.state = BbrState::Drain;
        }
        if self.state == BbrState::Drain && ack.in_flight <= self.in_flight_at(1.0) {
            self.cycle(ack.now);
        }
        self.watch_round_trip(window, ack, sample);
    }

    /// Enters the cycle in any phase but that which drains.
    fn cycle(&mut self, now: Time) {
        let phase = (7.0 * draw(now)) as u8;
        let phase = if phase == 0 { 0 } else { phase + 1 };
        (self.state, self.phase_began) = (BbrState::ProbeBw { phase }, now);
    }

    fn move_phase(&mut self, ack: &AckEvent) {
        let BbrState::ProbeBw { phase } = self.state else { return };
        let long = ack.now.since(self.phase_began) > self.min_rtt;
        let before = flight_before(ack);
        let over = match self.pacing_gain() {
            // Until there is a queue, or no room for one.
            gain if gain > 1.0 => long && (ack.lost > 0.0 || before >= self.in_flight_at(gain)),
            gain if gain < 1.0 => long || before <= self.in_flight_at(1.0),
            _ => long,
        };
        if over {
            (self.state, self.phase_began) = (BbrState::ProbeBw { phase: (phase + 1) % 8 }, ack.now);
        }
    }

    /// Keeps the smallest round-trip time, and probes for it when the last is old.
    fn watch_round_trip(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        // Differs from [LINUX]: a round-trip sample that equals the minimum renews it, as in the first draft;
        // in Linux the sample has to be smaller. So on a path that often has no queue the probes of the
        // round-trip time come later here.
        let old = ack.now > self.min_rtt_at + self.min_rtt_window;
        if ack.rtt <= self.min_rtt || old {
            (self.min_rtt, self.min_rtt_at) = (ack.rtt, ack.now);
        }
        if old && self.state != BbrState::ProbeRtt && !after_idle(sample) {
            self.state = BbrState::ProbeRtt;
            self.save(window);
            self.probe_ends = None;
        }
        if self.state == BbrState::ProbeRtt {
            self.probe_round_trip(window, ack, sample);
        }
    }

    fn probe_round_trip(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        self.probed_until = sample.delivered_total + ack.in_flight;
        let Some(ends) = self.probe_ends else {
            if ack.in_flight <= LEAST_WINDOW {
                self.probe_ends = Some(ack.now + self.probe_rtt);
                self.probe_round_done = false;
                self.rounds.restart(sample.delivered_total);
            }
            return;
        };
        self.probe_round_done |= self.rounds.started;
        if self.probe_round_done && ack.now > ends {
            self.min_rtt_at = ack.now;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            if self.filled { self.cycle(ack.now) } else { self.state = BbrState::Startup }
        }
    }

    /// Remembers the window for when a recovery or a probe is over.
    fn save(&mut self, window: &Window) {
        let untouched = !self.recovering && self.state != BbrState::ProbeRtt;
        self.prior_cwnd = if untouched { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }

    fn set_window(&mut self, window: &mut Window, ack: &AckEvent) {
        let target = self.in_flight_at(self.cwnd_gain());
        if ack.recovering {
            window.cwnd = (window.cwnd - ack.lost).max(1.0);
        }
        self.conserves &= ack.recovering && !self.rounds.started;
        if self.conserves {
            window.cwnd = window.cwnd.max(ack.in_flight + ack.packets);
        } else {
            if self.filled {
                window.cwnd = (window.cwnd + ack.packets).min(target);
            } else if window.cwnd < target || self.delivered < self.first_window {
                window.cwnd += ack.packets;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        }
        if self.state == BbrState::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }
}

impl Catalogued for Bbr {}

impl Controller for Bbr {
    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {}

    fn on_slow_start(&mut self, _: &mut Window, _: &AckEvent) {}

    // Differs from [BBR]: packets that are sent before the first acknowledgement are not paced. The sender
    // knows a round-trip time at that point, but the controller does not.
    // Differs from [BBR]: after an idle period packets are paced with the gain of the current state, not at the
    // estimated rate itself, because a controller is not called before its packets leave.
    // Differs from [LINUX]: the minimum of the round-trip time begins with the first data packet, not with the
    // packet that opens the connection.
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let model = &mut *self.model;
        if model.min_rtt.is_zero() {
            (model.min_rtt, model.min_rtt_at) = (ack.rtt, ack.now);
            model.first_window = window.cwnd;
            model.spacing.follow(model.high_gain * window.cwnd / ack.srtt.as_secs(), true);
        }
        if let Some(sample) = &ack.rate {
            model.learn(window, ack, sample);
            model.delivered = sample.delivered_total;
        }
        (model.in_flight, model.packets, model.recovering) = (ack.in_flight, ack.packets, ack.recovering);
        model.spacing.follow(model.pacing_gain() * model.rates.largest(), !model.filled);
        model.set_window(window, ack);
    }

    /// A loss: in the first round of recovery as much leaves as arrives. A mark says nothing.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        window.ssthresh = window.cwnd;
        if event.cause == Cause::Mark {
            return;
        }
        let model = &mut *self.model;
        model.save(window);
        (model.recovering, model.conserves) = (true, true);
        model.rounds.restart(model.delivered);
        window.cwnd = (model.in_flight + model.packets.max(1.0)).min(window.cwnd);
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        let model = &mut *self.model;
        model.save(window);
        (model.recovering, model.conserves) = (true, false);
        (window.ssthresh, window.cwnd) = (window.cwnd, 1.0);
    }

    fn on_recovered(&mut self, window: &mut Window, _: Time) {
        let model = &mut *self.model;
        (model.recovering, model.conserves) = (false, false);
        if model.state != BbrState::ProbeRtt {
            window.cwnd = model.prior_cwnd.max(window.cwnd.min(window.ssthresh));
        }
    }

    fn needs(&self) -> Needs {
        Needs { rates: true, pacing: true, modes: true, ..Needs::default() }
    }

    fn mode(&self) -> Option<u8> {
        Some(match self.model.state {
            BbrState::Startup => 0,
            BbrState::Drain => 1,
            BbrState::ProbeBw { phase } => phase.min(2) + 2,
            BbrState::ProbeRtt => 5,
        })
    }

    fn pacing(&self, _: &Window) -> Pacing {
        self.model.spacing.pacing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        fn new() -> FlowInRounds {
            let flow = Bbr::new(Default::default());
            let window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
            FlowInRounds { flow, window, now: Time::ZERO, delivered: 0.0 }
        }

        fn acknowledge(&mut self, in_flight: f64, rtt: Span) {
            self.now += Span::from_ms(1);
            self.delivered += 1.0;
            let sample = RateSample {
                delivered: 100.0,
                interval: RTT,
                delivered_before: (self.delivered - 100.0).max(0.0),
                delivered_total: self.delivered,
                in_flight_then: in_flight,
                lost_since: 0.0,
                app_limited: false,
            };
            let event = AckEvent { now: self.now, in_flight, rate: Some(sample), ..ack(rtt) };
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
        let mut path = FlowInRounds::new();
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
        let mut path = FlowInRounds::new();
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

    fn cycling() -> FlowInRounds {
        let mut path = FlowInRounds::new();
        path.run(400, 200.0);
        path.run(100, 100.0);
        path
    }

    /// 2 x 100 packets and three bursts; a quarter faster is 0.8 ms a packet, as much slower 1.333.
    #[test]
    fn the_window_is_two_paths_and_the_gains_of_a_cycle_are_paced() {
        let mut path = cycling();
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

    /// Ten seconds after the smallest round trip, at 100 ms, all are 120 ms long.
    #[test]
    fn an_old_round_trip_is_probed_with_four_packets_for_200_ms() {
        let mut path = cycling();
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
        let mut path = cycling();
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
}
