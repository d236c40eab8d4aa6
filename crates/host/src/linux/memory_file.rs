//! Files that have no name and end with the processes that hold them.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A file in memory with this content, at whose beginning it stands.
pub fn memory_file(name: &str, content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// Lets child processes inherit a descriptor, and gives its number.
pub fn inherited(file: &File) -> io::Result<i32> {
    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
    Ok(file.as_raw_fd())
}
