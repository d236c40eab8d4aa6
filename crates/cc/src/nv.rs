//! TCP-NV [LINUX]: as Vegas, by measured rates, for data centres.
//!
//! The largest rate of a round times the smallest round-trip time is what the path carries. A window of more than that and
//! `pad` packets shrinks by 30 % of what is too much, one of at most two packets less grows as Reno's. Losses keep 80 %.

use fairhaul_units::{Gauge, Parameter, Settings, Span, Time, parameters};

use crate::draw::draw;
use crate::{AckEvent, Catalogued, Congestion, Controller, ProbeCycle, Window};

/// TCP-NV.
#[derive(Clone, Debug)]
pub struct Nv {
    pad: f64,
    min_cwnd: f64,
    reset_period: Span,
    state: Box<State>,
}

/// What it has measured.
#[derive(Clone, Debug)]
struct State {
    /// Whether the window may grow.
    grows: bool,
    /// Whether a loss event is not over, after which all is measured anew.
    resets: bool,
    /// Whether the threshold is still that of the first slow start.
    is_first: bool,
    /// Halvings of the growth of Reno, after timeouts.
    slower: u32,
    /// Judgements without congestion in a row, up to the one that doubles the growth again.
    free: u64,
    /// Samples and round trips since the last judgement.
    samples: u64,
    rounds: u64,
    /// Smoothed round-trip time by halves; zero before there is one.
    average: Span,
    min_rtt: Span,
    /// The smallest since `min_rtt` was taken from here.
    next_min_rtt: Span,
    resets_at: Time,
    /// The largest rate since the last judgement, packets per second.
    rate: f64,
    /// What was in flight when the round under way began, and the one before.
    flight: [f64; 2],
}

parameters! {
    /// The parameters of TCP-NV.
    pub(crate) struct NvParameters {
        pad: Number(0.0..=1e6, "packets") = 10.0, "number of own packets in queues that is allowed [LINUX]";
        min_cwnd: Number(1.0..=1e6, "packets") = 2.0,
            "smallest window that the estimate leaves [LINUX]";
        reset_period: Seconds(0.001..=1e5) = 5.0,
            "mean time after which the minimum round-trip time is measured anew; each time is drawn between 0.75 and \
             1.25 of it [LINUX]";
    }
}

/// Packets below the largest window at which the window stops to grow.
const PAD_BUFFER: f64 = 2.0;
/// The part of the excess that goes: 30 %, in parts of 128 rounded down.
const EXCESS_CUT: f64 = 38.0 / 128.0;
/// What a loss keeps: 80 %, in parts of 1024 rounded down.
const KEPT: f64 = 819.0 / 1024.0;
/// Samples before the window shrinks, before it does so in the first slow start, and before it may grow.
const SAMPLES_TO_SHRINK: u64 = 60;
const SAMPLES_TO_LEAVE_SLOW_START: u64 = 30;
const SAMPLES_TO_GROW: u64 = 20;
/// Round trips of congestion without enough samples after which growth stops.
const ROUNDS_OF_GROWTH: u64 = 10;
/// Round trips before a window is found too large.
const LEAST_ROUNDS: u64 = 2;
/// Judgements without congestion after which growth is doubled, and the most halvings of growth.
const FREE_TO_DOUBLE: u64 = 8;
const MOST_HALVINGS: u32 = 8;

impl Nv {
    pub(crate) const TITLE: &'static str = "TCP-NV: as Vegas, by measured rates, for data centres";
    pub(crate) const SOURCE: &'static str = "LINUX";
    pub(crate) const PARAMETERS: &'static [Parameter] = NvParameters::LIST;

    pub(crate) fn new(given: NvParameters) -> Nv {
        let state = State {
            grows: true,
            resets: false,
            is_first: true,
            slower: 0,
            free: 0,
            samples: 0,
            rounds: 0,
            average: Span::ZERO,
            min_rtt: Span::ZERO,
            next_min_rtt: Span::from_ps(u64::MAX),
            resets_at: Time::NEVER,
            rate: 0.0,
            flight: [0.0; 2],
        };
        Nv {
            pad: given.pad,
            min_cwnd: given.min_cwnd,
            reset_period: given.reset_period,
            state: Box::new(state),
        }
    }

    /// The largest window without congestion.
    fn most(&self) -> f64 {
        (self.state.rate * self.state.min_rtt.as_secs()).floor() + self.pad
    }

    /// A loss event: growth stops until the path is measured anew.
    fn stop(&mut self) {
        (self.state.grows, self.state.resets, self.state.is_first) = (false, true, false);
    }

    /// A round is over: compares the window with what the path carries.
    fn judge(&mut self, window: &mut Window) {
        let (cwnd, most) = (window.cwnd.floor(), self.most());
        if cwnd > most {
            let wanted = if self.state.is_first { SAMPLES_TO_LEAVE_SLOW_START } else { SAMPLES_TO_SHRINK };
            if self.state.rounds < LEAST_ROUNDS {
                return;
            }
            if self.state.samples < wanted {
                let has_waited = !self.state.is_first && self.state.rounds > ROUNDS_OF_GROWTH;
                self.state.grows &= !has_waited;
                return;
            }
            let excess = cwnd - most;
            let cut = if excess > 2.0 { (excess * EXCESS_CUT).floor().max(2.0) } else { excess };
            window.ssthresh = most;
            window.cwnd = (cwnd - cut).max(self.min_cwnd);
            (self.state.grows, self.state.is_first, self.state.free) = (false, false, 0);
        } else if cwnd <= most - PAD_BUFFER && self.state.samples >= SAMPLES_TO_GROW {
            self.state.grows = true;
            self.state.free += 1;
            if self.state.slower > 0 && self.state.free > FREE_TO_DOUBLE {
                (self.state.slower, self.state.free) = (self.state.slower - 1, 0);
            }
        } else {
            return;
        }
        (self.state.samples, self.state.rounds, self.state.rate) = (0, 0, 0.0);
    }
}

impl State {
    /// A loss event is over.
    fn measure_anew(&mut self) {
        (self.resets, self.free, self.rounds, self.samples) = (false, 0, 0, 0);
        (self.average, self.rate) = (Span::ZERO, 0.0);
    }

    /// Takes a sample. Of the packet that it is for, what was in flight when it left follows from the round before.
    // Differs from [LINUX]: in Linux each packet carries that number. Here the flight before this acknowledgement is
    // scaled by how much larger this round began than the one before.
    fn take(&mut self, ack: &AckEvent, reset_period: Span) {
        let flight = ack.in_flight + ack.packets;
        if ack.new_round {
            self.flight = [flight, self.flight[0]];
            self.rounds += 1;
        }
        let grown = if self.flight[1] > 0.0 { self.flight[1] / self.flight[0] } else { 1.0 };
        if self.average.is_zero() {
            (self.average, self.min_rtt) = (ack.rtt, ack.rtt * 2);
            self.resets_at = self.resets_at.min(ack.now + Span::from_s(2));
        } else {
            self.average = (self.average + ack.rtt) / 2;
        }
        self.rate = self.rate.max(flight * grown / self.average.as_secs());
        self.samples += 1;
        self.min_rtt = self.min_rtt.min(self.average);
        self.next_min_rtt = self.next_min_rtt.min(self.average);
        if ack.now >= self.resets_at {
            (self.min_rtt, self.next_min_rtt) = (self.next_min_rtt, Span::from_ps(u64::MAX));
            let share = 0.75 + 0.5 * draw(ack.now);
            self.resets_at = ack.now + Span::from_secs(share * reset_period.as_secs());
        }
    }
}

impl Catalogued for Nv {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "most_packets", unit: "packets", help: "largest window without congestion, so far" },
        Gauge { name: "grows", unit: "", help: "1 where the window may grow" },
    ];

    /// It grows as Reno does, and measures the smallest round-trip time anew after up to 1.25 times `reset_period` [LINUX].
    fn probe_cycle(settings: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle {
            seconds: 1.25 * NvParameters::from(settings).reset_period.as_secs(),
            ..ProbeCycle::HALF_WINDOW
        })
    }
}

impl Controller for Nv {
    // Differs from [LINUX]: in Linux a window of which one acknowledgement reports a whole round is let grow to 80
    // packets, because merged acknowledgements cannot be measured.
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.recovering {
            return;
        }
        if self.state.resets {
            self.state.measure_anew();
        }
        self.state.take(ack, self.reset_period);
        if ack.new_round {
            self.judge(window);
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.state.grows {
            window.cwnd += ack.packets.min(2.0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.state.grows {
            let step = window.cwnd.max(4.0) * f64::from(1_u32 << self.state.slower);
            window.cwnd += ack.packets / step;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        self.stop();
        window.reduce_to(window.cwnd * KEPT);
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        self.stop();
        self.state.slower = (self.state.slower + 1).min(MOST_HALVINGS);
        window.reduce_to(window.cwnd * KEPT);
        window.cwnd = 1.0;
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([self.most(), f64::from(self.state.grows)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, ack, acknowledge, avoidance, close};

    /// A round of `cwnd` packets at `rtt_ms`, with the time going on.
    fn round(flow: &mut Nv, window: &mut Window, now_ms: &mut u64, rtt_ms: u64) {
        let packets = window.cwnd as u64;
        for number in 0..packets {
            let event = AckEvent {
                now: Time::ZERO + Span::from_ms(*now_ms),
                new_round: number == 0,
                in_flight: packets as f64 - 1.0,
                ..ack(Span::from_ms(rtt_ms))
            };
            acknowledge(flow, window, &event);
        }
        *now_ms += rtt_ms;
    }

    fn settled(cwnd: f64, rtt_ms: u64) -> (Nv, Window, u64) {
        let (mut flow, mut window, mut now_ms) = (Nv::new(Default::default()), avoidance(cwnd), 0);
        flow.state.is_first = false;
        round(&mut flow, &mut window, &mut now_ms, rtt_ms);
        (flow, window, now_ms)
    }

    /// 200 packets at 100 ms, then at 125 ms: 1600 packets/s x 0.1 s + 10 = 170 without congestion. Two rounds later
    /// 30 x 38 / 128 = 8.9 go, rounded down, and the threshold is 170.
    #[test]
    fn of_what_is_too_much_30_per_cent_go() {
        let (mut flow, mut window, mut now_ms) = settled(200.0, 100);
        (flow.state.rate, flow.state.samples, flow.state.rounds) = (1600.0, 60, 2);
        window.cwnd = 200.0;
        flow.judge(&mut window);
        assert_eq!(window, Window { cwnd: 192.0, ssthresh: 170.0 });
        assert!(!flow.state.grows);
        round(&mut flow, &mut window, &mut now_ms, 125);
        assert_eq!(window.cwnd, 192.0, "growth waits for another judgement");
    }

    /// The largest window is 110: at 108 and below it grows, at 109 and 110 it stays, from 20 samples on.
    #[test]
    fn up_to_two_packets_below_the_largest_window_it_grows() {
        for (cwnd, samples, grows) in
            [(108.0, 20, true), (108.0, 19, false), (109.0, 60, false), (110.0, 60, false)]
        {
            let (mut flow, mut window, _) = settled(100.0, 100);
            (flow.state.rate, flow.state.samples, flow.state.grows) = (1000.0, samples, false);
            window.cwnd = cwnd;
            flow.judge(&mut window);
            assert_eq!((flow.state.grows, window.cwnd), (grows, cwnd));
        }
    }

    /// 100 packets: 81.9 percent of 1024 parts are left, and no growth before the path is measured.
    #[test]
    fn a_loss_keeps_four_fifths_and_stops_growth() {
        let (mut flow, mut window, mut now_ms) = settled(100.0, 100);
        window.cwnd = 100.0;
        flow.on_congestion(&mut window, &CONGESTION);
        close(window.cwnd, 79.98, 0.001);
        round(&mut flow, &mut window, &mut now_ms, 100);
        close(window.cwnd, 79.98, 0.001);
        round(&mut flow, &mut window, &mut now_ms, 100);
        close(window.cwnd, 81.0, 0.01);
    }

    #[test]
    fn each_timeout_halves_growth_and_nine_free_rounds_double_it() {
        let (mut flow, mut window, mut now_ms) = settled(100.0, 100);
        (0..3).for_each(|_| flow.on_timeout(&mut window, &CONGESTION));
        assert_eq!(flow.state.slower, 3);
        window = avoidance(100.0);
        (0..9).for_each(|_| round(&mut flow, &mut window, &mut now_ms, 100));
        close(window.cwnd, 101.0, 0.001);
        (0..3).for_each(|_| round(&mut flow, &mut window, &mut now_ms, 100));
        assert_eq!(flow.state.slower, 2);
    }

    /// A path that has become longer is taken for a queue until the minimum is measured anew, after at most 2 s.
    #[test]
    fn the_minimum_round_trip_is_that_of_the_last_seconds() {
        let (mut flow, mut window, mut now_ms) = settled(100.0, 100);
        while now_ms < 12_000 {
            round(&mut flow, &mut window, &mut now_ms, 150);
        }
        close(flow.state.min_rtt.as_secs(), 0.15, 0.01);
    }
}
