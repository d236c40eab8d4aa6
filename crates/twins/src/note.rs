//! The description in an object: a section of text, which distinguishes objects of Fairhaul from others.
//!
//! ```text
//! fairhaul twin 1
//! <name>
//! <version>
//! <title>
//! <parameter>|<least>|<most>|<unit>|<help>
//! ```
//!
//! A parameter is a `u32` of that name in `.data`; its default is its value in the object.

use fairhaul_bpf::{Elf, Error, Variable};
use serde::{Deserialize, Serialize};

const SECTION: &str = "fairhaul_twin";
const DATA: &str = ".data";
const OPENING: &str = "fairhaul twin 1";

/// Name, version and parameters of an eBPF port.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The controller's name; in the kernel it has `fh_` before it.
    pub name: String,
    /// The version of Fairhaul that it was built by.
    pub version: String,
    /// A line that describes it.
    pub title: String,
    /// The parameters, which may be changed while flows use it.
    pub parameters: Vec<PortParameter>,
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
    /// One line of help.
    pub help: String,
}

impl Note {
    /// The name of the controller in the kernel, which the variable of its table has as well.
    pub fn kernel_name(&self) -> String {
        format!("fh_{}", self.name)
    }

    /// The note of an object; an error if the object is not a port.
    pub fn of(elf: &[u8]) -> Result<Note, Error> {
        let elf = Elf::parse(elf)?;
        let foreign = || Error::new("the object is not an eBPF port of Fairhaul");
        let text = elf.section(SECTION).ok_or_else(foreign)?;
        let text = std::str::from_utf8(text).map_err(|_| foreign())?.trim_end_matches('\0');
        let mut lines = text.lines();
        if lines.next() != Some(OPENING) {
            return Err(foreign());
        }
        let mut next = || lines.next().map(str::to_string).ok_or_else(foreign);
        let (name, version, title) = (next()?, next()?, next()?);
        let parameters =
            lines.map(|line| parameter(line, &elf)).collect::<Option<_>>().ok_or_else(foreign)?;
        Ok(Note { name, version, title, parameters })
    }
}

fn parameter(line: &str, elf: &Elf) -> Option<PortParameter> {
    let mut parts = line.splitn(5, '|');
    let name = parts.next()?.to_string();
    let (least, most) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (unit, help) = (parts.next()?.to_string(), parts.next()?.to_string());
    let is_it =
        |variable: &Variable| variable.name == name && variable.section == DATA && variable.bytes == 4;
    let at = elf.variables().find(is_it)?.offset;
    let default = u32::from_le_bytes(elf.section(DATA)?.get(at..at.checked_add(4)?)?.try_into().ok()?);
    Some(PortParameter { name, least, most, unit, default, offset: at, help })
}
