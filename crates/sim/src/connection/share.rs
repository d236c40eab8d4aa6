//! A transfer that several connections share: each takes its next packet when its window has room.
//!
//! The transfer is complete when its last packet has arrived, whichever connection carries that. If each connection
//! had a fixed part instead, the transfer would wait for the slowest one while the others are idle. All connections
//! take from one shared remainder. Each sender is shown it as though it were all its own, so it knows its last
//! packet, and the end of the transfer, as any sender does.

use fairhaul_experiment::{Flow, Transfer};
use fairhaul_units::{Data, Time};

use super::Connection;
use crate::network::Network;
use crate::tcp::Outcome;

/// What a connection has of a transfer that it carries with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The first of the flows that carry it.
    lead: u32,
    /// Payload that this one has claimed, bytes.
    claimed: u64,
}

impl Share {
    /// Nothing yet; `None` where `transfer` has no end, or is carried by this connection alone.
    pub(super) fn of(flow: &Flow, transfer: &Transfer) -> Option<Share> {
        transfer.size.and(flow.lead).map(|lead| Share { lead, claimed: 0 })
    }
}

impl Connection {
    /// Shows the sender what is left.
    pub(super) fn show_share(&mut self, network: &Network) {
        if let Some(Share { lead, claimed }) = self.share {
            let size = claimed + network.unclaimed[lead as usize];
            self.sender.set_size(size);
        }
    }

    /// The sender lets a packet go: a new one is no longer left to the others. The last of them ends the data.
    //
    // A connection to which the others have left nothing ends its data later, when it finds that out; its last acknowledgement
    // may be held until then, which the end of the transfer does not wait for.
    #[inline(never)]
    pub(super) fn claim_share(&mut self, data: &Data, network: &mut Network) {
        if let Some(share) = &mut self.share
            && !data.opens()
            && !data.retransmitted()
        {
            let payload = data.payload(self.sender.config().headers);
            share.claimed += payload;
            let left = &mut network.unclaimed[share.lead as usize];
            *left -= payload;
            if *left == 0 {
                self.receiver.set_end(data.end());
            }
        }
    }

    /// Ends a connection to which the others have left nothing.
    pub(super) fn end_share(&mut self, now: Time, network: &mut Network) {
        if self.share.is_some() && self.end.is_none() && self.sender.is_done() {
            self.record_outcome(Outcome::Finished, now, network);
        }
    }
}
