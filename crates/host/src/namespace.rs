//! Network namespaces: new ones without a name, which are removed with the last descriptor and thread in them,
//! and existing ones.
//!
//! A thread can be in another namespace than its process, so nothing here forks.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};

use crate::{programs, sys};

/// The folder of the namespaces that `ip netns` has named.
const NAMED: &str = "/run/netns";

/// A network namespace, held open.
#[derive(Debug)]
pub struct Namespace {
    file: File,
    inode: u64,
    /// Where it was found.
    found: PathBuf,
}

impl Namespace {
    /// Creates a namespace, in which no device is up yet, not even loopback.
    pub fn new() -> io::Result<Namespace> {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Namespace::own()
        });
        made.join().expect("making a namespace does not panic")
    }

    /// The namespace of this thread.
    pub fn own() -> io::Result<Namespace> {
        Namespace::at(Path::new("/proc/thread-self/ns/net"))
    }

    /// The namespace that `ip netns` lists as `name`, which must not be a path.
    pub fn named(name: &str) -> io::Result<Namespace> {
        Namespace::at(&Path::new(NAMED).join(name))
    }

    /// The namespace that a file represents.
    pub fn at(path: &Path) -> io::Result<Namespace> {
        // A pipe instead of a namespace would block for ever.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        // A file can be left without a namespace mounted on it.
        if fstatfs(&file)?.filesystem_type() != NSFS_MAGIC {
            return Err(io::Error::other("it is a file, and no namespace"));
        }
        let inode = file.metadata()?.ino();
        Ok(Namespace { file, inode, found: path.to_owned() })
    }

    /// Its inode number, which is the same for all of its descriptors.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// The path of its file, as this process and its children can open it.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into()
    }

    /// Moves this thread into the namespace permanently.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.file, CloneFlags::CLONE_NEWNET)?)
    }

    /// Runs `act` in a new thread in the namespace and returns its result. Sockets that it opens stay in the
    /// namespace.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                act()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The kernel's table of its devices, as in `/proc/net/dev`.
    pub fn device_table(&self) -> io::Result<String> {
        // Without root a namespace cannot be entered, but the table of a task in it can be read.
        let of_task = |file: &Path| Some(file.parent()?.parent()?.join("net/dev"));
        self.inside(|| fs::read_to_string("/proc/thread-self/net/dev")).or_else(|error| {
            match of_task(&self.found) {
                Some(table) if error.kind() == io::ErrorKind::PermissionDenied => fs::read_to_string(table),
                _ => Err(error),
            }
        })
    }

    /// Runs `ip` with these arguments in the namespace.
    pub fn ip(&self, words: &str) -> io::Result<()> {
        self.inside(|| ip(words).map(drop))
    }
}

/// Runs `ip` with these arguments in the namespace of this thread, and returns its output.
pub fn ip(words: &str) -> io::Result<String> {
    run_ip(words, command()?.args(words.split_whitespace()), "")
}

/// Runs `ip` once for all of these lines, each of which has arguments as for [`ip`].
pub fn ip_batch(lines: &str) -> io::Result<()> {
    run_ip("-batch", command()?.args(["-batch", "-"]), lines).map(drop)
}

fn command() -> io::Result<Command> {
    programs::command("ip", "iproute2")
}

fn run_ip(what: &str, command: &mut Command, input: &str) -> io::Result<String> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What a process that is killed had begun must not change a route after another has put it back.
    sys::end_with_parent(piped);
    let mut child = piped.spawn()?;
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    let done = child.wait_with_output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("ip {what}: {}", stderr.trim())))
}

/// Every namespace that can be found by a name, a process or a thread, with that name or path. Names come before
/// processes.
pub fn all() -> io::Result<Vec<(String, Namespace)>> {
    let mut namespaces = BTreeMap::new();
    let mut add = |label: String, path: PathBuf| {
        // Processes that have ended meanwhile and files that are no namespaces are skipped.
        if let Ok(namespace) = Namespace::at(&path) {
            namespaces.entry(namespace.inode()).or_insert((label, namespace));
        }
    };
    for name in entries(Path::new(NAMED)) {
        add(name.clone(), Path::new(NAMED).join(name));
    }
    for process in entries(Path::new("/proc")).into_iter().filter(|name| name.parse::<u32>().is_ok()) {
        let tasks = Path::new("/proc").join(&process).join("task");
        for task in entries(&tasks) {
            add(format!("process {process}"), tasks.join(task).join("ns/net"));
        }
    }
    Ok(namespaces.into_values().collect())
}

/// The names in a folder; none if the folder does not exist.
pub fn entries(folder: &Path) -> Vec<String> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    list.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
