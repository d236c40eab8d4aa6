//! A windowed maximum: the largest value of the last rounds or cycles [BBR].

use std::collections::VecDeque;

/// The largest of the values of the last `counts` counts, the present one included.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMax {
    counts: u64,
    /// With their counts: each larger than all that came after it, so that there is at most one of
    /// each count, and the first is the largest.
    best: VecDeque<(u64, f64)>,
}

impl WindowedMax {
    pub(crate) fn new(counts: u64) -> WindowedMax {
        WindowedMax { counts, best: VecDeque::with_capacity(counts as usize + 1) }
    }

    /// The largest value; zero before there is one.
    pub(crate) fn largest(&self) -> f64 {
        self.best.front().map_or(0.0, |best| best.1)
    }

    /// Forgets all.
    pub(crate) fn forget(&mut self) {
        self.best.clear();
    }

    /// Takes the value at `count`, which never goes back.
    pub(crate) fn take(&mut self, count: u64, value: f64) {
        while self.best.back().is_some_and(|best| best.1 <= value) {
            self.best.pop_back();
        }
        if self.best.back().is_none_or(|best| best.0 < count) {
            self.best.push_back((count, value));
        }
        while self.best[0].0 + self.counts <= count {
            self.best.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_largest_of_the_last_three_counts() {
        let mut filter = WindowedMax::new(3);
        let values = [(0, 5.0), (0, 9.0), (1, 4.0), (1, 6.0), (2, 5.0), (3, 1.0), (4, 2.0), (5, 3.0)];
        let largest = values.map(|(count, value)| {
            filter.take(count, value);
            filter.largest()
        });
        assert_eq!(largest, [5.0, 9.0, 9.0, 9.0, 9.0, 6.0, 5.0, 3.0]);
    }

    #[test]
    fn it_holds_no_more_than_one_value_of_each_count() {
        let mut filter = WindowedMax::new(10);
        (0..1000).for_each(|n| filter.take(n / 7, 1000.0 - n as f64));
        assert_eq!((filter.best.len(), filter.largest()), (10, 1000.0 - 7.0 * 133.0));
    }
}
