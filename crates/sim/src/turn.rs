//! Whose turn it is, in 64 bits: the order of what happens at the same picosecond. Links that have sent a
//! packet come before connections.

use fairhaul_units::Time;

use crate::route::MOST_LEGS;

/// Whose turn it is; the smaller comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order(pub u64);

/// What an entry of the agenda asks of a connection; at one time, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The head of its ring, at the end of that leg of data of its connection, goes on.
    Data(u16),
    /// The head of its ring, at the end of that leg of acknowledgements of its connection, goes on.
    Ack(u16),
    /// The application has the next packet ready.
    Ready,
    /// The receiver's held acknowledgement is due.
    Held,
    /// The pacer lets the next packet go.
    Paced,
    /// The retransmission timer may have run out.
    Timer,
}

/// In the order of every turn of a connection, and of no link's.
const CONNECTION: u64 = 1 << 63;
/// The lowest bits hold the ring, the next ones the turn.
const RING_BITS: u32 = 21;
const TURN_BITS: u32 = 10;
/// The turns of acknowledgements begin here, those of timers there.
const FIRST_ACK: u16 = MOST_LEGS as u16;
const FIRST_TIMER: u16 = 2 * FIRST_ACK;
const LAST_TIMER: u16 = FIRST_TIMER + 3;

/// Rings of a run, at most.
pub const MOST_RINGS: u32 = 1 << RING_BITS;

impl Order {
    /// What has its turn at `time` among all that is to happen: the smaller comes first.
    #[inline(always)]
    pub fn at(self, time: Time) -> u128 {
        u128::from(time.as_ps()) << 64 | u128::from(self.0)
    }

    /// The order of the turn of a link: what was being sent has left.
    pub fn of_link(link: u32) -> Order {
        Order(link.into())
    }

    /// The link whose turn it is; `None`: it is a connection's.
    #[inline(always)]
    pub fn link(self) -> Option<u32> {
        (self.0 < CONNECTION).then_some(self.0 as u32)
    }

    /// The connection whose turn it is.
    #[inline(always)]
    pub fn serial(self) -> u32 {
        (self.0 >> (RING_BITS + TURN_BITS)) as u32
    }

    /// The ring whose head has its turn.
    #[inline(always)]
    pub fn ring(self) -> u32 {
        self.0 as u32 & (MOST_RINGS - 1)
    }

    /// Whether it is that of a packet at the head of a ring.
    #[inline(always)]
    pub fn is_packet(self) -> bool {
        self.number() < FIRST_TIMER
    }

    #[inline(always)]
    fn number(self) -> u16 {
        (self.0 >> RING_BITS) as u16 & ((1 << TURN_BITS) - 1)
    }

    /// What a connection is to do.
    #[inline(always)]
    pub fn turn(self) -> Turn {
        const SECOND: u16 = FIRST_TIMER + 1;
        const THIRD: u16 = FIRST_TIMER + 2;
        match self.number() {
            leg @ 0..FIRST_ACK => Turn::Data(leg),
            leg @ FIRST_ACK..FIRST_TIMER => Turn::Ack(leg - FIRST_ACK),
            FIRST_TIMER => Turn::Ready,
            SECOND => Turn::Held,
            THIRD => Turn::Paced,
            _ => Turn::Timer,
        }
    }
}

impl Turn {
    /// The order of this turn of connection `serial` among those of the same time.
    pub fn order(self, serial: u32) -> Order {
        self.in_ring(serial, 0)
    }

    /// The same for the head of a ring, which that number tells and the order does not depend on.
    #[inline(always)]
    pub fn in_ring(self, serial: u32, ring: u32) -> Order {
        let number = match self {
            Turn::Data(leg) => leg,
            Turn::Ack(leg) => FIRST_ACK + leg,
            Turn::Ready => FIRST_TIMER,
            Turn::Held => FIRST_TIMER + 1,
            Turn::Paced => FIRST_TIMER + 2,
            Turn::Timer => LAST_TIMER,
        };
        let turn = u64::from(serial) << TURN_BITS | u64::from(number);
        Order(CONNECTION | turn << RING_BITS | u64::from(ring))
    }
}

const _: () = assert!(LAST_TIMER < 1 << TURN_BITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_says_whose_turn_it_is() {
        let turns = [
            Turn::Data(0),
            Turn::Data(FIRST_ACK - 1),
            Turn::Ack(0),
            Turn::Ack(FIRST_ACK - 1),
            Turn::Ready,
            Turn::Held,
            Turn::Paced,
        ];
        for turn in turns.into_iter().chain([Turn::Timer]) {
            let order = turn.in_ring(u32::MAX, MOST_RINGS - 1);
            assert_eq!((order.serial(), order.turn(), order.ring()), (u32::MAX, turn, MOST_RINGS - 1));
        }
        let comes_first = |a: Turn, b: Turn, later: u32| a.in_ring(3, 9).0 < b.in_ring(later, 4).0;
        assert!(turns.windows(2).all(|pair| comes_first(pair[0], pair[1], 3)));
        assert!(comes_first(Turn::Timer, Turn::Data(0), 4));
        let (link, data) = (Order::of_link(u32::MAX), Turn::Data(0).order(0));
        assert_eq!((link.link(), data.link()), (Some(u32::MAX), None));
        assert!(link.0 < data.0);
    }
}
