//! The types of an object, from its own type information (BTF).

use std::ops::Range;

use crate::bounds::{self, MOST_MEMBERS, MOST_STEPS, MOST_TYPES, at_most};
use crate::error::Error;

const MAGIC: u16 = 0xeb9f;
/// The maximum nesting of type names and arrays; a damaged object could contain a cycle.
const DEEPEST: u32 = 16;

/// The types of an object.
pub(crate) struct Btf<'a> {
    /// The first is type 1.
    types: Vec<Type<'a>>,
    /// The members of all structures, one structure after the other.
    members: Vec<Member<'a>>,
    names: &'a [u8],
}

struct Type<'a> {
    name: &'a str,
    kind: BtfKind,
}

enum BtfKind {
    /// A number, with its size in bytes.
    Plain(usize),
    Pointer(u32),
    Array {
        of: u32,
        count: usize,
    },
    /// Another name of a type, perhaps constant or volatile; or a variable of it.
    Alias(u32),
    Struct {
        bytes: usize,
        members: Range<usize>,
    },
    Function {
        arguments: usize,
    },
    Other,
}

/// A member of a structure.
pub(crate) struct Member<'a> {
    pub name: &'a str,
    /// The number of its type.
    pub of: u32,
    /// Where it begins.
    pub byte: usize,
}

/// What an access refers to: names of members from the outermost structure on.
#[derive(Debug, PartialEq)]
pub(crate) struct Access<'a> {
    /// The structure that each member belongs to, and the member.
    pub steps: Vec<(&'a str, &'a str)>,
    /// Bytes from the beginning of the last member, if that is an array of which an element is accessed.
    pub inside: usize,
}

impl<'a> Btf<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Btf<'a>, Error> {
        let btf = read(bytes).ok_or_else(|| Error::new("the description of types (BTF) is damaged"))?;
        at_most(MOST_TYPES, btf.types.len(), "or more types")?;
        at_most(MOST_MEMBERS, btf.members.len(), "or more members of types")?;
        Ok(btf)
    }

    /// The members of the structure of that name; none if the object does not use it.
    pub(crate) fn members(&self, name: &str) -> &[Member<'a>] {
        let is_it = |of: &&Type<'_>| of.name == name && matches!(of.kind, BtfKind::Struct { .. });
        self.members_of(self.types.iter().find(is_it))
    }

    /// The name of a type.
    pub(crate) fn name(&self, id: u32) -> &'a str {
        self.get(id).map_or("", |of| of.name)
    }

    /// The number of arguments of the function that a member points to.
    pub(crate) fn arguments(&self, member: &Member<'_>) -> Option<usize> {
        let BtfKind::Pointer(of) = self.get(member.of)?.kind else { return None };
        let BtfKind::Function { arguments } = self.get(of)?.kind else { return None };
        Some(arguments)
    }

    /// The members of the type of the variable of that name, such as a map.
    pub(crate) fn members_of_variable(&self, name: &str) -> &[Member<'a>] {
        let found = self.types.iter().find_map(|of| match of.kind {
            BtfKind::Alias(target) if of.name == name => self.get(target),
            _ => None,
        });
        self.members_of(found)
    }

    /// The members of a type; none if it is not a structure.
    fn members_of(&self, of: Option<&Type<'a>>) -> &[Member<'a>] {
        match of.map(|of| &of.kind) {
            Some(BtfKind::Struct { members, .. }) => &self.members[members.clone()],
            _ => &[],
        }
    }

    /// The size of what a member of a map's definition points to, or the length of the array that it points to.
    pub(crate) fn pointed_at(&self, member: &Member<'_>) -> Option<usize> {
        let BtfKind::Pointer(of) = self.get(member.of)?.kind else { return None };
        match self.get(of)?.kind {
            BtfKind::Array { count, .. } => Some(count),
            _ => self.bytes(of, DEEPEST),
        }
    }

    /// What an access of a relocation refers to, such as `0:3:1` in type `id`: its members by their numbers.
    pub(crate) fn access(&self, id: u32, text: &str) -> Option<Access<'a>> {
        let mut numbers = text.split(':').map(str::parse::<usize>);
        if text.split(':').nth(MOST_STEPS).is_some() {
            return None;
        }
        let _element = numbers.next()?.ok()?;
        let mut access = Access { steps: Vec::new(), inside: 0 };
        let mut at = id;
        for number in numbers {
            let number = number.ok()?;
            let found = self.get(at)?;
            match &found.kind {
                BtfKind::Struct { members, .. } => {
                    let member = self.members[members.clone()].get(number)?;
                    access.steps.push((found.name, member.name));
                    access.inside = 0;
                    at = member.of;
                }
                BtfKind::Array { of, .. } => {
                    access.inside =
                        access.inside.checked_add(number.checked_mul(self.bytes(*of, DEEPEST)?)?)?;
                    at = *of;
                }
                _ => return None,
            }
        }
        Some(access)
    }

    /// A name by its place, as relocations refer to it.
    pub(crate) fn text(&self, at: u32) -> Option<&'a str> {
        bounds::name(self.names, at as usize)
    }

    fn bytes(&self, id: u32, depth: u32) -> Option<usize> {
        match self.get(id)?.kind {
            BtfKind::Plain(bytes) | BtfKind::Struct { bytes, .. } => Some(bytes),
            BtfKind::Pointer(_) => Some(8),
            BtfKind::Array { of, count } => self.bytes(of, depth.checked_sub(1)?)?.checked_mul(count),
            _ => None,
        }
    }

    /// A type, with its other names resolved.
    fn get(&self, mut id: u32) -> Option<&Type<'a>> {
        for _ in 0..DEEPEST {
            let target = self.types.get((id as usize).checked_sub(1)?)?;
            let BtfKind::Alias(of) = target.kind else { return Some(target) };
            id = of;
        }
        None
    }
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn read(bytes: &[u8]) -> Option<Btf<'_>> {
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
    let table = section(types_at, types_length)?;
    let names = section(names_at, names_length)?;
    let mut btf = Btf { types: Vec::new(), members: Vec::new(), names };
    let mut at = 0;
    while at < table.len() && btf.types.len() <= MOST_TYPES && btf.members.len() <= MOST_MEMBERS {
        let (found, length) = btf.one_type(&table[at..])?;
        btf.types.push(found);
        at += length;
    }
    Some(btf)
}

impl<'a> Btf<'a> {
    /// A type, and its size in the table, bytes. The members of a structure are added to the others.
    fn one_type(&mut self, table: &[u8]) -> Option<(Type<'a>, usize)> {
        let [name_at, info, size] = [word(table, 0)?, word(table, 4)?, word(table, 8)?];
        let (count, has_bit_fields) = ((info & 0xffff) as usize, info >> 31 == 1);
        let (kind, more) = match info >> 24 & 0x1f {
            1 => (BtfKind::Plain(size as usize), 4),
            2 => (BtfKind::Pointer(size), 0),
            3 => (BtfKind::Array { of: word(table, 12)?, count: word(table, 20)? as usize }, 12),
            4 | 5 => {
                let first = self.members.len();
                for index in 0..count {
                    let member = self.member(table.get(12 + 12 * index..)?, has_bit_fields)?;
                    self.members.push(member);
                }
                (BtfKind::Struct { bytes: size as usize, members: first..self.members.len() }, 12 * count)
            }
            6 => (BtfKind::Plain(size as usize), 8 * count),
            8..=11 | 18 => (BtfKind::Alias(size), 0),
            13 => (BtfKind::Function { arguments: count }, 8 * count),
            14 => (BtfKind::Alias(size), 4),
            16 => (BtfKind::Plain(size as usize), 0),
            17 => (BtfKind::Other, 4),
            15 | 19 => (BtfKind::Other, 12 * count),
            7 | 12 => (BtfKind::Other, 0),
            _ => return None,
        };
        // The text of a tag is no name, and may be long.
        let is_tag = matches!(info >> 24 & 0x1f, 17 | 18);
        let name = if is_tag { "" } else { self.text(name_at)? };
        Some((Type { name, kind }, 12 + more))
    }

    fn member(&self, entry: &[u8], has_bit_fields: bool) -> Option<Member<'a>> {
        let place = word(entry, 8)?;
        let bit = if has_bit_fields { place & 0x00ff_ffff } else { place };
        let name = self.text(word(entry, 0)?)?;
        Some(Member { name, of: word(entry, 4)?, byte: bit as usize / 8 })
    }
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

    /// A structure of 4 B with one member, of type `of`.
    fn structure(of: u32) -> Vec<u32> {
        vec![1, 4 << 24 | 1, 4, 3, of, 0]
    }

    fn access(types: &[u32], text: &str) -> Option<Access<'static>> {
        let description = description(types).leak();
        Btf::parse(description).unwrap().access(1, text)
    }

    #[test]
    fn an_access_is_followed_through_structures_and_arrays() {
        let number = [0, 1 << 24, 4, 32];
        let array = [0, 3 << 24, 0, 4, 4, 10];
        let types = [structure(2), structure(3), array.to_vec(), number.to_vec()].concat();
        let step = || ("s", "m");
        assert_eq!(access(&types, "0:0:0:3"), Some(Access { steps: vec![step(), step()], inside: 12 }));
        assert_eq!(access(&types, "0:0"), Some(Access { steps: vec![step()], inside: 0 }));
        for wrong in ["", "0:1", "0:0:0:3:1", "0:x"] {
            assert_eq!(access(&types, wrong), None, "{wrong}");
        }
    }

    /// A structure whose only member is of its own type can be followed without end.
    #[test]
    fn an_access_has_at_most_20_numbers() {
        let text = |numbers: usize| vec!["0"; numbers].join(":");
        assert_eq!(access(&structure(1), &text(20)).map(|access| access.steps.len()), Some(19));
        assert_eq!(access(&structure(1), &text(21)), None);
    }

    #[test]
    fn types_and_members_are_counted_in_all() {
        let refused = |types: &[u32]| Btf::parse(&description(types)).err().map(|error| error.to_string());
        let void = [0, 7 << 24, 0];
        assert_eq!(refused(&void.repeat(MOST_TYPES)), None);
        assert!(refused(&void.repeat(MOST_TYPES + 1)).is_some_and(|text| text.contains("types")));
        let wide = [vec![0, 4 << 24 | 0xffff, 4], [0, 0, 0].repeat(0xffff)].concat();
        assert_eq!(refused(&wide.repeat(4)), None);
        assert!(refused(&wide.repeat(5)).is_some_and(|text| text.contains("members")));
    }

    #[test]
    fn types_that_contain_themselves_have_no_size() {
        let array = [0, 3 << 24, 0, 2, 2, 10];
        assert_eq!(access(&[structure(2), array.to_vec()].concat(), "0:0:1"), None);
        let alias = [0, 8 << 24, 1];
        assert_eq!(access(&alias, "0:0"), None);
    }
}
