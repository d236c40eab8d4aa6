//! The tables of operations of an object (`struct tcp_congestion_ops`): where they are, and the controllers' names.

use crate::bounds::{MOST_CONTROLLERS, at_most};
use crate::btf::{Btf, Member, word};
use crate::elf::Elf;
use crate::error::Error;

const STRUCTURE: &str = "tcp_congestion_ops";
/// The room for a controller's name, bytes.
pub const NAME_BYTES: usize = 16;
const SECTIONS: [&str; 2] = [".struct_ops.link", ".struct_ops"];

/// The table of one controller.
#[derive(Clone, Debug, PartialEq)]
pub struct TableEntry {
    /// The controller's name in the kernel.
    pub controller: String,
    /// The variable of the object that is the table.
    pub variable: String,
    /// Where in the table the name is, bytes.
    pub name_at: usize,
    /// Its flags.
    pub flags: u32,
    /// Where in the table they are, in four bytes, if it has any.
    pub flags_at: Option<usize>,
    /// Its section, and where it is there.
    pub(crate) section: &'static str,
    pub(crate) begin: usize,
    pub(crate) size: usize,
}

/// The tables of an object.
///
/// # Errors
/// It is not an object of eBPF, has no table, or a damaged one.
pub fn tables(object: &[u8]) -> Result<Vec<TableEntry>, Error> {
    let elf = Elf::parse(object)?;
    listed(&elf, &types(&elf)?)
}

/// The type information of an object.
pub(crate) fn types<'a>(elf: &Elf<'a>) -> Result<Btf<'a>, Error> {
    let types = elf.section(".BTF");
    Btf::parse(types.ok_or_else(|| Error::new("the object has no type information (.BTF)"))?)
}

/// The members of a table.
pub(crate) fn members<'a, 'b>(btf: &'b Btf<'a>) -> &'b [Member<'a>] {
    btf.members(STRUCTURE)
}

/// The tables of an object with these types.
pub(crate) fn listed(elf: &Elf<'_>, btf: &Btf<'_>) -> Result<Vec<TableEntry>, Error> {
    let none = || Error::new("the object has no table of operations (struct tcp_congestion_ops)");
    let name = members(btf).iter().find(|member| member.name == "name").ok_or_else(none)?;
    let flags_at = members(btf).iter().find(|member| member.name == "flags").map(|member| member.byte);
    let mut found = Vec::new();
    for section in SECTIONS {
        let bytes = elf.section(section).unwrap_or_default();
        for (variable, begin, size) in elf.objects_in(section) {
            let table = bytes.get(begin..begin.saturating_add(size));
            let text = table.and_then(|table| table.get(name.byte..name.byte + NAME_BYTES));
            let text = text.ok_or_else(damaged)?.split(|byte| *byte == 0).next().unwrap_or_default();
            let flags = flags_at.map_or(Some(0), |at| word(table?, at)).ok_or_else(damaged)?;
            let (controller, variable) = (String::from_utf8_lossy(text).into_owned(), variable.to_owned());
            at_most(MOST_CONTROLLERS, found.len() + 1, "or more tables of operations")?;
            found.push(TableEntry {
                controller,
                variable,
                name_at: name.byte,
                flags,
                flags_at,
                section,
                begin,
                size,
            });
        }
    }
    if found.is_empty() { Err(none()) } else { Ok(found) }
}

/// One of the tables: of the controller with that name, or the only one.
///
/// # Errors
/// There is none with that name, or several without a name.
pub fn choose<'a>(tables: &'a [TableEntry], name: Option<&str>) -> Result<&'a TableEntry, Error> {
    let mut names: Vec<&str> = tables.iter().map(|table| table.controller.as_str()).collect();
    names.sort_unstable();
    let names = names.join(", ");
    match (name, tables) {
        (Some(name), _) => tables
            .iter()
            .find(|table| table.controller == name)
            .ok_or_else(|| Error::new(format!("the object has no controller {name}; it has {names}"))),
        (None, [only]) => Ok(only),
        (None, _) => Err(Error::new(format!("the object has several controllers; name one: {names}"))),
    }
}

pub(crate) fn damaged() -> Error {
    Error::new("the table of operations is damaged")
}
