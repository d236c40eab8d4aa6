//! Acknowledgements that wait in rings: what few of them carry is stored apart, so that millions take little memory.

use std::num::{NonZeroU16, NonZeroU32};

use fairhaul_units::{AccurateEcn, Ack, Ecn, Feedback, SACK_BLOCKS, SackBlock, Time};
use slab::Slab;

/// An acknowledgement while it waits.
#[derive(Clone, Debug)]
pub struct WaitingAck {
    /// The next packet that the receiver waits for, and above it the window.
    next_and_window: u64,
    echo: Time,
    arrived: Time,
    /// What `carried` says.
    value: u32,
    carried: Carried,
    flags: u8,
    accurate: AccurateEcn,
}

const _: () = assert!(size_of::<WaitingAck>() == 32);

/// The bits of a packet's number, of which a run has fewer than 10^12; the others are those of the window.
const NUMBER_BITS: u32 = 40;
const MOST_WINDOW: u32 = (1 << (u64::BITS - NUMBER_BITS)) - 1;

/// The bits of its flags.
const OPENS: u8 = 1;
const ECE: u8 = 2;
const OPTIONS: u8 = 4;

/// What an acknowledgement carries besides.
#[derive(Clone, Copy, Debug)]
enum Carried {
    Nothing,
    /// Feedback of routers alone; the value is its bits.
    Feedback,
    /// SACK blocks or counters, and perhaps feedback; the value is the place in a [`RareStore`].
    Stored,
    /// It is a datagram of another transport stack; the value is its size, and above it its ECN bits.
    Datagram,
}

/// What only acknowledgements of a sender in trouble carry.
#[derive(Clone, Debug)]
struct Rare {
    sack: [SackBlock; SACK_BLOCKS],
    blocks: u8,
    feedback: Feedback,
}

/// What is rare of all acknowledgements that wait.
#[derive(Clone, Debug, Default)]
pub struct RareStore(Slab<Rare>);

impl RareStore {
    /// An acknowledgement begins to wait.
    #[inline(always)]
    pub fn put(&mut self, ack: &Ack) -> WaitingAck {
        let &Ack { next, echo, arrived, opens, ece, options, accurate, feedback, window, .. } = ack;
        let window = window.map_or(0, |window| window.get().min(MOST_WINDOW));
        let next_and_window = next | u64::from(window) << NUMBER_BITS;
        let (carried, value) = if let Some(size) = ack.datagram {
            (Carried::Datagram, u32::from(size.get()) | u32::from(ack.ecn.bits()) << u16::BITS)
        } else if ack.blocks > 0 || accurate.has_counters() {
            (Carried::Stored, self.put_rare(*ack))
        } else if let Some(rate) = feedback.get() {
            (Carried::Feedback, rate.cast_unsigned())
        } else {
            (Carried::Nothing, 0)
        };
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let flags = flag(opens, OPENS) | flag(ece, ECE) | flag(options, OPTIONS);
        WaitingAck { next_and_window, echo, arrived, value, carried, flags, accurate }
    }

    #[inline(never)]
    fn put_rare(&mut self, ack: Ack) -> u32 {
        let Ack { sack, blocks, feedback, .. } = ack;
        self.0.insert(Rare { sack, blocks, feedback }) as u32
    }

    /// An acknowledgement has waited.
    #[inline(always)]
    pub fn take(&mut self, waiting: &WaitingAck) -> Ack {
        let &WaitingAck { next_and_window, echo, arrived, value, carried, flags, accurate } = waiting;
        let next = next_and_window & ((1 << NUMBER_BITS) - 1);
        let window = NonZeroU32::new((next_and_window >> NUMBER_BITS) as u32);
        let [opens, ece, options] = [OPENS, ECE, OPTIONS].map(|bit| flags & bit != 0);
        let mut ack = Ack { next, echo, arrived, opens, ece, options, accurate, window, ..Ack::default() };
        match carried {
            Carried::Nothing => {}
            Carried::Feedback => ack.feedback = Feedback::of(value.cast_signed()),
            Carried::Datagram => {
                ack.datagram = NonZeroU16::new(value as u16);
                ack.ecn = Ecn::of_bits((value >> u16::BITS) as u8);
            }
            Carried::Stored => {
                let Rare { sack, blocks, feedback } = self.0.remove(value as usize);
                (ack.sack, ack.blocks, ack.feedback) = (sack, blocks, feedback);
            }
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
        let plain =
            Ack { next: 7, echo: Time::from_ps(3), arrived: Time::from_ps(5), ece: true, ..Ack::default() };
        let sack = [SackBlock { from: 1, to: 2 }, SackBlock { from: 4, to: 9 }, SackBlock::default()];
        let with_blocks = Ack { sack, blocks: 2, ..plain };
        let with_feedback = Ack { feedback: Feedback::of(-5), options: true, ..plain };
        let datagram = Ack { datagram: NonZeroU16::new(1300), ecn: Ecn::Capable, ..plain };
        let with_both = Ack { sack, blocks: 2, window: NonZeroU32::new(2884), ..with_feedback };
        let mut store = RareStore::default();
        for _ in 0..2 {
            let waiting = [plain, with_blocks, with_feedback, with_both, datagram].map(|ack| store.put(&ack));
            assert_eq!(store.0.len(), 2);
            let back = [2, 0, 3, 1, 4].map(|place: usize| store.take(&waiting[place]));
            assert_eq!(back, [with_feedback, plain, with_both, with_blocks, datagram]);
            assert!(store.0.is_empty());
        }
    }
}
