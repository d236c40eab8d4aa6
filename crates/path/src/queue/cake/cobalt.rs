//! COBALT, the AQM of each queue of CAKE [LINUX, cobalt_should_drop]: CoDel whose count decays, and BLUE for what does not react.

use fairhaul_units::{Chance, Ecn, Span, Time};

/// What BLUE adds for a full queue, and takes for an empty one.
const BLUE_UP: f64 = 1.0 / 256.0;
const BLUE_DOWN: f64 = 1.0 / 4096.0;

/// The times of a tin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// Of the largest packet at the rate of the tin.
    pub(super) packet: Span,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Leaves,
    Marked,
    Dropped,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cobalt {
    pub(super) count: u64,
    dropping: bool,
    next: Time,
    p: f64,
    blue: Time,
}

/// When the mark or drop after number `count` is due.
fn control(since: Time, interval: Span, count: u64) -> Time {
    since + Span::from_ps((interval.as_ps() as f64 / libm::sqrt(count.max(1) as f64)) as u64)
}

impl Cobalt {
    /// A packet with that codepoint is to leave at `now` after a sojourn.
    pub(super) fn decide(
        &mut self,
        times: &Times,
        ecn: Ecn,
        sojourn: Span,
        now: Time,
        chance: &mut Chance,
    ) -> Verdict {
        let mut is_due = self.count > 0 && self.next <= now;
        if sojourn > times.target && sojourn > times.packet * 4 {
            if !self.dropping {
                self.dropping = true;
                self.next = control(now, times.interval, self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Leaves;
        if is_due && self.dropping {
            verdict = if ecn == Ecn::NotCapable { Verdict::Dropped } else { Verdict::Marked };
            self.count += 1;
            self.next = control(self.next, times.interval, self.count);
        } else {
            while is_due {
                self.count -= 1;
                self.next = control(self.next, times.interval, self.count);
                is_due = self.count > 0 && self.next <= now;
            }
        }
        // BLUE does not mark.
        if self.p > 0.0 && verdict != Verdict::Dropped && chance.hits(self.p) {
            verdict = Verdict::Dropped;
        }
        if self.count == 0 {
            self.next = now + times.interval;
        } else if self.next < now && verdict != Verdict::Dropped {
            self.next = now;
        }
        verdict
    }

    /// The queue had to drop a packet because all queues together were full.
    pub(super) fn on_full(&mut self, times: &Times, now: Time) {
        if now.since(self.blue) > times.target {
            self.p = (self.p + BLUE_UP).min(1.0);
            self.blue = now;
        }
        (self.dropping, self.next, self.count) = (true, now, self.count.max(1));
    }

    /// The queue has its turn, and nothing waits.
    pub(super) fn on_empty(&mut self, times: &Times, now: Time) {
        if self.p > 0.0 && now.since(self.blue) > times.target {
            self.p = (self.p - BLUE_DOWN).max(0.0);
            self.blue = now;
        }
        self.dropping = false;
        if self.count > 0 && self.next <= now {
            self.count -= 1;
            self.next = control(self.next, times.interval, self.count);
        }
    }

    /// Whether it has nothing to remember.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.p == 0.0 && self.count == 0 && self.next <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times =
        Times { target: Span::from_ms(5), interval: Span::from_ms(100), packet: Span::from_us(120) };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A delay of 20 ms, looked at each millisecond from 0 on: the first mark after 100 ms, the next after 100 / sqrt(2), then
    /// 100 / sqrt(3) ms: 100, 171, 229. Below the target the count falls by itself, and the next mark starts from less.
    #[test]
    fn marks_come_faster_until_the_delay_falls_and_the_count_decays() {
        let (mut cobalt, mut chance) = (Cobalt::default(), Chance::stream(1, "test", 0));
        let mut marks = Vec::new();
        for ms in 0..230 {
            let verdict = cobalt.decide(&TIMES, Ecn::Capable, Span::from_ms(20), at(ms), &mut chance);
            marks.extend((verdict == Verdict::Marked).then_some(ms));
        }
        assert_eq!((marks, cobalt.count), (vec![100, 171, 229], 4));
        // From 229 + 100 / sqrt(4) = 279 on one less each time: 279, 337, 408, 508.
        for (ms, count) in [(278, 4), (280, 3), (338, 2), (409, 1), (509, 0)] {
            cobalt.decide(&TIMES, Ecn::Capable, Span::from_ms(1), at(ms), &mut chance);
            assert_eq!(cobalt.count, count, "{ms}");
        }
    }

    /// A full queue counts at most once in 5 ms; 256 of them drop everything, an empty one takes a sixteenth of that back.
    #[test]
    fn blue_drops_what_overflows_the_queue() {
        let (mut cobalt, mut chance) = (Cobalt::default(), Chance::stream(1, "test", 0));
        (0..20).for_each(|ms| cobalt.on_full(&TIMES, at(100 + ms)));
        assert_eq!(cobalt.p, 4.0 / 256.0);
        (0..300).for_each(|n| cobalt.on_full(&TIMES, at(200 + 6 * n)));
        assert_eq!(cobalt.p, 1.0);
        let verdict = cobalt.decide(&TIMES, Ecn::Capable, Span::ZERO, at(3000), &mut chance);
        assert_eq!(verdict, Verdict::Dropped);
        cobalt.on_empty(&TIMES, at(3001));
        assert_eq!((cobalt.p, cobalt.is_at_rest(at(9000))), (1.0 - 1.0 / 4096.0, false));
    }
}
