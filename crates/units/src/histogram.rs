//! A histogram of spans whose buckets have a relative width of at most a 64th.

use crate::Span;

/// Buckets per doubling, as a power of two.
const PARTS_LOG2: u32 = 6;

/// Counts of spans by length.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    most: Span,
}

impl Histogram {
    /// Counts a span.
    #[inline(always)]
    pub fn add(&mut self, span: Span) {
        self.add_many(span, 1);
    }

    /// Counts `count` spans of that length.
    #[inline(always)]
    pub fn add_many(&mut self, span: Span, count: u64) {
        let bucket = bucket(span.as_ps());
        if bucket >= self.buckets.len() {
            self.reach(bucket);
        }
        self.buckets[bucket] += count;
        self.count += count;
        self.most = self.most.max(span);
    }

    /// Apart, since it is seldom needed.
    #[inline(never)]
    fn reach(&mut self, bucket: usize) {
        self.buckets.resize(bucket + 1, 0);
    }

    /// The number of counted spans.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest span.
    pub fn most(&self) -> Span {
        self.most
    }

    /// The memory that it takes, bytes.
    pub fn memory(&self) -> u64 {
        (self.buckets.capacity() * size_of::<u64>()) as u64
    }

    /// The length that a fraction `share` of all spans does not exceed, to a 64th; none if the histogram is empty.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        let (_, below, _) = self.buckets().find(|(_, _, count)| {
            counted += count;
            counted >= wanted
        })?;
        Some(below.min(self.most))
    }

    /// The buckets that have a count, ascending: the least span in it, the least above it, and the count.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, Span, u64)> {
        let spans = |bucket: usize| (Span::from_ps(least(bucket)), Span::from_ps(least(bucket + 1)));
        self.buckets.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(bucket, count)| {
            let (from, below) = spans(bucket);
            (from, below, *count)
        })
    }

    /// Counts per doubling: spans below each end and at least half of it.
    pub fn doublings(&self) -> Vec<(Span, u64)> {
        let mut doublings: Vec<(Span, u64)> = Vec::new();
        for (from, _, count) in self.buckets() {
            let end = Span::from_ps((from.as_ps() + 1).next_power_of_two());
            match doublings.last_mut() {
                Some((last, sum)) if *last == end => *sum += count,
                _ => doublings.push((end, count)),
            }
        }
        doublings
    }
}

/// The bucket of a span: one for each picosecond at first, then 64 per doubling.
#[inline(always)]
fn bucket(ps: u64) -> usize {
    let doublings = (ps | 1 << PARTS_LOG2).ilog2() - PARTS_LOG2;
    ((u64::from(doublings) << PARTS_LOG2) + (ps >> doublings)) as usize
}

/// The shortest span in a bucket, picoseconds.
fn least(bucket: usize) -> u64 {
    let (bucket, parts) = (bucket as u64, 1 << PARTS_LOG2);
    if bucket < parts {
        return bucket;
    }
    let doublings = bucket / parts - 1;
    (bucket % parts + parts) << doublings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_begins_where_the_one_before_it_ends_and_is_a_64th_wide() {
        let long =
            (0..57).flat_map(|doublings| [1 << doublings, (1 << doublings) * 3 / 2, (2 << doublings) - 1]);
        for ps in (0..100_000).chain(long) {
            let bucket = bucket(ps);
            let (from, below) = (least(bucket), least(bucket + 1));
            assert!(from <= ps && ps < below, "{ps}");
            assert!(below - from == 1 || (below - from) * 64 <= from, "{ps}");
        }
    }

    #[test]
    fn of_a_hundred_spans_of_one_to_a_hundred_microseconds_half_do_not_exceed_50() {
        let mut histogram = Histogram::default();
        (1..=99).for_each(|us| histogram.add(Span::from_us(us)));
        histogram.add_many(Span::from_us(100), 1);
        let half = histogram.quantile(0.5).expect("it is not empty");
        assert!(half >= Span::from_us(50) && half <= Span::from_ps(50_800_000), "{half}"); // 50 x 65/64 = 50.8
        assert_eq!(histogram.quantile(1.0), Some(Span::from_us(100)));
        assert_eq!((histogram.count(), histogram.most()), (100, Span::from_us(100)));
        assert_eq!(Histogram::default().quantile(0.5), None);
        // Below 2^20 ps, which are 1.05 us, there is 1, and then 2, 3 and 4, 5 to 8.
        let ends: Vec<(u64, u64)> =
            histogram.doublings().iter().map(|(end, count)| (end.as_ps() >> 20, *count)).collect();
        assert_eq!(ends, [(1, 1), (2, 1), (4, 2), (8, 4), (16, 8), (32, 17), (64, 34), (128, 33)]);
        assert_eq!(Histogram::default().doublings(), []);
    }
}
