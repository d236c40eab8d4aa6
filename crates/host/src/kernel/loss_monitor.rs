//! Decides whether an eBPF port is to be removed, because its flows retransmit much more than the other flows of the
//! host.
//!
//! It has no clock: each update contains the numbers of packets that every connection has sent and retransmitted
//! since it began, and the monitor keeps the differences within a sliding window.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// When an eBPF port is to be removed.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The share of its packets that were retransmitted is above this,
    pub share: f64,
    /// and above this multiple of that of the host's other flows,
    pub times: f64,
    /// in every interval of a window of this length,
    pub seconds: f64,
    /// in which it has sent at least this number of packets.
    pub packets: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { share: 0.01, times: 3.0, seconds: 30.0, packets: 1000 }
    }
}

/// Packets sent, and how many were retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SentCounts {
    /// All packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
}

impl SentCounts {
    /// The share of retransmissions.
    pub fn share(self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.retransmitted as f64 / self.sent as f64 }
    }

    /// Adds the counts of other flows.
    pub fn add(&mut self, more: SentCounts) {
        self.sent += more.sent;
        self.retransmitted += more.retransmitted;
    }

    /// The packets since earlier counts of the same flow.
    pub fn since(self, before: SentCounts) -> SentCounts {
        SentCounts {
            sent: self.sent.saturating_sub(before.sent),
            retransmitted: self.retransmitted.saturating_sub(before.retransmitted),
        }
    }
}

/// The counts of a connection at one update.
#[derive(Clone, Debug)]
pub struct ConnectionCounts {
    /// The kernel's cookie of the socket, which never changes.
    pub cookie: u64,
    /// The controller that it uses.
    pub controller: String,
    /// The packets that it has sent since it began.
    pub counts: SentCounts,
}

/// The packets that the flows of each controller have sent between updates.
#[derive(Clone, Debug, Default)]
pub struct LossMonitor {
    before: BTreeMap<u64, SentCounts>,
    intervals: VecDeque<(f64, BTreeMap<String, SentCounts>)>,
}

/// The packets that an eBPF port's flows and all others have sent and retransmitted over the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossComparison {
    /// Its flows.
    pub own: SentCounts,
    /// All flows of other controllers.
    pub others: SentCounts,
    /// Whether the eBPF port exceeded the limits over the whole window, so that it is to be removed.
    pub over_limit: bool,
}

impl LossMonitor {
    /// Brings the counts of all connections at `now`, in seconds of a monotonic clock. Packets that a connection sent
    /// before its first update or after its last are not counted.
    pub fn update(&mut self, now: f64, connections: &[ConnectionCounts], limits: &Limits) {
        let mut sums: BTreeMap<String, SentCounts> = BTreeMap::new();
        for connection in connections {
            let before = self.before.get(&connection.cookie).copied().unwrap_or(connection.counts);
            sums.entry(connection.controller.clone()).or_default().add(connection.counts.since(before));
        }
        self.before = connections.iter().map(|connection| (connection.cookie, connection.counts)).collect();
        self.intervals.push_back((now, sums));
        // The first update is older than the window and marks its beginning.
        while self.intervals.get(1).is_some_and(|(then, _)| now - then >= limits.seconds) {
            self.intervals.pop_front();
        }
    }

    /// The counts of `name` and of all others over the window.
    pub fn compare(&self, name: &str, limits: &Limits) -> LossComparison {
        let whole = match (self.intervals.front(), self.intervals.back()) {
            (Some((first, _)), Some((last, _))) => last - first >= limits.seconds,
            _ => false,
        };
        let in_window: Vec<(SentCounts, SentCounts)> =
            self.intervals.iter().skip(1).map(|(_, sums)| split(sums, name)).collect();
        let (mut own, mut others) = (SentCounts::default(), SentCounts::default());
        for (own_counts, other_counts) in &in_window {
            own.add(*own_counts);
            others.add(*other_counts);
        }
        let above = |own: SentCounts, others: SentCounts| {
            own.share() > limits.share && own.share() > limits.times * others.share()
        };
        // An interval in which it sent nothing is ignored.
        let throughout =
            in_window.iter().all(|(own_counts, _)| own_counts.sent == 0 || own_counts.share() > limits.share);
        let over_limit = whole && own.sent >= limits.packets && throughout && above(own, others);
        LossComparison { own, others, over_limit }
    }
}

fn split(sums: &BTreeMap<String, SentCounts>, name: &str) -> (SentCounts, SentCounts) {
    let (mut own, mut others) = (SentCounts::default(), SentCounts::default());
    for (controller, counts) in sums {
        if controller == name { own.add(*counts) } else { others.add(*counts) }
    }
    (own, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Updates every 5 s: in each interval the eBPF port and the others have sent 1000 packets, with these
    /// retransmissions.
    fn monitored(rounds: &[(u64, u64)]) -> LossComparison {
        let (mut monitor, limits) = (LossMonitor::default(), Limits::default());
        let (mut own, mut others) = (SentCounts::default(), SentCounts::default());
        monitor.update(0.0, &connections(own, others), &limits);
        for (index, (of_own, of_others)) in rounds.iter().enumerate() {
            own.add(SentCounts { sent: 1000, retransmitted: *of_own });
            others.add(SentCounts { sent: 1000, retransmitted: *of_others });
            monitor.update(5.0 * (index + 1) as f64, &connections(own, others), &limits);
        }
        monitor.compare("fh_x", &limits)
    }

    fn connections(own: SentCounts, others: SentCounts) -> [ConnectionCounts; 2] {
        let counts =
            |cookie, name: &str, counts| ConnectionCounts { cookie, controller: name.to_string(), counts };
        [counts(1, "fh_x", own), counts(2, "cubic", others)]
    }

    #[test]
    fn two_percent_for_half_a_minute_beside_clean_flows_is_too_much() {
        let comparison = monitored(&[(20, 0); 6]);
        assert_eq!(comparison.own, SentCounts { sent: 6000, retransmitted: 120 });
        assert!(comparison.over_limit);
    }

    #[test]
    fn twenty_five_seconds_are_not_thirty() {
        assert!(!monitored(&[(20, 0); 5]).over_limit);
    }

    #[test]
    fn one_interval_under_the_limit_keeps_it_there_until_it_has_left_the_window() {
        let mut rounds = vec![(20, 0); 6];
        rounds[0] = (5, 0);
        assert!(!monitored(&rounds).over_limit);
        rounds.push((20, 0));
        assert!(monitored(&rounds).over_limit);
    }

    #[test]
    fn beside_others_that_lose_more_than_a_third_as_much_it_is_under_the_limit() {
        assert!(monitored(&[(20, 6); 6]).over_limit);
        assert!(!monitored(&[(20, 7); 6]).over_limit);
    }

    #[test]
    fn a_connection_counts_from_its_first_update() {
        let (mut monitor, limits) = (LossMonitor::default(), Limits::default());
        let old = SentCounts { sent: 1_000_000, retransmitted: 500_000 };
        monitor.update(0.0, &connections(old, SentCounts::default()), &limits);
        monitor.update(40.0, &connections(old, SentCounts::default()), &limits);
        assert_eq!(monitor.compare("fh_x", &limits).own, SentCounts::default());
    }
}
