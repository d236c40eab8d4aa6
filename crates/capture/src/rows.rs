//! What is kept of a capture: a row for each transmission, a row for each acknowledgement.

/// What became of a transmission.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(u8)]
pub enum Fate {
    /// The capture does not say it.
    #[default]
    Unknown,
    /// It was acknowledged.
    Delivered,
    /// It was retransmitted before it was acknowledged, and nothing shows that the first copy arrived.
    Lost,
    /// It was sent although an earlier copy had arrived.
    Spurious,
    /// It is missing in the capture, and was captured later: on the receiver's side it was lost, or overtaken.
    Missing,
    /// It was acknowledged, but never captured.
    Uncaptured,
    /// It stands for nothing any more, and is removed.
    Removed,
}

/// Data that was sent at one time: a packet, or several packets that a card cuts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmission {
    /// When it was captured.
    pub time_ns: u64,
    /// When it was first acknowledged, or 0.
    pub acked_ns: u64,
    /// The number of its first byte.
    pub offset: u64,
    /// Bytes of data.
    pub payload: u32,
    /// Bytes of its frames of Ethernet, with their check sequences.
    pub wire: u32,
    /// The number of packets.
    pub packets: u32,
    /// What became of it.
    pub fate: Fate,
    /// Whether all or a part of it had been sent before.
    pub again: bool,
}

impl Transmission {
    /// Cuts off what is behind the first `payload` bytes, which is at least one byte less than there are.
    pub fn split_off(&mut self, payload: u32) -> Transmission {
        let whole = *self;
        let headers = (whole.wire - whole.payload) / whole.packets.max(1);
        let size = whole.payload.div_ceil(whole.packets.max(1)).max(1);
        self.payload = payload;
        self.packets = payload.div_ceil(size);
        self.wire = payload + headers * self.packets;
        let rest = whole.payload - payload;
        let packets = rest.div_ceil(size);
        let (offset, wire) = (whole.offset + u64::from(payload), rest + headers * packets);
        Transmission { offset, payload: rest, wire, packets, ..whole }
    }

    /// Whether `next` continues this one, so that the two may be one row: data that arrived, sent once.
    fn takes(&self, next: &Transmission, gap_ns: u64) -> bool {
        let plain = |of: &Transmission| of.fate == Fate::Delivered && !of.again;
        plain(self)
            && plain(next)
            && next.offset == self.offset + u64::from(self.payload)
            && next.time_ns.saturating_sub(self.time_ns) <= gap_ns
            && next.acked_ns.saturating_sub(self.acked_ns) <= gap_ns
            && self.payload.checked_add(next.payload).is_some()
            && self.wire.checked_add(next.wire).is_some()
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Acknowledgement {
    /// When it was captured.
    pub time_ns: u64,
    /// The number of the first byte that it does not acknowledge.
    pub offset: u64,
    /// The window of the header, without its scale.
    pub window: u16,
    /// The largest number of a byte that had been sent by then, counted from `offset`.
    pub ahead: u32,
    /// Bytes that had been sent and were neither acknowledged nor known to be lost.
    pub flight: u32,
}

impl Acknowledgement {
    /// Whether it says the same as `next`, at another time.
    pub fn says(&self, next: &Acknowledgement) -> bool {
        *self == Acknowledgement { time_ns: self.time_ns, ..*next }
    }
}

/// Puts transmissions together that follow one another within `gap_ns`; gives the new index of each. The times of a row
/// are those of its first packet, so that their difference stays a round-trip time.
pub fn merge(rows: &mut Vec<Transmission>, gap_ns: u64) -> Vec<u32> {
    let mut places = Vec::with_capacity(rows.len());
    let mut kept = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        if kept > 0 && rows[kept - 1].takes(&row, gap_ns) {
            let last = &mut rows[kept - 1];
            last.payload += row.payload;
            last.wire += row.wire;
            last.packets += row.packets;
        } else {
            rows[kept] = row;
            kept += 1;
        }
        places.push((kept - 1) as u32);
    }
    rows.truncate(kept);
    rows.shrink_to_fit();
    places
}

/// Keeps the last of acknowledgements that follow one another within `gap_ns`, and each that changes the window.
pub fn thin(rows: &mut Vec<Acknowledgement>, gap_ns: u64) {
    let mut since = 0;
    let mut kept = 0;
    for at in 0..rows.len() {
        let row = rows[at];
        let alike = kept > 0
            && row.time_ns.saturating_sub(since) <= gap_ns
            && rows[kept - 1].window == row.window
            && rows[kept - 1].offset != row.offset;
        if alike {
            rows[kept - 1] = row;
        } else {
            since = row.time_ns;
            rows[kept] = row;
            kept += 1;
        }
    }
    rows.truncate(kept);
    rows.shrink_to_fit();
}
