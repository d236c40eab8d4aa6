//! A user namespace for a process that is not root. In it the process has all capabilities over the network namespaces
//! and devices that it creates there, and none over the machine.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::error::{Error, Result};
use crate::namespace::Namespace;

/// The inode number of the first user namespace, `PROC_USER_INIT_INO` of the kernel.
const INITIAL: u64 = 0xEFFF_FFFD;

/// Whether this process is in the machine's own user namespace, where its capabilities apply to the machine.
pub fn is_initial() -> bool {
    // A kernel without user namespaces has no such file.
    fs::metadata("/proc/self/ns/user").map_or(true, |file| file.ino() == INITIAL)
}

/// Moves this process, which must have one thread only, into a new user namespace, where its user is root.
///
/// # Errors
/// A refusal that says what forbids it, and what an administrator can do.
pub fn enter() -> Result<()> {
    let (user, group) = (geteuid(), getegid());
    let entered = unshare(CloneFlags::CLONE_NEWUSER).map_err(io::Error::from).and_then(|()| {
        // The kernel lets an ordinary user map a group only if supplementary groups can no longer be given up.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
        // A security module may let a process enter, and then refuse it every capability.
        Namespace::new().map(drop)
    });
    entered.map_err(|error| Error::refused(refusal(&error, &Restrictions::read(Path::new("/proc")))))
}

/// What the machine says about user namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Restrictions {
    /// Whether the kernel has them.
    supported: bool,
    /// The limit of their number in this user namespace.
    most: Option<u64>,
    /// Debian's switch for ordinary users.
    debian: Option<u64>,
    /// AppArmor's switch for programs without a profile.
    apparmor: Option<u64>,
    /// Whether a seccomp filter applies to this process.
    filtered: bool,
}

impl Restrictions {
    /// As the files under `proc` say.
    fn read(proc: &Path) -> Restrictions {
        let number = |file: &str| fs::read_to_string(proc.join("sys").join(file)).ok()?.trim().parse().ok();
        let status = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
        Restrictions {
            supported: proc.join("self/ns/user").exists(),
            most: number("user/max_user_namespaces"),
            debian: number("kernel/unprivileged_userns_clone"),
            apparmor: number("kernel/apparmor_restrict_unprivileged_userns"),
            filtered: status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"])),
        }
    }
}

/// What forbids the namespace, and what to do.
fn refusal(error: &io::Error, restrictions: &Restrictions) -> String {
    let full = error.raw_os_error() == Some(Errno::ENOSPC as i32);
    let (reason, remedy) = match restrictions {
        Restrictions { supported: false, .. } => {
            ("this kernel has no user namespaces (CONFIG_USER_NS)".into(), "")
        }
        Restrictions { most: Some(0), .. } => (
            "the limit user.max_user_namespaces is 0".into(),
            "or have an administrator raise it: sysctl -w user.max_user_namespaces=10000",
        ),
        Restrictions { most: Some(most), .. } if full => (
            format!("the limit user.max_user_namespaces ({most}) or user.max_net_namespaces is reached"),
            "or have an administrator raise it with sysctl -w",
        ),
        Restrictions { debian: Some(0), .. } => (
            "kernel.unprivileged_userns_clone is 0".into(),
            "or have an administrator allow it: sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        Restrictions { apparmor: Some(1..), .. } => (
            "AppArmor restricts it (kernel.apparmor_restrict_unprivileged_userns is 1)".into(),
            "or have an administrator install an AppArmor profile for fairhaul-host (see \"Without root\" in \
             docs/lab.md), or allow it to all programs: sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        Restrictions { filtered: true, .. } => (
            format!("a seccomp filter applies to this process, as in a container ({error})"),
            "or start the container with a filter that allows unshare, for example with --security-opt \
             seccomp=unconfined",
        ),
        _ => (format!("the kernel answers {error}, perhaps because of a chroot or a security module"), ""),
    };
    let separator = if remedy.is_empty() { "" } else { ", " };
    format!(
        "the lab needs root or a user namespace, and an ordinary user cannot create one here: {reason}. Run the \
         command as root{separator}{remedy}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(errno: Errno, restrictions: Restrictions) -> String {
        refusal(&errno.into(), &Restrictions { supported: true, ..restrictions })
    }

    #[test]
    fn every_restriction_has_its_reason_and_its_remedy() {
        let none = Restrictions::default();
        for (errno, restrictions, words) in [
            (Errno::ENOSPC, Restrictions { most: Some(0), ..none.clone() }, "max_user_namespaces=10000"),
            (Errno::ENOSPC, Restrictions { most: Some(9), ..none.clone() }, "(9) or user.max_net_namespaces"),
            (Errno::EPERM, Restrictions { debian: Some(0), ..none.clone() }, "unprivileged_userns_clone=1"),
            (Errno::EPERM, Restrictions { apparmor: Some(1), ..none.clone() }, "an AppArmor profile"),
            (Errno::EPERM, Restrictions { filtered: true, ..none.clone() }, "seccomp=unconfined"),
            (Errno::EPERM, none.clone(), "a security module"),
        ] {
            let sentence = said(errno, restrictions);
            assert!(sentence.contains(words) && sentence.contains("needs root"), "{sentence}");
        }
        assert!(refusal(&Errno::EINVAL.into(), &none).contains("CONFIG_USER_NS"));
    }

    #[test]
    fn restrictions_are_read_from_the_files_of_the_kernel() {
        let folder = std::env::temp_dir().join(format!("fairhaul-restrictions-{}", std::process::id()));
        for (file, text) in [
            ("self/ns/user", ""),
            ("self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"),
            ("sys/user/max_user_namespaces", "7\n"),
            ("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n"),
        ] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        let read = Restrictions::read(&folder);
        fs::remove_dir_all(&folder).expect("it is there");
        let expected =
            Restrictions { supported: true, most: Some(7), debian: None, apparmor: Some(1), filtered: true };
        assert_eq!(read, expected);
    }
}
