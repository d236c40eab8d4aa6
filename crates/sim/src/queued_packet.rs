//! A packet that waits in the queue of a link: its connection, and where it goes on.

use fairhaul_path::queue::Packet;
use fairhaul_units::{Ack, CongestionHeader, Data, Ecn};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Serial of its connection.
    pub serial: u32,
    /// Index of its flow.
    pub flow: u32,
    /// The leg of its route at whose end the link is.
    pub leg: u16,
    pub content: DataOrAck,
}

/// A data packet or an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub enum DataOrAck {
    Data(Data),
    Ack(Ack),
}

impl Packet for QueuedPacket {
    fn congestion(&self) -> Option<&CongestionHeader> {
        match &self.content {
            DataOrAck::Data(data) => data.congestion.as_ref(),
            DataOrAck::Ack(_) => None,
        }
    }

    fn carries_data(&self) -> bool {
        matches!(&self.content, DataOrAck::Data(data) if !data.opens)
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        match &mut self.content {
            DataOrAck::Data(data) => data.congestion.as_mut(),
            DataOrAck::Ack(_) => None,
        }
    }
}

impl QueuedPacket {
    pub fn size(&self) -> u32 {
        match &self.content {
            DataOrAck::Data(data) => data.size,
            DataOrAck::Ack(ack) => ack.size(),
        }
    }

    pub fn ecn(&self) -> Ecn {
        match &self.content {
            DataOrAck::Data(data) => data.ecn,
            // An acknowledgement is never ECN-capable [RFC 3168, 6.1.4].
            DataOrAck::Ack(_) => Ecn::NotCapable,
        }
    }

    /// The flow of a data packet, which a link may lose.
    pub fn may_lose(&self) -> Option<u32> {
        matches!(&self.content, DataOrAck::Data(data) if !data.opens).then_some(self.flow)
    }
}
