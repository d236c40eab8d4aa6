//! Proportional rate reduction [RFC 6937]: how many packets each acknowledgement of a recovery allows.
//!
//! While more is in flight than the threshold allows, sending keeps to the share threshold / flight
//! of what is delivered; once less is, it comes back up to the threshold without a burst.

use fairhaul_experiment::Recovery;

/// Whose rules it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrrRules {
    /// [RFC 6937].
    Rfc6937,
    /// The kernel's, which also reduces the window in proportion for an echoed mark [LINUX, tcp_enter_cwr].
    Linux,
}

/// The reduction under way, where the sender reduces in proportion.
#[derive(Clone, Debug)]
pub struct Prr {
    /// `None`: the window is reduced at once, or by the controller.
    rules: Option<PrrRules>,
    /// Packets outstanding when it began ("RecoverFS").
    flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// That of a sender with this recovery; `models_path`: its controller models the path, and in the kernel moves the
    /// window in recovery, too.
    pub fn new(recovery: Recovery, models_path: bool) -> Prr {
        let rules = match recovery {
            Recovery::SackPrr => Some(PrrRules::Rfc6937),
            Recovery::Rack if !models_path => Some(PrrRules::Linux),
            _ => None,
        };
        Prr { rules, flight: 1, delivered: 0, out: 0 }
    }

    /// Whether the window is reduced in proportion.
    pub fn is_used(&self) -> bool {
        self.rules.is_some()
    }

    /// Whether the window is also reduced in proportion where a mark is echoed.
    pub fn is_used_for_marks(&self) -> bool {
        self.rules == Some(PrrRules::Linux)
    }

    /// A reduction begins, with that many packets outstanding, and a window of `cwnd` before it.
    //
    // Differs from [RFC 6937, 3]: in the kernel RecoverFS is the window before the reduction, not the data
    // outstanding (tcp_init_cwnd_reduction).
    pub fn begin(&mut self, outstanding: u64, cwnd: f64) {
        let flight = if self.rules == Some(PrrRules::Linux) { cwnd as u64 } else { outstanding };
        (self.flight, self.delivered, self.out) = (flight.max(1), 0, 0);
    }

    /// A number of packets leave.
    pub fn sent(&mut self, packets: u64) {
        self.out += packets;
    }

    /// An acknowledgement delivers `packets`, and leaves `in_flight`: how many more may leave. `advanced`: the
    /// cumulative acknowledgement moved; `found_loss`: it also revealed another loss. `None`: the window stays.
    pub fn delivered(
        &mut self,
        packets: u64,
        in_flight: u64,
        ssthresh: f64,
        advanced: bool,
        found_loss: bool,
    ) -> Option<u64> {
        let rules = self.rules?;
        if rules == PrrRules::Linux && packets == 0 {
            return None;
        }
        self.delivered += packets;
        let kept = self.delivered.saturating_sub(self.out);
        Some(match rules {
            // Unclear in [RFC 6937, 3.1]: which of its two bounds to use. An acknowledgement that advances shows that
            // retransmissions arrive, and uses the slow-start bound; any other uses the conservative one, so that a
            // recovery that loses again does not speed up. Linux does the same.
            PrrRules::Rfc6937 => {
                let limit = if advanced { kept.max(packets) + 1 } else { kept };
                self.bounded(limit, in_flight, ssthresh)
            }
            // Differs from [RFC 6937, 3.1]: in the kernel the conservative bound also allows the packets that are
            // delivered now, so that an acknowledgement without retransmissions in it keeps the number in flight; and
            // as long as nothing has been sent, one packet is allowed.
            PrrRules::Linux => {
                let limit = kept.max(packets) + u64::from(advanced && !found_loss);
                self.bounded(limit, in_flight, ssthresh).max(u64::from(self.out == 0))
            }
        })
    }

    /// Up to `limit` where less is in flight than the threshold allows, else the proportional part.
    fn bounded(&self, limit: u64, in_flight: u64, ssthresh: f64) -> u64 {
        if in_flight as f64 > ssthresh {
            let due = (self.delivered as f64 * ssthresh / self.flight as f64).ceil() as u64;
            return due.saturating_sub(self.out);
        }
        limit.min(ssthresh as u64 - in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduction that begins with 20 packets outstanding, and a window of 20.
    fn of_twenty(recovery: Recovery) -> Prr {
        let mut prr = Prr::new(recovery, false);
        prr.begin(20, 20.0);
        prr
    }

    /// 20 outstanding, threshold 10, the first lost: each of the 19 that arrive lets half a packet
    /// go, rounded up: at the 1st, 3rd, 5th, ...
    // Requirement: rfc9937-6.1-a
    #[test]
    fn one_packet_leaves_for_two_that_arrive() {
        let mut prr = of_twenty(Recovery::SackPrr);
        let mut in_flight = 19;
        let mut left = Vec::new();
        for _ in 0..8 {
            in_flight -= 1;
            let more = prr.delivered(1, in_flight, 10.0, false, false).unwrap();
            (0..more).for_each(|_| prr.sent(1));
            in_flight += more;
            left.push(more);
        }
        assert_eq!(left, [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// Of 20, 15 are lost: 4 in flight, threshold 10. Six at once would be a burst.
    #[test]
    fn after_heavy_loss_one_leaves_for_each_that_arrives() {
        let mut prr = of_twenty(Recovery::SackPrr);
        assert_eq!(prr.delivered(1, 4, 10.0, false, false), Some(1));
        prr.sent(1);
        // A retransmission has arrived: one more than delivered.
        assert_eq!(prr.delivered(1, 4, 10.0, true, false), Some(2));
    }

    /// The same: 2 of 20 delivered and 3 sent, so nothing is left. By the RFC nothing leaves without
    /// progress; in the kernel one does for the one that arrives, and another with progress.
    #[test]
    fn the_kernel_keeps_the_number_in_flight_and_adds_one_for_progress_without_loss() {
        let ahead = |recovery| {
            let mut prr = of_twenty(recovery);
            prr.delivered(1, 4, 10.0, false, false);
            (0..3).for_each(|_| prr.sent(1));
            prr
        };
        let (rfc, linux) = (Recovery::SackPrr, Recovery::Rack);
        assert_eq!(ahead(rfc).delivered(1, 4, 10.0, false, false), Some(0));
        assert_eq!(ahead(linux).delivered(1, 4, 10.0, false, false), Some(1));
        assert_eq!(ahead(linux).delivered(1, 4, 10.0, true, false), Some(2));
        assert_eq!(ahead(linux).delivered(1, 4, 10.0, true, true), Some(1));
        assert_eq!(ahead(linux).delivered(1, 9, 10.0, true, false), Some(1)); // no more than the threshold
    }

    /// A controller that models the path moves the window itself; nothing does for an acknowledgement that delivers
    /// nothing.
    #[test]
    fn the_window_stays_where_nothing_is_delivered_or_the_controller_moves_it() {
        assert_eq!(of_twenty(Recovery::Rack).delivered(0, 4, 10.0, false, false), None);
        let mut modelled = Prr::new(Recovery::Rack, true);
        assert_eq!((modelled.is_used(), modelled.delivered(1, 4, 10.0, true, false)), (false, None));
    }
}
