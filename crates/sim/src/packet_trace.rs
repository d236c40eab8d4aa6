//! The rows of a packet trace, as the packets of the simulator give them.

use fairhaul_experiment::{PacketRow, PacketWhat};
use fairhaul_units::{Ack, Data, Time};

/// A data packet, or the request that opens connection `serial`; `ace`: the code of the request, where it asks for accurate
/// feedback.
#[inline(never)]
pub fn data_row(serial: u32, what: PacketWhat, data: &Data, now: Time, ace: Option<u8>) -> PacketRow {
    PacketRow {
        t_s: now.as_secs(),
        what,
        connection: serial,
        number: data.number,
        size: data.size,
        opens: data.opens(),
        retransmitted: data.retransmitted(),
        ecn: data.ecn,
        cwr: data.cwr,
        ece: false,
        ace: ace.filter(|_| data.opens()),
        counters: None,
        blocks: Vec::new(),
        cwnd_packets: f64::NAN,
        srtt_s: f64::NAN,
    }
}

/// An acknowledgement of connection `serial`; `sender`: window and smoothed round-trip time after it, where the sender has
/// taken it; `answer`: the code of the answer to a request for accurate feedback.
pub fn ack_row(
    serial: u32,
    what: PacketWhat,
    ack: &Ack,
    now: Time,
    (sender, answer): (Option<(f64, f64)>, Option<u8>),
) -> PacketRow {
    let (cwnd_packets, srtt_s) = sender.unwrap_or((f64::NAN, f64::NAN));
    PacketRow {
        t_s: now.as_secs(),
        what,
        connection: serial,
        number: ack.next,
        size: ack.size(),
        opens: ack.opens,
        retransmitted: false,
        ecn: ack.ecn,
        cwr: false,
        ece: ack.ece,
        ace: if ack.opens { answer } else { ack.accurate.ace() },
        counters: ack.counters(),
        blocks: ack
            .sacked()
            .iter()
            .filter(|b| b.from < b.to) // an empty one says that a packet came twice
            .map(|b| (ack.next + u64::from(b.from), ack.next + u64::from(b.to)))
            .collect(),
        cwnd_packets,
        srtt_s,
    }
}
