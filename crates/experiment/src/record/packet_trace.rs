//! The packet trace of one flow: what its hosts send and receive, and what is dropped between them. An engine gathers the
//! rows with a [`PacketRecorder`].

use fairhaul_units::{Ecn, EcnCounters, Time};
use serde::{Deserialize, Serialize};

use crate::record::outlet::Outlet;
use crate::{Record, json};

/// Rows kept at most; a gigabit makes as many in four seconds.
const MOST_ROWS: usize = 1_000_000;

/// The packet trace of one flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacketTrace {
    /// The rows, by time.
    pub rows: Vec<PacketRow>,
    /// Whether later rows were omitted, because there are more than 10^6.
    pub full: bool,
    /// What a transport stack gives beside its packets. No other process runs one.
    #[serde(skip)]
    pub outlet: Outlet,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketWhat {
    /// A data packet left its sender.
    Sent,
    /// A data packet reached the receiver.
    Received,
    /// A data packet was dropped on its path.
    Dropped,
    /// An acknowledgement left the receiver.
    AckSent,
    /// An acknowledgement reached the sender.
    AckReceived,
    /// An acknowledgement was dropped on its path.
    AckDropped,
}

impl PacketWhat {
    /// Every kind, in the order of `index`.
    pub const WORDS: [&str; 6] = ["sent", "received", "dropped", "ack_sent", "ack_received", "ack_dropped"];

    /// The kinds themselves.
    const ALL: [PacketWhat; 6] = {
        use PacketWhat::{AckDropped, AckReceived, AckSent, Dropped, Received, Sent};
        [Sent, Received, Dropped, AckSent, AckReceived, AckDropped]
    };

    /// Its place in [`WORDS`](Self::WORDS).
    pub fn index(self) -> usize {
        self as usize
    }
}

/// One packet of a flow at one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Numbers", try_from = "Numbers")]
pub struct PacketRow {
    /// When, seconds.
    pub t_s: f64,
    /// What happened to it.
    pub what: PacketWhat,
    /// Number of its connection in the plan.
    pub connection: u32,
    /// Its number; of an acknowledgement, the next packet that the receiver waits for.
    pub number: u64,
    /// Bytes on the wire.
    pub size: u32,
    /// Whether it opens the connection, or answers that.
    pub opens: bool,
    /// Whether it was sent before.
    pub retransmitted: bool,
    /// Its codepoint, there and then.
    pub ecn: Ecn,
    /// Whether it says that the window was reduced.
    pub cwr: bool,
    /// Whether it echoes a mark.
    pub ece: bool,
    /// The bits AE, CWR and ECE of an acknowledgement, or of a packet that opens the connection, as a number, if accurate
    /// feedback was requested [RFC 9768].
    pub ace: Option<u8>,
    /// The counters of its AccECN option.
    pub counters: Option<EcnCounters>,
    /// Runs of packets that an acknowledgement reports: the first, and the first after it.
    pub blocks: Vec<(u64, u64)>,
    /// The sender's window after an acknowledgement, packets; else not a number.
    pub cwnd_packets: f64,
    /// Its smoothed round-trip time after an acknowledgement, seconds; else not a number.
    pub srtt_s: f64,
}

/// The rows of one flow while they are gathered.
#[derive(Clone, Debug)]
pub struct PacketRecorder {
    flow: u32,
    end: Time,
    rows: Vec<PacketRow>,
    outlet: Outlet,
}

impl PacketRecorder {
    /// An empty trace of `flow`, in a run that ends at `end`.
    pub fn new(flow: u32, end: Time) -> PacketRecorder {
        PacketRecorder { flow, end, rows: Vec::new(), outlet: Outlet::default() }
    }

    /// Keeps the row of a packet of `flow` at `now`, if it belongs to the trace.
    pub fn keep(&mut self, flow: u32, now: Time, row: impl FnOnce() -> PacketRow) {
        if flow == self.flow && now < self.end && !self.is_full() {
            self.rows.push(row());
        }
    }

    /// Keeps what a datagram carries: its connection, whether the sender sent it, and its number.
    pub fn keep_content(&mut self, of: (u32, bool, u64), bytes: &[u8]) {
        if !self.is_full() {
            self.outlet.keep_content(of, bytes);
        }
    }

    /// Keeps a part of the keys of the flow.
    pub fn keep_keys(&mut self, part: &[u8]) {
        self.outlet.keep_keys(part);
    }

    /// Keeps a part of the log of an end, 0 the sender, of `connection`, if that is the first one.
    pub fn keep_log(&mut self, connection: u32, end: usize, part: &[u8]) {
        self.outlet.keep_log(connection, end, part);
    }

    /// Whether it keeps no more rows.
    pub fn is_full(&self) -> bool {
        self.rows.len() == MOST_ROWS
    }

    /// The flow whose packets it keeps.
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// The trace, by time: an engine records the time of what it has decided, so that rows come out of order.
    pub fn close(mut self) -> PacketTrace {
        let full = self.is_full();
        self.rows.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        PacketTrace { rows: self.rows, full, outlet: self.outlet }
    }
}

/// A row in the text that one process sends to another: its fields in their order, where the four flags are one number.
#[derive(Serialize, Deserialize)]
struct Numbers(
    f64,
    u8,
    u32,
    u64,
    u32,
    u8,
    u8,
    Vec<(u64, u64)>,
    #[serde(with = "json::maybe")] f64,
    #[serde(with = "json::maybe")] f64,
    Option<u8>,
    Option<[Option<u32>; 3]>,
);

impl From<PacketRow> for Numbers {
    fn from(row: PacketRow) -> Numbers {
        let flags = [row.opens, row.retransmitted, row.cwr, row.ece];
        let flags = flags.iter().rev().fold(0, |sum, flag| sum << 1 | u8::from(*flag));
        let PacketRow { t_s, connection, number, size, ecn, blocks, cwnd_packets, srtt_s, ace, .. } = row;
        let counters = row.counters.map(|EcnCounters { ect0, ce, ect1 }| [ect0, ce, ect1]);
        let (what, ecn) = (row.what as u8, ecn as u8);
        Numbers(t_s, what, connection, number, size, flags, ecn, blocks, cwnd_packets, srtt_s, ace, counters)
    }
}

impl TryFrom<Numbers> for PacketRow {
    type Error = String;

    fn try_from(numbers: Numbers) -> Result<PacketRow, String> {
        let Numbers(
            t_s,
            what,
            connection,
            number,
            size,
            flags,
            ecn,
            blocks,
            cwnd_packets,
            srtt_s,
            ace,
            counters,
        ) = numbers;
        let what = PacketWhat::ALL.get(usize::from(what));
        let ecn =
            [Ecn::NotCapable, Ecn::Capable, Ecn::Marked, Ecn::CapableL4s].get(usize::from(ecn)).copied();
        let flag = |place: u8| flags >> place & 1 == 1;
        Ok(PacketRow {
            t_s,
            what: *what.ok_or("a row of the trace has an unknown event")?,
            connection,
            number,
            size,
            opens: flag(0),
            retransmitted: flag(1),
            ecn: ecn.ok_or("a row of the trace has an unknown codepoint")?,
            cwr: flag(2),
            ece: flag(3),
            ace,
            counters: counters.map(|[ect0, ce, ect1]| EcnCounters { ect0, ce, ect1 }),
            blocks,
            cwnd_packets,
            srtt_s,
        })
    }
}

/// The text of a record, and in a second line that of the trace of its run, if it has one.
pub fn to_lines(record: &Record, trace: Option<&PacketTrace>) -> Vec<u8> {
    let mut text = record.to_json();
    if let Some(trace) = trace {
        text.push(b'\n');
        serde_json::to_writer(&mut text, trace).expect("a trace has no keys but strings");
    }
    text
}

/// The record and the trace that [`to_lines`] wrote; the error says what is wrong with the text.
pub fn from_lines(text: &[u8]) -> Result<(Record, Option<PacketTrace>), String> {
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return Ok((Record::from_json(text)?, None));
    };
    let trace = serde_json::from_slice(&text[end + 1..]).map_err(|error| error.to_string())?;
    Ok((Record::from_json(&text[..end])?, Some(trace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, grid};
    use fairhaul_units::Span;

    fn row(what: PacketWhat, ms: u64) -> PacketRow {
        PacketRow {
            t_s: at(ms).as_secs(),
            what,
            connection: 3,
            number: 1 << 40,
            size: 1500,
            opens: false,
            retransmitted: true,
            ecn: Ecn::Marked,
            cwr: false,
            ece: true,
            ace: Some(6),
            counters: Some(EcnCounters { ect0: Some(1), ce: Some(1448), ect1: None }),
            blocks: vec![(7, 9), (11, 12)],
            cwnd_packets: 10.5,
            srtt_s: f64::NAN,
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn rows_of_the_flow_before_the_end_are_kept_in_the_order_of_time() {
        let mut recorder = PacketRecorder::new(1, at(10));
        for (flow, ms) in [(1, 5), (0, 6), (1, 3), (1, 10)] {
            recorder.keep(flow, at(ms), || row(PacketWhat::Sent, ms));
        }
        let trace = recorder.close();
        assert_eq!(trace.rows.iter().map(|row| row.t_s).collect::<Vec<_>>(), [0.003, 0.005]);
        assert!(!trace.full);
    }

    #[test]
    fn a_trace_that_has_as_many_rows_as_are_kept_is_full() {
        let mut recorder = PacketRecorder::new(0, at(10));
        let each = PacketRow { blocks: Vec::new(), ..row(PacketWhat::Sent, 1) };
        (0..=MOST_ROWS).for_each(|_| recorder.keep(0, at(1), || each.clone()));
        let trace = recorder.close();
        assert_eq!((trace.rows.len(), trace.full), (MOST_ROWS, true));
    }

    #[test]
    fn a_record_with_a_trace_arrives_as_it_was_sent() {
        let record = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1, 1), 1, 1).close("linux", Vec::new());
        let rows = PacketWhat::ALL.map(|what| row(what, what as u64)).into();
        let trace = PacketTrace { rows, full: true, outlet: Outlet::default() };
        let back = from_lines(&to_lines(&record, Some(&trace))).unwrap();
        // What is not a number equals nothing, so the texts are compared.
        assert_eq!(format!("{back:?}"), format!("{:?}", (&record, Some(&trace))));
        assert_eq!(from_lines(&to_lines(&record, None)).unwrap().1, None);
    }

    #[test]
    fn an_event_that_is_none_is_an_error() {
        let text = r#"{"rows":[[0.0,6,0,0,40,0,0,[],null,null,null,null]],"full":false}"#;
        let error = serde_json::from_str::<PacketTrace>(text).unwrap_err();
        assert!(error.to_string().contains("unknown event"), "{error}");
    }
}
