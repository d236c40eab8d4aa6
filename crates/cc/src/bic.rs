//! BIC [BIC]: after a loss, a binary search for the window at which the loss happened.
//!
//! Far below that maximum a round adds Smax packets. Nearer it goes half of the way, so that the
//! window lingers where it fits. Beyond it the search begins anew, by 1, 2, 4, ... packets a round
//! up to Smax. Below the low window it is Reno.

use fairhaul_units::{Gauge, Parameter, parameters, words};

use crate::gauge::known;
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// Binary Increase Congestion control.
#[derive(Clone, Debug)]
pub struct Bic {
    rule: BicRule,
    low_window: f64,
    fast_convergence: bool,
    /// The maximum that the search is for; minus infinity where no loss has shown one.
    max: f64,
}

words! {
    /// Whose rule it is.
    pub enum BicVariant {
        /// As published.
        Paper = "paper",
        /// As in Linux since 5.7.
        Linux = "linux",
    }
}

#[derive(Clone, Copy, Debug)]
enum BicRule {
    /// As published: at most `smax` packets a round, at least `smin` from the maximum; a loss
    /// takes the share `beta`.
    Paper { smax: f64, smin: f64, beta: f64 },
    /// As in Linux since 5.7, with its estimate of the packets that an ACK acknowledges.
    Linux { packets: Ratio },
}

/// Linux's constants [LINUX]: the most that a round adds, the share of the distance that it goes,
/// the rounds for 4 packets nearest to the maximum (smooth_part), the packets that earn one more
/// at most where no loss has shown a maximum, and what a loss leaves.
const MAX_INCREMENT: f64 = 16.0;
const DIVISOR: f64 = 4.0;
const SMOOTH_PART: f64 = 20.0;
const BLIND: f64 = 20.0;
const KEPT: f64 = 819.0 / 1024.0;

/// The mean number of packets that an ACK acknowledges, in sixteenths, as Linux estimates it
/// [LINUX, delayed_ack]. Its whole numbers make it stand at 31/16 where every packet is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio(u32);

impl Ratio {
    /// Two packets, the estimate at the start and after a timeout.
    const START: Ratio = Ratio(32);

    /// Takes an acknowledgement of `packets`, with a weight of a sixteenth.
    fn take(&mut self, packets: f64) {
        self.0 = self.0 - (self.0 >> 4) + packets as u32;
    }
}

parameters! {
    /// The parameters of BIC.
    pub(crate) struct BicParameters {
        variant: Word(BicVariant) = BicVariant::Paper,
            "paper: as published, with smax, smin and beta; linux: as in Linux since 5.7, with its own \
             constants [BIC, LINUX]";
        smax: Number(1.0..=1e6, "packets") = 32.0, "largest increase per round trip, variant paper [BIC]";
        smin: Number(1e-6..=1.0, "packets") = 0.01,
            "distance from the maximum at which the search ends, variant paper [BIC]";
        beta: Number(0.01..=0.9) = 0.125, "fraction of the window given up at a loss, variant paper [BIC]";
        low_window: Number(0.0..=1e6, "packets") = 14.0, "below this window it behaves as Reno [BIC]";
        fast_convergence: Switch = true,
            "fast convergence: lower the target after a loss below the last maximum, to leave room for other \
             flows [BIC]";
    }
}

impl Bic {
    pub(crate) const TITLE: &'static str = "BIC: binary search for the window at which the last loss \
                                            occurred";
    pub(crate) const SOURCE: &'static str = "BIC";
    pub(crate) const PARAMETERS: &'static [Parameter] = BicParameters::LIST;

    pub(crate) fn new(given: BicParameters) -> Bic {
        let rule = match given.variant {
            BicVariant::Paper => BicRule::Paper { smax: given.smax, smin: given.smin, beta: given.beta },
            BicVariant::Linux => BicRule::Linux { packets: Ratio::START },
        };
        Bic {
            rule,
            low_window: given.low_window,
            fast_convergence: given.fast_convergence,
            max: f64::NEG_INFINITY,
        }
    }

    /// What `acked` packets add to the window `w`, at the low window or above.
    fn gain(&self, w: f64, acked: f64) -> f64 {
        match self.rule {
            BicRule::Paper { smax, .. } => paper_step(w - self.max, smax) * (acked / w),
            // No maximum is one of zero there.
            BicRule::Linux { packets } => acked / linux_count(w.floor(), self.max.max(0.0).floor(), packets),
        }
    }

    /// Whether the rule is Reno's at the window `w`.
    fn is_small(&self, w: f64) -> bool {
        match self.rule {
            BicRule::Paper { .. } => w < self.low_window,
            BicRule::Linux { .. } => w.floor() <= self.low_window,
        }
    }
}

/// What a round adds at that distance `above` the maximum, as published.
// Unclear in [BIC]: the text moves to the midpoint once per round trip, the pseudocode sets a new midpoint with
// every acknowledgement. The pseudocode is followed: a round trip covers half of the remaining distance, and
// e^-1/2 of the distance is left at its end.
// Differs from [BIC]: beyond the maximum each goal of the pseudocode, one step from where the last
// was met, is counted from the maximum: 1, 3, 7, ... packets above it. That saves its state and
// moves a goal by less than what one acknowledgement adds.
fn paper_step(above: f64, smax: f64) -> f64 {
    let step = if above < 0.0 { -above / 2.0 } else { (1u64 << ((above + 1.0) as u64).ilog2()) as f64 };
    step.min(smax)
}

/// How many packets must be acknowledged in Linux for one more in a window of `w`, both whole, where
/// the search is for `max`.
// Differs from [LINUX]: in 6.17 the first duplicate acknowledgement of a recovery counts in the estimate as one
// of no packets, so that 31/16 loses a sixteenth at each loss, down to one; 2.6.24 does not count it. Here it
// counts the packets that it delivers. With ACKs of two packets, each of these estimates is back at two after
// two ACKs.
// Differs from [LINUX]: in Linux the number of packets per increase is computed anew when the window has
// changed or 31 ms have passed; here with every acknowledgement.
fn linux_count(w: f64, max: f64, packets: Ratio) -> f64 {
    // A share of the distance is cut to whole packets, so that it is one from less than 8 packets on.
    let share = ((max - w) / DIVISOR).floor();
    let above = w - max;
    let mut count = match above {
        _ if share > 1.0 => (w / share.min(MAX_INCREMENT)).floor(),
        _ if above < DIVISOR => (w * SMOOTH_PART / DIVISOR).floor(),
        _ if above < MAX_INCREMENT * (DIVISOR - 1.0) => (w * (DIVISOR - 1.0) / above).floor(),
        _ => (w / MAX_INCREMENT).floor(),
    };
    if max == 0.0 {
        count = count.min(BLIND);
    }
    // Meant for a count of ACKs. It counts packets since 5.7, and is divided all the same.
    (16.0 * count / f64::from(packets.0)).floor().max(1.0)
}

impl Catalogued for Bic {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", BicVariant::Linux.value()));
    const GAUGES: &'static [Gauge] = &[Gauge {
        name: "plateau_packets",
        unit: "packets",
        help: "window that the search is for, the maximum before the last loss",
    }];
}

impl Controller for Bic {
    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(known(self.max));
    }

    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        if let BicRule::Linux { packets } = &mut self.rule
            && !ack.recovering
        {
            packets.take(ack.packets);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let w = window.cwnd;
        if self.is_small(w) {
            window.cwnd += ack.packets / w;
            return;
        }
        window.cwnd += self.gain(w, ack.packets);
        if let BicRule::Paper { smin, .. } = self.rule
            && (0.0..smin).contains(&(self.max - window.cwnd))
        {
            window.cwnd = self.max;
        }
    }

    // Unclear in [BIC]: after a search beyond the maximum the pseudocode compares with the largest
    // representable number, so that fast convergence would follow every successful search. Here the comparison
    // is with the maximum of the previous loss, as in the text and in Linux.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        let w = window.cwnd;
        let small = self.is_small(w);
        let decrease = match self.rule {
            BicRule::Paper { .. } if small => return window.give_up(0.5), // the maximum stays
            BicRule::Paper { beta, .. } => beta,
            BicRule::Linux { .. } => 1.0 - KEPT,
        };
        let falling = self.fast_convergence && w < self.max;
        self.max = if falling { w * (1.0 - decrease / 2.0) } else { w };
        window.give_up(if small { 0.5 } else { decrease });
    }

    /// Standard TCP's, and the maximum is forgotten.
    // Unclear in [BIC]: timeouts are not mentioned. The maximum is forgotten, as at the start. Linux forgets it
    // too, but there slow start ends at the window that a loss would have left.
    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        match self.rule {
            BicRule::Paper { .. } => window.start_over(),
            BicRule::Linux { .. } => {
                self.on_congestion(window, event);
                window.cwnd = 1.0;
                self.rule = BicRule::Linux { packets: Ratio::START };
            }
        }
        self.max = f64::NEG_INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Settings, Span};

    use super::*;
    use crate::test_support::{CONGESTION, PeriodicLoss, ack, acknowledge, avoidance, close, one_round};

    fn settings() -> Settings {
        Settings::defaults(Bic::PARAMETERS)
    }

    fn bic() -> Bic {
        Bic::new((&settings()).into())
    }

    fn linux() -> Bic {
        Bic::new((&settings().with("variant", BicVariant::Linux.value())).into())
    }

    /// A search for 1000 packets, that far above it.
    fn searching(mut bic: Bic, above: f64) -> (Bic, Window) {
        bic.on_congestion(&mut avoidance(1000.0), &CONGESTION);
        (bic, avoidance(1000.0 + above))
    }

    /// What one round adds there.
    fn gained(bic: Bic, above: f64) -> f64 {
        let (mut bic, mut window) = searching(bic, above);
        let before = window.cwnd;
        one_round(&mut bic, &mut window);
        window.cwnd - before
    }

    #[test]
    fn a_loss_at_1000_packets_leaves_875() {
        let mut window = avoidance(1000.0);
        let mut bic = bic();
        bic.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh, bic.max), (875.0, 875.0, 1000.0));
    }

    /// Half of 125 is more than 32. 875 times 32/w with w from 875: sqrt(875^2 + 64 x 875) = 906.4.
    #[test]
    fn far_below_the_maximum_a_round_adds_32() {
        close(gained(bic(), -125.0), 31.4, 0.003);
    }

    /// 20 packets below, a round leaves 20 e^-1/2 = 12.13.
    #[test]
    fn near_the_maximum_a_round_goes_half_of_the_way_and_again_half() {
        close(gained(bic(), -20.0), 7.87, 0.02);
    }

    #[test]
    fn a_hundredth_of_a_packet_below_the_maximum_it_is_found() {
        let (mut bic, mut window) = searching(bic(), -0.01);
        one_round(&mut bic, &mut window);
        assert!((1000.0..1001.0).contains(&window.cwnd), "{window:?}");
    }

    /// 1, 2, 4, 8, 16 and then 32 a round; a little less, since each round acknowledges the window
    /// that it began with.
    #[test]
    fn beyond_the_maximum_the_step_doubles_up_to_32() {
        let steps = [0.0, 0.99, 1.0, 2.9, 3.0, 7.0, 15.0, 31.0, 500.0, f64::INFINITY];
        let expected = [1.0, 1.0, 2.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0, 32.0];
        assert_eq!(steps.map(|above| paper_step(above, 32.0)), expected);
        let (mut bic, mut window) = searching(bic(), 0.0);
        for goal in [1.0, 3.0, 7.0, 15.0, 31.0, 63.0] {
            one_round(&mut bic, &mut window);
            close(window.cwnd, 1000.0 + goal, 0.002);
        }
    }

    /// Before a loss there is no maximum to go slowly at. In Linux it is zero: for one more packet 3
    /// of 30 are acknowledged (3 x 30 / 30), floor(100 / 16) = 6 of 100, and 20 of 1000 at most.
    #[test]
    fn without_a_maximum_a_round_adds_32_and_in_linux_a_third_16_or_a_twentieth() {
        assert_eq!(bic().gain(100.0, 100.0), 32.0);
        assert_eq!([30.0, 100.0, 1000.0].map(|w| linux_count(w, 0.0, Ratio(16))), [3.0, 6.0, 20.0]);
    }

    /// 1000, then 900: (900 + 787.5) / 2 = 843.75; without it 900. In Linux 900 (1 + 0.7998) / 2.
    #[test]
    fn a_second_loss_lower_than_the_first_aims_lower_still() {
        let again = |bic| {
            let (mut bic, mut window) = searching(bic, -100.0);
            bic.on_congestion(&mut window, &CONGESTION);
            bic.max
        };
        assert_eq!(again(bic()), 843.75);
        assert_eq!(again(Bic::new((&settings().with("fast_convergence", 0.0)).into())), 900.0);
        close(again(linux()), 809.91, 1e-5);
    }

    #[test]
    fn a_small_window_is_renos() {
        let (mut bic, mut window) = (bic(), avoidance(10.0));
        one_round(&mut bic, &mut window);
        close(window.cwnd, 10.95, 0.01);
        window.cwnd = 12.0;
        bic.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, bic.max), (6.0, f64::NEG_INFINITY));
    }

    /// [LINUX]: a round adds (max - w) / 4 in whole packets up to 16, 4 / 20 from where that is one and
    /// within 4 packets above, (w - max) / 3 up to 48: w by that, rounded down, are acknowledged for a
    /// packet. At 31/16 packets an ACK it is 16/31 of that, rounded down once more; at least one.
    /// At the low window itself a loss takes half.
    #[test]
    fn linux_counts_packets_for_one_more() {
        let below = [200.0, 64.0, 40.0, 39.0, 8.0, 7.0, 4.0, 0.0].map(|d| (1000.0 - d, 1000.0));
        let beyond = [3.0, 6.0, 30.0, 48.0, 1000.0].map(|d| (1000.0 + d, 1000.0));
        let counts = |places: &[(f64, f64)], packets| -> Vec<f64> {
            places.iter().map(|&(w, max)| linux_count(w, max, packets)).collect()
        };
        // 800 / 16, 936 / 16, 960 / 10, 961 / 9, 992 / 2, then 5 w.
        assert_eq!(counts(&below, Ratio(16)), [50.0, 58.0, 96.0, 106.0, 496.0, 4965.0, 4980.0, 5000.0]);
        // 5 w, 3 x 1006 / 6, 3 x 1030 / 30, 1048 / 16, 2000 / 16.
        assert_eq!(counts(&beyond, Ratio(16)), [5015.0, 503.0, 103.0, 65.0, 125.0]);
        assert_eq!(counts(&below[..3], Ratio(31)), [25.0, 29.0, 49.0]);
        assert_eq!(linux_count(15.0, 100.0, Ratio(31)), 1.0, "15 / 16 is none");
    }

    /// One at a time: 32 - 2 + 1 = 31, and then 31 - 1 + 1. Two at a time 32 - 2 + 2. In recovery
    /// nothing is counted. One of 44: 32 - 2 + 44 = 74.
    #[test]
    fn linux_estimates_the_packets_that_an_ack_acknowledges_as_31_16_where_each_acknowledges_one() {
        let after = |packets: f64, recovering: bool| {
            let (mut linux, mut window) = (linux(), avoidance(100.0));
            let event = AckEvent { packets, recovering, ..ack(Span::from_ms(100)) };
            (0..50).for_each(|_| linux.on_delivery(&mut window, &event));
            let BicRule::Linux { packets } = linux.rule else { unreachable!() };
            packets
        };
        assert_eq!([1.0, 2.0].map(|packets| after(packets, false)), [Ratio(31), Ratio(32)]);
        assert_eq!(after(1.0, true), Ratio(32));
        let mut once = Ratio::START;
        once.take(44.0);
        assert_eq!(once, Ratio(74));
    }

    /// The kernel's own function, given these ACKs, has 341 packets: 326 + 5 at floor(16 x 32 / 31) = 16
    /// to floor(16 x 36 / 31) = 18 packets for each, and so on; without the estimate there are 334.
    #[test]
    fn linux_has_341_packets_after_a_round_from_326_to_a_maximum_of_366() {
        let (mut linux, mut window) = (linux(), avoidance(326.0));
        linux.on_congestion(&mut avoidance(366.0), &CONGESTION);
        linux.on_delivery(&mut window, &ack(Span::from_ms(100)));
        for _ in 0..326 {
            acknowledge(&mut linux, &mut window, &ack(Span::from_ms(100)));
        }
        assert_eq!(window.cwnd.floor(), 341.0);
    }

    #[test]
    fn linux_takes_half_at_the_low_window_and_a_fifth_above() {
        let (mut linux, mut window) = searching(linux(), 0.0);
        linux.on_congestion(&mut window, &CONGESTION);
        close(window.cwnd, 799.8, 1e-4);
        window.cwnd = 14.0;
        linux.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 7.0);
        window.cwnd = 15.0;
        linux.on_congestion(&mut window, &CONGESTION);
        close(window.cwnd, 11.997, 1e-4);
    }

    #[test]
    fn a_timeout_forgets_the_maximum() {
        for (bic, threshold) in [(bic(), 500.0), (linux(), 799.8)] {
            let (mut bic, mut window) = searching(bic, 0.0);
            bic.on_delivery(&mut window, &ack(Span::from_ms(100)));
            bic.on_timeout(&mut window, &CONGESTION);
            assert_eq!((window.cwnd, bic.max), (1.0, f64::NEG_INFINITY));
            assert!(!matches!(bic.rule, BicRule::Linux { packets } if packets != Ratio::START));
            close(window.ssthresh, threshold, 1e-4);
        }
    }

    /// One cycle of the published rule phase by phase, a round being a continuous quantity.
    struct Phases {
        window: f64,
        rounds: f64,
        packets: f64,
    }

    impl Phases {
        /// Grows by `slope` a round up to `end`: an area of (w + end) / 2 a round.
        fn straight(&mut self, slope: f64, end: f64) {
            let (start, left) = (self.window, self.packets);
            let all = (end * end - start * start) / (2.0 * slope);
            self.window = if all < left { end } else { (start * start + 2.0 * slope * left).sqrt() };
            self.rounds += (self.window - start).max(0.0) / slope;
            self.packets -= all.clamp(0.0, left);
        }

        /// Half of the distance d to `max` a round: d e^(-r/2) after r rounds, and an area of
        /// max r - 2 d (1 - e^(-r/2)), until a hundredth is left.
        fn halving(&mut self, max: f64) {
            let distance = max - self.window;
            let left = |rounds: f64| distance * libm::exp(-rounds / 2.0);
            let area = |rounds: f64| max * rounds - 2.0 * (distance - left(rounds));
            let (mut low, mut high) = (0.0, 2.0 * libm::log(distance / 0.01));
            if area(high) < self.packets {
                self.window = max;
                low = high;
            } else {
                for _ in 0..60 {
                    let middle = (low + high) / 2.0;
                    if area(middle) < self.packets { low = middle } else { high = middle }
                }
                self.window = max - left(low);
            }
            self.rounds += low;
            self.packets -= area(low);
        }
    }

    /// From `start` for `packets`: the window at the end, and the rounds that it took.
    fn cycle(start: f64, max: f64, packets: f64) -> (f64, f64) {
        let mut phases = Phases { window: start, rounds: 0.0, packets };
        if start < max - 64.0 {
            phases.straight(32.0, max - 64.0);
        }
        if phases.packets > 0.0 && start < max {
            phases.halving(max);
        }
        for k in 0..5 {
            let step = f64::from(1 << k);
            if phases.packets > 1e-6 && phases.window < max + 2.0 * step - 1.0 {
                phases.straight(step, max + 2.0 * step - 1.0);
            }
        }
        if phases.packets > 1e-6 {
            phases.straight(32.0, f64::INFINITY);
        }
        (phases.window, phases.rounds)
    }

    /// The mean window over 40 cycles after 20, by the phases.
    fn mean_by_phases(p: f64, first: f64) -> f64 {
        let (mut start, mut max, mut rounds) = (first * 0.875, first, 0.0);
        for number in 0..60 {
            let (end, took) = cycle(start, max, 1.0 / p);
            rounds += if number < 20 { 0.0 } else { took };
            max = if end < max { end * (1.0 + 0.875) / 2.0 } else { end };
            start = end * 0.875;
        }
        40.0 / p / rounds
    }

    /// Below, where a round adds less than 32: 40 packets at 1e-3. Above, a line of 32 a round.
    #[test]
    fn periodic_loss_gives_the_mean_of_the_phases() {
        for p in [1e-3, 1e-4, 1e-5, 1e-6] {
            let first = 0.5 * libm::pow(p, -0.7);
            let (mut bic, mut window) = (bic(), avoidance(first));
            bic.on_congestion(&mut window, &CONGESTION);
            let mut cycles = PeriodicLoss::new(p, 0.1, 1);
            let means: Vec<f64> = (0..60).map(|_| cycles.next(&mut bic, &mut window)).collect();
            let mean = 40.0 / means[20..].iter().map(|mean| 1.0 / mean).sum::<f64>();
            println!("bic at {p:e}: {mean:.1}, {:.1} by phases", mean_by_phases(p, first));
            close(mean, mean_by_phases(p, first), 0.02);
        }
    }
}
