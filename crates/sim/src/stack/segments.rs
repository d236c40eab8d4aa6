//! What the packets of a transport stack show of the bytes that they carry, where they are TCP over IPv4: which packets repeat
//! bytes, and which of these were needless.

use std::collections::BTreeMap;
use std::ops::Range;

/// The bytes of a connection that have left its sender and that have arrived. Positions are sequence numbers without
/// a bound.
#[derive(Debug, Default)]
pub struct Segments {
    /// Behind the last byte that has left; zero if none has.
    sent: u64,
    /// Pieces that have arrived, from their first byte to the one behind their last; they do not touch.
    arrived: BTreeMap<u64, u64>,
}

impl Segments {
    /// A packet leaves the sender: whether it repeats all of its bytes.
    pub fn leaves(&mut self, packet: &[u8]) -> bool {
        let Some(bytes) = self.bytes(packet) else { return false };
        let repeats = bytes.end <= self.sent;
        self.sent = self.sent.max(bytes.end);
        repeats
    }

    /// A packet arrives at the receiver: whether all of its bytes had arrived before.
    pub fn arrives(&mut self, packet: &[u8]) -> bool {
        let Some(mut bytes) = self.bytes(packet) else { return false };
        while let Some((&start, &end)) = self.arrived.range(..=bytes.end).next_back() {
            if start <= bytes.start && end >= bytes.end {
                return true;
            }
            if end < bytes.start {
                break;
            }
            self.arrived.remove(&start);
            bytes = start.min(bytes.start)..end.max(bytes.end);
        }
        self.arrived.insert(bytes.start, bytes.end);
        false
    }

    /// The bytes of a packet of TCP that has some; their place is the one nearest to what has left.
    fn bytes(&self, packet: &[u8]) -> Option<Range<u64>> {
        const TCP: u8 = 6;
        let (version, header) = (packet.first()? >> 4, usize::from(packet[0] & 15) * 4);
        let length = usize::from(u16::from_be_bytes(packet.get(2..4)?.try_into().ok()?));
        let is_tcp = version == 4 && packet.get(9) == Some(&TCP) && length == packet.len();
        let tcp = packet.get(header..).filter(|_| is_tcp)?;
        let number = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
        let payload = tcp.len().checked_sub(usize::from(tcp.get(12)? >> 4) * 4).filter(|size| *size > 0)?;
        // Later numbers may be smaller than the first one.
        let near = if self.sent == 0 { (1 << 32) + u64::from(number) } else { self.sent };
        let start = near.checked_add_signed((number.wrapping_sub(near as u32) as i32).into())?;
        Some(start..start + payload as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of TCP over IPv4 with `size` bytes from that sequence number on.
    fn packet(number: u32, size: usize) -> Vec<u8> {
        let mut packet = vec![0; 52 + size];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(52 + size as u16).to_be_bytes());
        packet[9] = 6;
        packet[24..28].copy_from_slice(&number.to_be_bytes());
        packet[32] = 8 << 4; // 32 bytes of header
        packet
    }

    #[test]
    fn a_packet_repeats_what_has_left_also_where_numbers_begin_anew() {
        let mut segments = Segments::default();
        let numbers = [u32::MAX - 150, u32::MAX - 50, 49, u32::MAX - 50, 49, 149];
        let repeats = numbers.map(|number| segments.leaves(&packet(number, 100)));
        assert_eq!(repeats, [false, false, false, true, true, false]);
        // Half of it is new.
        assert!(!segments.leaves(&packet(199, 100)));
    }

    #[test]
    fn needless_is_what_has_arrived_in_whole_in_whatever_pieces() {
        let mut segments = Segments::default();
        (0..6).for_each(|place| assert!(!segments.leaves(&packet(place * 100, 100))));
        let mut arrives = |number, size| segments.arrives(&packet(number, size));
        assert_eq!([arrives(0, 100), arrives(200, 100), arrives(400, 100)], [false; 3]);
        assert_eq!([arrives(200, 100), arrives(250, 50), arrives(0, 100)], [true; 3]);
        assert!(!arrives(50, 100), "its second half is new");
        assert_eq!([arrives(0, 150), arrives(100, 100), arrives(0, 300)], [true, false, true]);
        assert_eq!([arrives(250, 300), arrives(0, 550)], [false, true]);
        assert_eq!(segments.arrived, BTreeMap::from([(1 << 32, (1 << 32) + 550)]));
    }

    #[test]
    fn other_packets_show_nothing() {
        let mut segments = Segments::default();
        let plain = packet(0, 100);
        segments.leaves(&plain);
        let changed = |place: usize, value: u8| {
            let mut packet = plain.clone();
            packet[place] = value;
            packet
        };
        let others = [changed(0, 0x65), changed(9, 17), packet(0, 0), plain[..30].to_vec(), Vec::new()];
        assert_eq!(others.map(|other| segments.leaves(&other)), [false; 5]);
        assert!(segments.leaves(&plain));
    }
}
