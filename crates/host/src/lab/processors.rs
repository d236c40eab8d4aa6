//! The processors of a lab: the router has one, and the kernel does the work of the hosts on the others.
//!
//! The kernel would process a packet that is written to a device within the call that writes it: the receiver's TCP,
//! its answer, and waking its program take two thirds of the time that the router needs for a packet, and delay the
//! packets that are due next. With receive packet steering (RPS) the call only queues the packet, and another processor
//! takes it from there.

use std::fmt::Write;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The switch of a namespace that sets the steering of its devices, since Linux 6.3.
pub const STEERING: &str = "core/rps_default_mask";
/// The thread that calls.
const THIS: Pid = Pid::from_raw(0);

/// See the module.
#[derive(Debug)]
pub struct Processors {
    router: Option<usize>,
    hosts: Vec<usize>,
    /// Another lab of this machine finds the processor of the router taken as long as this is open.
    _reservation: Option<UnixListener>,
}

impl Processors {
    /// Reserves a processor for the router: the last one that no other lab has reserved. If this process has only one,
    /// or the kernel does not steer, no processor is reserved, and the router does the work of hosts.
    ///
    /// # Errors
    /// The kernel does not say which processors this process may use.
    pub fn reserve() -> io::Result<Processors> {
        let allowed = allowed()?;
        if !steers(&allowed) {
            return Ok(Processors::unsteered());
        }
        let reserved = allowed.iter().rev().find_map(|number| Some((*number, reservation(*number).ok()?)));
        let (router, reservation) = match reserved {
            Some((number, reservation)) => (number, Some(reservation)),
            None => (allowed[allowed.len() - 1], None),
        };
        let hosts = allowed.into_iter().filter(|number| *number != router).collect();
        Ok(Processors { router: Some(router), hosts, _reservation: reservation })
    }

    /// Reserves none: who writes a packet to a device does the work of the host that receives it.
    pub fn unsteered() -> Processors {
        Processors { router: None, hosts: Vec::new(), _reservation: None }
    }

    /// Moves this thread, the router's, to its processor.
    pub fn enter(&self) -> io::Result<()> {
        let Some(router) = self.router else { return Ok(()) };
        let mut set = CpuSet::new();
        set.set(router)?;
        Ok(sched_setaffinity(THIS, &set)?)
    }

    /// The value of [`STEERING`] for the namespace of a host; none if the kernel does not steer.
    pub fn steering(&self) -> Option<String> {
        self.router.map(|_| mask(&self.hosts))
    }
}

/// Whether the kernel can do the work of hosts on other processors than the router's.
pub fn can_steer() -> io::Result<bool> {
    allowed().map(|allowed| steers(&allowed))
}

fn steers(allowed: &[usize]) -> bool {
    allowed.len() > 1 && Path::new("/proc/sys/net").join(STEERING).exists()
}

/// The processors that this thread may use.
fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(THIS)?;
    Ok((0..CpuSet::count()).filter(|number| set.is_set(*number) == Ok(true)).collect())
}

/// An address that only one process of the machine can have, and that is free when the process ends.
fn reservation(number: usize) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(format!("fairhaul-router-{number}"))?)
}

/// A set of processors as the kernel reads it: hexadecimal numbers of 32 processors each, the highest first.
fn mask(numbers: &[usize]) -> String {
    let highest = numbers.iter().max().map_or(0, |number| number / 32);
    let mut text = String::new();
    for group in (0..=highest).rev() {
        let members = numbers.iter().filter(|number| **number / 32 == group);
        let bits = members.fold(0u32, |bits, number| bits | 1 << (number % 32));
        let comma = if text.is_empty() { "" } else { "," };
        write!(text, "{comma}{bits:08x}").expect("a text takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_processors_is_written_in_groups_of_32() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[0, 2, 3]), "0000000d");
        assert_eq!(mask(&[1, 33, 64]), "00000001,00000002,00000002");
    }

    #[test]
    fn two_labs_have_routers_on_different_processors() {
        let [one, two] = [(); 2].map(|()| Processors::reserve().expect("this process has processors"));
        if let (Some(first), Some(second)) = (one.router, two.router) {
            assert!(first != second, "{one:?} {two:?}");
            assert!(!one.hosts.contains(&first) && one.hosts.contains(&second), "{one:?} {two:?}");
        }
    }
}
