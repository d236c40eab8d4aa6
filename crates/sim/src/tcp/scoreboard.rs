//! The packets that a sender has outstanding: which were acknowledged or reported as received, and how many are believed
//! to be in the network ("pipe") [RFC 6675].
//!
//! Which of them are lost, and which were retransmitted, its loss detector knows; the scoreboard counts.

use fairhaul_units::Ack;

use super::runs::Runs;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// The first packet that was not acknowledged.
    una: u64,
    /// The first packet that was never sent.
    next: u64,
    sacked: Runs,
    pipe: u64,
    /// How often a packet came to be believed lost.
    lost: u64,
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

    /// How often a packet has come to be believed lost: one that was retransmitted counts again only
    /// where it had been given up in error.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether any packet was reported beyond the cumulative acknowledgement.
    pub fn has_reports(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Packets reported beyond the cumulative acknowledgement.
    pub fn reported(&self) -> u64 {
        self.sacked.members()
    }

    /// Whether a packet beyond the cumulative acknowledgement was reported.
    pub fn is_reported(&self, number: u64) -> bool {
        self.sacked.contains(number)
    }

    /// Packets that were never sent go out: the number of the first.
    pub fn send_new(&mut self, packets: u64) -> u64 {
        self.next += packets;
        self.pipe += packets;
        self.next - packets
    }

    /// `copies` more are in the network.
    pub fn enter(&mut self, copies: u64) {
        self.pipe += copies;
    }

    /// A packet comes to be believed lost that was in the network that often.
    pub fn lose(&mut self, copies: u64) {
        self.pipe -= copies;
        self.lost += 1;
    }

    /// Nothing is in the network.
    pub fn empty(&mut self) {
        (self.pipe, self.left) = (0, 0);
    }

    /// Without SACK: says how many packets duplicate acknowledgements report as gone.
    pub fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    /// Without SACK: packets that duplicate acknowledgements report as gone.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// All packets below `to` are acknowledged, which were outstanding and not reported: how many they are. `copies`:
    /// how often they were in the network.
    #[inline(always)]
    pub fn advance_in_order(&mut self, to: u64, copies: u64) -> u64 {
        let delivered = to - self.una;
        self.pipe -= copies;
        self.una = to;
        self.sacked.advance(to);
        delivered
    }

    /// All packets below `to` are acknowledged: how many of them were not reported before. `deliver` takes each of those, and
    /// says how often it was in the network.
    pub fn advance(&mut self, to: u64, mut deliver: impl FnMut(u64) -> u64) -> u64 {
        let to = to.min(self.next);
        let mut delivered = 0;
        for number in self.una..to {
            if !self.sacked.contains(number) {
                self.pipe -= deliver(number);
                delivered += 1;
            }
        }
        if to > self.una {
            self.una = to;
            self.sacked.advance(to);
        }
        delivered
    }

    /// Takes the reports of an acknowledgement: how many packets were not reported before. `deliver` takes those from a number
    /// to before another, or only the first of them: how many it took, and how often they were in the network.
    #[inline(always)]
    pub fn report(&mut self, ack: &Ack, mut deliver: impl FnMut(u64, u64) -> (u64, u64)) -> u64 {
        let mut reported = 0;
        for block in ack.sacked() {
            let (from, to) = (ack.next + u64::from(block.from), ack.next + u64::from(block.to));
            reported += self.report_block(from.max(self.una), to.min(self.next), &mut deliver);
        }
        reported
    }

    fn report_block(&mut self, from: u64, to: u64, mut deliver: impl FnMut(u64, u64) -> (u64, u64)) -> u64 {
        let mut fresh = 0;
        let mut number = from;
        while number < to {
            if !self.sacked.contains(number) {
                let (packets, copies) = deliver(number, to);
                self.pipe -= copies;
                fresh += packets;
                number = self.sacked.insert_all(number, packets).1;
            } else if number > self.una && self.sacked.contains(number - 1) {
                number += 1; // an old block begins inside a run: no first cell to read its length from
            } else {
                number += self.sacked.run_at(number);
            }
        }
        fresh
    }
}
