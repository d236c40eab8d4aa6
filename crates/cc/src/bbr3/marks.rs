//! A response in proportion to marks [BBR-GOOGLE], which the draft does not define: an extension, with ECT(1).
//!
//! The share of marked packets of each round moves an average, alpha. Rounds with many marks end the start, and a probe.
//! Between probes a round with marks lowers the short-term bound of the packets in flight by a part of alpha. The rate is not
//! lowered.

use fairhaul_units::Span;

use super::{Bbr3Model, LEAST_WINDOW};
use crate::{AckEvent, RateSample, Window};

/// The weight of a round in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// Consecutive rounds with many marks that end the start.
const FULL_ROUNDS: u32 = 2;

/// What marks say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// The average share of marked packets; the first marks find a path whose state is not known.
    pub(super) alpha: f64,
    /// Packets delivered and marked in this round.
    delivered: f64,
    marked: f64,
    /// Whether anything was marked since the short-term bounds were adapted.
    pub(super) any: bool,
    /// Whether the last round had many marks; and how many consecutive ones at the start had.
    pub(super) many: bool,
    full_rounds: u32,
    /// Whether feedback is accurate; otherwise a mark is met as the draft demands.
    pub(super) accurate: bool,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            alpha: 1.0,
            delivered: 0.0,
            marked: 0.0,
            any: false,
            many: false,
            full_rounds: 0,
            accurate: true,
        }
    }
}

impl Bbr3Model {
    /// Whether marks are answered in proportion.
    //
    // Differs from [BBR-GOOGLE]: by default it answers marks on every path, and there where the smallest round-trip time is at
    // most 5 ms: ECT(1) promises an answer whatever the round trip is [RFC 9331, 4.3].
    pub(super) fn is_proportional(&self) -> bool {
        let most = self.parameters.marks_max_rtt;
        self.parameters.proportional && self.marks.accurate && (most == Span::ZERO || self.min_rtt <= most)
    }

    /// Takes an acknowledgement; `limited`: the application limited the sample.
    //
    // Differs from [BBR-GOOGLE]: a probe is judged by the share of marks of a whole round, and there by that of the packets
    // delivered since the acknowledged packet was sent.
    pub(super) fn note_marks(&mut self, window: &Window, ack: &AckEvent, sample: &RateSample, limited: bool) {
        let marks = &mut self.marks;
        marks.delivered += ack.packets;
        marks.marked += ack.marked;
        marks.any |= ack.marked > 0.0;
        if !self.rounds.started || marks.delivered == 0.0 {
            return;
        }
        let share = marks.marked / marks.delivered;
        marks.alpha += GAIN * (share - marks.alpha);
        marks.many = share >= self.parameters.mark_threshold;
        (marks.delivered, marks.marked) = (0.0, 0.0);
        if !self.filled {
            self.count_full_round();
        } else if self.marks.many && self.probes {
            self.go_down_from(sample.in_flight_then, window, ack.now, limited);
        }
    }

    fn count_full_round(&mut self) {
        self.marks.full_rounds = if self.marks.many { self.marks.full_rounds + 1 } else { 0 };
        if self.marks.full_rounds >= FULL_ROUNDS {
            self.filled = true;
            self.most = self.path(1.0).max(self.latest_volume).max(LEAST_WINDOW).floor();
        }
    }

    /// The short-term bound that a round with marks leaves, from what it was or is.
    pub(super) fn flight_after_marks(&self, flight: f64) -> f64 {
        flight * (1.0 - self.marks.alpha * self.parameters.mark_factor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bbr3, Bbr3Parameters, Bbr3State};
    use super::*;
    use crate::test_support::{ack, close};

    const RTT: Span = Span::from_ms(20);

    /// A model of 1000 packets a second and 20 ms: a path of 20 packets.
    fn flow(state: Bbr3State) -> (Bbr3Model, Window) {
        let given = Bbr3Parameters { proportional: true, ..Default::default() };
        let mut model = *Bbr3::new(given).model;
        model.rates.take(0, 1000.0);
        (model.min_rtt, model.recent_rtt, model.state) = (RTT, RTT, state);
        model.filled = state != Bbr3State::Startup;
        (model, Window { cwnd: 40.0, ssthresh: f64::INFINITY })
    }

    /// A round of 20 packets, of which some are marked.
    fn round(model: &mut Bbr3Model, window: &Window, marked: f64) {
        let sample = RateSample {
            delivered: 20.0,
            interval: RTT,
            delivered_before: 0.0,
            delivered_total: 20.0,
            in_flight_then: 30.0,
            lost_since: 0.0,
            app_limited: false,
        };
        let half = AckEvent { packets: 10.0, marked: marked / 2.0, in_flight: 25.0, ..ack(RTT) };
        for started in [false, true] {
            model.rounds.started = started;
            model.note_marks(window, &half, &sample, false);
        }
    }

    /// From 1 with a quarter marked: 1 - 0.75 / 16 = 0.953125; what is left of the difference after n rounds is 0.75 (15/16)^n.
    #[test]
    fn alpha_follows_the_share_of_marks_by_a_sixteenth_of_the_difference() {
        let (mut model, window) = flow(Bbr3State::Cruise);
        round(&mut model, &window, 5.0);
        close(model.marks.alpha, 0.953_125, 1e-12);
        (1..40).for_each(|_| round(&mut model, &window, 5.0));
        close(model.marks.alpha - 0.25, 0.75 * libm::pow(0.9375, 40.0), 1e-9);
    }

    /// Between probes, at alpha = 0.6: 40 x (1 - 0.6 / 3) = 32, then 32 x 0.8 = 25.6, below what was delivered too. The rate
    /// stays as it is, and a round without marks changes nothing.
    #[test]
    fn marks_between_probes_lower_the_bound_of_the_flight_and_not_the_rate() {
        let (mut model, window) = flow(Bbr3State::Cruise);
        (model.marks.alpha, model.parameters.mark_factor) = (0.6, 1.0 / 3.0);
        (model.latest_volume, model.latest_rate) = (39.0, 990.0);
        let mut bounds = Vec::new();
        for any in [true, true, false] {
            model.marks.any = any;
            model.adapt_short_bounds(&window);
            bounds.push(model.short_flight);
        }
        close(bounds[0], 32.0, 1e-9);
        close(bounds[1], 25.6, 1e-9);
        assert_eq!((bounds[2], model.rate()), (bounds[1], 1000.0));
    }

    /// One round with half of its packets marked is not enough at the start, and rounds with fewer between do not count.
    #[test]
    fn two_consecutive_rounds_with_many_marks_end_the_start() {
        let (mut model, window) = flow(Bbr3State::Startup);
        model.latest_volume = 25.4;
        for marked in [10.0, 9.0, 20.0] {
            round(&mut model, &window, marked);
            assert!(!model.filled);
        }
        round(&mut model, &window, 10.0);
        assert!(model.filled);
        assert_eq!(model.most, 25.0); // the larger of the path of 20 and what a round delivered
    }

    /// A probe with nine of 20 marked goes on; with ten it ends, and what was in flight bounds the window.
    #[test]
    fn a_probe_ends_where_half_of_a_round_is_marked() {
        let (mut model, window) = flow(Bbr3State::Up);
        model.probes = true;
        round(&mut model, &window, 9.0);
        assert_eq!((model.state, model.most), (Bbr3State::Up, f64::INFINITY));
        round(&mut model, &window, 10.0);
        assert_eq!((model.state, model.most, model.too_high), (Bbr3State::Down, 30.0, true));
    }

    /// With a bound of 5 ms a path of 20 ms is not answered, one of 5 ms is. Where feedback is not accurate, the rule is the
    /// draft's.
    #[test]
    fn it_answers_in_proportion_where_feedback_is_accurate_and_the_path_is_short_enough() {
        let (mut model, _) = flow(Bbr3State::Cruise);
        assert!(model.is_proportional());
        model.parameters.marks_max_rtt = Span::from_ms(5);
        assert!(!model.is_proportional());
        model.min_rtt = Span::from_ms(5);
        assert!(model.is_proportional());
        model.marks.accurate = false;
        assert!(!model.is_proportional());
    }
}
