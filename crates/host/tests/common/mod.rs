//! What tests that need root share.

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
    let folder = File::open("/run").expect("a system has a folder for what runs");
    Flock::lock(folder, FlockArg::LockExclusive).expect("a folder can be locked")
}
