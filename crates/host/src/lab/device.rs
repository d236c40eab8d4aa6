//! The network device of a host, from which the router reads and to which it writes packets: a TUN device, or a veth
//! pair where `/dev/net/tun` cannot be opened. In the engine `linux` no process carries packets, and the device is the
//! program's own.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use serde::Serialize;

use super::interface::DEVICE;
use super::layout::{Layout, Mode};
use super::offload::PREFIX;
use super::simulated_path::SimulatedPath;
use super::veth::Veth;
use crate::sys;

/// The file that creates TUN devices.
const DEVICES: &str = "/dev/net/tun";
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
    /// A device of the engine `linux`: the program carries packets itself.
    Simulated,
}

/// A device. It is removed when it is closed.
#[derive(Debug)]
pub enum Device {
    /// The file of a TUN device.
    Tun(File),
    /// The router's end of a veth pair.
    Veth(Veth),
    /// A device that the program of the engine `linux` holds.
    Simulated,
}

impl DeviceKind {
    /// The kind that this process can make.
    pub fn available() -> DeviceKind {
        if SimulatedPath::is_here() { DeviceKind::Simulated } else { DeviceKind::of_router() }
    }

    /// The kind that a router of this process can serve. In the program of the engine `linux`, too, a process can have a
    /// network of its own beside that of the program, with a router that acts in simulated time.
    pub fn of_router() -> DeviceKind {
        match open_tun() {
            Ok(_) => DeviceKind::Tun,
            Err(_) => DeviceKind::Veth,
        }
    }
}

impl Device {
    /// Makes the device of a host of `layout` in the namespace of this thread, where it stays.
    pub fn new(kind: DeviceKind, host: u8, layout: &Layout) -> io::Result<Device> {
        match kind {
            DeviceKind::Tun => tun(layout.mode).map(Device::Tun),
            DeviceKind::Veth => Veth::new(layout.mode, layout.mtu.0).map(Device::Veth),
            DeviceKind::Simulated => {
                let settings = &layout.hosts[usize::from(host)];
                SimulatedPath::open()?.make_host(host, settings).map(|()| Device::Simulated)
            }
        }
    }

    /// Reads the next packet that the host has sent into `buffer`, in the form of its mode; returns its length,
    /// or none if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let file = match self {
            Device::Tun(file) => file,
            Device::Veth(veth) => return veth.read(buffer),
            Device::Simulated => return Ok(None),
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
            Device::Simulated => Ok(()),
        }
    }

    /// The number of packets that were dropped at the router's end, and that no device in the host counts.
    pub fn dropped(&self) -> io::Result<u64> {
        match self {
            Device::Tun(_) | Device::Simulated => Ok(0),
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
