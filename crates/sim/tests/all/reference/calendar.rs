//! Future events: a heap of the standard library, and the order of ties.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairhaul_units::Time;

use super::{DataOrAck, Packet};

/// A future event.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The transfer of that number begins.
    Start(u32),
    /// The packet at the head of that link has been sent.
    Departure(usize),
    /// The periodic update of the queue of that link.
    QueueUpdate(usize),
    /// A packet is at its next hop.
    Arrival(Packet),
    /// The application of a connection has the next packet ready.
    Ready(u32),
    /// The card of a receiver may interrupt, or its delayed acknowledgement may be due.
    Receiver(u32),
    /// The pacer of a connection may let a packet go.
    Paced(u32),
    /// The retransmission timer of a connection may run out.
    Timer(u32),
}

/// The order at one time: starts, departures, updates of queues, then by connection, data before
/// acknowledgements before the application before the receiver before the pacer before the timer;
/// then by hop.
type Rank = (u8, u32, u8, usize);

fn rank(event: &Event) -> Rank {
    match *event {
        Event::Start(serial) => (0, serial, 0, 0),
        Event::Departure(link) => (1, 0, 0, link),
        Event::QueueUpdate(link) => (1, 1, 0, link),
        Event::Arrival(Packet { serial, hop, content: DataOrAck::Data(_), .. }) => (2, serial, 0, hop),
        Event::Arrival(Packet { serial, hop, content: DataOrAck::Ack(_), .. }) => (2, serial, 1, hop),
        Event::Ready(serial) => (2, serial, 2, 0),
        Event::Receiver(serial) => (2, serial, 3, 0),
        Event::Paced(serial) => (2, serial, 4, 0),
        Event::Timer(serial) => (2, serial, 5, 0),
    }
}

/// See the module. Ties in everything come in the order in which it was added: packets that
/// a sender lets go at once.
#[derive(Default)]
pub struct Calendar {
    heap: BinaryHeap<Reverse<(Time, Rank, u64)>>,
    /// By the number in the heap's key.
    entries: std::collections::HashMap<u64, Event>,
    added: u64,
}

impl Calendar {
    pub fn add(&mut self, time: Time, event: Event) {
        self.heap.push(Reverse((time, rank(&event), self.added)));
        self.entries.insert(self.added, event);
        self.added += 1;
    }

    pub fn next(&mut self) -> Option<(Time, Event)> {
        let Reverse((time, _, number)) = self.heap.pop()?;
        Some((time, self.entries.remove(&number).expect("what is in the heap has an entry")))
    }
}
