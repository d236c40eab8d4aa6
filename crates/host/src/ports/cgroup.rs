//! The cgroup to whose connections a program is attached: a folder of the file system cgroup2, held open.

use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, fstatfs};

use crate::error::{Context, Error, Result};
use crate::sys::cgroups::root_of_cgroups;

/// The mounts of this process.
const MOUNTS: &str = "/proc/self/mountinfo";
/// Its cgroups.
const OWN: &str = "/proc/self/cgroup";

/// An open cgroup.
#[derive(Debug)]
pub struct Cgroup {
    folder: File,
    inode: u64,
    path: PathBuf,
}

impl Cgroup {
    /// Opens a cgroup by its path, which may begin at the root of the cgroups, as `systemd-cgls` prints it; `None` is
    /// that root, which has all processes of the host.
    pub fn open(name: Option<&str>) -> Result<Cgroup> {
        let path = match name {
            Some(name) if Path::new(name).is_absolute() && Path::new(name).is_dir() => name.into(),
            _ => root()?.join(name.unwrap_or_default().trim_start_matches('/')),
        };
        let unusable = |why: &str| {
            Error::refused(format!("{} {why}: wanted a folder of the file system cgroup2", path.display()))
        };
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let folder = opened.map_err(|error| unusable(&format!("cannot be opened ({error})")))?;
        if !fstatfs(&folder).is_ok_and(|system| system.filesystem_type() == CGROUP2_SUPER_MAGIC) {
            return Err(unusable("is no cgroup of version 2"));
        }
        let inode = folder.metadata()?.ino();
        Ok(Cgroup { folder, inode, path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it still exists; the kernel detaches the programs of a cgroup that is removed.
    pub fn exists(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| now.ino() == self.inode)
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

/// The cgroup of this process, which is also that of the processes that it starts.
pub fn of_this_process() -> Result<File> {
    let root = root_of_cgroups().when("cannot open the cgroups")?;
    let cgroups = fs::read_to_string(OWN)?;
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = own.ok_or_else(|| Error::failed("this process is in no cgroup of version 2"))?;
    Ok(File::open(format!("/proc/self/fd/{}/{own}", root.as_raw_fd()))?)
}

/// Where the cgroups of version 2 are mounted.
fn root() -> Result<PathBuf> {
    let mounts = fs::read_to_string(MOUNTS)?;
    mounts.lines().find_map(mounted).ok_or_else(|| {
        Error::refused(
            "no file system cgroup2 is mounted here, and the program is attached to a cgroup; for example: \
             mkdir /run/cgroup && mount -t cgroup2 none /run/cgroup",
        )
    })
}

/// The mount point in a line of `mountinfo`, if the whole file system cgroup2 is mounted there.
fn mounted(line: &str) -> Option<PathBuf> {
    let (mount, system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (part, point) = (fields.next()?, fields.next()?);
    // The kernel writes a space as an octal number; such a path cannot be meant.
    (system.starts_with("cgroup2 ") && part == "/" && !point.contains('\\')).then(|| point.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_all_cgroups_is_found() {
        let line = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(mounted(line), Some("/sys/fs/cgroup".into()));
        for other in [
            "30 24 0:26 /user.slice /mnt rw - cgroup2 none rw",
            "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
            "",
        ] {
            assert_eq!(mounted(other), None);
        }
    }

    #[test]
    fn a_folder_of_another_file_system_is_refused() {
        let refused = |name| match Cgroup::open(Some(name)) {
            Err(Error::Refused(sentence)) => sentence,
            other => panic!("{other:?}"),
        };
        assert!(refused("/proc").contains("is no cgroup of version 2"));
    }
}
