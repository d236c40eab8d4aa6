//! The description in an object of Fairhaul: a section of text.
//!
//! ```text
//! fairhaul port 1
//! <name>
//! <version>
//! <title>
//! <parameter>|<least>|<most>|<unit>|<help>
//! ```
//!
//! A parameter is a `u32` of that name in `.data`; its default is its value in the object.

use fairhaul_bpf::{Elf, Error, TableEntry, Variable, choose, tables};
use serde::{Deserialize, Serialize};

const SECTION: &str = "fairhaul_port";
/// The beginning of all names that Fairhaul gives in the kernel.
pub const PREFIX: &str = "fh_";
const DATA: &str = ".data";
const CONSTANTS: &str = ".rodata";
const OPENING: &str = "fairhaul port 1";
/// More than any description has.
const MOST_BYTES: usize = 1 << 14;

/// Name, version and parameters of a controller in an object; the version and the title are empty without a note of
/// Fairhaul.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The controller's name; in the kernel a port has `fh_` before it.
    pub name: String,
    /// The version of Fairhaul that it was built by.
    pub version: String,
    /// A line that describes it.
    pub title: String,
    /// The parameters, which may be changed while flows use it.
    pub parameters: Vec<PortParameter>,
    /// The table of operations that the kernel registers.
    pub table: TableEntry,
}

/// One parameter of an eBPF port: a whole number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortParameter {
    /// The name of the variable.
    pub name: String,
    /// The smallest value that makes sense.
    pub least: u32,
    /// The largest.
    pub most: u32,
    /// The unit of the number, such as `0.001/s`; empty if it has none.
    pub unit: String,
    /// Its default value.
    pub default: u32,
    /// Its offset in `.data`; it has four bytes in native order.
    pub offset: usize,
    /// Whether it is a constant in `.rodata` instead, which can be set only before the object is loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub constant: bool,
    /// One line of help.
    pub help: String,
}

impl PortParameter {
    /// Whether it is a switch, which is off at 0 and on at 1.
    pub fn is_switch(&self) -> bool {
        self.most == 1 && self.unit.is_empty()
    }
}

impl Note {
    /// The name of the controller in the kernel, unless the user chooses another. Names of Fairhaul's begin alike.
    pub fn kernel_name(&self) -> String {
        let name = &self.table.controller;
        if name.starts_with(PREFIX) { name.clone() } else { format!("{PREFIX}{name}") }
    }

    /// The note of a controller in an object: of the only one, or of the one with that name in the kernel. Without
    /// a note of Fairhaul the object describes itself: its parameters are the variables of four bytes in `.data`
    /// and the constants of four bytes in `.rodata`.
    ///
    /// # Errors
    /// The object has no such controller, or is damaged.
    pub fn of(elf: &[u8], controller: Option<&str>) -> Result<Note, Error> {
        let table = choose(&tables(elf)?, controller)?.clone();
        let elf = Elf::parse(elf)?;
        let Some(text) = elf.section(SECTION) else { return Ok(Note::without(&elf, table)) };
        let damaged = || Error::new("the description in the object is damaged");
        if text.len() > MOST_BYTES {
            return Err(damaged());
        }
        let text = std::str::from_utf8(text).map_err(|_| damaged())?.trim_end_matches('\0');
        let mut lines = text.lines();
        if lines.next() != Some(OPENING) {
            return Err(damaged());
        }
        let mut next = || lines.next().map(str::to_string).ok_or_else(damaged);
        let (name, version, title) = (next()?, next()?, next()?);
        let parameters =
            lines.map(|line| parameter(line, &elf)).collect::<Option<_>>().ok_or_else(damaged)?;
        Ok(Note { name, version, title, parameters, table })
    }

    fn without(elf: &Elf<'_>, table: TableEntry) -> Note {
        let parameters = elf.variables().filter_map(|variable| plain(variable, elf)).collect();
        Note {
            name: table.controller.clone(),
            version: String::new(),
            title: String::new(),
            parameters,
            table,
        }
    }
}

/// A variable of an object without a note, as a parameter.
fn plain(variable: Variable<'_>, elf: &Elf<'_>) -> Option<PortParameter> {
    let Variable { name, section, offset, bytes } = variable;
    let (name, constant) = (name.to_owned(), section == CONSTANTS);
    let default =
        (bytes == 4 && (constant || section == DATA)).then(|| initial(elf, section, offset)).flatten()?;
    let (least, most, unit, help) = (0, u32::MAX, String::new(), String::new());
    Some(PortParameter { name, least, most, unit, default, offset, constant, help })
}

/// The value of a variable in the object.
fn initial(elf: &Elf<'_>, section: &str, offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(elf.section(section)?.get(offset..offset.checked_add(4)?)?.try_into().ok()?))
}

/// Whether an object has a section of this name.
pub fn has_section(elf: &[u8], name: &str) -> bool {
    Elf::parse(elf).is_ok_and(|elf| elf.section(name).is_some())
}

fn parameter(line: &str, elf: &Elf) -> Option<PortParameter> {
    let mut parts = line.splitn(5, '|');
    let name = parts.next()?.to_string();
    let (least, most) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (unit, help) = (parts.next()?.to_string(), parts.next()?.to_string());
    let is_it =
        |variable: &Variable<'_>| variable.name == name && variable.section == DATA && variable.bytes == 4;
    let at = elf.variables().find(is_it)?.offset;
    Some(PortParameter {
        name,
        least,
        most,
        unit,
        default: initial(elf, DATA, at)?,
        offset: at,
        constant: false,
        help,
    })
}
