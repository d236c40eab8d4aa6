//! The bins of NRED [NRED], as described in [XCP-TCP, 4.1]: a Bloom filter that counts.
//!
//! Levels of one-bit bins, each with a hash of its own. A packet sets its bin in every level; if one of them was
//! not set, its flow is new. After an interval all bins are cleared, and the count of that interval is the
//! estimate.

use fairhaul_units::{Chance, Time, mix, parameters};

// Unclear in [XCP-TCP, 4.1]: the numbers of bins and levels, and the interval. The bins take 4 KiB in all, a
// quarter of the memory of a thousand zombies: one of 28,000 flows is missed if there are 1000, and one of 14
// if there are 10,000. An interval of 1 s detects a flow that sends one packet per long round trip.
parameters! {
    /// The parameters of the bins.
    pub struct HashBinsRule {
        bins: Whole(1..=100_000_000) = 8192, "one-bit bins per level";
        levels: Whole(1..=16) = 4, "number of levels, each with its own hash function";
        interval: Seconds(1e-6..=1e6) = 1.0,
            "interval after which all bins are cleared; the reported number is that of the last complete interval";
    }
}

/// Bins and the count of the interval.
#[derive(Clone, Debug)]
pub struct HashBins {
    rule: HashBinsRule,
    /// Of one level after the other, 64 to a word.
    bits: Vec<u64>,
    /// What sets the hash of each level apart.
    keys: Vec<u64>,
    /// The number of the interval; none before the first packet.
    interval: Option<u64>,
    counted: u64,
    /// The count of the interval before; none while the first lasts.
    before: Option<u64>,
}

impl HashBins {
    pub(super) const TITLE: &'static str =
        "NRED's bins: counts packets that are the first in the interval to set their bit";
    pub(super) const SOURCE: &'static str = "NRED";

    /// Empty bins.
    pub fn new(rule: HashBinsRule, mut chance: Chance) -> HashBins {
        assert!(rule.bins > 0 && rule.levels > 0 && !rule.interval.is_zero(), "there are bins: {rule:?}");
        let bits = vec![0; (rule.bins * rule.levels).div_ceil(64) as usize];
        let keys = (0..rule.levels).map(|_| chance.below(u64::MAX)).collect();
        HashBins { rule, bits, keys, interval: None, counted: 0, before: None }
    }

    /// A packet of `flow` passes at `now`.
    #[inline]
    pub fn count_packet(&mut self, flow: u64, now: Time) {
        self.begin_interval(now);
        self.interval.get_or_insert(now.since(Time::ZERO) / self.rule.interval);
        let bins = self.rule.bins as usize;
        let mut new = false;
        for (level, key) in self.keys.iter().enumerate() {
            let within = (u128::from(mix(flow ^ key)) * bins as u128) >> 64;
            let bin = level * bins + within as usize;
            let bit = 1 << (bin % 64);
            new |= self.bits[bin / 64] & bit == 0;
            self.bits[bin / 64] |= bit;
        }
        self.counted += u64::from(new);
    }

    /// How many flows the last whole interval before `now` had; while the first lasts, how many so far.
    // Unclear in [XCP-TCP, 4.1]: which number is reported within an interval. That of the last complete
    // interval.
    pub fn flows(&mut self, now: Time) -> u64 {
        self.begin_interval(now);
        self.before.unwrap_or(self.counted)
    }

    /// Until when that number stands after `now`, while no packet passes.
    pub fn constant_until(&mut self, now: Time) -> Time {
        self.begin_interval(now);
        let Some(interval) = self.interval else { return Time::NEVER };
        // Behind an empty interval all others are empty, too.
        let silent = self.before == Some(0) && self.counted == 0;
        if silent { Time::NEVER } else { Time::ZERO + self.rule.interval * (interval + 1) }
    }

    /// Begins a new interval where `now` is in one.
    fn begin_interval(&mut self, now: Time) {
        let at = now.since(Time::ZERO) / self.rule.interval;
        let Some(interval) = self.interval.filter(|interval| *interval < at) else { return };
        self.before = Some(if interval + 1 == at { self.counted } else { 0 });
        self.interval = Some(at);
        self.counted = 0;
        self.bits.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::ZipfTraffic;
    use fairhaul_units::Span;

    fn bins(bins: u64, levels: u64, seed: u64) -> HashBins {
        let rule = HashBinsRule { bins, levels, interval: Span::from_s(1) };
        HashBins::new(rule, Chance::stream(seed, "count", 0))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// What n flows are counted as: flow i + 1 is new unless its bins, of which i flows have set each with
    /// probability 1 - exp(-i / P), are all set.
    fn expected(flows: u64, bins: f64, levels: i32) -> f64 {
        let missed = |i: u64| {
            let set = 1.0 - libm::exp(-(i as f64) / bins);
            (0..levels).map(|_| set).product::<f64>()
        };
        (0..flows).map(|i| 1.0 - missed(i)).sum()
    }

    #[test]
    fn flows_go_uncounted_as_often_as_other_flows_have_set_all_their_bins() {
        // 64 bins in 2 levels count 100 flows as 71, 256 in 3 as 99, 64 in one as 51. One count is off by at most
        // sqrt(100 / 4) = 5 on average, the mean over 400 keys by a quarter.
        for (size, levels, flows, about) in [(64, 2, 100, 70.9), (256, 3, 100, 99.0), (64, 1, 100, 51.0)] {
            let counted = |seed| {
                let mut bins = bins(size, levels, seed);
                (0..flows).for_each(|flow| bins.count_packet(flow, Time::ZERO));
                bins.flows(Time::ZERO) as f64
            };
            let mean = (0..400).map(counted).sum::<f64>() / 400.0;
            let wanted = expected(flows, size as f64, levels as i32);
            println!("{flows} flows, {size} x {levels}: {mean:.2} for {wanted:.2}");
            assert!((wanted - about).abs() < 1.0, "{wanted}");
            assert!((mean - wanted).abs() < 1.0, "{mean} for {wanted}");
        }
    }

    #[test]
    fn the_default_misses_one_flow_in_28_000_of_a_thousand_and_one_in_14_of_ten_thousand() {
        let missed = |flows: u64| 1.0 - expected(flows, 8192.0, 4) / flows as f64;
        assert!((1.0 / missed(1000) / 28_000.0 - 1.0).abs() < 0.03, "{}", missed(1000));
        assert!((1.0 / missed(10_000) / 14.0 - 1.0).abs() < 0.03, "{}", missed(10_000));
    }

    #[test]
    fn a_flow_counts_once_however_much_it_sends() {
        let mut bins = bins(1024, 4, 1);
        let shares = ZipfTraffic::weights(20, 1.0);
        let mut traffic = ZipfTraffic::new(&shares, Span::from_us(1), Chance::stream(1, "crowd", 0));
        for _ in 0..10_000 {
            let (flow, now) = traffic.packet();
            bins.count_packet(flow, now);
        }
        // None of 20 goes uncounted but with probability 20 x (20 / 1024)^4.
        assert_eq!(bins.flows(at(10)), 20);
    }

    #[test]
    fn the_answer_is_that_of_the_last_whole_interval() {
        let mut bins = bins(1024, 4, 1);
        (0..3).for_each(|flow| bins.count_packet(flow, at(5100)));
        assert_eq!(bins.flows(at(5999)), 3); // the first has not ended
        bins.count_packet(9, at(6000));
        assert_eq!((bins.flows(at(6000)), bins.flows(at(6999))), (3, 3));
        assert_eq!((bins.flows(at(7000)), bins.flows(at(8000))), (1, 0));
        bins.count_packet(9, at(20_000));
        assert_eq!(bins.flows(at(20_000)), 0); // nobody sent in the 19th second
    }
}
