//! BBR, version 3 [BBRV3]: BBR that also bounds its packets in flight by the losses that it sees.
//!
//! As version 1 it paces at the rate that the path delivers. It probes for more only every two or three seconds, or as
//! often as standard TCP would lose; between probes it leaves room for others. Where a probe loses more than 2 %, what was
//! in flight bounds the window from then on, and loss between probes lowers a second pair of bounds until the next probe.

mod bounds;
mod cycle;
mod gains;
mod gauges;
mod marks;
mod min_rtt;
mod parameters;

use fairhaul_units::{Bytes, Gauge, Parameter, Settings, Span, Time};
use marks::Marks;
use parameters::Bbr3Parameters;

use crate::bbr_shared::{DeliveryRounds, PATH_GAUGES, Plateau, Spacing};
use crate::windowed_max::WindowedMax;
use crate::{
    AckEvent, Catalogued, Cause, Congestion, Controller, Needs, Pacing, ProbeCycle, RateSample, Start, Window,
};

/// The number of packets that keep acknowledgements coming.
const LEAST_WINDOW: f64 = 4.0;
/// What is paced below the estimate, so that queues drain.
const MARGIN: f64 = 0.01;
/// Rounds between probes at most: standard TCP's at a window of as many packets.
const MOST_ROUNDS: f64 = 63.0;
/// The number of acknowledgements of a round that report a loss, from which the start may be over.
const FULL_LOSSES: u32 = 6;
/// Rounds over which the excess of acknowledgements is kept.
const EXCESS_ROUNDS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bbr3State {
    Startup,
    Drain,
    Up,
    Down,
    Cruise,
    ProbeRtt,
    Refill,
}

/// Which packets are acknowledged now, as a probe goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Other,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    model: Box<Bbr3Model>,
}

#[derive(Clone, Debug)]
struct Bbr3Model {
    parameters: Bbr3Parameters,
    /// What a full packet carries.
    payload: Bytes,
    state: Bbr3State,
    rounds: DeliveryRounds,
    spacing: Spacing,
    /// By cycles of probing.
    rates: WindowedMax,
    cycle: u64,
    plateau: Plateau,
    /// The path was full in this probe; and ever.
    full_now: bool,
    filled: bool,
    drain_began: u64,
    /// The smallest round-trip time; and that since the last probe of it, which keeps it fresh.
    min_rtt: Span,
    min_rtt_at: Time,
    recent_rtt: Span,
    recent_rtt_at: Time,
    /// The window of the last probe, where it follows from the smallest round trip before it.
    kept_probe_window: Option<f64>,
    probe_ends: Option<Time>,
    probe_round_done: bool,
    probed_until: f64,
    prior_cwnd: f64,
    /// The window at the first acknowledgement. Until as much is delivered the rate says little.
    first_window: f64,
    recovering: bool,
    recovered_from: u64,
    /// Bounds that probes have found; and those of losses since the last one. The first is whole, because no part of a packet
    /// is in flight: a probe would never reach it.
    most: f64,
    short_rate: f64,
    short_flight: f64,
    /// What the last round delivered at most: rate and volume.
    latest_rate: f64,
    latest_volume: f64,
    loss_round_end: f64,
    loss_round_over: bool,
    losses: u32,
    marks: Marks,
    /// Probing.
    acks: Acks,
    probes: bool,
    too_high: bool,
    cautious: bool,
    cycle_began: Time,
    wait: Span,
    rounds_waited: u64,
    up_rounds: u32,
    up_acked: f64,
    up_every: f64,
    /// Packets acknowledged beyond what the rate explains.
    excess: WindowedMax,
    excess_began: Time,
    excess_packets: f64,
    /// Of the last acknowledgement.
    delivered: f64,
}

impl Bbr3 {
    pub(crate) const TITLE: &'static str = "BBR version 3: BBR that bounds the packets in flight by the \
                                            loss it measures";
    pub(crate) const SOURCE: &'static str = "BBRV3";
    pub(crate) const PARAMETERS: &'static [Parameter] = Bbr3Parameters::LIST;

    pub(crate) fn new(given: Bbr3Parameters) -> Bbr3 {
        Bbr3 { model: Box::new(Bbr3Model::new(given)) }
    }
}

impl Bbr3Model {
    fn new(parameters: Bbr3Parameters) -> Bbr3Model {
        Bbr3Model {
            parameters,
            payload: Bytes(0),
            state: Bbr3State::Startup,
            rounds: DeliveryRounds::default(),
            spacing: Spacing::default(),
            rates: WindowedMax::new(2),
            cycle: 0,
            plateau: Plateau::default(),
            full_now: false,
            filled: false,
            drain_began: 0,
            min_rtt: Span::ZERO,
            min_rtt_at: Time::ZERO,
            recent_rtt: Span::ZERO,
            recent_rtt_at: Time::ZERO,
            kept_probe_window: None,
            probe_ends: None,
            probe_round_done: false,
            probed_until: 0.0,
            prior_cwnd: 0.0,
            first_window: 0.0,
            recovering: false,
            recovered_from: 0,
            most: f64::INFINITY,
            short_rate: f64::INFINITY,
            short_flight: f64::INFINITY,
            latest_rate: 0.0,
            latest_volume: 0.0,
            loss_round_end: 0.0,
            loss_round_over: false,
            losses: 0,
            marks: Marks::default(),
            acks: Acks::Other,
            probes: false,
            too_high: false,
            cautious: false,
            cycle_began: Time::ZERO,
            wait: Span::ZERO,
            rounds_waited: 0,
            up_rounds: 0,
            up_acked: 0.0,
            up_every: f64::INFINITY,
            excess: WindowedMax::new(EXCESS_ROUNDS),
            excess_began: Time::ZERO,
            excess_packets: 0.0,
            delivered: 0.0,
        }
    }

    fn is_cycling(&self) -> bool {
        matches!(self.state, Bbr3State::Up | Bbr3State::Down | Bbr3State::Cruise | Bbr3State::Refill)
    }

    fn is_probing(&self) -> bool {
        matches!(self.state, Bbr3State::Startup | Bbr3State::Refill | Bbr3State::Up)
    }

    /// The rate to send at, packets per second, before any gain.
    //
    // Differs from [BBRV3]: the rate follows its bounds immediately, not at the end of the processing of an
    // acknowledgement.
    fn rate(&self) -> f64 {
        self.rates.largest().min(self.short_rate)
    }

    /// Packets that fill the path `gain` times.
    fn path(&self, gain: f64) -> f64 {
        gain * self.rate() * self.min_rtt.as_secs()
    }

    /// The same, with what ends need to keep going.
    //
    // Differs from [BBRV3]: there is no budget for bursts of segmentation offload; `offload` is not known here.
    fn budget(&self, packets: f64) -> f64 {
        packets.max(LEAST_WINDOW) + if self.state == Bbr3State::Up { 2.0 } else { 0.0 }
    }

    /// All that an acknowledgement says about the path.
    fn learn(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        let limited = sample.app_limited || sample.delivered_before < self.probed_until;
        self.note_delivery(sample);
        self.note_loss(window, ack, sample, limited);
        self.rounds.take(sample);
        if sample.rate() >= self.rates.largest() || !limited {
            self.rates.take(self.cycle, sample.rate());
        }
        if self.rounds.started {
            self.rounds_waited += 1;
        }
        if self.is_proportional() {
            self.note_marks(window, ack, sample, limited);
        }
        if self.loss_round_over {
            self.adapt_short_bounds(window);
        }
        self.note_excess(window, ack);
        // Differs from [LINUX]: in the kernel of its authors the sample of any acknowledgement may raise the
        // rate from which growth is measured, so that startup may end a round earlier. The draft takes the
        // sample that begins a round.
        if self.rounds.started && !limited && !self.full_now {
            self.full_now = self.plateau.take(sample.rate());
            self.filled |= self.full_now;
        }
        self.leave_start(ack, sample);
        if self.loss_round_over {
            (self.losses, self.marks.any) = (0, false);
        }
        if self.filled {
            self.go_round(window, ack, sample, limited);
        }
        self.watch_round_trip(window, ack, sample);
        if self.loss_round_over {
            (self.latest_rate, self.latest_volume) = (sample.rate(), sample.delivered);
        }
    }

    fn note_delivery(&mut self, sample: &RateSample) {
        self.latest_rate = self.latest_rate.max(sample.rate());
        self.latest_volume = self.latest_volume.max(sample.delivered);
        self.loss_round_over = sample.delivered_before >= self.loss_round_end;
        if self.loss_round_over {
            self.loss_round_end = sample.delivered_total;
        }
    }

    fn note_excess(&mut self, window: &Window, ack: &AckEvent) {
        let mut expected = self.rate() * ack.now.since(self.excess_began).as_secs();
        if self.excess_packets <= expected {
            (self.excess_packets, self.excess_began, expected) = (0.0, ack.now, 0.0);
        }
        self.excess_packets += ack.packets;
        if self.rounds.started && !self.filled {
            self.excess.forget(); // at the start that of one round counts
        }
        self.excess.take(self.rounds.count, (self.excess_packets - expected).min(window.cwnd));
    }

    fn set_window(&self, window: &mut Window, ack: &AckEvent) {
        let target = self.budget(self.path(self.cwnd_gain()) + self.excess.largest());
        if self.filled {
            window.cwnd = (window.cwnd + ack.packets).min(target);
        } else if window.cwnd < target || self.delivered < self.first_window {
            window.cwnd += ack.packets;
        }
        // Unclear in [BBRV3]: whether the bound found by probes applies while draining: the table says so, the
        // pseudocode does not. The table is followed.
        let bound = match self.state {
            Bbr3State::Startup => f64::INFINITY,
            Bbr3State::Cruise | Bbr3State::ProbeRtt => self.with_headroom(),
            _ => self.most,
        };
        let probed = if self.state == Bbr3State::ProbeRtt { self.probe_window() } else { f64::INFINITY };
        window.cwnd = window.cwnd.min(bound).min(self.short_flight).min(probed).max(LEAST_WINDOW);
    }
}

impl Catalogued for Bbr3 {
    const GAUGES: &'static [Gauge] = &[
        PATH_GAUGES[0],
        PATH_GAUGES[1],
        Gauge {
            name: "inflight_hi_packets",
            unit: "packets",
            help: "bound of the packets in flight that probes have found",
        },
        Gauge {
            name: "inflight_lo_packets",
            unit: "packets",
            help: "bound of the packets in flight by losses since the last probe",
        },
    ];

    fn probe_cycle(settings: &Settings) -> Option<ProbeCycle> {
        Some(Bbr3Parameters::from(settings).probe_cycle())
    }
}

impl Controller for Bbr3 {
    fn on_start(&mut self, start: &Start) {
        self.model.payload = start.payload;
    }

    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {}

    fn on_slow_start(&mut self, _: &mut Window, _: &AckEvent) {}

    // Differs from [BBRV3]: packets that are sent before the first acknowledgement are not paced. The sender
    // knows a round-trip time at that point, but the controller does not.
    // Differs from [BBRV3]: after an idle period packets are paced with the gain of the current state, not at
    // the estimated rate itself, because a controller is not called before its packets leave.
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let model = &mut *self.model;
        if model.min_rtt.is_zero() {
            (model.min_rtt, model.min_rtt_at) = (ack.rtt, ack.now);
            (model.recent_rtt, model.recent_rtt_at) = (ack.rtt, ack.now);
            (model.excess_began, model.first_window) = (ack.now, window.cwnd);
            model.spacing.follow(model.pacing_gain() * window.cwnd / ack.srtt.as_secs(), true);
        }
        model.recovering = ack.recovering;
        if let Some(sample) = &ack.rate {
            model.delivered = sample.delivered_total;
            model.learn(window, ack, sample);
        }
        let rate = model.pacing_gain() * model.rate() * (1.0 - MARGIN);
        model.spacing.follow(rate, !model.filled);
        model.set_window(window, ack);
    }

    /// The window stays as it is: the model says what a loss or a mark means.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        window.ssthresh = window.cwnd;
        let model = &mut *self.model;
        if event.cause == Cause::Mark {
            model.note_mark(window, event);
            return;
        }
        model.save(window);
        (model.recovering, model.recovered_from) = (true, model.rounds.count);
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        let model = &mut *self.model;
        model.save(window);
        (model.recovering, model.recovered_from) = (true, model.rounds.count);
        (window.ssthresh, window.cwnd) = (window.cwnd, 1.0);
    }

    fn on_recovered(&mut self, window: &mut Window, _: Time) {
        let model = &mut *self.model;
        model.recovering = false;
        if model.state != Bbr3State::ProbeRtt {
            window.cwnd = model.prior_cwnd.max(window.cwnd.min(window.ssthresh));
        }
    }

    fn on_ecn_feedback(&mut self, accurate: bool) {
        self.model.marks.accurate = accurate;
    }

    fn needs(&self) -> Needs {
        let own = self.model.parameters.proportional;
        Needs { exact_echo: own, own_marks: own, rates: true, pacing: true, modes: true, ..Needs::default() }
    }

    fn mode(&self) -> Option<u8> {
        Some(self.model.state as u8)
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend(self.model.gauges());
    }

    fn pacing(&self, _: &Window) -> Pacing {
        self.model.spacing.pacing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, ack};

    const RTT: Span = Span::from_ms(100);

    /// A model of 1000 packets a second and 100 ms: a path of 100 packets.
    fn flow(state: Bbr3State) -> (Bbr3Model, Window) {
        let mut model = *Bbr3::new(Default::default()).model;
        model.rates.take(0, 1000.0);
        (model.min_rtt, model.recent_rtt, model.filled, model.state) = (RTT, RTT, true, state);
        (model, Window { cwnd: 200.0, ssthresh: f64::INFINITY })
    }

    fn event(in_flight: f64, lost: f64) -> AckEvent {
        AckEvent { in_flight, lost, ..ack(RTT) }
    }

    fn sample(in_flight_then: f64, lost_since: f64) -> RateSample {
        RateSample {
            delivered: 100.0,
            interval: RTT,
            delivered_before: 0.0,
            delivered_total: 100.0,
            in_flight_then,
            lost_since,
            app_limited: false,
        }
    }

    /// Of 150 in flight 3 are 2 %, 4 are more: 149 before the fourth and 3 lost of them, and
    /// (0.02 x 149 - 3) / 0.98 = -0.02 more, where the losses crossed the threshold.
    #[test]
    fn a_probe_that_loses_more_than_2_percent_bounds_the_flight_by_what_crossed_it() {
        let (mut model, window) = flow(Bbr3State::Up);
        model.probes = true;
        model.note_loss(&window, &event(146.0, 1.0), &sample(150.0, 3.0), false);
        assert_eq!((model.state, model.most), (Bbr3State::Up, f64::INFINITY));
        model.note_loss(&window, &event(145.0, 1.0), &sample(150.0, 4.0), false);
        assert_eq!((model.state, model.too_high), (Bbr3State::Down, true));
        assert_eq!(model.most, 148.0); // no part of a packet is in flight
        // Once for each probe, and never below 0.7 of the path.
        model.note_loss(&window, &event(100.0, 20.0), &sample(150.0, 30.0), false);
        assert_eq!(model.most, 148.0);
        model.probes = true;
        model.note_loss(&window, &event(20.0, 20.0), &sample(40.0, 30.0), false);
        assert_eq!(model.most, 70.0);
    }

    /// A probe ends with the 150 packets that were in flight, the start with the path of 100; between probes 0.7 of 1000
    /// packets a second and of the window of 200 are left, as after a round with losses.
    // Requirement: bbrv3-3.7-a
    #[test]
    fn a_mark_is_congestion_in_every_state() {
        let mark = Congestion { cause: Cause::Mark, in_flight: 150.0, ..CONGESTION };
        let after = |state, probes| {
            let (mut model, window) = flow(state);
            (model.filled, model.probes) = (state != Bbr3State::Startup, probes);
            (model.latest_rate, model.latest_volume) = (600.0, 60.0);
            model.note_mark(&window, &mark);
            model.adapt_short_bounds(&window);
            model
        };
        let up = after(Bbr3State::Up, true);
        assert_eq!((up.state, up.most), (Bbr3State::Down, 150.0));
        let start = after(Bbr3State::Startup, false);
        assert_eq!((start.filled, start.most, start.short_flight), (true, 100.0, f64::INFINITY));
        let cruise = after(Bbr3State::Cruise, false);
        assert_eq!((cruise.short_rate, cruise.short_flight, cruise.most), (700.0, 140.0, f64::INFINITY));
    }

    /// At a bound of 100: 85 between probes; at one of 5: one packet less, which is the least.
    #[test]
    fn a_part_of_the_bound_is_left_to_others() {
        let (mut model, mut window) = flow(Bbr3State::Cruise);
        model.most = 100.0;
        model.set_window(&mut window, &event(80.0, 0.0));
        assert_eq!(window.cwnd, 85.0);
        model.state = Bbr3State::Refill;
        (0..99).for_each(|_| model.set_window(&mut window, &event(80.0, 0.0)));
        assert_eq!(window.cwnd, 100.0);
        model.most = 5.0;
        assert_eq!(model.with_headroom(), 4.0);
        model.most = f64::INFINITY;
        assert_eq!(model.with_headroom(), f64::INFINITY);
    }

    /// A round with a loss that delivered 600 a second and 60 packets: the rate goes to 0.7 x 1000 =
    /// 700 and the flight to 0.7 x 200 = 140; a second one to max(600, 490) and max(60, 98).
    #[test]
    fn loss_between_probes_lowers_the_short_bounds_and_a_probe_forgets_them() {
        let (mut model, window) = flow(Bbr3State::Cruise);
        let round = |model: &mut Bbr3Model| {
            (model.losses, model.latest_rate, model.latest_volume) = (1, 600.0, 60.0);
            model.adapt_short_bounds(&window);
            (model.short_rate.round(), model.short_flight.round())
        };
        assert_eq!((round(&mut model), round(&mut model)), ((700.0, 140.0), (600.0, 98.0)));
        assert_eq!(model.rate(), 600.0);
        model.begin_refill();
        assert_eq!((model.rate(), model.short_flight), (1000.0, f64::INFINITY));
        assert_eq!(round(&mut model), (f64::INFINITY, f64::INFINITY));
    }

    /// With a window of 64: a packet more for each 64 acknowledged, in the next round for each 32,
    /// and so on: the bound grows by 1, 2, 4, ... packets in a round.
    #[test]
    fn a_bound_that_holds_a_probe_rises_twice_as_fast_in_every_round() {
        let (mut model, _) = flow(Bbr3State::Up);
        let window = Window { cwnd: 64.0, ssthresh: 64.0 };
        model.most = 20.0;
        model.steepen(&window);
        let mut increases = Vec::new();
        for _ in 0..4 {
            for packet in 0..64 {
                model.rounds.started = packet == 63;
                model.raise(&window, &event(64.0, 0.0));
            }
            increases.push(model.most - 20.0);
        }
        assert_eq!(increases, [1.0, 3.0, 7.0, 15.0]);
        for packet in 0..64 {
            model.rounds.started = packet == 63;
            model.raise(&window, &AckEvent { window_limited: false, ..event(64.0, 0.0) });
        }
        assert_eq!(model.most, 35.0, "the window did not hold the probe");
    }

    /// Three rounds without growth end a probe, but not while the bound holds it: with the bound the rate may grow, too.
    #[test]
    fn a_probe_goes_on_while_the_window_at_its_bound_limits_the_sender() {
        for (window_limited, cwnd, state) in
            [(true, 64.0, Bbr3State::Up), (false, 64.0, Bbr3State::Down), (true, 63.0, Bbr3State::Down)]
        {
            let (mut model, _) = flow(Bbr3State::Up);
            (model.most, model.full_now) = (64.0, true);
            let window = Window { cwnd, ssthresh: 64.0 };
            let event = AckEvent { window_limited, ..event(60.0, 0.0) };
            model.end_up(&window, &event, &sample(60.0, 0.0));
            assert_eq!(model.state, state, "{window_limited} {cwnd}");
        }
    }

    /// Two to three seconds, or as many rounds as the path holds packets, 63 at most.
    #[test]
    fn a_probe_waits_two_to_three_seconds_or_63_rounds() {
        let (mut model, window) = flow(Bbr3State::Cruise);
        let at = |s: f64| Time::ZERO + Span::from_secs(s);
        model.begin_down(at(10.0));
        assert!((Span::from_s(2)..=Span::from_s(3)).contains(&model.wait), "{}", model.wait);
        assert!(!model.is_time_to_probe(&window, at(12.0)) && model.is_time_to_probe(&window, at(13.1)));
        model.rounds_waited = 62;
        assert!(!model.is_time_to_probe(&window, at(11.0)));
        model.rounds_waited = 63;
        assert!(model.is_time_to_probe(&window, at(11.0)));
    }

    /// Whether it is one round that has passed or none does not hang on how long the wait is.
    #[test]
    fn the_time_and_the_rounds_of_a_wait_are_drawn_apart() {
        let (mut model, _) = flow(Bbr3State::Up);
        let mut drawn = std::collections::BTreeSet::new();
        for ms in 0..100 {
            model.begin_down(Time::ZERO + Span::from_ms(ms));
            drawn.insert((model.wait < Span::from_ms(2500), model.rounds_waited));
        }
        assert_eq!(drawn.len(), 4, "{drawn:?}");
    }

    /// Ten of 150 lost: what the path holds, 100, is the bound from now on, and no other is lowered.
    #[test]
    fn losses_that_end_the_start_leave_the_short_bounds_open() {
        let (mut model, mut window) = flow(Bbr3State::Startup);
        (model.filled, model.losses) = (false, 6);
        let event = AckEvent { recovering: true, ..event(150.0, 0.0) };
        model.learn(&mut window, &event, &sample(150.0, 10.0));
        assert_eq!((model.state, model.most, model.losses), (Bbr3State::Drain, 100.0, 0));
        assert_eq!((model.short_rate, model.short_flight), (f64::INFINITY, f64::INFINITY));
    }

    /// 100 packets fill the path, also where a loss since has lowered the rate to a half.
    #[test]
    fn a_probe_is_drained_when_the_path_that_was_found_is_just_full() {
        let (mut model, window) = flow(Bbr3State::Down);
        (model.short_rate, model.wait) = (500.0, Span::from_s(2));
        model.go_round(&window, &event(101.0, 0.0), &sample(150.0, 0.0), false);
        assert_eq!(model.state, Bbr3State::Down);
        model.go_round(&window, &event(100.0, 0.0), &sample(150.0, 0.0), false);
        assert_eq!(model.state, Bbr3State::Cruise);
    }

    /// Four acknowledged at once are four in excess; 100 ms later 100 are expected, and one is in excess.
    #[test]
    fn at_the_start_the_excess_of_one_round_counts_and_then_that_of_ten() {
        for (filled, left) in [(false, 1.0), (true, 4.0)] {
            let (mut model, window) = flow(Bbr3State::Startup);
            model.filled = filled;
            (0..4).for_each(|_| model.note_excess(&window, &event(10.0, 0.0)));
            assert_eq!(model.excess.largest(), 4.0);
            (model.rounds.started, model.rounds.count) = (true, 1);
            model.note_excess(&window, &AckEvent { now: Time::ZERO + RTT, ..event(10.0, 0.0) });
            assert_eq!(model.excess.largest(), left);
        }
    }

    /// Two paths are 200 packets. Up to the ninth of a first window of ten a window above grows on.
    #[test]
    fn the_first_window_is_doubled_whatever_the_first_samples_say() {
        let (mut model, mut window) = flow(Bbr3State::Startup);
        (window.cwnd, model.filled, model.first_window) = (300.0, false, 10.0);
        for (delivered, cwnd) in [(9.0, 301.0), (10.0, 301.0)] {
            model.delivered = delivered;
            model.set_window(&mut window, &event(80.0, 0.0));
            assert_eq!(window.cwnd, cwnd);
        }
    }

    /// With 10 s for both, a probe begins as the filter ends: its window is half of 100 packets with the minimum before that,
    /// half of 300 with the new one. With one filter the old minimum counts.
    #[test]
    fn the_window_of_a_probe_follows_from_the_old_minimum_where_there_is_one_filter() {
        for (single_filter, probe_window) in [(false, 150.0), (true, 50.0)] {
            let (mut model, mut window) = flow(Bbr3State::Cruise);
            model.parameters.probe_rtt_interval = Span::from_s(10);
            model.parameters.single_filter = single_filter;
            let late = Time::ZERO + Span::from_ms(10_001);
            let late = AckEvent { now: late, rtt: Span::from_ms(300), ..event(200.0, 0.0) };
            model.watch_round_trip(&mut window, &late, &sample(200.0, 0.0));
            assert_eq!((model.state, model.min_rtt), (Bbr3State::ProbeRtt, Span::from_ms(300)));
            assert!((model.probe_window() - probe_window).abs() < 1e-9);
        }
    }

    #[test]
    fn a_recovery_leaves_the_window_and_a_timeout_gives_it_back() {
        let (model, mut window) = flow(Bbr3State::Cruise);
        let mut flow = Bbr3 { model: Box::new(model) };
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 200.0);
        flow.on_timeout(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 1.0);
        flow.on_recovered(&mut window, Time::ZERO);
        assert_eq!(window.cwnd, 200.0);
    }
}
