//! TCP Prague [PRAGUE]: reduces the window in proportion to the marks of an L4S queue, whose feedback is accurate.
//!
//! As in DCTCP an average, alpha, follows the share of marked packets, and a round with marks gives up half of it. New are the
//! growth by unmarked packets alone, even while the window comes down, rates that do not depend on round trips below a target,
//! pacing, and a window that keeps its fraction.
//
// Differs from [PRAGUE]: the size of packets is not reduced so that two fit in a short round trip.

use std::ops::{Deref, DerefMut};

use fairhaul_units::{Gauge, HEADER, Parameter, Rate, Span, Time, parameters};

use crate::classic_ecn::{ClassicEcn, ClassicEcnFallback};
use crate::{AckEvent, Catalogued, Cause, Congestion, Controller, Needs, Pacing, Start, Window};

/// TCP Prague.
#[derive(Clone, Debug)]
pub struct Prague(Box<State>);

/// What it knows; boxed, so that a controller stays small.
#[derive(Clone, Debug)]
pub struct State {
    given: PragueParameters,
    /// Whether marks are reported accurately; otherwise it is Reno.
    accurate: bool,
    alpha: f64,
    /// Whether a mark has come.
    marked_once: bool,
    /// The window with its fraction, and the whole packets that were shown of it.
    cwnd: f64,
    shown: f64,
    /// Packets delivered and marked since alpha was updated.
    delivered: f64,
    marked: f64,
    updated: Time,
    /// Packets delivered so far, and how many have to be until the next reduction.
    total: f64,
    reduced_until: f64,
    reduced: Time,
    /// Rounds of congestion avoidance.
    rounds: u32,
    srtt: Span,
    in_flight: f64,
    /// Of a small window: the rate is a little higher than the window allows, or lower.
    is_fast: bool,
    /// The longest time between two packets.
    most_gap: Span,
    classic: ClassicEcn,
}

impl Deref for Prague {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl DerefMut for Prague {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

parameters! {
    /// The parameters of Prague.
    pub(crate) struct PragueParameters {
        rtt_independent: Switch = true,
            "whether flows with round-trip times below target_rtt grow and reduce as if they had that one; false: the Prague of 2020 [PRAGUE]";
        target_rtt: Milliseconds(1.0..=1000.0) = 25.0, "round-trip time below which rates do not depend on it [PRAGUE]";
        transition: Whole(0..=1000) = 4,
            "rounds of congestion avoidance before the growth follows target_rtt [PRAGUE]";
        gain: Number(0.0001..=1.0) = 0.0625, "weight of a new sample in the average fraction of marked packets [PRAGUE]";
        alpha: Number(0.0..=1.0) = 0.0,
            "initial value of the average fraction of marked packets; the first mark halves the window in any case [PRAGUE]";
        classic_ecn_fallback: Word(ClassicEcnFallback) = ClassicEcnFallback::None,
            "fallback: while round-trip times show a queue that is not of L4S, a mark takes at least 31 % of the window; detection: \
             only the gauge classic_ecn shows it [PRAGUE-FALLBACK]";
    }
}

/// The slowest that packets leave, and the window up to which they are sent at a rate.
const LEAST_RATE: Rate = Rate::from_bps(100_000).expect("not zero");
const SMALL: f64 = 4.0;
/// The difference of the rate of a small window, up and down.
const DITHER: f64 = 4.0 / 128.0;

impl Prague {
    pub(crate) const TITLE: &'static str =
        "TCP Prague: reduces the window in proportion to the marks of an L4S queue";
    pub(crate) const SOURCE: &'static str = "PRAGUE";
    pub(crate) const PARAMETERS: &'static [Parameter] = PragueParameters::LIST;

    pub(crate) fn new(given: PragueParameters) -> Prague {
        Prague(Box::new(State {
            accurate: true,
            alpha: given.alpha,
            marked_once: false,
            cwnd: 0.0,
            shown: 0.0,
            delivered: 0.0,
            marked: 0.0,
            updated: Time::ZERO,
            total: 0.0,
            reduced_until: 0.0,
            reduced: Time::ZERO,
            rounds: 0,
            srtt: Span::ZERO,
            in_flight: 0.0,
            is_fast: true,
            most_gap: Span::from_s(1),
            classic: ClassicEcn::new(),
            given,
        }))
    }

    /// Whether that time, or the target round trip, has passed since.
    fn has_passed(&self, since: Time, now: Time) -> bool {
        !self.given.rtt_independent || now.since(since) >= self.given.target_rtt
    }

    /// Whether it looks for classic queues.
    fn detects(&self) -> bool {
        self.given.classic_ecn_fallback != ClassicEcnFallback::None
    }

    /// What a mark takes half of.
    fn alpha_of_mark(&self) -> f64 {
        match self.given.classic_ecn_fallback {
            ClassicEcnFallback::Fallback => self.alpha.max(self.classic.least_alpha()),
            ClassicEcnFallback::None | ClassicEcnFallback::Detection => self.alpha,
        }
    }

    /// What others have made of the window is the window.
    fn follow(&mut self, window: &Window) {
        if window.cwnd != self.shown {
            self.cwnd = window.cwnd;
        }
    }

    /// Moves the whole packets that the sender sees by one at most.
    fn show(&mut self, window: &mut Window) {
        let target = self.cwnd.ceil().max(2.0);
        window.cwnd += (target - window.cwnd).clamp(-1.0, 1.0);
        self.shown = window.cwnd;
    }

    fn update_alpha(&mut self, ack: &AckEvent) {
        if !ack.new_round || !self.marked_once || !self.has_passed(self.updated, ack.now) {
            return;
        }
        if self.detects() {
            self.classic.judge(ack.min_rtt);
        }
        self.alpha += self.given.gain * (self.marked / self.delivered - self.alpha);
        (self.delivered, self.marked, self.updated) = (0.0, 0.0, ack.now);
    }

    /// A mark reduces the window once in a round trip [PRAGUE, prague_enter_cwr].
    // Differs from [PRAGUE]: the end of the round trip is where as many packets are delivered as were in flight.
    fn reduce(&mut self, window: &mut Window, ack: &AckEvent) {
        let is_due = self.total > self.reduced_until && self.has_passed(self.reduced, ack.now);
        if ack.recovering || self.marked_once && !is_due {
            return;
        }
        let alpha = if self.marked_once { self.alpha_of_mark() } else { 1.0 };
        self.marked_once = true;
        self.classic.follow(window.ssthresh);
        (self.reduced_until, self.reduced) = (self.total + ack.in_flight, ack.now);
        self.cwnd *= 1.0 - alpha / 2.0;
        window.ssthresh = self.cwnd.max(2.0);
    }

    /// What a round adds.
    fn increase(&self) -> f64 {
        let follows = self.given.rtt_independent && u64::from(self.rounds) > self.given.transition;
        let ratio = self.srtt.as_secs() / self.given.target_rtt.as_secs();
        if follows && ratio < 1.0 { ratio * ratio } else { 1.0 }
    }
}

impl Catalogued for Prague {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "alpha", unit: "", help: "average fraction of marked packets" },
        Gauge { name: "exact_cwnd", unit: "packets", help: "window with its fraction" },
        Gauge {
            name: "classic_ecn",
            unit: "",
            help: "score of the detector of classic queues: up to 8 L4S, from 9 classic",
        },
    ];
}

impl Controller for Prague {
    fn on_start(&mut self, start: &Start) {
        self.most_gap = LEAST_RATE.on_wire(start.payload + HEADER);
    }

    /// Without accurate feedback it behaves as Reno [RFC 9331, 4.3].
    fn on_ecn_feedback(&mut self, accurate: bool) {
        self.accurate = accurate;
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        (self.srtt, self.in_flight) = (ack.srtt, ack.in_flight);
        let half = (self.srtt.max(self.given.target_rtt) / 2).as_ps().max(1);
        self.is_fast = (ack.now.as_ps() / half).is_multiple_of(2);
        if !self.accurate {
            return;
        }
        self.follow(window);
        if self.detects() {
            self.classic.sample(ack);
        }
        self.delivered += ack.packets;
        self.marked += ack.marked;
        self.total += ack.packets;
        self.rounds =
            if window.in_slow_start() { 0 } else { self.rounds.saturating_add(u32::from(ack.new_round)) };
        self.update_alpha(ack);
        if ack.marked > 0.0 {
            self.reduce(window, ack);
        }
        if !window.in_slow_start() && !ack.recovering {
            self.show(window);
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        let unmarked = 1.0 - ack.marked / ack.packets;
        window.cwnd += ack.packets.min(2.0) * unmarked;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if !self.accurate {
            window.cwnd += ack.packets / window.cwnd;
            return;
        }
        self.follow(window);
        self.cwnd += (ack.packets - ack.marked) * self.increase() / self.cwnd;
        self.show(window);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.classic.follow(window.ssthresh);
        match event.cause {
            Cause::Mark if self.accurate => window.give_up(self.alpha_of_mark() / 2.0), // its own host was full
            Cause::Mark | Cause::Loss => window.give_up(0.5),
        }
    }

    fn needs(&self) -> Needs {
        Needs { exact_echo: true, own_marks: true, pacing: true, ..Needs::default() }
    }

    fn gauges(&self, window: &Window, values: &mut Vec<f64>) {
        let exact = if window.cwnd == self.shown { self.cwnd } else { window.cwnd };
        values.extend([self.alpha, exact, self.classic.score()]);
    }

    fn pacing(&self, window: &Window) -> Pacing {
        let exact = if window.cwnd == self.shown { self.cwnd } else { window.cwnd };
        let gap = self.srtt.as_secs() / exact.max(self.in_flight.min(window.cwnd)).max(f64::MIN_POSITIVE);
        let speed = match exact {
            exact if exact < window.ssthresh / 2.0 => 2.0,
            exact if exact <= SMALL && self.is_fast => 1.0 + DITHER,
            exact if exact <= SMALL => 1.0 - DITHER,
            _ => 1.0,
        };
        let gap = Span::from_secs(gap / speed).min(self.most_gap);
        if gap.is_zero() { Pacing::None } else { Pacing::Even(gap) }
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Bytes;

    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance, close};

    fn prague(values: &[(&str, f64)]) -> Prague {
        let mut settings = fairhaul_units::Settings::defaults(Prague::PARAMETERS);
        values.iter().for_each(|(name, value)| settings.set(name, *value));
        Prague::new((&settings).into())
    }

    /// Rounds of that round-trip time under marks of every 1/p-th packet: the mean window of the last half.
    fn mean_window(flow: &mut Prague, rtt: Span, p: f64, rounds: u64) -> f64 {
        let (mut window, mut now, mut sum, mut marks) = (avoidance(10.0), Time::ZERO, 0.0, 0.0);
        let mut windows = 0.0;
        for round in 0..rounds {
            let packets = window.cwnd as u64;
            let start = now;
            for number in 0..packets {
                now = start + rtt * (number + 1) / packets;
                marks += p;
                let marked = f64::from(u8::from(marks >= 1.0));
                marks -= marked;
                let event =
                    AckEvent { now, marked, new_round: number == 0, in_flight: window.cwnd, ..ack(rtt) };
                flow.on_delivery(&mut window, &event);
                flow.on_ack(&mut window, &event);
            }
            if round >= rounds / 2 {
                (sum, windows) = (sum + flow.cwnd, windows + 1.0);
            }
        }
        sum / windows
    }

    /// Marks of every 20th packet: a reduction comes with the first mark that is more than a window behind the last one, here every
    /// 60 packets. They add 60 (1 - p) / W and take W p / 2, so W = sqrt(120 x 0.95 / 0.05) = 47.7. At 10 % it is every 30 packets:
    /// sqrt(60 x 0.9 / 0.1) = 23.2. If a mark came just when it is due, W would be 2 (1 - p) / p.
    #[test]
    fn the_window_balances_unmarked_and_marked_packets() {
        for (rtt_ms, independent) in [(40, 1.0), (10, 0.0)] {
            for (p, wanted) in [(0.05, 47.7), (0.1, 23.2)] {
                let mut flow = prague(&[("rtt_independent", independent)]);
                close(mean_window(&mut flow, Span::from_ms(rtt_ms), p, 4000), wanted, 0.03);
            }
        }
    }

    /// A flow of 10 ms has 0.4 of the packets of one of 25 ms, in 0.4 of the time.
    #[test]
    fn rates_below_the_target_round_trip_are_equal() {
        let rates =
            [10, 20, 25].map(|ms| mean_window(&mut prague(&[]), Span::from_ms(ms), 0.05, 8000) / ms as f64);
        rates.iter().for_each(|rate| close(*rate, rates[2], 0.1));
    }

    /// From 100: the first mark leaves 50, whatever alpha is; the next in the same round nothing less. The whole window follows
    /// by one packet for each acknowledgement.
    #[test]
    fn the_first_mark_halves_the_window_and_the_whole_packets_follow_one_by_one() {
        let (mut flow, mut window) = (prague(&[("rtt_independent", 0.0)]), avoidance(100.0));
        let event = AckEvent { marked: 1.0, in_flight: 100.0, ..ack(Span::from_ms(30)) };
        flow.on_delivery(&mut window, &event);
        assert_eq!((flow.cwnd, window.cwnd, window.ssthresh), (50.0, 99.0, 50.0));
        (0..60).for_each(|_| flow.on_delivery(&mut window, &event));
        assert_eq!((flow.cwnd, window.cwnd), (50.0, 50.0));
        // 100 packets later alpha is what the marks since then have made of it: all were marked.
        (0..40).for_each(|_| flow.on_delivery(&mut window, &event));
        flow.on_delivery(&mut window, &AckEvent { new_round: true, ..event });
        close(flow.cwnd, 50.0 * (1.0 - 0.0625 / 2.0), 1e-9);
    }

    /// Round-trip times of 20 and 40 ms in turn: in a queue that stands so the score exceeds 9 within some rounds. Then a mark takes
    /// 0.3125 of the window, however small alpha is; without the fall-back it takes half of alpha.
    #[test]
    fn in_a_classic_queue_a_mark_takes_a_third_if_it_is_to_fall_back() {
        use ClassicEcnFallback::{Detection, Fallback, None};
        for (word, score, taken) in [(None, 0.0, 0.005), (Detection, 17.0, 0.005), (Fallback, 17.0, 0.3125)] {
            let values = [("rtt_independent", 0.0), ("classic_ecn_fallback", word.value())];
            let (mut flow, mut window) = (prague(&values), avoidance(100.0));
            let event = AckEvent { min_rtt: Span::from_ms(20), ..ack(Span::from_ms(20)) };
            flow.on_delivery(&mut window, &AckEvent { marked: 1.0, ..event });
            for number in 0..2000 {
                let rtt = Span::from_ms(if number % 2 == 0 { 40 } else { 20 });
                flow.on_delivery(&mut window, &AckEvent { rtt, new_round: number % 50 == 0, ..event });
            }
            (flow.alpha, flow.cwnd) = (0.01, 50.0);
            flow.on_delivery(&mut window, &AckEvent { marked: 1.0, ..event });
            close(flow.cwnd, 50.0 * (1.0 - taken), 1e-12);
            assert_eq!(flow.classic.score(), score);
        }
    }

    #[test]
    fn a_loss_halves_the_window_and_without_accurate_feedback_it_is_reno() {
        let (mut flow, mut window) = (prague(&[]), avoidance(100.0));
        flow.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 50.0);
        flow.on_ecn_feedback(false);
        flow.on_ack(&mut window, &ack(Span::from_ms(10)));
        assert_eq!(window.cwnd, 50.02);
        flow.on_congestion(&mut window, &Congestion { cause: Cause::Mark, ..CONGESTION });
        close(window.cwnd, 25.01, 1e-9);
    }

    /// 20 packets in 10 ms: one each 0.5 ms, twice that fast below half of the threshold. One packet in 10 ms is sent 3 % faster
    /// in the first half of 25 ms. Nothing is slower than 1500 B at 100 kbit/s.
    #[test]
    fn packets_are_paced_over_the_round_trip() {
        let mut flow = prague(&[]);
        flow.on_start(&Start { payload: Bytes(1460), together: 1 });
        let gap_us = |flow: &Prague, cwnd, ssthresh| match flow.pacing(&Window { cwnd, ssthresh }) {
            Pacing::Even(gap) => gap.as_secs() * 1e6,
            _ => 0.0,
        };
        assert_eq!(gap_us(&flow, 20.0, 2.0), 0.0);
        flow.srtt = Span::from_ms(10);
        close(gap_us(&flow, 20.0, 2.0), 500.0, 1e-9);
        close(gap_us(&flow, 20.0, 100.0), 250.0, 1e-9);
        close(gap_us(&flow, 2.0, 2.0), 5000.0 / 1.03125, 1e-6);
        (flow.srtt, flow.cwnd, flow.shown) = (Span::from_ms(200), 0.1, 2.0);
        close(gap_us(&flow, 2.0, 2.0), 120_000.0, 1e-9);
    }
}
