//! The requests of XCP senders, at links whose queue is an XCP router.

use std::collections::BTreeSet;

use fairhaul_path::{LinkSpec, PacketKind};
use fairhaul_units::CongestionHeader;

use super::Network;
use crate::lab::xcp_option::{Answerer, read_request};

/// Which links answer, and how.
#[derive(Debug)]
pub(super) struct Requests {
    routers: Vec<bool>,
    answerer: Answerer,
    /// Connections of which a packet has asked.
    asking: BTreeSet<u32>,
}

impl Requests {
    pub fn of(links: &[LinkSpec]) -> Requests {
        let is_router = |link: &LinkSpec| ["xcp", "xcp_tcp"].contains(&link.queue.entry.name);
        let routers = links.iter().map(is_router).collect();
        Requests { routers, answerer: Answerer::default(), asking: BTreeSet::new() }
    }
}

impl Network {
    /// Keeps the checksums of TCP right where packets are changed: hosts compute them whole.
    pub fn with_checksums(mut self) -> Network {
        self.requests.answerer.has_checksums = true;
        self
    }

    /// What the packet in a slot, which comes to a link, asks of it.
    pub(super) fn request(
        &mut self,
        link: u32,
        slot: u32,
        connection: u32,
        kind: PacketKind,
    ) -> Option<CongestionHeader> {
        if !self.requests.routers[link as usize] {
            return None;
        }
        let asked = read_request(&self.packets[slot as usize].bytes);
        if kind == PacketKind::Data {
            if asked.is_some() {
                self.requests.asking.insert(connection);
            } else if self.requests.asking.contains(&connection) {
                self.counts.without_request += 1;
            }
        }
        asked
    }

    /// Writes what a link has left of the request of the packet in a slot.
    pub(super) fn answer(&mut self, slot: u32, left: Option<CongestionHeader>) {
        let Some(header) = left else { return };
        let packet = &mut self.packets[slot as usize];
        self.counts.answered += u64::from(self.requests.answerer.answer(&mut packet.bytes, &header));
    }
}
