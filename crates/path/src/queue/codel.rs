//! CoDel [RFC 8289]: once the queueing delay has been above a target for an interval, packets are dropped at
//! departure: one after an interval, the next after 1/sqrt(2) of it, and so on until the delay falls.

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Ecn, Gauge, Parameter, Settings, Span, Time, parameters, real};

use super::{Refusal, Site, Variant};

/// A packet that waits.
#[derive(Clone, Debug)]
pub struct Queued<T> {
    /// What waits.
    pub packet: T,
    /// Its size on the wire.
    pub size: u32,
    /// Whether it can be marked, or has been.
    pub ecn: Ecn,
    /// When it came.
    pub arrived: Time,
}

parameters! {
    /// The parameters of CoDel.
    pub struct CodelRule {
        variant: Word(Variant) = Variant::Rfc,
            "whose rules: rfc [RFC 8289], or linux, whose third drop comes earlier and whose fq_codel has one backlog for all buckets [LINUX]";
        target: Milliseconds(0.001..=10_000.0) = 5.0, "acceptable standing queueing delay [RFC 8289]";
        interval: Milliseconds(0.01..=100_000.0) = 100.0,
            "time that the delay may stay above the target, and first interval between drops; about the longest round-trip time [RFC 8289]";
        // Differs from [RFC 8289, 5.5]: this is the largest possible packet, not the largest so far.
        max_packet: Number(0.0..=64_000.0, "B") = 0.0,
            "no drop while the backlog is at most this size; 0: the largest packet of the scenario [RFC 8289]";
        ce_threshold: Milliseconds(0.0..=10_000.0) = 0.0,
            "packets of flows with `ecn` that have waited longer are marked at departure, whatever the rule says; 0: none are [LINUX]";
        ce_threshold_l4s: Switch = false,
            "whether only packets with ECT(1) are marked by ce_threshold [LINUX]";
    }
}

/// First in, first out, under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<T> {
    queued: VecDeque<Queued<T>>,
    bytes: Bytes,
    state: CodelState,
}

/// What CoDel remembers, under the names of its pseudocode.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CodelState {
    /// From when on a delay that stays above the target is a standing queue; `None`: it is below.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u64,
    last_count: u64,
    /// In Linux: about 1 / sqrt(count), as a multiple of 2^-16.
    inverse_root: u64,
}

/// One, as a fraction of 16 bits of the kernel.
const WHOLE: u64 = (1 << 16) - 1;

impl CodelState {
    /// One more drop. Linux has one step of Newton's method for each, x (3 - n x^2) / 2, whose result is a third less than
    /// 1 / sqrt(n) for the second drop, and soon right [LINUX, codel_Newton_step].
    fn set_count(&mut self, count: u64) {
        self.count = count;
        let root = self.inverse_root << 16;
        let square = (root * root) >> 32;
        let factor = (3_u64 << 32).saturating_sub(count * square) >> 2;
        self.inverse_root = (factor * root) >> 31 >> 16;
    }

    /// When the next drop is due, if the last was due at `time`.
    fn after(&self, rule: &CodelRule, time: Time) -> Time {
        let ps = match rule.variant {
            Variant::Rfc => rule.interval.as_ps() as f64 / libm::sqrt(self.count as f64),
            Variant::Linux => rule.interval.as_ps() as f64 * self.inverse_root as f64 / 65_536.0,
        };
        time + Span::from_ps(ps as u64)
    }
}

impl CodelRule {
    /// Marks a packet that leaves at `now` if it has waited longer than the second threshold [LINUX, codel_dequeue];
    /// `marked`: CoDel has just marked it. Whether it has been marked here, by either.
    fn mark_late<T>(&self, queued: &mut Queued<T>, marked: bool, now: Time) -> bool {
        let is_late = !self.ce_threshold.is_zero() && now.since(queued.arrived) > self.ce_threshold;
        let is_chosen = if self.ce_threshold_l4s { queued.ecn == Ecn::CapableL4s } else { true };
        if is_late && is_chosen && queued.ecn.is_unmarked() {
            queued.ecn = Ecn::Marked;
            return true;
        }
        marked
    }
}

pub(super) fn resolve(settings: &mut Settings, _: &Site, largest: Bytes) -> Result<(), Refusal> {
    settings.set_automatic("max_packet", real(largest.0));
    Ok(())
}

impl<T> Default for Codel<T> {
    fn default() -> Codel<T> {
        let (first_above, dropping, drop_next) = (None, false, Time::ZERO);
        let state =
            CodelState { first_above, dropping, drop_next, count: 0, last_count: 0, inverse_root: WHOLE };
        Codel { queued: VecDeque::new(), bytes: Bytes(0), state }
    }
}

impl Codel<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "CoDel: drops or marks at departure once the queueing delay has exceeded 5 ms for 100 ms";
    pub(super) const SOURCE: &'static str = "RFC 8289";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = CodelRule::LIST;
    pub(super) const GAUGES: [Gauge; 2] = [
        Gauge { name: "dropping", unit: "", help: "1 in the dropping state, else 0" },
        Gauge {
            name: "count",
            unit: "",
            help: "drops and marks since the dropping state was entered, which set the interval to the next",
        },
    ];
}

impl<T> Codel<T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// The size of the packets that wait.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The packets that wait, the first in front.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.queued.iter()
    }

    /// Whether it drops or marks.
    pub(super) fn is_dropping(&self) -> bool {
        self.state.dropping
    }

    /// What its gauges show.
    pub(crate) fn gauges(&self) -> [f64; 2] {
        [f64::from(u8::from(self.state.dropping)), self.state.count as f64]
    }

    /// Puts a packet behind the others.
    #[inline(always)]
    pub fn push(&mut self, queued: Queued<T>) {
        self.bytes += Bytes(queued.size.into());
        self.queued.push_back(queued);
    }

    /// Takes the first out, whatever its delay.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Queued<T>> {
        let queued = self.queued.pop_front()?;
        self.bytes = self.bytes - Bytes(queued.size.into());
        Some(queued)
    }

    /// The next packet is requested, and there is none.
    #[inline(always)]
    pub(crate) fn on_empty(&mut self) {
        (self.state.first_above, self.state.dropping) = (None, false);
    }

    /// The packet that is to be sent at `now`, and whether it was marked instead of dropped; the packets
    /// dropped before it go to `dropped`. Beside its own there is the backlog `others`.
    #[inline(always)]
    pub fn next(
        &mut self,
        rule: &CodelRule,
        others: Bytes,
        now: Time,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(Queued<T>, bool)> {
        let (mut queued, marked) = self.next_by_law(rule, others, now, dropped)?;
        let marked = rule.mark_late(&mut queued, marked, now);
        Some((queued, marked))
    }

    fn next_by_law(
        &mut self,
        rule: &CodelRule,
        others: Bytes,
        now: Time,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(Queued<T>, bool)> {
        let Some((mut queued, mut stands)) = self.take(rule, others, now) else {
            self.state.dropping = false;
            return None;
        };
        if !self.state.dropping {
            if !stands {
                return Some((queued, false));
            }
            self.begin(rule, now);
            if let Some(newly) = mark(&mut queued) {
                return Some((queued, newly));
            }
            dropped.push(queued);
            // What comes next was not asked of the law again [RFC 8289, 5.5].
            return self.take(rule, others, now).map(|(queued, _)| (queued, false));
        }
        self.state.dropping = stands;
        while self.state.dropping && self.state.drop_next <= now {
            self.state.set_count(self.state.count + 1);
            if let Some(newly) = mark(&mut queued) {
                self.state.drop_next = self.state.after(rule, self.state.drop_next);
                return Some((queued, newly));
            }
            dropped.push(queued);
            let Some(next) = self.take(rule, others, now) else {
                self.state.dropping = false;
                return None;
            };
            (queued, stands) = next;
            self.state.dropping = stands;
            if stands {
                self.state.drop_next = self.state.after(rule, self.state.drop_next);
            }
        }
        Some((queued, false))
    }

    /// Dropping begins. Where it ended not long ago, about as fast as it went then.
    fn begin(&mut self, rule: &CodelRule, now: Time) {
        let CodelState { count, last_count, drop_next, .. } = self.state;
        let gained = count.saturating_sub(last_count);
        let recent = now.since(drop_next) < rule.interval * 16;
        self.state.dropping = true;
        if gained > 1 && recent {
            self.state.set_count(gained);
        } else {
            (self.state.count, self.state.inverse_root) = (1, WHOLE);
        }
        self.state.last_count = self.state.count;
        self.state.drop_next = self.state.after(rule, now);
    }

    /// The first packet, and whether the delay has stood above the target.
    #[inline(always)]
    fn take(&mut self, rule: &CodelRule, others: Bytes, now: Time) -> Option<(Queued<T>, bool)> {
        let Some(queued) = self.pop() else {
            self.state.first_above = None;
            return None;
        };
        if now.since(queued.arrived) < rule.target || real((self.bytes + others).0) <= rule.max_packet {
            self.state.first_above = None;
            return Some((queued, false));
        }
        let above = *self.state.first_above.get_or_insert(now + rule.interval);
        Some((queued, above <= now))
    }
}

/// Marks what can be marked, instead of a drop: whether it was not marked before.
fn mark<T>(queued: &mut Queued<T>) -> Option<bool> {
    let before = std::mem::replace(&mut queued.ecn, Ecn::Marked);
    if before == Ecn::NotCapable {
        queued.ecn = before;
        return None;
    }
    Some(before != Ecn::Marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: CodelRule = CodelRule {
        variant: Variant::Rfc,
        target: Span::from_ms(5),
        interval: Span::from_ms(100),
        max_packet: 1000.0,
        ce_threshold: Span::ZERO,
        ce_threshold_l4s: false,
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn queued(number: u32, arrived: Time, ecn: Ecn) -> Queued<u32> {
        Queued { packet: number, size: 1000, ecn, arrived }
    }

    /// A standing queue of 100 packets from which one leaves each millisecond and one comes: when how
    /// many were dropped, and when one was marked, in milliseconds.
    fn standing(rule: &CodelRule, until_ms: u64, ecn: Ecn) -> (Vec<u64>, Vec<u64>) {
        let mut codel = Codel::default();
        (0..100).for_each(|number| codel.push(queued(number, at(0), ecn)));
        let (mut drops, mut marks, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for ms in 0..until_ms {
            codel.push(queued(0, at(ms), ecn));
            let (_, marked) = codel.next(rule, Bytes(0), at(ms), &mut gone).expect("the queue stands");
            marks.extend(marked.then_some(ms));
            for _ in gone.drain(..) {
                drops.push(ms);
                codel.push(queued(0, at(ms), ecn)); // as many come as go
            }
        }
        (drops, marks)
    }

    #[test]
    fn a_standing_queue_is_dropped_from_after_an_interval_and_then_by_its_square_roots() {
        // The delay reaches 5 ms at 5 ms. From 105 ms on it has stood: the first drop, then gaps of 100 / sqrt(1),
        // 100 / sqrt(2), ...: due at 205, 275.7, 333.4, 383.4, 428.1, each in the millisecond after.
        assert_eq!(standing(&RULE, 430, Ecn::NotCapable).0, [105, 205, 276, 334, 384, 429]);
    }

    /// 1 / sqrt(n) is 1/2 for n = 2, 0.5625, 0.4878 and 0.4415: due at 205, 255, 311.25, 360 and 404.2 ms.
    #[test]
    fn in_linux_the_third_drop_comes_half_an_interval_after_the_second() {
        let rule = CodelRule { variant: Variant::Linux, ..RULE };
        assert_eq!(standing(&rule, 430, Ecn::NotCapable).0, [105, 205, 255, 312, 361, 405]);
        let mut state = Codel::<u32>::default().state;
        for count in 2..=1000 {
            state.set_count(count);
            let exact = 65_536.0 / libm::sqrt(count as f64);
            assert!(count < 8 || (state.inverse_root as f64 - exact).abs() < 1.0 + 0.01 * exact, "{count}");
        }
    }

    /// A packet that has waited 10 ms, alone and beside others.
    #[test]
    fn a_packet_alone_is_no_standing_queue_unless_others_count() {
        let stands = |others| {
            let mut codel = Codel::default();
            codel.push(queued(0, at(0), Ecn::NotCapable));
            codel.next(&RULE, others, at(10), &mut Vec::new());
            codel.state.first_above
        };
        assert_eq!((stands(Bytes(0)), stands(Bytes(5000))), (None, Some(at(110))));
    }

    #[test]
    fn gauges_show_the_state_and_the_count_which_is_kept_after_dropping() {
        // As above, the drops at 105, 205 and 276 ms; then all that waits is young.
        let (mut codel, mut gone) = (Codel::default(), Vec::new());
        (0..400).for_each(|number| codel.push(queued(number, at(0), Ecn::NotCapable)));
        let mut shown = |codel: &mut Codel<u32>, ms: std::ops::Range<u64>| {
            for ms in ms {
                codel.next(&RULE, Bytes(0), at(ms), &mut gone);
            }
            codel.gauges()
        };
        assert_eq!(shown(&mut codel, 0..105), [0.0, 0.0]);
        assert_eq!(shown(&mut codel, 105..106), [1.0, 1.0]);
        assert_eq!(shown(&mut codel, 106..277), [1.0, 3.0]);
        codel.queued.iter_mut().for_each(|queued| queued.arrived = at(277));
        assert_eq!(shown(&mut codel, 277..278), [0.0, 3.0]);
    }

    #[test]
    fn what_can_be_marked_is_marked_at_the_same_times() {
        let (drops, marks) = standing(&RULE, 430, Ecn::Capable);
        assert!(drops.is_empty());
        assert_eq!(marks, [105, 205, 276, 334, 384, 429]);
    }

    /// Packets that have waited 1 ms and 1.5 ms, with a threshold of 1 ms: the second is marked if it can be, and with the
    /// selector only with ECT(1).
    #[test]
    fn what_has_waited_longer_than_the_second_threshold_is_marked() {
        let marked = |ecn, ce_threshold_l4s| {
            let rule = CodelRule { ce_threshold: Span::from_ms(1), ce_threshold_l4s, ..RULE };
            let mut codel = Codel::default();
            [9_000, 8_500]
                .into_iter()
                .for_each(|us| codel.push(queued(0, Time::ZERO + Span::from_us(us), ecn)));
            [0; 2].map(|_| codel.next(&rule, Bytes(0), at(10), &mut Vec::new()).expect("two wait").1)
        };
        assert_eq!(marked(Ecn::Capable, false), [false, true]);
        assert_eq!(marked(Ecn::CapableL4s, true), [false, true]);
        assert_eq!(marked(Ecn::Capable, true), [false, false]);
        assert_eq!(marked(Ecn::NotCapable, false), [false, false]);
        assert_eq!(marked(Ecn::Marked, false), [false, false]);
    }

    #[test]
    fn a_short_delay_or_a_last_packet_ends_it() {
        let mut codel = Codel::default();
        let mut gone = Vec::new();
        // Two packets at a time, 50 ms old each time: with one left behind nothing is too long.
        for ms in (0..1000).step_by(50) {
            (0..2).for_each(|number| codel.push(queued(number, at(ms), Ecn::NotCapable)));
            codel.next(&RULE, Bytes(0), at(ms + 50), &mut gone);
            codel.next(&RULE, Bytes(0), at(ms + 50), &mut gone);
        }
        assert!(gone.is_empty() && codel.next(&RULE, Bytes(0), at(2000), &mut gone).is_none());
    }

    #[test]
    fn dropping_that_resumes_soon_continues_at_about_the_same_rate() {
        let new = Codel::<u32>::default().state;
        let state = CodelState { drop_next: at(1000), count: 9, last_count: 2, ..new };
        let begun = |state: CodelState, ms| {
            let mut codel: Codel<u32> = Codel { state, ..Codel::default() };
            codel.begin(&RULE, at(ms));
            (codel.state.count, codel.state.drop_next)
        };
        // 9 - 2 = 7: the next after 100 / sqrt(7) = 37.796 ms. After 16 intervals all is forgotten.
        let (count, next) = begun(state, 2599);
        assert_eq!((count, next.since(at(2599)).as_ps() / 1_000_000), (7, 37_796));
        assert_eq!(begun(state, 2600), (1, at(2700)));
        assert_eq!(begun(CodelState { count: 3, ..state }, 1001), (1, at(1101)));
    }
}
