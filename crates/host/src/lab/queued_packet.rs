//! A packet that waits in the queue of a link.

use fairhaul_path::{LinkPacket, Packet};
use fairhaul_units::CongestionHeader;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Its slot in the network.
    pub slot: u32,
    pub at_link: LinkPacket,
    /// What it asks of an XCP router, if it comes to one.
    pub congestion: Option<CongestionHeader>,
}

impl Packet for QueuedPacket {
    fn at_link(&self) -> LinkPacket {
        self.at_link
    }

    fn congestion(&self) -> Option<&CongestionHeader> {
        self.congestion.as_ref()
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        self.congestion.as_mut()
    }
}
