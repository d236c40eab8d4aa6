//! What travels: data packets forward, acknowledgements back.
//!
//! A connection numbers its packets from zero, and every packet but the last of a transfer
//! carries a full payload. A packet holds what its header would: nothing of the sender's state.

use crate::{Bytes, Time};

/// IP and TCP headers without options, as ns-2 counts them.
pub const HEADER: Bytes = Bytes(40);
/// An acknowledgement is a bare header.
pub const ACK_SIZE: Bytes = HEADER;
/// SACK blocks in one acknowledgement: what fits beside a timestamp option [RFC 2018, 3].
pub const SACK_BLOCKS: usize = 3;

/// A data packet, or the request that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number within the connection.
    pub number: u64,
    /// When the sender stamped it [RFC 7323].
    pub stamped: Time,
    /// Size on the wire, headers included.
    pub size: u32,
    /// Whether this opens the connection and carries no data.
    pub opens: bool,
    /// Whether the sender has sent this number before.
    pub again: bool,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Whether this answers the request that opens the connection.
    pub opens: bool,
}

impl Ack {
    /// The meant SACK blocks, the latest first.
    pub fn sacked(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.blocks)]
    }
}
