//! What links and queues read of a packet, whichever engine it belongs to.

use fairhaul_units::{CongestionHeader, Ecn, Sending, Span, Time};

/// A packet as it is offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPacket {
    /// The number of its connection.
    pub connection: u32,
    /// Its size on the wire.
    pub size: u32,
    /// Whether it can be marked.
    pub ecn: Ecn,
    /// The index of its flow.
    pub flow: u32,
    /// What it carries.
    pub kind: PacketKind,
    /// How it left its host.
    pub sending: Sending,
    /// Its payload, where this link is the one that counts the payload of the flow; else zero.
    pub counted: u32,
}

impl LinkPacket {
    /// The flow of a data packet.
    #[inline(always)]
    pub fn data_of(&self) -> Option<u32> {
        (self.kind == PacketKind::Data).then_some(self.flow)
    }

    /// The payload that this link counts, with its flow.
    #[inline(always)]
    pub fn counted_payload(&self) -> Option<(u32, u32)> {
        self.data_of().filter(|_| self.counted > 0).map(|flow| (flow, self.counted))
    }
}

/// Packets of one size that are offered one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// How many they are.
    pub packets: u8,
    /// The time from one to the next.
    pub spacing: Span,
}

impl Burst {
    /// When its packets are offered, the first of which is at `first`.
    pub fn times(self, first: Time) -> impl Iterator<Item = Time> {
        (0..u64::from(self.packets)).map(move |place| first + self.spacing * place)
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Data.
    Data,
    /// An acknowledgement without data.
    Ack,
    /// Nothing: it opens or closes a connection. No link polices or loses it.
    Control,
}

/// A packet that can wait in a queue.
pub trait Packet: Copy {
    /// What the link reads of it.
    fn at_link(&self) -> LinkPacket;

    /// Its congestion header, where it is of a sender that asks routers.
    fn congestion(&self) -> Option<&CongestionHeader>;

    /// Whether it is an acknowledgement of the same connection that says all that `other`, which is one, says.
    fn covers(&self, other: &Self) -> bool {
        let _ = other;
        false
    }

    /// The same header, to be answered.
    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader>;
}
