//! The types of an object, from its own type information (BTF).

use crate::error::Error;

const MAGIC: u16 = 0xeb9f;
/// The maximum nesting of type names and arrays; a damaged object could contain a cycle.
const DEEPEST: u32 = 16;

/// The types of an object.
pub(crate) struct Btf<'a> {
    /// The first is type 1.
    types: Vec<Type>,
    names: &'a [u8],
}

struct Type {
    name: String,
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
        members: Vec<Member>,
    },
    Function {
        arguments: usize,
    },
    Other,
}

/// A member of a structure.
pub(crate) struct Member {
    pub name: String,
    /// The number of its type.
    pub of: u32,
    /// Where it begins.
    pub byte: usize,
}

/// What an access refers to: names of members from the outermost structure on.
#[derive(Debug, PartialEq)]
pub(crate) struct Access {
    /// The structure that each member belongs to, and the member.
    pub steps: Vec<(String, String)>,
    /// Bytes from the beginning of the last member, if that is an array of which an element is accessed.
    pub inside: usize,
}

impl<'a> Btf<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Btf<'a>, Error> {
        read(bytes).ok_or_else(|| Error::new("the description of types (BTF) is damaged"))
    }

    /// The members of the structure of that name; none if the object does not use it.
    pub(crate) fn members(&self, name: &str) -> &[Member] {
        let members = |of: &'_ Type| of.name == name && matches!(of.kind, BtfKind::Struct { .. });
        match self.types.iter().find(|of| members(of)).map(|of| &of.kind) {
            Some(BtfKind::Struct { members, .. }) => members,
            _ => &[],
        }
    }

    /// The name of a type.
    pub(crate) fn name(&self, id: u32) -> &str {
        self.get(id).map_or("", |of| &of.name)
    }

    /// The number of arguments of the function that a member points to.
    pub(crate) fn arguments(&self, member: &Member) -> Option<usize> {
        let BtfKind::Pointer(of) = self.get(member.of)?.kind else { return None };
        let BtfKind::Function { arguments } = self.get(of)?.kind else { return None };
        Some(arguments)
    }

    /// The members of the type of the variable of that name, such as a map.
    pub(crate) fn members_of_variable(&self, name: &str) -> &[Member] {
        let found = self.types.iter().find_map(|of| match of.kind {
            BtfKind::Alias(target) if of.name == name => self.get(target),
            _ => None,
        });
        match found.map(|of| &of.kind) {
            Some(BtfKind::Struct { members, .. }) => members,
            _ => &[],
        }
    }

    /// The size of what a member of a map's definition points to, or the length of the array that it points to.
    pub(crate) fn pointed_at(&self, member: &Member) -> Option<usize> {
        let BtfKind::Pointer(of) = self.get(member.of)?.kind else { return None };
        match self.get(of)?.kind {
            BtfKind::Array { count, .. } => Some(count),
            _ => self.bytes(of, DEEPEST),
        }
    }

    /// What an access of a relocation refers to, such as `0:3:1` in type `id`: its members by their numbers.
    pub(crate) fn access(&self, id: u32, text: &str) -> Option<Access> {
        let mut numbers = text.split(':').map(str::parse::<usize>);
        let _element = numbers.next()?.ok()?;
        let mut access = Access { steps: Vec::new(), inside: 0 };
        let mut at = id;
        for number in numbers {
            let number = number.ok()?;
            let found = self.get(at)?;
            match &found.kind {
                BtfKind::Struct { members, .. } => {
                    let member = members.get(number)?;
                    access.steps.push((found.name.clone(), member.name.clone()));
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
        let rest = self.names.get(at as usize..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
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
    fn get(&self, mut id: u32) -> Option<&Type> {
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
    let mut btf = Btf { types: Vec::new(), names: section(names_at, names_length)? };
    let mut at = 0;
    while at < table.len() {
        let (found, length) = btf.one_type(&table[at..])?;
        btf.types.push(found);
        at += length;
    }
    Some(btf)
}

impl Btf<'_> {
    /// A type, and its size in the table, bytes.
    fn one_type(&self, table: &[u8]) -> Option<(Type, usize)> {
        let [name_at, info, size] = [word(table, 0)?, word(table, 4)?, word(table, 8)?];
        let (count, has_bit_fields) = ((info & 0xffff) as usize, info >> 31 == 1);
        let (kind, more) = match info >> 24 & 0x1f {
            1 => (BtfKind::Plain(size as usize), 4),
            2 => (BtfKind::Pointer(size), 0),
            3 => (BtfKind::Array { of: word(table, 12)?, count: word(table, 20)? as usize }, 12),
            4 | 5 => {
                let members =
                    (0..count).map(|index| self.member(table.get(12 + 12 * index..)?, has_bit_fields));
                (
                    BtfKind::Struct { bytes: size as usize, members: members.collect::<Option<_>>()? },
                    12 * count,
                )
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
        Some((Type { name: self.text(name_at)?.to_owned(), kind }, 12 + more))
    }

    fn member(&self, entry: &[u8], has_bit_fields: bool) -> Option<Member> {
        let place = word(entry, 8)?;
        let bit = if has_bit_fields { place & 0x00ff_ffff } else { place };
        let name = self.text(word(entry, 0)?)?.to_owned();
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

    fn access(types: &[u32], text: &str) -> Option<Access> {
        Btf::parse(&description(types)).unwrap().access(1, text)
    }

    #[test]
    fn an_access_is_followed_through_structures_and_arrays() {
        let number = [0, 1 << 24, 4, 32];
        let array = [0, 3 << 24, 0, 4, 4, 10];
        let types = [structure(2), structure(3), array.to_vec(), number.to_vec()].concat();
        let step = || (String::from("s"), String::from("m"));
        assert_eq!(access(&types, "0:0:0:3"), Some(Access { steps: vec![step(), step()], inside: 12 }));
        assert_eq!(access(&types, "0:0"), Some(Access { steps: vec![step()], inside: 0 }));
        for wrong in ["", "0:1", "0:0:0:3:1", "0:x"] {
            assert_eq!(access(&types, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn types_that_contain_themselves_have_no_size() {
        let array = [0, 3 << 24, 0, 2, 2, 10];
        assert_eq!(access(&[structure(2), array.to_vec()].concat(), "0:0:1"), None);
        let alias = [0, 8 << 24, 1];
        assert_eq!(access(&alias, "0:0"), None);
    }
}
