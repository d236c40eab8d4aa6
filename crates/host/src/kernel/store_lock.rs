//! The lock of the store of installed eBPF ports: the folder of the store itself, which only its owner can open. A
//! folder that other users could have made or could change is refused.
//!
//! A lock on a folder that every user can open, such as /run, could be held by any user for ever.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

use crate::error::{Context, Error, Result};
use crate::steps::warn;

/// The bits of a mode that let a group or other users write.
const OTHERS_WRITE: u32 = 0o022;
/// The bit of a folder in which users can remove only their own files.
const STICKY: u32 = 0o1000;

/// A store that no other process changes. When this is dropped, an empty folder is removed.
#[derive(Debug)]
pub struct StoreLock {
    folder: PathBuf,
    _locked: Flock<File>,
}

impl StoreLock {
    /// Creates the folder unless it exists, checks that only this user can change it, and waits for its lock.
    ///
    /// # Errors
    /// A refusal if other users could have made or could change the folder.
    pub fn of(folder: &Path) -> Result<StoreLock> {
        check_parents(folder)?;
        loop {
            let opened = match create(folder).and_then(|()| open(folder)) {
                // Another process has removed it meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(|error| unsafe_folder(folder, &error.to_string()))?,
            };
            check(folder, &opened.metadata().when(folder.display())?)?;
            let locked = wait(folder, opened)?;
            let inode = locked.metadata().when(folder.display())?.ino();
            // The process that had the lock may have removed the folder, and a third one may have made another.
            if fs::symlink_metadata(folder).is_ok_and(|now| now.ino() == inode) {
                return Ok(StoreLock { folder: folder.to_path_buf(), _locked: locked });
            }
        }
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // It fails if something is installed. The lock is released afterwards.
        let _ = fs::remove_dir(&self.folder);
    }
}

fn create(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

fn open(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(folder)
}

fn wait(folder: &Path, opened: File) -> Result<Flock<File>> {
    let opened = match Flock::lock(opened, FlockArg::LockExclusiveNonblock) {
        Err((opened, Errno::EWOULDBLOCK)) => opened,
        locked => return locked.map_err(|(_, error)| error).when(folder.display()),
    };
    warn("another fairhaul is installing or removing on this host; waiting until it is done");
    Flock::lock(opened, FlockArg::LockExclusive).map_err(|(_, error)| error).when(folder.display())
}

/// Refuses if other users could replace the folder or a folder that contains it.
fn check_parents(folder: &Path) -> Result<()> {
    let parent = folder.parent().filter(|_| folder.is_absolute());
    let parent = parent.ok_or_else(|| unsafe_folder(folder, "it is not an absolute path"))?;
    let parent = parent.canonicalize().map_err(|error| unsafe_folder(folder, &error.to_string()))?;
    for above in parent.ancestors() {
        let found = above.metadata().when(above.display())?;
        let shared = found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0;
        if shared || !is_trusted(&found) {
            let who = describe(&found);
            return Err(unsafe_folder(
                folder,
                &format!("other users can change {} ({who})", above.display()),
            ));
        }
    }
    Ok(())
}

/// Refuses a folder that other users have made or can open.
fn check(folder: &Path, found: &Metadata) -> Result<()> {
    if found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(unsafe_folder(folder, &format!("{}; wanted mode 700 of uid {}", describe(found), geteuid())))
}

fn is_trusted(found: &Metadata) -> bool {
    [0, geteuid().as_raw()].contains(&found.uid())
}

fn describe(found: &Metadata) -> String {
    format!("mode {:03o} of uid {}", found.mode() & 0o7777, found.uid())
}

fn unsafe_folder(folder: &Path, why: &str) -> Error {
    Error::refused(format!("{} cannot hold installed eBPF ports: {why}", folder.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    use super::*;

    /// A new folder of this test, whose parents only this user and root can change.
    fn private(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("fairhaul-{}-{name}", std::process::id()));
        create(&folder).expect("there is a folder for it");
        folder
    }

    fn set_mode(folder: &Path, mode: u32) {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    fn refusal(folder: &Path) -> String {
        match StoreLock::of(folder) {
            Err(Error::Refused(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_store_that_other_users_can_change_is_refused() {
        let parent = private("parent");
        let store = parent.join("store");
        symlink("/tmp", &store).expect("the folder is ours");
        assert!(refusal(&store).contains("cannot hold installed eBPF ports"));
        fs::remove_file(&store).expect("it is there");
        create(&store).expect("the folder is ours");
        set_mode(&store, 0o755);
        assert!(refusal(&store).contains("mode 755 of uid"));
        set_mode(&store, 0o700);
        set_mode(&parent, 0o777);
        assert!(refusal(&store).contains("other users can change"));
        set_mode(&parent, 0o1777);
        drop(StoreLock::of(&store).expect("in a sticky folder nobody else can replace it"));
        assert!(refusal(Path::new("store")).contains("it is not an absolute path"));
        assert!(refusal(&parent.join("none/store")).contains("No such file"));
        fs::remove_dir(parent).expect("the lock has removed the empty store");
    }

    /// Each holder finds the store that the one before has removed: a lock on the removed folder does not count.
    #[test]
    fn only_one_holds_the_lock_even_if_the_folder_is_removed_meanwhile() {
        let parent = private("race");
        let store = parent.join("store");
        let alone = parent.join("alone");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let lock = StoreLock::of(&store).expect("it is ours");
                        // It fails if another thread is between these two lines.
                        File::create_new(&alone).expect("no other holds the lock");
                        fs::remove_file(&alone).expect("it was made");
                        drop(lock);
                    }
                });
            }
        });
        fs::remove_dir(parent).expect("the lock has removed the empty store");
    }
}
