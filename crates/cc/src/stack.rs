//! Transport stacks of others: both ends of a connection as an engine drives them, instead of its own sender and
//! receiver.
//!
//! An end receives datagrams and gives datagrams, knows the time only as an argument, and says when it wants to be called
//! next. The engine carries the datagrams, writes and reads the application's data, and records what it sees of both.

use fairhaul_units::{Ecn, Time};

/// What both ends of a connection are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSetup {
    /// The largest packet of the path, with the headers that the network adds; larger ones are dropped, without an error.
    pub packet: u32,
    /// All chance of the connection follows from it; the same for both ends, and another one for each connection.
    pub seed: u64,
    /// When it begins.
    pub now: Time,
    /// Whether the run records the packets of the flow: the engine then asks [`StackEnd::record`].
    pub records: bool,
}

/// A text that an end gives for the trace of its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackText {
    /// The secrets of the connection, in lines as NSS writes them to `SSLKEYLOGFILE`.
    Keys,
    /// What happens in the end, as qlog.
    Log,
}

/// What makes the ends of connections of one stack with one set of settings.
pub trait StackMaker {
    /// The ends of a new connection: the one that opens it and sends, and the one that receives.
    ///
    /// # Errors
    /// Why it cannot make them.
    fn ends(&self, setup: &StackSetup) -> Result<[Box<dyn StackEnd>; 2], String>;

    /// What the network adds to each datagram, bytes: 28 for UDP over IPv4, none if the stack hands over IP packets.
    fn headers(&self) -> u32;

    /// What it is: its name, its release, and a number that differs where its code differs.
    fn identity(&self) -> String;

    /// Over how many streams the data of a connection are spread.
    fn streams(&self) -> u32 {
        1
    }
}

/// One end of a connection. It ends the run by [`Fault`](crate::Fault::raise) where it cannot go on.
pub trait StackEnd: Send {
    /// A datagram arrives.
    fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn);

    /// Writes the next datagram to `into`, if there is one. Asked until there is none after every other call.
    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit>;

    /// The time of [`StackState::timer`] has come.
    fn on_timer(&mut self, now: Time);

    /// The application writes: how many of the bytes the stack takes. `fin`: the stream ends behind them; the
    /// engine says so in a call without bytes.
    fn write(&mut self, now: Time, stream: u32, bytes: &[u8], fin: bool) -> usize;

    /// The application reads: how many bytes the stack has written to `into`; none if it has none. What does not fit
    /// is kept for the next call.
    fn read(&mut self, now: Time, stream: u32, into: &mut [u8]) -> usize;

    /// What it shows of itself.
    fn state(&mut self) -> StackState;

    /// Why it has closed the connection.
    fn reason(&mut self) -> String;

    /// Writes the next part of a text to `into`: how many bytes; none if there is no more at present.
    fn record(&mut self, _: StackText, _: &mut [u8]) -> usize {
        0
    }
}

/// A datagram that a stack gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Its length, bytes.
    pub size: usize,
    /// Its ECN bits.
    pub ecn: Ecn,
    /// It leaves at that time, or at once where that has passed.
    pub not_before: Time,
    /// Whether all that it carries has been sent before, as far as the stack says so.
    pub retransmits: bool,
    /// Whether it opens the connection and carries no data, as a SYN does: it counts as no data packet.
    pub opens: bool,
}

/// What an end shows of itself; `None`: it does not know or does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StackState {
    /// When it wants to be called; [`Time::NEVER`]: only when something arrives.
    pub timer: Time,
    /// Whether it has closed the connection.
    pub is_closed: bool,
    /// Whether the other end has acknowledged all that was written.
    pub is_finished: Option<bool>,
    /// Congestion window, bytes.
    pub cwnd: Option<f64>,
    /// Slow-start threshold, bytes.
    pub ssthresh: Option<f64>,
    /// How often it has reduced its window.
    pub reductions: Option<u64>,
}
