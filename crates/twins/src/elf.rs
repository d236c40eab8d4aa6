//! The ELF file of an object: its sections, its symbols, and the two kinds of relocation of an eBPF object.
//! Relocations for a kernel (CO-RE) are not applied: without them the bytecode works on the structures as laid
//! out in `bpf/fairhaul.bpf.h`.

use object::elf::R_BPF_64_32;
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};

use crate::error::Error;

/// An object, parsed.
pub(crate) struct Elf<'a> {
    file: ElfFile64<'a>,
}

/// A place in a section that names a symbol.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// The offset in the section, bytes.
    pub at: usize,
    /// The section of the symbol, and its offset there.
    pub section: String,
    pub offset: usize,
}

impl<'a> Elf<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, Error> {
        let file = ElfFile64::parse(bytes).map_err(|e| Error::new(format!("cannot read the object: {e}")))?;
        Ok(Elf { file })
    }

    /// The bytes of a section.
    pub(crate) fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.file.section_by_name_bytes(name.as_bytes())?.data().ok()
    }

    /// The 32-bit numbers in `.data`, with their offsets.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, usize)> + '_ {
        let data = self.file.section_by_name(".data").map(|section| section.index());
        let ours = move |symbol: &ElfSymbol64<'a, '_>| {
            symbol.size() == 4 && symbol.section_index() == data && data.is_some()
        };
        let named =
            |symbol: ElfSymbol64<'a, '_>| Some((symbol.name().ok()?.to_string(), symbol.address() as usize));
        self.file.symbols().filter(ours).filter_map(named)
    }

    /// The symbols to which places of a section refer.
    pub(crate) fn references(&self, section: &str) -> Result<Vec<Reference>, Error> {
        let Some(section) = self.file.section_by_name(section) else { return Ok(Vec::new()) };
        section.relocations().map(|(at, relocation)| self.reference(at, &relocation)).collect()
    }

    fn reference(&self, at: u64, relocation: &object::Relocation) -> Result<Reference, Error> {
        let broken = || Error::new("a relocation of the object refers to no symbol");
        let RelocationTarget::Symbol(index) = relocation.target() else { return Err(broken()) };
        if relocation.flags() == (RelocationFlags::Elf { r_type: R_BPF_64_32 }) {
            return Err(Error::new("a program calls a function, which eBPF ports do not do"));
        }
        let symbol = self.file.symbol_by_index(index).map_err(|_| broken())?;
        let home = symbol.section_index().ok_or_else(broken)?;
        let home = self.file.section_by_index(home).map_err(|_| broken())?;
        let section = home.name().map_err(|_| broken())?.to_string();
        Ok(Reference { at: at as usize, section, offset: symbol.address() as usize })
    }
}
