//! The store of installed eBPF ports: a folder under /run, with a BPF file system for what is pinned in the
//! kernel, and a record of each eBPF port.
//!
//! ```text
//! /run/fairhaul/bpf/<name>/link     keeps the eBPF port registered with the kernel
//! /run/fairhaul/bpf/<name>/data     its parameters
//! /run/fairhaul/<name>.json         its record, with the scopes of which it is the default
//! ```
//!
//! A record is written before the change that it describes, so that every change can be undone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairhaul_twins::{Note, PortParameter};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount, umount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use crate::error::{Context, Error, Result};
use crate::steps::Steps;

/// The folder of the store, unless a request names another.
pub const FOLDER: &str = "/run/fairhaul";

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
    pub twin: String,
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
    /// The routes that use it, as `ip route` has them without it.
    pub routes: Vec<String>,
}

impl InstallRecord {
    /// The record of an eBPF port that is not a default yet.
    pub fn new(name: &str, note: &Note) -> InstallRecord {
        InstallRecord {
            name: name.to_string(),
            twin: note.name.clone(),
            version: note.version.clone(),
            owner: Some(Owner::here_and_now()),
            parameters: note.parameters.iter().filter(|parameter| !parameter.constant).cloned().collect(),
            default_before: None,
            namespaces: Vec::new(),
            routes: Vec::new(),
        }
    }
}

impl InstallStore {
    /// The store at `folder`.
    pub fn new(folder: &Path) -> InstallStore {
        InstallStore { folder: folder.to_path_buf() }
    }

    /// Locks all stores in the parent of this folder, and waits for the lock. The folder itself may be created
    /// and removed meanwhile.
    pub fn lock(&self) -> Result<Flock<File>> {
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        let folder = File::open(parent).when(parent.display())?;
        Flock::lock(folder, FlockArg::LockExclusive)
            .map_err(|(_, error)| Error::failed(format!("cannot lock the folder: {error}")))
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

    fn bpf(&self) -> PathBuf {
        self.folder.join("bpf")
    }

    fn record(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Whether the file system of pins is mounted.
    pub fn mounted(&self) -> bool {
        statfs(&self.bpf()).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
    }

    /// Creates the folder and mounts the file system in it, unless both exist.
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
            fs::create_dir_all(&bpf).when(bpf.display())?;
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(Some("fairhaul"), &bpf, Some("bpf"), flags, Some("mode=0700")).when(bpf.display())
        })?;
        Ok(())
    }

    /// Unmounts the file system and removes the folder, if no eBPF port is left.
    pub fn remove_if_empty(&self, steps: Steps) -> Result<()> {
        if !self.folder.exists() || !self.names()?.is_empty() {
            return Ok(());
        }
        let bpf = self.bpf();
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
        let mut names = BTreeSet::new();
        for name in listed(&self.folder).when(self.folder.display())? {
            names.extend(name.strip_suffix(".json").map(str::to_string));
        }
        if self.mounted() {
            // The kernel's own files there are no folders.
            let pins = listed(&self.bpf()).when(self.bpf().display())?;
            names.extend(pins.into_iter().filter(|name| self.pins(name).is_dir()));
        }
        Ok(names)
    }

    /// The record of `name`; `None` if there is none or it cannot be read.
    pub fn read(&self, name: &str) -> Option<InstallRecord> {
        serde_json::from_str(&fs::read_to_string(self.record(name)).ok()?).ok()
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
        for pin in [self.link(name), self.data(name)] {
            fs::remove_file(&pin).or_else(ignore_missing).when(pin.display())?;
        }
        fs::remove_dir(self.pins(name)).or_else(ignore_missing).when(self.pins(name).display())?;
        for file in [self.record(name).with_extension("new"), self.record(name)] {
            fs::remove_file(&file).or_else(ignore_missing).when(file.display())?;
        }
        Ok(())
    }
}

/// Whether this process is in another mount namespace than PID 1.
fn in_private_mounts() -> bool {
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
