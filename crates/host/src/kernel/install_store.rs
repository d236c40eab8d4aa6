//! The store of installed eBPF ports: a folder under /run, with a BPF file system for what is pinned in the
//! kernel, and a record of each eBPF port.
//!
//! ```text
//! /run/fairhaul/bpf/<name>/link     keeps the eBPF port registered with the kernel
//! /run/fairhaul/bpf/<name>/data     its parameters
//! /run/fairhaul/bpf/<name>/options  keeps its program for options of TCP attached to a cgroup, if it has one
//! /run/fairhaul/<name>.json         its record, with the scopes of which it is the default
//! ```
//!
//! A record is written before the change that it describes, so that every change can be undone.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fairhaul_ports::{Note, PortParameter};
use fairhaul_units::hint;
use nix::mount::{MsFlags, mount, umount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use serde::{Deserialize, Serialize};

use super::store_lock::StoreLock;
use crate::error::{Context, Error, Result};
use crate::lab::simulated_path::SimulatedPath;
use crate::ports::install_spec::is_name;
use crate::ports::owner::Owner;
use crate::steps::{Steps, warn};

/// The folder of the store, unless a request names another.
pub const FOLDER: &str = "/run/fairhaul";

/// The folder in it where the file system of pins is mounted.
const PINS: &str = "bpf";
/// The kernel's own files in every file system of pins, which cannot be removed.
const KERNELS_OWN: [&str; 2] = ["maps.debug", "progs.debug"];

/// The folder of installed eBPF ports.
#[derive(Clone, Debug)]
pub struct InstallStore {
    folder: PathBuf,
}

/// The record of an installed eBPF port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InstallRecord {
    /// Its name in the kernel.
    pub name: String,
    /// The controller that it ports.
    pub port: String,
    /// The version of Fairhaul that built it.
    pub version: String,
    /// The user who installed it; `None` in a record of a version that did not store it.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// Its parameters and their bounds, as far as they can be changed.
    pub parameters: Vec<PortParameter>,
    /// The former default of the host, if the port is the default of the host.
    pub default_before: Option<String>,
    /// The namespaces of which it is the default, by name, with their former defaults.
    pub namespaces: Vec<(String, String)>,
    /// The routes that use it, as `ip route` printed them before.
    pub routes: Vec<String>,
    /// The cgroup of its program for options of TCP, if it has one.
    #[serde(default)]
    pub cgroup: Option<String>,
}

impl InstallRecord {
    /// The record of an eBPF port that is not a default yet.
    pub fn new(name: &str, note: &Note) -> InstallRecord {
        InstallRecord {
            name: name.to_string(),
            port: note.name.clone(),
            version: note.version.clone(),
            owner: Some(Owner::here_and_now()),
            parameters: note.parameters.iter().filter(|parameter| !parameter.constant).cloned().collect(),
            default_before: None,
            namespaces: Vec::new(),
            routes: Vec::new(),
            cgroup: None,
        }
    }
}

impl InstallStore {
    /// The store at `folder`.
    pub fn new(folder: &Path) -> InstallStore {
        InstallStore { folder: folder.to_path_buf() }
    }

    /// Locks the store, and waits for the lock.
    pub fn lock(&self) -> Result<StoreLock> {
        StoreLock::of(&self.folder)
    }

    /// The refusal of a name that is not installed.
    pub fn not_installed(&self, name: &str) -> Error {
        let installed = self.names().unwrap_or_default();
        let near = match installed.is_empty() {
            true => "no eBPF port is installed".to_owned(),
            false => hint(name, installed.iter().map(String::as_str)),
        };
        Error::refused(format!("{name} is not installed; {near}"))
    }

    /// The folder of the pins of `name`.
    pub fn pins(&self, name: &str) -> PathBuf {
        self.bpf().join(name)
    }

    /// The pinned link of `name`.
    pub fn link(&self, name: &str) -> PathBuf {
        self.pins(name).join("link")
    }

    /// The pinned parameters of `name`.
    pub fn data(&self, name: &str) -> PathBuf {
        self.pins(name).join("data")
    }

    /// The pinned link of the program of `name` for options of TCP.
    pub fn options(&self, name: &str) -> PathBuf {
        self.pins(name).join("options")
    }

    fn bpf(&self) -> PathBuf {
        self.folder.join(PINS)
    }

    fn record(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Whether the file system of pins is mounted.
    pub fn mounted(&self) -> bool {
        statfs(&self.bpf()).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
    }

    /// Mounts the file system of pins in the folder, which is locked, unless it is mounted.
    pub fn prepare(&self, steps: Steps) -> Result<()> {
        if self.mounted() {
            return Ok(());
        }
        if in_private_mounts() {
            return Err(Error::refused(
                "this shell has a private mount namespace (e.g. from `ip netns exec`), and a file system \
                 mounted here would disappear with it; install from outside, with --namespace for a network \
                 namespace",
            ));
        }
        let bpf = self.bpf();
        let what = format!("mount a bpf file system at {}, accessible only to root", bpf.display());
        steps.step(what, || {
            DirBuilder::new().mode(0o700).recursive(true).create(&bpf).when(bpf.display())?;
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(Some("fairhaul"), &bpf, Some("bpf"), flags, Some("mode=0700")).when(bpf.display())
        })?;
        Ok(())
    }

    /// Unmounts the file system and removes the folder, if no eBPF port is left. With files that are not Fairhaul's
    /// both stay: what another program has pinned there would be lost.
    pub fn remove_if_empty(&self, steps: Steps) -> Result<()> {
        let bpf = self.bpf();
        if !bpf.exists() || !self.names()?.is_empty() {
            return Ok(());
        }
        let foreign = self.foreign()?;
        if !foreign.is_empty() {
            warn(format!(
                "{} stays, because these files in it are not Fairhaul's: {}; remove them, then repeat `fairhaul \
                 kernel remove --all`",
                self.folder.display(),
                foreign.join(", ")
            ));
            return Ok(());
        }
        if self.mounted() {
            let what = format!("unmount {}", bpf.display());
            steps.step(what, || umount(&bpf).when(bpf.display()))?;
        }
        steps.step(format!("remove {}", self.folder.display()), || {
            fs::remove_dir(&bpf).or_else(ignore_missing).when(bpf.display())?;
            fs::remove_dir(&self.folder).when(self.folder.display())
        })?;
        Ok(())
    }

    /// All eBPF ports with a record or a pin.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        let (files, pins) = self.listed()?;
        let recorded = files.iter().filter_map(|file| recorded(file)).map(str::to_string);
        Ok(recorded.chain(pins.into_iter().filter(|name| self.is_pinned(name))).collect())
    }

    /// The files and pins that do not belong to an eBPF port.
    fn foreign(&self) -> Result<Vec<String>> {
        let (files, pins) = self.listed()?;
        let files = files.into_iter().filter(|file| file != PINS && recorded(file).is_none());
        let pins =
            pins.into_iter().filter(|pin| !KERNELS_OWN.contains(&pin.as_str()) && !self.is_pinned(pin));
        Ok(files.chain(pins.map(|pin| format!("{PINS}/{pin}"))).collect())
    }

    /// The files of the folder, and those of the file system of pins.
    fn listed(&self) -> Result<(Vec<String>, Vec<String>)> {
        let files = listed(&self.folder).when(self.folder.display())?;
        let pins = if self.mounted() { listed(&self.bpf()).when(self.bpf().display())? } else { Vec::new() };
        Ok((files, pins))
    }

    fn is_pinned(&self, name: &str) -> bool {
        is_name(name) && self.pins(name).is_dir()
    }

    /// The record of `name`; `None` if there is none, if it cannot be read, or if it is not one of that name.
    pub fn read(&self, name: &str) -> Option<InstallRecord> {
        let text = is_name(name).then(|| fs::read_to_string(self.record(name)).ok())??;
        let record: InstallRecord = serde_json::from_str(&text).ok()?;
        let is_inside = |parameter: &PortParameter| u32::try_from(parameter.offset).is_ok();
        (record.name == name && record.parameters.iter().all(is_inside)).then_some(record)
    }

    /// Whether there is a record of `name` that cannot be read.
    pub fn is_damaged(&self, name: &str) -> bool {
        self.record(name).exists() && self.read(name).is_none()
    }

    /// Writes a record atomically.
    pub fn write(&self, record: &InstallRecord) -> Result<()> {
        let path = self.record(&record.name);
        let beside = path.with_extension("new");
        let text = serde_json::to_string(record).when("a record")?;
        fs::write(&beside, text).when(beside.display())?;
        fs::rename(&beside, &path).when(path.display())
    }

    /// Removes the pins and the record of `name`.
    pub fn remove(&self, name: &str) -> Result<()> {
        for pin in [self.link(name), self.data(name), self.options(name)] {
            fs::remove_file(&pin).or_else(ignore_missing).when(pin.display())?;
        }
        fs::remove_dir(self.pins(name)).or_else(ignore_missing).when(self.pins(name).display())?;
        for file in [self.record(name).with_extension("new"), self.record(name)] {
            fs::remove_file(&file).or_else(ignore_missing).when(file.display())?;
        }
        Ok(())
    }
}

/// The name in the name of a record's file, which may be a record that was not written completely.
fn recorded(file: &str) -> Option<&str> {
    let name = file.strip_suffix(".json").or_else(|| file.strip_suffix(".new"));
    name.filter(|name| is_name(name))
}

/// Whether this process is in another mount namespace than PID 1. In the program of the engine `linux` all programs of the
/// user are in one that is not that of PID 1, and lasts as long as they do.
fn in_private_mounts() -> bool {
    if SimulatedPath::is_here() {
        return false;
    }
    let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    matches!((of("self"), of("1")), (Some(own), Some(first)) if own != first)
}

fn listed(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Ignores the error of removing a file that does not exist.
fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
