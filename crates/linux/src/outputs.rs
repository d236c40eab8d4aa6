//! What the program writes outside: answers, the record, and its clock.

#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, RawFd};
use std::ptr;

use fairhaul_host::variables;

/// The descriptor that a variable of the environment names.
fn descriptor(variable: &str) -> io::Result<RawFd> {
    let number = env::var(variable).ok().and_then(|text| text.parse().ok());
    number
        .ok_or_else(|| io::Error::other(format!("{variable} is not set: this library is for `fairhaul run`")))
}

/// The file whose descriptor a variable of the environment names.
pub fn file(variable: &str) -> io::Result<File> {
    let number = descriptor(variable)?;
    // SAFETY: the process that started the program passed this descriptor for this purpose alone.
    Ok(unsafe { File::from_raw_fd(number) })
}

/// Memory that is shared with the process that started the program, where the program writes its clock.
pub fn shared_clock() -> *mut u64 {
    let Ok(number) = descriptor(variables::CLOCK) else { return Box::leak(Box::new(0)) };
    // SAFETY: the kernel chooses the address, and nothing else uses the mapping.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            variables::CLOCK_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            number,
            0,
        )
    };
    if memory == libc::MAP_FAILED { Box::leak(Box::new(0)) } else { memory.cast() }
}
