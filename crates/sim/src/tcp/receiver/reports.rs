//! The runs beyond a gap that a receiver reports in SACK blocks [RFC 2018].

use fairhaul_units::{Ack, Data, SACK_BLOCKS, SackBlock};

use super::Receiver;

impl Receiver {
    /// Whether `data` makes or touches another run than the two that a held acknowledgement reports
    /// first, and so could push out of the next what was not reported yet [LINUX,
    /// TCP_SACK_BLOCKS_EXPECTED].
    #[cold]
    pub(super) fn is_third_run(&self, data: &Data) -> bool {
        let live = || self.recent.iter().filter(|run| run.0 > self.next);
        let touched = |run: &&(u64, u64)| data.number + 1 >= run.0 && data.number <= run.1;
        self.delayed.is_some()
            && data.number > self.next
            && live().count() > 1
            && !live().take(2).any(|run| touched(&run))
    }

    /// Puts the run that now holds `count` numbers from `number` on first among the recent ones.
    #[inline(never)]
    pub(super) fn remember(&mut self, number: u64, count: u64) {
        let run = self.out_of_order.insert_all(number, count);
        if !self.reports {
            return;
        }
        self.recent.retain(|r| r.1 > self.next && (r.1 < run.0 || r.0 > run.1));
        self.recent.insert(0, run);
        self.recent.truncate(SACK_BLOCKS + 1);
    }

    /// Writes the latest runs beyond a gap on an acknowledgement.
    #[inline(never)]
    pub(super) fn report(&self, ack: &mut Ack) {
        let live = self.recent.iter().filter(|run| run.0 > self.next);
        for (block, run) in ack.sack.iter_mut().zip(live) {
            *block = SackBlock { from: (run.0 - self.next) as u32, to: (run.1 - self.next) as u32 };
            ack.blocks += 1;
        }
    }
}
