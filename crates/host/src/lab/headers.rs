//! The headers of a packet: IPv4 [RFC 791] and TCP [RFC 9293].

use std::net::Ipv4Addr;

use fairhaul_path::PacketKind;
use fairhaul_units::Ecn;

use super::address;

/// Numbers of protocols.
pub const TCP: u8 = 6;
/// See [`TCP`].
pub const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Whether sequence number `a` is not behind `b`, modulo 2^32 [RFC 9293, 3.4].
pub fn reaches(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// One end of a connection: its host and its number.
pub type Endpoint = (u8, u32);

/// What the router reads of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Its source.
    pub from: Endpoint,
    /// Its destination.
    pub to: Endpoint,
    /// Its size on the wire.
    pub size: u32,
    /// Whether it can be marked.
    pub ecn: Ecn,
    /// Its payload.
    pub payload: u32,
    /// Its TCP header, if it is a TCP segment.
    pub segment: Option<Segment>,
}

/// The fields of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The next sequence number that its sender expects.
    pub acknowledges: Option<u32>,
    /// Whether it is a SYN or a SYN/ACK.
    pub opens: bool,
    /// Whether it is a FIN.
    pub ends: bool,
}

impl Headers {
    /// Reads the headers of a packet; `None` if it is not a packet of the lab, or is not complete.
    pub fn read(packet: &[u8]) -> Option<Headers> {
        let first = *packet.first()?;
        let length = usize::from(first & 15) * 4;
        let size = usize::from(word(packet, 2)?);
        if first >> 4 != 4 || length < 20 || size < length || size > packet.len() {
            return None;
        }
        let owner = |at| Some(address::owner(Ipv4Addr::from_bits(double(packet, at)?))).flatten();
        let body = &packet[length..size];
        let (payload, segment) = match packet[9] {
            TCP => {
                let (header, segment) = Segment::read(body)?;
                (body.len().checked_sub(header)?, Some(segment))
            }
            UDP => (body.len().checked_sub(UDP_HEADER)?, None),
            _ => (0, None),
        };
        Some(Headers {
            from: owner(12)?,
            to: owner(16)?,
            size: size as u32,
            ecn: Ecn::of_bits(packet[1]),
            payload: payload as u32,
            segment,
        })
    }

    /// Whether it carries data, which a link may lose.
    pub fn carries_data(&self) -> bool {
        self.payload > 0
    }

    /// What it is to a link; `forward`: from the sender of the data.
    pub fn kind(&self, forward: bool) -> PacketKind {
        match self.segment {
            _ if forward && self.carries_data() => PacketKind::Data,
            Some(segment) if !forward && !segment.opens && !segment.ends => PacketKind::Ack,
            // Answers of a program: what they are is not known.
            None if !forward => PacketKind::Ack,
            _ => PacketKind::Control,
        }
    }
}

impl Segment {
    /// Reads the length and the fields of the header.
    fn read(body: &[u8]) -> Option<(usize, Segment)> {
        let (length, flags) = (usize::from(*body.get(12)? >> 4) * 4, *body.get(13)?);
        let segment = Segment {
            sequence: double(body, 4)?,
            acknowledges: (flags & ACK != 0).then_some(double(body, 8)?),
            opens: flags & SYN != 0,
            ends: flags & FIN != 0,
        };
        (length >= 20).then_some((length, segment))
    }
}

/// Marks a packet that can be marked.
pub fn mark(packet: &mut [u8]) {
    set_codepoint(packet, Ecn::Marked);
}

/// Gives a packet a codepoint, and updates its checksum [RFC 1624, equation 3].
pub fn set_codepoint(packet: &mut [u8], ecn: Ecn) {
    let (Some(old), Some(sum)) = (word(packet, 0), word(packet, 10)) else { return };
    let new = old & !3 | u16::from(ecn.bits());
    let folded = u32::from(!sum) + u32::from(!old) + u32::from(new);
    let folded = (folded & 0xffff) + (folded >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[..2].copy_from_slice(&new.to_be_bytes());
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// The sum of 16-bit words of checksums, with `beyond` added [RFC 1071]; the last byte of an odd number is
/// ignored, because headers have an even length.
pub fn sum(bytes: &[u8], beyond: u32) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum = words.sum::<u32>() + beyond;
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn double(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::lab::address::address;

    /// A segment of connection `connection` from host `from` to host `to` without options.
    pub(crate) fn segment(from: u8, to: u8, connection: u32, sequence: u32, payload: usize) -> Vec<u8> {
        let mut packet = vec![0u8; 40 + payload];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(40 + payload as u16).to_be_bytes());
        packet[9] = TCP;
        packet[12..16].copy_from_slice(&address(from, connection).octets());
        packet[16..20].copy_from_slice(&address(to, connection).octets());
        packet[24..28].copy_from_slice(&sequence.to_be_bytes());
        packet[32] = 5 << 4;
        packet[33] = ACK;
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    /// The checksum of an IPv4 header over all of its fields.
    fn checksum(packet: &[u8]) -> u16 {
        !sum(&packet[..20], 0)
    }

    #[test]
    fn headers_identify_the_connection_and_the_payload() {
        let headers = Headers::read(&segment(0, 1, 7, 1000, 1448)).expect("it is a segment");
        assert_eq!((headers.from, headers.to), ((0, 7), (1, 7)));
        assert_eq!((headers.size, headers.payload, headers.ecn), (1488, 1448, Ecn::NotCapable));
        let segment = headers.segment.expect("it is of TCP");
        assert_eq!((segment.sequence, segment.acknowledges), (1000, Some(0)));
        assert!(!segment.opens && !segment.ends);
    }

    #[test]
    fn what_is_cut_off_or_of_another_network_is_no_packet_of_the_lab() {
        let whole = segment(0, 1, 7, 1000, 100);
        assert!((0..whole.len()).all(|length| Headers::read(&whole[..length]).is_none()));
        let mut other = whole;
        other[12] = 192;
        assert_eq!(Headers::read(&other), None);
    }

    #[test]
    fn a_marked_packet_has_the_checksum_of_what_it_is() {
        for number in 0..2000 {
            let mut packet = segment(0, 1, number, 5, 10);
            packet[1] = 2;
            packet[10..12].fill(0);
            let sum = checksum(&packet);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            mark(&mut packet);
            assert_eq!(Headers::read(&packet).expect("it is a segment").ecn, Ecn::Marked);
            assert_eq!(checksum(&packet), 0, "{number}"); // a right sum makes the whole zero
        }
    }
}
