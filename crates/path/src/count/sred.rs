//! The zombie list of SRED [SRED], as the XCP-TCP router uses it [XCP-TCP, 4.1], with the corrections that such a
//! router needs.
//!
//! A list of flows that sent recently. A packet is compared with one entry at random; if both are of the same flow,
//! that is a hit, otherwise the entry may be overwritten. Flows that send equally hit with probability 1/N, so the
//! inverse of the share of hits counts them.

use fairhaul_units::{Chance, Span, Time, parameters, words};

words! {
    /// What happens to packets while the list fills.
    pub enum ListFill {
        /// They are compared with the entries so far.
        AtOnce = "at once",
        /// Nothing, as in the source.
        Literal = "literal",
    }

    /// Where the average of hits begins.
    pub enum AverageStart {
        /// At zero, of which it is freed.
        Corrected = "corrected",
        /// At zero, as in the source.
        Literal = "literal",
    }
}

parameters! {
    /// The length of a zombie list, and how fast it and the average of hits follow the packets.
    pub struct ListRule {
        entries: Whole(1..=10_000_000) = 1000,
            "length of the zombie list, which is the largest number of flows that can be counted [SRED]";
        overwrite: Number(1e-9..=1.0) = 0.25,
            "probability that a zombie is overwritten by a packet that did not match it [SRED]";
        weight: Number(1e-9..=1.0) = 0.001, "weight of one comparison in the average hit rate [SRED]";
    }

    /// How a zombie list and the average of hits begins.
    pub struct ListStart {
        fill: Word(ListFill) = ListFill::AtOnce,
            "while the list fills: compare packets with the entries so far, or compare nothing as in the source";
        start: Word(AverageStart) = AverageStart::Corrected,
            "average hit rate: corrected for its initial value of zero, or uncorrected as in the source";
    }

    /// The parameters of a zombie list.
    pub struct ZombieRule {
        list: Parameters(ListRule), "its length and weights";
        inspect: Number(1e-9..=1.0) = 1.0,
            "fraction of packets that is inspected, sampled at random [XCP-TCP]";
        begin: Parameters(ListStart), "how it begins";
        stale: Seconds(0.0..=1e6) = 1.0,
            "after this time without a packet the number of flows is 0; 0: the last number is kept";
    }
}

impl ZombieRule {
    fn assert(&self) {
        let shares = [self.list.overwrite, self.list.weight, self.inspect];
        assert!(self.list.entries > 0, "a list of zombies has room for one");
        assert!(shares.iter().all(|share| *share > 0.0 && *share <= 1.0), "shares lie in (0, 1]: {self:?}");
    }
}

/// One entry: a flow, and how often it was hit since it came.
// Differs from [SRED]: an entry has no time stamp; the source stores one and does not use it.
#[derive(Clone, Copy, Debug)]
struct Zombie {
    flow: u64,
    count: u32,
}

/// A zombie list and the share of hits.
#[derive(Clone, Debug)]
pub struct Zombies {
    rule: ZombieRule,
    list: Vec<Zombie>,
    /// The average of hits, which begins at zero.
    average: f64,
    /// What the same average of ones is: the weight of all comparisons so far.
    weighed: f64,
    last: Option<Time>,
    chance: Chance,
}

impl Zombies {
    pub(super) const TITLE: &'static str =
        "SRED's zombie list: the inverse of the fraction of packets that match an entry of their own flow";
    pub(super) const SOURCE: &'static str = "SRED";

    /// An empty list.
    pub fn new(rule: ZombieRule, chance: Chance) -> Zombies {
        rule.assert();
        let weighed = match rule.begin.start {
            AverageStart::Corrected => 0.0,
            AverageStart::Literal => 1.0,
        };
        Zombies { rule, list: Vec::new(), average: 0.0, weighed, last: None, chance }
    }

    /// A packet of `flow` passes at `now`; whether it was a hit.
    #[inline]
    pub fn count_packet(&mut self, flow: u64, now: Time) -> bool {
        self.last = Some(now);
        if self.rule.inspect < 1.0 && !self.chance.hits(self.rule.inspect) {
            return false;
        }
        let full = self.list.len() as u64 == self.rule.list.entries;
        // Differs from [SRED]: the source compares nothing before the list is full, as here with `fill =
        // "literal"`. A flow of one packet per round trip would be detected after a thousand of them.
        let compares = match self.rule.begin.fill {
            ListFill::AtOnce => !self.list.is_empty(),
            ListFill::Literal => full,
        };
        let hit = compares && self.compare(flow, full);
        if !full {
            self.list.push(Zombie { flow, count: 0 });
        }
        hit
    }

    /// Compares a packet of `flow` with an entry at random.
    fn compare(&mut self, flow: u64, full: bool) -> bool {
        let at = self.chance.below(self.list.len() as u64) as usize;
        let zombie = &mut self.list[at];
        let hit = zombie.flow == flow;
        if hit {
            zombie.count = zombie.count.saturating_add(1);
        } else if full && self.chance.hits(self.rule.list.overwrite) {
            *zombie = Zombie { flow, count: 0 };
        }
        let weight = self.rule.list.weight;
        self.average += weight * (f64::from(u8::from(hit)) - self.average);
        self.weighed += weight * (1.0 - self.weighed);
        hit
    }

    /// The share of comparisons that were hits, P(t) of the source; zero where there was none.
    // Differs from [SRED]: in the source P(t) begins at zero, as here with `start = "literal"`, so that the
    // number of flows is too high at first. Divided by 1 - (1 - a)^n, where n is the number of comparisons so
    // far, its mean is right from the first one on.
    pub fn share_of_hits(&self) -> f64 {
        if self.weighed > 0.0 { self.average / self.weighed } else { 0.0 }
    }

    /// How many flows there are at `now`, 1/P(t): at least one and at most as many as there are entries
    /// with a flow in them; 0 where none has sent, or not lately.
    // Unclear in [XCP-TCP]: the number of flows while P(t) is 0, and when a class of flows stops sending. The
    // number is at most the length of the list, and 0 after `stale` without a packet.
    pub fn flows(&self, now: Time) -> f64 {
        let Some(last) = self.last else { return 0.0 };
        if !self.rule.stale.is_zero() && now.since(last) > self.rule.stale {
            return 0.0;
        }
        (1.0 / self.share_of_hits()).clamp(1.0, self.list.len().max(1) as f64)
    }

    /// Until when that number stands after `now`, while no packet passes.
    pub fn constant_until(&self, now: Time) -> Time {
        let fresh = self.last.filter(|last| now.since(*last) <= self.rule.stale);
        match fresh {
            Some(last) if !self.rule.stale.is_zero() => last + self.rule.stale + Span::from_ps(1),
            _ => Time::NEVER,
        }
    }

    /// The sum over the entries of `flow` of one and of how often each was hit: large for a flow that sends
    /// more than others. It looks at the whole list, so it is not for every packet.
    pub fn occurrence(&self, flow: u64) -> u64 {
        let its = self.list.iter().filter(|zombie| zombie.flow == flow);
        its.map(|zombie| u64::from(zombie.count) + 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::ZipfTraffic;

    const RULE: ZombieRule = ZombieRule {
        list: ListRule { entries: 1000, overwrite: 0.25, weight: 0.001 },
        inspect: 1.0,
        begin: ListStart { fill: ListFill::AtOnce, start: AverageStart::Corrected },
        stale: Span::ZERO,
    };
    const LITERAL: ListStart = ListStart { fill: ListFill::Literal, start: AverageStart::Literal };

    /// The answer of `read` after `packets` packets of flows of those weights, for each of `runs` seeds.
    fn after(
        rule: ZombieRule,
        weights: &[f64],
        packets: u64,
        runs: u64,
        read: impl Fn(&Zombies) -> f64,
    ) -> Vec<f64> {
        let one = |seed| {
            let mut zombies = Zombies::new(rule, Chance::stream(seed, "zombies", 0));
            let mut traffic = ZipfTraffic::new(weights, Span::from_us(10), Chance::stream(seed, "crowd", 0));
            for _ in 0..packets {
                let (flow, now) = traffic.packet();
                zombies.count_packet(flow, now);
            }
            read(&zombies)
        };
        (0..runs).map(one).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn deviation(values: &[f64]) -> f64 {
        let mean = mean(values);
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        libm::sqrt(squares / (values.len() - 1) as f64)
    }

    fn flows(zombies: &Zombies) -> f64 {
        zombies.flows(Time::NEVER)
    }

    #[test]
    fn equal_flows_hit_with_one_over_their_number_and_the_noise_is_that_of_the_average() {
        // Of an average with weight a over independent hits of probability 1/N the relative deviation is
        // sqrt(a / 2 (N - 1)): 2.2, 6.7, 22 %. The mean of 1/P is more by the square of that.
        for (number, noise) in [(2.0, 0.022), (10.0, 0.067), (100.0, 0.222)] {
            let weights = vec![1.0; number as usize];
            let found = after(RULE, &weights, 8000, 400, Zombies::share_of_hits);
            let (off, sd) = (mean(&found) * number - 1.0, deviation(&found) * number);
            let estimate = mean(&after(RULE, &weights, 8000, 400, flows)) / number;
            println!("{number} flows: E[P] N - 1 = {off:.4}, noise {sd:.4}, E[1/P] / N = {estimate:.4}");
            assert!(off.abs() < 4.0 * noise / 20.0, "{number}: {off}");
            assert!((sd / noise - 1.0).abs() < 0.15, "{number}: {sd} for {noise}");
            assert!(
                (estimate - 1.0 - noise * noise).abs() < 4.0 * noise / 20.0 + noise * noise,
                "{estimate}"
            );
        }
    }

    #[test]
    fn unequal_flows_hit_with_the_sum_of_the_squares_of_their_shares() {
        // One that sends as much as ten others: 1/4 + 10 / 400 = 0.275, which is 3.6 flows of 11. Under Zipf's
        // law 20 flows are (sum of 1/k)^2 / (sum of 1/k^2) = 3.598^2 / 1.596 = 8.1.
        let mut one_in_ten = vec![1.0; 10];
        one_in_ten.push(10.0);
        for (weights, seem) in [(one_in_ten, 3.64), (ZipfTraffic::weights(20, 1.0), 8.11)] {
            let found = 1.0 / mean(&after(RULE, &weights, 8000, 400, Zombies::share_of_hits));
            assert!((found / seem - 1.0).abs() < 0.02, "{found} for {seem}");
        }
    }

    #[test]
    fn from_zero_the_average_settles_by_63_per_cent_in_a_thousand_comparisons() {
        // 4 flows; 1 - exp(-1) and 1 - exp(-3) of 1/4. Literal: the list fills first, with nothing compared.
        let literal = ZombieRule { begin: LITERAL, ..RULE };
        for (packets, share) in [(1000, 0.632), (3000, 0.950)] {
            let found = mean(&after(literal, &[1.0; 4], 1000 + packets, 400, Zombies::share_of_hits));
            assert!((found * 4.0 - share).abs() < 0.02, "{packets}: {}", found * 4.0);
        }
        assert_eq!(mean(&after(literal, &[1.0; 4], 1000, 10, Zombies::share_of_hits)), 0.0);
        assert_eq!(mean(&after(literal, &[1.0; 4], 1000, 10, flows)), 1000.0);
        // Mended: right from the beginning, if noisy: after 50 comparisons sqrt(3 / 50) of it.
        let found = mean(&after(RULE, &[1.0; 4], 51, 400, Zombies::share_of_hits)) * 4.0;
        assert!((found - 1.0).abs() < 4.0 * 0.245 / 20.0, "{found}");
    }

    #[test]
    fn stopped_flows_leave_the_list_within_four_thousand_packets() {
        // Of 4 flows 2 go. Their half of the list decays with 4000 packets, the average follows with 1000: after
        // n packets P = 1/2 - 1/4 (4/3 exp(-n / 4000) - 1/3 exp(-n / 1000)); for n = 4000 that is 0.379.
        let one = |seed| {
            let mut zombies = Zombies::new(RULE, Chance::stream(seed, "zombies", 0));
            let mut chance = Chance::stream(seed, "crowd", 0);
            (0..8000).for_each(|_| {
                zombies.count_packet(chance.below(4), Time::ZERO);
            });
            (0..4000).for_each(|_| {
                zombies.count_packet(chance.below(2), Time::ZERO);
            });
            zombies.share_of_hits()
        };
        let found = mean(&(0..400).map(one).collect::<Vec<_>>());
        assert!((found / 0.379 - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn a_thousand_flows_are_estimated_as_854_and_ten_thousand_as_a_thousand() {
        // Hits of 1000 flows are so rare that the average is a shot noise of mean a m, m = 1 / (a N) = 1, with the
        // density exp(-0.5772) rho(x) of P = a x, where rho is Dickman's function. Below x = 1 the answer is 1000, above
        // 1000 / x: 0.5615 (1 + integral of rho(x) / x from 1 on) = 0.5615 x 1.522 = 0.854. For 10,000, m = 0.1 and P < a with
        // probability exp(-0.0577) / Gamma(1.1) = 0.992; the others are estimated almost exactly.
        let estimate = |number| {
            let weights = vec![1.0; number];
            mean(&after(RULE, &weights, 20_000, 400, flows))
        };
        let (thousand, ten) = (estimate(1000), estimate(10_000));
        println!("1000 flows: {thousand:.0}, 10,000 flows: {ten:.0}");
        // The deviation of one is 230.
        assert!((thousand - 854.0).abs() < 4.0 * 230.0 / 20.0, "{thousand}");
        assert!((ten - 996.0).abs() < 10.0, "{ten}");
    }

    #[test]
    fn inspecting_half_of_the_packets_takes_twice_as_long() {
        let half = ZombieRule { inspect: 0.5, ..RULE };
        let found = after(half, &[1.0; 10], 16_000, 400, Zombies::share_of_hits);
        assert!((mean(&found) * 10.0 - 1.0).abs() < 4.0 * 0.067 / 20.0);
        assert!((deviation(&found) * 10.0 / 0.067 - 1.0).abs() < 0.15);
        let literal = ZombieRule { begin: LITERAL, ..half };
        // The list takes 2000 packets to fill, and 63 % are reached after 2000 more.
        let found = mean(&after(literal, &[1.0; 4], 4000, 400, Zombies::share_of_hits));
        assert!((found * 4.0 - 0.632).abs() < 0.03, "{}", found * 4.0);
    }

    #[test]
    fn a_class_that_falls_silent_has_no_flows_until_it_sends_again() {
        let rule = ZombieRule { stale: Span::from_s(1), ..RULE };
        let mut zombies = Zombies::new(rule, Chance::stream(1, "zombies", 0));
        (0..100).for_each(|_| {
            zombies.count_packet(5, Time::ZERO);
        });
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        assert_eq!([0, 1000, 1001].map(|ms| zombies.flows(at(ms))), [1.0, 1.0, 0.0]);
        zombies.count_packet(5, at(5000));
        assert_eq!(zombies.flows(at(5000)), 1.0);
    }

    #[test]
    fn an_entry_counts_one_and_its_hits() {
        // One flow, two entries: the first packet has nothing to meet, the second hits and fills the list, the
        // third and fourth hit: 2 + 3.
        let rule = ZombieRule { list: ListRule { entries: 2, ..RULE.list }, ..RULE };
        let mut zombies = Zombies::new(rule, Chance::stream(1, "zombies", 0));
        assert_eq!([0; 4].map(|_| zombies.count_packet(3, Time::ZERO)), [false, true, true, true]);
        assert_eq!((zombies.occurrence(3), zombies.occurrence(4)), (5, 0));
    }
}
