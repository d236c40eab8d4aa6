//! DualPI2 [RFC 9332]: two queues whose probabilities are coupled. Packets of L4S senders, which are marked in
//! proportion to the base probability, wait in one of them for hardly any time; all others are dropped or marked
//! by its square.
//!
//! The variant `rfc` is that of the appendices A.1 and A.2, with a ramp and without chance; `linux` is the kernel's [LINUX].

mod pi2;

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Chance, Ecn, Gauge, Parameter, Settings, Span, Time, parameters, real, words};

use super::{Queued, Refusal, Site, Variant};
use pi2::Pi2;

words! {
    /// What happens where the L4S queue would be marked always, in `linux`.
    pub enum Overload {
        /// Packets of both queues are dropped by the square.
        Drop = "drop",
        /// The base probability stays where marks are certain, and the queue overflows.
        Overflow = "overflow",
    }
}

parameters! {
    /// The parameters of DualPI2.
    pub struct DualPi2Rule {
        variant: Word(Variant) = Variant::Rfc,
            "whose rules: rfc (ramp, marks at regular distances [RFC 9332, A]) or linux (step, marks at random [LINUX])";
        target: Milliseconds(0.1..=10_000.0) = 15.0, "target queueing delay of the longer queue [RFC 9332]";
        update: Milliseconds(1.0..=10_000.0) = 16.0, "update interval of the base probability [RFC 9332]";
        alpha: Number(0.01..=100.0, "/s") = 0.16,
            "gain of the distance of the delay from its target [RFC 9332]";
        beta: Number(0.0..=1000.0, "/s") = 3.2, "gain of the change of the delay [RFC 9332]";
        coupling: Number(0.1..=100.0) = 2.0,
            "k: the L4S queue is marked with k times the base probability, the other one with its square [RFC 9332]";
        min_threshold: Milliseconds(0.0..=1000.0) = 0.8,
            "rfc: queueing delay of the L4S queue from which on it is marked for its own sake [RFC 9332]";
        range: Milliseconds(0.001..=1000.0) = 0.4,
            "rfc: width of the ramp above min_threshold, at whose end every packet is marked [RFC 9332]";
        step: Milliseconds(0.0..=1000.0) = 1.0,
            "linux: queueing delay of the L4S queue above which every packet is marked [LINUX]";
        min_qlen_step: Whole(0..=1_000_000) = 0,
            "linux: packets in the L4S queue on arrival below which the step does not apply [LINUX]";
        protection: Number(0.0..=100.0, "%") = 10.0,
            "share of the link that the scheduler keeps for the other queue while both have packets [LINUX]";
        any_ect: Switch = false, "whether ECT(0) is taken as L4S, too [LINUX]";
        overload: Word(Overload) = Overload::Drop,
            "linux: drop or overflow where every L4S packet would be marked [LINUX]";
        mtu: Number(0.0..=64_000.0, "B") = 0.0, "largest packet; 0: that of the scenario";
    }
}

/// Checks that every value means something in its variant.
pub(super) fn resolve(settings: &mut Settings, _: &Site, largest: Bytes) -> Result<(), Refusal> {
    settings.set_automatic("mtu", real(largest.0));
    let defaults = Settings::defaults(DualPi2Rule::LIST);
    let rule = DualPi2Rule::from(&*settings);
    let (others, instead): (&[&'static str], _) = match rule.variant {
        Variant::Rfc => (
            &["step", "min_qlen_step", "overload"],
            "variant \"rfc\" has a ramp and always drops in overload",
        ),
        Variant::Linux => {
            (&["min_threshold", "range"], "variant \"linux\" has the threshold \"step\" and no ramp")
        }
    };
    match others.iter().find(|name| settings.number(name) != defaults.number(name)) {
        Some(name) => Err(Refusal::new(name, format!("{instead}, so it would change nothing"))),
        None => Ok(()),
    }
}

/// A packet of the L4S queue, or of the other one.
#[derive(Clone, Debug)]
struct Waiting<T> {
    queued: Queued<T>,
    /// In `linux`: the step applies to it.
    steps: bool,
}

/// One of the two queues.
#[derive(Clone, Debug)]
struct Lane<T> {
    waiting: VecDeque<Waiting<T>>,
    /// The sum of the probabilities since the last mark or drop.
    sum: f64,
}

impl<T> Lane<T> {
    fn oldest(&self) -> Option<Time> {
        self.waiting.front().map(|first| first.queued.arrived)
    }

    /// Whether one more packet with that probability is hit [RFC 9332, A.1, recur].
    fn recur(&mut self, p: f64) -> bool {
        self.sum += p;
        let hits = self.sum > 1.0;
        if hits {
            self.sum -= 1.0;
        }
        hits
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Leaves,
    Marked,
    Dropped,
}

/// The two queues.
#[derive(Clone, Debug)]
pub struct DualPi2<T> {
    rule: DualPi2Rule,
    l4s: Lane<T>,
    classic: Lane<T>,
    bytes: u64,
    pi2: Pi2,
    /// While it is positive, the other queue has its turn: bytes times percent.
    credit: f64,
    chance: Chance,
}

impl DualPi2<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "DualPI2: two coupled queues, one of hardly any delay for senders with ECT(1)";
    pub(super) const SOURCE: &'static str = "RFC 9332";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = DualPi2Rule::LIST;
    pub(super) const GAUGES: [Gauge; 5] = [
        Gauge { name: "base_p", unit: "", help: "base probability p'" },
        Gauge {
            name: "classic_p",
            unit: "",
            help: "probability of a drop or mark in the classic queue, p'^2",
        },
        Gauge {
            name: "coupled_p",
            unit: "",
            help: "probability of a mark in the L4S queue by the coupling, k p'",
        },
        Gauge { name: "l4s_packets", unit: "packets", help: "waiting in the L4S queue" },
        Gauge { name: "classic_packets", unit: "packets", help: "waiting in the classic queue" },
    ];
}

impl<T> DualPi2<T> {
    /// Two empty queues.
    pub fn new((rule, chance): &(DualPi2Rule, Chance)) -> DualPi2<T> {
        let lane = || Lane { waiting: VecDeque::new(), sum: 0.0 };
        let is_linux = rule.variant == Variant::Linux;
        // The kernel's gains are multiples of 1/256.
        let gain = |gain: f64| if is_linux { libm::round(gain * 256.0) / 256.0 } else { gain };
        let overflows = is_linux && rule.overload == Overload::Overflow;
        let pi2 = Pi2 {
            target: rule.target,
            every: rule.update,
            alpha: gain(rule.alpha),
            beta: gain(rule.beta),
            most: if overflows { (1.0 / rule.coupling).min(1.0) } else { 1.0 },
            p: 0.0,
            last: Span::ZERO,
            next_update: Time::ZERO + rule.update,
        };
        let dual = DualPi2 {
            rule: *rule,
            l4s: lane(),
            classic: lane(),
            bytes: 0,
            pi2,
            credit: 0.0,
            chance: chance.clone(),
        };
        DualPi2 { credit: dual.first_credit(), ..dual }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.l4s.waiting.len() + self.classic.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packets that wait, those of the L4S queue first.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.l4s.waiting.iter().chain(&self.classic.waiting).map(|waiting| &waiting.queued)
    }

    /// What must be free for a packet of `size`: in the variant of the RFC that for the largest [RFC 9332, A.1].
    pub(crate) fn room_for(&self, size: Bytes) -> Bytes {
        match self.rule.variant {
            Variant::Rfc => Bytes(self.rule.mtu as u64).max(size),
            Variant::Linux => size,
        }
    }

    /// What its gauges show at `at`, after the updates before it.
    pub(crate) fn gauges(&mut self, at: Time) -> [f64; 5] {
        self.catch_up(Time::from_ps(at.as_ps().saturating_sub(1)));
        let [l4s, classic] = [&self.l4s, &self.classic].map(|lane| lane.waiting.len() as f64);
        [self.pi2.p, self.classic_p(), self.coupled_p().min(1.0), l4s, classic]
    }

    /// Updates the base probability up to `now`.
    // Differs from [RFC 9332, A.1]: the delay is that of the older of both first packets, as in A.2, and not of the other
    // queue alone, which has nothing to say where all packets are L4S; and overload is that of A.2, which A.1 lacks.
    pub(crate) fn catch_up(&mut self, now: Time) {
        if self.pi2.next_update <= now {
            let oldest = [self.l4s.oldest(), self.classic.oldest()].into_iter().flatten().min();
            self.pi2.catch_up(now, oldest);
        }
    }

    /// Puts a packet behind the others of its queue.
    pub fn push(&mut self, queued: Queued<T>) {
        let is_l4s = queued.ecn.is_l4s() || self.rule.any_ect && queued.ecn == Ecn::Capable;
        let lane = if is_l4s { &mut self.l4s } else { &mut self.classic };
        let steps = lane.waiting.len() as u64 >= self.rule.min_qlen_step;
        self.bytes += u64::from(queued.size);
        lane.waiting.push_back(Waiting { queued, steps });
    }

    /// The packet that is to be sent at `now`, and whether it was marked; the packets dropped before it go to `dropped`.
    pub fn next(&mut self, now: Time, dropped: &mut Vec<Queued<T>>) -> Option<(Queued<T>, bool)> {
        self.catch_up(now);
        loop {
            let (mut waiting, is_l4s, credit) = self.schedule()?;
            let fate = match (self.rule.variant, is_l4s) {
                (Variant::Rfc, true) => self.l4s_by_rfc(&waiting.queued, now),
                (Variant::Rfc, false) => self.classic_by_rfc(waiting.queued.ecn),
                (Variant::Linux, _) => self.by_linux(&waiting, is_l4s, now),
            };
            if fate == Fate::Dropped {
                dropped.push(waiting.queued);
                continue;
            }
            self.credit += credit;
            let marked = fate == Fate::Marked && waiting.queued.ecn != Ecn::Marked;
            if marked {
                waiting.queued.ecn = Ecn::Marked;
            }
            return Some((waiting.queued, marked));
        }
    }

    /// The packet whose turn it is, whether it is of the L4S queue, and by how much the credit changes if it leaves
    /// [LINUX, dequeue_packet].
    // Unclear in [RFC 9332, A.1]: which scheduler; any that favours the L4S queue and starves neither. It is that of the
    // kernel in both variants.
    fn schedule(&mut self) -> Option<(Waiting<T>, bool, f64)> {
        let [has_l4s, has_classic] = [&self.l4s, &self.classic].map(|lane| !lane.waiting.is_empty());
        let is_l4s = has_l4s && (!has_classic || self.credit <= 0.0);
        let lane = if is_l4s { &mut self.l4s } else { &mut self.classic };
        let Some(waiting) = lane.waiting.pop_front() else {
            self.credit = self.first_credit();
            return None;
        };
        let size = f64::from(waiting.queued.size);
        self.bytes -= u64::from(waiting.queued.size);
        let credit = match (is_l4s, has_l4s && has_classic) {
            (_, false) => 0.0,
            (true, true) => self.rule.protection * size,
            (false, true) => -(100.0 - self.rule.protection) * size,
        };
        Some((waiting, is_l4s, credit))
    }

    /// The credit of empty queues.
    fn first_credit(&self) -> f64 {
        self.rule.mtu * (2.0 * self.rule.protection - 100.0)
    }

    fn classic_p(&self) -> f64 {
        self.pi2.p * self.pi2.p
    }

    fn coupled_p(&self) -> f64 {
        self.rule.coupling * self.pi2.p
    }

    /// [RFC 9332, A.2]. A probability of more than one would make up for later ones.
    fn l4s_by_rfc(&mut self, queued: &Queued<T>, now: Time) -> Fate {
        let coupled = self.coupled_p().min(1.0);
        if coupled >= 1.0 {
            if self.l4s.recur(self.classic_p()) {
                return Fate::Dropped;
            }
            return if self.l4s.recur(coupled) { Fate::Marked } else { Fate::Leaves };
        }
        let p = self.ramp(now.since(queued.arrived)).max(coupled);
        if self.l4s.recur(p) { Fate::Marked } else { Fate::Leaves }
    }

    /// The probability for the sake of the L4S queue itself.
    // Unclear in [RFC 9332, A.1]: whether the packet that leaves counts for the least length of one packet. It does, so
    // another must wait behind it.
    fn ramp(&self, delay: Span) -> f64 {
        if self.l4s.waiting.is_empty() {
            return 0.0;
        }
        let above = delay.saturating_sub(self.rule.min_threshold);
        (above.as_secs() / self.rule.range.as_secs()).min(1.0)
    }

    fn classic_by_rfc(&mut self, ecn: Ecn) -> Fate {
        let p = self.classic_p();
        let most = (1.0 / (self.rule.coupling * self.rule.coupling)).min(1.0);
        match self.classic.recur(p) {
            false => Fate::Leaves,
            true if ecn == Ecn::NotCapable || p >= most => Fate::Dropped,
            true => Fate::Marked,
        }
    }

    /// [LINUX, must_drop and do_step_aqm]: the coupling, then the step.
    fn by_linux(&mut self, waiting: &Waiting<T>, is_l4s: bool, now: Time) -> Fate {
        let fate = match real(self.bytes) < 2.0 * self.rule.mtu {
            true => Fate::Leaves,
            false if is_l4s => self.l4s_by_linux(),
            false => self.classic_by_linux(waiting.queued.ecn),
        };
        let is_late = now.since(waiting.queued.arrived) > self.rule.step;
        if fate == Fate::Leaves && is_l4s && waiting.steps && is_late {
            return Fate::Marked;
        }
        fate
    }

    fn l4s_by_linux(&mut self) -> Fate {
        let (p, coupled) = (self.pi2.p, self.coupled_p());
        if coupled > 1.0 {
            let drops = self.chance.hits(p) && self.chance.hits(p);
            return if drops { Fate::Dropped } else { Fate::Marked };
        }
        if self.chance.hits(coupled) { Fate::Marked } else { Fate::Leaves }
    }

    fn classic_by_linux(&mut self, ecn: Ecn) -> Fate {
        let p = self.pi2.p;
        match self.chance.hits(p) && self.chance.hits(p) {
            false => Fate::Leaves,
            true if ecn == Ecn::NotCapable || self.coupled_p() > 1.0 => Fate::Dropped,
            true => Fate::Marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fate::{Leaves, Marked};

    fn dual(variant: Variant, values: &[(&str, f64)]) -> DualPi2<u32> {
        let mut settings = Settings::defaults(DualPi2Rule::LIST).with("mtu", 1500.0);
        settings.set("variant", variant.value());
        values.iter().for_each(|(name, value)| settings.set(name, *value));
        DualPi2::new(&((&settings).into(), Chance::stream(1, "queue", 0)))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn queued(packet: u32, ecn: Ecn, us: u64) -> Queued<u32> {
        Queued { packet, size: 1500, ecn, arrived: at(us) }
    }

    /// Of 10 000 packets without delay at that base probability, how many have each fate: leave, marked, dropped.
    fn fates(dual: &mut DualPi2<u32>, p: f64, ecn: Ecn) -> [usize; 3] {
        let (mut gone, mut marks) = (Vec::new(), 0);
        (dual.pi2.p, dual.pi2.next_update) = (p, Time::NEVER);
        let mut left = 0;
        while left + gone.len() < 10_000 {
            while dual.len() < 60 {
                dual.push(queued(0, ecn, 0));
            }
            let (_, marked) = dual.next(at(0), &mut gone).expect("many wait");
            left += 1;
            marks += usize::from(marked);
        }
        [left - marks, marks, gone.len()]
    }

    fn close(found: [usize; 3], wanted: [f64; 3], tolerance: f64) {
        let far = found.iter().zip(wanted).any(|(found, wanted)| (*found as f64 - wanted).abs() > tolerance);
        assert!(!far, "{found:?} for {wanted:?}");
    }

    /// k = 2, p' = 0.1: 20 % of L4S packets are marked, 1 % of all others are marked or dropped. The variant of the RFC does
    /// so at equal distances, that of Linux at random: 10 000 draws are within 4 sqrt(10 000 x 0.2 x 0.8) = 160.
    #[test]
    fn l4s_packets_are_marked_in_proportion_and_others_hit_by_the_square() {
        for (variant, tolerance) in [(Variant::Rfc, 1.5), (Variant::Linux, 160.0)] {
            let of = |ecn| fates(&mut dual(variant, &[]), 0.1, ecn);
            close(of(Ecn::CapableL4s), [8000.0, 2000.0, 0.0], tolerance);
            close(of(Ecn::Capable), [9900.0, 100.0, 0.0], tolerance / 4.0 + 1.0);
            close(of(Ecn::NotCapable), [9900.0, 0.0, 100.0], tolerance / 4.0 + 1.0);
        }
    }

    /// k p' = 1.2: both queues drop 0.6^2 = 36 %, whatever the field says, and the L4S packets that are left are marked.
    #[test]
    fn in_overload_both_queues_drop_by_the_square() {
        for (variant, tolerance) in [(Variant::Rfc, 2.5), (Variant::Linux, 192.0)] {
            let of = |ecn| fates(&mut dual(variant, &[]), 0.6, ecn);
            close(of(Ecn::Capable), [6400.0, 0.0, 3600.0], tolerance);
            close(of(Ecn::NotCapable), [6400.0, 0.0, 3600.0], tolerance);
            if variant == Variant::Linux {
                close(of(Ecn::CapableL4s), [0.0, 6400.0, 3600.0], tolerance);
            }
        }
        // Both draws of the RFC count on one sum, so those that are not dropped are marked: 0.36 + 1 > 1 each time.
        let of = fates(&mut dual(Variant::Rfc, &[]), 0.6, Ecn::CapableL4s);
        assert!(of[2] > 3000 && of[0] < 100, "{of:?}");
    }

    /// In `overflow` the base probability stays at 1/k, so L4S packets are marked and others hit by a quarter.
    #[test]
    fn a_queue_that_overflows_marks_and_never_drops_l4s_packets() {
        let mut dual = dual(Variant::Linux, &[("overload", Overload::Overflow.value())]);
        dual.push(queued(0, Ecn::Capable, 0));
        dual.catch_up(at(10_000_000));
        assert_eq!(dual.pi2.p, 0.5);
        close(fates(&mut dual, 0.5, Ecn::CapableL4s), [0.0, 10_000.0, 0.0], 0.5);
    }

    /// The ramp from 0.8 to 1.2 ms: nothing at 0.8, a half at 1.0, all at 1.2; not if nothing else waits. The kernel's step
    /// marks all above 1 ms.
    #[test]
    fn the_l4s_queue_is_marked_by_its_own_delay() {
        let mut rfc = dual(Variant::Rfc, &[]);
        assert_eq!(rfc.ramp(Span::from_ms(9)), 0.0);
        rfc.push(queued(0, Ecn::CapableL4s, 0));
        let ramp = [800, 900, 1000, 1200, 5000].map(|us| libm::round(rfc.ramp(Span::from_us(us)) * 100.0));
        assert_eq!(ramp, [0.0, 25.0, 50.0, 100.0, 100.0]);
        let mut linux = dual(Variant::Linux, &[("min_qlen_step", 1.0)]);
        let mut late = |steps, us| {
            linux.by_linux(&Waiting { queued: queued(0, Ecn::CapableL4s, 0), steps }, true, at(us))
        };
        assert_eq!([late(true, 1000), late(true, 1001), late(false, 9000)], [Leaves, Marked, Leaves]);
        linux.push(queued(0, Ecn::CapableL4s, 0));
        linux.push(queued(1, Ecn::CapableL4s, 0));
        assert_eq!(linux.l4s.waiting.iter().map(|waiting| waiting.steps).collect::<Vec<_>>(), [false, true]);
    }

    /// With less than two packets of backlog the kernel does nothing, however high the probability is.
    #[test]
    fn linux_spares_a_short_queue() {
        let mut dual = dual(Variant::Linux, &[]);
        (dual.pi2.p, dual.pi2.next_update) = (1.0, Time::NEVER);
        (0..3).for_each(|n| dual.push(queued(n, Ecn::Capable, 0)));
        let mut dropped = Vec::new();
        // The first leaves 3000 B behind, and is dropped; the second leaves 1500 B behind.
        let next = dual.next(at(0), &mut dropped).map(|(queued, marked)| (queued.packet, marked));
        assert_eq!((dropped.len(), next), (1, Some((1, false))));
    }

    /// Of both backlogged queues the L4S queue sends nine of ten bytes; CE and ECT(1) are its own.
    #[test]
    fn the_scheduler_keeps_a_tenth_for_the_other_queue() {
        let mut dual = dual(Variant::Linux, &[("step", 1000.0)]);
        dual.pi2.next_update = Time::NEVER;
        for n in 0..2000 {
            dual.push(queued(0, if n % 2 == 0 { Ecn::CapableL4s } else { Ecn::Marked }, 0));
            dual.push(queued(1, if n % 2 == 0 { Ecn::Capable } else { Ecn::NotCapable }, 0));
        }
        let mut gone = Vec::new();
        let others =
            (0..1000).filter(|_| dual.next(at(0), &mut gone).expect("many wait").0.packet == 1).count();
        assert!((99..=101).contains(&others), "{others}");
        assert_eq!(fates(&mut dual, 0.0, Ecn::Capable)[2], 0);
    }

    #[test]
    fn what_a_variant_does_not_have_is_refused() {
        let refused = |variant: Variant, name: &str| {
            let mut settings =
                Settings::defaults(DualPi2Rule::LIST).with("variant", variant.value()).with(name, 0.5);
            let site = Site {
                rate: fairhaul_units::Rate::from_bps(1).expect("not zero"),
                delay: Span::ZERO,
                capacity: crate::queue::Capacity::Unlimited,
                mark: crate::queue::Capacity::Unlimited,
            };
            resolve(&mut settings, &site, Bytes(1500)).err().map(|refusal| refusal.parameter)
        };
        assert_eq!(refused(Variant::Rfc, "step"), Some("step"));
        assert_eq!(refused(Variant::Linux, "range"), Some("range"));
        assert_eq!(refused(Variant::Linux, "step"), None);
    }
}
