//! Captures of the packets of flows in the format of pcap, whole and with times in nanoseconds since the start of the run: at
//! each of its hosts what leaves and what arrives, as a capture on that host would have it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use fairhaul_units::Time;

use super::Network;

/// Of a file with times in nanoseconds, and of packets that begin with their IP header (`LINKTYPE_RAW`).
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
const LONGEST: u32 = 65_535;
const RAW: u32 = 101;

/// The captures of one flow.
struct Pair {
    sender: BufWriter<File>,
    receiver: BufWriter<File>,
}

/// The captures of a network, by flow.
#[derive(Default)]
pub struct Captures {
    pairs: BTreeMap<u32, Pair>,
    /// The first failure of a file, after which nothing more is written.
    failure: Option<io::Error>,
}

impl Network {
    /// Captures the packets of a flow from now on, in two files of a folder, which is made.
    ///
    /// # Errors
    /// The files cannot be made.
    pub fn capture(&mut self, flow: u32, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let pair = Pair {
            sender: begun(&folder.join("sender.pcap"))?,
            receiver: begun(&folder.join("receiver.pcap"))?,
        };
        self.captures.pairs.insert(flow, pair);
        Ok(())
    }
}

impl Captures {
    /// A packet of a flow leaves or reaches one of its hosts.
    pub fn add(&mut self, flow: u32, at_sender: bool, packet: &[u8], now: Time) {
        let Some(pair) = self.pairs.get_mut(&flow).filter(|_| self.failure.is_none()) else { return };
        let file = if at_sender { &mut pair.sender } else { &mut pair.receiver };
        self.failure = entry(file, packet, now).err();
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first failure of a file.
    pub fn close(self) -> io::Result<()> {
        self.failure.map_or(Ok(()), Err)?;
        self.pairs.into_values().try_for_each(|mut pair| pair.sender.flush().and(pair.receiver.flush()))
    }
}

fn begun(path: &Path) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&MAGIC.to_le_bytes())?;
    VERSION.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))?;
    // No time zone and no accuracy.
    [0, 0, LONGEST, RAW].iter().try_for_each(|number: &u32| file.write_all(&number.to_le_bytes()))?;
    Ok(file)
}

fn entry(file: &mut impl Write, packet: &[u8], now: Time) -> io::Result<()> {
    let ns = now.as_ps() / 1000;
    let length = packet.len() as u32;
    let numbers = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, length, length];
    numbers.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))?;
    file.write_all(packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_its_time_in_seconds_and_nanoseconds_its_length_twice_and_the_packet() {
        let mut written = Vec::new();
        entry(&mut written, &[0x45, 7], Time::from_ps(2_000_000_003_999)).expect("a vector has room");
        let numbers: Vec<u32> = written[..16]
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        // 2 s and 3.999 ns, whose fraction is cut off.
        assert_eq!((numbers, &written[16..]), (vec![2, 3, 2, 2], &[0x45, 7][..]));
    }
}
