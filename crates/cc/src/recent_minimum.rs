//! The smallest round-trip time of the recent past, in a few equal parts of it.

use std::collections::VecDeque;

use fairhaul_units::{Span, Time};

/// The smallest values of the last `parts` parts of time, the present one included.
#[derive(Clone, Debug)]
pub(crate) struct RecentMinimum {
    parts: usize,
    /// When the present part began.
    began: Time,
    /// The smallest value of each part, oldest first; a part without a value has that of the part before.
    minima: VecDeque<Span>,
}

impl RecentMinimum {
    pub(crate) fn new(parts: usize) -> RecentMinimum {
        RecentMinimum { parts, began: Time::ZERO, minima: VecDeque::with_capacity(parts + 1) }
    }

    /// Takes a value, where a part lasts `part` from now on. Gives the smallest one.
    pub(crate) fn take(&mut self, now: Time, value: Span, part: Span) -> Span {
        let over = now.since(self.began.min(now)) / part.max(Span::from_ps(1));
        if self.minima.is_empty() || over >= self.parts as u64 {
            self.minima.clear();
            self.began = now;
        } else {
            for _ in 0..over {
                self.minima.extend(self.minima.back().copied());
            }
            self.began += part * over;
        }
        match self.minima.back_mut() {
            Some(last) if over == 0 => *last = value.min(*last),
            Some(last) => *last = value,
            None => self.minima.push_back(value),
        }
        while self.minima.len() > self.parts {
            self.minima.pop_front();
        }
        self.minima.iter().copied().min().expect("a value has just been taken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three parts of 10 ms: 5 ms, taken at 0, counts until 29 ms, then what was taken since.
    #[test]
    fn a_value_counts_for_its_part_and_those_that_follow_it() {
        let mut recent = RecentMinimum::new(3);
        let mut take = |now_ms, value_ms| {
            let now = Time::ZERO + Span::from_ms(now_ms);
            recent.take(now, Span::from_ms(value_ms), Span::from_ms(10))
        };
        let smallest =
            [(0, 5), (9, 8), (12, 7), (29, 9), (31, 9), (45, 9), (100, 20)].map(|(now, v)| take(now, v));
        assert_eq!(smallest, [5, 5, 5, 5, 7, 9, 20].map(Span::from_ms));
    }
}
