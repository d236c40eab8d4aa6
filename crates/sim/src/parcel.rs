//! A packet that waits before a link, outside its connection: whose it is, and where it goes on.

use fairhaul_path::queue::Packet;
use fairhaul_units::{Ack, CongestionHeader, Data, Ecn};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// Of its connection.
    pub serial: u32,
    /// Of its connection.
    pub flow: u32,
    /// The leg of its route at whose end the link is.
    pub leg: u16,
    pub load: Load,
}

/// What travels.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    Data(Data),
    Ack(Ack),
}

impl Packet for Parcel {
    fn congestion(&self) -> Option<&CongestionHeader> {
        match &self.load {
            Load::Data(data) => data.congestion.as_ref(),
            Load::Ack(_) => None,
        }
    }

    fn carries_data(&self) -> bool {
        matches!(&self.load, Load::Data(data) if !data.opens)
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        match &mut self.load {
            Load::Data(data) => data.congestion.as_mut(),
            Load::Ack(_) => None,
        }
    }
}

impl Parcel {
    pub fn size(&self) -> u32 {
        match &self.load {
            Load::Data(data) => data.size,
            Load::Ack(ack) => ack.size(),
        }
    }

    pub fn ecn(&self) -> Ecn {
        match &self.load {
            Load::Data(data) => data.ecn,
            // An acknowledgement is never ECN-capable [RFC 3168, 6.1.4].
            Load::Ack(_) => Ecn::NotCapable,
        }
    }

    /// The flow of a data packet, which a link may lose.
    pub fn may_lose(&self) -> Option<u32> {
        matches!(&self.load, Load::Data(data) if !data.opens).then_some(self.flow)
    }
}
