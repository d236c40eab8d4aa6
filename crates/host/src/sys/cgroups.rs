//! The cgroups of the system, without a place where they are mounted.

#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// `FSOPEN_CLOEXEC` and `FSMOUNT_CLOEXEC`, and `FSCONFIG_CMD_CREATE` of `linux/mount.h`.
const CLOSE: libc::c_uint = 1;
const CREATE: libc::c_uint = 6;

/// Mounts the file system cgroup2 nowhere: the result is its root folder, and the mount ends with it.
pub fn root_of_cgroups() -> io::Result<OwnedFd> {
    // SAFETY: the call reads the name, a text that ends with a zero.
    let system = descriptor(unsafe { libc::syscall(libc::SYS_fsopen, c"cgroup2".as_ptr(), CLOSE) })?;
    let nothing = ptr::null::<libc::c_char>();
    // SAFETY: this command takes no texts.
    let made = unsafe { libc::syscall(libc::SYS_fsconfig, system.as_raw_fd(), CREATE, nothing, nothing, 0) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the arguments are plain numbers.
    descriptor(unsafe { libc::syscall(libc::SYS_fsmount, system.as_raw_fd(), CLOSE, 0) })
}

fn descriptor(number: libc::c_long) -> io::Result<OwnedFd> {
    let number = libc::c_int::try_from(number).map_err(io::Error::other)?;
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this call.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
