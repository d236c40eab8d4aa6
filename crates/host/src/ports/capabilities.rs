//! The capabilities over the machine that are needed, and for what. All others are dropped at the start, and these when
//! the work is done.

use caps::{CapSet, Capability, CapsHashSet};

use crate::error::{Context, Error, Result};
use crate::user_namespace;

/// Each capability with its purpose.
pub const NEEDED: [(Capability, &str); 5] = [
    (Capability::CAP_BPF, "to load BPF programs and maps"),
    (Capability::CAP_PERFMON, "to load BPF programs that read the kernel's sockets"),
    (Capability::CAP_NET_ADMIN, "to register a congestion controller, and to change defaults and routes"),
    (Capability::CAP_SYS_ADMIN, "to mount the bpf file system, and to create and enter network namespaces"),
    (Capability::CAP_SYS_PTRACE, "to find the network namespaces of other users' processes"),
];

/// The needed capabilities that this process lacks, as sentences. In a user namespace it has none over the machine.
pub fn lacking() -> Vec<String> {
    let of_machine = user_namespace::is_initial();
    let lacks =
        |capability| !of_machine || !caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false);
    let missing = NEEDED.iter().filter(|(capability, _)| lacks(*capability));
    missing.map(|(capability, why)| format!("{capability}, {why}")).collect()
}

/// Keeps the needed capabilities, and no others.
pub fn keep_needed() -> Result<()> {
    keep(&needed().collect())
}

/// Keeps the capabilities that a command needs which emulates a path: also real-time priority, without which it can run,
/// and packet sockets, which it uses where it has no TUN device.
pub fn keep_needed_of_lab() -> Result<()> {
    keep(&of_lab().collect())
}

/// The same for a command that also starts programs of the user: it has to become that user, and to take the capabilities
/// from the bounding set.
pub fn keep_needed_to_start_programs() -> Result<()> {
    let of_user = [Capability::CAP_SETUID, Capability::CAP_SETGID, Capability::CAP_SETPCAP];
    keep(&of_lab().chain(of_user).collect())
}

fn of_lab() -> impl Iterator<Item = Capability> {
    needed().chain([Capability::CAP_SYS_NICE, Capability::CAP_NET_RAW])
}

fn needed() -> impl Iterator<Item = Capability> {
    NEEDED.iter().map(|(capability, _)| *capability)
}

/// Keeps those of `wanted` that this thread has; threads that it starts have no others.
pub fn keep(wanted: &CapsHashSet) -> Result<()> {
    let held = caps::read(None, CapSet::Permitted).when("capabilities")?;
    let kept: CapsHashSet = held.intersection(wanted).copied().collect();
    let narrow = |set| caps::set(None, set, &kept);
    narrow(CapSet::Effective).when("capabilities")?;
    narrow(CapSet::Permitted).when("capabilities")
}

/// Refuses if a needed capability is missing.
pub fn require() -> Result<()> {
    let lacking = lacking();
    if lacking.is_empty() {
        return Ok(());
    }
    let list = lacking.join("\n    ");
    Err(Error::refused(format!("this command needs root or these capabilities:\n    {list}")))
}
