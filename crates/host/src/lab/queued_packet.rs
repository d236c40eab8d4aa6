//! A packet that waits in the queue of a link.

use fairhaul_path::{LinkPacket, Packet};
use fairhaul_units::CongestionHeader;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// Its slot in the network.
    pub slot: u32,
    pub at_link: LinkPacket,
}

impl Packet for QueuedPacket {
    fn at_link(&self) -> LinkPacket {
        self.at_link
    }

    fn congestion(&self) -> Option<&CongestionHeader> {
        None
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        None
    }
}
