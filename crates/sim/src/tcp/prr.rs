//! Proportional rate reduction [RFC 6937]: how much each acknowledgement of a recovery lets go.
//!
//! While more is in flight than the threshold allows, sending keeps to the share threshold / flight
//! of what is delivered; once less is, it comes back up to the threshold without a burst.

/// What one recovery has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Packets outstanding when it began ("RecoverFS").
    flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// A recovery begins with that many packets outstanding.
    pub fn new(flight: u64) -> Prr {
        Prr { flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// A packet leaves.
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// An acknowledgement delivers `packets`, and leaves so many in flight: how many more may
    /// leave. `advanced`: the cumulative acknowledgement moved.
    //
    // Unclear in [RFC 6937, 3.1]: which of its two bounds to use. An acknowledgement that advances shows that
    // retransmissions arrive, and uses the slow-start bound; any other uses the conservative one, so that a
    // recovery that loses again does not speed up. Linux does the same.
    pub fn delivered(&mut self, packets: u64, in_flight: u64, ssthresh: f64, advanced: bool) -> u64 {
        self.delivered += packets;
        let kept = self.delivered.saturating_sub(self.out);
        let limit = if advanced { kept.max(packets) + 1 } else { kept };
        self.bounded(limit, in_flight, ssthresh)
    }

    /// The same as the kernel has it; `fine`: the cumulative acknowledgement moved, and no other loss
    /// was found.
    //
    // Differs from [RFC 6937, 3.1]: the conservative bound also allows the packets that are delivered now, so
    // that an acknowledgement without retransmissions in it keeps the number in flight; and as long as nothing
    // has been sent, one packet is allowed.
    pub fn delivered_in_kernel(&mut self, packets: u64, in_flight: u64, ssthresh: f64, fine: bool) -> u64 {
        self.delivered += packets;
        let kept = self.delivered.saturating_sub(self.out);
        let more = self.bounded(kept.max(packets) + u64::from(fine), in_flight, ssthresh);
        more.max(u64::from(self.out == 0))
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

    /// 20 outstanding, threshold 10, the first lost: each of the 19 that arrive lets half a packet
    /// go, rounded up: at the 1st, 3rd, 5th, ...
    #[test]
    fn one_packet_leaves_for_two_that_arrive() {
        let mut prr = Prr::new(20);
        let mut in_flight = 19;
        let mut left = Vec::new();
        for _ in 0..8 {
            in_flight -= 1;
            let more = prr.delivered(1, in_flight, 10.0, false);
            (0..more).for_each(|_| prr.sent());
            in_flight += more;
            left.push(more);
        }
        assert_eq!(left, [1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// Of 20, 15 are lost: 4 in flight, threshold 10. Six at once would be a burst.
    #[test]
    fn after_heavy_loss_one_leaves_for_each_that_arrives() {
        let mut prr = Prr::new(20);
        assert_eq!(prr.delivered(1, 4, 10.0, false), 1);
        prr.sent();
        // A retransmission has arrived: one more than delivered.
        assert_eq!(prr.delivered(1, 4, 10.0, true), 2);
    }

    /// The same: 2 of 20 delivered and 3 sent, so nothing is left. By the RFC nothing leaves without
    /// progress; in the kernel one does for the one that arrives, and another with progress.
    #[test]
    fn the_kernel_keeps_the_number_in_flight_and_adds_one_for_progress_without_loss() {
        let ahead = || {
            let mut prr = Prr::new(20);
            prr.delivered(1, 4, 10.0, false);
            (0..3).for_each(|_| prr.sent());
            prr
        };
        assert_eq!(ahead().delivered(1, 4, 10.0, false), 0);
        assert_eq!(ahead().delivered_in_kernel(1, 4, 10.0, false), 1);
        assert_eq!(ahead().delivered_in_kernel(1, 4, 10.0, true), 2);
        assert_eq!(ahead().delivered_in_kernel(1, 9, 10.0, true), 1); // no more than the threshold
    }
}
