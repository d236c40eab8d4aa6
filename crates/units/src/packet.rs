//! The packets of a connection: data forward, acknowledgements back.
//!
//! A connection numbers its packets from zero, and every packet but the last of a transfer
//! carries a full payload. A packet holds what its header would: nothing of the sender's state.
//!
//! Where a scenario allows it, what is simulated as one packet is a train: several consecutive packets of one size, or the
//! acknowledgements of such packets.

use std::num::NonZeroU32;

use crate::congestion_header::{CONGESTION_HEADER, CongestionHeader};
use crate::{Bytes, Time};

/// IP and TCP headers without options, as ns-2 counts them.
pub const HEADER: Bytes = Bytes(40);
/// An acknowledgement is a bare header.
pub const ACK_SIZE: Bytes = HEADER;
/// SACK blocks in one acknowledgement: what fits beside a timestamp option [RFC 2018, 3].
pub const SACK_BLOCKS: usize = 3;

// Rings of packets in flight are what a run touches most.
const _: () = assert!(size_of::<Data>() <= 40 && size_of::<Ack>() <= 64);

/// The two bits of the IP header for explicit congestion notification [RFC 3168, 5].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: a queue can only drop it.
    #[default]
    NotCapable,
    /// ECT(0): a queue may mark it instead.
    Capable,
    /// CE: a queue has marked it.
    Marked,
}

/// A data packet, or the request that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number within the connection.
    pub number: u64,
    /// When the sender stamped it [RFC 7323].
    pub stamped: Time,
    /// Size on the wire, headers included; of all packets of a train.
    pub size: u32,
    /// How many packets this is: one, or as many as the train has; none: it opens the connection and carries no data.
    pub packets: u8,
    /// Whether its number is new, and whether it left alone.
    pub sending: Sending,
    /// What queues may do to it, or have done.
    pub ecn: Ecn,
    /// CWR: the sender has reduced its window, and no echo of an earlier mark is needed.
    pub cwr: bool,
    /// What routers read and write, of a sender that asks them.
    pub congestion: Option<CongestionHeader>,
}

/// How a data packet left its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// For the first time; alone, or first in a burst of segmentation offload.
    First,
    /// For the first time, in the same burst of segmentation offload as the packet before it.
    Following,
    /// The same, and the last of its burst, which says so (PSH).
    Last,
    /// Once more.
    Again,
}

impl Sending {
    /// Whether it left in the same burst as the packet before it.
    #[inline(always)]
    pub fn follows(self) -> bool {
        matches!(self, Sending::Following | Sending::Last)
    }
}

impl Data {
    /// Whether the sender has sent this number before.
    #[inline(always)]
    pub fn retransmitted(&self) -> bool {
        self.sending == Sending::Again
    }

    /// Whether this opens the connection and carries no data.
    #[inline(always)]
    pub fn opens(&self) -> bool {
        self.packets == 0
    }

    /// What it carries, bytes.
    pub fn payload(&self) -> u64 {
        let congestion = if self.congestion.is_some() { CONGESTION_HEADER } else { Bytes(0) };
        u64::from(self.size) - (HEADER + congestion).0 * u64::from(self.packets.max(1))
    }

    /// The packets of a train, one by one.
    pub fn each(&self) -> impl Iterator<Item = Data> + use<> {
        let train = *self;
        let size = train.size / u32::from(train.packets.max(1));
        (0..u64::from(train.packets)).map(move |n| Data {
            number: train.number + n,
            size,
            packets: 1,
            ..train
        })
    }
}

/// Packets that arrived beyond the cumulative acknowledgement, counted from it: packet `next + from`
/// to before `next + to`. Offsets keep an acknowledgement within a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first packet of the block.
    pub from: u32,
    /// The first packet after it.
    pub to: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next packet that the receiver waits for: all before it have arrived.
    pub next: u64,
    /// The stamp of the packet that caused this acknowledgement.
    pub echo: Time,
    /// When that packet reached the receiver.
    pub arrived: Time,
    /// The latest blocks first; only the first `blocks` are meant.
    pub sack: [SackBlock; SACK_BLOCKS],
    /// How many of `sack` are meant.
    pub blocks: u8,
    /// How many acknowledgements this is: one, or as many as the train has; none: it answers the request that opens the
    /// connection.
    pub packets: u8,
    /// ECE: a marked packet has arrived, and none with CWR since.
    pub ece: bool,
    /// Whether it carries a congestion header, for a sender that asks routers.
    pub congestion: bool,
    /// Reverse_Feedback of that, bytes/s: what routers have left of the sender's wishes.
    pub feedback: i32,
    /// How many packets from `next` on the receiver has room for; none: for all that may come.
    pub window: Option<NonZeroU32>,
}

impl Ack {
    /// Whether this answers the request that opens the connection.
    #[inline(always)]
    pub fn opens(&self) -> bool {
        self.packets == 0
    }

    /// Size on the wire; of all acknowledgements of a train.
    pub fn size(&self) -> u32 {
        let congestion = if self.congestion { CONGESTION_HEADER } else { Bytes(0) };
        (ACK_SIZE + congestion).0 as u32 * u32::from(self.packets.max(1))
    }

    /// The acknowledgements of a train, one by one.
    pub fn each(&self) -> impl Iterator<Item = Ack> + use<> {
        let train = *self;
        let first = train.next - u64::from(train.packets);
        (1..=u64::from(train.packets)).map(move |n| {
            let mut one = train;
            (one.next, one.packets) = (first + n, 1);
            one
        })
    }

    /// Says that the packet of that number, which caused this acknowledgement, had arrived before: by an empty block at
    /// its place before the others [RFC 2883].
    pub fn set_dsack(&mut self, number: u64) {
        self.sack.rotate_right(1);
        let place = number.wrapping_sub(self.next) as u32; // may lie before the cumulative acknowledgement
        self.sack[0] = SackBlock { from: place, to: place };
        self.blocks = (self.blocks + 1).min(SACK_BLOCKS as u8);
    }

    /// Whether the packet that caused this acknowledgement had arrived before, where the receiver
    /// says so.
    pub fn has_dsack(&self) -> bool {
        self.dsack().is_some()
    }

    /// The packet that caused this acknowledgement, where the receiver says that it had arrived before.
    pub fn dsack(&self) -> Option<u64> {
        let block = self.sacked().first().filter(|block| block.from == block.to)?;
        Some(self.next.wrapping_add_signed(i64::from(block.from.cast_signed())))
    }

    /// The meant SACK blocks, the latest first.
    pub fn sacked(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.blocks)]
    }
}
