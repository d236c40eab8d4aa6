//! Whether flows of a twin lose so much more than the host's others that it should go.
//!
//! Clock-free: it is told what each connection has sent and sent again since it began, again and
//! again, and keeps the differences of the last while.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// When a twin is to go.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The share of its packets that were sent again is above this,
    pub share: f64,
    /// and above so many times that of the host's other flows,
    pub times: f64,
    /// over each of the looks of so many seconds,
    pub seconds: f64,
    /// in which it has sent at least so many packets.
    pub packets: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { share: 0.01, times: 3.0, seconds: 30.0, packets: 1000 }
    }
}

/// Packets sent, and of these, sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// All that were sent.
    pub sent: u64,
    /// Those sent again.
    pub retransmitted: u64,
}

impl Counts {
    /// Those sent again, of all.
    pub fn share(self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.retransmitted as f64 / self.sent as f64 }
    }

    fn add(&mut self, more: Counts) {
        self.sent += more.sent;
        self.retransmitted += more.retransmitted;
    }

    fn since(self, before: Counts) -> Counts {
        Counts {
            sent: self.sent.saturating_sub(before.sent),
            retransmitted: self.retransmitted.saturating_sub(before.retransmitted),
        }
    }
}

/// A connection at one look.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its number, ever the same.
    pub cookie: u64,
    /// The controller that it uses.
    pub controller: String,
    /// What it has sent since it began.
    pub counts: Counts,
}

/// What each controller's flows have sent between looks.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    before: BTreeMap<u64, Counts>,
    looks: VecDeque<(f64, BTreeMap<String, Counts>)>,
}

/// How a twin fares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its flows.
    pub own: Counts,
    /// All flows of other controllers.
    pub others: Counts,
    /// Whether all looks of the time that is asked for say that it is to go.
    pub guilty: bool,
}

impl Judge {
    /// Takes a look at `now`, in seconds of a clock that does not jump. What a connection sent before the
    /// first look at it counts for nothing, as does what it sent after the last.
    pub fn look(&mut self, now: f64, seen: &[Seen], limits: &Limits) {
        let mut sums: BTreeMap<String, Counts> = BTreeMap::new();
        for one in seen {
            let before = self.before.get(&one.cookie).copied().unwrap_or(one.counts);
            sums.entry(one.controller.clone()).or_default().add(one.counts.since(before));
        }
        self.before = seen.iter().map(|one| (one.cookie, one.counts)).collect();
        self.looks.push_back((now, sums));
        // The look that is older than the window marks its beginning.
        while self.looks.get(1).is_some_and(|(then, _)| now - then >= limits.seconds) {
            self.looks.pop_front();
        }
    }

    /// How `name` fares over the window.
    pub fn finding(&self, name: &str, limits: &Limits) -> Finding {
        let whole = match (self.looks.front(), self.looks.back()) {
            (Some((first, _)), Some((last, _))) => last - first >= limits.seconds,
            _ => false,
        };
        let in_window: Vec<(Counts, Counts)> =
            self.looks.iter().skip(1).map(|(_, sums)| parted(sums, name)).collect();
        let (mut own, mut others) = (Counts::default(), Counts::default());
        for (one, rest) in &in_window {
            own.add(*one);
            others.add(*rest);
        }
        let bad = |own: Counts, others: Counts| {
            own.share() > limits.share && own.share() > limits.times * others.share()
        };
        // A look at which it sent nothing neither accuses nor clears it.
        let throughout = in_window.iter().all(|(one, _)| one.sent == 0 || one.share() > limits.share);
        let guilty = whole && own.sent >= limits.packets && throughout && bad(own, others);
        Finding { own, others, guilty }
    }
}

fn parted(sums: &BTreeMap<String, Counts>, name: &str) -> (Counts, Counts) {
    let (mut own, mut others) = (Counts::default(), Counts::default());
    for (controller, counts) in sums {
        if controller == name { own.add(*counts) } else { others.add(*counts) }
    }
    (own, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 5 s; in each the twin and the others have sent 1000 packets more, and so many again.
    fn judged(rounds: &[(u64, u64)]) -> Finding {
        let (mut judge, limits) = (Judge::default(), Limits::default());
        let (mut own, mut others) = (Counts::default(), Counts::default());
        judge.look(0.0, &seen(own, others), &limits);
        for (index, (of_own, of_others)) in rounds.iter().enumerate() {
            own.add(Counts { sent: 1000, retransmitted: *of_own });
            others.add(Counts { sent: 1000, retransmitted: *of_others });
            judge.look(5.0 * (index + 1) as f64, &seen(own, others), &limits);
        }
        judge.finding("fh_x", &limits)
    }

    fn seen(own: Counts, others: Counts) -> [Seen; 2] {
        let seen = |cookie, name: &str, counts| Seen { cookie, controller: name.to_string(), counts };
        [seen(1, "fh_x", own), seen(2, "cubic", others)]
    }

    #[test]
    fn two_percent_for_half_a_minute_beside_clean_flows_is_too_much() {
        let finding = judged(&[(20, 0); 6]);
        assert_eq!(finding.own, Counts { sent: 6000, retransmitted: 120 });
        assert!(finding.guilty);
    }

    #[test]
    fn twenty_five_seconds_are_not_thirty() {
        assert!(!judged(&[(20, 0); 5]).guilty);
    }

    #[test]
    fn one_clean_look_clears_it_until_it_has_left_the_window() {
        let mut rounds = vec![(20, 0); 6];
        rounds[0] = (5, 0);
        assert!(!judged(&rounds).guilty);
        rounds.push((20, 0));
        assert!(judged(&rounds).guilty);
    }

    #[test]
    fn others_that_lose_a_third_as_much_share_the_blame() {
        assert!(judged(&[(20, 6); 6]).guilty);
        assert!(!judged(&[(20, 7); 6]).guilty);
    }

    #[test]
    fn a_connection_counts_from_the_first_look_at_it() {
        let (mut judge, limits) = (Judge::default(), Limits::default());
        let old = Counts { sent: 1_000_000, retransmitted: 500_000 };
        judge.look(0.0, &seen(old, Counts::default()), &limits);
        judge.look(40.0, &seen(old, Counts::default()), &limits);
        assert_eq!(judge.finding("fh_x", &limits).own, Counts::default());
    }
}
