//! Sync-TCP [SYNC-TCP]: grows and reduces the window by the queueing delay of the data's direction, before any loss.
//!
//! Every acknowledgement brings the transit time of a data packet. What it exceeds the smallest by
//! is the queue on the path of the data; acknowledgements that wait on the reverse path do not count.
//! Its average is in one of four regions of the largest queueing delay measured, and rises or
//! falls; a table of eight rows says what each of the eight means for the window.

use fairhaul_units::{Gauge, Parameter, Settings, Span, parameters, words};

use crate::skew::Skew;
use crate::{AckEvent, Catalogued, Congestion, Controller, Needs, ProbeCycle, Window};

/// Sync-TCP, and its modification for high speed.
#[derive(Clone, Debug)]
pub struct Synctcp {
    /// Reno up to here, packets.
    c_low: f64,
    /// By `alpha0` for each packet up to here, packets.
    c_high: f64,
    alpha0: f64,
    phases: PhasesApply,
    /// Whether a loss or an early decrease has ended the start.
    reduced: bool,
    tie: Trend,
    /// Below this largest queueing delay the average is in the lowest region, seconds.
    qmax_floor_s: f64,
    phase: StartPhase,
    /// Packets to be delivered before another early decrease: those in flight at the last.
    hold: f64,
    history: Box<TransitHistory>,
}

words! {
    /// Whether growth begins by phases of its own.
    pub enum SynctcpVariant {
        /// It does, for high speed.
        Modified = "modified",
        /// It does not.
        Original = "original",
    }

    /// When the phases of the start apply.
    pub enum PhasesApply {
        /// Until the first reduction of the window.
        AtStart = "start",
        /// Always.
        Always = "always",
    }

    /// What the average queueing delay does.
    pub enum Trend {
        /// It falls.
        Falling = "decreasing",
        /// It rises.
        Rising = "increasing",
    }
}

/// What a row of the table asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaction {
    /// Adds this number of packets in a round.
    Add(f64),
    /// That share of the window more in a round.
    Grow(f64),
    /// That share of the window less, at once.
    GiveUp(f64),
    /// Nothing.
    Stay,
}

use Reaction::{Add, GiveUp, Grow, Stay};

/// The regions of the largest queueing delay, lowest first: where the average rises, and falls.
// Unclear in [SYNC-TCP, Fig. 1]: the figure is lost. These are the reactions of [WEIGLE], as far as
// they are known; the paper's largest increase, half of the window, is among them, and its alpha0
// is the mean of the two largest.
#[rustfmt::skip]
static REACTIONS: [(Reaction, Reaction); 4] = [
    (Add(1.0),     Grow(0.50)),
    (GiveUp(0.10), Grow(0.25)),
    (GiveUp(0.25), Grow(0.10)),
    (GiveUp(0.50), Stay),
];

/// Weight of a new sample in the average.
const WEIGHT: f64 = 1.0 / 8.0;

/// The phases of the start; the number is its value in the record.
#[derive(Clone, Copy, Debug, PartialEq)]
enum StartPhase {
    Reno = 0,
    Even = 1,
    Sync = 2,
}

/// What the transit times have shown.
#[derive(Clone, Debug, Default)]
struct TransitHistory {
    /// The first sample and the smallest above it, for the gauges in seconds.
    first: Option<(f64, Span)>,
    least: LeastTransit,
    /// The line under the transit times, if the drift of the clocks is to be removed.
    skew: Option<Skew>,
    /// The largest queueing delay and the average, seconds.
    most_s: f64,
    average_s: f64,
    groups: Groups,
}

/// The smallest transit time of this period and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct LeastTransit {
    /// How long a period lasts, in seconds; without end if it is zero.
    memory_s: f64,
    ends_s: f64,
    this_s: f64,
    earlier_s: f64,
}

/// Averages in groups of three: the medians of the last three groups.
#[derive(Clone, Copy, Debug, Default)]
struct Groups {
    under_way: [f64; 3],
    taken: usize,
    medians: [f64; 3],
    closed: usize,
}

parameters! {
    /// The parameters of Sync-TCP.
    pub(crate) struct SynctcpParameters {
        variant: Word(SynctcpVariant) = SynctcpVariant::Modified,
            "modified: Reno up to c_low, then constant relative growth up to c_high; original: neither \
             [SYNC-TCP]";
        c_low: Number(0.0..=1e9, "packets") = 100.0,
            "modified: below this window it behaves as Reno [SYNC-TCP]";
        c_high: Number(0.0..=1e9, "packets") = 150.0,
            "modified: end of the constant relative growth that begins at c_low [SYNC-TCP]";
        // Unclear in [SYNC-TCP, 3]: of which quantity 0.375 is a fraction. Of the window in a round, hence of a
        // packet for each delivered one: as packets per round, c_low to c_high would last 133 rounds or 8 s,
        // but the paper reports 4 s for the whole start.
        alpha0: Number(0.0..=1.0) = 0.375,
            "modified: constant relative growth, as a fraction of the window per round trip [SYNC-TCP]";
        // Unclear in [SYNC-TCP, 3]: whether a window that falls below c_low grows as in Reno again. No: the
        // phases are meant for the start, which the first loss or early decrease ends.
        phases: Word(PhasesApply) = PhasesApply::AtStart,
            "modified: whether its phases apply until the first reduction, or always [SYNC-TCP]";
        // Unclear in [SYNC-TCP, 2]: the trend of two equal medians. Falling, so that a path without a queue,
        // where all medians are zero, is filled quickly.
        tie: Word(Trend) = Trend::Falling, "trend assumed when two medians are equal [SYNC-TCP]";
        // Unclear in [SYNC-TCP, 2]: the regions when the largest delay is very small. The lowest region applies
        // until 10 ms were measured, as in one of the variants of [WEIGLE].
        qmax_floor: Number(0.0..=10_000.0, "ms") = 10.0,
            "while the largest measured queueing delay is below this, the average counts as in the lowest \
             region [WEIGLE]";
        // Differs from [SYNC-TCP, 2]: the paper never forgets the smallest transit time. The clocks of two hosts
        // drift, by 50 ppm 3 ms in a minute, which the smallest ever would turn into a queue that never empties; a
        // path that becomes longer would, too. A queue that lasts for a minute is mistaken for part of the path.
        memory: Number(0.0..=86_400.0, "s") = 30.0,
            "period of the smallest transit time, which is that of this period and of the one before; 0: of the \
             whole connection [SYNC-TCP]";
        deskew: Switch = false,
            "remove the drift between the two clocks from the one-way transit times, by a line under all of \
             them instead of `memory` [MOON]";
    }
}

impl Synctcp {
    pub(crate) const TITLE: &'static str = "Sync-TCP: reacts to one-way queueing delay before a loss occurs";
    pub(crate) const SOURCE: &'static str = "SYNC-TCP";
    pub(crate) const PARAMETERS: &'static [Parameter] = SynctcpParameters::LIST;

    pub(crate) fn new(given: SynctcpParameters) -> Synctcp {
        let (c_low, c_high) = match given.variant {
            SynctcpVariant::Modified => (given.c_low, given.c_high),
            SynctcpVariant::Original => (0.0, 0.0),
        };
        Synctcp {
            c_low,
            c_high,
            alpha0: given.alpha0,
            phases: given.phases,
            reduced: false,
            tie: given.tie,
            qmax_floor_s: given.qmax_floor / 1000.0,
            phase: StartPhase::Reno,
            hold: 0.0,
            history: Box::new(TransitHistory {
                skew: given.deskew.then(Skew::default),
                least: LeastTransit { memory_s: given.memory, ..LeastTransit::default() },
                ..TransitHistory::default()
            }),
        }
    }

    fn phase_of(&self, w: f64) -> StartPhase {
        let over = match self.phases {
            PhasesApply::AtStart => self.reduced,
            PhasesApply::Always => false,
        };
        match () {
            () if over => StartPhase::Sync,
            () if w < self.c_low => StartPhase::Reno,
            () if w < self.c_high => StartPhase::Even,
            () => StartPhase::Sync,
        }
    }

    /// What the eight indications ask for; `None` before there are nine averages.
    fn reaction(&self) -> Option<Reaction> {
        let trend = self.history.groups.trend(self.tie)?;
        let (rising, falling) = REACTIONS[self.history.region(self.qmax_floor_s)];
        Some(if trend == Trend::Rising { rising } else { falling })
    }

    /// Growth by `packets` delivered; `None` where Reno's holds.
    fn growth(&self, w: f64, packets: f64) -> Option<f64> {
        match self.phase {
            StartPhase::Reno => None,
            StartPhase::Even => Some(self.alpha0 * packets),
            StartPhase::Sync => self.reaction().map(|reaction| match reaction {
                Add(more) => more * packets / w,
                Grow(share) => share * packets,
                GiveUp(_) | Stay => 0.0,
            }),
        }
    }

    /// Gives up at once what a row asks for, unless it has in this round.
    // Unclear in [SYNC-TCP, 2]: how often the window is reduced. Once per round: until all packets that were in
    // flight then have been delivered, the delays are those of the window before.
    fn early(&mut self, window: &mut Window, ack: &AckEvent) {
        self.hold -= ack.packets + ack.lost;
        if self.hold > 0.0 || ack.recovering || self.phase != StartPhase::Sync {
            return;
        }
        if let Some(GiveUp(share)) = self.reaction() {
            // Slow start is over with it, else half of the window a round would become all of it.
            window.give_up(share);
            self.hold = ack.in_flight;
            self.reduced = true;
        }
    }

    fn lost(&mut self) {
        self.reduced = true;
        self.hold = 0.0;
    }
}

impl TransitHistory {
    // Unclear in [SYNC-TCP, 2]: whether retransmitted packets count. They do, because each transmission has its
    // own time stamp, so that its transit time is as good as any. If one acknowledgement answers two packets,
    // it is that of the packet that waited longer, whose time stamp is echoed.
    // Differs from [WEIGLE]: the time stamps take no space in a packet. Its option of 14 bytes would replace
    // the TCP time stamps, which take no space here either.
    fn take(&mut self, ack: &AckEvent) {
        let queued_s = self.queued_s(ack);
        self.most_s = self.most_s.max(queued_s);
        self.average_s += WEIGHT * (queued_s - self.average_s);
        self.groups.take(self.average_s);
    }

    /// The queueing delay of a sample, seconds. Transit times count from the first one, so that an
    /// offset between the clocks is removed before anything is rounded.
    fn queued_s(&mut self, ack: &AckEvent) -> f64 {
        let now_s = ack.now.as_secs();
        let (began_s, first) = *self.first.get_or_insert((now_s, ack.one_way));
        let above_s =
            ack.one_way.saturating_sub(first).as_secs() - first.saturating_sub(ack.one_way).as_secs();
        if let Some(skew) = &mut self.skew {
            return skew.take(now_s - began_s, above_s);
        }
        above_s - self.least.take(now_s, began_s, above_s)
    }

    /// The quarter of the largest delay that the average stands in: 0 to 3.
    fn region(&self, floor_s: f64) -> usize {
        if self.most_s < floor_s || self.most_s <= 0.0 {
            return 0;
        }
        ((4.0 * self.average_s / self.most_s) as usize).min(3)
    }
}

impl LeastTransit {
    /// The smallest with the sample `above_s` of `now_s`, on a connection whose first sample was at `began_s`.
    /// Periods begin and end with whole seconds.
    fn take(&mut self, now_s: f64, began_s: f64, above_s: f64) -> f64 {
        let (now_s, began_s) = (now_s.floor(), began_s.floor());
        if self.ends_s == 0.0 {
            self.ends_s = began_s + self.memory_s;
        }
        if self.memory_s > 0.0 && now_s >= self.ends_s {
            (self.earlier_s, self.this_s) = (self.this_s, above_s);
            self.ends_s = now_s + self.memory_s;
        }
        self.this_s = self.this_s.min(above_s);
        self.this_s.min(self.earlier_s)
    }
}

impl Groups {
    fn take(&mut self, value: f64) {
        self.under_way[self.taken] = value;
        self.taken += 1;
        if self.taken == 3 {
            self.medians = [self.medians[1], self.medians[2], median(self.under_way)];
            self.taken = 0;
            self.closed = (self.closed + 1).min(3);
        }
    }

    /// Whether the newest median of nine averages is above or below the oldest.
    fn trend(&self, tie: Trend) -> Option<Trend> {
        let [oldest, _, newest] = self.medians;
        match () {
            () if self.closed < 3 => None,
            () if oldest < newest => Some(Trend::Rising),
            () if oldest > newest => Some(Trend::Falling),
            () => Some(tie),
        }
    }
}

fn median([a, b, c]: [f64; 3]) -> f64 {
    a.max(b).min(a.min(b).max(c))
}

impl Catalogued for Synctcp {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "delay_s", unit: "s", help: "average queueing delay in the direction of the data" },
        Gauge {
            name: "largest_delay_s",
            unit: "s",
            help: "largest queueing delay so far, whose quarters are the regions",
        },
        Gauge { name: "rising", unit: "", help: "1 while the average rises, 0 while it falls" },
    ];

    /// An early reduction takes at most half of the window, which then grows at least as Reno does [SYNC-TCP].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle::HALF_WINDOW)
    }
}

impl Controller for Synctcp {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        self.history.take(ack);
        self.phase = self.phase_of(window.cwnd);
        self.early(window, ack);
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.growth(window.cwnd, ack.packets).unwrap_or(ack.packets.min(2.0));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.growth(window.cwnd, ack.packets).unwrap_or(ack.packets / window.cwnd);
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(0.5);
        self.lost();
    }

    // Unclear in [SYNC-TCP]: timeouts are not mentioned. As in Reno, and the averages are collected anew,
    // because the earlier ones belong to another load of the path.
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.start_over();
        self.lost();
        self.history.groups = Groups::default();
    }

    fn needs(&self) -> Needs {
        Needs { modes: true, ..Needs::default() }
    }

    fn mode(&self) -> Option<u8> {
        Some(self.phase as u8)
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        let TransitHistory { first, average_s, most_s, groups, .. } = &*self.history;
        let since_first = |value: f64| if first.is_some() { value } else { f64::NAN };
        let rising = |trend: Trend| f64::from(u8::from(trend == Trend::Rising));
        values.extend([
            since_first(*average_s),
            since_first(*most_s),
            groups.trend(self.tie).map_or(f64::NAN, rising),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, acknowledge, avoidance, close, mean_window};
    use fairhaul_units::{Settings, Time};

    fn settings() -> Settings {
        Settings::defaults(Synctcp::PARAMETERS)
    }

    fn original() -> Settings {
        settings().with("variant", SynctcpVariant::Original.value())
    }

    /// A controller that has seen 40 ms at most, stands at `share` of it, rising or not.
    fn standing(settings: &Settings, share: f64, trend: Trend) -> Synctcp {
        let mut controller = Synctcp::new(settings.into());
        controller.phase = StartPhase::Sync;
        controller.history.most_s = 0.040;
        controller.history.average_s = 0.040 * share;
        let medians = if trend == Trend::Rising { [1.0, 2.0, 3.0] } else { [3.0, 2.0, 1.0] };
        controller.history.groups = Groups { medians, closed: 3, ..Groups::default() };
        controller
    }

    /// An acknowledgement at `ms`, of data that took `transit_us`.
    fn at(ms: u64, transit_us: u64) -> AckEvent {
        let one_way = Span::from_us(transit_us);
        AckEvent { now: Time::ZERO + Span::from_ms(ms), one_way, ..ack(Span::from_ms(100)) }
    }

    /// The whole table, at the middle of each region and at the lower edges.
    #[test]
    fn each_of_the_eight_indications_has_its_row() {
        let rows = [
            (0.0, Add(1.0), Grow(0.50)),
            (0.24, Add(1.0), Grow(0.50)),
            (0.25, GiveUp(0.10), Grow(0.25)),
            (0.37, GiveUp(0.10), Grow(0.25)),
            (0.5, GiveUp(0.25), Grow(0.10)),
            (0.62, GiveUp(0.25), Grow(0.10)),
            (0.75, GiveUp(0.50), Stay),
            (1.0, GiveUp(0.50), Stay),
        ];
        for (share, rising, falling) in rows {
            assert_eq!(standing(&original(), share, Trend::Rising).reaction(), Some(rising));
            assert_eq!(standing(&original(), share, Trend::Falling).reaction(), Some(falling));
        }
    }

    /// At 200 packets: 1/200, and 0.5, 0.25, 0.1 of a packet for each delivered.
    #[test]
    fn growth_is_spread_over_the_round() {
        let grown = |share, trend| {
            let mut window = avoidance(200.0);
            standing(&original(), share, trend).on_ack(&mut window, &at(0, 0));
            window.cwnd - 200.0
        };
        assert!((grown(0.1, Trend::Rising) - 0.005).abs() < 1e-12);
        for (share, more) in [(0.1, 0.5), (0.3, 0.25), (0.6, 0.1), (0.9, 0.0)] {
            assert_eq!(grown(share, Trend::Falling), 200.0 + more - 200.0);
        }
        assert_eq!(grown(0.9, Trend::Rising), 0.0);
    }

    /// Until 10 ms were seen all is the lowest region.
    #[test]
    fn a_largest_delay_below_its_floor_has_one_region() {
        let mut controller = standing(&original(), 1.0, Trend::Falling);
        (controller.history.most_s, controller.history.average_s) = (0.0099, 0.0099);
        assert_eq!(controller.reaction(), Some(Grow(0.50)));
        controller.history.most_s = 0.010;
        assert_eq!(controller.reaction(), Some(Stay));
        let mut none = standing(&original().with("qmax_floor", 0.0), 0.0, Trend::Falling);
        none.history.most_s = 0.0;
        assert_eq!(none.reaction(), Some(Grow(0.50)), "no division by zero");
    }

    /// 1 2 3 | 4 5 6 | 7 8 9 has medians 2 5 8; then 0 0 0 has 5 8 0; the tie of 8 0 8 is a choice.
    #[test]
    fn the_trend_is_that_of_three_medians_and_moves_every_third_average() {
        let mut groups = Groups::default();
        let mut take = |values: [f64; 3]| {
            values.into_iter().for_each(|value| groups.take(value));
            groups.trend(Trend::Falling)
        };
        assert_eq!(take([3.0, 1.0, 2.0]), None);
        assert_eq!(take([4.0, 6.0, 5.0]), None);
        assert_eq!(take([7.0, 8.0, 9.0]), Some(Trend::Rising));
        assert_eq!(take([0.0; 3]), Some(Trend::Falling));
        assert_eq!(take([8.0; 3]), Some(Trend::Falling), "8 and 8");
        assert_eq!(groups.trend(Trend::Rising), Some(Trend::Rising), "the other tie");
        groups.take(99.0);
        groups.take(99.0);
        assert_eq!(groups.medians, [8.0, 0.0, 8.0], "two of a group of three");
    }

    /// 8 ms above the smallest: the average moves to 1 ms, then to 1 + 7/8 = 1.875 ms.
    #[test]
    fn the_average_takes_an_eighth_of_each_sample() {
        let mut history = TransitHistory::default();
        for (transit_us, average_s) in [(30_000, 0.0), (38_000, 0.001), (38_000, 0.001_875)] {
            history.take(&at(0, transit_us));
            assert!((history.average_s - average_s).abs() < 1e-12);
        }
        assert!((history.most_s - 0.008).abs() < 1e-12);
        // A faster packet lowers the base: the next one at 38 ms has waited 10 ms.
        history.take(&at(0, 28_000));
        history.take(&at(0, 38_000));
        assert!((history.most_s - 0.010).abs() < 1e-12);
    }

    /// Two of 30 and 34 ms, then 40 ms for good: 30 ms counts in its period and in the next, in all a minute at most.
    #[test]
    fn the_smallest_transit_time_is_forgotten_after_two_periods() {
        let queued_ms = |memory: f64| {
            let mut history = Synctcp::new((&settings().with("memory", memory)).into()).history;
            [(0, 30), (1, 34), (29, 40), (31, 40), (59, 40), (62, 40)]
                .map(|(s, transit_ms)| (history.queued_s(&at(1000 * s, 1000 * transit_ms)) * 1e3).round())
        };
        assert_eq!(queued_ms(30.0), [0.0, 4.0, 10.0, 10.0, 10.0, 0.0]);
        assert_eq!(queued_ms(0.0), [0.0, 4.0, 10.0, 10.0, 10.0, 10.0]);
    }

    #[test]
    fn an_early_decrease_takes_its_share_once_in_a_round_and_ends_slow_start() {
        let mut controller = standing(&original(), 0.6, Trend::Rising);
        let mut window = Window { cwnd: 100.0, ssthresh: f64::INFINITY };
        let event = AckEvent { in_flight: 99.0, ..at(0, 30_000) };
        controller.early(&mut window, &event);
        assert_eq!((window.cwnd, window.ssthresh), (75.0, 75.0));
        for _ in 0..98 {
            controller.early(&mut window, &event);
        }
        assert_eq!(window.cwnd, 75.0, "98 of 99 delivered");
        controller.early(&mut window, &event);
        assert_eq!(window.cwnd, 56.25);
        let mut small = avoidance(2.1);
        standing(&original(), 0.9, Trend::Rising).early(&mut small, &event);
        assert_eq!(small.cwnd, 2.0);
        let mut recovering = avoidance(100.0);
        let event = AckEvent { recovering: true, ..event };
        standing(&original(), 0.9, Trend::Rising).early(&mut recovering, &event);
        assert_eq!(recovering.cwnd, 100.0);
    }

    /// Reno's slow start below 100, 0.375 a packet up to 150, the table above.
    #[test]
    fn the_modified_start_has_three_phases() {
        let grown = |settings: &Settings, cwnd: f64, reduced| {
            let mut controller = standing(settings, 0.1, Trend::Falling);
            controller.reduced = reduced;
            let mut window = Window { cwnd, ssthresh: f64::INFINITY };
            controller.phase = controller.phase_of(cwnd);
            controller.on_slow_start(&mut window, &at(0, 30_000));
            window.cwnd - cwnd
        };
        for (cwnd, more) in [(50.0, 1.0), (99.5, 1.0), (100.0, 0.375), (149.5, 0.375), (150.0, 0.5)] {
            assert_eq!(grown(&settings(), cwnd, false), more, "at {cwnd}");
            assert_eq!(grown(&settings(), cwnd, true), 0.5, "after a reduction");
            assert_eq!(
                grown(&settings().with("phases", PhasesApply::Always.value()), cwnd, true),
                more,
                "literally"
            );
            assert_eq!(grown(&original(), cwnd, false), 0.5, "the original");
        }
    }

    /// Eight averages are too few: slow start and congestion avoidance as Reno's.
    #[test]
    fn before_nine_averages_it_is_reno() {
        let (mut controller, mut window) = (Synctcp::new((&original()).into()), avoidance(100.0));
        let mut slow = Window { cwnd: 10.0, ssthresh: 20.0 };
        for _ in 0..8 {
            controller.on_delivery(&mut window, &at(0, 30_000));
        }
        controller.on_ack(&mut window, &at(0, 30_000));
        controller.on_slow_start(&mut slow, &at(0, 30_000));
        assert_eq!((window.cwnd, slow.cwnd), (100.01, 11.0));
        acknowledge(&mut controller, &mut slow, &at(0, 30_000));
        assert_eq!(slow.cwnd, 11.5);
    }

    #[test]
    fn losses_are_renos_and_a_timeout_forgets_the_averages() {
        let mut controller = standing(&settings(), 0.1, Trend::Falling);
        let mut window = avoidance(100.0);
        controller.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh, controller.reduced), (50.0, 50.0, true));
        controller.on_timeout(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh, controller.reaction()), (1.0, 25.0, None));
    }

    /// An idle path has no queue: half of the window more in a round, 8 x 1.5^5 = 60.75 packets
    /// with fractions, and the first nine acknowledgements are Reno's.
    #[test]
    fn an_idle_path_is_taken_by_half_a_window_a_round() {
        let mut path = SharedPath::new(Span::from_ms(60), 1e6);
        let mut flows = [(Synctcp::new((&original()).into()), avoidance(8.0))];
        path.round(&mut flows);
        let mut wanted = flows[0].1.cwnd;
        path.round(&mut flows); // the ninth average is in this round
        wanted += 0.5 * wanted.floor();
        assert!((flows[0].1.cwnd - wanted).abs() < 1e-9);
        for _ in 0..4 {
            wanted += 0.5 * wanted.floor();
            path.round(&mut flows);
        }
        assert!((flows[0].1.cwnd - wanted).abs() < 1e-9);
    }

    /// 0.5 for each packet and half at a loss, in every 1/p packets: from W/2 to W = 1/p, and a mean
    /// over time of 0.5 / (p ln 2) = 0.721 / p.
    #[test]
    fn periodic_loss_on_an_idle_path_gives_a_window_as_the_inverse_of_p() {
        for p in [1e-2, 1e-3, 1e-4] {
            let mut controller = standing(&original(), 0.0, Trend::Falling);
            close(mean_window(&mut controller, p, 0.1), 0.5 / (p * std::f64::consts::LN_2), 0.01);
        }
    }

    /// The clock of the receiver may show anything: what counts is what is above the smallest.
    #[test]
    fn an_offset_between_the_clocks_changes_no_bit() {
        for deskew in [0.0, 1.0] {
            let mut ends = [0, 7_000_000_000, 86_400_000_001].map(|offset_us| {
                let settings = original().with("deskew", deskew);
                let (mut controller, mut window) = (Synctcp::new((&settings).into()), avoidance(10.0));
                for number in 0..20_000u64 {
                    let queued_us = (number * number) % 30_011;
                    let event = at(number, 30_000 + offset_us + queued_us);
                    acknowledge(&mut controller, &mut window, &AckEvent { in_flight: 20.0, ..event });
                }
                window.cwnd.to_bits()
            });
            ends.sort_unstable();
            assert_eq!(ends[0], ends[2]);
        }
    }
}
