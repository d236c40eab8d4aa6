//! What a trace of packets reads of a TCP header beside [`Segment`](super::headers::Segment): flags of congestion
//! [RFC 3168], accurate feedback [RFC 9768], and the option of selective acknowledgements [RFC 2018].

use std::ops::Range;

use fairhaul_units::EcnCounters;

use super::headers::{TCP, reaches};

const ECE: u8 = 64;
const CWR: u8 = 128;
/// Where the options begin.
const OPTIONS: usize = 20;
/// Kinds of options: the end of the list, padding, selective acknowledgements.
const END: u8 = 0;
const PADDING: u8 = 1;
const SACK: u8 = 5;
/// Accurate feedback, with the counter of ECT(0) or of ECT(1) first [RFC 9768, 3.2.3].
const ACCURATE: [u8; 2] = [172, 174];
/// Bytes of a counter.
const COUNTER: usize = 3;

/// The TCP header of a packet.
#[derive(Clone, Copy, Debug)]
pub struct TcpHeader<'a>(&'a [u8]);

impl<'a> TcpHeader<'a> {
    /// That of a packet of IPv4, complete with its options; `None` if it has none.
    pub fn of(packet: &'a [u8]) -> Option<TcpHeader<'a>> {
        let tcp = packet.get(usize::from(*packet.first()? & 15) * 4..)?;
        let length = usize::from(*tcp.get(12)? >> 4) * 4;
        (packet[9] == TCP && length >= OPTIONS).then(|| tcp.get(..length)).flatten().map(TcpHeader)
    }

    /// Whether the sender says that it has reduced its window.
    pub fn cwr(&self) -> bool {
        self.0[13] & CWR != 0
    }

    /// Whether the receiver echoes a mark.
    pub fn ece(&self) -> bool {
        self.0[13] & ECE != 0
    }

    /// The bits AE, CWR and ECE as a number.
    pub fn ace(&self) -> u8 {
        (self.0[12] & 1) << 2 | self.0[13] >> 6
    }

    /// The counters of bytes with each codepoint, if it has that option.
    pub fn counters(&self) -> Option<EcnCounters> {
        let counter = |content: &[u8], index: usize| {
            let bytes = content.get(index * COUNTER..(index + 1) * COUNTER)?;
            Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
        };
        ACCURATE.into_iter().find_map(|kind| {
            let content = self.option(kind)?;
            let [first, ce, last] = [0, 1, 2].map(|index| counter(content, index));
            let (ect0, ect1) = if kind == ACCURATE[0] { (first, last) } else { (last, first) };
            Some(EcnCounters { ect0, ce, ect1 })
        })
    }

    /// Where the option of accurate feedback is in the TCP header.
    pub fn accurate_option(&self) -> Option<Range<usize>> {
        ACCURATE.into_iter().find_map(|kind| self.place(kind))
    }

    /// The runs of sequence numbers that it acknowledges beyond `next`: the first of each, and the first after it. A first
    /// block that only says what came twice is not among them [RFC 2883, 4].
    pub fn sacked(&self, next: u32) -> Vec<(u32, u32)> {
        let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let block = |bytes: &[u8]| (word(&bytes[..4]), word(&bytes[4..]));
        let mut blocks: Vec<(u32, u32)> =
            self.option(SACK).unwrap_or_default().chunks_exact(8).map(block).collect();
        let is_within =
            |one: (u32, u32), other: (u32, u32)| reaches(one.0, other.0) && reaches(other.1, one.1);
        if let Some(first) = blocks.first().copied()
            && (reaches(next, first.1) || blocks.get(1).is_some_and(|second| is_within(first, *second)))
        {
            blocks.remove(0);
        }
        blocks
    }

    /// The content of the first option of this kind.
    fn option(&self, kind: u8) -> Option<&'a [u8]> {
        self.place(kind).map(|place| &self.0[place.start + 2..place.end])
    }

    /// Where the first option of this kind is, with its kind and its length.
    fn place(&self, kind: u8) -> Option<Range<usize>> {
        let mut at = OPTIONS;
        while let Some(found) = self.0.get(at) {
            match *found {
                END => return None,
                PADDING => at += 1,
                found => {
                    let end = at + usize::from(*self.0.get(at + 1)?).max(2);
                    if found == kind {
                        return (end <= self.0.len()).then_some(at..end);
                    }
                    at = end;
                }
            }
        }
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::headers::tests::segment;
    use super::*;

    /// A segment without payload, with these flags and options.
    pub(crate) fn with_options(mut packet: Vec<u8>, flags: u8, options: &[u8]) -> Vec<u8> {
        assert_eq!((packet.len(), options.len() % 4), (40, 0));
        packet[32] = (5 + options.len() as u8 / 4) << 4;
        packet[33] |= flags;
        packet.extend_from_slice(options);
        let length = packet.len() as u16;
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet
    }

    /// The option of these blocks, behind time stamps and padding as Linux writes it.
    pub(crate) fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 2 + 8 * blocks.len() as u8];
        let edges = blocks.iter().flat_map(|block| [block.0, block.1]);
        options.extend(edges.flat_map(u32::to_be_bytes));
        options
    }

    fn sacked(blocks: &[(u32, u32)], next: u32) -> Vec<(u32, u32)> {
        let packet = with_options(segment(1, 0, 7, 0, 0), 0, &sack(blocks));
        TcpHeader::of(&packet).expect("it is a segment").sacked(next)
    }

    #[test]
    fn blocks_are_read_behind_other_options_and_over_the_end_of_the_numbers() {
        assert_eq!(sacked(&[(3000, 4000), (1000, 2000)], 500), [(3000, 4000), (1000, 2000)]);
        assert_eq!(sacked(&[(u32::MAX - 5, 10)], u32::MAX - 20), [(u32::MAX - 5, 10)]);
        assert_eq!(sacked(&[], 500), []);
    }

    #[test]
    fn a_first_block_that_came_twice_is_not_one() {
        assert_eq!(sacked(&[(100, 200), (1000, 2000)], 500), [(1000, 2000)]);
        assert_eq!(sacked(&[(1200, 1300), (1000, 2000)], 500), [(1000, 2000)]);
    }

    /// The order of the option says which counter is first; one with room for two has no third.
    #[test]
    fn accurate_feedback_is_three_bits_and_up_to_three_counters() {
        let read = |options: &[u8]| {
            let mut packet = with_options(segment(1, 0, 7, 0, 0), CWR, options);
            packet[32] |= 1;
            let header = TcpHeader::of(&packet).expect("it is a segment");
            (header.ace(), header.counters().map(|all| [all.ect0, all.ce, all.ect1]))
        };
        let all = [172, 11, 0, 0, 1, 1, 0, 0, 0, 0, 2, 1];
        assert_eq!(read(&all), (0b110, Some([Some(1), Some(0x1_0000), Some(2)])));
        let of_l4s = [1, 1, 174, 8, 0, 0, 5, 0, 2, 0, 1, 1];
        assert_eq!(read(&of_l4s), (0b110, Some([None, Some(512), Some(5)])));
        assert_eq!(read(&sack(&[(1, 2)])).1, None);
        assert_eq!(read(&[172, 11, 0, 0]).1, None); // longer than the header
    }

    #[test]
    fn flags_are_those_of_the_header_and_what_is_cut_off_is_none() {
        let packet = with_options(segment(0, 1, 7, 0, 0), CWR, &[1, 1, 1, 0]);
        let header = TcpHeader::of(&packet).expect("it is a segment");
        assert_eq!((header.cwr(), header.ece(), header.sacked(0)), (true, false, vec![]));
        assert!((0..packet.len()).all(|length| TcpHeader::of(&packet[..length]).is_none()));
        // An option that is longer than the header, and one without a length.
        for options in [[1, 1, 5, 10], [1, 1, 1, 5]] {
            let packet = with_options(segment(0, 1, 7, 0, 0), 0, &options);
            assert_eq!(TcpHeader::of(&packet).expect("it is a segment").sacked(0), []);
        }
    }
}
