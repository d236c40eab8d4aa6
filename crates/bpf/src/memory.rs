//! The memory of a program: regions, each with its own addresses.
//!
//! An access outside of them, or a write to a read-only region, is an error.

use crate::error::Error;

/// The number of a region is in the bits of an address above this many; region 0 does not exist, so that no
/// memory is at address 0.
const REGION_SHIFT: u32 = 32;
const WORD: usize = 8;

/// Regions in the order in which they were added, as words of eight bytes, least significant byte first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    regions: Vec<Region>,
}

#[derive(Clone, Debug)]
struct Region {
    words: Vec<u64>,
    is_writable: bool,
}

impl Memory {
    /// Adds a region, and returns its address.
    pub(crate) fn add(&mut self, bytes: &[u8], is_writable: bool) -> u64 {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.add_words(bytes.chunks(WORD).map(word).collect(), is_writable)
    }

    /// The same, given as words.
    pub(crate) fn add_words(&mut self, words: Vec<u64>, is_writable: bool) -> u64 {
        self.regions.push(Region { words, is_writable });
        (self.regions.len() as u64) << REGION_SHIFT
    }

    /// What the regions take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.regions.iter().map(|region| size_of::<Region>() + WORD * region.words.capacity()).sum()
    }

    /// The words of a region by its address; none if there is no such region.
    #[inline]
    pub(crate) fn words(&self, address: u64) -> &[u64] {
        self.regions.get(place(address).0).map_or(&[], |region| &region.words)
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn words_mut(&mut self, address: u64) -> &mut [u64] {
        self.regions.get_mut(place(address).0).map_or(&mut [], |region| &mut region.words)
    }

    /// Reads a number of 1, 2, 4 or 8 bytes.
    #[inline(always)]
    pub(crate) fn load(&self, address: u64, bytes: usize) -> Result<u64, Error> {
        let (region, at) = place(address);
        let word = self.regions.get(region).and_then(|region| region.words.get(at / WORD));
        match word {
            Some(word) if at % WORD + bytes <= WORD => Ok(word >> (8 * (at % WORD)) & mask(bytes)),
            _ => self.load_slowly(address, bytes),
        }
    }

    /// A read across two words, or one where nothing is.
    #[cold]
    fn load_slowly(&self, address: u64, bytes: usize) -> Result<u64, Error> {
        let (region, at) = place(address);
        let words =
            self.regions.get(region).and_then(|region| region.words.get(at / WORD..=(at + bytes - 1) / WORD));
        let Some([low, high]) = words else { return Err(nowhere("read", bytes, address)) };
        let shift = 8 * (at % WORD);
        Ok((low >> shift | high << (64 - shift)) & mask(bytes))
    }

    /// Writes as a program does, which must not write to read-only regions.
    #[inline(always)]
    pub(crate) fn store(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), Error> {
        let (region, at) = place(address);
        match self.regions.get_mut(region) {
            Some(Region { words, is_writable: true }) if at % WORD + bytes <= WORD => {
                match words.get_mut(at / WORD) {
                    Some(word) => {
                        let shift = 8 * (at % WORD);
                        *word = *word & !(mask(bytes) << shift) | (value & mask(bytes)) << shift;
                        Ok(())
                    }
                    None => Err(nowhere("write", bytes, address)),
                }
            }
            _ => self.store_slowly(address, bytes, value),
        }
    }

    /// A write across two words, or one that is refused.
    #[cold]
    fn store_slowly(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), Error> {
        let (region, at) = place(address);
        match self.regions.get(region) {
            Some(region) if !region.is_writable => {
                Err(Error::new(format!("a write to {address:#x}, which is read-only")))
            }
            Some(region) if (at + bytes).div_ceil(WORD) <= region.words.len() => {
                (0..bytes).try_for_each(|byte| self.store(address + byte as u64, 1, value >> (8 * byte)))
            }
            _ => Err(nowhere("write", bytes, address)),
        }
    }

    /// Writes a number of 1, 2, 4 or 8 bytes anywhere, as the kernel does.
    pub(crate) fn set(&mut self, address: u64, bytes: usize, value: u64) -> Result<(), Error> {
        let region = place(address).0;
        let is_writable = self.regions.get(region).is_some_and(|region| region.is_writable);
        self.allow(region, true);
        let done = self.store(address, bytes, value);
        self.allow(region, is_writable);
        done
    }

    fn allow(&mut self, region: usize, is_writable: bool) {
        if let Some(region) = self.regions.get_mut(region) {
            region.is_writable = is_writable;
        }
    }
}

/// The lowest bytes of a word.
#[inline(always)]
fn mask(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

#[cold]
fn nowhere(what: &str, bytes: usize, address: u64) -> Error {
    Error::new(format!("a {what} of {bytes} bytes at {address:#x}, where nothing is"))
}

/// Region and offset of an address; no region for addresses below the first.
#[inline(always)]
fn place(address: u64) -> (usize, usize) {
    ((address >> REGION_SHIFT).wrapping_sub(1) as usize, address as u32 as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_stored_with_the_least_significant_byte_first_wherever_they_are() {
        let mut memory = Memory::default();
        let address = memory.add(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], true);
        assert_eq!(memory.load(address + 2, 2), Ok(0x0403));
        assert_eq!(memory.load(address + 6, 4), Ok(0x0a09_0807), "across two words");
        memory.store(address + 6, 4, 0xffaa_bbcc).unwrap();
        assert_eq!(memory.words(address), [0xbbcc_0605_0403_0201, 0x0000_0000_0c0b_ffaa]);
        assert!(memory.store(address + 13, 4, 0).is_err(), "past the end");
        assert!(memory.load(address + 16, 1).is_err());
    }
}
