//! A packet socket (`AF_PACKET`) with a ring in shared memory for the packets that it receives, as in the kernel's
//! `Documentation/networking/packet_mmap.rst` (`TPACKET_V2`).

#![allow(unsafe_code, reason = "each block says why it is sound")]

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The length of the Ethernet header before every packet.
pub const ETHERNET: usize = 14;
/// The length of `virtio_net_hdr`, if the socket has it before the Ethernet header.
pub const OFFLOAD_HEADER: usize = 10;
/// The memory that the kernel allocates in one piece.
const BLOCK: usize = 1 << 20;
/// What the kernel writes before a packet in its frame, at most: `tpacket2_hdr`, an address, and the headers above.
const FRAME_HEADERS: usize = 128;
/// The largest ring.
const MOST_BLOCKS: usize = 64;

/// A socket for all IPv4 packets that arrive at one device.
#[derive(Debug)]
pub struct PacketSocket {
    socket: File,
    ring: Mutex<Ring>,
}

/// A received packet, in the memory that the kernel shares.
#[derive(Debug)]
pub struct ReceivedPacket<'a> {
    /// The packet, from the Ethernet header on.
    pub bytes: &'a [u8],
    /// The offload header, if the socket has it.
    pub offload: &'a [u8],
    /// Whether its checksum of TCP or UDP has yet to be computed.
    pub lacks_checksum: bool,
}

/// The size of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RingShape {
    frame: usize,
    frames_per_block: usize,
    blocks: usize,
}

/// Frames in memory that is shared with the kernel. The status of a frame says whose it is.
#[derive(Debug)]
struct Ring {
    memory: NonNull<u8>,
    shape: RingShape,
    /// The frame that the kernel fills next.
    next: usize,
    offload_header: usize,
}

// SAFETY: the memory belongs to the mapping that this owns, and not to a thread.
unsafe impl Send for Ring {}

impl PacketSocket {
    /// A socket at the device with this index, in the namespace of this thread. Its ring has room for `packets` of up
    /// to `largest` bytes after the Ethernet header, or for fewer if that were more than 64 MiB.
    pub fn new(device: u32, largest: usize, packets: usize, offloads: bool) -> io::Result<PacketSocket> {
        // Protocol 0 receives nothing before the ring exists.
        // SAFETY: the call takes plain numbers.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for this call.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        set(&socket, libc::PACKET_VNET_HDR, &libc::c_int::from(offloads))?;
        // What this sends needs no queue of the device.
        set(&socket, libc::PACKET_QDISC_BYPASS, &1i32)?;
        let shape = RingShape::of(largest, packets);
        set(&socket, libc::PACKET_RX_RING, &shape.request())?;
        let offload_header = if offloads { OFFLOAD_HEADER } else { 0 };
        let ring = Ring::map(&socket, shape, offload_header)?;
        bind(&socket, device)?;
        Ok(PacketSocket { socket: socket.into(), ring: Mutex::new(ring) })
    }

    /// Calls `take` for the next packet that has arrived; returns its result, or none if there is no packet.
    pub fn receive<T>(&self, take: impl FnOnce(ReceivedPacket<'_>) -> T) -> Option<T> {
        self.lock().receive(take)
    }

    /// Sends a packet, which consists of these parts. The offload header is the first, if the socket has it, and the
    /// Ethernet header the next. A packet that the device drops is in the device's own counter.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        match (&self.socket).write_vectored(parts) {
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
            sent => sent.map(drop),
        }
    }

    /// The number of packets, since the last call, for which the ring had no room.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let socket = self.socket.as_raw_fd();
        // SAFETY: the kernel writes at most `length` bytes to `counts`.
        let done = unsafe {
            let to = (&raw mut counts).cast();
            libc::getsockopt(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut length)
        };
        if done == 0 { Ok(counts.tp_drops.into()) } else { Err(io::Error::last_os_error()) }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().expect("no thread panics while it holds this")
    }
}

impl RingShape {
    fn of(largest: usize, packets: usize) -> RingShape {
        let frame = (FRAME_HEADERS + largest).next_multiple_of(libc::TPACKET_ALIGNMENT);
        assert!(frame <= BLOCK, "no packet is as large as a block");
        let frames_per_block = BLOCK / frame;
        RingShape { frame, frames_per_block, blocks: packets.div_ceil(frames_per_block).min(MOST_BLOCKS) }
    }

    fn frames(self) -> usize {
        self.frames_per_block * self.blocks
    }

    /// Where a frame begins.
    fn offset(self, frame: usize) -> usize {
        frame / self.frames_per_block * BLOCK + frame % self.frames_per_block * self.frame
    }

    fn request(self) -> libc::tpacket_req {
        libc::tpacket_req {
            tp_block_size: BLOCK as libc::c_uint,
            tp_block_nr: self.blocks as libc::c_uint,
            tp_frame_size: self.frame as libc::c_uint,
            tp_frame_nr: self.frames() as libc::c_uint,
        }
    }
}

impl Ring {
    fn map(socket: &OwnedFd, shape: RingShape, offload_header: usize) -> io::Result<Ring> {
        let (length, access) = (shape.blocks * BLOCK, libc::PROT_READ | libc::PROT_WRITE);
        let socket = socket.as_raw_fd();
        // SAFETY: a new mapping at an address that the kernel chooses affects no other memory.
        let memory = unsafe { libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED, socket, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).expect("the kernel maps nothing at zero");
        Ok(Ring { memory, shape, next: 0, offload_header })
    }

    fn receive<T>(&mut self, take: impl FnOnce(ReceivedPacket<'_>) -> T) -> Option<T> {
        let offset = self.shape.offset(self.next);
        // SAFETY: the offset of every frame is within the mapping, and aligned as the kernel requires it.
        let frame = unsafe { self.memory.add(offset) };
        // SAFETY: the status is the first word of a frame, and both sides access it atomically.
        let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
        let flags = status.load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: a frame with this status belongs to this process until it changes the status, and begins with
        // its header.
        let header = unsafe { frame.cast::<libc::tpacket2_hdr>().read() };
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        assert!(start >= self.offload_header && start + length <= self.shape.frame, "{header:?}");
        // SAFETY: the packet is within the frame, as just checked, and nothing writes to it before the status changes.
        let bytes = unsafe { slice::from_raw_parts(frame.add(start).as_ptr(), length) };
        // SAFETY: the same holds for the header in front of it.
        let offload = unsafe {
            slice::from_raw_parts(frame.add(start - self.offload_header).as_ptr(), self.offload_header)
        };
        assert!(header.tp_len == header.tp_snaplen, "no packet is larger than a frame");
        let lacks_checksum = flags & libc::TP_STATUS_CSUMNOTREADY != 0;
        let taken = take(ReceivedPacket { bytes, offload, lacks_checksum });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.shape.frames();
        Some(taken)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this, and no reference to it outlives a call.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.shape.blocks * BLOCK) };
    }
}

/// Has the socket receive the IPv4 packets of the device.
fn bind(socket: &OwnedFd, device: u32) -> io::Result<()> {
    // SAFETY: all bytes zero are a `sockaddr_ll`, which holds numbers only.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_IP as libc::c_ushort).to_be();
    address.sll_ifindex = device as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `address`.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option of a packet socket.
fn set<T: Copy>(socket: impl AsFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`.
    let done =
        unsafe { libc::setsockopt(socket, libc::SOL_PACKET, option, ptr::from_ref(value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_for_packets_of_1500_bytes_has_room_for_20000() {
        // 128 + 1514 = 1642 bytes, which is 1648 in multiples of 16; 636 of them are in a block of 1 MiB.
        let shape = RingShape::of(1514, 20_000);
        assert_eq!(shape, RingShape { frame: 1648, frames_per_block: 636, blocks: 32 });
        assert_eq!(shape.offset(637), BLOCK + 1648);
    }

    #[test]
    fn a_ring_takes_64_mib_at_most() {
        let shape = RingShape::of(1 << 16, 20_000);
        assert_eq!((shape.blocks, shape.frames()), (64, 64 * 15));
    }
}
