//! What tests that need root share.
#![allow(dead_code, reason = "each test file uses its share")]

use std::fs::File;

use nix::fcntl::{Flock, FlockArg};

/// Whether this is root. Where it is not, says that the test is skipped.
pub fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

/// Waits until no other test that needs root runs on this machine; none begins while this is held.
pub fn alone() -> Flock<File> {
    locked(FlockArg::LockExclusive)
}

/// The same, but for tests that take a small part of the machine, and bear others that do.
pub fn beside_its_like() -> Flock<File> {
    locked(FlockArg::LockShared)
}

fn locked(how: FlockArg) -> Flock<File> {
    let folder = File::open("/run").expect("a system has a folder for what runs");
    Flock::lock(folder, how).expect("a folder can be locked")
}
