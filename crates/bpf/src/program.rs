//! An object, loaded: its programs with every reference resolved, its variables, and its table of operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bounds::{MOST_BYTES, MOST_MAPS, MOST_MISSING, at_most};
use crate::btf::{Btf, Member};
use crate::code::{Target, Word, decode};
use crate::elf::{Elf, Reference, Variable};
use crate::error::Error;
use crate::kernel::{HZ, Storage, function, helper};
use crate::machine::Machine;
use crate::relocation::relocations;
use crate::table::{TableEntry, choose, damaged, listed, members, types};

const PACING_RATE: &str = "sk_pacing_rate";
/// A map that gives each socket some memory, by the kernel's numbers of kinds of maps.
const SOCKET_STORAGE: usize = 24;

/// The operations that a kernel calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Init,
    Release,
    Ssthresh,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    MinTsoSegs,
    CongControl,
    UndoCwnd,
}

const OPERATIONS: [(Operation, &str); 11] = [
    (Operation::Init, "init"),
    (Operation::Release, "release"),
    (Operation::Ssthresh, "ssthresh"),
    (Operation::CongAvoid, "cong_avoid"),
    (Operation::SetState, "set_state"),
    (Operation::CwndEvent, "cwnd_event"),
    (Operation::InAckEvent, "in_ack_event"),
    (Operation::PktsAcked, "pkts_acked"),
    (Operation::MinTsoSegs, "min_tso_segs"),
    (Operation::CongControl, "cong_control"),
    (Operation::UndoCwnd, "undo_cwnd"),
];

impl Operation {
    /// The operation with this name.
    pub(crate) fn named(name: &str) -> Option<Operation> {
        OPERATIONS.iter().find(|(_, known)| *known == name).map(|(operation, _)| *operation)
    }

    /// Whether the kernel uses its result.
    pub(crate) fn has_result(self) -> bool {
        matches!(self, Operation::Ssthresh | Operation::UndoCwnd | Operation::MinTsoSegs)
    }
}

/// The table of operations of a controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// The first instruction of each operation that it has.
    entries: [Option<usize>; OPERATIONS.len()],
    pub flags: u32,
    /// The number of arguments of `cong_control`, which older kernels call with two.
    pub control_arguments: usize,
}

impl Table {
    pub(crate) fn entry(&self, operation: Operation) -> Option<usize> {
        self.entries[operation as usize]
    }
}

/// Where a variable or constant is, and its size.
pub(crate) type Place = (u64, usize);

/// A controller that can be attached to sockets.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// What a fresh socket begins with.
    pub machine: Machine,
    pub entries: Vec<TableEntry>,
    pub tables: BTreeMap<String, Table>,
    pub variables: BTreeMap<String, Place>,
    pub storages: Vec<Storage>,
    /// The addresses of sections of variables and constants.
    pub sections: BTreeMap<String, u64>,
    pub missing: Arc<[String]>,
    /// Whether a program refers to the pacing of the socket.
    pub paces: bool,
}

/// The object while it is loaded.
struct Loader<'a> {
    elf: Elf<'a>,
    btf: Btf<'a>,
    words: Vec<Word>,
    /// The first word of each section of programs.
    starts: BTreeMap<&'a str, usize>,
    /// What words turn out to be.
    targets: BTreeMap<usize, Target>,
    machine: Machine,
    /// The bytes of variables, constants and storages so far.
    bytes: usize,
    /// The addresses of variables and constants.
    sections: BTreeMap<&'a str, u64>,
    storages: BTreeMap<&'a str, Storage>,
    /// Where the frequency of the kernel's clock is, if a program refers to it.
    clock: Option<u64>,
    missing: Missing,
    paces: bool,
}

/// What programs ask for and a simulation does not have.
#[derive(Default)]
struct Missing {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Missing {
    fn target(&mut self, name: String) -> Result<Target, Error> {
        if let Some(known) = self.numbers.get(&name) {
            return Ok(Target::Missing(*known));
        }
        let number = self.names.len();
        at_most(MOST_MISSING, number + 1, "or more functions and fields that a simulation does not have")?;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        Ok(Target::Missing(number))
    }
}

impl Program {
    pub(crate) fn load(object: &[u8]) -> Result<Program, Error> {
        let elf = Elf::parse(object)?;
        let btf = types(&elf)?;
        let (mut words, mut starts) = (Vec::new(), BTreeMap::new());
        for section in elf.sections().filter(|section| section.is_code) {
            starts.insert(section.name, words.len());
            words.extend(section.bytes.as_chunks::<8>().0.iter().copied().map(Word::of));
        }
        let mut loader = Loader {
            elf,
            btf,
            words,
            starts,
            targets: BTreeMap::new(),
            machine: Machine::default(),
            bytes: 0,
            sections: BTreeMap::new(),
            storages: BTreeMap::new(),
            clock: None,
            missing: Missing::default(),
            paces: false,
        };
        loader.memory()?;
        loader.fields()?;
        loader.references()?;
        loader.calls()?;
        loader.finish()
    }

    /// The operations of a controller: of the one with that name, or of the only one.
    pub(crate) fn table(&self, name: Option<&str>) -> Result<&Table, Error> {
        Ok(&self.tables[&choose(&self.entries, name)?.controller])
    }
}

impl<'a> Loader<'a> {
    /// Counts memory that each connection will have.
    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        at_most(MOST_BYTES, self.bytes, "bytes of variables, constants and storages")
    }

    /// Copies variables and constants into the machine.
    fn memory(&mut self) -> Result<(), Error> {
        let sections: Vec<_> = self.elf.sections().collect();
        for section in sections {
            if section.is_constant() || section.is_variable() {
                self.take(section.length)?;
                let mut bytes = section.bytes.to_vec();
                bytes.resize(section.length, 0);
                self.sections.insert(section.name, self.machine.memory.add(&bytes, section.is_variable()));
            }
        }
        Ok(())
    }

    /// Relocates accesses to the kernel's structures.
    fn fields(&mut self) -> Result<(), Error> {
        let Some(listed) = self.elf.section(".BTF.ext") else { return Ok(()) };
        for relocation in relocations(listed, &self.btf)? {
            self.paces |= relocation.is_of(PACING_RATE);
            let Some(&start) = self.starts.get(relocation.section) else { continue };
            if let Some(name) = relocation.apply(&mut self.words[start..])? {
                let target = self.missing.target(format!("the field {name}"))?;
                self.targets.insert(start + relocation.at / 8, target);
            }
        }
        Ok(())
    }

    /// Resolves the references of all programs to variables, maps, programs and functions of the kernel.
    fn references(&mut self) -> Result<(), Error> {
        for (section, start) in self.starts.clone() {
            for reference in self.elf.references(section)? {
                let at = start + reference.at / 8;
                if reference.is_call {
                    let target = self.called(at, &reference)?;
                    self.targets.insert(at, target);
                } else {
                    self.address(at, &reference)?;
                }
            }
        }
        Ok(())
    }

    /// What the call in a word refers to.
    fn called(&mut self, at: usize, reference: &Reference<'a>) -> Result<Target, Error> {
        let Some(section) = reference.section else {
            let known = function(reference.name).map(Target::Kernel);
            return known.map_or_else(|| self.missing.target(reference.name.to_owned()), Ok);
        };
        let outside = || Error::new(format!("a program calls {section}, which is no section of programs"));
        let start = *self.starts.get(section).ok_or_else(outside)?;
        let distance = i64::from(self.words.get(at).ok_or_else(outside)?.number) + 1;
        let first = (start + reference.offset / 8) as i64 + distance;
        usize::try_from(first).map(Target::Program).map_err(|_| outside())
    }

    /// Writes the address that a reference stands for into its two words.
    fn address(&mut self, at: usize, reference: &Reference<'a>) -> Result<(), Error> {
        let base = match reference.section {
            Some(".maps") => self.map(reference.name)?,
            Some(section) => {
                let unknown = || Error::new(format!("a program refers to {section}"));
                let base = *self.sections.get(section).ok_or_else(unknown)?;
                base.wrapping_add(reference.offset as u64)
            }
            None if reference.name == "CONFIG_HZ" => {
                let memory = &mut self.machine.memory;
                *self.clock.get_or_insert_with(|| memory.add(&HZ.to_le_bytes(), false))
            }
            None => {
                let target = self.missing.target(reference.name.to_owned())?;
                self.targets.insert(at, target);
                return Ok(());
            }
        };
        let wrong = || Error::new("a relocation stands where no address is loaded");
        let Some([low, high]) = self.words.get_mut(at..at + 2) else { return Err(wrong()) };
        if !low.is_wide() {
            return Err(wrong());
        }
        let given = u64::from(high.number as u32) << 32 | u64::from(low.number as u32);
        let sum = given.wrapping_add(base);
        (low.number, high.number) = (sum as u32 as i32, (sum >> 32) as u32 as i32);
        Ok(())
    }

    /// The address of a map.
    fn map(&mut self, name: &'a str) -> Result<u64, Error> {
        if let Some(storage) = self.storages.get(name) {
            return Ok(storage.map);
        }
        let members = self.btf.members_of_variable(name);
        let of = |key: &str| self.btf.pointed_at(members.iter().find(|member| member.name == key)?);
        let (kind, bytes) = (of("type"), of("value").unwrap_or_default());
        if kind != Some(SOCKET_STORAGE) {
            return Err(Error::new(format!(
                "the map {name} is not a storage of sockets (BPF_MAP_TYPE_SK_STORAGE), the only kind that a simulation has"
            )));
        }
        self.take(bytes)?;
        at_most(MOST_MAPS, self.storages.len() + 1, "or more maps")?;
        let map = self.machine.memory.add(&[0; 8], false);
        self.storages.insert(name, Storage { map, bytes, value: None, is_made: false });
        Ok(map)
    }

    /// Resolves the calls that need no relocation: helpers, and programs of the same section.
    fn calls(&mut self) -> Result<(), Error> {
        for (at, word) in self.words.iter().enumerate() {
            if self.targets.contains_key(&at) {
                continue;
            }
            let target = match word.calls() {
                Some(0) => match helper(word.number) {
                    Some(number) => Target::Kernel(number),
                    None => self.missing.target(format!("helper {}", word.number))?,
                },
                Some(1) => Target::Program((at as i64 + 1 + i64::from(word.number)) as usize),
                Some(_) => self.missing.target("a function of the kernel without a name".to_owned())?,
                None => continue,
            };
            self.targets.insert(at, target);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Program, Error> {
        let entries = listed(&self.elf, &self.btf)?;
        let (tables, variables) = (self.tables(&entries)?, self.variables()?);
        let code = decode(&self.words, |at| self.targets.get(&at).copied())?;
        let is_first = |entry: &usize| *entry < code.steps.len();
        if !tables.values().flat_map(|table| table.entries.iter().flatten()).all(is_first) {
            return Err(damaged());
        }
        self.machine.begin(Arc::new(code));
        let storages = self.storages.into_values().collect();
        let Loader { machine, sections, missing, paces, .. } = self;
        let sections = sections.into_iter().map(|(name, address)| (name.to_owned(), address)).collect();
        let missing = missing.names.into();
        Ok(Program { machine, entries, tables, variables, storages, sections, missing, paces })
    }

    fn variables(&self) -> Result<BTreeMap<String, Place>, Error> {
        let place = |variable: Variable<'_>| {
            let Variable { name, section, offset, bytes } = variable;
            let address = self.sections.get(section).filter(|_| offset < MOST_BYTES);
            let address = address.map(|base| base + offset as u64);
            let there = address.filter(|address| self.machine.memory.load(*address, bytes).is_ok());
            let there =
                there.ok_or_else(|| Error::new(format!("the variable {name} is not in {section}")))?;
            Ok((name.to_owned(), (there, bytes)))
        };
        self.elf.variables().map(place).collect()
    }

    /// The operations of controllers, by the names of the controllers.
    fn tables(&self, entries: &[TableEntry]) -> Result<BTreeMap<String, Table>, Error> {
        let members = members(&self.btf);
        // The first member at each place.
        let places: BTreeMap<usize, &Member<'_>> =
            members.iter().rev().map(|member| (member.byte, member)).collect();
        let mut tables = BTreeMap::new();
        for TableEntry { controller, flags, section, begin, size, .. } in entries {
            let mut found = Table { flags: *flags, ..Table::default() };
            let references = self.elf.references(section)?;
            for reference in references.iter().filter(|one| (*begin..begin + size).contains(&one.at)) {
                let member = places.get(&(reference.at - begin)).ok_or_else(damaged)?;
                self.operation(member, reference, &mut found)?;
            }
            tables.insert(controller.clone(), found);
        }
        Ok(tables)
    }

    /// Adds the program of an operation to a table.
    fn operation(
        &self,
        member: &Member<'_>,
        reference: &Reference<'_>,
        table: &mut Table,
    ) -> Result<(), Error> {
        let start = reference.section.and_then(|section| self.starts.get(section));
        let start =
            start.ok_or_else(|| Error::new(format!("{} is no program of the object", member.name)))?;
        if let Some((operation, _)) = OPERATIONS.iter().find(|(_, name)| *name == member.name) {
            table.entries[*operation as usize] = Some(start + reference.offset / 8);
        }
        if member.name == "cong_control" {
            table.control_arguments = self.btf.arguments(member).unwrap_or(usize::MAX);
        }
        Ok(())
    }
}
