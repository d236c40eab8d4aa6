//! The requests of `/dev/fairhaul`, the device of hosts in the program of the engine `linux`
//! (`python/fairhaul/linux/kernel/fairhaul_device.c`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The device of a host, `struct fairhaul_make`.
#[repr(C)]
#[derive(Debug)]
pub struct Make {
    /// The number of the host.
    pub host: u32,
    /// Whether packets that arrive together are merged.
    pub merges: u32,
    /// Whether its card splits bursts of the kernel into packets.
    pub splits: u32,
    /// Zero.
    pub unused: u32,
    /// The least time between two interrupts of its card.
    pub moderation_ns: u64,
}

mod request {
    use super::Make;

    nix::ioctl_write_ptr!(make, b'f', 1, Make);
    nix::ioctl_write_ptr!(start, b'f', 2, u64);
    nix::ioctl_read!(lost, b'f', 3, u64);
    nix::ioctl_none!(end, b'f', 4);
}

/// Makes the device of a host in the namespace of this thread.
pub fn make(control: impl AsFd, asked: &Make) -> io::Result<()> {
    // SAFETY: the kernel reads `asked`, which outlives the call.
    unsafe { request::make(control.as_fd().as_raw_fd(), asked) }?;
    Ok(())
}

/// The run begins at `origin_ns` of the monotonic clock.
pub fn start(control: impl AsFd, origin_ns: u64) -> io::Result<()> {
    // SAFETY: the kernel reads the number, which outlives the call.
    unsafe { request::start(control.as_fd().as_raw_fd(), &raw const origin_ns) }?;
    Ok(())
}

/// Packets without a sample.
pub fn lost_samples(control: impl AsFd) -> io::Result<u64> {
    let mut lost = 0;
    // SAFETY: the kernel writes the number, which outlives the call.
    unsafe { request::lost(control.as_fd().as_raw_fd(), &raw mut lost) }?;
    Ok(lost)
}

/// Ends the program; returns only if it does not end.
pub fn power_off(control: impl AsFd) -> io::Error {
    // SAFETY: the calls take plain numbers.
    let done = unsafe {
        libc::sync();
        request::end(control.as_fd().as_raw_fd())
    };
    done.err().map_or_else(|| io::Error::other("the request has no effect"), io::Error::from)
}
