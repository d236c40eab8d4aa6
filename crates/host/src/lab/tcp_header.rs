//! What a trace of packets reads of a TCP header beside [`Segment`](super::headers::Segment): flags of congestion
//! [RFC 3168], and the option of selective acknowledgements [RFC 2018].

use super::headers::{TCP, reaches};

const ECE: u8 = 64;
const CWR: u8 = 128;
/// Where the options begin.
const OPTIONS: usize = 20;
/// Kinds of options: the end of the list, padding, selective acknowledgements.
const END: u8 = 0;
const PADDING: u8 = 1;
const SACK: u8 = 5;

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
        let mut rest = &self.0[OPTIONS..];
        while let [first, tail @ ..] = rest {
            match *first {
                END => return None,
                PADDING => rest = tail,
                found => {
                    let length = usize::from(*tail.first()?).max(2);
                    if found == kind {
                        return rest.get(2..length);
                    }
                    rest = rest.get(length..)?;
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
