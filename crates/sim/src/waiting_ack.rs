//! Acknowledgements that wait in rings: what few of them carry is stored apart, so that millions take little memory.

use fairhaul_units::{Ack, SACK_BLOCKS, SackBlock, Time};
use slab::Slab;

/// The place of nothing in a [`RareStore`].
const NONE: u32 = u32::MAX;

/// An acknowledgement while it waits.
#[derive(Clone, Debug)]
pub struct WaitingAck {
    next: u64,
    echo: Time,
    arrived: Time,
    /// The place of what is rare, or none.
    rare: u32,
    packets: u8,
    ece: bool,
}

/// What only acknowledgements of a sender in trouble, or of one that asks routers, carry.
#[derive(Clone, Debug)]
struct Rare {
    sack: [SackBlock; SACK_BLOCKS],
    blocks: u8,
    congestion: bool,
    feedback: i32,
}

/// What is rare of all acknowledgements that wait.
#[derive(Debug, Default)]
pub struct RareStore(Slab<Rare>);

impl RareStore {
    /// An acknowledgement begins to wait.
    #[inline(always)]
    pub fn put(&mut self, ack: &Ack) -> WaitingAck {
        let &Ack { next, echo, arrived, packets, ece, .. } = ack;
        let rare = if ack.blocks == 0 && !ack.congestion { NONE } else { self.put_rare(ack) };
        WaitingAck { next, echo, arrived, rare, packets, ece }
    }

    #[inline(never)]
    fn put_rare(&mut self, ack: &Ack) -> u32 {
        let &Ack { sack, blocks, congestion, feedback, .. } = ack;
        self.0.insert(Rare { sack, blocks, congestion, feedback }) as u32
    }

    /// An acknowledgement has waited.
    #[inline(always)]
    pub fn take(&mut self, waiting: &WaitingAck) -> Ack {
        let &WaitingAck { next, echo, arrived, rare, packets, ece } = waiting;
        let mut ack = Ack { next, echo, arrived, packets, ece, ..Ack::default() };
        if rare != NONE {
            let Rare { sack, blocks, congestion, feedback } = self.0.remove(rare as usize);
            (ack.sack, ack.blocks, ack.congestion, ack.feedback) = (sack, blocks, congestion, feedback);
        }
        ack
    }

    /// Its memory, bytes.
    pub fn memory(&self) -> usize {
        self.0.capacity() * (size_of::<Rare>() + size_of::<usize>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_the_same_after_it_has_waited() {
        let plain = Ack {
            next: 7,
            echo: Time::from_ps(3),
            arrived: Time::from_ps(5),
            packets: 2,
            ece: true,
            ..Ack::default()
        };
        let sack = [SackBlock { from: 1, to: 2 }, SackBlock { from: 4, to: 9 }, SackBlock::default()];
        let with_blocks = Ack { sack, blocks: 2, ..plain };
        let with_feedback = Ack { congestion: true, feedback: -5, ..plain };
        let mut store = RareStore::default();
        for _ in 0..2 {
            let waiting = [plain, with_blocks, with_feedback].map(|ack| store.put(&ack));
            let back = [2, 0, 1].map(|place: usize| store.take(&waiting[place]));
            assert_eq!(back, [with_feedback, plain, with_blocks]);
            assert!(store.0.is_empty());
        }
    }
}
