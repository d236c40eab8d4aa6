//! What an object may contain, so that reading a crafted one takes some MB of memory and less than a second.
//!
//! Sizes in a file are trusted neither one by one nor as a sum: sections may overlap, and any number of them may want
//! memory without having bytes. Each bound is far above what objects of controllers have.

use crate::error::Error;

/// Sections, symbols, and the places of one section that refer to symbols.
pub(crate) const MOST_SECTIONS: usize = 1000;
pub(crate) const MOST_SYMBOLS: usize = 1 << 16;
pub(crate) const MOST_REFERENCES: usize = 1 << 16;
/// The length of a name; identifiers of the kernel have at most 511 bytes.
pub(crate) const MOST_NAME_BYTES: usize = 511;
/// Instructions of all programs together.
pub(crate) const MOST_INSTRUCTIONS: usize = 1 << 18;
/// Types, and members of all structures together.
pub(crate) const MOST_TYPES: usize = 1 << 17;
pub(crate) const MOST_MEMBERS: usize = 1 << 18;
/// Accesses to structures of the kernel, and the steps of one of them.
pub(crate) const MOST_ACCESSES: usize = 1 << 16;
pub(crate) const MOST_STEPS: usize = 20;
/// Controllers, maps, and things that a simulation does not have.
pub(crate) const MOST_CONTROLLERS: usize = 64;
pub(crate) const MOST_MAPS: usize = 64;
pub(crate) const MOST_MISSING: usize = 1000;
/// Variables, constants and storages of sockets together: each connection has its own.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// Refuses more than `most` of something.
pub(crate) fn at_most(most: usize, number: usize, what: &str) -> Result<(), Error> {
    if number <= most {
        return Ok(());
    }
    Err(Error::new(format!("the object has {number} {what}, and at most {most} are read")))
}

/// The text at a place of a table of names, each of which ends with a zero.
pub(crate) fn name(names: &[u8], at: usize) -> Option<&str> {
    let rest = names.get(at..)?;
    let end = rest.iter().take(MOST_NAME_BYTES + 1).position(|&byte| byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_within_its_bound() {
        let names = [vec![b'a'; MOST_NAME_BYTES], vec![0], vec![b'b'; MOST_NAME_BYTES + 1], vec![0]].concat();
        assert_eq!(name(&names, 0).map(str::len), Some(MOST_NAME_BYTES));
        assert_eq!(name(&names, MOST_NAME_BYTES + 1), None);
        assert_eq!(name(&names, MOST_NAME_BYTES + 2).map(str::len), Some(MOST_NAME_BYTES));
        assert_eq!(name(&names, names.len() + 1), None);
    }
}
