//! What links and queues read of a packet, whichever engine it belongs to.

use fairhaul_units::{CongestionHeader, Ecn};

/// A packet as it is offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPacket {
    /// The number of its connection.
    pub connection: u32,
    /// Its size on the wire; of all packets of a train.
    pub size: u32,
    /// How many packets this is: one, or those of a train.
    pub packets: u8,
    /// Whether it can be marked.
    pub ecn: Ecn,
    /// The flow of a data packet: a link polices and loses no other packets.
    pub data_of: Option<u32>,
    /// Its payload, where this link is the one that counts the payload of the flow; else zero.
    pub counted: u32,
}

impl LinkPacket {
    /// The payload that this link counts, with its flow.
    #[inline(always)]
    pub fn counted_payload(&self) -> Option<(u32, u32)> {
        self.data_of.filter(|_| self.counted > 0).map(|flow| (flow, self.counted))
    }
}

/// A packet that can wait in a queue.
pub trait Packet: Copy {
    /// What the link reads of it.
    fn at_link(&self) -> LinkPacket;

    /// Its congestion header, where it is of a sender that asks routers.
    fn congestion(&self) -> Option<&CongestionHeader>;

    /// The same header, to be answered.
    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader>;
}
