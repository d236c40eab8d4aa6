//! The ELF file of an object: its sections, its symbols, and the two kinds of relocation of an eBPF object.

use object::elf::{R_BPF_64_32, SHF_EXECINSTR, SHT_NOBITS, SHT_NULL};
use object::read::elf::{ElfFile64, ElfSymbol64, FileHeader, SectionHeader, Sym};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex};

use crate::bounds::{
    self, MOST_BYTES, MOST_INSTRUCTIONS, MOST_REFERENCES, MOST_SECTIONS, MOST_SYMBOLS, at_most,
};
use crate::error::Error;

/// An object, parsed.
pub struct Elf<'a> {
    file: ElfFile64<'a>,
    /// The sections by their numbers; without what cannot be read.
    sections: Vec<Option<Section<'a>>>,
    /// The names of symbols.
    names: &'a [u8],
}

/// A section and its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Section<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Its size: that of `.bss` has no bytes.
    pub length: usize,
    pub is_code: bool,
}

impl Section<'_> {
    pub(crate) fn is_constant(&self) -> bool {
        self.name.starts_with(".rodata")
    }

    pub(crate) fn is_variable(&self) -> bool {
        [".data", ".bss"].iter().any(|kind| self.name.starts_with(kind))
    }
}

/// A place in a section that names a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference<'a> {
    /// The offset in the section, bytes.
    pub at: usize,
    /// The name of the symbol.
    pub name: &'a str,
    /// The section of the symbol, if the object has it, and its offset there.
    pub section: Option<&'a str>,
    pub offset: usize,
    /// Whether the place is a call.
    pub is_call: bool,
}

/// A number among the variables or constants of an object.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its section.
    pub section: &'a str,
    /// Where it is in the section, bytes.
    pub offset: usize,
    /// Its size: 1, 2, 4 or 8 bytes.
    pub bytes: usize,
}

impl<'a> Elf<'a> {
    /// Reads an object.
    ///
    /// # Errors
    /// It is not an ELF file of 64 bits, or more is in it than objects of controllers have.
    pub fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, Error> {
        let file = ElfFile64::parse(bytes).map_err(|e| Error::new(format!("cannot read the object: {e}")))?;
        at_most(MOST_SECTIONS, file.elf_section_table().len(), "sections")?;
        at_most(MOST_SYMBOLS, file.elf_symbol_table().len(), "symbols")?;
        let sections = sections(&file, bytes)?;
        let all = || sections.iter().flatten();
        let instructions = all().filter(|section| section.is_code).map(|section| section.bytes.len() / 8);
        at_most(MOST_INSTRUCTIONS, instructions.sum(), "instructions")?;
        let data = all().filter(|section| section.is_constant() || section.is_variable());
        let bytes = data.fold(0, |sum: usize, section| sum.saturating_add(section.length));
        at_most(MOST_BYTES, bytes, "bytes of variables and constants")?;
        let names = sections.get(file.elf_symbol_table().string_section().0).copied().flatten();
        Ok(Elf { names: names.map_or(&[], |section| section.bytes), file, sections })
    }

    /// The bytes of a section.
    pub fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.sections().find(|section| section.name == name).map(|section| section.bytes)
    }

    /// All sections with a name.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'a>> + '_ {
        self.sections.iter().flatten().copied()
    }

    /// The variables and constants that are numbers.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'a>> + '_ {
        self.file.symbols().filter_map(|symbol| {
            let section = self.home(&symbol).filter(|home| home.is_constant() || home.is_variable())?;
            let bytes = usize::try_from(symbol.size()).ok().filter(|bytes| [1, 2, 4, 8].contains(bytes))?;
            let name = self.name(&symbol)?;
            Some(Variable { name, section: section.name, offset: symbol.address() as usize, bytes })
        })
    }

    /// The variables in a section: the name of each, where it begins, and its size, bytes.
    pub(crate) fn objects_in(
        &self,
        section: &'static str,
    ) -> impl Iterator<Item = (&'a str, usize, usize)> + '_ {
        let in_it = move |symbol: &ElfSymbol64<'a, '_>| {
            symbol.size() > 0 && self.home(symbol).is_some_and(|home| home.name == section)
        };
        let place = |symbol: ElfSymbol64<'a, '_>| {
            Some((self.name(&symbol)?, symbol.address() as usize, symbol.size() as usize))
        };
        self.file.symbols().filter(in_it).filter_map(place)
    }

    /// The symbols to which places of a section refer.
    pub(crate) fn references(&self, section: &str) -> Result<Vec<Reference<'a>>, Error> {
        let number = self.sections.iter().position(|known| known.is_some_and(|known| known.name == section));
        let Some(number) = number else { return Ok(Vec::new()) };
        let section = self.file.section_by_index(SectionIndex(number)).map_err(|_| broken())?;
        let mut references = Vec::new();
        for (at, relocation) in section.relocations() {
            references.push(self.reference(at, &relocation)?);
            at_most(MOST_REFERENCES, references.len(), "or more relocations of a section")?;
        }
        Ok(references)
    }

    /// The section of a symbol.
    fn home(&self, symbol: &ElfSymbol64<'a, '_>) -> Option<Section<'a>> {
        self.sections.get(symbol.section_index()?.0).copied().flatten()
    }

    fn name(&self, symbol: &ElfSymbol64<'a, '_>) -> Option<&'a str> {
        bounds::name(self.names, symbol.elf_symbol().st_name(self.file.endian()) as usize)
    }

    fn reference(&self, at: u64, relocation: &object::Relocation) -> Result<Reference<'a>, Error> {
        let RelocationTarget::Symbol(index) = relocation.target() else { return Err(broken()) };
        let symbol = self.file.symbol_by_index(index).map_err(|_| broken())?;
        Ok(Reference {
            at: at as usize,
            name: self.name(&symbol).ok_or_else(broken)?,
            section: self.home(&symbol).map(|home| home.name),
            offset: symbol.address() as usize,
            is_call: relocation.flags() == (RelocationFlags::Elf { r_type: R_BPF_64_32 }),
        })
    }
}

fn broken() -> Error {
    Error::new("a relocation of the object refers to no symbol")
}

/// The sections of a file by their numbers. Sections with bytes do not overlap in a file of a compiler, so together
/// they have no more bytes than the file.
fn sections<'a>(file: &ElfFile64<'a>, bytes: &'a [u8]) -> Result<Vec<Option<Section<'a>>>, Error> {
    let (table, endian) = (file.elf_section_table(), file.endian());
    let names = file.elf_header().shstrndx(endian, bytes).ok().map(|number| SectionIndex(number as usize));
    let names =
        names.and_then(|number| table.section(number).ok()?.data(endian, bytes).ok()).unwrap_or_default();
    let mut left = bytes.len();
    let mut sections = Vec::with_capacity(table.len());
    for header in table.iter() {
        let has_bytes = !matches!(header.sh_type(endian), SHT_NULL | SHT_NOBITS);
        let bytes = if has_bytes { header.data(endian, bytes).ok() } else { Some(&[][..]) };
        let taken = bytes.map_or(0, <[u8]>::len);
        left = left.checked_sub(taken).ok_or_else(|| Error::new("sections of the object overlap"))?;
        let section = || {
            let name = bounds::name(names, header.sh_name(endian) as usize)?;
            let length = usize::try_from(header.sh_size(endian)).ok()?;
            let is_code = header.sh_flags(endian) & u64::from(SHF_EXECINSTR) != 0;
            Some(Section { name, bytes: bytes?, length, is_code })
        };
        sections.push(section());
    }
    Ok(sections)
}
