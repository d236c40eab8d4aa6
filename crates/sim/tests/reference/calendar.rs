//! Future events: a heap of the standard library, and the order of ties.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairhaul_units::Time;

use super::{Load, Parcel};

/// Something that will happen.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// The transfer of that number begins.
    Start(u32),
    /// The packet at the head of that link has been sent.
    Departure(usize),
    /// The queue of that link looks at itself.
    Look(usize),
    /// A packet is at its next hop.
    Arrival(Parcel),
    /// The application of a connection has the next packet ready.
    Ready(u32),
    /// The delayed acknowledgement of a connection may be due.
    Held(u32),
    /// The pacer of a connection may let a packet go.
    Paced(u32),
    /// The retransmission timer of a connection may run out.
    Timer(u32),
}

/// The order at one time: starts, departures, queues that look at themselves, then by connection, data before
/// acknowledgements before the application before the delayed acknowledgement before the pacer before the timer;
/// then by hop.
type Rank = (u8, u32, u8, usize);

fn rank(what: &What) -> Rank {
    match *what {
        What::Start(serial) => (0, serial, 0, 0),
        What::Departure(link) => (1, 0, 0, link),
        What::Look(link) => (1, 1, 0, link),
        What::Arrival(Parcel { serial, hop, load: Load::Data(_), .. }) => (2, serial, 0, hop),
        What::Arrival(Parcel { serial, hop, load: Load::Ack(_), .. }) => (2, serial, 1, hop),
        What::Ready(serial) => (2, serial, 2, 0),
        What::Held(serial) => (2, serial, 3, 0),
        What::Paced(serial) => (2, serial, 4, 0),
        What::Timer(serial) => (2, serial, 5, 0),
    }
}

/// See the module. What ties in everything comes in the order in which it was added: packets that
/// a sender lets go at once.
#[derive(Default)]
pub struct Calendar {
    heap: BinaryHeap<Reverse<(Time, Rank, u64)>>,
    /// By the number in the heap's key.
    entries: std::collections::HashMap<u64, What>,
    added: u64,
}

impl Calendar {
    pub fn add(&mut self, time: Time, what: What) {
        self.heap.push(Reverse((time, rank(&what), self.added)));
        self.entries.insert(self.added, what);
        self.added += 1;
    }

    pub fn next(&mut self) -> Option<(Time, What)> {
        let Reverse((time, _, number)) = self.heap.pop()?;
        Some((time, self.entries.remove(&number).expect("what is in the heap has an entry")))
    }
}
