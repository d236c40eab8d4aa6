//! Gentle HighSpeed TCP [GHSTCP]: HighSpeed TCP while the path is free, Reno while a queue grows.
//!
//! Once in each round the controller looks at the round-trip times that the round brought. The
//! original rule asks whether they rose with the time at which their packets left. The refined rule
//! first asks how far their mean lies above the smallest there was: below two standard deviations
//! the path is free, above four it is full, and between them the original rule decides.

use fairhaul_units::{Gauge, Parameter, parameters, words};

use crate::correlation::{Correlation, FEWEST};
use crate::highspeed_law::{self as law, IncreasePerPacket};
use crate::round::{Round, Rounds};
use crate::{AckEvent, Catalogued, Congestion, Controller, Needs, Window};

/// Gentle HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct Ghstcp {
    parameters: Box<GhstcpParameters>,
    mode: GrowthMode,
    increase: IncreasePerPacket,
    history: Box<DelayHistory>,
}

/// How the window grows; the number is its value in the record.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GrowthMode {
    Reno = 0,
    HighSpeed = 1,
}

words! {
    /// Which rule decides the mode.
    pub enum GhstcpVariant {
        /// The distance from the smallest round-trip time, and the trend where that leaves it open.
        Refined = "refined",
        /// The trend alone.
        Original = "original",
    }

    /// When a correlation counts as positive.
    pub enum TrendTest {
        /// If it is by a one-sided t test at 5 %.
        FivePercent = "0.05",
        /// If its sign is.
        Sign = "none",
    }

    /// What the minimum is taken over.
    pub enum MinimumOver {
        /// This cycle and the one before.
        Two = "two",
        /// The whole connection.
        Lifetime = "lifetime",
    }

    /// Of which samples the standard deviation is.
    pub enum SigmaSamples {
        /// Of the round with the minimum.
        Minimum = "minimum",
        /// Of the last round.
        Round = "round",
        /// Of the cycle.
        Cycle = "cycle",
    }

    /// What a loss takes in Reno mode.
    pub enum RenoDecrease {
        /// b(w) of HighSpeed TCP.
        Highspeed = "highspeed",
        /// Half.
        Half = "half",
    }
}

/// What the path has shown.
#[derive(Clone, Debug, Default)]
struct DelayHistory {
    round: Rounds,
    trend: Correlation,
    /// The fastest round of the cycle under way, and of those before it.
    current: Option<RoundDelay>,
    earlier: Option<RoundDelay>,
    /// Samples of the cycle under way, their mean and the sum of squared differences from it.
    samples: f64,
    mean_s: f64,
    squares: f64,
    /// How far the last round lay above the minimum, and the standard deviation then, seconds.
    shown: Option<(f64, f64)>,
}

/// A round's mean and standard deviation, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RoundDelay {
    mean_s: f64,
    deviation_s: f64,
}

parameters! {
    /// The parameters of gHSTCP.
    pub(crate) struct GhstcpParameters {
        variant: Word(GhstcpVariant) = GhstcpVariant::Refined,
            "refined: thresholds above the minimum round-trip time; original: the trend of the round-trip \
             time alone [GHSTCP]";
        // Unclear in [GHSTCP]: when a correlation counts as positive. By a one-sided t test at 5 %; by the sign
        // alone, every second round of an idle path, which has no trend, would be in Reno mode (`none` selects
        // that).
        significance: Word(TrendTest) = TrendTest::FivePercent,
            "test for a rising trend: a one-sided t test at 5 %, or the sign of the correlation alone \
             [GHSTCP]";
        free: Number(0.0..=1000.0) = 2.0,
            "lower threshold, in standard deviations above the minimum round-trip time; below it growth is \
             that of HighSpeed TCP [GHSTCP]";
        full: Number(0.0..=1000.0) = 4.0,
            "upper threshold, in standard deviations above the minimum round-trip time; above it growth is \
             that of Reno [GHSTCP]";
        // Unclear in [GHSTCP]: what a cycle is. From one reduction of the window to the next; the
        // minimum is over this one and the one before, so that a change of the path is forgotten.
        cycle: Word(MinimumOver) = MinimumOver::Two,
            "period of the minimum round-trip time: this cycle and the one before, or the whole connection \
             [GHSTCP]";
        // Unclear in [GHSTCP]: the standard deviation of which round-trip times. Those of the round
        // that gave the minimum: the noise of a free path. Over a cycle it would hold the swing of
        // the queue itself, and the thresholds would lie above what the buffer can make.
        sigma: Word(SigmaSamples) = SigmaSamples::Minimum,
            "samples of the standard deviation: the round with the minimum, the last round, or the cycle \
             [GHSTCP]";
        // Unclear in [GHSTCP]: a path without noise has no deviation, so the first queued packet would end the
        // HighSpeed TCP mode. The lower bound of 0.1 ms stands for the noise of a kernel's clock.
        sigma_floor: Number(0.0..=1000.0, "ms") = 0.1, "lower bound of the standard deviation [GHSTCP]";
        // Unclear in [GHSTCP]: what a loss takes in Reno mode. b(w), because the source describes modes only
        // for growth.
        reno_decrease: Word(RenoDecrease) = RenoDecrease::Highspeed,
            "fraction given up at a loss in Reno mode: b(w) of HighSpeed TCP, or half [GHSTCP]";
    }
}

impl Ghstcp {
    pub(crate) const TITLE: &'static str = "Gentle HighSpeed TCP: grows like Reno while the delay rises";
    pub(crate) const SOURCE: &'static str = "GHSTCP";
    pub(crate) const PARAMETERS: &'static [Parameter] = GhstcpParameters::LIST;

    pub(crate) fn new(given: GhstcpParameters) -> Ghstcp {
        Ghstcp {
            parameters: Box::new(given),
            mode: GrowthMode::HighSpeed,
            increase: IncreasePerPacket::NEW,
            history: Box::default(),
        }
    }

    /// Takes a round that is over, and the trend in it.
    // Unclear in [GHSTCP]: when the mode is decided, and from what. Once per round, from the mean of its
    // round-trip times; a round of fewer than 8 samples leaves the mode as it is, because neither a trend nor a
    // deviation can be estimated from so few. If the round-trip time is constant there is no correlation, which
    // falls under "otherwise": HighSpeed TCP's mode.
    fn decide(&mut self, round: &Round, trend: &Correlation) {
        if round.samples < FEWEST {
            return;
        }
        let level = RoundDelay { mean_s: round.mean().as_secs(), deviation_s: round.deviation_s() };
        self.history.level(level);
        self.history.shown = Some(self.above_minimum(level));
        self.mode = if self.is_full(level, trend) { GrowthMode::Reno } else { GrowthMode::HighSpeed };
    }

    /// Whether a round of that level and trend has met a queue that grows.
    fn is_full(&self, level: RoundDelay, trend: &Correlation) -> bool {
        let rises = match self.parameters.significance {
            TrendTest::FivePercent => trend.rises_clearly(),
            TrendTest::Sign => trend.rises(),
        };
        match self.parameters.variant {
            GhstcpVariant::Original => rises,
            GhstcpVariant::Refined => {
                let (above_s, sigma_s) = self.above_minimum(level);
                above_s >= self.parameters.free * sigma_s
                    && (above_s >= self.parameters.full * sigma_s || rises)
            }
        }
    }

    /// How far a round's mean lies above the minimum, and the standard deviation, seconds.
    fn above_minimum(&self, level: RoundDelay) -> (f64, f64) {
        let least = self.history.least();
        let sigma_s = match self.parameters.sigma {
            SigmaSamples::Minimum => least.deviation_s,
            SigmaSamples::Round => level.deviation_s,
            SigmaSamples::Cycle => self.history.deviation_s(),
        };
        (level.mean_s - least.mean_s, sigma_s.max(self.parameters.sigma_floor / 1000.0))
    }

    /// The window was reduced: another cycle begins.
    fn reduced(&mut self) {
        self.history.next_cycle(self.parameters.cycle);
    }
}

impl DelayHistory {
    /// Takes an acknowledgement: the round that it closes, and the trend in that round.
    fn take(&mut self, ack: &AckEvent) -> Option<(Round, Correlation)> {
        let closed = self.round.take(ack).map(|round| (round, self.trend));
        if ack.new_round {
            self.trend = Correlation::default();
        }
        let rtt_s = ack.rtt.as_secs();
        self.trend.add(ack.now.as_secs() - rtt_s, rtt_s);
        self.samples += 1.0;
        let off = rtt_s - self.mean_s;
        self.mean_s += off / self.samples;
        self.squares += off * (rtt_s - self.mean_s);
        closed
    }

    fn level(&mut self, level: RoundDelay) {
        self.current = Some(lower(self.current, level));
    }

    /// The fastest round that counts; there is one after the first [`level`](Self::level).
    fn least(&self) -> RoundDelay {
        let current = self.current.expect("a round was taken before it is asked about");
        lower(self.earlier, current)
    }

    /// Of all samples of the cycle under way, seconds.
    fn deviation_s(&self) -> f64 {
        if self.samples < 2.0 { 0.0 } else { (self.squares / (self.samples - 1.0)).sqrt() }
    }

    /// The round under way is excluded, because it belongs to neither cycle.
    fn next_cycle(&mut self, cycles: MinimumOver) {
        if let Some(current) = self.current.take() {
            self.earlier = Some(match cycles {
                MinimumOver::Two => current,
                MinimumOver::Lifetime => lower(self.earlier, current),
            });
        }
        (self.samples, self.mean_s, self.squares) = (0.0, 0.0, 0.0);
        self.round.restart();
        self.trend = Correlation::default();
    }
}

fn lower(earlier: Option<RoundDelay>, current: RoundDelay) -> RoundDelay {
    earlier.filter(|earlier| earlier.mean_s <= current.mean_s).unwrap_or(current)
}

impl Catalogued for Ghstcp {
    const GAUGES: &'static [Gauge] = &[
        Gauge {
            name: "high_speed",
            unit: "",
            help: "1 while growth is that of HighSpeed TCP, 0 while it is that of Reno",
        },
        Gauge {
            name: "above_min_s",
            unit: "s",
            help: "mean round-trip time of the last round above the minimum",
        },
        Gauge {
            name: "deviation_s",
            unit: "s",
            help: "standard deviation of which the thresholds are multiples",
        },
    ];
}

impl Controller for Ghstcp {
    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        if let Some((round, trend)) = self.history.take(ack) {
            self.decide(&round, &trend);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let increase = match self.mode {
            GrowthMode::Reno => 1.0,
            GrowthMode::HighSpeed => self.increase.at(window.cwnd),
        };
        window.cwnd += increase * (ack.packets / window.cwnd);
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(match (self.mode, self.parameters.reno_decrease) {
            (GrowthMode::Reno, RenoDecrease::Half) => 0.5,
            (GrowthMode::HighSpeed, _) | (_, RenoDecrease::Highspeed) => law::decrease(window.cwnd),
        });
        self.reduced();
    }

    // Unclear in [GHSTCP]: timeouts are not mentioned. As in standard TCP; the mode does not change.
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.start_over();
        self.reduced();
    }

    fn needs(&self) -> Needs {
        Needs { modes: true, ..Needs::default() }
    }

    fn mode(&self) -> Option<u8> {
        Some(self.mode as u8)
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        let (above_s, deviation_s) = self.history.shown.unwrap_or((f64::NAN, f64::NAN));
        values.extend([f64::from(self.mode as u8), above_s, deviation_s]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, avoidance, close};
    use fairhaul_units::{Settings, Span, Time};

    fn settings() -> Settings {
        Settings::defaults(Ghstcp::PARAMETERS)
    }

    fn original() -> Settings {
        settings().with("variant", GhstcpVariant::Original.value())
    }

    /// Tells the controller of one round that begins at `start_ms` and whose round-trip times are
    /// those, a packet a millisecond.
    fn round(controller: &mut Ghstcp, start_ms: u64, rtts_us: &[u64]) {
        for (number, &us) in rtts_us.iter().enumerate() {
            let rtt = Span::from_us(us);
            let now = Time::ZERO + Span::from_ms(start_ms + number as u64) + rtt;
            let event = AckEvent { now, new_round: number == 0, ..ack(rtt) };
            controller.on_delivery(&mut avoidance(100.0), &event);
        }
    }

    /// The mode after a round of each of these lists.
    fn after(settings: &Settings, rounds: &[&[u64]]) -> GrowthMode {
        let mut controller = Ghstcp::new(settings.into());
        for (number, rtts) in rounds.iter().chain(&[&[0u64][..]]).enumerate() {
            round(&mut controller, 1000 * number as u64, rtts);
        }
        controller.mode
    }

    const RISING: [u64; 10] =
        [100_000, 100_100, 100_200, 100_300, 100_400, 100_500, 100_600, 100_700, 100_800, 100_900];
    const STILL: [u64; 10] = [100_000; 10];
    /// 100 ms with a noise of +-1 ms that has no trend: deviation sqrt(8/7) = 1.069 ms.
    const NOISE: [u64; 8] = [101_000, 99_000, 99_000, 101_000, 101_000, 99_000, 99_000, 101_000];

    fn raised(by_us: u64) -> [u64; 8] {
        NOISE.map(|us| us + by_us)
    }

    #[test]
    fn the_original_follows_the_trend() {
        assert_eq!(after(&original(), &[&RISING]), GrowthMode::Reno);
        let falling = {
            let mut f = RISING;
            f.reverse();
            f
        };
        assert_eq!(after(&original(), &[&RISING, &falling]), GrowthMode::HighSpeed);
        assert_eq!(after(&original(), &[&RISING, &NOISE]), GrowthMode::HighSpeed);
    }

    #[test]
    fn where_the_round_trip_stands_still_there_is_no_trend() {
        assert_eq!(after(&original(), &[&RISING, &STILL]), GrowthMode::HighSpeed);
    }

    #[test]
    fn a_round_of_seven_samples_leaves_the_mode() {
        assert_eq!(after(&original(), &[&RISING, &STILL[..7]]), GrowthMode::Reno);
        assert_eq!(after(&original(), &[&RISING[..7]]), GrowthMode::HighSpeed);
        assert_eq!(after(&original(), &[&RISING[..8]]), GrowthMode::Reno);
    }

    /// 0, 1, 0, 1, ...: r = 0.218, which is positive and not significant (see `correlation`).
    #[test]
    fn by_the_sign_alone_a_slight_rise_is_one() {
        let wave = [0u64, 1, 0, 1, 0, 1, 0, 1].map(|ms| 100_000 + 10 * ms);
        assert_eq!(after(&original(), &[&wave]), GrowthMode::HighSpeed);
        assert_eq!(
            after(&original().with("significance", TrendTest::Sign.value()), &[&wave]),
            GrowthMode::Reno
        );
    }

    /// Minimum 100 ms, sigma 1.069 ms: free below 102.14 ms, full from 104.28 ms on.
    #[test]
    fn the_refined_rule_has_two_thresholds() {
        for (by_us, mode) in
            [(2_130, GrowthMode::HighSpeed), (4_270, GrowthMode::HighSpeed), (4_280, GrowthMode::Reno)]
        {
            assert_eq!(after(&settings(), &[&NOISE, &raised(by_us)]), mode, "{by_us} us above");
        }
        // Between them the trend decides: 102 to 102.9 ms and 102.5 to 103.4 ms, rising.
        assert_eq!(after(&settings(), &[&NOISE, &RISING.map(|us| us + 1_500)]), GrowthMode::HighSpeed);
        assert_eq!(after(&settings(), &[&NOISE, &RISING.map(|us| us + 2_500)]), GrowthMode::Reno);
    }

    /// Without noise sigma is its floor: thresholds 0.2 and 0.4 ms above.
    #[test]
    fn a_path_without_noise_has_the_floor() {
        for (by_us, mode) in
            [(190, GrowthMode::HighSpeed), (390, GrowthMode::HighSpeed), (410, GrowthMode::Reno)]
        {
            let above = STILL.map(|us| us + by_us);
            assert_eq!(after(&settings(), &[&STILL, &above]), mode, "{by_us} us above");
        }
        let wide = settings().with("sigma_floor", 10.0);
        assert_eq!(after(&wide, &[&STILL, &STILL.map(|us| us + 30_000)]), GrowthMode::HighSpeed);
    }

    /// The last round without noise has the floor of 0.1 ms; the cycle of both, ten at 100 and ten
    /// at 101 ms, 0.513 ms, so that 1 ms above is less than two of it.
    #[test]
    fn sigma_is_the_one_asked_for() {
        let above = STILL.map(|us| us + 1_000);
        for (samples, mode) in
            [(SigmaSamples::Round, GrowthMode::Reno), (SigmaSamples::Cycle, GrowthMode::HighSpeed)]
        {
            assert_eq!(after(&settings().with("sigma", samples.value()), &[&STILL, &above]), mode);
        }
        let noisy = settings().with("sigma", SigmaSamples::Round.value());
        assert_eq!(after(&noisy, &[&STILL, &raised(2_000)]), GrowthMode::HighSpeed);
    }

    /// A path that becomes 50 ms longer is full for two cycles, then the new minimum counts.
    #[test]
    fn a_longer_path_is_learned_after_two_cycles_or_never() {
        let longer = STILL.map(|us| us + 50_000);
        for (cycles, modes) in [
            (MinimumOver::Two, [GrowthMode::Reno, GrowthMode::Reno, GrowthMode::HighSpeed]),
            (MinimumOver::Lifetime, [GrowthMode::Reno; 3]),
        ] {
            let mut controller = Ghstcp::new((&settings().with("cycle", cycles.value())).into());
            round(&mut controller, 0, &STILL);
            for (number, mode) in modes.into_iter().enumerate() {
                round(&mut controller, 1000 + 1000 * number as u64, &longer);
                round(&mut controller, 1500 + 1000 * number as u64, &longer[..1]);
                assert_eq!(controller.mode, mode, "cycle {number}");
                controller.on_congestion(&mut avoidance(100.0), &CONGESTION);
            }
        }
    }

    /// a(1000) = 7.752, b(1000) = 0.3299; Reno adds 1 and keeps b(w) unless told to halve.
    #[test]
    fn the_modes_grow_as_their_names_say() {
        let grown = |mode| {
            let (mut controller, mut window) = (Ghstcp::new((&settings()).into()), avoidance(1000.0));
            controller.mode = mode;
            controller.on_ack(&mut window, &ack(Span::from_ms(100)));
            1000.0 * (window.cwnd - 1000.0)
        };
        close(grown(GrowthMode::HighSpeed), 7.752, 1e-4);
        close(grown(GrowthMode::Reno), 1.0, 1e-9);
        let lost = |mode, decrease: RenoDecrease| {
            let (mut controller, mut window) = (
                Ghstcp::new((&settings().with("reno_decrease", decrease.value())).into()),
                avoidance(1000.0),
            );
            controller.mode = mode;
            controller.on_congestion(&mut window, &CONGESTION);
            window.cwnd
        };
        close(lost(GrowthMode::Reno, RenoDecrease::Highspeed), 670.1, 2e-4);
        close(lost(GrowthMode::HighSpeed, RenoDecrease::Half), 670.1, 2e-4);
        assert_eq!(lost(GrowthMode::Reno, RenoDecrease::Half), 500.0);
    }

    /// A path of 1000 packets, from 800 on: HighSpeed TCP's growth up to it, and Reno's above, where
    /// each round is longer than the last. a(w) from 800 to 1000 is 6.8 to 7.75: some 28 rounds.
    #[test]
    fn growth_is_highspeeds_up_to_the_path_and_renos_beyond() {
        let mut path = SharedPath::new(Span::from_ms(100), 10_000.0);
        let mut flows = [(Ghstcp::new((&settings()).into()), avoidance(800.0))];
        let mut rounds = 0;
        while path.round(&mut flows) == 0.0 {
            rounds += 1;
        }
        assert!((26..=30).contains(&rounds), "{rounds} rounds");
        (0..8).for_each(|_| {
            path.round(&mut flows);
        });
        assert_eq!(flows[0].0.mode, GrowthMode::Reno);
        let before = flows[0].1.cwnd;
        (0..10).for_each(|_| {
            path.round(&mut flows);
        });
        close(flows[0].1.cwnd - before, 10.0, 0.02);
    }
}
