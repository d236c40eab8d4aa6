//! The numbers of the packets of one connection, in the order in which they were first sent, as the simulator numbers
//! them: a segment has the number of the packet that its first byte was first sent in.

use super::headers::Segment;

/// See the module. Sequence numbers are compared as TCP does, modulo 2^32 [RFC 9293, 3.4].
#[derive(Clone, Debug, Default)]
pub struct PacketNumbers {
    /// The sequence number of the first byte; none before the first segment.
    origin: Option<u32>,
    /// Where each packet begins, bytes from the first.
    starts: Vec<u64>,
    /// The end of what was sent, bytes from the first.
    end: u64,
    /// Datagrams sent.
    datagrams: u64,
}

impl PacketNumbers {
    /// A segment leaves the sender: its number, and whether all of its payload was sent before.
    pub fn sends(&mut self, segment: &Segment, payload: u32) -> (u64, bool) {
        let first = segment.sequence.wrapping_add(u32::from(segment.opens));
        self.origin.get_or_insert(first);
        if payload == 0 {
            return (0, false);
        }
        let begin = self.offset(first);
        let end = begin + u64::from(payload);
        let is_new = end > self.end;
        if begin > self.end {
            // A packet before it was dropped by the sender's own queue.
            self.starts.push(self.end);
        }
        if is_new {
            self.starts.push(begin.max(self.end));
            self.end = end;
        }
        (self.containing(begin), !is_new)
    }

    /// A datagram leaves the sender: its number.
    pub fn sends_datagram(&mut self) -> u64 {
        self.datagrams += 1;
        self.datagrams - 1
    }

    /// The first packet of which not all bytes are before `next`: what a receiver waits for that expects this byte.
    pub fn waited_for(&self, next: u32) -> u64 {
        let offset = self.offset(next);
        // The end of a connection is acknowledged like one more byte.
        if offset >= self.end { self.starts.len() as u64 } else { self.containing(offset) }
    }

    /// The packets of a run of bytes that has arrived: the first, and the first after it; `None` if no packet is complete.
    pub fn complete(&self, (from, to): (u32, u32)) -> Option<(u64, u64)> {
        let from = self.offset(from);
        let first = self.starts.partition_point(|start| *start < from) as u64;
        let after = self.waited_for(to);
        (first < after).then_some((first, after))
    }

    /// The packet that byte number `offset` was first sent in.
    fn containing(&self, offset: u64) -> u64 {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1) as u64
    }

    /// The number of the byte with this sequence number, from the first.
    fn offset(&self, sequence: u32) -> u64 {
        let end = self.origin.unwrap_or(sequence).wrapping_add(self.end as u32);
        self.end.saturating_add_signed(i64::from(sequence.wrapping_sub(end) as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u32, opens: bool) -> Segment {
        Segment { sequence, acknowledges: None, opens, ends: false }
    }

    #[test]
    fn packets_are_numbered_in_their_order_whatever_their_sizes_and_over_the_end_of_the_numbers() {
        let first = u32::MAX - 1500; // The request takes one number.
        let byte = |offset: u32| first.wrapping_add(1 + offset);
        let mut numbers = PacketNumbers::default();
        assert_eq!(numbers.sends(&segment(first, true), 0), (0, false));
        assert_eq!(numbers.waited_for(byte(0)), 0);
        for (begin, payload, sent) in [
            (0, 1000, (0, false)),
            (1000, 400, (1, false)), // The application had no more.
            (1400, 1000, (2, false)),
            (2400, 1000, (3, false)),
            (1400, 1000, (2, true)),
            (0, 1400, (0, true)), // Two packets in one.
            (3400, 1000, (4, false)),
            (5400, 1000, (6, false)), // One before it was never seen.
            (4400, 1000, (5, true)),
        ] {
            assert_eq!(numbers.sends(&segment(byte(begin), false), payload), sent, "{begin}");
        }
        let waited: Vec<u64> =
            [0, 999, 1000, 1400, 3400, 6400].map(|next| numbers.waited_for(byte(next))).into();
        assert_eq!(waited, [0, 0, 1, 2, 4, 7]);
        assert_eq!(numbers.waited_for(byte(6401)), 7, "the end of the connection has a number");
        assert_eq!(numbers.complete((byte(1400), byte(3400))), Some((2, 4)));
        assert_eq!(numbers.complete((byte(1500), byte(4400))), Some((3, 5)));
        assert_eq!(numbers.complete((byte(1500), byte(2000))), None);
    }

    #[test]
    fn more_than_the_sequence_numbers_can_be_sent() {
        let mut numbers = PacketNumbers::default();
        let payload = 1 << 20;
        for number in 0..5000_u64 {
            let sequence = 7_u32.wrapping_add((number as u32).wrapping_mul(payload));
            assert_eq!(numbers.sends(&segment(sequence, false), payload), (number, false));
            assert_eq!(numbers.waited_for(sequence.wrapping_add(payload)), number + 1);
        }
    }
}
