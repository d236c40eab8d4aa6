//! Linux's `fq` at a link [LINUX, sch_fq]: connections take turns by bytes, first in, first out each, and new ones go first.
//
// Differs from [LINUX]: at a link there are no times at which packets are due, because a router does not know the rates of
// senders; and all packets are of one band. A sender with `host.qdisc = "fq"` has its times.

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Ecn, Gauge, Parameter, Settings, Span, Time, parameters, real};

use super::fq_codel::bucket_of;
use super::{Queued, Refusal, Site};

parameters! {
    /// The parameters of fq.
    pub struct FqRule {
        quantum: Whole(0..=128_000) = 0,
            "bytes that a connection may send per round; 0: two of the largest packets of the scenario [LINUX]";
        initial_quantum: Whole(0..=1_000_000) = 0,
            "bytes that a new connection may send in its first round; 0: ten of the largest packets [LINUX]";
        flow_limit: Whole(1..=1_000_000) = 100, "packets of a connection that may wait [LINUX]";
        refill_delay: Milliseconds(0.0..=10_000.0) = 40.0,
            "silence after which a connection has a whole quantum again [LINUX]";
        ce_threshold: Milliseconds(0.0..=10_000.0) = 0.0,
            "packets of flows with `ecn` that have waited longer are marked at departure; 0: none are [LINUX]";
        buckets as "flows": Whole(1..=65_536) = 1024,
            "number of buckets among which connections are distributed [LINUX]";
    }
}

/// Packets that may leave in the order of their arrival while no connection is in a list.
const MOST_DIRECT: usize = 8;

/// Deficit round robin over connections.
#[derive(Clone, Debug)]
pub struct Fq<T> {
    rule: FqRule,
    buckets: Vec<Bucket<T>>,
    /// Connections that had nothing to send, and connections that have had a turn; each in order.
    fresh: VecDeque<u32>,
    standing: VecDeque<u32>,
    /// Packets that came when no connection was in a list: they leave first, in the order of their arrival.
    direct: VecDeque<Queued<T>>,
    packets: usize,
}

#[derive(Clone, Debug)]
struct Bucket<T> {
    queued: VecDeque<Queued<T>>,
    /// Bytes that it may yet send in its turn.
    credit: i64,
    /// Whether it is in a list; and since when it is in none, if it ever was in one.
    listed: bool,
    silent: Option<Time>,
}

impl Fq<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "Linux's fq: fair queueing of connections, first in, first out each; new ones go first";
    pub(super) const SOURCE: &'static str = "LINUX";
    /// Its parameters.
    pub const PARAMETERS: &'static [Parameter] = FqRule::LIST;
    pub(super) const GAUGES: [Gauge; 1] = [Gauge {
        name: "backlogged_buckets",
        unit: "buckets",
        help: "number of buckets with waiting packets",
    }];
}

/// Quanta are largest packets. In Linux those have the header of the link, as its default quanta have; here neither has.
pub(super) fn resolve(settings: &mut Settings, _: &Site, largest: Bytes) -> Result<(), Refusal> {
    settings.set_automatic("quantum", real(2 * largest.0));
    settings.set_automatic("initial_quantum", real(10 * largest.0));
    Ok(())
}

impl<T> Fq<T> {
    /// Empty buckets.
    pub fn new(rule: &FqRule) -> Fq<T> {
        let credit = rule.initial_quantum as i64;
        let bucket = || Bucket { queued: VecDeque::new(), credit, listed: false, silent: None };
        let buckets = (0..rule.buckets).map(|_| bucket()).collect();
        Fq {
            rule: *rule,
            buckets,
            fresh: VecDeque::new(),
            standing: VecDeque::new(),
            direct: VecDeque::new(),
            packets: 0,
        }
    }

    /// How many wait in all.
    pub fn len(&self) -> usize {
        self.packets
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The packets that wait, bucket by bucket.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.direct.iter().chain(self.buckets.iter().flat_map(|bucket| bucket.queued.iter()))
    }

    /// What its gauge shows. A bucket in which a packet waits is in one of the lists.
    pub(crate) fn gauges(&self) -> [f64; 1] {
        let listed = self.fresh.iter().chain(&self.standing);
        [listed.filter(|index| !self.buckets[**index as usize].queued.is_empty()).count() as f64]
    }

    /// Whether a packet of connection `flow` may wait.
    pub fn admits(&self, flow: u32) -> bool {
        let index = bucket_of(flow, self.rule.buckets);
        (self.buckets[index as usize].queued.len() as u64) < self.rule.flow_limit
    }

    /// Whether a packet may leave in the order of its arrival [LINUX, fq_fastpath_check].
    pub fn is_calm(&self) -> bool {
        self.fresh.is_empty() && self.standing.is_empty() && self.direct.len() < MOST_DIRECT
    }

    /// Takes a packet while it is so: it leaves before those of all buckets, and is neither counted nor marked.
    pub fn push_direct(&mut self, queued: Queued<T>) {
        self.packets += 1;
        self.direct.push_back(queued);
    }

    /// Puts a packet of connection `flow` behind the others of its bucket.
    pub fn push(&mut self, flow: u32, queued: Queued<T>) {
        self.packets += 1;
        let index = bucket_of(flow, self.rule.buckets);
        let bucket = &mut self.buckets[index as usize];
        if !bucket.listed {
            let is_rested =
                bucket.silent.is_some_and(|since| queued.arrived.since(since) > self.rule.refill_delay);
            if is_rested {
                bucket.credit = bucket.credit.max(self.rule.quantum as i64);
            }
            bucket.listed = true;
            self.fresh.push_back(index);
        }
        bucket.queued.push_back(queued);
    }

    /// The packet that is to be sent at `now`, and whether it was marked.
    pub fn next(&mut self, now: Time) -> Option<(Queued<T>, bool)> {
        if let Some(direct) = self.direct.pop_front() {
            self.packets -= 1;
            return Some((direct, false));
        }
        loop {
            let is_fresh = !self.fresh.is_empty();
            let list = if is_fresh { &mut self.fresh } else { &mut self.standing };
            let index = *list.front()?;
            let bucket = &mut self.buckets[index as usize];
            if bucket.credit <= 0 {
                // As many quanta at once as it lacks would take turns from others; one at a time, as in Linux.
                bucket.credit += self.rule.quantum as i64;
                list.pop_front();
                self.standing.push_back(index);
                continue;
            }
            let Some(mut queued) = bucket.queued.pop_front() else {
                list.pop_front();
                if is_fresh && !self.standing.is_empty() {
                    // One turn among the others, lest it be fresh again at once.
                    self.standing.push_back(index);
                } else {
                    (bucket.listed, bucket.silent) = (false, Some(now));
                }
                continue;
            };
            self.packets -= 1;
            bucket.credit -= i64::from(queued.size);
            let marked = self.marks(&queued, now);
            if marked {
                queued.ecn = Ecn::Marked;
            }
            return Some((queued, marked));
        }
    }

    fn marks(&self, queued: &Queued<T>, now: Time) -> bool {
        let threshold = self.rule.ce_threshold;
        let is_late = threshold > Span::ZERO && now.since(queued.arrived) > threshold;
        is_late && queued.ecn.is_unmarked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it is for packets of 1514 B.
    const RULE: FqRule = FqRule {
        quantum: 3028,
        initial_quantum: 15_140,
        flow_limit: 100,
        refill_delay: Span::from_ms(40),
        ce_threshold: Span::ZERO,
        buckets: 1024,
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn queued(flow: u32, ms: u64) -> Queued<u32> {
        Queued { packet: flow, size: 1514, ecn: Ecn::Capable, arrived: at(ms) }
    }

    fn sends(fq: &mut Fq<u32>, ms: u64, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| fq.next(at(ms)).map(|next| next.0.packet)).collect()
    }

    /// A new connection sends ten packets, 15 140 B, then all take turns of two; one that begins later goes first.
    #[test]
    fn a_new_connection_sends_its_first_quantum_before_the_turns() {
        let mut fq = Fq::new(&RULE);
        for flow in [1, 2] {
            (0..40).for_each(|_| fq.push(flow, queued(flow, 0)));
        }
        let sent = sends(&mut fq, 1, 28);
        assert_eq!((sent[..10].to_vec(), sent[10..20].to_vec()), (vec![1; 10], vec![2; 10]));
        assert_eq!(sent[20..], [1, 1, 2, 2, 1, 1, 2, 2]);
        fq.push(3, queued(3, 1));
        assert_eq!(sends(&mut fq, 1, 1), [3]);
    }

    /// 700 B, a first quantum of 1 B and then 1514 B: after one packet 1 - 700 + 1514 = 815 B are left, which are two packets
    /// more. After 40 ms it has a whole quantum, which is three.
    #[test]
    fn a_connection_that_was_silent_has_a_quantum_again() {
        let rule = FqRule { quantum: 1514, initial_quantum: 1, ..RULE };
        for (ms, wanted) in [(20, 2), (60, 3)] {
            let mut fq = Fq::new(&rule);
            let push = |fq: &mut Fq<u32>, flow, ms| fq.push(flow, Queued { size: 700, ..queued(flow, ms) });
            push(&mut fq, 1, 0);
            assert_eq!(sends(&mut fq, 1, 2), [1]);
            (0..4).for_each(|_| push(&mut fq, 1, ms));
            (0..4).for_each(|_| push(&mut fq, 2, ms));
            let sent = sends(&mut fq, ms, 4);
            assert_eq!(sent.iter().take_while(|flow| **flow == 1).count(), wanted, "{sent:?}");
        }
    }

    #[test]
    fn a_connection_has_a_limit_and_old_packets_are_marked() {
        let rule = FqRule { flow_limit: 3, ce_threshold: Span::from_ms(2), ..RULE };
        let mut fq = Fq::new(&rule);
        let admitted = (0..5).filter(|_| {
            let admits = fq.admits(1);
            if admits {
                fq.push(1, queued(1, 0));
            }
            admits
        });
        assert_eq!(admitted.count(), 3);
        assert!(fq.admits(2));
        let marks = [2, 3, 4].map(|ms| fq.next(at(ms)).expect("three wait").1);
        assert_eq!((marks, fq.len()), ([false, true, true], 0));
    }

    /// Eight packets of a connection leave before those of its bucket; while that is in a list, none does again.
    #[test]
    fn few_packets_leave_in_the_order_of_their_arrival() {
        let mut fq = Fq::new(&RULE);
        let push = |fq: &mut Fq<u32>, flow| {
            let calm = fq.is_calm();
            if calm {
                fq.push_direct(queued(flow, 0))
            } else {
                fq.push(flow, queued(flow, 0))
            }
            calm
        };
        assert_eq!((0..10).map(|n| push(&mut fq, n)).filter(|calm| *calm).count(), 8);
        assert_eq!((fq.len(), fq.gauges()), (10, [2.0]));
        assert_eq!(sends(&mut fq, 1, 5), [0, 1, 2, 3, 4]);
        assert!(!push(&mut fq, 5));
        assert_eq!(sends(&mut fq, 1, 6), [5, 6, 7, 8, 9, 5]);
        assert!(fq.next(at(1)).is_none() && fq.is_calm());
    }
}
