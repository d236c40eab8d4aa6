//! Reads an object file that a user has named, as root: what was checked is what is read, and nothing but a regular file
//! is opened.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use super::owner::Owner;
use crate::error::{Error, Result};
use crate::steps::warn;

/// The largest object that is read, bytes; those of Fairhaul have some tens of kilobytes.
const LARGEST: u64 = 16 << 20;

/// The bytes of the file, which is opened once. A warning names a file that other users can change.
///
/// # Errors
/// A refusal if it cannot be read, is a symbolic link, is no regular file, or is too large.
pub fn read(path: &str) -> Result<Vec<u8>> {
    let unreadable = |error: io::Error| Error::refused(format!("{path}: {error}"));
    let refuse = |what: &str| {
        let most = LARGEST >> 20;
        Error::refused(format!("{path} {what}: wanted an object file of eBPF, of at most {most} MB"))
    };
    // `O_PATH` finds the file without opening it: opening a pipe would block, and opening a device can have effects.
    let found = OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path);
    let found = found.map_err(unreadable)?;
    let is = found.metadata().map_err(unreadable)?;
    if is.is_symlink() {
        return Err(refuse("is a symbolic link; name the file to which it leads"));
    }
    if !is.is_file() {
        return Err(refuse("is not a regular file"));
    }
    let file = File::open(format!("/proc/self/fd/{}", found.as_raw_fd())).map_err(unreadable)?;
    let mut elf = Vec::new();
    // The file may grow while it is read.
    file.take(LARGEST + 1).read_to_end(&mut elf).map_err(unreadable)?;
    if elf.len() as u64 > LARGEST {
        return Err(refuse("is too large"));
    }
    if let Some(who) = others(&is, &Owner::here_and_now()) {
        warn(format!("{path} can be changed by {who}, who thereby chooses a program for the kernel"));
    }
    Ok(elf)
}

/// Who else can change a file: its owner, if that is neither root nor the caller, its group, or all users.
fn others(is: &Metadata, caller: &Owner) -> Option<String> {
    if ![0, caller.uid].contains(&is.uid()) {
        return Some(format!("its owner (uid {})", is.uid()));
    }
    match (is.mode() & 0o002 != 0, is.mode() & 0o020 != 0) {
        (true, _) => Some("every user".into()),
        (false, true) if is.gid() != 0 => Some(format!("its group (gid {})", is.gid())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("fairhaul-{}-{name}.bpf.o", std::process::id()))
    }

    fn refusal(path: &str) -> String {
        match read(path) {
            Err(Error::Refused(sentence)) => sentence,
            other => panic!("{path}: {other:?}"),
        }
    }

    /// Opening a pipe blocks until it has a writer.
    #[test]
    fn only_a_regular_file_is_opened() {
        let (pipe, link) = (path("pipe"), path("link"));
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("there is a folder for it");
        for path in [pipe.to_str().expect("it is text"), "/dev/null", "/tmp"] {
            assert!(refusal(path).contains("is not a regular file"));
        }
        symlink("/etc/hostname", &link).expect("there is a folder for it");
        assert!(refusal(link.to_str().expect("it is text")).contains("is a symbolic link"));
        assert!(refusal("/proc/self/none.o").contains("No such file"));
        assert!(refusal("a\0b.o").starts_with("a\0b.o: "));
        fs::remove_file(&pipe).and_then(|()| fs::remove_file(&link)).expect("they are there");
    }

    /// A file of 1 TB without contents takes no room on the disk.
    #[test]
    fn a_huge_file_is_refused_and_not_read_into_memory() {
        let huge = path("huge");
        File::create(&huge).and_then(|file| file.set_len(1 << 40)).expect("the disk has sparse files");
        assert!(refusal(huge.to_str().expect("it is text")).contains("is too large"));
        fs::remove_file(&huge).expect("it is there");
    }

    #[test]
    fn whoever_else_can_change_the_file_is_named() {
        let file = path("shared");
        fs::write(&file, "x").expect("there is a folder for it");
        let caller = |uid| Owner { uid, user: String::new(), at: String::new() };
        let own = fs::metadata(&file).expect("it is there").uid();
        let with = |mode, uid| {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it is ours");
            others(&fs::metadata(&file).expect("it is there"), &caller(uid))
        };
        assert_eq!(with(0o644, own), None);
        assert_eq!(with(0o666, own).as_deref(), Some("every user"));
        if own != 0 {
            assert_eq!(with(0o600, own + 1), Some(format!("its owner (uid {own})")));
        }
        fs::remove_file(&file).expect("it is there");
    }
}
