//! The exact count: every flow that has sent within a window of time, in a table.
//!
//! It is what the other counters are compared with. Its memory grows with the flows, and a packet
//! costs the logarithm of their number.

use std::collections::{BTreeMap, BTreeSet};

use fairhaul_units::{Time, parameters};

parameters! {
    /// The parameters of the exact table.
    pub struct FlowTableRule {
        flows: Whole(1..=10_000_000) = 1_000_000, "size of the table in flows; further flows are not counted";
        window: Seconds(1e-6..=1e6) = 1.0, "time after its last packet during which a flow counts as active";
    }
}

/// Flows, and the time of the last packet of each.
#[derive(Clone, Debug)]
pub struct FlowTable {
    rule: FlowTableRule,
    last: BTreeMap<u64, Time>,
    /// The same, with the oldest time first.
    order: BTreeSet<(Time, u64)>,
}

impl FlowTable {
    pub(super) const TITLE: &'static str =
        "Exact: a table of the flows that sent a packet within a time window";

    /// An empty table.
    pub fn new(rule: FlowTableRule) -> FlowTable {
        assert!(rule.flows > 0 && !rule.window.is_zero(), "a table has room and a window");
        FlowTable { rule, last: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// A packet of `flow` passes at `now`.
    pub fn count_packet(&mut self, flow: u64, now: Time) {
        self.forget(now);
        let full = self.last.len() as u64 == self.rule.flows;
        if full && !self.last.contains_key(&flow) {
            return;
        }
        if let Some(before) = self.last.insert(flow, now) {
            self.order.remove(&(before, flow));
        }
        self.order.insert((now, flow));
    }

    /// How many flows have sent within the window before `now`.
    pub fn flows(&mut self, now: Time) -> usize {
        self.forget(now);
        self.last.len()
    }

    /// Until when that number stands after `now`, while no packet passes.
    pub fn constant_until(&mut self, now: Time) -> Time {
        self.forget(now);
        self.order.first().map_or(Time::NEVER, |(last, _)| *last + self.rule.window)
    }

    /// Takes out the flows whose last packet is a window ago or longer.
    fn forget(&mut self, now: Time) {
        while let Some(&(last, flow)) = self.order.first() {
            if now.since(last) < self.rule.window {
                return;
            }
            self.order.pop_first();
            self.last.remove(&flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Span;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_flow_is_active_until_a_window_after_its_last_packet() {
        let mut table = FlowTable::new(FlowTableRule { flows: 10, window: Span::from_ms(100) });
        table.count_packet(1, at(0));
        table.count_packet(2, at(50));
        table.count_packet(1, at(60));
        // Flow 2 until before 150, flow 1 until before 160.
        let counts: Vec<usize> = [149, 150, 159, 160].iter().map(|ms| table.flows(at(*ms))).collect();
        assert_eq!(counts, [2, 1, 1, 0]);
    }

    #[test]
    fn a_full_table_counts_those_that_are_in_it_until_one_leaves() {
        let mut table = FlowTable::new(FlowTableRule { flows: 2, window: Span::from_ms(100) });
        (0..3).for_each(|flow| table.count_packet(flow, at(flow * 10)));
        assert_eq!(table.flows(at(20)), 2);
        table.count_packet(2, at(100)); // flow 0 has left at this very time
        assert_eq!((table.flows(at(100)), table.last.contains_key(&2)), (2, true));
    }

    proptest! {
        #[test]
        fn exact_is_exact(packets in proptest::collection::vec((0u64..40, 0u64..20), 1..300)) {
            let mut table = FlowTable::new(FlowTableRule { flows: 20, window: Span::from_ms(100) });
            let (mut now, mut earlier) = (0, Vec::new());
            for (gap, flow) in packets {
                now += gap;
                table.count_packet(flow, at(now));
                earlier.push((now, flow));
                let mut within: Vec<u64> =
                    earlier.iter().filter(|(ms, _)| ms + 100 > now).map(|(_, flow)| *flow).collect();
                within.sort_unstable();
                within.dedup();
                prop_assert_eq!(table.flows(at(now)), within.len());
            }
        }
    }
}
