//! Packets as bytes: what the headers of TCP would carry, in the first 40 bytes.

use std::num::NonZeroU32;

use fairhaul_units::{Ack, Data, Ecn, HEADER, SACK_BLOCKS, SackBlock, Sending, Time};

/// Bytes of headers without options.
const ROOM: usize = HEADER.0 as usize;
/// Bits of the first byte, and how many SACK blocks follow above them.
const OPENS: u8 = 1;
const AGAIN: u8 = 2;
const CWR: u8 = 4;
const ECE: u8 = 8;
const BLOCKS_FROM: u32 = 4;
/// A bit of data packets, which have no blocks: the data end with this packet.
const FIN: u8 = 16;
/// Bytes of a time (280 s in picoseconds), of a number, and of a window or an offset.
const TIME: usize = 6;
const NUMBER: usize = 4;
const OFFSET: usize = 3;

/// Writes the fields of a header one after the other.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    fn put(&mut self, value: u64, size: usize) {
        assert!(value >> (8 * size) == 0, "a field of {size} bytes cannot hold {value}");
        let (field, rest) = std::mem::take(&mut self.0).split_at_mut(size);
        field.copy_from_slice(&value.to_le_bytes()[..size]);
        self.0 = rest;
    }
}

/// Reads them.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, size: usize) -> u64 {
        let (field, rest) = self.0.split_at(size);
        self.0 = rest;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(field);
        u64::from_le_bytes(bytes)
    }

    fn time(&mut self) -> Time {
        Time::from_ps(self.take(TIME))
    }
}

fn flag(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

/// Writes the headers of a data packet, with which the data end if `is_last`; its payload stays what it was.
pub fn put_data(data: &Data, is_last: bool, into: &mut [u8]) {
    let flags = flag(data.opens(), OPENS) | flag(data.retransmitted(), AGAIN) | flag(data.cwr, CWR);
    let flags = flags | flag(is_last, FIN);
    let mut writer = Writer(&mut into[..ROOM]);
    writer.put(flags.into(), 1);
    writer.put(data.number, NUMBER);
    writer.put(data.stamped.as_ps(), TIME);
}

/// The data packet of these bytes, which has arrived with these ECN bits; and whether the data end with it.
pub fn data_of(bytes: &[u8], ecn: Ecn) -> (Data, bool) {
    let mut reader = Reader(bytes);
    let flags = reader.take(1) as u8;
    let data = Data {
        number: reader.take(NUMBER),
        stamped: reader.time(),
        size: bytes.len() as u32,
        packets: u8::from(flags & OPENS == 0),
        sending: if flags & AGAIN == 0 { Sending::First } else { Sending::Again },
        ecn,
        cwr: flags & CWR != 0,
        congestion: None,
    };
    (data, flags & FIN != 0)
}

/// Writes an acknowledgement: how many bytes it has.
pub fn put_ack(ack: &Ack, into: &mut [u8]) -> usize {
    let flags = flag(ack.opens, OPENS) | flag(ack.ece, ECE) | ack.blocks << BLOCKS_FROM;
    let mut writer = Writer(&mut into[..ROOM]);
    writer.put(flags.into(), 1);
    writer.put(ack.next, NUMBER);
    writer.put(ack.echo.as_ps(), TIME);
    writer.put(ack.arrived.as_ps(), TIME);
    writer.put(ack.window.map_or(0, |window| window.get().min((1 << (8 * OFFSET)) - 1)).into(), OFFSET);
    for SackBlock { from, to } in ack.sacked() {
        // A packet that came twice may lie before the cumulative acknowledgement: its place is negative.
        writer.put(u64::from(from << 8 >> 8), OFFSET);
        writer.put(u64::from(to << 8 >> 8), OFFSET);
    }
    ack.size() as usize
}

/// The acknowledgement of these bytes.
pub fn ack_of(bytes: &[u8]) -> Ack {
    let mut reader = Reader(bytes);
    let flags = reader.take(1) as u8;
    let (next, echo, arrived) = (reader.take(NUMBER), reader.time(), reader.time());
    let window = NonZeroU32::new(reader.take(OFFSET) as u32);
    let blocks = flags >> BLOCKS_FROM;
    let mut sack = [SackBlock::default(); SACK_BLOCKS];
    for block in &mut sack[..usize::from(blocks)] {
        let mut place = || ((reader.take(OFFSET) as u32) << 8).cast_signed() >> 8;
        *block = SackBlock { from: place().cast_unsigned(), to: place().cast_unsigned() };
    }
    let (opens, ece) = (flags & OPENS != 0, flags & ECE != 0);
    Ack { next, echo, arrived, sack, blocks, opens, ece, window, ..Ack::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_the_same_after_it_was_bytes() {
        let (stamped, number) = (Time::from_ps(281_000_000_000_000), 4_000_000_000);
        let (sending, ecn) = (Sending::Again, Ecn::Marked);
        let data =
            Data { number, stamped, size: 1064, packets: 1, sending, ecn, cwr: true, congestion: None };
        let mut bytes = [7; 1064];
        for is_last in [false, true] {
            put_data(&data, is_last, &mut bytes);
            assert_eq!(data_of(&bytes, ecn), (data, is_last));
        }

        let mut ack = Ack { next: 9, echo: stamped, arrived: stamped, ece: true, ..Ack::default() };
        ack.window = NonZeroU32::new(70_000);
        (ack.sack, ack.blocks) = ([SackBlock { from: 1, to: 8_000_000 }; SACK_BLOCKS], 2);
        ack.set_dsack(3);
        assert_eq!(put_ack(&ack, &mut bytes), 40);
        assert_eq!(ack_of(&bytes), ack);
        assert_eq!(ack_of(&bytes).dsack(), Some(3));
    }
}
