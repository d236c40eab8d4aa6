//! The rate allocation of an XCP router [XCP-SPEC, 4]: once in a control interval it computes how much faster or slower
//! all senders together should send; packet by packet it allocates that, gains in equal parts and cuts in proportion
//! to the rates.

use fairhaul_units::{CongestionHeader, Span, Time};

use super::XcpRule;
use crate::steps::count_step;

/// The interval before the first in which a sender says its round-trip time, as in [NS-2].
pub(super) const FIRST: Span = Span::from_ms(50);
/// The least time over which the persistent queue is looked for [XCP-SPEC, 4.6].
const LEAST_WATCH: Span = Span::from_ms(2);

/// The state of a router for one output queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct XcpAllocator {
    /// What came in the interval under way: bytes, the sum of X, and of X times the round-trip time.
    input: f64,
    sum_gap: f64,
    sum_weighted: f64,
    /// The interval under way, and its end.
    pub interval: Span,
    pub ends: Time,
    /// Mean round-trip time, seconds.
    rtt: f64,
    /// What is handed out in it: bytes/s per second of X, bytes/s per byte, and what is left of both.
    gain: f64,
    cut: f64,
    left_gain: f64,
    left_cut: f64,
    /// The bytes that stood all the time until the last look, and the least since then.
    pub standing: f64,
    least: u64,
    watched: Time,
    /// What the last control interval found: the change of all rates together, and what is shuffled, bytes/s.
    change: f64,
    shuffled: f64,
}

impl XcpAllocator {
    /// It begins at `now`.
    pub fn new(now: Time) -> XcpAllocator {
        XcpAllocator {
            input: 0.0,
            sum_gap: 0.0,
            sum_weighted: 0.0,
            interval: FIRST,
            ends: now + FIRST,
            rtt: FIRST.as_secs(),
            gain: 0.0,
            cut: 0.0,
            left_gain: 0.0,
            left_cut: 0.0,
            standing: 0.0,
            least: 0,
            watched: now + FIRST,
            change: 0.0,
            shuffled: 0.0,
        }
    }

    /// Does what was due by `now`, in order: until then `queued` bytes were there, and `capacity`
    /// bytes/s could leave. In a silence nothing changes any more after a few intervals, and the rest of it
    /// is passed over at once.
    pub fn advance(&mut self, rule: &XcpRule, now: Time, queued: u64, capacity: f64) {
        // Whether the last update of the queue and that of the rates changed nothing but their times.
        let (mut queue_stands, mut rates_stand) = (false, false);
        while self.ends.min(self.watched) <= now {
            count_step();
            let before = *self;
            let watches = self.watched <= self.ends;
            if watches {
                self.watch(queued, capacity);
            } else {
                self.control(rule, capacity * rule.share, self.input_rate());
            }
            let changed = XcpAllocator { ends: before.ends, watched: before.watched, ..*self } != before;
            queue_stands = !changed && (watches || queue_stands);
            rates_stand = !changed && (!watches || rates_stand);
            if changed {
                continue;
            }
            // All of one kind change nothing before the next of the other kind, at whose time the queue comes first;
            // where both change nothing, none does until something comes.
            let stands = queue_stands && rates_stand;
            if watches || stands {
                let until = if stands { now } else { now.min(self.ends) };
                self.watched = next_after(self.watched, self.watch_span(queued, capacity), until);
            }
            if !watches || stands {
                let until = if stands { now } else { now.min(Time::from_ps(self.watched.as_ps() - 1)) };
                self.ends = next_after(self.ends, self.interval, until);
            }
        }
    }

    /// Mean round-trip time of those who ask, seconds.
    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// What its gauges show.
    pub fn gauges(&self) -> [f64; 4] {
        [self.rtt, self.standing, self.change, self.shuffled]
    }

    /// A packet of any flow arrives.
    pub fn on_arrival(&mut self, rule: &XcpRule, size: u32, header: Option<&CongestionHeader>) {
        self.input += f64::from(size);
        let Some(header) = header.filter(|header| !header.rtt.is_unknown()) else { return };
        let gap = header.gap.as_secs();
        self.sum_gap += gap;
        self.sum_weighted += gap * header.rtt.as_secs().min(rule.max_interval.as_secs());
    }

    /// A packet leaves: what of its sender's wish is left.
    pub fn on_departure(&mut self, size: u32, header: &mut CongestionHeader) {
        let gain = self.gain * header.gap.as_secs();
        let cut = self.cut * f64::from(size);
        let wanted = f64::from(header.delta);
        let (gain, cut) = if wanted > gain - cut {
            header.delta = libm::rint(gain - cut) as i32;
            (gain, cut)
        } else {
            // A router before this one leaves it less: what it may not gain, it may yet lose.
            let cut = self.left_cut.min(cut + (gain - cut - wanted));
            (wanted + cut, cut)
        };
        self.left_gain = (self.left_gain - gain).max(0.0);
        self.left_cut = (self.left_cut - cut).max(0.0);
        if self.left_gain == 0.0 {
            self.gain = 0.0;
        }
        if self.left_cut == 0.0 {
            self.cut = 0.0;
        }
    }

    /// A packet has left, and `queued` bytes are still in the queue.
    pub fn on_queue_length(&mut self, queued: u64) {
        self.least = self.least.min(queued);
    }

    /// What came in the interval under way, bytes/s of the whole of it.
    pub fn input_rate(&self) -> f64 {
        self.input / self.interval.as_secs()
    }

    /// The end of a control interval [XCP-SPEC, 4.3] in which `rate` was asked of `capacity`.
    pub fn control(&mut self, rule: &XcpRule, capacity: f64, rate: f64) {
        // Unclear in [XCP-SPEC, 4.3]: the interval while no sender has reported its round-trip time. It is the
        // first interval, as in [NS-2]; no flow can gain then.
        self.rtt = if self.sum_gap > 0.0 { self.sum_weighted / self.sum_gap } else { FIRST.as_secs() };
        let change = rule.alpha * (capacity - rate) - rule.beta * self.standing / self.rtt;
        let shuffled = (rule.gamma * rate - change.abs()).max(0.0);
        (self.change, self.shuffled) = (change, shuffled);
        self.left_gain = shuffled + change.max(0.0);
        self.left_cut = shuffled + (-change).max(0.0);
        self.gain = if self.sum_gap > 0.0 { self.left_gain / self.sum_gap } else { 0.0 };
        self.cut = if self.input > 0.0 { self.left_cut / self.input } else { 0.0 };
        (self.input, self.sum_gap, self.sum_weighted) = (0.0, 0.0, 0.0);
        self.interval = Span::from_secs(self.rtt).max(rule.min_interval);
        self.ends += self.interval;
    }

    /// The least that was there since the last look is the persistent queue [XCP-SPEC, 4.6].
    fn watch(&mut self, queued: u64, capacity: f64) {
        self.standing = self.least.min(queued) as f64;
        self.least = queued;
        self.watched += self.watch_span(queued, capacity);
    }

    /// For how long the persistent queue is looked for.
    fn watch_span(&self, queued: u64, capacity: f64) -> Span {
        let waits = if capacity > 0.0 { queued as f64 / capacity } else { self.rtt };
        Span::from_secs(((self.rtt - waits) / 2.0).max(0.0)).max(LEAST_WATCH)
    }
}

/// The first of `time`, `time + step`, … that lies after `now`.
pub(super) fn next_after(time: Time, step: Span, now: Time) -> Time {
    if time > now { time } else { time + step * ((now - time) / step + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::count_steps;

    fn rule() -> XcpRule {
        XcpRule { min_interval: Span::from_us(100), ..XcpRule::default() }
    }

    /// After a packet, an idle link and one with a standing queue in an outage, which is looked at every 2 ms.
    #[test]
    fn a_silence_in_one_step_leaves_what_a_silence_in_many_steps_leaves() {
        for (queued, capacity) in [(0, 1e6), (5000, 1e6), (5000, 0.0)] {
            let mut whole = XcpAllocator::new(Time::ZERO);
            whole.on_arrival(&rule(), 1500, None);
            let mut parts = whole;
            for step in 1..=1000u64 {
                parts.advance(&rule(), Time::ZERO + Span::from_us(1700) * step, queued, capacity);
            }
            let end = Time::ZERO + Span::from_ms(1700);
            whole.advance(&rule(), end, queued, capacity);
            assert_eq!(whole, parts);
            assert!(whole.ends > end && whole.watched > end);
        }
    }

    /// A round trip of 1000 s: 500 000 updates of the queue, every 2 ms, before the next of the rates; a thousand times.
    #[test]
    fn the_queue_is_not_looked_at_again_and_again_between_two_updates_of_the_rates() {
        for number in 0..1000 {
            let start = Time::ZERO + Span::from_s(1000) * number;
            let mut allocator =
                XcpAllocator { ends: start + Span::from_s(1000), watched: start, ..XcpAllocator::new(start) };
            let ((), steps) =
                count_steps(|| allocator.advance(&rule(), start + Span::from_s(999), 5000, 1e-3));
            assert!(steps <= 10, "{steps}");
            assert!(allocator.watched > start + Span::from_s(999) && allocator.standing == 5000.0);
        }
    }

    /// 5 * 10^9 updates of the queue: a minute of arithmetic, one by one.
    #[test]
    fn a_silence_of_months_is_passed_over_at_once() {
        let mut allocator = XcpAllocator::new(Time::ZERO);
        let silence = || allocator.advance(&rule(), Time::ZERO + Span::from_s(10_000_000), 5000, 0.0);
        let ((), steps) = count_steps(silence);
        assert!(steps <= 100, "{steps}");
    }
}
