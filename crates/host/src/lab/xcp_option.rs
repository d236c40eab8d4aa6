//! The request of a sender of XCP in a packet: an option of TCP, whose layout is in
//! `crates/ports/bpf/xcp_option.h`. A router reads it, decides by the queue `xcp` as in the simulator, and writes
//! what it leaves of the request back.

use fairhaul_units::{Bytes, CongestionHeader, Fixed, SENDER};

use super::headers::TCP;

/// A request: its kind, length, and what identifies it among experimental options.
const OPENING: [u8; 4] = [253, LENGTH as u8, 0x58, 0x51];
const LENGTH: usize = 16;
/// An answer of the host that has received requests.
const ANSWER: [u8; 4] = [253, 8, 0x58, 0x41];
/// What it takes of the payload of a packet.
pub const REQUEST: Bytes = Bytes(LENGTH as u64);
const GAP: usize = 4;
const RTT: usize = 8;
const DELTA: usize = 12;
/// Of the round-trip time's number, and of the sum in an answer: a router has answered; and what the time is.
const ANSWERED: u32 = 1 << 31;
const RTT_BITS: u32 = 0x7fff_ff00;
/// Kinds of one byte: the end of the options, and nothing.
const END: u8 = 0;
const NOTHING: u8 = 1;
/// The checksum of TCP in its header.
const CHECKSUM: usize = 16;

/// What writes answers.
#[derive(Clone, Debug, Default)]
pub struct Answerer {
    /// Whether checksums are whole; otherwise a device computes them later, and finds the sum of a pseudo-header.
    pub has_checksums: bool,
    /// Changes from answer to answer.
    number: u8,
}

impl Answerer {
    /// Writes what a router has left of the request of a packet, if one has answered; returns whether one has.
    // Differs from [XCP-I]: the option has no room for the time to live of XCP and for the last router, so a packet is
    // one that has passed no XCP router for the next.
    pub fn answer(&mut self, packet: &mut [u8], header: &CongestionHeader) -> bool {
        let Some((tcp, at)) = request(packet).filter(|_| header.last != SENDER) else { return false };
        self.number = self.number.wrapping_add(1);
        let rtt = double(packet, at + RTT) & RTT_BITS | ANSWERED | u32::from(self.number);
        self.change(packet, tcp, at + RTT, rtt);
        self.change(packet, tcp, at + DELTA, header.delta.cast_unsigned());
        true
    }

    /// Changes four bytes of the options, which may begin at an odd place.
    fn change(&self, packet: &mut [u8], tcp: usize, at: usize, value: u32) {
        let before = double(packet, at);
        packet[at..at + 4].copy_from_slice(&value.to_be_bytes());
        if !self.has_checksums {
            return;
        }
        let turned = (at - tcp) % 2 == 1;
        let words = |number: u32| {
            let number = if turned { number.rotate_left(8) } else { number };
            [number >> 16, number & 0xffff]
        };
        // RFC 1624, equation 3: one's complement of (~sum + ~old + new).
        let place = tcp + CHECKSUM;
        let sum = u16::from_be_bytes([packet[place], packet[place + 1]]);
        let [old, new] = [words(before), words(value)];
        let total = u32::from(!sum) + old.iter().map(|word| !word & 0xffff).chain(new).sum::<u32>();
        let folded = (total & 0xffff) + (total >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        packet[place..place + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
}

/// The request in a packet.
pub fn read_request(packet: &[u8]) -> Option<CongestionHeader> {
    let (_, at) = request(packet)?;
    Some(CongestionHeader {
        gap: Fixed::of_parts(double(packet, at + GAP)),
        rtt: Fixed::of_parts(double(packet, at + RTT) & RTT_BITS),
        delta: double(packet, at + DELTA).cast_signed(),
        left: 0,
        plain: 0,
        last: SENDER,
    })
}

/// The change that routers have left in the request of a packet, if one has answered it, bytes/s.
pub fn read_grant(packet: &[u8]) -> Option<i32> {
    let (_, at) = request(packet)?;
    (double(packet, at + RTT) & ANSWERED != 0).then(|| double(packet, at + DELTA).cast_signed())
}

/// The sum of all changes, modulo 2^31 bytes/s, that a host returns in a packet.
pub fn read_sum(packet: &[u8]) -> Option<u32> {
    let (_, at) = option(packet, ANSWER)?;
    Some(double(packet, at + OPENING.len()) & !ANSWERED)
}

/// Where the header of TCP and a request begin.
fn request(packet: &[u8]) -> Option<(usize, usize)> {
    option(packet, OPENING)
}

/// Where the header of TCP and an option begin. Options may be damaged: each is inside of the header.
fn option(packet: &[u8], opening: [u8; 4]) -> Option<(usize, usize)> {
    let length = usize::from(opening[1]);
    let tcp = usize::from(packet.first()? & 15) * 4;
    let header = usize::from(*packet.get(tcp + 12)? >> 4) * 4;
    let end = tcp + header;
    if packet[9] != TCP || end > packet.len() {
        return None;
    }
    let mut at = tcp + 20;
    while at + length <= end {
        if packet[at..at + 4] == opening {
            return Some((tcp, at));
        }
        at += match packet[at] {
            END => return None,
            NOTHING => 1,
            _ => usize::from(packet[at + 1]).max(2),
        };
    }
    None
}

fn double(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|byte| packet[at + byte]))
}

#[cfg(test)]
mod tests {
    use super::super::address::address;
    use super::super::headers::sum;
    use super::super::offload::{Joiner, PREFIX, split};
    use super::*;
    use fairhaul_units::{Chance, Span};
    use std::num::NonZeroU8;

    const TCP_AT: usize = 20;

    /// A packet whose option stands `before` bytes behind the header of 20 bytes, and asks for 1000 bytes/s.
    fn asking(before: usize, payload: usize) -> Vec<u8> {
        let options = (before + LENGTH).next_multiple_of(4);
        let mut packet = vec![NOTHING; TCP_AT + 20 + options + payload];
        packet[0] = 0x45;
        packet[9] = TCP;
        packet[TCP_AT + 12] = ((20 + options) as u8 / 4) << 4;
        let at = TCP_AT + 20 + before;
        packet[at..at + 4].copy_from_slice(&OPENING);
        packet[at + GAP..at + RTT].copy_from_slice(&(1u32 << 18).to_be_bytes());
        packet[at + RTT..at + DELTA].copy_from_slice(&((1u32 << 27) | 7).to_be_bytes());
        packet[at + DELTA..at + LENGTH].copy_from_slice(&1000i32.to_be_bytes());
        seal(&mut packet);
        packet
    }

    /// Writes the checksum.
    fn seal(packet: &mut [u8]) {
        packet[TCP_AT + CHECKSUM..TCP_AT + CHECKSUM + 2].fill(0);
        let whole = !whole_sum(packet);
        packet[TCP_AT + CHECKSUM..TCP_AT + CHECKSUM + 2].copy_from_slice(&whole.to_be_bytes());
    }

    /// The sum over pseudo-header and segment, which is 0xffff where the checksum is right.
    fn whole_sum(packet: &[u8]) -> u16 {
        let mut padded = packet[TCP_AT..].to_vec();
        padded.resize(padded.len().next_multiple_of(2), 0);
        let beyond = u32::from(sum(&packet[12..20], 0)) + 6 + (packet.len() - TCP_AT) as u32;
        sum(&padded, beyond)
    }

    fn answered(packet: &[u8], delta: i32) -> CongestionHeader {
        CongestionHeader { delta, last: NonZeroU8::MIN, ..read_request(packet).expect("it asks") }
    }

    /// 2^18 of 2^-28 s are 0.98 ms; 2^27 are half a second, of which the lowest 8 bits are no part.
    #[test]
    fn a_request_is_read_wherever_it_stands() {
        for before in [0, 1, 2, 3, 12] {
            let header = read_request(&asking(before, 10)).expect("it asks");
            assert_eq!(
                (header.gap, header.rtt.as_secs(), header.delta),
                (Fixed::of(Span::from_secs(1.0 / 1024.0)), 0.5, 1000)
            );
        }
    }

    #[test]
    fn an_answer_has_the_bit_what_is_left_and_a_right_checksum() {
        let mut chance = Chance::stream(1, "test", 0);
        let mut answerer = Answerer { has_checksums: true, ..Answerer::default() };
        for round in 0..2000 {
            let mut packet = asking(round % 5, 1 + round % 7);
            let delta = chance.below(1 << 32) as u32 as i32;
            let header = answered(&packet, delta);
            answerer.answer(&mut packet, &header);
            let at = request(&packet).expect("it is there").1;
            let word = double(&packet, at + RTT);
            assert_eq!((word >> 31, word as u8, word & RTT_BITS), (1, (round + 1) as u8, 1 << 27));
            assert_eq!(read_request(&packet).expect("it is there").delta, delta);
            assert_eq!(whole_sum(&packet), 0xffff, "{round}");
        }
    }

    #[test]
    fn without_a_router_and_without_checksums_the_rest_stays() {
        let mut answerer = Answerer::default();
        let (before, mut packet) = (asking(0, 10), asking(0, 10));
        answerer.answer(&mut packet, &read_request(&before).expect("it asks"));
        assert_eq!(packet, before);
        answerer.answer(&mut packet, &answered(&before, -3));
        let place = TCP_AT + CHECKSUM;
        assert_eq!(packet[place..place + 2], before[place..place + 2]);
    }

    /// A burst of 16 segments that a host hands over with one request: each is answered by itself, none is merged again
    /// although they follow each other, and the receiver gets exactly what the router left.
    #[test]
    fn segments_of_a_burst_are_answered_one_by_one_and_stay_apart() {
        let mut burst = vec![0; PREFIX];
        burst[1] = 1; // segments of TCP over IPv4
        burst[4..6].copy_from_slice(&1000u16.to_ne_bytes());
        burst.extend(asking(0, 16_000));
        burst[PREFIX + TCP_AT + 13] = 16; // ACK
        for (at, host) in [(12, 0), (16, 1)] {
            burst[PREFIX + at..PREFIX + at + 4].copy_from_slice(&address(host, 1).octets());
        }
        let (mut answerer, mut joiner) = (Answerer::default(), Joiner::default());
        let (mut granted, mut received, mut packets) = (0, 0, 0);
        let mut receive = |bytes: &[u8]| {
            received += read_request(&bytes[PREFIX..]).expect("it asks").delta;
            packets += 1;
        };
        split(&burst, &mut Vec::new(), |segment, _| {
            let mut segment = segment.to_vec();
            answerer.answer(&mut segment, &answered(&burst[PREFIX..], 50));
            granted += 50;
            joiner.add(&segment, &mut receive);
        });
        joiner.flush(&mut receive);
        assert_eq!((packets, received, granted), (16, granted, 800));
    }

    /// Damage to any byte of the headers: nothing panics, and nothing outside of the options changes.
    #[test]
    fn damaged_options_are_read_within_the_header() {
        let whole = asking(3, 10);
        for at in 0..TCP_AT + 40 {
            for value in [0, 1, 2, 15, 253, 255] {
                let mut packet = whole.clone();
                packet[at] = value;
                let before = packet.clone();
                let header = answered(&whole, 5);
                Answerer { has_checksums: true, ..Answerer::default() }.answer(&mut packet, &header);
                assert_eq!(packet[..36], before[..36]);
            }
            let _ = read_request(&whole[..at]);
        }
    }
}
