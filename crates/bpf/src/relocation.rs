//! The accesses to the kernel's structures, as an object lists them for a loader (CO-RE, in `.BTF.ext`), and their
//! relocation to the [fields](crate::fields) here.

use crate::bounds::{MOST_ACCESSES, at_most};
use crate::btf::{Btf, word};
use crate::code::Word;
use crate::error::Error;
use crate::fields::{Place, WORD, place};

const MAGIC: u16 = 0xeb9f;

/// One word of a program that depends on a structure of the kernel.
#[derive(Debug)]
pub(crate) struct Relocation<'a> {
    /// The section of the program, and the offset of the word there, bytes.
    pub section: &'a str,
    pub at: usize,
    what: What,
    place: Place,
}

/// What the word needs to know of a field, by the numbers of `enum bpf_core_relo_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Offset,
    Bytes,
    Exists,
    /// The shift to the left and then to the right that leaves a bit field alone.
    Shift,
    /// Of a type or a value, which are taken as in the object.
    Other,
}

impl What {
    fn of(kind: u32) -> What {
        match kind {
            0 => What::Offset,
            1 => What::Bytes,
            2 => What::Exists,
            4 | 5 => What::Shift,
            _ => What::Other,
        }
    }
}

/// All relocations that an object lists.
pub(crate) fn relocations<'a>(extension: &[u8], btf: &Btf<'a>) -> Result<Vec<Relocation<'a>>, Error> {
    let listed =
        read(extension, btf).ok_or_else(|| Error::new("the list of relocations (.BTF.ext) is damaged"))?;
    at_most(MOST_ACCESSES, listed.len(), "or more accesses to structures of the kernel")?;
    Ok(listed)
}

fn read<'a>(bytes: &[u8], btf: &Btf<'a>) -> Option<Vec<Relocation<'a>>> {
    let header = word(bytes, 4)? as usize;
    if word(bytes, 0)? as u16 != MAGIC || header < 32 {
        return (header >= 8).then(Vec::new);
    }
    let begin = header.checked_add(word(bytes, 24)? as usize)?;
    let table = bytes.get(begin..begin.checked_add(word(bytes, 28)? as usize)?)?;
    let mut found = Vec::new();
    if table.is_empty() {
        return Some(found);
    }
    let size = word(table, 0)? as usize;
    let mut at = 4;
    while at < table.len() && found.len() <= MOST_ACCESSES {
        let (section, count) = (btf.text(word(table, at)?)?, word(table, at + 4)? as usize);
        at += 8;
        for _ in 0..count.min(MOST_ACCESSES + 1) {
            let entry = table.get(at..at.checked_add(size.max(16))?)?;
            found.push(one(entry, section, btf)?);
            at += size.max(16);
        }
    }
    Some(found)
}

fn one<'a>(entry: &[u8], section: &'a str, btf: &Btf<'a>) -> Option<Relocation<'a>> {
    let (of, what) = (word(entry, 4)?, What::of(word(entry, 12)?));
    let place = match what {
        What::Other => Place::Foreign,
        _ => place(&btf.access(of, btf.text(word(entry, 8)?)?)?, btf.name(of)),
    };
    Some(Relocation { section, at: word(entry, 0)? as usize, what, place })
}

impl Relocation<'_> {
    /// Whether it is of a field of that name.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        matches!(&self.place, Place::Field(field, _) if field.name == name)
    }

    /// Writes what it asks for into its word; the name of the field if it does not exist here.
    pub(crate) fn apply(&self, words: &mut [Word]) -> Result<Option<&str>, Error> {
        let value = match (&self.place, self.what) {
            (Place::Foreign, _) | (_, What::Other) => return Ok(None),
            (Place::Missing(_), What::Exists) => 0,
            (Place::Missing(name), _) => return Ok(Some(name)),
            (_, What::Exists) => 1,
            (Place::Beginning, What::Offset) => 0,
            (Place::Beginning, _) => return Ok(None),
            (Place::Field(field, inside), What::Offset) => WORD * field.word + inside,
            (Place::Field(field, _), What::Bytes) => field.bits.div_ceil(8).next_power_of_two() as usize,
            (Place::Field(field, _), What::Shift) => 64 - field.bits as usize,
        };
        let broken = || Error::new("a relocation stands where no instruction is");
        let target = words.get_mut(self.at / 8).ok_or_else(broken)?;
        match target.opcode & 7 {
            1..=3 => target.offset = value as i16,
            _ => target.number = value as i32,
        }
        Ok(None)
    }
}
