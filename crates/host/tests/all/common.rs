//! What tests that need root share.

#[path = "../../../ports/tests/all/common/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use fairhaul_host::lab::Passed;
use fairhaul_host::namespace::{self, Namespace};
use fairhaul_units::Span;
use nix::fcntl::{Flock, FlockArg};

/// The number of tries, with pauses of 1, 2, 4, … s between them, because other work on the machine varies.
const TRIES: u32 = 7;

/// Whether this process is root; if not, reports that the test is skipped.
pub fn is_root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        skip::skipped("it needs root");
    }
    root
}

/// Repeats a run in real time until it is valid, because a busy machine makes runs invalid. If no try is valid,
/// the test fails with the reasons that `run` gives.
pub fn until_it_counts<T>(mut run: impl FnMut() -> Result<T, String>) -> T {
    let mut reasons = Vec::new();
    for attempt in 0..TRIES {
        if attempt > 0 {
            thread::sleep(Duration::from_secs(1 << (attempt - 1)));
        }
        match run() {
            Ok(found) => return found,
            Err(reason) => reasons.push(reason),
        }
    }
    panic!("no run of {TRIES} counted: {reasons:#?}")
}

/// Whether the router kept up: one packet in a hundred may be late by half a millisecond.
pub fn kept_up(passed: &Passed) -> Result<(), String> {
    let late = passed.lag.quantile(0.99).filter(|lag| *lag > Span::from_us(500));
    match late {
        Some(lag) => Err(format!("1 % of the packets were late by {lag} or more")),
        None if passed.load > 0.8 => Err(format!("the router was busy for {:.2} of the time", passed.load)),
        None => Ok(()),
    }
}

/// Whether the machine went on all the time: if more than a packet in a thousand is late by a round trip, losses come
/// from it, and goodput with them.
pub fn did_not_stop(passed: &Passed, rtt: Span) -> Result<(), String> {
    match passed.lag.quantile(0.999).filter(|lag| *lag > rtt) {
        Some(lag) => Err(format!("0.1 % of the packets were late by {lag} or more")),
        None => Ok(()),
    }
}

/// The network namespaces with a device of the lab that can be found by a process, a thread or a descriptor, and
/// the devices of the lab in this namespace. Resources of other programs are not included.
pub fn traces() -> BTreeSet<String> {
    let devices = fs::read_dir("/sys/class/net").expect("there are devices").flatten();
    let devices = devices.filter_map(|entry| entry.file_name().into_string().ok());
    let ours = devices.filter(|name| name.starts_with("lab"));
    let held = namespace::all().expect("they can be listed").into_iter().map(|(_, space)| space);
    let of_the_lab = held.chain(held_by_descriptors()).filter(has_device_of_the_lab);
    ours.chain(of_the_lab.map(|space| format!("net:[{}]", space.inode()))).collect()
}

fn has_device_of_the_lab(space: &Namespace) -> bool {
    let table = space.inside(|| fs::read_to_string("/proc/thread-self/net/dev"));
    table.is_ok_and(|table| table.lines().any(|line| line.trim_start().starts_with("lab")))
}

/// The namespaces of all processes' descriptors. Processes may end and descriptors may close while they are
/// listed.
fn held_by_descriptors() -> Vec<Namespace> {
    let entries =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let processes = entries(Path::new("/proc"));
    let links = processes.flat_map(|process| entries(&process.join("fd")).collect::<Vec<PathBuf>>());
    let of_networks = links
        .filter(|link| fs::read_link(link).is_ok_and(|target| target.to_string_lossy().starts_with("net:[")));
    of_networks.filter_map(|link| Namespace::at(&link).ok()).collect()
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
