//! Loads an object into the kernel under a name: it is opened, renamed, given its parameters, checked by the
//! kernel's verifier, registered, and pinned if it is to stay.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use fairhaul_ports::{NAME_BYTES, PREFIX, PortParameter, TableEntry};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{
    Link, MapCore, MapType, Object, ObjectBuilder, OpenObject, PrintLevel, Program, ProgramType,
};

use super::install_spec::ResolvedInstall;
use super::probe;
use crate::error::{Context, Error, Result};
use crate::sys;

/// The map of an object that holds its parameters.
const DATA: &str = ".data";
/// The map of constants.
const CONSTANTS: &str = ".rodata";
/// The kernel registers a table with this flag by a link (`linux/bpf.h`).
const BPF_F_LINK: u32 = 1 << 13;
/// Flags of a controller (`net/tcp.h`): every user may choose it; it asks for accurate feedback on marks.
const NON_RESTRICTED: u32 = 1;
const NEEDS_ACCURATE_FEEDBACK: u32 = 4;
/// The number of final lines of the verifier's log that explain a rejection.
const LINES_SHOWN: usize = 12;

/// The messages of libbpf since they were last taken.
static LIBBPF_LOG: Mutex<String> = Mutex::new(String::new());

/// Whether an object has a program that writes and reads options of TCP.
pub fn has_options(elf: &[u8]) -> bool {
    fairhaul_ports::has_section(elf, "sockops")
}

/// Whether a controller asks for accurate feedback on marks (AccECN).
pub fn wants_accurate_feedback(install: &ResolvedInstall) -> bool {
    install.note.table.flags & NEEDS_ACCURATE_FEEDBACK != 0
}

/// A registered eBPF port, which is removed when this is dropped, unless it was pinned.
#[derive(Debug)]
pub struct Loaded {
    object: Object,
    link: Link,
    /// Of the program that writes and reads options, while it is attached to a cgroup.
    options: Option<Link>,
    /// Whether the kernel does not give it the accurate feedback on marks that it asks for.
    pub lacks_feedback: bool,
}

/// Has the kernel count how long programs run, until the result is dropped.
pub fn count_program_time() -> Result<OwnedFd> {
    Ok(sys::count_program_time()?)
}

/// Loads an eBPF port and registers it with the kernel: one that asks for accurate feedback on marks without it, where the
/// kernel gives controllers none.
pub fn load(install: &ResolvedInstall) -> Result<Loaded> {
    if !wants_accurate_feedback(install) {
        return load_with(install, None);
    }
    load_with(install, None).or_else(|_| {
        let loaded = load_with(install, Some(NON_RESTRICTED))?;
        Ok(Loaded { lacks_feedback: true, ..loaded })
    })
}

/// Loads it with its own flags, or with others.
fn load_with(install: &ResolvedInstall, flags: Option<u32>) -> Result<Loaded> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, append_log)));
    log();
    let explained = |error: libbpf_rs::Error| explain(&install.name, &error);
    let mut open = ObjectBuilder::default().open_memory(&install.elf).map_err(explained)?;
    name_table(&mut open, &install.note.table, &install.name, flags)?;
    fill(&mut open, &install.note.parameters, &install.values)?;
    let mut object = open.load().map_err(explained)?;
    let mut table = object
        .maps_mut()
        .find(|map| map.name() == install.note.table.variable.as_str())
        .ok_or_else(|| Error::refused("the object has no struct_ops table"))?;
    let link = table.attach_struct_ops().map_err(explained)?;
    Ok(Loaded { object, link, options: None, lacks_feedback: false })
}

impl Loaded {
    /// Attaches the program that writes and reads options of TCP to a cgroup, beside the programs of others, if the
    /// object has one.
    pub fn attach_options(&mut self, cgroup: impl AsFd) -> Result<()> {
        if let Some(program) =
            self.object.progs_mut().find(|program| program.prog_type() == ProgramType::SockOps)
        {
            self.options = Some(program.attach_cgroup(cgroup.as_fd().as_raw_fd()).map_err(io::Error::other)?);
        }
        Ok(())
    }

    /// What a controller that asks for accurate feedback on marks is in this kernel, as a sentence.
    pub fn feedback(&self, name: &str) -> String {
        if self.lacks_feedback {
            return format!(
                "Linux {} gives controllers no accurate feedback on marks (AccECN), as Linux 7.2 does: every connection of \
                 {name} is Reno, and none sends ECT(1)",
                probe::release()
            );
        }
        format!(
            "a connection of {name} answers marks in proportion only if the other host agrees to accurate feedback \
             (net.ipv4.tcp_ecn = 3 there) and its data leave with ECT(1), which Linux up to 7.3 does not set; otherwise it \
             is Reno. In a network whose queues take ECT(0) for L4S: --set ect0=on"
        )
    }

    /// How long its programs have run while [`count_program_time`] was in effect.
    pub fn ran_ns(&self) -> Result<u64> {
        let ids = self.object.progs().map(|program| Program::id_from_fd(program.as_fd()));
        let ids =
            ids.collect::<libbpf_rs::Result<Vec<u32>>>().when("cannot read the programs of an eBPF port")?;
        let own = ProgInfoIter::default().filter(|program| ids.contains(&program.id));
        Ok(own.map(|program| program.run_time_ns).sum())
    }

    /// Pins its parameters, its program for options and its registration, so that it stays when this process ends.
    pub fn pin(mut self, parameters: &Path, options: &Path, link: &Path) -> Result<()> {
        if let Some(mut data) =
            self.object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(DATA))
        {
            data.pin(parameters).when(parameters.display())?;
        }
        if let Some(attached) = &mut self.options {
            attached.pin(options).when(options.display())?;
        }
        self.link.pin(link).when(link.display())
    }
}

/// A name that no other process and no other port of this process uses.
pub fn hidden_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{:x}_{:x}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Writes the name, and other flags, into the table of operations, has the kernel register it by a link, which can be pinned, and leaves
/// other tables of the object alone.
fn name_table(open: &mut OpenObject, table: &TableEntry, name: &str, flags: Option<u32>) -> Result<()> {
    let mut is_there = false;
    for mut map in open.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        if map.name() != table.variable.as_str() {
            map.set_autocreate(false).when("a table of the object")?;
            continue;
        }
        map.set_map_flags(BPF_F_LINK).when("the table of the object")?;
        let place = table.name_at..table.name_at + NAME_BYTES;
        let Some(value) = map.initial_value_mut() else { continue };
        if let Some(room) = value.get_mut(place) {
            room.fill(0);
            room[..name.len()].copy_from_slice(name.as_bytes());
            is_there = true;
        }
        if let Some((flags, at)) = flags.zip(table.flags_at)
            && let Some(room) = value.get_mut(at..at + 4)
        {
            room.copy_from_slice(&flags.to_ne_bytes());
        }
    }
    if is_there {
        Ok(())
    } else {
        Err(Error::refused("the object has no struct_ops table with room for a name"))
    }
}

/// Writes the parameters into the maps of variables and of constants, by the ends of the maps' names.
fn fill(open: &mut OpenObject, parameters: &[PortParameter], values: &BTreeMap<String, u32>) -> Result<()> {
    for (section, constant) in [(DATA, false), (CONSTANTS, true)] {
        let mut here = parameters.iter().filter(|parameter| parameter.constant == constant).peekable();
        if here.peek().is_none() {
            continue;
        }
        let wrong = || Error::refused(format!("the parameters of the object are not where its {section} is"));
        let map = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(section));
        let mut map = map.ok_or_else(wrong)?;
        let bytes = map.initial_value_mut().ok_or_else(wrong)?;
        for parameter in here {
            let four = bytes.get_mut(parameter.offset..parameter.offset + 4).ok_or_else(wrong)?;
            four.copy_from_slice(&values[&parameter.name].to_ne_bytes());
        }
    }
    Ok(())
}

fn append_log(_: PrintLevel, line: String) {
    if let Ok(mut log) = LIBBPF_LOG.lock() {
        log.push_str(&line);
    }
}

fn log() -> String {
    LIBBPF_LOG.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default()
}

/// Why the kernel rejected it, with the end of the verifier's log.
fn explain(name: &str, error: &libbpf_rs::Error) -> Error {
    let log = log();
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n    ");
    let log = if last.is_empty() { String::new() } else { format!("\n    {last}") };
    Error::failed(format!("the kernel rejected {name}: {error}{log}"))
}
