//! The counts of packets of a run.

use serde::{Deserialize, Serialize};

/// Counts of the packets of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounts {
    /// Packets of a connection that were read from hosts.
    pub read: u64,
    /// Packets that a link has duplicated.
    pub copied: u64,
    /// Packets delivered to hosts.
    pub delivered: u64,
    /// Packets dropped by links.
    pub dropped: u64,
    /// Packets in flight.
    pub inside: u64,
    /// Packets from hosts that belong to no connection; they are not carried.
    pub strays: u64,
    /// What passed routers of XCP, if there is one.
    #[serde(default)]
    pub requests: Option<RequestCounts>,
}

/// What passed routers of XCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests that a router has answered.
    pub answered: u64,
    /// Packets with data that came to a router without a request, after others of their connection had asked.
    pub without_request: u64,
    /// The sum of the changes in the answered requests that reached their hosts, bytes/s.
    pub granted: i64,
    /// How much the sums in the answers of hosts have changed, bytes/s: what receivers have added up, and senders were
    /// sent.
    pub returned: i64,
}

impl NetworkCounts {
    /// Whether every packet is accounted for.
    pub fn balance(&self) -> bool {
        self.read + self.copied == self.delivered + self.dropped + self.inside
    }
}
