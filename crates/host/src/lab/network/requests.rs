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
    /// Of a network without a router, all 0.
    counts: RequestCounts,
}

impl Requests {
    pub fn of(links: &[LinkSpec]) -> Requests {
        let is_router = |link: &LinkSpec| ["xcp", "xcp_tcp"].contains(&link.queue.entry.name);
        Requests {
            routers: links.iter().map(is_router).collect(),
            answerer: Answerer::default(),
            asking: BTreeSet::new(),
            sums: BTreeMap::new(),
            counts: RequestCounts::default(),
        }
    }

    /// What passed the routers, if there is one.
    pub fn counts(&self) -> Option<RequestCounts> {
        self.routers.contains(&true).then_some(self.counts)
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
                self.requests.counts.without_request += 1;
            }
        }
        asked
    }

    /// Writes what a link has left of the request of the packet in a slot.
    pub(super) fn answer(&mut self, slot: u32, left: Option<CongestionHeader>) {
        let Some(header) = left else { return };
        let packet = &mut self.packets[slot as usize];
        let answered = self.requests.answerer.answer(&mut packet.bytes, &header);
        self.requests.counts.answered += u64::from(answered);
    }

    /// A packet reaches its host: adds up what it brings of requests and answers.
    pub(super) fn count_answers(&mut self, slot: u32, connection: u32, from: u8) {
        if !self.requests.routers.contains(&true) {
            return;
        }
        let Requests { sums, counts, .. } = &mut self.requests;
        let bytes = &self.packets[slot as usize].bytes;
        counts.granted += read_grant(bytes).map_or(0, i64::from);
        if let Some(sum) = read_sum(bytes) {
            let last = sums.insert((connection, from), sum).unwrap_or(0);
            // Of 31 bits, with a sign.
            counts.returned += i64::from((sum.wrapping_sub(last) << 1).cast_signed() >> 1);
        }
    }
}
