//! The length of a thread's turn under the normal scheduler.

#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::io;

/// The kernel's `sched_attr` in its first version, of 48 bytes.
#[repr(C)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Lets this thread run for `ns` at a time under the normal scheduler, which then wakes it before threads that may run
/// for longer, and takes no time from them. The kernel accepts 0.1 ms or more; before Linux 6.12 this has no effect.
pub fn set_slice(ns: u64) -> io::Result<()> {
    let attributes = SchedulingAttributes {
        size: size_of::<SchedulingAttributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        // SAFETY: the call reads a number of this process.
        nice: unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) },
        priority: 0,
        runtime_ns: ns,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: 0 is this thread, and the kernel reads as many bytes of the attributes as their size says.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_shorten_its_turns_without_root() {
        std::thread::spawn(|| set_slice(100_000).expect("it needs no capability")).join().expect("it ends");
    }
}
