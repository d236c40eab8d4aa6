//! Where installed twins are kept: a folder of ours under /run, in it a file system of ours for what
//! is pinned in the kernel, and a record of each twin.
//!
//! ```text
//! /run/fairhaul/bpf/<name>/link     as long as it is there, the kernel has the twin
//! /run/fairhaul/bpf/<name>/data     its parameters
//! /run/fairhaul/<name>.json         what it is, and what it was made the default of
//! ```
//!
//! A record is written before what it tells of is done, so that whatever is there can be undone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fairhaul_twins::{Note, Parameter};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount, umount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use crate::error::{Context, Error, Result};
use crate::steps::Steps;

/// Where it is unless a request says otherwise.
pub const PLACE: &str = "/run/fairhaul";

/// The folder of installed twins.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
}

/// What is known of an installed twin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its name in the kernel.
    pub name: String,
    /// The controller whose twin it is.
    pub twin: String,
    /// The version of Fairhaul that it was built by.
    pub version: String,
    /// Who installed it; `None` in a record of a version that did not say.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// What may be changed, and within what.
    pub parameters: Vec<Parameter>,
    /// The default before it, where it was made the host's.
    pub default_before: Option<String>,
    /// The namespaces whose default it was made, by name, and their defaults before.
    pub namespaces: Vec<(String, String)>,
    /// The routes that were given it, as `ip route` has them without it.
    pub routes: Vec<String>,
}

impl Record {
    /// The record of a twin that nothing has as its default yet.
    pub fn new(name: &str, note: &Note) -> Record {
        Record {
            name: name.to_string(),
            twin: note.name.clone(),
            version: note.version.clone(),
            owner: Some(Owner::here_and_now()),
            parameters: note.parameters.clone(),
            default_before: None,
            namespaces: Vec::new(),
            routes: Vec::new(),
        }
    }
}

impl Place {
    /// The place at `folder`.
    pub fn new(folder: &Path) -> Place {
        Place { folder: folder.to_path_buf() }
    }

    /// Waits until nobody else changes anything in places of this folder's parent. The folder itself may
    /// come and go.
    pub fn lock(&self) -> Result<Flock<File>> {
        let parent = self.folder.parent().unwrap_or(Path::new("/"));
        let folder = File::open(parent).when(parent.display())?;
        Flock::lock(folder, FlockArg::LockExclusive)
            .map_err(|(_, error)| Error::failed(format!("cannot lock the folder: {error}")))
    }

    /// The folder of what `name` has pinned.
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

    /// Whether the file system of pins is there.
    pub fn mounted(&self) -> bool {
        statfs(&self.bpf()).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
    }

    /// Makes the folder and the file system in it, where they are not there yet.
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

    /// Takes both away again where nothing is in them.
    pub fn vacate(&self, steps: Steps) -> Result<()> {
        if !self.folder.exists() || !self.names()?.is_empty() {
            return Ok(());
        }
        let bpf = self.bpf();
        if self.mounted() {
            let what = format!("unmount {}", bpf.display());
            steps.step(what, || umount(&bpf).when(bpf.display()))?;
        }
        steps.step(format!("remove {}", self.folder.display()), || {
            fs::remove_dir(&bpf).or_else(gone).when(bpf.display())?;
            fs::remove_dir(&self.folder).when(self.folder.display())
        })?;
        Ok(())
    }

    /// All twins of which there is a trace: a record, or something pinned.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for name in listed(&self.folder).when(self.folder.display())? {
            found.extend(name.strip_suffix(".json").map(str::to_string));
        }
        if self.mounted() {
            // The kernel's own files there are no folders.
            let pins = listed(&self.bpf()).when(self.bpf().display())?;
            found.extend(pins.into_iter().filter(|name| self.pins(name).is_dir()));
        }
        Ok(found)
    }

    /// The record of `name`; `None` where there is none, or one that cannot be read.
    pub fn read(&self, name: &str) -> Option<Record> {
        serde_json::from_str(&fs::read_to_string(self.record(name)).ok()?).ok()
    }

    /// Writes a record, whole or not at all.
    pub fn write(&self, record: &Record) -> Result<()> {
        let path = self.record(&record.name);
        let beside = path.with_extension("new");
        let text = serde_json::to_string(record).when("a record")?;
        fs::write(&beside, text).when(beside.display())?;
        fs::rename(&beside, &path).when(path.display())
    }

    /// Removes what is pinned of `name`, and its record.
    pub fn forget(&self, name: &str) -> Result<()> {
        for pin in [self.link(name), self.data(name)] {
            fs::remove_file(&pin).or_else(gone).when(pin.display())?;
        }
        fs::remove_dir(self.pins(name)).or_else(gone).when(self.pins(name).display())?;
        for file in [self.record(name).with_extension("new"), self.record(name)] {
            fs::remove_file(&file).or_else(gone).when(file.display())?;
        }
        Ok(())
    }
}

/// Whether this process sees other mounts than the host's first.
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

/// What is not there need not be removed.
fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
