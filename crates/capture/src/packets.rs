//! The packets of a pcap or pcapng file, one after the other, in the order in which they were captured.

use std::io::{self, Read};

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

use crate::source::{Source, read_fully};

/// The buffer, in bytes. It grows for a larger block, up to the second number: the largest packet of Linux and its
/// options are far below.
const BUFFER: usize = 1 << 20;
const MOST_BUFFER: usize = 16 << 20;

/// The first bytes of a pcap file with microseconds and nanoseconds, in both orders, and of a pcapng file.
const MAGICS: [[u8; 4]; 6] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// The upper bits of the link type of a pcap file hold the length of the frame check sequence.
const LINK_TYPE: i32 = 0xffff;

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it was captured, in nanoseconds; `None` if the file does not say it.
    pub time_ns: Option<u64>,
    /// The kind of its first header, a number of the registry of link types.
    pub link: i32,
    /// Its first bytes.
    pub data: &'a [u8],
    /// How long it was, in bytes.
    pub length: u32,
}

/// An interface of a pcapng file.
struct Interface {
    link: i32,
    /// Units of its time stamps in a second.
    resolution: u64,
    offset_s: i64,
}

/// How a file ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Ending {
    /// After a whole packet.
    #[default]
    Whole,
    /// Within a packet: the file was cut, or its writer still runs.
    Cut,
    /// At bytes that are no packet, so that the rest cannot be read.
    Damaged,
}

/// Whether the first bytes of a file are those of a capture.
pub fn is_capture(first: &[u8]) -> bool {
    MAGICS.iter().any(|magic| first.starts_with(magic))
}

/// Calls `each` with every packet.
pub fn for_each(source: Source, mut each: impl FnMut(Packet<'_>) -> io::Result<()>) -> io::Result<Ending> {
    let mut reader = create_reader(BUFFER, Full(source)).map_err(|error| refused(&error))?;
    let mut interfaces: Vec<Interface> = Vec::new();
    let (mut link, mut fraction_ns, mut capacity) = (0, 1000, BUFFER);
    loop {
        let exhausted = reader.reader_exhausted();
        match reader.next() {
            Ok((length, block)) => {
                match block {
                    PcapBlockOwned::LegacyHeader(header) => {
                        link = header.network.0 & LINK_TYPE;
                        fraction_ns = if header.is_nanosecond_precision() { 1 } else { 1000 };
                    }
                    PcapBlockOwned::Legacy(block) => {
                        let fraction = u64::from(block.ts_usec) * fraction_ns;
                        each(Packet {
                            time_ns: Some(u64::from(block.ts_sec) * 1_000_000_000 + fraction),
                            link,
                            data: block.data,
                            length: block.origlen,
                        })?;
                    }
                    PcapBlockOwned::NG(block) => next_generation(&block, &mut interfaces, &mut each)?,
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) => return Ok(Ending::Whole),
            Err(PcapError::UnexpectedEof) => return Ok(Ending::Cut),
            Err(PcapError::Incomplete(_)) if exhausted => return Ok(Ending::Cut),
            Err(PcapError::Incomplete(_)) => reader.refill().map_err(|error| refused(&error))?,
            Err(PcapError::BufferTooSmall) if capacity < MOST_BUFFER => {
                capacity *= 2;
                reader.grow(capacity);
                reader.refill().map_err(|error| refused(&error))?;
            }
            Err(_) => return Ok(Ending::Damaged),
        }
    }
}

fn next_generation(
    block: &Block<'_>,
    interfaces: &mut Vec<Interface>,
    each: &mut impl FnMut(Packet<'_>) -> io::Result<()>,
) -> io::Result<()> {
    match block {
        Block::SectionHeader(_) => interfaces.clear(),
        Block::InterfaceDescription(of) => interfaces.push(Interface {
            link: of.linktype.0,
            // The default of the format, and what an impossible exponent means.
            resolution: of.ts_resolution().filter(|&units| units > 0).unwrap_or(1_000_000),
            offset_s: of.ts_offset(),
        }),
        Block::EnhancedPacket(of) => {
            let Some(interface) = interfaces.get(of.if_id as usize) else { return Ok(()) };
            let units = u128::from(of.ts_high) << 32 | u128::from(of.ts_low);
            let since_ns = (units * 1_000_000_000 / u128::from(interface.resolution)) as u64;
            let offset_ns = interface.offset_s.saturating_mul(1_000_000_000);
            each(Packet {
                time_ns: Some(since_ns.saturating_add_signed(offset_ns)),
                link: interface.link,
                data: of.packet_data(),
                length: of.origlen,
            })?;
        }
        Block::SimplePacket(of) => {
            let Some(interface) = interfaces.first() else { return Ok(()) };
            let (link, data) = (interface.link, of.packet_data());
            each(Packet { time_ns: None, link, data, length: of.origlen })?;
        }
        _ => {}
    }
    Ok(())
}

fn refused(error: &PcapError<&[u8]>) -> io::Error {
    let text = match error {
        PcapError::ReadError => "it cannot be read, or its compressed content is damaged",
        PcapError::Incomplete(_) | PcapError::Eof | PcapError::UnexpectedEof => "it ends within its header",
        _ => "it is neither pcap nor pcapng",
    };
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Fills the buffer of its reader, because the format is decided by what the first call gives.
struct Full(Source);

impl Read for Full {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_fully(&mut self.0, buffer)
    }
}
