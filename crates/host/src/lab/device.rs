//! The network device of a host, from which the router reads and to which it writes packets: a TUN device, or a veth
//! pair where `/dev/net/tun` cannot be opened.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use serde::Serialize;

use super::layout::Mode;
use super::offload::PREFIX;
use super::veth::Veth;
use crate::sys;

/// The file that creates TUN devices.
const DEVICES: &str = "/dev/net/tun";
/// The name of the device in every host.
pub const DEVICE: &str = "lab0";
/// Packets that wait to be read, at most. The device's own 500 would be a hidden queue before the router.
pub const DEVICE_QUEUE: u32 = 20_000;
/// Checksums, and segments of TCP over IPv4 with and without CWR: `TUN_F_CSUM`, `TUN_F_TSO4` and `TUN_F_TSO_ECN`.
const OFFLOADS: libc::c_ulong = 1 | 2 | 8;

/// The kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A TUN device: the router reads and writes a file.
    Tun,
    /// A veth pair: the router reads and writes a packet socket at its end.
    Veth,
}

/// A device. It is removed when it is closed.
#[derive(Debug)]
pub enum Device {
    /// The file of a TUN device.
    Tun(File),
    /// The router's end of a veth pair.
    Veth(Veth),
}

impl DeviceKind {
    /// The kind that this process can make.
    pub fn available() -> DeviceKind {
        match open_tun() {
            Ok(_) => DeviceKind::Tun,
            Err(_) => DeviceKind::Veth,
        }
    }
}

impl Device {
    /// Makes the device in the namespace of this thread, where it stays.
    pub fn new(kind: DeviceKind, mode: Mode, mtu: u64) -> io::Result<Device> {
        match kind {
            DeviceKind::Tun => tun(mode).map(Device::Tun),
            DeviceKind::Veth => Veth::new(mode, mtu).map(Device::Veth),
        }
    }

    /// Reads the next packet that the host has sent into `buffer`, in the form of its mode; returns its length,
    /// or none if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let file = match self {
            Device::Tun(file) => file,
            Device::Veth(veth) => return veth.read(buffer),
        };
        match nix::unistd::read(file, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a packet to the host, in the form of its mode.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        match self {
            Device::Tun(file) => nix::unistd::write(file, packet).map(drop).map_err(io::Error::from),
            Device::Veth(veth) => veth.write(packet),
        }
    }

    /// The number of packets that were dropped at the router's end, and that no device in the host counts.
    pub fn dropped(&self) -> io::Result<u64> {
        match self {
            Device::Tun(_) => Ok(0),
            Device::Veth(veth) => veth.dropped(),
        }
    }
}

fn open_tun() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICES)
}

fn tun(mode: Mode) -> io::Result<File> {
    let device = open_tun()?;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI;
    match mode {
        Mode::Exact => sys::become_device(&device, DEVICE, flags)?,
        Mode::Fast => {
            sys::become_device(&device, DEVICE, flags | libc::IFF_VNET_HDR)?;
            sys::set_offload(&device, OFFLOADS, PREFIX as libc::c_int)?;
        }
    }
    Ok(device)
}

/// The packets that a device of the namespace of this thread has dropped, in both directions.
pub fn dropped_here(device: &str) -> io::Result<u64> {
    dropped(&fs::read_to_string("/proc/thread-self/net/dev")?, device)
}

/// The sum of the two columns `drop` of a device in the kernel's table of devices.
fn dropped(table: &str, device: &str) -> io::Result<u64> {
    let row = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'));
    let numbers = row.unwrap_or_default().split_whitespace().map_while(|number| number.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.collect();
    // Of each direction: bytes, packets, errors, dropped, and four more.
    let sum = numbers.get(3).zip(numbers.get(11)).map(|(received, sent)| received + sent);
    sum.ok_or_else(|| io::Error::other(format!("the kernel does not list {device}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_dropped_is_in_two_columns() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n    \
                     lo:     100       2    0    9    0     0          0         0      100       2    0    9    0     0       0          0\n  \
                     lab0: 7000000    5000    0    3    0     0          0         0  2000000    4000    0    4    0     0       0          0\n";
        assert_eq!(dropped(table, "lab0").ok(), Some(7));
        assert!(dropped("lo: 1 2 3 4", "lab0").is_err());
    }
}
