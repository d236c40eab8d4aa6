//! The ELF file of an object: its sections, its symbols, and the two kinds of relocation of an eBPF object.

use object::elf::{R_BPF_64_32, SHF_EXECINSTR};
use object::read::elf::{ElfFile64, ElfSymbol64};
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags, SectionIndex,
};

use crate::error::Error;

/// An object, parsed.
pub struct Elf<'a> {
    file: ElfFile64<'a>,
}

/// A section and its bytes.
pub(crate) struct Section<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Its size: that of `.bss` has no bytes.
    pub length: usize,
    pub is_code: bool,
}

/// A place in a section that names a symbol.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// The offset in the section, bytes.
    pub at: usize,
    /// The name of the symbol.
    pub name: String,
    /// The section of the symbol, if the object has it, and its offset there.
    pub section: Option<String>,
    pub offset: usize,
    /// Whether the place is a call.
    pub is_call: bool,
}

/// A number among the variables or constants of an object.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its section.
    pub section: String,
    /// Where it is in the section, bytes.
    pub offset: usize,
    /// Its size: 1, 2, 4 or 8 bytes.
    pub bytes: usize,
}

impl<'a> Elf<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// It is not an ELF file of 64 bits.
    pub fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, Error> {
        let file = ElfFile64::parse(bytes).map_err(|e| Error::new(format!("cannot read the object: {e}")))?;
        Ok(Elf { file })
    }

    /// The bytes of a section.
    pub fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.file.section_by_name_bytes(name.as_bytes())?.data().ok()
    }

    /// All sections with a name.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'a>> + '_ {
        self.file.sections().filter_map(|section| {
            let SectionFlags::Elf { sh_flags } = section.flags() else { return None };
            let (name, bytes) = (section.name().ok()?, section.data().ok()?);
            let is_code = sh_flags & u64::from(SHF_EXECINSTR) != 0;
            Some(Section { name, bytes, length: usize::try_from(section.size()).ok()?, is_code })
        })
    }

    /// The variables and constants that are numbers.
    pub fn variables(&self) -> impl Iterator<Item = Variable> + '_ {
        self.file.symbols().filter_map(|symbol| {
            let section = self.home(&symbol)?;
            let is_data = [".data", ".rodata", ".bss"].iter().any(|kind| section.starts_with(kind));
            let bytes = usize::try_from(symbol.size()).ok().filter(|bytes| [1, 2, 4, 8].contains(bytes))?;
            let name = symbol.name().ok()?.to_owned();
            is_data.then(|| Variable { name, section, offset: symbol.address() as usize, bytes })
        })
    }

    /// The variables in a section: the name of each, where it begins, and its size, bytes.
    pub(crate) fn objects_in(&self, section: &str) -> Vec<(String, usize, usize)> {
        let in_it =
            |symbol: &ElfSymbol64<'a, '_>| symbol.size() > 0 && self.home(symbol).as_deref() == Some(section);
        let place = |symbol: ElfSymbol64<'a, '_>| {
            Some((symbol.name().ok()?.to_owned(), symbol.address() as usize, symbol.size() as usize))
        };
        self.file.symbols().filter(in_it).filter_map(place).collect()
    }

    /// The symbols to which places of a section refer.
    pub(crate) fn references(&self, section: &str) -> Result<Vec<Reference>, Error> {
        let Some(section) = self.file.section_by_name(section) else { return Ok(Vec::new()) };
        section.relocations().map(|(at, relocation)| self.reference(at, &relocation)).collect()
    }

    /// The name of the section of a symbol.
    fn home(&self, symbol: &ElfSymbol64<'a, '_>) -> Option<String> {
        let index: SectionIndex = symbol.section_index()?;
        Some(self.file.section_by_index(index).ok()?.name().ok()?.to_owned())
    }

    fn reference(&self, at: u64, relocation: &object::Relocation) -> Result<Reference, Error> {
        let broken = || Error::new("a relocation of the object refers to no symbol");
        let RelocationTarget::Symbol(index) = relocation.target() else { return Err(broken()) };
        let symbol = self.file.symbol_by_index(index).map_err(|_| broken())?;
        Ok(Reference {
            at: at as usize,
            name: symbol.name().map_err(|_| broken())?.to_owned(),
            section: self.home(&symbol),
            offset: symbol.address() as usize,
            is_call: relocation.flags() == (RelocationFlags::Elf { r_type: R_BPF_64_32 }),
        })
    }
}
