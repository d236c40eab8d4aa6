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
        let arrived = (data.number, data.end());
        self.delayed.is_some()
            && data.number > self.next
            && live().count() > 1
            && !live().take(2).any(|run| touch(*run, arrived))
    }

    /// Puts the run that now holds `count` numbers from `number` on first among the recent ones. A kernel knows only what it
    /// still reports of it, and not what it has reported before [LINUX, tcp_sack_new_ofo_skb].
    #[inline(never)]
    pub(super) fn remember(&mut self, number: u64, count: u64) {
        let whole = self.out_of_order.insert_all(number, count);
        if !self.reports {
            return;
        }
        let mut run = if self.adaptive.is_some() { (number, number + count) } else { whole };
        self.recent.retain(|known| {
            let joined = touch(*known, run);
            if joined {
                run = (run.0.min(known.0), run.1.max(known.1));
            }
            known.1 > self.next && !joined
        });
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

/// Whether two runs overlap, or one begins where the other ends.
fn touch(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}
