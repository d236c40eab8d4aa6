//! The requests of XCP senders, at links whose queue is an XCP router.

use std::collections::{BTreeMap, BTreeSet};

use fairhaul_path::{LinkSpec, PacketKind};
use fairhaul_units::CongestionHeader;

use super::Network;
use crate::lab::network_counts::RequestCounts;
use crate::lab::xcp_option::{Answerer, read_grant, read_request, read_sum};

/// Which links answer, and how.
#[derive(Debug)]
pub(super) struct Requests {
    routers: Vec<bool>,
    answerer: Answerer,
    /// Connections of which a packet has asked.
    asking: BTreeSet<u32>,
    /// By connection and host: the last sum of its answers.
    sums: BTreeMap<(u32, u8), u32>,
    /// Where there is a router.
    pub counts: Option<RequestCounts>,
}

impl Requests {
    pub fn of(links: &[LinkSpec]) -> Requests {
        let is_router = |link: &LinkSpec| ["xcp", "xcp_tcp"].contains(&link.queue.entry.name);
        let routers: Vec<bool> = links.iter().map(is_router).collect();
        Requests {
            counts: routers.contains(&true).then(RequestCounts::default),
            routers,
            answerer: Answerer::default(),
            asking: BTreeSet::new(),
            sums: BTreeMap::new(),
        }
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
        if let Requests { asking, counts: Some(counts), .. } = &mut self.requests
            && kind == PacketKind::Data
        {
            if asked.is_some() {
                asking.insert(connection);
            } else if asking.contains(&connection) {
                counts.without_request += 1;
            }
        }
        asked
    }

    /// Writes what a link has left of the request of the packet in a slot.
    pub(super) fn answer(&mut self, slot: u32, left: Option<CongestionHeader>) {
        let Some(header) = left else { return };
        let Requests { answerer, counts: Some(counts), .. } = &mut self.requests else { return };
        let packet = &mut self.packets[slot as usize];
        counts.answered += u64::from(answerer.answer(&mut packet.bytes, &header));
    }

    /// A packet reaches its host: adds up what it brings of requests and answers.
    pub(super) fn count_answers(&mut self, slot: u32, connection: u32, from: u8) {
        let Requests { sums, counts: Some(counts), .. } = &mut self.requests else { return };
        let bytes = &self.packets[slot as usize].bytes;
        counts.granted += read_grant(bytes).map_or(0, i64::from);
        if let Some(sum) = read_sum(bytes) {
            let last = sums.insert((connection, from), sum).unwrap_or(0);
            // Of 31 bits, with a sign.
            counts.returned += i64::from((sum.wrapping_sub(last) << 1).cast_signed() >> 1);
        }
    }
}
