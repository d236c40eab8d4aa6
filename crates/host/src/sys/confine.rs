//! Starts a program of the user with no rights but those of that user.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use caps::{CapSet, CapsHashSet};
use nix::errno::Errno;
use nix::sys::prctl::set_no_new_privs;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::SigSet;
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid, setsid};

/// Numbers of capabilities end before this.
const MOST_CAPABILITIES: libc::c_ulong = 64;

/// Has a program start as that user and group, if they are given, without capabilities, without a way to more, in a session
/// of its own, and at normal priority.
pub fn confine(command: &mut Command, user: Option<(u32, u32)>) {
    let none = SigSet::empty();
    let confine = move || {
        none.thread_set_mask()?;
        setsid()?;
        let normal = libc::sched_param { sched_priority: 0 };
        // SAFETY: 0 is this process, and the parameter outlives the call.
        Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const normal) })?;
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        set_no_new_privs()?;
        drop_bounding_set()?;
        // SAFETY: the call takes plain numbers.
        Errno::result(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) })?;
        if let Some((uid, gid)) = user {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            setgroups(&[gid])?;
            setresgid(gid, gid, gid)?;
            setresuid(uid, uid, uid)?;
        }
        for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
            caps::set(None, set, &CapsHashSet::new()).map_err(io::Error::other)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec these are system calls, which change nothing but the new process.
    unsafe { command.pre_exec(confine) };
}

/// No file can give back a capability.
fn drop_bounding_set() -> io::Result<()> {
    for capability in 0..MOST_CAPABILITIES {
        // SAFETY: the call takes a plain number, which it refuses if it is not that of a capability.
        let done = Errno::result(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability) });
        match done {
            Ok(_) => {}
            Err(Errno::EINVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
