//! Checks for leftovers of a lab or of a self-test on this machine, and describes how to remove them.
//!
//! By design nothing is left; this verifies it in the kernel's own lists. Without root it verifies what belongs to the
//! user who asks.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use fairhaul_ports::PREFIX;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::interface::DEVICE;
use crate::error::{Context, Result};
use crate::namespace;
use crate::ports::{capabilities, congestion};
use crate::variables;

/// The name of this program, as the kernel has it.
const PROGRAM: &str = "fairhaul-host";
/// The name of the program of the engine `linux`, which has the variable of its request.
const LINUX: &str = "linux";
/// The time in which a killed process must end.
const DIES: Duration = Duration::from_secs(5);

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clean {
    /// Whether to kill leftover processes.
    kill: bool,
}

/// A leftover.
#[derive(Debug, PartialEq, Serialize)]
struct Left {
    what: String,
    /// How to remove it.
    remedy: String,
}

/// Finds leftovers and running processes; without root, those of this user.
///
/// # Errors
/// A process that cannot be ended.
pub fn clean(request: &Clean) -> Result<Value> {
    let (orphans, _) = programs();
    if request.kill {
        end(&orphans)?;
    }
    let (orphans, at_work) = programs();
    let mut left: Vec<Left> = orphans.iter().map(|process| orphan(*process)).collect();
    left.extend(namespaces(&orphans.union(&at_work).copied().collect())?);
    if as_root() {
        left.extend(congestion::available()?.iter().filter_map(|name| controller(name)));
    }
    Ok(json!({ "left": left, "at_work": at_work }))
}

/// Whether this process can find, and has to look for, what belongs to all users.
fn as_root() -> bool {
    capabilities::lacking().is_empty()
}

/// The other processes of this program: those whose parent has ended, and the rest.
fn programs() -> (BTreeSet<u32>, BTreeSet<u32>) {
    let processes = namespace::entries(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
    let all_users = as_root();
    let ours = processes.filter(|process| {
        *process != process::id() && is_ours(*process) && (all_users || is_of_this_user(*process))
    });
    let (suspects, at_work): (BTreeSet<u32>, BTreeSet<u32>) =
        ours.partition(|process| is_orphan(&text(*process, "environ"), parent(*process)));
    // The processes of a program have its environment, but the program is their parent.
    let orphans = suspects.into_iter().filter(|process| !descends(*process, &at_work)).collect();
    (orphans, at_work)
}

/// Whether a process is one of this program, or the program that is Linux, or one of its processes.
fn is_ours(process: u32) -> bool {
    match text(process, "comm").trim() {
        PROGRAM => true,
        LINUX => {
            text(process, "environ").split('\0').any(|variable| variable.starts_with(variables::REQUEST))
        }
        _ => false,
    }
}

fn is_of_this_user(process: u32) -> bool {
    fs::metadata(format!("/proc/{process}")).is_ok_and(|folder| folder.uid() == geteuid().as_raw())
}

/// Whether the process that started a process, by its environment, is no longer its parent; false if the
/// environment does not name one, or the process has ended and has no parent.
fn is_orphan(environment: &str, parent: Option<u32>) -> bool {
    let started = environment.split('\0').find_map(|variable| {
        let (name, value) = variable.split_once('=')?;
        value.parse().ok().filter(|_| name == variables::PARENT)
    });
    started.zip(parent).is_some_and(|(started, parent): (u32, u32)| started != parent)
}

/// A file of the kernel about a process; empty if the process has ended.
fn text(process: u32, file: &str) -> String {
    let read = fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
    String::from_utf8_lossy(&read).into_owned()
}

fn parent(process: u32) -> Option<u32> {
    text(process, "status").lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

fn orphan(process: u32) -> Left {
    Left {
        what: format!("process {process}, a {} whose parent has exited", text(process, "comm").trim()),
        remedy: "fairhaul lab clean --kill".into(),
    }
}

fn end(processes: &BTreeSet<u32>) -> Result<()> {
    for process in processes {
        kill(Pid::from_raw(*process as i32), Signal::SIGKILL).when(format!("process {process}"))?;
    }
    let begun = Instant::now();
    while processes.iter().any(|process| exists(*process)) && begun.elapsed() < DIES {
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether a process runs; a zombie does not.
fn exists(process: u32) -> bool {
    let status = text(process, "status");
    !status.is_empty() && !status.lines().any(|line| line.starts_with("State:\tZ"))
}

/// Namespaces with a device of the lab in which none of these processes or their descendants runs.
fn namespaces(programs: &BTreeSet<u32>) -> Result<Vec<Left>> {
    let mut left = Vec::new();
    for (label, found) in namespace::all()? {
        // A namespace whose table can no longer be read has been removed.
        if !found.device_table().is_ok_and(|table| has_device(&table)) {
            continue;
        }
        let process = label.strip_prefix("process ").and_then(|number| number.parse().ok());
        if process.is_some_and(|process| descends(process, programs)) {
            continue;
        }
        left.push(Left {
            what: format!("a network namespace with a device {DEVICE} ({label})"),
            remedy: match process {
                Some(process) => format!("kill {process}"),
                None => format!("ip netns delete {label}"),
            },
        });
    }
    Ok(left)
}

fn has_device(table: &str) -> bool {
    table.lines().any(|line| line.trim_start().strip_prefix(DEVICE).is_some_and(|rest| rest.starts_with(':')))
}

fn descends(process: u32, from: &BTreeSet<u32>) -> bool {
    process == process::id()
        || std::iter::successors(Some(process), |process| parent(*process))
            .any(|ancestor| from.contains(&ancestor))
}

/// An eBPF port with the name of a run or a self-test whose process has ended.
fn controller(name: &str) -> Option<Left> {
    let (process, number) = name.strip_prefix(PREFIX)?.split_once('_')?;
    let process = u32::from_str_radix(process, 16).ok()?;
    u32::from_str_radix(number, 16).ok()?;
    (!exists(process)).then(|| Left {
        what: format!("the controller {name} of process {process}, which has exited"),
        remedy: format!(
            "fairhaul kernel remove {name}, if fairhaul kernel status lists it; otherwise it is removed \
             with the last connection that uses it"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_left_where_it_has_another_parent_than_it_had() {
        let environment = "HOME=/root\0FAIRHAUL_PARENT=17\0";
        assert!(!is_orphan(environment, Some(17)) && is_orphan(environment, Some(1)));
        assert!(!is_orphan("HOME=/root\0", Some(1)), "nobody has said who its parent was");
        assert!(!is_orphan(environment, None), "it has ended since its environment was read");
    }

    #[test]
    fn a_temporary_name_is_a_leftover_once_its_process_has_ended() {
        // Process ids are below 2^22, which is 400000 in hexadecimal digits.
        assert!(controller("fh_400001_0").is_some());
        let own = format!("fh_{:x}_0", process::id());
        for name in [own.as_str(), "reno", "fh_fhstcp", "fh_site_b"] {
            assert_eq!(controller(name), None);
        }
    }

    #[test]
    fn the_device_of_the_lab_is_recognised() {
        assert!(has_device("face |bytes\n    lo: 1 2\n  lab0: 3 4\n"));
        assert!(!has_device("  lab01: 3 4\n"));
    }
}
