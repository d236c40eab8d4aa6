//! The packet trace of one flow: what its hosts send and receive, and what is dropped between them.

use fairhaul_experiment::{PacketRow, PacketWhat};
use fairhaul_units::{Ack, Data, Ecn, Time};

/// Rows kept at most; a gigabit makes as many in four seconds.
const MOST_ROWS: usize = 1_000_000;

/// The packet trace of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketTrace {
    /// The rows, by time.
    pub rows: Vec<PacketRow>,
    /// Whether later rows were left out, because there are more than 10^6.
    pub full: bool,
}

/// The rows of one flow while they are gathered.
#[derive(Clone, Debug)]
pub struct TraceRecorder {
    flow: u32,
    end: Time,
    rows: Vec<PacketRow>,
}

impl TraceRecorder {
    /// An empty trace of `flow`, in a run that ends at `end`.
    pub fn new(flow: u32, end: Time) -> TraceRecorder {
        TraceRecorder { flow, end, rows: Vec::new() }
    }

    /// A data packet, or the request that opens connection `serial`.
    #[inline(never)]
    pub fn data(&mut self, flow: u32, serial: u32, what: PacketWhat, data: &Data, now: Time) {
        self.keep(flow, now, || PacketRow {
            t_s: now.as_secs(),
            what,
            connection: serial,
            number: data.number,
            size: data.size,
            opens: data.opens(),
            retransmitted: data.retransmitted,
            ecn: data.ecn,
            cwr: data.cwr,
            ece: false,
            blocks: Vec::new(),
            cwnd_packets: f64::NAN,
            srtt_s: f64::NAN,
        });
    }

    /// An acknowledgement of connection `serial`; `sender`: window and smoothed round-trip time
    /// after it, where the sender has taken it.
    pub fn ack(
        &mut self,
        flow: u32,
        serial: u32,
        what: PacketWhat,
        ack: &Ack,
        now: Time,
        sender: Option<(f64, f64)>,
    ) {
        let (cwnd_packets, srtt_s) = sender.unwrap_or((f64::NAN, f64::NAN));
        self.keep(flow, now, || PacketRow {
            t_s: now.as_secs(),
            what,
            connection: serial,
            number: ack.next,
            size: ack.size(),
            opens: ack.opens(),
            retransmitted: false,
            ecn: Ecn::NotCapable,
            cwr: false,
            ece: ack.ece,
            blocks: ack
                .sacked()
                .iter()
                .filter(|b| b.from < b.to) // an empty one says that a packet came twice
                .map(|b| (ack.next + u64::from(b.from), ack.next + u64::from(b.to)))
                .collect(),
            cwnd_packets,
            srtt_s,
        });
    }

    /// The trace, by time: parts of the engine run ahead of the clock, so that rows come out of
    /// order.
    pub fn close(mut self) -> PacketTrace {
        let full = self.rows.len() == MOST_ROWS;
        self.rows.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        PacketTrace { rows: self.rows, full }
    }

    fn keep(&mut self, flow: u32, now: Time, row: impl FnOnce() -> PacketRow) {
        if flow == self.flow && now < self.end && self.rows.len() < MOST_ROWS {
            self.rows.push(row());
        }
    }
}
