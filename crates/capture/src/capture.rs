//! A capture as a whole: its connections, and what could not be used of it.

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;

use crate::connection::Connection;
use crate::headers::segment;
use crate::packets::{self, Ending, for_each};
use crate::source::{Source, open, read_fully};

/// The most rows that are kept, each of at most 40 bytes. When there are more, what follows within a gap is put
/// together, and the gap grows until half as many are left.
const MOST_ROWS: usize = 2_000_000;
/// The first gap: the packets that a card cuts from one burst of the host are closer.
const FIRST_GAP_NS: u64 = 50_000;
/// The last one: rows that are further apart are never put together.
const MOST_GAP_NS: u64 = 1 << 33;

/// The most connections that are kept; the segments of later ones are counted alone.
const MOST_CONNECTIONS: usize = 1 << 16;

/// How often the memory is looked at, and the caller asked whether to go on, in packets.
const LOOK: u64 = 1 << 14;

/// A clock that goes back by more was set; a smaller step is the disorder of several queues of a card.
const SET_BACK_NS: u64 = 100_000_000;

/// The connections of a file.
#[derive(Debug, Default)]
pub struct Capture {
    /// In the order of their first packets.
    pub connections: Vec<Connection>,
    /// Packets of the file.
    pub packets: u64,
    /// Packets that are not TCP over IP, or whose header was not captured.
    pub others: u64,
    /// Packets of connections that were one too many.
    pub beyond: u64,
    /// Packets without a time, which are not used.
    pub timeless: u64,
    /// How often the clock went back.
    pub steps: u64,
    /// Rows within this time were put together, because the capture has many.
    pub gap_ns: u64,
    /// How the file ended.
    pub ending: Ending,
    index: HashMap<[SocketAddr; 2], usize>,
    last_ns: u64,
    shift_ns: u64,
}

/// Whether a file, once it is decompressed, is a packet capture.
pub fn is_capture(path: &Path) -> io::Result<bool> {
    let mut first = [0; 8];
    let length = read_fully(&mut open(path)?, &mut first)?;
    Ok(packets::is_capture(&first[..length]))
}

/// The decompressed content of a file; an error if it has more than `most` bytes.
pub fn content(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!("it has more than {most} bytes, and is no packet capture");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(bytes)
}

/// Reads the capture in a file, which may be compressed, while `goes_on` says so.
pub fn read(path: &Path, goes_on: impl FnMut() -> io::Result<()>) -> io::Result<Capture> {
    read_stream(open(path)?, goes_on)
}

/// Reads a capture that is not compressed while `goes_on` says so.
pub fn read_stream(source: Source, mut goes_on: impl FnMut() -> io::Result<()>) -> io::Result<Capture> {
    let mut capture = Capture::default();
    capture.ending = for_each(source, |packet| {
        capture.packets += 1;
        if capture.packets % LOOK == 0 {
            goes_on()?;
            capture.bound();
        }
        let Some(time_ns) = packet.time_ns else {
            capture.timeless += 1;
            return Ok(());
        };
        let Some(segment) = segment(packet.link, packet.data, packet.length) else {
            capture.others += 1;
            return Ok(());
        };
        let time_ns = capture.time(time_ns);
        if let Some(at) = capture.place(time_ns, &segment) {
            capture.connections[at].take(time_ns, &segment);
        }
        Ok(())
    })?;
    for sending in capture.connections.iter_mut().flat_map(|of| &mut of.sendings) {
        sending.finish();
    }
    Ok(capture)
}

impl Capture {
    /// The time of a packet, on a clock that does not go back.
    fn time(&mut self, time_ns: u64) -> u64 {
        let mut time_ns = time_ns.saturating_add(self.shift_ns);
        if time_ns + SET_BACK_NS < self.last_ns {
            self.steps += 1;
            self.shift_ns += self.last_ns - time_ns;
            time_ns = self.last_ns;
        }
        self.last_ns = self.last_ns.max(time_ns);
        time_ns.max(self.last_ns.saturating_sub(SET_BACK_NS))
    }

    /// The connection of a segment.
    fn place(&mut self, time_ns: u64, segment: &crate::headers::Segment) -> Option<usize> {
        let mut ends = [segment.from, segment.to];
        ends.sort();
        let known = self.index.get(&ends).copied();
        if let Some(at) = known.filter(|&at| !self.connections[at].is_another(segment)) {
            return Some(at);
        }
        if self.connections.len() >= MOST_CONNECTIONS {
            self.beyond += 1;
            return None;
        }
        self.connections.push(Connection::new(time_ns, segment));
        self.index.insert(ends, self.connections.len() - 1);
        Some(self.connections.len() - 1)
    }

    /// Puts rows together while there are too many.
    fn bound(&mut self) {
        let rows = |of: &Capture| -> usize {
            of.connections.iter().flat_map(|of| &of.sendings).map(|sending| sending.rows()).sum()
        };
        if rows(self) <= MOST_ROWS {
            return;
        }
        self.gap_ns = self.gap_ns.max(FIRST_GAP_NS / 2);
        while rows(self) > MOST_ROWS / 2 && self.gap_ns < MOST_GAP_NS {
            self.gap_ns *= 2;
            for sending in self.connections.iter_mut().flat_map(|of| &mut of.sendings) {
                sending.compact(self.gap_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A pcap file with data in one direction and acknowledgements in the other, a part of it sent twice.
    fn file() -> Vec<u8> {
        let mut file =
            vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        let rows: [(u32, bool, u32, u32); 7] = [
            (0, false, 1, 1000),
            (10, false, 1001, 1000),
            (20, false, 2001, 1000),
            (100, true, 1001, 0),
            (110, true, 1001, 0),
            (120, false, 1001, 1000),
            (220, true, 3001, 0),
        ];
        for (time_us, far, number, payload) in rows {
            let length = 54 + payload;
            for word in [1, time_us, 54, length] {
                file.extend(u32::to_le_bytes(word));
            }
            file.extend([0; 12]);
            file.extend([8, 0, 0x45, 0]);
            file.extend(((length - 14) as u16).to_be_bytes());
            file.extend([
                0,
                0,
                0x40,
                0,
                64,
                6,
                0,
                0,
                10,
                0,
                0,
                1 + u8::from(far),
                10,
                0,
                0,
                2 - u8::from(far),
            ]);
            file.extend(if far { [0, 2, 0, 1] } else { [0, 1, 0, 2] });
            let (sequence, acknowledgment) = if far { (1, number) } else { (number, 1) };
            file.extend(u32::to_be_bytes(sequence));
            file.extend(u32::to_be_bytes(acknowledgment));
            file.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        }
        file
    }

    fn read_bytes(bytes: Vec<u8>) -> io::Result<Capture> {
        read_stream(Box::new(Cursor::new(bytes)), || Ok(()))
    }

    #[test]
    fn a_file_gives_the_connection_in_it() {
        let capture = read_bytes(file()).unwrap();
        let [connection] = &capture.connections[..] else { panic!("one connection") };
        assert_eq!((connection.payload, connection.sender()), ([4000, 0], 0));
        assert_eq!(connection.sendings[0].transmissions.iter().filter(|row| row.again).count(), 1);
        assert_eq!((capture.ending, capture.packets, capture.others), (Ending::Whole, 7, 0));
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on() {
        let mut capture = Capture::default();
        let times =
            [1_000_000_000, 2_000_000_000, 500_000_000, 600_000_000].map(|time_ns| capture.time(time_ns));
        assert_eq!(times, [1_000_000_000, 2_000_000_000, 2_000_000_000, 2_100_000_000]);
        assert_eq!(capture.steps, 1);
    }

    #[test]
    fn damaged_files_are_read_or_refused() {
        let whole = file();
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = read_bytes(damaged);
            }
            let _ = read_bytes(whole[..at].to_vec());
        }
    }
}
