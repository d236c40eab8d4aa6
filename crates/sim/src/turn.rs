//! Whose turn it is, in 64 bits: the order of what happens at the same picosecond. Links that have sent a
//! packet come before connections.

use crate::route::MOST_LANES;

/// What an entry of the agenda asks of a connection; at one time, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The head of a lane of data takes its step.
    Data(u8),
    /// The head of a lane of acknowledgements takes its step.
    Ack(u8),
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

/// The order of the turn of a link: what was being sent has left.
pub fn link_order(link: u32) -> u64 {
    link.into()
}

/// The link whose turn an order is; `None`: it is a connection's.
pub fn link_of(order: u64) -> Option<u32> {
    (order < CONNECTION).then_some(order as u32)
}

impl Turn {
    /// The order of this turn of connection `serial` among those of the same time.
    pub fn order(self, serial: u32) -> u64 {
        let low = match self {
            Turn::Data(lane) => lane,
            Turn::Ack(lane) => MOST_LANES as u8 + lane,
            Turn::Ready => 252,
            Turn::Held => 253,
            Turn::Paced => 254,
            Turn::Timer => 255,
        };
        CONNECTION | u64::from(serial) << 8 | u64::from(low)
    }

    /// Whose turn an order of a connection says it is, and which.
    pub fn of(order: u64) -> (u32, Turn) {
        let turn = match order as u8 {
            252 => Turn::Ready,
            253 => Turn::Held,
            254 => Turn::Paced,
            255 => Turn::Timer,
            low if low < MOST_LANES as u8 => Turn::Data(low),
            low => Turn::Ack(low - MOST_LANES as u8),
        };
        ((order >> 8) as u32, turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_says_whose_turn_it_is() {
        let turns = [
            Turn::Data(0),
            Turn::Data(119),
            Turn::Ack(0),
            Turn::Ack(119),
            Turn::Ready,
            Turn::Held,
            Turn::Paced,
        ];
        for turn in turns.into_iter().chain([Turn::Timer]) {
            assert_eq!(Turn::of(turn.order(70_000)), (70_000, turn));
        }
        assert!(turns.windows(2).all(|pair| pair[0].order(3) < pair[1].order(3)));
        assert!(Turn::Timer.order(3) < Turn::Data(0).order(4));
        assert_eq!((link_of(link_order(7)), link_of(Turn::Data(0).order(0))), (Some(7), None));
        assert!(link_order(u32::MAX) < Turn::Data(0).order(0));
    }
}
