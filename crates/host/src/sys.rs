//! System calls without a safe wrapper; except for one in `main`, this and its parts are the only unsafe code of this
//! crate.

#![allow(unsafe_code, reason = "each block says why it is sound")]

pub mod cgroups;
pub mod confine;
pub mod ethtool;
pub mod packet_socket;
pub mod simulated;
pub mod slice;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use libbpf_rs::libbpf_sys;
use nix::sys::signal::SigSet;

/// `TUNSETIFF`, `TUNSETOFFLOAD` and `TUNSETVNETHDRSZ` of `linux/if_tun.h`.
mod request {
    nix::ioctl_write_ptr!(set_interface, b'T', 202, libc::c_int);
    nix::ioctl_write_int!(set_offload, b'T', 208);
    nix::ioctl_write_ptr!(set_header_size, b'T', 216, libc::c_int);
}

/// Makes an open `/dev/net/tun` the device `name` in the namespace of this thread.
pub fn become_device(tun: impl AsFd, name: &str, flags: libc::c_int) -> io::Result<()> {
    let mut asked = interface_request(name);
    asked.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request reads and writes an `ifreq`, whatever its number says of its type.
    unsafe { request::set_interface(tun.as_fd().as_raw_fd(), (&raw const asked).cast()) }?;
    Ok(())
}

/// A request about the device `name`.
fn interface_request(name: &str) -> libc::ifreq {
    // SAFETY: all bytes zero are an `ifreq`, which holds numbers and null pointers only.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < request.ifr_name.len(), "the lab names its devices");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// Sets the offloads of a device, and the length of the header before each packet.
pub fn set_offload(tun: impl AsFd, offloads: libc::c_ulong, header: libc::c_int) -> io::Result<()> {
    let tun = tun.as_fd().as_raw_fd();
    // SAFETY: the request reads an `int`, which outlives the call.
    unsafe { request::set_header_size(tun, &raw const header) }?;
    // SAFETY: the argument of this request is a plain number.
    unsafe { request::set_offload(tun, offloads) }?;
    Ok(())
}

/// Descriptors, other than the standard streams, that this process has inherited. Each can be taken once, and
/// nothing else in this process owns it.
#[derive(Debug, Default)]
pub struct Inherited(BTreeSet<RawFd>);

impl Inherited {
    /// The descriptors that are open now.
    ///
    /// # Safety
    /// It must be called only once in a process, before the process has opened a descriptor: the result owns all
    /// open descriptors.
    pub unsafe fn at_start() -> Inherited {
        let listed = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let numbers: Vec<RawFd> =
            listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        // The descriptor of the listing itself is among them, and is closed by now. SAFETY: reading flags changes
        // nothing, and fails if the number is not open.
        let is_open = |number: &RawFd| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0;
        Inherited(
            numbers.into_iter().filter(|number| *number > libc::STDERR_FILENO).filter(is_open).collect(),
        )
    }

    /// Adds a descriptor of this process under this number, to be taken.
    pub fn add(&mut self, descriptor: OwnedFd, number: RawFd) -> io::Result<()> {
        // SAFETY: the number is not open in this process: the descriptors that it inherited are known, and it opens
        // others only under the smallest numbers.
        let duplicate = unsafe { libc::dup3(descriptor.as_raw_fd(), number, libc::O_CLOEXEC) };
        if duplicate < 0 {
            return Err(io::Error::last_os_error());
        }
        self.0.insert(number);
        Ok(())
    }

    /// Takes the descriptor with that number, which child processes do not inherit; `None` if it was not
    /// inherited or was taken before.
    pub fn take(&mut self, number: RawFd) -> Option<OwnedFd> {
        if !self.0.remove(&number) {
            return None;
        }
        // SAFETY: it was open at the start, and nothing else has owned it since.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        // SAFETY: the call changes a flag of a descriptor that is open.
        unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
        Some(descriptor)
    }
}

/// Lets a program start with no signal blocked, even if signals are blocked in this process.
pub fn let_signals_through(command: &mut Command) {
    let none = SigSet::empty();
    let let_through = move || Ok(none.thread_set_mask()?);
    // SAFETY: between fork and exec this is one system call, which changes nothing of this process.
    unsafe { command.pre_exec(let_through) };
}

/// Has a program killed when the thread that starts it ends.
pub fn end_with_parent(command: &mut Command) {
    let end = || Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?);
    // SAFETY: between fork and exec this is one system call, which changes nothing but the new process.
    unsafe { command.pre_exec(end) };
}

/// Has a program started at fixed addresses, which is what makes its memory the same in every run.
pub fn without_randomization(command: &mut Command) {
    let fix = || {
        nix::sys::personality::set(nix::sys::personality::Persona::ADDR_NO_RANDOMIZE)?;
        Ok(())
    };
    // SAFETY: between fork and exec this is one system call, which changes nothing but the new process.
    unsafe { command.pre_exec(fix) };
}

/// The processor time that a process has used, seconds.
pub fn processor_time_s(process: nix::unistd::Pid) -> io::Result<f64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the call writes the number of a clock to `clock`.
    let error = unsafe { libc::clock_getcpuclockid(process.as_raw(), &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let used = nix::time::clock_gettime(clock.into())?;
    Ok(used.tv_sec() as f64 + used.tv_nsec() as f64 * 1e-9)
}

/// Gives this thread a real-time priority (`SCHED_FIFO`).
pub fn set_real_time(priority: libc::c_int) -> io::Result<()> {
    // SAFETY: all bytes zero are a `sched_param`, which holds numbers only.
    let mut asked: libc::sched_param = unsafe { std::mem::zeroed() };
    asked.sched_priority = priority;
    // SAFETY: 0 is this thread, and the parameter outlives the call.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const asked) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads `TCP_INFO` into `info`; returns the number of bytes.
pub fn tcp_info(socket: impl AsFd, info: &mut [u8]) -> io::Result<usize> {
    let mut length = info.len() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes to `info`, and then how many it wrote to `length`.
    let done = unsafe {
        let to = info.as_mut_ptr().cast();
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    if done == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// Has the kernel discard what arrives at a socket, packet by packet as it arrives, until the socket ends, or `most` bytes
/// or a gigabyte have come; returns the number of bytes. A datagram, which is discarded by itself, is counted with its
/// whole length. One call costs less than one for each packet, and a receiver does the same in both.
pub fn discard(socket: impl AsFd, most: u64) -> io::Result<usize> {
    const MOST: u64 = 1 << 30;
    let mut nothing = [0u8; 8];
    let flags = libc::MSG_TRUNC | libc::MSG_WAITALL;
    // SAFETY: with MSG_TRUNC the kernel writes nothing of a stream, whatever the length; of datagrams it would.
    let read = unsafe {
        let length = if is_stream(&socket)? { most.min(MOST) as usize } else { nothing.len() };
        libc::recv(socket.as_fd().as_raw_fd(), nothing.as_mut_ptr().cast(), length, flags)
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Whether a socket is one of TCP.
fn is_stream(socket: impl AsFd) -> io::Result<bool> {
    let kind = nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::SockType)?;
    Ok(kind == nix::sys::socket::SockType::Stream)
}

/// Sets an option of a socket that is a number of 64 bits.
pub fn set_option(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: u64) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    let length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`.
    let done = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether this program has more rights than the user who started it, because its file has the bit setuid or setgid
/// or capabilities (`AT_SECURE`).
pub fn is_elevated() -> bool {
    // SAFETY: the call reads a number that the kernel has passed to this process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Lets the kernel count how often BPF programs run and for how long, until the descriptor is closed.
pub fn count_program_time() -> io::Result<OwnedFd> {
    // SAFETY: the call takes a plain number.
    let descriptor = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(-descriptor));
    }
    // SAFETY: the kernel has just opened it for this call.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
