//! The event key, 64 bits: the order of events at the same picosecond. Links that have sent a packet come before
//! connections.
//!
//! | bits of a connection's key | content |
//! |---|---|
//! | 63 | 1; a link's key has 0 here and the link's index in the lowest 32 bits |
//! | 31 to 62 | serial of the connection |
//! | 21 to 30 | kind of the event, with the leg of a packet |
//! | 0 to 20 | ring of a packet, which the order does not depend on |

use fairhaul_units::Time;

/// Legs of one direction of a route, at most.
pub const MOST_LEGS: usize = 500;

/// Orders the events of one time: the smaller key is processed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventKey(pub u64);

/// What an event asks of a connection; at one time, connections process events in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The data packet at the head of its ring, at the end of that leg, goes on.
    Data(u16),
    /// The acknowledgement at the head of its ring, at the end of that leg, goes on.
    Ack(u16),
    /// The application has the next packet ready.
    Ready,
    /// The receiver's card interrupts, or its delayed acknowledgement is due.
    ReceiverTimer,
    /// The pacer lets the next packet go.
    Paced,
    /// The retransmission timer may have expired.
    Timer,
    /// The connection begins, because what it follows has arrived.
    Begin,
}

/// Set in every key of a connection, and in no link's.
const CONNECTION: u64 = 1 << 63;
/// The lowest bits hold the ring, the next ones the kind.
const RING_BITS: u32 = 21;
const KIND_BITS: u32 = 10;
/// The codes of acknowledgements begin here, those of timers there.
const FIRST_ACK: u16 = MOST_LEGS as u16;
const FIRST_TIMER: u16 = 2 * FIRST_ACK;
const LAST_TIMER: u16 = FIRST_TIMER + 4;

/// Rings of a run, at most.
pub const MOST_RINGS: u32 = 1 << RING_BITS;

impl EventKey {
    /// The key of the event at `time` among all events of a run: the smaller is processed first.
    #[inline(always)]
    pub fn at(self, time: Time) -> u128 {
        u128::from(time.as_ps()) << 64 | u128::from(self.0)
    }

    /// The key of a departure from a link: the packet that was being sent has left.
    pub fn of_link(link: u32) -> EventKey {
        EventKey(link.into())
    }

    /// The link of a departure; `None`: the event is a connection's.
    #[inline(always)]
    pub fn link(self) -> Option<u32> {
        (self.0 < CONNECTION).then_some(self.0 as u32)
    }

    /// The key of that event of connection `serial`, from the same of connection 0.
    #[inline(always)]
    pub fn of(self, serial: u32) -> EventKey {
        EventKey(self.0 | u64::from(serial) << (RING_BITS + KIND_BITS))
    }

    /// The connection that processes the event.
    #[inline(always)]
    pub fn serial(self) -> u32 {
        (self.0 >> (RING_BITS + KIND_BITS)) as u32
    }

    /// The ring whose head is processed.
    #[inline(always)]
    pub fn ring(self) -> u32 {
        self.0 as u32 & (MOST_RINGS - 1)
    }

    /// Whether the event is that of a packet at the head of a ring.
    #[inline(always)]
    pub fn is_packet(self) -> bool {
        self.code() < FIRST_TIMER
    }

    #[inline(always)]
    fn code(self) -> u16 {
        (self.0 >> RING_BITS) as u16 & ((1 << KIND_BITS) - 1)
    }

    /// What the connection is to do.
    #[inline(always)]
    pub fn kind(self) -> EventKind {
        const SECOND: u16 = FIRST_TIMER + 1;
        const THIRD: u16 = FIRST_TIMER + 2;
        const FOURTH: u16 = FIRST_TIMER + 3;
        match self.code() {
            leg @ 0..FIRST_ACK => EventKind::Data(leg),
            leg @ FIRST_ACK..FIRST_TIMER => EventKind::Ack(leg - FIRST_ACK),
            FIRST_TIMER => EventKind::Ready,
            SECOND => EventKind::ReceiverTimer,
            THIRD => EventKind::Paced,
            FOURTH => EventKind::Timer,
            _ => EventKind::Begin,
        }
    }
}

impl EventKind {
    /// The key of this event of connection `serial`.
    pub fn key(self, serial: u32) -> EventKey {
        self.key_in_ring(serial, 0)
    }

    /// The same for the packet at the head of `ring`; the order does not depend on the ring.
    #[inline(always)]
    pub fn key_in_ring(self, serial: u32, ring: u32) -> EventKey {
        let code = match self {
            EventKind::Data(leg) => leg,
            EventKind::Ack(leg) => FIRST_ACK + leg,
            EventKind::Ready => FIRST_TIMER,
            EventKind::ReceiverTimer => FIRST_TIMER + 1,
            EventKind::Paced => FIRST_TIMER + 2,
            EventKind::Timer => FIRST_TIMER + 3,
            EventKind::Begin => LAST_TIMER,
        };
        EventKey(CONNECTION | u64::from(code) << RING_BITS | u64::from(ring)).of(serial)
    }
}

const _: () = assert!(LAST_TIMER < 1 << KIND_BITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_the_kind_and_the_connection_of_its_event() {
        let kinds = [
            EventKind::Data(0),
            EventKind::Data(FIRST_ACK - 1),
            EventKind::Ack(0),
            EventKind::Ack(FIRST_ACK - 1),
            EventKind::Ready,
            EventKind::ReceiverTimer,
            EventKind::Paced,
            EventKind::Timer,
        ];
        for kind in kinds.into_iter().chain([EventKind::Begin]) {
            let key = kind.key_in_ring(u32::MAX, MOST_RINGS - 1);
            assert_eq!((key.serial(), key.kind(), key.ring()), (u32::MAX, kind, MOST_RINGS - 1));
        }
        let comes_first =
            |a: EventKind, b: EventKind, later: u32| a.key_in_ring(3, 9).0 < b.key_in_ring(later, 4).0;
        assert!(kinds.windows(2).all(|pair| comes_first(pair[0], pair[1], 3)));
        assert!(comes_first(EventKind::Timer, EventKind::Data(0), 4));
        let (link, data) = (EventKey::of_link(u32::MAX), EventKind::Data(0).key(0));
        assert_eq!((link.link(), data.link()), (Some(u32::MAX), None));
        assert!(link.0 < data.0);
    }
}
