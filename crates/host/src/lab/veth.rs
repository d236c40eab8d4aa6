//! The device of a host as a veth pair, of which the router has the other end, with a packet socket. It needs no file
//! of the machine, unlike a [TUN device](super::tun).

use std::io::{self, IoSlice};

use nix::net::if_::if_nametoindex;

use super::interface::{DEVICE, DEVICE_QUEUE, dropped_here, quieten};
use super::layout::Mode;
use super::offload::PREFIX;
use crate::namespace::{Namespace, ip};
use crate::sys::ethtool;
use crate::sys::packet_socket::{ETHERNET, PacketSocket, ReceivedPacket};

/// The router's end of the pair, in a namespace of its own.
const PORT: &str = "port0";
/// The address of the host's end, to which the router sends; the host sends without address resolution.
const HOST_ADDRESS: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
/// The Ethernet header of what the router sends: to the host, from nowhere, IPv4.
const HEADER: [u8; ETHERNET] = [0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x00];
/// The largest packet of IPv4.
const LARGEST: usize = 65_535;

/// See the module.
#[derive(Debug)]
pub struct Veth {
    /// The namespace of the router's end, without which the pair would be removed.
    port: Namespace,
    socket: PacketSocket,
    mode: Mode,
}

impl Veth {
    /// Makes the pair; the host's end is in the namespace of this thread, and not yet up.
    pub fn new(mode: Mode, mtu: u64) -> io::Result<Veth> {
        let port = Namespace::new()?;
        let address = HOST_ADDRESS.map(|byte| format!("{byte:02x}")).join(":");
        ip(&format!(
            "link add {DEVICE} address {address} type veth peer name {PORT} netns {}",
            port.path().display()
        ))?;
        ip(&format!("link set {DEVICE} arp off"))?;
        ethtool::switch_off(
            DEVICE,
            match mode {
                // Without checksums the device has no segmentation either: each packet is one of the wire.
                Mode::Exact => "tx-checksum-ip-generic",
                // Segments are split for TCP only.
                Mode::Fast => "tx-udp-segmentation",
            },
        )?;
        let socket = port.inside(|| {
            quieten()?;
            ip(&format!("link set {PORT} mtu {mtu} up"))?;
            let largest = ETHERNET + if mode == Mode::Exact { mtu as usize } else { LARGEST };
            PacketSocket::new(if_nametoindex(PORT)?, largest, DEVICE_QUEUE as usize, mode == Mode::Fast)
        })?;
        Ok(Veth { port, socket, mode })
    }

    /// As [`Device::read`](super::device::Device::read).
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.socket.receive(|packet| self.copy(&packet, buffer)).transpose()
    }

    fn copy(&self, packet: &ReceivedPacket<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        if self.mode == Mode::Exact && packet.lacks_checksum {
            return Err(io::Error::other(format!("the kernel does not compute checksums at {DEVICE}")));
        }
        let (prefix, ip) = (packet.offload, packet.bytes.get(ETHERNET..).unwrap_or_default());
        buffer[..prefix.len()].copy_from_slice(prefix);
        buffer[prefix.len()..][..ip.len()].copy_from_slice(ip);
        Ok(prefix.len() + ip.len())
    }

    /// As [`Device::write`](super::device::Device::write).
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        let ethernet = IoSlice::new(&HEADER);
        let Mode::Fast = self.mode else { return self.socket.send(&[ethernet, IoSlice::new(packet)]) };
        let Some((prefix, ip)) = packet.split_first_chunk::<PREFIX>() else { return Ok(()) };
        let prefix = behind_ethernet(*prefix);
        self.socket.send(&[IoSlice::new(&prefix), ethernet, IoSlice::new(ip)])
    }

    /// The number of packets that the router's end has dropped.
    pub fn dropped(&self) -> io::Result<u64> {
        Ok(self.port.inside(|| dropped_here(PORT))? + self.socket.dropped()?)
    }
}

/// The device's header for a packet that begins with its Ethernet header: the length of all headers, and where the
/// checksum starts, are further back.
fn behind_ethernet(mut prefix: [u8; PREFIX]) -> [u8; PREFIX] {
    for field in [2, 6] {
        let value = u16::from_ne_bytes([prefix[field], prefix[field + 1]]);
        if value > 0 {
            prefix[field..field + 2].copy_from_slice(&(value + ETHERNET as u16).to_ne_bytes());
        }
    }
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_in_the_header_of_a_device_count_from_the_ethernet_header() {
        // Headers of 52 bytes, and the checksum's start at 20: both 14 later. The segment size and the place of the
        // checksum in TCP stay.
        let with = |headers: u8, start: u8| [1, 1, headers, 0, 168, 5, start, 0, 16, 0];
        assert_eq!(behind_ethernet(with(52, 20)), with(66, 34));
        assert_eq!(behind_ethernet([0; PREFIX]), [0; PREFIX]);
    }
}
