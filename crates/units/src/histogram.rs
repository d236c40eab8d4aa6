//! A histogram of spans whose buckets have a relative width of at most a 64th.

use crate::Span;

/// Buckets per doubling, as a power of two.
const PARTS_LOG2: u32 = 6;

/// Counts of spans by length.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    counts_nothing: bool,
}

impl Histogram {
    /// One that stays empty, whatever it is given.
    pub fn that_counts_nothing() -> Histogram {
        Histogram { buckets: Vec::new(), counts_nothing: true }
    }

    /// Counts `count` spans of that length.
    #[inline(always)]
    pub fn add(&mut self, span: Span, count: u64) {
        let bucket = bucket(span.as_ps());
        match self.buckets.get_mut(bucket) {
            Some(counted) => *counted += count,
            None => self.add_first(bucket, count),
        }
    }

    /// Counts `count` spans, each of them longer by `more` than the one before; the first is `first`.
    pub fn add_all(&mut self, first: Span, more: Span, count: u8) {
        let (mut ps, more, mut left) = (first.as_ps(), more.as_ps(), u64::from(count));
        while left > 0 {
            let room = least(bucket(ps) + 1).saturating_sub(ps + 1);
            let here = room.checked_div(more).map_or(left, |others| left.min(others + 1));
            self.add(Span::from_ps(ps), here);
            (ps, left) = (ps + here * more, left - here);
        }
    }

    /// Apart, since it is seldom needed.
    #[inline(never)]
    fn add_first(&mut self, bucket: usize, count: u64) {
        if self.counts_nothing {
            return;
        }
        self.buckets.resize(bucket + 1, 0);
        self.buckets[bucket] += count;
    }

    /// Forgets all counts.
    pub fn clear(&mut self) {
        self.buckets.clear();
    }

    /// The number of counted spans.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The memory that it takes, bytes.
    pub fn memory(&self) -> u64 {
        (self.buckets.capacity() * size_of::<u64>()) as u64
    }

    /// The buckets that have a count, ascending: the least span in it, the least above it, and the count.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, Span, u64)> {
        let spans = |bucket: usize| (Span::from_ps(least(bucket)), Span::from_ps(least(bucket + 1)));
        self.buckets.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(bucket, count)| {
            let (from, below) = spans(bucket);
            (from, below, *count)
        })
    }
}

/// The bucket of a span: one up to a picosecond, then 64 per doubling. The first bits of a number with a point are its
/// doubling, and the 64th in it.
#[inline(always)]
fn bucket(ps: u64) -> usize {
    let bits = (ps.max(1) as i64 as f64).to_bits();
    ((bits - 1f64.to_bits()) >> (f64::MANTISSA_DIGITS - 1 - PARTS_LOG2)) as usize
}

/// The shortest span in a bucket, picoseconds.
fn least(bucket: usize) -> u64 {
    if bucket == 0 {
        return 0;
    }
    let bits = 1f64.to_bits() + ((bucket as u64) << (f64::MANTISSA_DIGITS - 1 - PARTS_LOG2));
    f64::from_bits(bits).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_where_the_one_before_it_ends_and_is_a_64th_wide() {
        let long =
            (0..52).flat_map(|doublings| [1 << doublings, (1 << doublings) * 3 / 2, (2 << doublings) - 1]);
        for ps in (0..100_000).chain(long) {
            let bucket = bucket(ps);
            let (from, below) = (least(bucket), least(bucket + 1));
            assert!(from <= ps && ps < below, "{ps}");
            assert!(below - from == 1 || (below - from) * 64 <= from || bucket == 0, "{ps}");
        }
    }

    #[test]
    fn spans_that_become_longer_are_counted_as_one_by_one() {
        for (first, more, count) in
            [(1_000, 0, 200), (1_000, 1, 45), (90_000, 777, 45), (0, 1, 255), (5, 1 << 40, 3)]
        {
            let (mut all, mut each) = (Histogram::default(), Histogram::default());
            all.add_all(Span::from_ps(first), Span::from_ps(more), count);
            (0..u64::from(count)).for_each(|place| each.add(Span::from_ps(first + place * more), 1));
            assert!(all.buckets().eq(each.buckets()), "{first} {more} {count}");
        }
    }

    #[test]
    fn spans_are_counted_in_their_buckets_until_they_are_forgotten() {
        let mut histogram = Histogram::default();
        for (ps, count) in [(130, 2), (5, 1), (131, 1), (132, 4)] {
            histogram.add(Span::from_ps(ps), count);
        }
        let rows: Vec<_> =
            histogram.buckets().map(|(from, below, n)| (from.as_ps(), below.as_ps(), n)).collect();
        assert_eq!(rows, [(5, 6, 1), (130, 132, 3), (132, 134, 4)]);
        assert_eq!(histogram.count(), 8);
        histogram.clear();
        let mut nothing = Histogram::that_counts_nothing();
        nothing.add(Span::from_ps(5), 1);
        assert_eq!((histogram.count(), nothing.count(), nothing.memory()), (0, 0, 0));
    }
}
