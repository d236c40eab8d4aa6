//! The requests of `/dev/fairhaul`, the device of hosts in the program of the engine `linux`
//! (`python/fairhaul/linux/kernel/fairhaul_device.c`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The device that is made.
#[repr(C)]
struct Make {
    host: u32,
    merges: u32,
}

mod request {
    use super::Make;

    nix::ioctl_write_ptr!(make, b'f', 1, Make);
    nix::ioctl_write_ptr!(start, b'f', 2, u64);
    nix::ioctl_read!(lost, b'f', 3, u64);
}

/// Makes the device of a host in the namespace of this thread.
pub fn make(control: impl AsFd, host: u8, merges: bool) -> io::Result<()> {
    let asked = Make { host: host.into(), merges: merges.into() };
    // SAFETY: the kernel reads `asked`, which outlives the call.
    unsafe { request::make(control.as_fd().as_raw_fd(), &raw const asked) }?;
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

/// Ends the program, of which this process is the first.
pub fn power_off() -> io::Error {
    // SAFETY: the calls take plain numbers.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    io::Error::last_os_error()
}
