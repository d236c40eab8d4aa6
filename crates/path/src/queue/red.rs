//! RED and Adaptive RED [RED, ARED], with the rules and automatic values of ns-2 [NS-2].
//!
//! A moving average of the queue decides: from a lower threshold on an arriving packet is dropped,
//! or marked, with a probability that grows with the average and is spread so that drops do not
//! cluster. Adaptive RED moves that probability to hold the average in the middle.

mod values;

use fairhaul_units::{Bytes, Chance, Ecn, Gauge, Parameter, Time};

use super::{Arrival, Capacity, QueueDecision, Site};
use values::packets_per_s;
pub(super) use values::resolve;
pub use values::{RedParameters, ThresholdUnit};

/// The arrival law of RED.
///
/// What is averaged and compared with the thresholds are the packets that wait; the one being sent
/// counts for the capacity alone, as before a drop-tail queue.
// Differs from [NS-2]: in ns-2 the limit, too, counts only waiting packets. Here a capacity means the same for
// every queue.
#[derive(Clone, Debug)]
pub struct Red {
    capacity: Capacity,
    given: RedParameters,
    /// The largest probability of Adaptive RED moves.
    curve: DropCurve,
    /// When it has moved last.
    adapted: Time,
    /// Packets of the mean size that the link sends in a second.
    packets_per_s: f64,
    average: f64,
    /// Arrivals since the last drop, this one included; in units of the mean packet where drops are in bytes.
    count: f64,
    /// Whether the average was at or above the lower threshold at the last arrival.
    above: bool,
    chance: Chance,
}

/// The probability over the average, before drops are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DropCurve {
    min: f64,
    max: f64,
    max_p: f64,
    gentle: bool,
}

impl DropCurve {
    /// The probability at an average from `min` to below `end`.
    fn at(&self, average: f64) -> f64 {
        if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        }
    }

    /// From where on everything is dropped.
    fn end(&self) -> f64 {
        if self.gentle { 2.0 * self.max } else { self.max }
    }
}

impl Red {
    /// One line of what it is.
    pub const TITLE: &'static str = "Random early detection: drops or marks at random by the average queue \
                                     length, as in ns-2; optionally adaptive";
    pub(super) const SOURCE: &'static str = "RED";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = RedParameters::LIST;
    pub(super) const GAUGES: [Gauge; 2] = [
        Gauge {
            name: "average_packets",
            unit: "packets",
            help: "moving average of the queue length at the last arrival, in mean packets",
        },
        Gauge {
            name: "max_p",
            unit: "",
            help: "drop probability at the upper threshold, which Adaptive RED adjusts",
        },
    ];

    /// The queue of parameters that are resolved.
    pub(super) fn new(given: RedParameters, site: &Site, chance: Chance) -> Red {
        let RedParameters { min_threshold, max_threshold, max_p, gentle, .. } = given;
        let unit = unit(&given);
        Red {
            capacity: site.capacity,
            curve: DropCurve { min: min_threshold * unit, max: max_threshold * unit, max_p, gentle },
            packets_per_s: packets_per_s(site.rate, given.mean_packet),
            given,
            adapted: Time::ZERO,
            average: 0.0,
            count: 0.0,
            above: false,
            chance,
        }
    }

    /// What its gauges show.
    pub(super) fn gauges(&self) -> [f64; 2] {
        [self.average / unit(&self.given), self.curve.max_p]
    }

    /// What becomes of an arriving packet.
    pub(crate) fn decide(&mut self, arrival: &Arrival) -> QueueDecision {
        self.observe(arrival);
        self.count += self.counts(arrival.size);
        let verdict = self.early(arrival);
        if verdict == QueueDecision::Drop
            || !self.capacity.admits(arrival.size, arrival.packets, arrival.bytes)
        {
            self.count = 0.0;
            return QueueDecision::Drop;
        }
        verdict
    }

    /// Takes the queue into the average; an idle link ages it as if it had found an empty queue once for
    /// every mean packet that it could have sent.
    fn observe(&mut self, arrival: &Arrival) {
        let weight = self.given.q_weight;
        let backlog =
            if self.given.queue_in_bytes { arrival.waiting_bytes.0 } else { arrival.waiting } as f64;
        let missed = arrival.idle().map_or(0.0, |idle| libm::floor(self.packets_per_s * idle.as_secs()));
        let kept = if missed == 0.0 { 1.0 - weight } else { libm::pow(1.0 - weight, missed + 1.0) };
        self.average = kept * self.average + weight * backlog;
        if self.given.adaptive {
            self.adapt(arrival.now);
        }
    }

    /// Moves the largest probability where an interval has passed since it last moved: additively up where the
    /// average is above the middle fifth between the thresholds, by a factor down where it is below.
    // Differs from [ARED]: there is no timer. As in ns-2, the first arrival after the interval adapts `max_p`;
    // an arrival that finds nothing to adapt leaves the step to the next one.
    fn adapt(&mut self, now: Time) {
        let RedParameters { interval, alpha, beta, bottom, top, .. } = self.given;
        if now.since(self.adapted) <= interval {
            return;
        }
        let curve = &mut self.curve;
        let part = 0.4 * (curve.max - curve.min);
        if self.average < curve.min + part && curve.max_p > bottom {
            curve.max_p *= beta;
            self.adapted = now;
        } else if self.average > curve.max - part && curve.max_p < top {
            curve.max_p += alpha.min(curve.max_p / 4.0);
            self.adapted = now;
        }
    }

    fn early(&mut self, arrival: &Arrival) -> QueueDecision {
        // Differs from [NS-2]: in ns-2 the length must be above one in the unit in which it is measured, so
        // that in bytes one packet is enough.
        if self.average < self.curve.min || arrival.waiting < 2 {
            self.above = false;
            return QueueDecision::Enqueue;
        }
        // Differs from [NS-2]: since 2005, ns-2 lets the first packet after the crossing pass even beyond the
        // end of the curve.
        if self.average >= self.curve.end() {
            return QueueDecision::Drop;
        }
        if !self.above {
            // The average has just crossed the threshold: counting begins, and the first passes.
            self.above = true;
            self.count = self.counts(arrival.size);
            return QueueDecision::Enqueue;
        }
        let p = self.curve.at(self.average);
        let mut spread = spread(p, self.count, self.given.wait);
        if self.given.drop_in_bytes && spread < 1.0 {
            spread *= arrival.size.0 as f64 / self.given.mean_packet;
        }
        if spread == 0.0 || !self.chance.hits(spread) {
            return QueueDecision::Enqueue;
        }
        self.count = 0.0;
        match arrival.ecn {
            Ecn::Capable | Ecn::CapableL4s if p < self.given.mark_p => QueueDecision::Mark,
            Ecn::Marked if p < self.given.mark_p => QueueDecision::Enqueue,
            _ => QueueDecision::Drop,
        }
    }

    /// What an arrival adds to the count.
    // Differs from [NS-2]: in ns-2 a count in bytes is truncated to whole packets.
    fn counts(&self, size: Bytes) -> f64 {
        if self.given.drop_in_bytes { size.0 as f64 / self.given.mean_packet } else { 1.0 }
    }
}

/// A mean packet in what the average counts.
fn unit(given: &RedParameters) -> f64 {
    if given.queue_in_bytes { given.mean_packet } else { 1.0 }
}

/// The probability with which the packet number `count` after the last drop goes: gaps become uniform.
fn spread(p: f64, count: f64, wait: bool) -> f64 {
    let due = count * p;
    match wait {
        true if due < 1.0 => 0.0,
        true if due < 2.0 => (p / (2.0 - due)).min(1.0),
        false if due < 1.0 => (p / (1.0 - due)).min(1.0),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::values::ThresholdUnit;
    use super::*;
    use crate::queue::{QueueChoice, Refusal};
    use fairhaul_units::{Rate, Span};

    const SITE: Site = Site {
        // A thousand packets of 1000 B in a second.
        rate: match Rate::from_bps(8_000_000) {
            Some(rate) => rate,
            None => panic!("not zero"),
        },
        delay: Span::from_ms(10),
        capacity: Capacity::Packets(100),
        mark: Capacity::Unlimited,
    };

    fn resolved(site: &Site, largest: u64, values: &[(&str, f64)]) -> Result<RedParameters, Refusal> {
        let mut choice = QueueChoice::named("red").expect("it is in the catalogue");
        values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
        choice.resolved(site, Bytes(largest)).map(|choice| (&choice.settings).into())
    }

    /// Thresholds of 10 and 30 packets, everything counted in packets, the average being the queue.
    fn red(values: &[(&str, f64)]) -> Red {
        let plain = [
            ("min_threshold", 10.0),
            ("max_threshold", 30.0),
            ("q_weight", 1.0),
            ("queue_in_bytes", 0.0),
            ("drop_in_bytes", 0.0),
        ];
        let given = resolved(&SITE, 1000, &[&plain, values].concat()).expect("the values fit");
        Red::new(given, &SITE, Chance::stream(1, "queue", 0))
    }

    /// A packet of 1000 B that finds so many waiting and one on the wire.
    fn finds(waiting: u64) -> Arrival {
        Arrival {
            size: Bytes(1000),
            ecn: Ecn::NotCapable,
            flow: 0,
            now: Time::ZERO,
            packets: waiting + 1,
            bytes: Bytes((waiting + 1) * 1000),
            waiting,
            waiting_bytes: Bytes(waiting * 1000),
            busy_until: Time::NEVER,
        }
    }

    fn close(found: f64, wanted: f64) {
        assert!((found / wanted - 1.0).abs() < 1e-9, "{found} for {wanted}");
    }

    #[test]
    fn the_average_moves_by_its_weight_and_ages_while_the_link_is_idle() {
        let mut red = red(&[("q_weight", 0.5)]);
        for (waiting, average) in [(0, 0.0), (4, 2.0), (4, 3.0)] {
            red.decide(&finds(waiting));
            close(red.average + 1.0, average + 1.0);
        }
        // 2.7 ms are two packets of 1 ms each: 3 x 0.5^3.
        let now = Time::ZERO + Span::from_us(2700);
        red.decide(&Arrival { now, busy_until: Time::ZERO, packets: 0, ..finds(0) });
        close(red.average, 0.375);
    }

    #[test]
    fn gauges_show_the_average_in_mean_packets_and_the_largest_probability() {
        for in_bytes in [0.0, 1.0] {
            let mut red = red(&[("q_weight", 0.5), ("queue_in_bytes", in_bytes)]);
            for waiting in [0, 4, 4] {
                red.decide(&finds(waiting));
            }
            assert_eq!(red.gauges(), [3.0, 0.1]);
        }
    }

    #[test]
    fn the_curve_rises_to_max_p_and_gently_on_to_one() {
        let gentle = DropCurve { min: 10.0, max: 30.0, max_p: 0.1, gentle: true };
        // Halfway: half of 0.1. At 45, half of the way from 30 to 60: 0.1 + 0.9 / 2.
        for (average, p) in [(20.0, 0.05), (30.0, 0.1), (45.0, 0.55), (60.0, 1.0)] {
            close(gentle.at(average), p);
        }
        assert_eq!((gentle.end(), DropCurve { gentle: false, ..gentle }.end()), (60.0, 30.0));
    }

    #[test]
    fn drops_are_spread_so_that_every_gap_is_as_likely() {
        // p = 0.05: with `wait` gaps from 20 to 39 have 1/20 each, without it those from 1 to 19 have
        // 1/19, since the count of ns-2 holds the packet itself.
        for (wait, from, share) in [(true, 20, 1.0 / 20.0), (false, 1, 1.0 / 19.0)] {
            let mut none_before = 1.0;
            for gap in 1..from + 19 {
                let here = spread(0.05, f64::from(gap), wait);
                let wanted = if gap < from { 0.0 } else { share };
                assert!((none_before * here - wanted).abs() < 1e-9, "wait {wait}, gap {gap}");
                none_before *= 1.0 - here;
            }
        }
        close(spread(0.05, 30.0, true), 0.1); // 0.05 / (2 - 1.5)
        assert_eq!(spread(0.05, 40.0, true), 1.0);
    }

    #[test]
    fn at_a_probability_of_a_twentieth_gaps_lie_between_20_and_40_packets_and_30_on_average() {
        let mut red = red(&[]);
        red.decide(&finds(20)); // crosses the threshold
        let (mut gaps, mut gap) = (Vec::new(), 1);
        for _ in 0..300_000 {
            gap += 1;
            if red.decide(&finds(20)) == QueueDecision::Drop {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!(gaps.iter().all(|gap| (20..=40).contains(gap)), "{gaps:?}");
        // Uniform from 20 to 39: 29.5, and the deviation of one is 5.8.
        assert!((mean - 29.5).abs() < 4.0 * 5.8 / libm::sqrt(gaps.len() as f64), "{mean}");
    }

    #[test]
    fn nothing_is_dropped_early_below_the_threshold_at_its_crossing_or_with_less_than_two_waiting() {
        let mut red = red(&[("q_weight", 0.5)]);
        assert!((0..1000).all(|_| red.decide(&finds(9)) == QueueDecision::Enqueue));
        red.average = 1000.0;
        assert_eq!(red.decide(&finds(1)), QueueDecision::Enqueue);
        // 250 is far above the end of the curve, 60.
        assert_eq!(red.decide(&finds(2)), QueueDecision::Drop);
        red.average = 40.0;
        assert_eq!((red.decide(&finds(2)), red.above), (QueueDecision::Enqueue, true));
    }

    #[test]
    fn a_full_queue_drops_whatever_the_average() {
        let mut red = red(&[("q_weight", 0.001)]);
        assert_eq!(red.decide(&finds(98)), QueueDecision::Enqueue); // 99 in all
        assert_eq!(red.decide(&finds(99)), QueueDecision::Drop);
    }

    #[test]
    fn what_can_be_marked_is_marked_up_to_mark_p_and_dropped_above() {
        let mut red = red(&[("wait", 0.0), ("max_p", 0.2)]);
        let mut all = |waiting| -> Vec<QueueDecision> {
            let arrival = Arrival { ecn: Ecn::Capable, ..finds(waiting) };
            (0..1000)
                .map(|_| red.decide(&arrival))
                .filter(|verdict| *verdict != QueueDecision::Enqueue)
                .collect()
        };
        // 0.2 x 9 / 20 is below 0.1, 0.2 x 11 / 20 is above.
        assert!(!all(19).contains(&QueueDecision::Drop));
        assert!(!all(21).contains(&QueueDecision::Mark));
    }

    #[test]
    fn in_bytes_an_acknowledgement_is_dropped_25_times_less_often() {
        let drops = |size: u64| {
            let mut red = red(&[("drop_in_bytes", 1.0), ("wait", 0.0)]);
            let arrival = Arrival { size: Bytes(size), ..finds(20) };
            (0..200_000).filter(|_| red.decide(&arrival) == QueueDecision::Drop).count() as f64
        };
        let times = drops(1000) / drops(40);
        assert!((22.0..28.0).contains(&times), "{times}");
    }

    #[test]
    fn adaptive_red_steps_once_an_interval_outside_the_middle_fifth() {
        // The middle: 10 + 8 to 30 - 8. Half a second apart and a bit.
        let mut red = red(&[("adaptive", 1.0), ("bottom", 0.085)]);
        let mut max_p = |ms, waiting| {
            red.decide(&Arrival { now: Time::ZERO + Span::from_ms(ms), ..finds(waiting) });
            red.curve.max_p
        };
        close(max_p(500, 12), 0.1); // not yet
        close(max_p(501, 12), 0.09);
        close(max_p(900, 12), 0.09);
        close(max_p(1100, 20), 0.09); // in the middle
        close(max_p(1101, 17), 0.081);
        close(max_p(2000, 17), 0.081); // below the bottom
        close(max_p(2001, 23), 0.091); // 0.01 is less than a quarter
        let mut low = super::tests::red(&[("adaptive", 1.0), ("max_p", 0.02)]);
        low.decide(&Arrival { now: Time::ZERO + Span::from_ms(501), ..finds(25) });
        close(low.curve.max_p, 0.025);
    }

    #[test]
    fn automatic_values_are_those_of_ns_2() {
        // Rate, mean packet, thresholds and weight: packets per second x 5 ms / 2, at least 5, and three
        // times that; 1 - exp(-1 / packets in a second), with ten round trips of 100 ms.
        let cases = [
            (20, 500, 12.5, 37.5, 2.0e-4),
            (100, 500, 62.5, 187.5, 4.0e-5),
            (1000, 500, 625.0, 1875.0, 4.0e-6),
            (20, 1000, 6.25, 18.75, 4.0e-4),
            (1, 1000, 5.0, 15.0, 8.0e-3),
        ];
        for (mbps, packet, min, max, weight) in cases {
            let site = Site { rate: Rate::from_bps(mbps * 1_000_000).expect("not zero"), ..SITE };
            let given = resolved(&site, packet, &[]).expect("the values fit");
            close(given.min_threshold, min);
            close(given.max_threshold, max);
            let off = given.q_weight / weight - 1.0;
            assert!(off.abs() < 0.005, "{mbps}: {off}");
            let bottom = if mbps == 1000 { 80e-6 } else { (0.08 / mbps as f64).min(0.01) };
            close(given.bottom, bottom);
        }
        // Three times (50 ms and a packet) are above 100 ms: 1.53 s of packets.
        let far = Site { delay: Span::from_ms(50), ..SITE };
        let weight = |code| resolved(&far, 1000, &[("q_weight", code)]).map(|given| given.q_weight);
        close(weight(-1.0).expect("a code"), 1.0 - libm::exp(-1.0 / 1530.0));
        close(weight(0.0).expect("a code"), 1.0 - libm::exp(-1.0 / 1000.0));
        close(weight(-2.0).expect("a code"), 1.0 - libm::exp(-10.0 / 1000.0));
        assert_eq!(weight(-0.5).expect_err("no code").parameter, "q_weight");
    }

    #[test]
    fn thresholds_are_packets_or_shares_of_the_capacity() {
        let shares = [
            ("min_threshold", 0.25),
            ("max_threshold", 0.75),
            ("threshold_unit", ThresholdUnit::Capacity.value()),
        ];
        let found = |site: &Site| {
            resolved(site, 1000, &shares).map(|given| [given.min_threshold, given.max_threshold])
        };
        assert_eq!(found(&SITE), Ok([25.0, 75.0]));
        assert_eq!(found(&Site { capacity: Capacity::Bytes(Bytes(64_000)), ..SITE }), Ok([16.0, 48.0]));
        assert!(found(&Site { capacity: Capacity::Unlimited, ..SITE }).is_err());
        assert!(
            resolved(
                &SITE,
                1000,
                &[("min_threshold", 25.0), ("threshold_unit", ThresholdUnit::Capacity.value())]
            )
            .is_err()
        );
        let wrong = resolved(&SITE, 1000, &[("min_threshold", 20.0), ("max_threshold", 20.0)]);
        assert_eq!(wrong.expect_err("not above").parameter, "max_threshold");
    }
}
