//! Segmentation offload: a host that hands over many segments at once saves most of its work. They are split
//! before the first queue, where each segment counts as a packet, and merged behind the last.
//!
//! A device in this mode has a header of its own before each packet, `virtio_net_hdr` of `linux/virtio_net.h`,
//! and neither side computes checksums of TCP or UDP: the kernel trusts a packet that is marked as still needing
//! one.

use fairhaul_units::Sending;

use super::headers::{self, Endpoint, Headers};

/// The length of the device's header.
pub const PREFIX: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const SEGMENTS: u8 = 1;
/// Beside [`SEGMENTS`]: the first of them carries CWR.
const REDUCED: u8 = 0x80;

const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;
const CWR: u8 = 128;
/// The largest packet of IPv4.
const LARGEST: usize = 65_535;
/// Packets that are being merged for one host, at most: as many as the kernel itself would hold.
const MOST_OPEN: usize = 8;

/// Where the parts of a segment begin.
#[derive(Clone, Copy, Debug)]
struct Parts {
    tcp: usize,
    payload: usize,
}

impl Parts {
    /// The parts of a packet that [`Headers::read`] has accepted; `None` if it is not a TCP segment.
    fn of(packet: &[u8]) -> Option<Parts> {
        let tcp = usize::from(packet.first()? & 15) * 4;
        let header = usize::from(*packet.get(tcp + 12)? >> 4) * 4;
        (packet[9] == headers::TCP && tcp + header <= packet.len())
            .then_some(Parts { tcp, payload: tcp + header })
    }
}

/// Splits a packet of the device into its segments, and calls `each` for each of them.
pub fn split(handed: &[u8], scratch: &mut Vec<u8>, each: impl FnMut(&[u8], Sending)) {
    let Some((prefix, packet)) = handed.split_at_checked(PREFIX) else { return };
    let size = usize::from(u16::from_ne_bytes([prefix[4], prefix[5]]));
    let size = if prefix[1] & !REDUCED == SEGMENTS { size } else { 0 };
    split_packet(packet, size, true, scratch, each);
}

/// Splits a packet into segments with `size` bytes of payload, of which the last may have fewer, and calls `each` for each
/// of them. A size of 0 stands for one segment. Unless it `copies` the payload, that of several segments is undefined.
pub fn split_packet(
    packet: &[u8],
    size: usize,
    copies: bool,
    scratch: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], Sending),
) {
    let many = |parts: &Parts| size > 0 && packet.len() - parts.payload > size;
    let Some(parts) = Parts::of(packet).filter(many) else { return each(packet, Sending::First) };
    let header = &packet[..parts.payload];
    let chunks = packet[parts.payload..].chunks(size);
    let last = chunks.len() - 1;
    for (number, chunk) in chunks.enumerate() {
        scratch.resize(header.len() + chunk.len(), 0);
        scratch[..header.len()].copy_from_slice(header);
        if copies {
            scratch[header.len()..].copy_from_slice(chunk);
        }
        let id = word(packet, 4).wrapping_add(number as u16);
        let sequence = double(packet, parts.tcp + 4).wrapping_add((number * size) as u32);
        scratch[4..6].copy_from_slice(&id.to_be_bytes());
        scratch[parts.tcp + 4..parts.tcp + 8].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut scratch[parts.tcp + 13];
        if number > 0 {
            *flags &= !CWR;
        }
        if number < last {
            *flags &= !(FIN | PSH);
        }
        seal(scratch, parts);
        each(scratch, if number == 0 { Sending::First } else { Sending::Following });
    }
}

/// Merges packets for one host, within one tick.
#[derive(Debug, Default)]
pub struct Joiner {
    open: Vec<Joined>,
    /// Buffers of delivered packets, for reuse.
    spare: Vec<Vec<u8>>,
}

/// A packet that may yet grow.
#[derive(Debug)]
struct Joined {
    from: Endpoint,
    /// The packet, after the device's header.
    bytes: Vec<u8>,
    parts: Option<Parts>,
    /// Payload of its first segment.
    size: usize,
    /// Whether no segment may follow.
    ends: bool,
}

impl Joiner {
    /// Takes the next packet for the host; calls `write` for packets that can no longer grow, in the order of
    /// each connection.
    pub fn add(&mut self, packet: &[u8], mut write: impl FnMut(&[u8])) {
        let Some(from) = Headers::read(packet).map(|headers| headers.from) else { return };
        if let Some(at) = self.open.iter().position(|joined| joined.from == from) {
            if self.open[at].grows(packet) {
                return;
            }
            let joined = self.open.remove(at);
            self.give(joined, &mut write);
        }
        if self.open.len() == MOST_OPEN {
            let joined = self.open.remove(0);
            self.give(joined, &mut write);
        }
        let room = self.spare.pop().unwrap_or_default();
        self.open.push(Joined::new(from, packet, room));
    }

    /// Writes all remaining packets.
    pub fn flush(&mut self, mut write: impl FnMut(&[u8])) {
        for joined in std::mem::take(&mut self.open) {
            self.give(joined, &mut write);
        }
    }

    fn give(&mut self, joined: Joined, write: &mut impl FnMut(&[u8])) {
        let bytes = joined.close();
        write(&bytes);
        self.spare.push(bytes);
    }
}

impl Joined {
    fn new(from: Endpoint, packet: &[u8], mut bytes: Vec<u8>) -> Joined {
        bytes.clear();
        bytes.resize(PREFIX, 0);
        bytes.extend_from_slice(packet);
        let parts = Parts::of(packet);
        let size = parts.map_or(0, |parts| packet.len() - parts.payload);
        // Only a plain segment with data may be followed by others.
        let plain = parts.is_some_and(|parts| packet[parts.tcp + 13] & !CWR == ACK);
        Joined { from, bytes, parts, size, ends: !plain || size == 0 }
    }

    /// Appends a packet of the same connection if it is the next one and differs only in its place in the stream.
    fn grows(&mut self, packet: &[u8]) -> bool {
        let (Some(parts), Some(theirs)) = (self.parts, Parts::of(packet)) else { return false };
        let ours = &self.bytes[PREFIX..];
        let payload = packet.len().saturating_sub(theirs.payload);
        let flags = packet[theirs.tcp + 13];
        let next = double(ours, parts.tcp + 4).wrapping_add((ours.len() - parts.payload) as u32);
        let follows = !self.ends
            && (1..=self.size).contains(&payload)
            && ours.len() + payload <= LARGEST
            && flags & !PSH == ACK
            && double(packet, theirs.tcp + 4) == next
            && same_headers(ours, packet, parts, theirs);
        if !follows {
            return false;
        }
        self.ends = payload < self.size || flags & PSH != 0;
        self.bytes[PREFIX + parts.tcp + 13] |= flags;
        self.bytes.extend_from_slice(&packet[theirs.payload..]);
        true
    }

    /// The packet with the device's header.
    fn close(mut self) -> Vec<u8> {
        let (prefix, packet) = self.bytes.split_at_mut(PREFIX);
        let checksum_at = match packet[9] {
            headers::TCP => 16,
            headers::UDP => 6,
            _ => return self.bytes,
        };
        let start = u16::from(packet[0] & 15) * 4;
        prefix[0] = NEEDS_CHECKSUM;
        prefix[6..8].copy_from_slice(&start.to_ne_bytes());
        prefix[8..10].copy_from_slice(&u16::to_ne_bytes(checksum_at));
        if let Some(parts) = self.parts.filter(|parts| packet.len() - parts.payload > self.size) {
            let reduced = if packet[parts.tcp + 13] & CWR != 0 { REDUCED } else { 0 };
            prefix[1] = SEGMENTS | reduced;
            prefix[2..4].copy_from_slice(&(parts.payload as u16).to_ne_bytes());
            prefix[4..6].copy_from_slice(&(self.size as u16).to_ne_bytes());
            seal(packet, parts);
        }
        self.bytes
    }
}

/// Whether two segments have the same headers, options included, except for the fields that depend on their place
/// in the stream: length, identification, sequence number, flags and checksums.
fn same_headers(ours: &[u8], theirs: &[u8], our_parts: Parts, their_parts: Parts) -> bool {
    let Parts { tcp, payload } = our_parts;
    let same = |from: usize, to: usize| ours[from..to] == theirs[from..to];
    let same_shape = tcp == their_parts.tcp && payload == their_parts.payload;
    // Service, fragment and time to live; addresses and ports; what is acknowledged and the length of the header; the
    // window; urgent data and options.
    same_shape
        && same(0, 2)
        && same(6, 10)
        && same(12, tcp + 4)
        && same(tcp + 8, tcp + 13)
        && same(tcp + 14, tcp + 16)
        && same(tcp + 18, payload)
}

/// Writes the length, the checksum of IP, and, as TCP's checksum, that of its pseudo-header, as a device that
/// computes the rest expects it.
fn seal(packet: &mut [u8], parts: Parts) {
    let length = packet.len();
    packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    packet[10..12].fill(0);
    let sum = !headers::sum(&packet[..parts.tcp], 0);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let beyond = u32::from(headers::TCP) + (length - parts.tcp) as u32;
    let pseudo = headers::sum(&packet[12..20], beyond);
    packet[parts.tcp + 16..parts.tcp + 18].copy_from_slice(&pseudo.to_be_bytes());
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn double(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::headers::tests::segment;
    use fairhaul_units::Chance;

    /// What a device hands over: a packet of `payload` bytes that differ, to be cut to `size`.
    fn handed(sequence: u32, payload: usize, size: u16, flags: u8) -> Vec<u8> {
        let mut packet = segment(0, 1, 7, sequence, payload);
        packet[33] = flags;
        packet[40..].iter_mut().enumerate().for_each(|(n, byte)| *byte = n as u8 ^ (n >> 8) as u8);
        let mut handed = vec![0; PREFIX];
        (handed[0], handed[1]) = (NEEDS_CHECKSUM, if size > 0 { SEGMENTS } else { 0 });
        handed[4..6].copy_from_slice(&size.to_ne_bytes());
        handed.extend(packet);
        handed
    }

    fn cut(handed: &[u8]) -> Vec<Vec<u8>> {
        let mut segments = Vec::new();
        split(handed, &mut Vec::new(), |segment, sending| {
            assert_eq!(sending == Sending::Following, !segments.is_empty());
            segments.push(segment.to_vec());
        });
        segments
    }

    fn joined(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut joiner, mut written) = (Joiner::default(), Vec::new());
        packets.iter().for_each(|packet| joiner.add(packet, |bytes| written.push(bytes.to_vec())));
        joiner.flush(|bytes| written.push(bytes.to_vec()));
        written
    }

    #[test]
    fn four_thousand_bytes_are_three_segments_each_whole_and_numbered() {
        let segments = cut(&handed(u32::MAX - 999, 4000, 1448, ACK | PSH | FIN | CWR));
        let read: Vec<Headers> = segments.iter().map(|s| Headers::read(s).expect("it is whole")).collect();
        assert_eq!(read.iter().map(|headers| headers.payload).collect::<Vec<_>>(), [1448, 1448, 1104]);
        let sequences: Vec<u32> = read.iter().filter_map(|headers| Some(headers.segment?.sequence)).collect();
        assert_eq!(sequences, [u32::MAX - 999, 448, 1896]); // 2^32 - 1000 + 1448 = 448
        assert_eq!(segments.iter().map(|s| s[33]).collect::<Vec<_>>(), [ACK | CWR, ACK, ACK | PSH | FIN]);
        for (number, segment) in segments.iter().enumerate() {
            assert_eq!(headers::sum(&segment[..20], 0), 0xffff, "the header's checksum");
            assert_eq!(word(segment, 4), number as u16);
        }
    }

    #[test]
    fn what_fits_on_the_wire_passes_as_it_is() {
        let whole = handed(1, 1448, 0, ACK);
        assert_eq!(cut(&whole), [whole[PREFIX..].to_vec()]);
        assert!(cut(&whole[..PREFIX - 1]).is_empty());
    }

    #[test]
    fn without_payload_segments_have_the_same_headers_and_lengths() {
        let handed = handed(7, 2500, 1000, ACK | PSH);
        let packet = &handed[PREFIX..];
        let cut = |copies| {
            let mut segments = Vec::new();
            split_packet(packet, 1000, copies, &mut vec![9; 80], |segment, _| {
                segments.push((segment.len(), segment[..40].to_vec()));
            });
            segments
        };
        assert_eq!(cut(false), cut(true));
        assert_eq!(cut(true).iter().map(|segment| segment.0).collect::<Vec<_>>(), [1040, 1040, 540]);
    }

    #[test]
    fn segments_that_were_cut_are_joined_to_what_they_were() {
        let whole = handed(77, 10_000, 1448, ACK | PSH);
        let written = joined(&cut(&whole));
        assert_eq!(written.len(), 1);
        assert_eq!(u16::from_ne_bytes([written[0][4], written[0][5]]), 1448);
        assert_eq!((written[0][0], written[0][1]), (NEEDS_CHECKSUM, SEGMENTS));
        assert_eq!(written[0][PREFIX + 40..], whole[PREFIX + 40..]);
        assert_eq!(cut(&written[0]), cut(&whole));
    }

    #[test]
    fn a_gap_another_option_a_mark_or_a_late_segment_begins_anew() {
        let segments = cut(&handed(1, 8000, 1000, ACK));
        let changed = |at: usize, change: &dyn Fn(&mut Vec<u8>)| {
            let mut segments = segments.clone();
            change(&mut segments[at]);
            joined(&segments).len()
        };
        assert_eq!(joined(&segments).len(), 1);
        assert_eq!(joined(&[&segments[..3], &segments[4..]].concat()).len(), 2);
        assert_eq!(changed(4, &|segment| segment[1] = 3), 3); // marked
        assert_eq!(changed(4, &|segment| segment[31] = 9), 3); // acknowledges something else
        assert_eq!(changed(4, &|segment| segment[35] = 9), 3); // another window
        let mut swapped = segments.clone();
        swapped.swap(3, 4);
        assert_eq!(joined(&swapped).len(), 4); // 0 to 2; 4; 3; 5 to 7
    }

    /// Two connections, random sizes, losses and order: the output contains every segment once, and the segments
    /// of a connection in the order in which they arrived.
    #[test]
    fn joining_loses_nothing_and_keeps_the_order_of_a_connection() {
        let mut chance = Chance::stream(3, "test", 0);
        for _ in 0..200 {
            let mut segments = Vec::new();
            for turn in 0..6u32 {
                let payload = 1 + chance.below(9000) as usize;
                let mut handed = handed(turn * 9000, payload, 1448, ACK);
                let connection = chance.below(2) as u8;
                (handed[PREFIX + 15], handed[PREFIX + 19]) = (connection, connection);
                segments.extend(cut(&handed).into_iter().filter(|_| !chance.hits(0.1)));
            }
            let written = joined(&segments);
            for connection in 0..2 {
                let of = |packet: &&Vec<u8>| packet[15] == connection;
                let came: Vec<u8> = segments.iter().filter(of).flat_map(|s| s[40..].to_vec()).collect();
                let mine = written.iter().filter(|bytes| bytes[PREFIX + 15] == connection);
                let went: Vec<u8> = mine.flat_map(|bytes| bytes[PREFIX + 40..].to_vec()).collect();
                assert_eq!(came, went);
            }
        }
    }
}
