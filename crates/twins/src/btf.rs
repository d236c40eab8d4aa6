//! The offsets of fields in structures, from an object's own type information (BTF).
//!
//! So no offset is written down twice: a field that moves in `bpf/fairhaul.bpf.h` is found at its new offset.

use std::collections::BTreeMap;

use crate::error::Error;

const MAGIC: u16 = 0xeb9f;
/// The maximum nesting of structures and type names; a damaged object could contain a cycle.
const DEEPEST: u32 = 16;
/// The maximum size of a structure.
const LONGEST: usize = 1 << 16;
/// The maximum number of fields of a structure, nested ones included; in a damaged object every level of nesting
/// could multiply them.
const MOST_FIELDS: usize = 4096;

/// A structure: its size, and its fields, nested ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct StructLayout {
    pub bytes: usize,
    fields: BTreeMap<String, StructField>,
}

/// A field of a structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StructField {
    pub bit: usize,
    pub bits: usize,
}

impl StructLayout {
    pub(crate) fn field(&self, name: &str) -> Option<StructField> {
        self.fields.get(name).copied()
    }

    /// The field that begins at that byte.
    pub(crate) fn at(&self, byte: usize) -> Option<&str> {
        self.fields
            .iter()
            .find(|(_, field)| field.bit % 8 == 0 && field.bit / 8 == byte)
            .map(|(name, _)| name.as_str())
    }
}

/// The types of an object.
pub(crate) struct Btf {
    /// The first is type 1.
    types: Vec<Type>,
}

struct Type {
    name: String,
    kind: BtfKind,
}

enum BtfKind {
    /// A number or pointer, with its size in bytes.
    Plain(usize),
    /// Another name of a type, perhaps constant or volatile.
    Alias(u32),
    Struct {
        bytes: usize,
        members: Vec<Member>,
    },
    /// A type without fields that are used here.
    Other,
}

struct Member {
    name: String,
    of: u32,
    bit: usize,
    /// The size of a bit field; 0 if the type has it.
    bits: usize,
}

impl Btf {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Btf, Error> {
        read(bytes).ok_or_else(|| Error::new("the description of types (BTF) is damaged"))
    }

    /// The structure of that name; empty if the object does not use it.
    pub(crate) fn layout(&self, name: &str) -> Result<StructLayout, Error> {
        let mut layout = StructLayout::default();
        let structure = self.types.iter().find_map(|of| match &of.kind {
            BtfKind::Struct { bytes, members } if of.name == name => Some((*bytes, members)),
            _ => None,
        });
        if let Some((bytes, members)) = structure {
            layout.bytes = bytes.min(LONGEST);
            let mut left = MOST_FIELDS;
            let all = self.gather(members, 0, DEEPEST, &mut layout.fields, &mut left);
            all.ok_or_else(|| {
                Error::new(format!("the structure {name} has more than {MOST_FIELDS} fields"))
            })?;
            layout
                .fields
                .retain(|_, field| field.bits > 0 && field.bit + field.bits <= 8 * bytes.min(LONGEST));
        }
        Ok(layout)
    }

    /// Adds the fields of a structure, at most `left`; `None` if there are more.
    fn gather(
        &self,
        members: &[Member],
        base: usize,
        depth: u32,
        fields: &mut BTreeMap<String, StructField>,
        left: &mut usize,
    ) -> Option<()> {
        for member in members {
            *left = left.checked_sub(1)?;
            let bit = base + member.bit;
            match self.get(member.of).map(|of| &of.kind) {
                Some(BtfKind::Struct { members, .. }) if depth > 0 => {
                    self.gather(members, bit, depth - 1, fields, left)?;
                }
                Some(BtfKind::Plain(bytes)) => {
                    let bits = if member.bits > 0 { member.bits } else { 8 * bytes };
                    fields.insert(member.name.clone(), StructField { bit, bits: bits.min(64) });
                }
                _ => (), // an array, which is the twin's own
            }
        }
        Some(())
    }

    /// A type, with its other names resolved.
    fn get(&self, mut id: u32) -> Option<&Type> {
        for _ in 0..DEEPEST {
            let target = self.types.get((id as usize).checked_sub(1)?)?;
            let BtfKind::Alias(of) = target.kind else { return Some(target) };
            id = of;
        }
        None
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn read(bytes: &[u8]) -> Option<Btf> {
    if word(bytes, 0)? as u16 != MAGIC {
        return None;
    }
    let header = word(bytes, 4)? as usize;
    let [types_at, types_length, names_at, names_length] =
        [8, 12, 16, 20].map(|at| word(bytes, at).unwrap_or(u32::MAX) as usize);
    let section = |at: usize, length: usize| {
        let begin = header.checked_add(at)?;
        bytes.get(begin..begin.checked_add(length)?)
    };
    let (table, names) = (section(types_at, types_length)?, section(names_at, names_length)?);
    let mut types = Vec::new();
    let mut at = 0;
    while at < table.len() {
        let (found, length) = one_type(&table[at..], names)?;
        types.push(found);
        at += length;
    }
    Some(Btf { types })
}

fn name(names: &[u8], at: u32) -> Option<String> {
    let rest = names.get(at as usize..)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

/// A type, and its size in the table, bytes.
fn one_type(table: &[u8], names: &[u8]) -> Option<(Type, usize)> {
    let [name_at, info, size] = [word(table, 0)?, word(table, 4)?, word(table, 8)?];
    let (count, bit_fields) = ((info & 0xffff) as usize, info >> 31 == 1);
    let (kind, more) = match info >> 24 & 0x1f {
        1 => (BtfKind::Plain(size as usize), 4),
        2 => (BtfKind::Plain(8), 0),
        3 => (BtfKind::Other, 12),
        4 | 5 => {
            let members = (0..count).map(|index| member(table.get(12 + 12 * index..)?, names, bit_fields));
            (BtfKind::Struct { bytes: size as usize, members: members.collect::<Option<_>>()? }, 12 * count)
        }
        6 => (BtfKind::Plain(size as usize), 8 * count),
        8..=11 | 18 => (BtfKind::Alias(size), 0),
        13 => (BtfKind::Other, 8 * count),
        14 | 17 => (BtfKind::Other, 4),
        15 | 19 => (BtfKind::Other, 12 * count),
        7 | 12 | 16 => (BtfKind::Other, 0),
        _ => return None,
    };
    Some((Type { name: name(names, name_at)?, kind }, 12 + more))
}

fn member(entry: &[u8], names: &[u8], bit_fields: bool) -> Option<Member> {
    let place = word(entry, 8)?;
    let (bit, bits) = if bit_fields { (place & 0x00ff_ffff, place >> 24) } else { (place, 0) };
    let name = name(names, word(entry, 0)?)?;
    Some(Member { name, of: word(entry, 4)?, bit: bit as usize, bits: bits as usize })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names: none, `s` at 1 and `m` at 3.
    const NAMES: &[u8] = b"\0s\0m\0";

    /// A description of `types`, as words.
    fn description(types: &[u32]) -> Vec<u8> {
        let table: Vec<u8> = types.iter().flat_map(|word| word.to_le_bytes()).collect();
        let head = [u32::from(MAGIC), 24, 0, table.len() as u32, table.len() as u32, NAMES.len() as u32];
        [head.iter().flat_map(|word| word.to_le_bytes()).collect(), table, NAMES.to_vec()].concat()
    }

    /// A structure of 4 B whose members are `count` of type `of`, all at its start.
    fn structure(count: u32, of: u32) -> Vec<u32> {
        let head = [1, 4 << 24 | count, 4];
        head.into_iter().chain((0..count).flat_map(|_| [3, of, 0])).collect()
    }

    #[test]
    fn fields_of_structures_within_a_structure_are_its_own() {
        let number = [0, 1 << 24, 4, 32];
        let bytes = description(&[structure(1, 2), structure(1, 3), number.to_vec()].concat());
        let layout = Btf::parse(&bytes).unwrap().layout("s").unwrap();
        assert_eq!(layout.field("m"), Some(StructField { bit: 0, bits: 32 }));
    }

    #[test]
    fn structures_that_multiply_at_every_level_are_refused_at_once() {
        // 50 members at each of 12 levels: 50^12 fields.
        let types: Vec<u32> = (2..14).flat_map(|next| structure(50, next)).collect();
        let error = Btf::parse(&description(&types)).unwrap().layout("s").unwrap_err();
        assert!(error.to_string().contains("more than 4096 fields"), "{error}");
    }
}
