//! PIE [RFC 8033]: drops, or marks, at random so that the queueing delay stays at a target.
//!
//! Every 15 ms the probability moves with the distance of the delay from its target and with its
//! trend. Nothing happens between arrivals, so updates are caught up when a packet arrives.
//! The variant `rfc` is here, and `linux`, the kernel's, in `kernel` [LINUX].

mod kernel;

use fairhaul_units::{Bytes, Chance, Ecn, Gauge, Parameter, Settings, Span, Time, parameters, real};

use super::{Arrival, Capacity, QueueDecision, Refusal, Site, Variant};

pub use kernel::KernelPie;

/// The arrival law of PIE.
// Differs from [RFC 8033, 5.2]: no departure rate is estimated. The delay is what a packet that arrived at the
// update would wait, which is known exactly; time stamps would give it only one queueing delay later.
// Differs from [RFC 8033, 5.3]: PIE is always active; a queue need not have a limit of which a third could be
// taken as the threshold.
#[derive(Clone, Debug)]
pub struct Pie {
    capacity: Capacity,
    given: PieParameters,
    state: PieState,
    /// For how long yet nothing is dropped early.
    burst: Span,
    /// The sum of the probabilities since the last early drop.
    accumulated: f64,
    next_update: Time,
    chance: Chance,
}

parameters! {
    /// The parameters of PIE.
    pub struct PieParameters {
        variant: Word(Variant) = Variant::Rfc,
            "whose rules: rfc (the delay of a packet that arrives [RFC 8033]) or linux (that of the last packet that left [LINUX])";
        target: Milliseconds(0.001..=10_000.0) = 15.0, "target queueing delay [RFC 8033]";
        update: Milliseconds(0.1..=10_000.0) = 15.0, "update interval of the drop probability [RFC 8033]";
        alpha: Number(0.0..=100.0, "/s") = 0.125,
            "gain of the distance of the delay from its target [RFC 8033]";
        beta: Number(0.0..=100.0, "/s") = 1.25, "gain of the change of the delay [RFC 8033]";
        max_burst: Milliseconds(0.0..=10_000.0) = 150.0,
            "burst allowance: time after a calm period without early drops [RFC 8033]";
        mark_ecnth: Number(0.0..=1.0) = 0.1,
            "packets of flows with `ecn` are marked up to this drop probability and dropped above it [RFC 8033]";
        mean_packet: Number(0.0..=64_000.0, "B") = 0.0,
            "mean packet size; no early drop while the backlog is at most twice this; 0: the largest packet of the scenario [RFC 8033]";
    }
}

/// The probability and how it moves.
#[derive(Clone, Copy, Debug)]
struct PieState {
    target_s: f64,
    alpha: f64,
    beta: f64,
    p: f64,
    /// At the last update.
    delay_s: f64,
}

impl PieState {
    fn update(&mut self, delay_s: f64) {
        self.p += step(self.p, self.alpha * (delay_s - self.target_s) + self.beta * (delay_s - self.delay_s));
        if delay_s == 0.0 && self.delay_s == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.delay_s = delay_s;
    }

    /// Whether there is nothing to do about the queue.
    fn is_calm(&self) -> bool {
        self.p == 0.0 && self.delay_s < self.target_s / 2.0
    }
}

/// By how much a probability moves where the delay has drifted by that much.
fn step(p: f64, drift: f64) -> f64 {
    let step = drift / damping(p);
    // A probability that is large already rises by two hundredths at most [RFC 8033, 5.5].
    if p >= 0.1 { step.min(0.02) } else { step }
}

/// A small probability moves in small steps [RFC 8033, 4.2].
fn damping(p: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|step| p < step.0).map_or(1.0, |step| step.1)
}

impl Pie {
    /// One line of what it is.
    pub const TITLE: &'static str = "PIE: drops or marks at random so that the queueing delay stays at 15 ms";
    pub(super) const SOURCE: &'static str = "RFC 8033";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = PieParameters::LIST;
    pub(super) const GAUGES: [Gauge; 2] = [
        Gauge { name: "drop_p", unit: "", help: "probability of an early drop or mark" },
        Gauge { name: "delay_s", unit: "s", help: "queueing delay at the last update" },
    ];

    /// The queue of parameters that are resolved.
    pub(super) fn new(given: PieParameters, site: &Site, chance: Chance) -> Pie {
        let PieParameters { target, alpha, beta, .. } = given;
        Pie {
            capacity: site.capacity,
            state: PieState { target_s: target.as_secs(), alpha, beta, p: 0.0, delay_s: 0.0 },
            burst: given.max_burst,
            accumulated: 0.0,
            next_update: Time::ZERO + given.update,
            given,
            chance,
        }
    }

    pub(super) fn resolve(settings: &mut Settings, _: &Site, largest: Bytes) -> Result<(), Refusal> {
        settings.set_automatic("mean_packet", real(largest.0));
        Ok(())
    }

    /// What its gauges show at `at`, after the updates before it.
    pub(super) fn gauges(&mut self, at: Time, busy_until: Time) -> [f64; 2] {
        self.catch_up(Time::from_ps(at.as_ps().saturating_sub(1)), busy_until);
        [self.state.p, self.state.delay_s]
    }

    /// What becomes of an arriving packet.
    pub(crate) fn decide(&mut self, arrival: &Arrival) -> QueueDecision {
        self.catch_up(arrival.now, arrival.busy_until);
        if !self.capacity.admits(arrival.size, arrival.packets, arrival.bytes) {
            self.accumulated = 0.0;
            return QueueDecision::Drop;
        }
        self.early(arrival)
    }

    /// Makes the updates that were due since one last looked, one at this very time included. What was
    /// queued then leaves at `busy_until`, whenever one looks.
    fn catch_up(&mut self, now: Time, busy_until: Time) {
        while self.next_update <= now {
            if self.state.is_calm() && self.state.delay_s == 0.0 && busy_until <= self.next_update {
                // The queue is empty and nothing changes until now.
                self.burst = self.given.max_burst;
                self.next_update += self.given.update * (now.since(self.next_update) / self.given.update + 1);
                return;
            }
            self.update(busy_until.since(self.next_update));
            self.next_update += self.given.update;
            self.skip_certain(now, busy_until);
        }
    }

    /// Skips updates up to `now` that leave the probability at 1, behind an update at which the queue emptied until
    /// `busy_until` as it does now: with slow links and short intervals there can be millions of them between two arrivals.
    /// While the queue only empties, the delay falls by an interval at each update, so the probability cannot fall as long
    /// as alpha (delay - target) exceeds beta times the interval; two intervals are kept as a margin for rounding.
    fn skip_certain(&mut self, now: Time, busy_until: Time) {
        let PieState { target_s, alpha, beta, p, .. } = self.state;
        let every = self.given.update;
        if p < 1.0 || alpha <= 0.0 || self.next_update > now {
            return;
        }
        let least_s = target_s + beta * every.as_secs() / alpha + 2.0 * every.as_secs();
        let left = busy_until.since(self.next_update);
        let falls_s = left.as_secs() - least_s;
        if falls_s < 0.0 {
            return;
        }
        let count = ((falls_s / every.as_secs()) as u64).min(now.since(self.next_update) / every + 1);
        if count == 0 {
            return;
        }
        self.state.delay_s = (left - every * (count - 1)).as_secs();
        self.burst = self.burst.saturating_sub(every * count);
        self.next_update += every * count;
    }

    fn update(&mut self, delay: Span) {
        let before_s = self.state.delay_s;
        self.state.update(delay.as_secs());
        self.burst = self.burst.saturating_sub(self.given.update);
        if self.state.is_calm() && before_s < self.state.target_s / 2.0 {
            self.burst = self.given.max_burst;
        }
    }

    fn early(&mut self, arrival: &Arrival) -> QueueDecision {
        let PieState { p, delay_s, target_s, .. } = self.state;
        let short = arrival.waiting_bytes.0 as f64 <= 2.0 * self.given.mean_packet;
        if !self.burst.is_zero() || short || (delay_s < target_s / 2.0 && p < 0.2) {
            return QueueDecision::Enqueue;
        }
        if struck(&mut self.accumulated, p, &mut self.chance).is_none() {
            return QueueDecision::Enqueue;
        }
        self.accumulated = 0.0;
        verdict(arrival.ecn, p <= self.given.mark_ecnth)
    }
}

/// Whether chance strikes, neither soon after the last time nor much later, as a sum of probabilities says [RFC 8033, 5.4];
/// and whether it was chance, not the sum alone.
fn struck(sum: &mut f64, p: f64, chance: &mut Chance) -> Option<bool> {
    *sum = if p == 0.0 { 0.0 } else { *sum + p };
    match *sum {
        sum if sum < 0.85 => None,
        sum if sum >= 8.5 => Some(false),
        _ => chance.hits(p).then_some(true),
    }
}

/// What becomes of a packet that is struck.
fn verdict(ecn: Ecn, marks: bool) -> QueueDecision {
    match ecn {
        Ecn::Capable | Ecn::CapableL4s if marks => QueueDecision::Mark,
        Ecn::Marked if marks => QueueDecision::Enqueue,
        _ => QueueDecision::Drop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::QueueChoice;
    use fairhaul_units::Rate;

    fn pie(values: &[(&str, f64)]) -> Pie {
        let mut choice = QueueChoice::named("pie").expect("it is in the catalogue");
        values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let (capacity, mark) = (Capacity::Packets(1000), Capacity::Unlimited);
        let site = Site { rate, delay: Span::ZERO, capacity, mark };
        let settings = choice.resolved(&site, Bytes(1000)).expect("the values fit").settings;
        Pie::new((&settings).into(), &site, Chance::stream(1, "queue", 0))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A packet that arrives at `now` at a queue that empties at `busy_until`, both in milliseconds.
    fn finds(now: u64, busy_until: u64) -> Arrival {
        let packets = busy_until.saturating_sub(now);
        Arrival {
            size: Bytes(1000),
            ecn: Ecn::NotCapable,
            flow: 0,
            now: at(now),
            packets,
            bytes: Bytes(packets * 1000),
            waiting: packets.saturating_sub(1),
            waiting_bytes: Bytes(packets.saturating_sub(1) * 1000),
            busy_until: at(busy_until),
        }
    }

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
    }

    #[test]
    fn the_probability_moves_with_the_delay_and_its_trend() {
        let mut state = pie(&[]).state;
        // 0.125 x 15 ms + 1.25 x 30 ms = 0.039375, by 2048 while p is below 10^-6.
        state.update(0.030);
        close(state.p, 0.039_375 / 2048.0);
        // 0.125 x 30 ms + 1.25 x 15 ms = 0.0225; p is 1.9 x 10^-5: by 128.
        state.update(0.045);
        close(state.p, 0.039_375 / 2048.0 + 0.0225 / 128.0);
        // From 0.05, 10 ms less: 0.125 x 20 ms - 1.25 x 10 ms = -0.01, by 2.
        state.p = 0.05;
        state.update(0.035);
        close(state.p, 0.045);
        // From 0.2, 0.1 s: 0.010625 + 0.08125 is more than 0.02.
        state.p = 0.2;
        state.update(0.1);
        close(state.p, 0.22);
        // No delay twice: the step of -0.125 x 15 ms, then a fiftieth less.
        (state.p, state.delay_s) = (0.5, 0.0);
        state.update(0.0);
        close(state.p, (0.5 - 0.001_875) * 0.98);
    }

    /// A queue that empties for 20 s, in one step and in steps of 3 ms.
    #[test]
    fn updates_that_change_nothing_are_skipped_and_all_others_are_made() {
        let busy_until = at(20_000);
        let (mut late, mut often) = (pie(&[]), pie(&[]));
        for pie in [&mut late, &mut often] {
            (pie.state.p, pie.state.delay_s, pie.burst) = (0.9, 20.0, Span::from_ms(150));
        }
        late.catch_up(at(19_990), busy_until);
        for ms in (0..=19_990).step_by(3) {
            // With at most one update for each step there is nothing to skip.
            often.catch_up(at(ms), busy_until);
        }
        often.catch_up(at(19_990), busy_until);
        assert_eq!(late.state.p.to_bits(), often.state.p.to_bits());
        assert_eq!(late.state.delay_s.to_bits(), often.state.delay_s.to_bits());
        assert_eq!((late.burst, late.next_update), (often.burst, often.next_update));
        assert!(late.state.p < 1.0, "the end of the queue is not skipped: {}", late.state.p);
    }

    #[test]
    fn missed_updates_use_the_delays_of_their_times() {
        // A queue that empties at 100 ms: 85, 70, 55 ms at 15, 30 and 45 ms.
        let (mut late, mut state) = (pie(&[]), pie(&[]).state);
        late.decide(&finds(45, 100));
        [0.085, 0.070, 0.055].iter().for_each(|delay| state.update(*delay));
        assert_eq!((late.state.p, late.state.delay_s), (state.p, state.delay_s));
        assert_eq!((late.next_update, late.burst), (at(60), Span::from_ms(105)));
    }

    #[test]
    fn to_look_at_the_gauges_makes_the_updates_before_and_changes_nothing() {
        // 85 and 70 ms at 15 and 30 ms; the update at 45 ms is not before that.
        let (mut seen, mut unseen) = (pie(&[]), pie(&[]));
        let delays = [0, 20, 45].map(|ms| seen.gauges(at(ms), at(100))[1]);
        assert_eq!(delays, [0.0, 0.085, 0.070]);
        assert_eq!(seen.decide(&finds(45, 100)), unseen.decide(&finds(45, 100)));
        assert_eq!((seen.state.p, seen.state.delay_s), (unseen.state.p, 0.055));
        assert_eq!((seen.next_update, seen.burst), (unseen.next_update, unseen.burst));
        // Neither does it in a silence.
        assert_eq!([200, 3_600_000].map(|ms| seen.gauges(at(ms), at(100))[1]), [0.0, 0.0]);
        assert_eq!(seen.decide(&finds(3_600_000, 100)), unseen.decide(&finds(3_600_000, 100)));
        assert_eq!((seen.state.p, seen.next_update), (unseen.state.p, unseen.next_update));
    }

    #[test]
    fn a_long_silence_is_skipped_and_brings_the_burst_allowance_back() {
        let mut pie = pie(&[]);
        pie.decide(&finds(45, 100));
        pie.decide(&finds(3_600_000, 100));
        assert_eq!((pie.state.p, pie.burst, pie.next_update), (0.0, Span::from_ms(150), at(3_600_015)));
    }

    #[test]
    fn nothing_is_dropped_early_in_a_burst_from_a_short_queue_or_at_little_delay() {
        let mut pie = pie(&[("max_burst", 0.0)]);
        (pie.state.p, pie.state.delay_s, pie.next_update) = (0.19, 0.02, at(1000));
        let drops = |pie: &mut Pie, busy_until| {
            (0..200).any(|_| pie.decide(&finds(0, busy_until)) == QueueDecision::Drop)
        };
        assert!(drops(&mut pie, 20));
        assert!(!drops(&mut pie, 3)); // two wait
        pie.burst = Span::from_ms(15);
        assert!(!drops(&mut pie, 20));
        (pie.burst, pie.state.delay_s) = (Span::ZERO, 0.007);
        assert!(!drops(&mut pie, 20));
        pie.state.p = 0.21;
        assert!(drops(&mut pie, 20));
    }

    #[test]
    fn drops_at_a_twentieth_are_17_packets_apart_at_least() {
        // 0.05 x 17 = 0.85; then 1/20 each, cut at 8.5 / 0.05: 16 + 20 on average.
        let mut pie = pie(&[("max_burst", 0.0)]);
        (pie.state.p, pie.state.delay_s, pie.next_update) = (0.05, 0.02, Time::NEVER);
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for _ in 0..400_000 {
            gap += 1;
            if pie.decide(&finds(0, 20)) == QueueDecision::Drop {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap)));
        assert!((mean - 36.0).abs() < 4.0 * 20.0 / libm::sqrt(gaps.len() as f64), "{mean}");
    }

    #[test]
    fn what_can_be_marked_is_marked_up_to_a_tenth() {
        for (p, wanted) in [(0.1, QueueDecision::Mark), (0.11, QueueDecision::Drop)] {
            let mut pie = pie(&[("max_burst", 0.0)]);
            (pie.state.p, pie.state.delay_s, pie.next_update) = (p, 0.02, at(1000));
            let arrival = Arrival { ecn: Ecn::Capable, ..finds(0, 20) };
            let struck: Vec<QueueDecision> =
                (0..1000).map(|_| pie.decide(&arrival)).filter(|v| *v != QueueDecision::Enqueue).collect();
            assert!(!struck.is_empty() && struck.iter().all(|verdict| *verdict == wanted));
        }
    }
}
