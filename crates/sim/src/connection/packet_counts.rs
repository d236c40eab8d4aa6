//! Counts of the packets of a connection.

/// How many packets of one kind were launched, and how many of them are no longer in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketCounts {
    pub launched: u64,
    pub arrived: u64,
    pub dropped: u64,
}

impl PacketCounts {
    /// Packets that wait for an event, in a ring or before a link.
    pub fn waiting(self) -> u64 {
        self.launched - self.arrived - self.dropped
    }
}
