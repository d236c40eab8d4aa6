//! A connection: its two directions, its handshake, and on which side it was captured.

use std::net::SocketAddr;

use crate::headers::{ACK, FIN, RST, SYN, Segment};
use crate::sending::Sending;

/// One side is near if it answers in less than this part of the time of the other.
const NEAR: u64 = 4;

/// The options of TCP take 12 bytes of every segment if time stamps are used.
const TIMESTAMPS: u32 = 12;

/// Where a capture was made, relative to who sent the data.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Side {
    /// Neither time stamps nor acknowledgements show it.
    #[default]
    Unknown,
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// Between both.
    Between,
}

/// What an end said in its first segment.
#[derive(Clone, Copy, Debug)]
struct Hello {
    time_ns: u64,
    sequence: u32,
    mss: Option<u16>,
    window_scale: Option<u8>,
    timestamps: bool,
    sack: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// Its ends; the first one opened it, if the capture has its beginning.
    pub ends: [SocketAddr; 2],
    /// When its first packet was captured.
    pub first_ns: u64,
    /// When its last packet was captured.
    pub last_ns: u64,
    /// What each end sent.
    pub sendings: [Sending; 2],
    /// Bytes of data of each end, retransmissions included.
    pub payload: [u64; 2],
    /// Whether an end closed or reset it.
    pub ended: bool,
    hellos: [Option<Hello>; 2],
    /// When the opener acknowledged the answer to its first segment.
    opened_ns: Option<u64>,
    /// The last segment of each end, to recognise a second copy of it.
    last: [Option<(u16, u32, u32, u32)>; 2],
}

impl Connection {
    /// A connection that begins with a segment.
    pub fn new(time_ns: u64, of: &Segment) -> Connection {
        let answers = of.flags & (SYN | ACK) == SYN | ACK;
        let ends = if answers { [of.to, of.from] } else { [of.from, of.to] };
        Connection {
            ends,
            first_ns: time_ns,
            last_ns: time_ns,
            sendings: Default::default(),
            payload: [0; 2],
            ended: false,
            hellos: [None; 2],
            opened_ns: None,
            last: [None; 2],
        }
    }

    /// Whether a segment opens another connection between the same ends.
    pub fn is_another(&self, of: &Segment) -> bool {
        let opens = of.flags & (SYN | ACK | RST) == SYN;
        let from = usize::from(of.from != self.ends[0]);
        let known = self.hellos[from].is_some_and(|hello| hello.sequence == of.sequence);
        opens && !known && self.payload != [0; 2]
    }

    /// Takes a segment.
    pub fn take(&mut self, time_ns: u64, of: &Segment) {
        let from = usize::from(of.from != self.ends[0]);
        let key = (of.identification, of.sequence, of.acknowledgment, of.payload);
        // A capture on all devices has a packet once for each device that it passes.
        if of.identification != 0 && self.last[from] == Some(key) {
            return;
        }
        self.last[from] = Some(key);
        self.last_ns = time_ns;
        self.ended |= of.flags & (FIN | RST) != 0;
        if of.flags & RST != 0 {
            return;
        }
        if of.flags & SYN != 0 {
            self.hello(from, time_ns, of);
        } else if from == 0 && self.opened_ns.is_none() && self.hellos[1].is_some() {
            self.opened_ns = Some(time_ns);
        }
        self.payload[from] += u64::from(of.payload);
        // What it acknowledges is older than what it carries.
        self.sendings[1 - from].acknowledged(time_ns, of);
        self.sendings[from].sent(time_ns, of);
    }

    fn hello(&mut self, from: usize, time_ns: u64, of: &Segment) {
        if self.hellos[from].is_some_and(|hello| hello.sequence == of.sequence) {
            return; // a retransmission
        }
        let options = &of.options;
        self.hellos[from] = Some(Hello {
            time_ns,
            sequence: of.sequence,
            mss: options.mss,
            window_scale: options.window_scale,
            timestamps: options.timestamps.is_some(),
            sack: options.sack_permitted,
        });
        if let [Some(one), Some(other)] = self.hellos {
            let mss = one.mss.unwrap_or(536).min(other.mss.unwrap_or(536));
            let stamped = one.timestamps && other.timestamps;
            let mss = u32::from(mss).saturating_sub(if stamped { TIMESTAMPS } else { 0 });
            for sending in &mut self.sendings {
                sending.mss = Some(mss.max(1));
            }
        }
    }

    /// The end that sent more data.
    pub fn sender(&self) -> usize {
        usize::from(self.payload[1] > self.payload[0])
    }

    /// The shift of the windows that the receiver of the data announces, if the capture has the handshake.
    pub fn window_scale(&self) -> Option<u8> {
        let (one, other) = (self.hellos[0]?, self.hellos[1]?);
        let both = one.window_scale.zip(other.window_scale);
        let receiver = 1 - self.sender();
        Some(both.map_or(0, |scales| if receiver == 0 { scales.0 } else { scales.1 }))
    }

    /// Whether the handshake allows selective acknowledgements, if the capture has it.
    pub fn sack(&self) -> Option<bool> {
        Some(self.hellos[0]?.sack && self.hellos[1]?.sack)
    }

    /// The times that data and its acknowledgement take beyond the place of the capture, on the side of the receiver
    /// and on that of the sender: the smallest ones.
    pub fn halves_ns(&self) -> [Option<u64>; 2] {
        let sender = self.sender();
        let sending = &self.sendings[sender];
        let mut halves = [sending.least_ns, sending.echoes.iter().map(|&(_, took_ns)| took_ns).min()];
        if let [Some(one), Some(other)] = self.hellos {
            let answered = other.time_ns.checked_sub(one.time_ns);
            let opened = self.opened_ns.and_then(|time_ns| time_ns.checked_sub(other.time_ns));
            let of_handshake = if sender == 0 { [answered, opened] } else { [opened, answered] };
            for (half, of) in halves.iter_mut().zip(of_handshake) {
                *half = (*half).into_iter().chain(of).min();
            }
        }
        halves
    }

    /// On which side it was captured.
    pub fn side(&self) -> Side {
        match self.halves_ns() {
            [Some(far), Some(near)] if far >= NEAR * near => Side::Sender,
            [Some(far), Some(near)] if near >= NEAR * far => Side::Receiver,
            [Some(_), Some(_)] => Side::Between,
            _ => Side::Unknown,
        }
    }
}
