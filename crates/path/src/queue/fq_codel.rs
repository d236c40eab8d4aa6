//! FQ-CoDel [RFC 8290]: connections are sorted into buckets, which take turns by bytes, each under
//! a CoDel of its own; a bucket that was empty goes before those with a standing queue.

use std::cmp::Reverse;
use std::collections::VecDeque;

use fairhaul_units::{Bytes, Gauge, Parameter, Settings, Time, parameters, real};

use super::codel::{self, Codel, CodelRule, Queued};
use super::{Refusal, Site, Variant};
use crate::steps::count_step;

parameters! {
    /// The parameters of FQ-CoDel.
    pub struct FqCodelRule {
        codel: Parameters(CodelRule), "those of the CoDel of each bucket";
        quantum: Whole(0..=64_000) = 0,
            "bytes that a bucket may send per round of the scheduler; 0: the largest packet of the scenario [RFC 8290]";
        buckets as "flows": Whole(1..=65_536) = 1024,
            "number of buckets among which connections are distributed [RFC 8290]";
    }
}

/// Deficit round robin over buckets.
#[derive(Clone, Debug)]
pub struct FqCodel<T> {
    buckets: Vec<Bucket<T>>,
    /// Buckets that had been empty, and buckets that have had a turn; each in order.
    fresh: VecDeque<u32>,
    standing: VecDeque<u32>,
    /// The packet that came when none waited.
    direct: Option<Queued<T>>,
    /// How many wait, that one included.
    packets: u64,
    /// What waits in the buckets.
    bytes: Bytes,
    /// Which bucket holds most bytes, once that was asked with many buckets in the lists.
    fattest: Option<Fattest>,
}

/// As long as no more buckets than this are in the lists, the one that holds most is looked for in them.
const FEW: usize = 32;

/// A tree of maxima over the bytes of all buckets: node n stands above 2 n and 2 n + 1, the root is 1.
#[derive(Clone, Debug)]
struct Fattest {
    bytes: Vec<u64>,
    /// The node of the first bucket.
    first: usize,
}

impl Fattest {
    fn of<T>(buckets: &[Bucket<T>]) -> Fattest {
        let first = buckets.len().next_power_of_two();
        let mut bytes = vec![0; 2 * first];
        bytes[first..].iter_mut().zip(buckets).for_each(|(leaf, bucket)| *leaf = bucket.queue.bytes().0);
        for node in (1..first).rev() {
            count_step();
            bytes[node] = bytes[2 * node].max(bytes[2 * node + 1]);
        }
        Fattest { bytes, first }
    }

    /// A bucket holds that many bytes.
    fn set(&mut self, index: u32, bytes: u64) {
        let mut node = self.first + index as usize;
        self.bytes[node] = bytes;
        while node > 1 {
            count_step();
            node /= 2;
            let most = self.bytes[2 * node].max(self.bytes[2 * node + 1]);
            if std::mem::replace(&mut self.bytes[node], most) == most {
                break;
            }
        }
    }

    /// The bucket that holds most; of equals the first.
    fn bucket(&self) -> usize {
        let mut node = 1;
        while node < self.first {
            count_step();
            node *= 2;
            node += usize::from(self.bytes[node] < self.bytes[node + 1]);
        }
        node - self.first
    }
}

#[derive(Clone, Debug)]
struct Bucket<T> {
    queue: Codel<T>,
    /// Bytes that it may yet send in its turn.
    credit: i64,
    /// Whether it is in a list.
    listed: bool,
}

impl FqCodel<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "FQ-CoDel: fair queueing of connections, each with its own CoDel; sparse ones have priority";
    pub(super) const SOURCE: &'static str = "RFC 8290";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = FqCodelRule::LIST;
    pub(super) const GAUGES: [Gauge; 2] = [
        Gauge { name: "backlogged_buckets", unit: "buckets", help: "number of buckets with waiting packets" },
        Gauge {
            name: "dropping_buckets",
            unit: "buckets",
            help: "number of those whose CoDel is in the dropping state",
        },
    ];
}

/// A quantum is a largest packet, so that it is used up by one.
// Differs from [RFC 8290, 5.2.4]: the default of 1514 bytes there is a packet of 1500 bytes with its Ethernet header, which
// no packet has here.
pub(super) fn resolve(settings: &mut Settings, site: &Site, largest: Bytes) -> Result<(), Refusal> {
    settings.set_automatic("quantum", real(largest.0));
    codel::resolve(settings, site, largest)
}

impl<T> FqCodel<T> {
    /// Empty buckets.
    pub fn new(rule: &FqCodelRule) -> FqCodel<T> {
        let bucket = || Bucket { queue: Codel::default(), credit: 0, listed: false };
        FqCodel {
            buckets: (0..rule.buckets).map(|_| bucket()).collect(),
            fresh: VecDeque::new(),
            standing: VecDeque::new(),
            direct: None,
            packets: 0,
            bytes: Bytes(0),
            fattest: None,
        }
    }

    /// How many wait in all.
    pub fn len(&self) -> usize {
        self.packets as usize
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The packets that wait, bucket by bucket.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.direct.iter().chain(self.buckets.iter().flat_map(|bucket| bucket.queue.iter()))
    }

    /// What its gauges show.
    pub(crate) fn gauges(&self) -> [f64; 2] {
        // A bucket in which a packet waits is in one of the lists.
        let listed =
            self.fresh.iter().chain(&self.standing).map(|index| &self.buckets[*index as usize].queue);
        let backlogged: Vec<bool> =
            listed.filter(|queue| !queue.is_empty()).map(|queue| queue.is_dropping()).collect();
        [backlogged.len() as f64, backlogged.iter().filter(|dropping| **dropping).count() as f64]
    }

    /// Takes a packet that finds none waiting: it leaves next, whatever its bucket has sent.
    // Differs from [RFC 8290, 4.1]: a packet that finds none waiting is put into no bucket, and takes no credit, as in Linux
    // (TCQ_F_CAN_BYPASS).
    #[inline(always)]
    pub fn push_direct(&mut self, queued: Queued<T>) {
        (self.direct, self.packets) = (Some(queued), 1);
    }

    /// Puts a packet of connection `flow` behind the others of its bucket.
    #[inline(always)]
    pub fn push(&mut self, rule: &FqCodelRule, flow: u32, queued: Queued<T>) {
        let index = bucket_of(flow, rule.buckets);
        let bucket = &mut self.buckets[index as usize];
        self.bytes += Bytes(queued.size.into());
        bucket.queue.push(queued);
        if let Some(fattest) = &mut self.fattest {
            fattest.set(index, bucket.queue.bytes().0);
        }
        self.packets += 1;
        if !bucket.listed {
            (bucket.listed, bucket.credit) = (true, rule.quantum as i64);
            self.fresh.push_back(index);
        }
    }

    /// The first packet of the bucket that holds most bytes; of equals the first bucket.
    // Differs from [LINUX]: one packet is dropped at a time; Linux drops up to 64, to search for the bucket
    // less often.
    pub fn pop_fattest(&mut self) -> Option<Queued<T>> {
        let few = self.fresh.len() + self.standing.len() <= FEW;
        let index = match &self.fattest {
            None if few => {
                // A bucket in which a packet waits is in one of the lists.
                let listed = self.fresh.iter().chain(&self.standing).copied();
                let bytes_of = |index: u32| {
                    count_step();
                    self.buckets[index as usize].queue.bytes()
                };
                let Some(most) = listed.max_by_key(|&index| (bytes_of(index), Reverse(index))) else {
                    return self.pop_direct();
                };
                most
            }
            _ => self.fattest.get_or_insert_with(|| Fattest::of(&self.buckets)).bucket() as u32,
        };
        let queue = &mut self.buckets[index as usize].queue;
        let Some(queued) = queue.pop() else { return self.pop_direct() };
        if let Some(fattest) = &mut self.fattest {
            fattest.set(index, queue.bytes().0);
        }
        self.packets -= 1;
        self.bytes = self.bytes - Bytes(queued.size.into());
        Some(queued)
    }

    #[inline(always)]
    fn pop_direct(&mut self) -> Option<Queued<T>> {
        let direct = self.direct.take()?;
        self.packets -= 1;
        Some(direct)
    }

    /// All buckets are empty: each has had its turns, and is in no list.
    fn on_empty(&mut self) {
        self.fattest = None;
        for index in self.fresh.drain(..).chain(self.standing.drain(..)) {
            let bucket = &mut self.buckets[index as usize];
            bucket.queue.on_empty();
            bucket.listed = false;
        }
    }

    /// The packet that is to be sent at `now`, and whether it was marked instead of dropped; the packets
    /// dropped before it go to `dropped`.
    #[inline(always)]
    pub fn next(
        &mut self,
        rule: &FqCodelRule,
        now: Time,
        dropped: &mut Vec<Queued<T>>,
    ) -> Option<(Queued<T>, bool)> {
        if self.packets == 0 {
            self.on_empty();
            return None;
        }
        if let Some(direct) = self.pop_direct() {
            return Some((direct, false));
        }
        // How many buckets in a row have had no credit.
        let mut passed = 0;
        loop {
            count_step();
            let is_fresh = !self.fresh.is_empty();
            let list = if is_fresh { &mut self.fresh } else { &mut self.standing };
            let index = *list.front()?;
            let bucket = &mut self.buckets[index as usize];
            // Unclear in [RFC 8290, 4.2]: whether a credit of exactly zero is used up: by the text it is not,
            // although a whole quantum has been sent. Here it is, as in Linux.
            if bucket.credit <= 0 {
                bucket.credit += rule.quantum as i64;
                list.pop_front();
                self.standing.push_back(index);
                passed += 1;
                if passed >= self.standing.len() && self.fresh.is_empty() {
                    self.skip_rounds(rule.quantum as i64);
                    passed = 0;
                }
                continue;
            }
            passed = 0;
            let before = (bucket.queue.len(), bucket.queue.bytes());
            let others = match rule.codel.variant {
                Variant::Rfc => Bytes(0),
                Variant::Linux => self.bytes - before.1,
            };
            let next = bucket.queue.next(&rule.codel, others, now, dropped);
            self.packets -= (before.0 - bucket.queue.len()) as u64;
            self.bytes = self.bytes - (before.1 - bucket.queue.bytes());
            if let Some(fattest) = &mut self.fattest {
                fattest.set(index, bucket.queue.bytes().0);
            }
            if let Some((queued, marked)) = next {
                bucket.credit -= i64::from(queued.size);
                return Some((queued, marked));
            }
            list.pop_front();
            if is_fresh {
                // One turn among the others, lest it be fresh again at once.
                self.standing.push_back(index);
            } else {
                bucket.listed = false;
            }
        }
    }
}

impl<T> FqCodel<T> {
    /// Adds at once the credit of as many rounds as pass before a standing bucket has any.
    fn skip_rounds(&mut self, quantum: i64) {
        let credit = |index: &u32| {
            count_step();
            self.buckets[*index as usize].credit
        };
        let rounds = |credit: i64| if credit > 0 { 0 } else { -credit / quantum + 1 };
        let least = self.standing.iter().map(|index| rounds(credit(index))).min().unwrap_or(0);
        if least > 0 {
            for index in &self.standing {
                self.buckets[*index as usize].credit += least * quantum;
            }
        }
    }
}

/// Connections are numbered; the golden ratio spreads neighbours as far apart as it can.
// Differs from [RFC 8290, 4.1]: there is no hash with a random key. Buckets are shared only if there are many
// connections, and by the same ones in every run.
pub(super) fn bucket_of(flow: u32, buckets: u64) -> u32 {
    let spread = flow.wrapping_mul(0x9e37_79b9);
    ((u64::from(spread) * buckets) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::count_steps;
    use fairhaul_units::{Ecn, Span};
    use std::collections::BTreeSet;

    fn fair() -> (FqCodelRule, FqCodel<u32>) {
        let codel = CodelRule { max_packet: 1500.0, ..CodelRule::default() };
        let rule = FqCodelRule { codel, quantum: 1514, ..FqCodelRule::default() };
        (rule, FqCodel::new(&rule))
    }

    fn queued(flow: u32, size: u32, ms: u64) -> Queued<u32> {
        Queued { packet: flow, size, ecn: Ecn::NotCapable, arrived: Time::ZERO + Span::from_ms(ms) }
    }

    fn sends(fair: &mut FqCodel<u32>, rule: &FqCodelRule, ms: u64) -> Option<u32> {
        let next = fair.next(rule, Time::ZERO + Span::from_ms(ms), &mut Vec::new());
        next.map(|(queued, _)| queued.packet)
    }

    #[test]
    fn two_flows_of_unequal_packets_and_loads_send_equal_bytes() {
        let (rule, mut fair) = fair();
        // 90 packets of 1500 B, and 300 of 300 B: each is backlogged for 120 sends.
        (0..90).for_each(|_| fair.push(&rule, 1, queued(1, 1500, 0)));
        (0..300).for_each(|_| fair.push(&rule, 2, queued(2, 300, 0)));
        let sent: Vec<u32> = (0..120).filter_map(|_| sends(&mut fair, &rule, 1)).collect();
        let bytes = |flow, size| sent.iter().filter(|of| **of == flow).count() as i64 * size;
        let apart = bytes(1, 1500) - bytes(2, 300);
        // Of 120, 20 large and 100 small: 30 000 B each, give or take a turn.
        assert!(apart.abs() <= 1514 + 1500, "{apart}");
        assert!((28_000..32_000).contains(&bytes(1, 1500)));
    }

    #[test]
    fn a_sparse_flow_has_priority_over_a_standing_queue() {
        let (rule, mut fair) = fair();
        (0..100).for_each(|_| fair.push(&rule, 1, queued(1, 1000, 0)));
        assert_eq!((0..4).filter_map(|_| sends(&mut fair, &rule, 1)).collect::<Vec<_>>(), [1, 1, 1, 1]);
        fair.push(&rule, 2, queued(2, 100, 1));
        assert_eq!(sends(&mut fair, &rule, 1), Some(2));
        // Once served it has a turn among the others before it is fresh again.
        assert_eq!(sends(&mut fair, &rule, 1), Some(1));
    }

    #[test]
    fn the_fattest_bucket_gives_up_its_first() {
        let (rule, mut fair) = fair();
        (0..3).for_each(|_| fair.push(&rule, 1, queued(1, 1000, 0)));
        (0..10).for_each(|_| fair.push(&rule, 2, queued(2, 100, 0)));
        assert_eq!(fair.pop_fattest().map(|queued| queued.packet), Some(1));
        assert_eq!(fair.pop_fattest().map(|queued| queued.packet), Some(1));
        // 1000 B in both: the first bucket of the two, which is that of connection 2.
        assert!(bucket_of(2, rule.buckets) < bucket_of(1, rule.buckets));
        assert_eq!(fair.pop_fattest().map(|queued| queued.packet), Some(2));
        assert_eq!(fair.len(), 10);
    }

    /// Whose CoDel drops nothing.
    fn with(quantum: u64, buckets: u64) -> (FqCodelRule, FqCodel<u32>) {
        let codel = CodelRule { target: Span::from_s(10), max_packet: 64_000.0, ..CodelRule::default() };
        let rule = FqCodelRule { codel, quantum, buckets };
        (rule, FqCodel::new(&rule))
    }

    /// Turn by turn as [RFC 8290, 4.2] has it, of buckets that are never empty: whose packet of `sizes` is next.
    fn turns(quantum: i64, sizes: [i64; 3], packets: usize) -> Vec<u32> {
        let (mut credits, mut order) = ([quantum; 3], VecDeque::from([0, 1, 2]));
        let mut sent = Vec::new();
        while sent.len() < packets {
            let bucket = order[0];
            if credits[bucket] > 0 {
                credits[bucket] -= sizes[bucket];
                sent.push(bucket as u32);
            } else {
                credits[bucket] += quantum;
                order.rotate_left(1);
            }
        }
        sent
    }

    #[test]
    fn rounds_that_are_skipped_leave_the_order_of_turns() {
        for (quantum, sizes) in [(1, [64_000, 40, 1500]), (7, [1000, 999, 64_000]), (1514, [9000, 300, 1500])]
        {
            let (rule, mut fair) = with(quantum as u64, 64);
            (0..400).for_each(|_| {
                (0..3).for_each(|f| fair.push(&rule, f, queued(f, sizes[f as usize] as u32, 0)))
            });
            let sent: Vec<u32> = (0..350).filter_map(|_| sends(&mut fair, &rule, 1)).collect();
            assert_eq!(sent, turns(quantum, sizes, 350));
        }
    }

    /// 64 kB at a credit of one byte: 6.4 billion turns, one by one. Two buckets without credit are passed, then both
    /// are looked at, and one of them sends.
    #[test]
    fn a_quantum_of_one_byte_costs_no_more_than_a_large_one() {
        let (rule, mut fair) = with(1, 1024);
        (0..100_000).for_each(|n| fair.push(&rule, n % 2, queued(n, 64_000, 0)));
        let (sent, steps) = count_steps(|| (0..100_000).filter_map(|_| sends(&mut fair, &rule, 1)).count());
        assert_eq!(sent, 100_000);
        assert!(steps <= 5 * 100_000, "{steps}");
    }

    /// 300 000 drops from 65 536 buckets, of which each would be looked at for each drop. The tree has 2^16 nodes
    /// above its leaves, which are computed once, and 16 levels.
    #[test]
    fn the_fattest_of_many_buckets_is_found_without_a_look_at_all() {
        let (rule, mut fair) = with(1514, 65_536);
        let (mut bytes, mut chance) = (vec![0u64; 65_536], fairhaul_units::Chance::stream(1, "test", 0));
        let mut push_two_and_drop = || {
            for _ in 0..2 {
                let (flow, size) = (chance.below(30_000) as u32, 40 + chance.below(3) as u32);
                bytes[bucket_of(flow, 65_536) as usize] += u64::from(size);
                fair.push(&rule, flow, queued(flow, size, 0));
            }
            let gone = fair.pop_fattest().expect("something waits");
            bytes[bucket_of(gone.packet, 65_536) as usize] -= u64::from(gone.size);
        };
        let ((), steps) = count_steps(|| (0..300_000).for_each(|_| push_two_and_drop()));
        assert!(steps <= (1 << 16) + 300_000 * 4 * 16, "{steps}");
        let most = bytes.iter().max().copied();
        let first = bytes.iter().position(|queued| Some(*queued) == most).expect("there are buckets");
        let gone = fair.pop_fattest().expect("something waits");
        assert_eq!(bucket_of(gone.packet, 65_536) as usize, first);
    }

    #[test]
    fn gauges_count_buckets_with_a_packet_and_those_of_them_that_drop() {
        let (rule, mut fair) = fair();
        (0..3).for_each(|flow| (0..50).for_each(|_| fair.push(&rule, flow, queued(flow, 1000, 0))));
        fair.push(&rule, 3, queued(3, 1000, 0));
        assert_eq!(fair.gauges(), [4.0, 0.0]);
        // A turn is two packets, of 1514 bytes of credit. The last bucket is then empty, and still in a list.
        let first = (10..17).filter_map(|ms| sends(&mut fair, &rule, ms));
        assert_eq!(first.collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(fair.gauges(), [3.0, 0.0]);
        // In the next round the delay of the others has been above 5 ms for more than 100 ms.
        let second = (150..154).filter_map(|ms| sends(&mut fair, &rule, ms));
        assert_eq!(second.collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert_eq!(fair.gauges(), [3.0, 2.0]);
    }

    #[test]
    fn neighbours_have_buckets_of_their_own() {
        let buckets: BTreeSet<u32> = (0..600).map(|flow| bucket_of(flow, 1024)).collect();
        assert_eq!(buckets.len(), 600);
        assert!((0..10_000).all(|flow| bucket_of(flow, 3) < 3));
    }
}
