//! A transport stack of others as both ends of a connection: what the engine keeps of it.

mod segments;

use std::collections::VecDeque;

use fairhaul_cc::{Fault, StackEnd, StackMaker, StackSetup, StackState, StackText, Transmit};
use fairhaul_units::{Data, Ecn, Sending, Time};

use segments::Segments;

/// The largest datagram that a stack may give.
pub const MOST_DATAGRAM: usize = u16::MAX as usize;
/// What an application writes, or reads, at once.
const CHUNK: usize = 16 * 1024;
static ZEROS: [u8; CHUNK] = [0; CHUNK];
/// How often an end may be called at one time, for a timer that is due, a datagram, or bytes to write, read or record,
/// before it is taken to be in an endless loop. Written in chunks, these are 1.6 GB.
const MOST_AT_ONCE: u32 = 100_000;

/// Both ends, and the datagrams between them.
pub struct StackPair {
    pub sender: StackHost,
    pub receiver: StackHost,
    /// What the network adds to each datagram.
    pub headers: u32,
    streams: u32,
    next_stream: u32,
    /// Bytes that the application has written, and whether it has said that these are all.
    pub written: u64,
    is_ended: bool,
    /// When the newest data packet at the receiver left the sender, and when it arrived.
    pub newest: (Time, Time),
    /// Reductions of the window that are recorded.
    pub reductions: u64,
    /// What its packets show, where they are those of IP.
    segments: Option<Segments>,
    /// Whether a middlebox makes its data Not-ECT behind all links.
    pub clears_ecn: bool,
    /// Whether the sender has closed the connection before its end.
    pub is_closed: bool,
    /// Whether the packets of the flow are traced.
    pub records: bool,
}

/// One end, and the datagrams that it has sent and that are under way.
pub struct StackHost {
    pub end: Box<dyn StackEnd>,
    pub under_way: Contents,
    /// What it has given and what may not leave yet.
    held: Option<(Transmit, Vec<u8>)>,
    buffer: Vec<u8>,
    /// When it was called last, and how often at that time.
    called: (Time, u32),
}

impl StackPair {
    /// What both ends take beside data, bytes, roughly: buffers of 64 kB, and those of the stack.
    const MEMORY: u64 = 1 << 20;

    /// Both ends of a new connection.
    pub fn new(maker: &dyn StackMaker, setup: &StackSetup) -> StackPair {
        let ends = maker.ends(setup);
        let [sender, receiver] = ends.unwrap_or_else(|what| Fault { at: Some(setup.now), what }.raise());
        StackPair {
            sender: StackHost::new(sender),
            receiver: StackHost::new(receiver),
            headers: maker.headers(),
            streams: maker.streams().max(1),
            next_stream: 0,
            written: 0,
            is_ended: false,
            newest: (setup.now, setup.now),
            reductions: 0,
            segments: (maker.headers() == 0).then(Segments::default),
            clears_ecn: false,
            is_closed: false,
            records: setup.records,
        }
    }

    /// What both ends take, bytes, of whose data the application at the receiver has read `read` bytes.
    pub fn memory(&self, read: u64) -> u64 {
        StackPair::MEMORY + self.written.saturating_sub(read)
    }

    /// Whether the bytes of a datagram of the sender, which leaves, show that all of them have left before.
    pub fn repeats(&mut self, number: u64) -> bool {
        let bytes = self.sender.under_way.get(number);
        self.segments.as_mut().is_some_and(|segments| segments.leaves(bytes))
    }

    /// The receiver takes a datagram: whether it was a retransmission of bytes that had all arrived.
    pub fn receive(&mut self, data: &Data, now: Time) -> bool {
        let bytes = self.sender.under_way.get(data.number);
        let had_arrived = self.segments.as_mut().is_some_and(|segments| segments.arrives(bytes));
        let ecn = if self.clears_ecn { Ecn::NotCapable } else { data.ecn };
        self.receiver.end.receive(now, bytes, ecn);
        self.sender.under_way.release(data.number);
        self.newest = (data.stamped, now);
        had_arrived && data.sending == Sending::Again
    }

    /// The application has `ready` bytes ready, the written included, and `size` in all: it writes what the sender takes.
    pub fn write(&mut self, ready: u64, size: Option<u64>, now: Time) {
        let mut blocked = 0;
        while blocked < self.streams && self.written < ready {
            let some = &ZEROS[..CHUNK.min((ready - self.written) as usize)];
            let taken = self.sender.end.write(now, self.next_stream, some, false);
            self.written += taken as u64;
            self.next_stream = (self.next_stream + 1) % self.streams;
            blocked = if taken == 0 { blocked + 1 } else { 0 };
            if taken > 0 {
                self.sender.count(now, "write takes all bytes that there are, without end");
            }
        }
        if size == Some(self.written) && !self.is_ended {
            self.is_ended = true;
            (0..self.streams).for_each(|stream| {
                self.sender.end.write(now, stream, &[], true);
            });
        }
    }

    /// The application at the receiver reads all that there is: how many bytes.
    pub fn read(&mut self, now: Time) -> u64 {
        let mut total = 0;
        self.receiver.buffer.resize(MOST_DATAGRAM, 0);
        for stream in 0..self.streams {
            while let read @ 1.. = self.receiver.end.read(now, stream, &mut self.receiver.buffer[..CHUNK]) {
                self.receiver.count(now, "read gives one part after the other, without end");
                total += read as u64;
            }
        }
        total
    }
}

impl StackHost {
    fn new(end: Box<dyn StackEnd>) -> StackHost {
        let (under_way, held) = (Contents::default(), None);
        StackHost { end, under_way, held, buffer: Vec::new(), called: (Time::ZERO, 0) }
    }

    /// The next datagram that leaves now, of which the bytes are `under_way` from now on, and its number there; or when
    /// the next one may leave.
    pub fn transmit(&mut self, now: Time) -> Result<(Transmit, u64), Time> {
        let (transmit, bytes) = match self.held.take() {
            Some(held) => held,
            None => {
                self.buffer.resize(MOST_DATAGRAM, 0);
                let Some(transmit) = self.end.transmit(now, &mut self.buffer) else {
                    return Err(Time::NEVER);
                };
                self.count(now, "transmit gives one datagram after the other, without end");
                let mut bytes = self.under_way.take_buffer();
                bytes.extend_from_slice(&self.buffer[..transmit.size]);
                (transmit, bytes)
            }
        };
        if transmit.not_before > now {
            self.held = Some((transmit, bytes));
            return Err(transmit.not_before);
        }
        Ok((transmit, self.under_way.insert(bytes)))
    }

    /// Calls the end as long as its timer is due: its state after that.
    pub fn expire(&mut self, now: Time) -> Option<StackState> {
        let state = self.end.state();
        if state.timer > now {
            return Some(state);
        }
        self.count(now, "state gives a timer that has passed, and on_timer does not move it");
        self.end.on_timer(now);
        None
    }

    /// Gives all that there is of a text to `keep`, part by part.
    pub fn record(&mut self, kind: StackText, now: Time, mut keep: impl FnMut(&[u8])) {
        self.buffer.resize(MOST_DATAGRAM, 0);
        while let size @ 1.. = self.end.record(kind, &mut self.buffer) {
            self.count(now, "record gives one part after the other, without end");
            keep(&self.buffer[..size]);
        }
    }

    /// The stack is called at `now`: an endless loop is a fault.
    fn count(&mut self, now: Time, what: &str) {
        let (at, times) = self.called;
        self.called = if at == now { (at, times + 1) } else { (now, 1) };
        if self.called.1 > MOST_AT_ONCE {
            Fault { at: Some(now), what: format!("the stack cannot go on: {what}") }.raise();
        }
    }
}

/// The contents of datagrams under way by their numbers, which count from zero.
#[derive(Default)]
pub struct Contents {
    first: u64,
    /// How many copies of each are under way, and its bytes.
    waiting: VecDeque<(u32, Vec<u8>)>,
    /// Buffers that are free again.
    free: Vec<Vec<u8>>,
}

impl Contents {
    fn take_buffer(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_default()
    }

    fn insert(&mut self, bytes: Vec<u8>) -> u64 {
        self.waiting.push_back((1, bytes));
        self.first + self.waiting.len() as u64 - 1
    }

    /// A link makes a second one of that datagram.
    pub fn duplicate(&mut self, number: u64) {
        self.waiting[(number - self.first) as usize].0 += 1;
    }

    /// The bytes of that datagram.
    pub fn get(&self, number: u64) -> &[u8] {
        &self.waiting[(number - self.first) as usize].1
    }

    /// A copy of that datagram has arrived or is dropped.
    pub fn release(&mut self, number: u64) {
        self.waiting[(number - self.first) as usize].0 -= 1;
        while self.waiting.front().is_some_and(|(copies, _)| *copies == 0) {
            let (_, mut bytes) = self.waiting.pop_front().expect("there is a first one");
            self.first += 1;
            bytes.clear();
            self.free.push(bytes);
        }
    }
}

/// A run with stacks cannot branch, because they cannot be copied; [`crate::Simulation`] refuses them.
impl Clone for StackPair {
    fn clone(&self) -> StackPair {
        Fault { at: None, what: "a connection of a transport stack cannot be copied".into() }.raise()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_stays_until_its_last_copy_has_arrived() {
        let mut contents = Contents::default();
        let numbers = [b"a", b"b", b"c"].map(|bytes| contents.insert(bytes.to_vec()));
        assert_eq!(numbers, [0, 1, 2]);
        contents.duplicate(0);
        contents.release(1);
        contents.release(0);
        assert_eq!((contents.get(0), contents.get(2), contents.waiting.len()), (&b"a"[..], &b"c"[..], 3));
        contents.release(0);
        assert_eq!((contents.first, contents.waiting.len(), contents.free.len()), (2, 1, 2));
        assert_eq!(contents.insert(Vec::new()), 3);
    }
}
