//! What the sender knows of the packets it has sent [RFC 6675], with or without SACK.
//!
//! Instead of a mark on each packet there are two boundaries that only move forward within a
//! recovery: what lies below `lost_below` and was not reported is lost, and what lies below
//! `resent_below` has been sent again. `pipe` counts, for each packet that was not reported, one if
//! it is not lost and one if it was sent again. Each packet is passed once by each boundary, so an
//! ACK costs O(1), amortised, at any window.

use fairhaul_units::Ack;

use super::runs::Runs;

/// Packets reported above a gap before the gap is believed to be lost [RFC 6675, DupThresh].
pub const DUP_THRESHOLD: u64 = 3;

/// The sender's picture of the packets in flight.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// The first packet that was not acknowledged.
    una: u64,
    /// The first packet that was never sent.
    next: u64,
    sacked: Runs,
    pipe: u64,
    lost_below: u64,
    resent_below: u64,
    rescued: Option<u64>,
    /// The three highest packets reported, the highest first.
    top: [u64; DUP_THRESHOLD as usize],
    /// Without SACK: packets that duplicate acknowledgements say have left the network.
    left: u64,
}

impl Scoreboard {
    /// The first packet that was not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The first packet that was never sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Packets sent and not cumulatively acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Packets believed to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(self.left)
    }

    /// Whether the first unacknowledged packet is believed to be lost.
    pub fn has_loss(&self) -> bool {
        self.lost_below > self.una
    }

    /// Whether any packet was reported beyond the cumulative acknowledgement.
    pub fn has_reports(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// A packet that was never sent goes out: its number.
    pub fn send_new(&mut self) -> u64 {
        self.next += 1;
        self.pipe += 1;
        self.next - 1
    }

    /// The lost packet to send again next, if any.
    pub fn lost_to_resend(&mut self) -> Option<u64> {
        self.next_to_resend(self.lost_below)
    }

    /// A packet that was not reported, lies below a reported one and was not sent again
    /// [RFC 6675, NextSeg rule 3].
    pub fn gap_to_resend(&mut self) -> Option<u64> {
        if self.sacked.is_empty() { None } else { self.next_to_resend(self.top[0]) }
    }

    /// The packet that [`lost_to_resend`](Self::lost_to_resend) or
    /// [`gap_to_resend`](Self::gap_to_resend) gave goes out.
    pub fn resend(&mut self, number: u64) {
        self.resent_below = number + 1;
        self.pipe += 1;
    }

    /// The highest packet below `recover` that was not reported goes out once more in this
    /// recovery, to save a timeout [RFC 6675, NextSeg rule 4]; its number.
    pub fn rescue(&mut self, recover: u64) -> Option<u64> {
        if self.rescued.is_some() || self.outstanding() == 0 {
            return None;
        }
        let number = (self.una..recover.min(self.next)).rev().find(|&n| !self.sacked.contains(n))?;
        self.rescued = Some(number);
        self.pipe += 1;
        Some(number)
    }

    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    pub fn take(&mut self, ack: &Ack) -> u64 {
        let delivered = self.advance(ack.next);
        let mut reported = 0;
        for block in ack.sacked() {
            let (from, to) = (ack.next + u64::from(block.from), ack.next + u64::from(block.to));
            reported += self.report(from.max(self.una), to.min(self.next));
        }
        if reported > 0 {
            self.lose_below(self.top[DUP_THRESHOLD as usize - 1]);
        }
        delivered + reported
    }

    /// Believes every unreported packet below `number` to be lost.
    pub fn lose_below(&mut self, number: u64) {
        for lost in self.lost_below.max(self.una)..number {
            self.pipe -= u64::from(!self.sacked.contains(lost));
        }
        self.lost_below = self.lost_below.max(number);
    }

    /// Without SACK: says how many packets duplicate acknowledgements report as gone.
    pub fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    /// Without SACK: packets that duplicate acknowledgements report as gone.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// A recovery begins: it may rescue one packet.
    pub fn begin_recovery(&mut self) {
        self.rescued = None;
    }

    /// The timer ran out: everything unreported is lost, and nothing is in the network.
    ///
    // Differs from [RFC 2018, 8]: the reports are kept, as in Linux; our receivers never take one
    // back.
    pub fn lose_all(&mut self) {
        self.lost_below = self.next;
        self.resent_below = self.una;
        self.rescued = None;
        self.pipe = 0;
        self.left = 0;
    }

    fn next_to_resend(&mut self, bound: u64) -> Option<u64> {
        self.resent_below = self.resent_below.max(self.una);
        while self.resent_below < bound && self.sacked.contains(self.resent_below) {
            self.resent_below += 1;
        }
        (self.resent_below < bound).then_some(self.resent_below)
    }

    /// Moves to a cumulative acknowledgement: how many packets were not reported before.
    fn advance(&mut self, to: u64) -> u64 {
        let to = to.min(self.next);
        if to <= self.una {
            return 0;
        }
        let mut delivered = to - self.una;
        if self.sacked.is_empty() && self.lost_below <= self.una && self.resent_below <= self.una {
            self.pipe -= delivered + self.rescued_within(self.una, to);
        } else {
            for number in self.una..to {
                if self.sacked.contains(number) {
                    delivered -= 1;
                } else {
                    self.pipe -= self.in_pipe(number);
                }
            }
        }
        self.una = to;
        self.sacked.advance(to);
        delivered
    }

    /// Marks `from..to` as reported: how many were not before.
    fn report(&mut self, from: u64, to: u64) -> u64 {
        let mut fresh = 0;
        let mut number = from;
        while number < to {
            if !self.sacked.contains(number) {
                self.pipe -= self.in_pipe(number);
                self.rank(number);
                fresh += 1;
                number = self.sacked.insert(number).1;
            } else if number > self.una && self.sacked.contains(number - 1) {
                number += 1; // an old block begins inside a run: no first cell to read its length from
            } else {
                number += self.sacked.run_at(number);
            }
        }
        fresh
    }

    fn rank(&mut self, number: u64) {
        let [first, second, third] = self.top;
        self.top = match number {
            n if n > first => [n, first, second],
            n if n > second => [first, n, second],
            n if n > third => [first, second, n],
            _ => self.top,
        };
    }

    /// How often an unreported packet is in the network.
    fn in_pipe(&self, number: u64) -> u64 {
        u64::from(number >= self.lost_below)
            + u64::from(number < self.resent_below)
            + u64::from(self.rescued == Some(number))
    }

    fn rescued_within(&self, from: u64, to: u64) -> u64 {
        u64::from(self.rescued.is_some_and(|n| (from..to).contains(&n)))
    }
}
