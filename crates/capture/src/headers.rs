//! The headers of a captured TCP segment [RFC 9293], [RFC 7323].
//!
//! They are read here and not by a library of packet formats, because a capture holds what such a library refuses:
//! packets that are cut within the options of TCP, and lengths of 0, which a packet of several segments has before the
//! card cuts it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The fields of a segment that the analysis needs.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Who sent it, and to whom.
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: u8,
    /// The window as the header has it, without its scale.
    pub window: u16,
    /// Bytes of data.
    pub payload: u32,
    /// Bytes of all headers in a frame of Ethernet, and its check sequence.
    pub overhead: u32,
    pub options: Options,
    /// The identification of an IPv4 packet.
    pub identification: u16,
    /// The two bits of explicit congestion notification.
    pub ecn: u8,
}

/// The options of a segment, as far as they were captured.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    pub sack: [(u32, u32); 4],
    pub sack_blocks: usize,
}

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;
pub const ECE: u8 = 0x40;

/// Congestion experienced.
pub const CE: u8 = 3;

/// The header of Ethernet, its check sequence, and a VLAN tag.
const ETHERNET: u32 = 14 + 4;
const VLAN: u32 = 4;
const TCP: u8 = 6;

/// Types of Ethernet.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const PPPOE: u16 = 0x8864;

/// Reads the headers of a packet of `length` bytes, of which `data` was captured; `None` if it is not TCP over IP, or a
/// later fragment, or cut within the first 20 bytes of the TCP header.
pub fn segment(link: i32, data: &[u8], length: u32) -> Option<Segment> {
    let (skipped, tags) = network_offset(link, data)?;
    let network = data.get(skipped..)?;
    let length = length.saturating_sub(u32::try_from(skipped).ok()?);
    match network.first()? >> 4 {
        4 => ipv4(network, length, tags),
        6 => ipv6(network, length, tags),
        _ => None,
    }
}

/// Where the header of IP begins, and how many VLAN tags are before it.
fn network_offset(link: i32, data: &[u8]) -> Option<(usize, u32)> {
    match link {
        1 => ethernet(data, 12),
        // NULL and LOOP, PPP, raw IP, Linux cooked (its type is the last field), Linux cooked version 2.
        0 | 108 => Some((4, 0)),
        9 => Some((if data.first()? == &0xff { 4 } else { 2 }, 0)),
        12 | 14 | 101 | 228 | 229 => Some((0, 0)),
        113 => ethernet(data, 14),
        276 => Some((20, 0)),
        _ => None,
    }
}

/// Follows the types of Ethernet from `at` to IP.
fn ethernet(data: &[u8], mut at: usize) -> Option<(usize, u32)> {
    for tags in 0..=3 {
        let kind = u16_at(data, at)?;
        at += 2;
        if kind == IPV4 || kind == IPV6 {
            return Some((at, tags));
        } else if kind == PPPOE {
            return Some((at + 8, tags));
        } else if !TAGS.contains(&kind) {
            return None;
        }
        at += 2;
    }
    None
}

fn ipv4(data: &[u8], length: u32, tags: u32) -> Option<Segment> {
    let header = usize::from(data[0] & 15) * 4;
    let fragment = u16_at(data, 6)? & 0x1fff;
    if header < 20 || fragment != 0 || *data.get(9)? != TCP {
        return None;
    }
    let address = |at: usize| Some(IpAddr::from(Ipv4Addr::from(u32_at(data, at)?)));
    // A packet of several segments has the length 0 if it is too large for the field.
    let total = match u32::from(u16_at(data, 2)?) {
        0 => length,
        total => total,
    };
    let ends = (address(12)?, address(16)?);
    let mut segment = tcp(data.get(header..)?, total.checked_sub(header as u32)?, ends)?;
    segment.overhead += header as u32 + ETHERNET + tags * VLAN;
    segment.identification = u16_at(data, 4)?;
    segment.ecn = data[1] & 3;
    Some(segment)
}

fn ipv6(data: &[u8], length: u32, tags: u32) -> Option<Segment> {
    let address = |at: usize| {
        let bytes: [u8; 16] = data.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::from(Ipv6Addr::from(bytes)))
    };
    let ends = (address(8)?, address(24)?);
    let (mut next, mut at) = (*data.get(6)?, 40);
    // Extension headers: hop by hop, routing, destination options; a first fragment; at most eight of them.
    for _ in 0..8 {
        if next == TCP {
            break;
        }
        let size = match next {
            0 | 43 | 60 => (usize::from(*data.get(at + 1)?) + 1) * 8,
            44 if u16_at(data, at + 2)? & 0xfff8 == 0 => 8,
            _ => return None,
        };
        next = *data.get(at)?;
        at += size;
    }
    let total = match u32::from(u16_at(data, 4)?) {
        0 => length,
        total => total + 40,
    };
    let mut segment = tcp(data.get(at..)?, total.checked_sub(at as u32)?, ends)?;
    segment.overhead += at as u32 + ETHERNET + tags * VLAN;
    segment.ecn = (data[1] >> 4) & 3;
    Some(segment)
}

/// Reads the header of a segment of `length` bytes, which may be cut after 20 bytes.
fn tcp(data: &[u8], length: u32, (from, to): (IpAddr, IpAddr)) -> Option<Segment> {
    let header = usize::from(*data.get(12)? >> 4) * 4;
    if header < 20 {
        return None;
    }
    Some(Segment {
        from: SocketAddr::new(from, u16_at(data, 0)?),
        to: SocketAddr::new(to, u16_at(data, 2)?),
        sequence: u32_at(data, 4)?,
        acknowledgment: u32_at(data, 8)?,
        flags: *data.get(13)?,
        window: u16_at(data, 14)?,
        payload: length.checked_sub(header as u32)?,
        overhead: header as u32,
        options: options(data.get(20..header.min(data.len()))?),
        identification: 0,
        ecn: 0,
    })
}

fn options(mut data: &[u8]) -> Options {
    let mut options = Options::default();
    while let [kind, rest @ ..] = data {
        if *kind == 0 {
            break;
        } else if *kind == 1 {
            data = rest;
            continue;
        }
        let Some(body) = rest.first().and_then(|&size| data.get(2..usize::from(size))) else { break };
        match (kind, body.len()) {
            (2, 2) => options.mss = u16_at(body, 0),
            (3, 1) => options.window_scale = Some(body[0].min(14)),
            (4, 0) => options.sack_permitted = true,
            (5, 8 | 16 | 24 | 32) => {
                for block in body.chunks_exact(8).take(4 - options.sack_blocks) {
                    let ends = u32_at(block, 0).zip(u32_at(block, 4));
                    options.sack[options.sack_blocks] = ends.expect("a block has 8 bytes");
                    options.sack_blocks += 1;
                }
            }
            (8, 8) => options.timestamps = u32_at(body, 0).zip(u32_at(body, 4)),
            _ => {}
        }
        data = &data[2 + body.len()..];
    }
    options
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of Ethernet with `tags` VLAN tags, IPv4 and TCP with MSS, window scale and time stamps.
    fn frame(tags: usize, total: u16) -> Vec<u8> {
        let mut frame = vec![0; 12];
        for _ in 0..tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        frame.extend([8, 0, 0x45, 3]);
        frame.extend(total.to_be_bytes());
        frame.extend([0, 9, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 80, 0x1f, 0x90, 0, 0, 0, 5, 0, 0, 0, 6, 0xa0, ACK, 1, 0, 0, 0, 0, 0]);
        frame.extend([2, 4, 5, 0xb4, 1, 3, 3, 7, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        frame
    }

    #[test]
    fn a_segment_of_1000_bytes_has_78_bytes_of_headers_on_ethernet() {
        // 14 + 20 + 40 + 4 = 78.
        let of = segment(1, &frame(0, 1060), 1074).unwrap();
        assert_eq!((of.payload, of.overhead, of.ecn), (1000, 78, CE));
        assert_eq!((of.sequence, of.acknowledgment, of.window), (5, 6, 256));
        let options = &of.options;
        assert_eq!(
            (options.mss, options.window_scale, options.timestamps),
            (Some(1460), Some(7), Some((1, 2)))
        );
    }

    #[test]
    fn two_tags_of_a_vlan_add_8_bytes() {
        let of = segment(1, &frame(2, 1060), 1082).unwrap();
        assert_eq!((of.payload, of.overhead), (1000, 86));
    }

    #[test]
    fn a_length_of_0_means_the_captured_length() {
        // 64,014 bytes of a frame without 14 + 20 + 40 bytes of headers.
        let of = segment(1, &frame(0, 0), 64_014).unwrap();
        assert_eq!(of.payload, 64_014 - 14 - 60);
    }

    #[test]
    fn a_packet_that_is_cut_within_its_options_has_those_before_the_cut() {
        let whole = frame(0, 1060);
        let of = segment(1, &whole[..14 + 20 + 20 + 9], 1074).unwrap();
        assert_eq!((of.payload, of.options.window_scale, of.options.timestamps), (1000, Some(7), None));
        assert!(segment(1, &whole[..14 + 20 + 12], 1074).is_none());
    }

    #[test]
    fn damaged_headers_are_no_segment() {
        let whole = frame(1, 1060);
        for at in 0..whole.len() {
            for value in [0, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = segment(1, &damaged, 1078);
                let _ = segment(1, &damaged[..at], 1078);
            }
        }
    }
}
