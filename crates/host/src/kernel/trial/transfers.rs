//! What belongs together in a trial: the connections of a transfer with what was drawn for them, and how each ended.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use serde::Serialize;

use super::closed::ClosedFlow;

/// The number of connections that are known at a time; further ones get a controller and are not counted.
const MOST_OPEN: usize = 1 << 16;
/// Connections to one peer within this time are one transfer, nanoseconds: `TOGETHER_NS` of `trial.bpf.c`.
const TOGETHER_NS: u64 = 2_000_000_000;
/// The bits of a transfer that are the number of its controller.
const CONTROLLER_BITS: u64 = 7;

/// A connection that got a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenedFlow {
    /// Its cookie.
    pub cookie: u64,
    /// What it shares with the other connections of its transfer: the time of the draw in nanoseconds, or by time the
    /// number of the block times eight, with the number of the controller in the lowest three bits.
    pub transfer: u64,
    /// When it began, on the host's monotonic clock.
    pub at_ns: u64,
    /// Whether the kernel gave it the controller.
    pub assigned: bool,
    /// The other end.
    pub peer: [u8; 16],
}

/// A transfer whose connections have all ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// The number of its controller in the request.
    pub controller: u64,
    /// By time, the number of the block in which it began.
    pub block: Option<u64>,
    /// The other end.
    pub peer: IpAddr,
    /// Its connections.
    pub connections: Vec<ClosedFlow>,
}

/// The transfers of which connections are open, and the ones that may get more.
#[derive(Debug, Default)]
pub struct Transfers {
    by_time: bool,
    open: BTreeMap<u64, Key>,
    pending: BTreeMap<Key, Pending>,
}

/// A transfer and its peer.
type Key = (u64, [u8; 16]);

#[derive(Debug, Default)]
struct Pending {
    open: usize,
    ended: Vec<ClosedFlow>,
}

impl Transfers {
    /// `by_time`: each connection is a transfer of its own, and its block is known.
    pub fn new(by_time: bool) -> Transfers {
        Transfers { by_time, ..Transfers::default() }
    }

    /// The number of connections that have not ended.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// A connection began. A socket that connects again belongs to its last transfer.
    pub fn opened(&mut self, flow: &OpenedFlow) {
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&flow.cookie) {
            return;
        }
        let key = (flow.transfer, flow.peer);
        if let Some(before) = self.open.insert(flow.cookie, key).and_then(|key| self.pending.get_mut(&key)) {
            before.open -= 1;
        }
        self.pending.entry(key).or_default().open += 1;
    }

    /// A connection of the host ended; others than those of the trial are ignored.
    pub fn closed(&mut self, flow: ClosedFlow) {
        let pending = self.open.remove(&flow.cookie).and_then(|key| self.pending.get_mut(&key));
        if let Some(pending) = pending {
            pending.open -= 1;
            pending.ended.push(flow);
        }
    }

    /// Takes the transfers that are complete, in the order of their draws: all connections have ended, and at `now_ns` of
    /// the host's monotonic clock no further one can begin. By time, takes each connection that has ended.
    pub fn complete(&mut self, now_ns: u64) -> Vec<Transfer> {
        if self.by_time {
            let ended = self.pending.iter_mut().flat_map(|(key, pending)| {
                pending.ended.drain(..).map(|flow| transfer(*key, true, vec![flow]))
            });
            let ended: Vec<Transfer> = ended.collect();
            self.pending.retain(|_, pending| pending.open > 0);
            return ended;
        }
        let past = |key: &Key| (key.0 | CONTROLLER_BITS) + TOGETHER_NS < now_ns;
        let due =
            self.pending.iter().take_while(|(key, _)| past(key)).filter(|(_, pending)| pending.open == 0);
        let due: Vec<Key> = due.map(|(key, _)| *key).collect();
        let taken = due.into_iter().filter_map(|key| Some((key, self.pending.remove(&key)?.ended)));
        taken.filter(|(_, ended)| !ended.is_empty()).map(|(key, ended)| transfer(key, false, ended)).collect()
    }
}

fn transfer((number, peer): Key, by_time: bool, connections: Vec<ClosedFlow>) -> Transfer {
    Transfer {
        controller: number & CONTROLLER_BITS,
        block: by_time.then_some(number >> CONTROLLER_BITS.count_ones()),
        peer: Ipv6Addr::from(peer).to_canonical(),
        connections,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn opened(cookie: u64, transfer: u64) -> OpenedFlow {
        let peer = std::net::Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets();
        OpenedFlow { cookie, transfer, at_ns: transfer, assigned: true, peer }
    }

    fn ended(cookie: u64) -> ClosedFlow {
        ClosedFlow {
            cookie,
            acked_bytes: 1000 * cookie,
            sent: 1,
            retransmitted: 0,
            rtt_ms: None,
            min_rtt_ms: None,
            busy_s: 0.1,
            receive_window_s: 0.0,
            send_buffer_s: 0.0,
        }
    }

    fn sizes(complete: &[Transfer]) -> Vec<(u64, Vec<u64>)> {
        let sizes = |of: &Transfer| of.connections.iter().map(|flow| flow.acked_bytes).collect();
        complete.iter().map(|of| (of.controller, sizes(of))).collect()
    }

    #[test]
    fn a_transfer_is_complete_when_all_its_connections_have_ended_and_no_other_can_join_it() {
        let (mut transfers, drawn) = (Transfers::new(false), 800 * S + 1);
        transfers.opened(&opened(1, drawn));
        transfers.opened(&opened(2, drawn));
        transfers.closed(ended(1));
        transfers.closed(ended(7)); // of another program
        assert_eq!(transfers.complete(900 * S), []);
        transfers.closed(ended(2));
        assert_eq!(transfers.complete(802 * S), []);
        let complete = transfers.complete(803 * S);
        assert_eq!(sizes(&complete), [(1, vec![1000, 2000])]);
        assert_eq!((complete[0].peer.to_string(), complete[0].block), ("192.0.2.1".into(), None));
        assert_eq!((transfers.open(), transfers.complete(900 * S)), (0, vec![]));
    }

    #[test]
    fn a_socket_that_connects_again_is_counted_once() {
        let mut transfers = Transfers::new(false);
        transfers.opened(&opened(1, 800 * S));
        transfers.opened(&opened(1, 808 * S + 1));
        transfers.closed(ended(1));
        assert_eq!(sizes(&transfers.complete(900 * S)), [(1, vec![1000])]);
    }

    #[test]
    fn by_time_each_connection_counts_in_its_block() {
        let mut transfers = Transfers::new(true);
        for cookie in 1..=3 {
            transfers.opened(&opened(cookie, (5 << 3) | 1));
        }
        transfers.closed(ended(1));
        transfers.closed(ended(3));
        let complete = transfers.complete(0);
        assert_eq!(sizes(&complete), [(1, vec![1000]), (1, vec![3000])]);
        assert_eq!((complete[0].block, transfers.open()), (Some(5), 1));
    }

    #[test]
    fn connections_beyond_the_bound_are_not_counted() {
        let mut transfers = Transfers::new(false);
        for cookie in 0..MOST_OPEN as u64 + 5 {
            transfers.opened(&opened(cookie, 800 * S));
        }
        assert_eq!(transfers.open(), MOST_OPEN);
    }
}
