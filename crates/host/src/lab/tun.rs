//! A host of the lab: a network namespace whose only connection is a TUN device, from which the router reads and
//! to which it writes packets.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use fairhaul_units::Span;
use nix::errno::Errno;

use super::address::{self, address};
use super::layout::{Layout, Metrics, Mode};
use super::offload::PREFIX;
use super::processors::{Processors, STEERING};
use crate::namespace::{Namespace, ip, ip_batch};
use crate::sys;

/// The file that creates devices.
pub const DEVICES: &str = "/dev/net/tun";
/// The name of the device in every host.
pub const DEVICE: &str = "lab0";
/// Packets that wait to be read, at most. The device's own 500 would be a hidden queue before the router.
const DEVICE_QUEUE: u32 = 20_000;
/// Checksums, and segments of TCP over IPv4 with and without CWR: `TUN_F_CSUM`, `TUN_F_TSO4` and `TUN_F_TSO_ECN`.
const OFFLOADS: libc::c_ulong = 1 | 2 | 8;
/// Socket buffers may grow to this: twice what 1 Gbit/s carries in 500 ms.
const LARGEST_BUFFER: u64 = 128 << 20;

/// A host, held by its namespace and its device; it is removed when they are closed.
#[derive(Debug)]
pub struct Host {
    /// The namespace of its sockets.
    pub namespace: Namespace,
    device: File,
}

impl Host {
    /// Host number `host` of `layout`, up and with its addresses, whose kernel works on its share of `processors`.
    pub fn new(host: u8, layout: &Layout, processors: &Processors) -> io::Result<Host> {
        let namespace = Namespace::new()?;
        let device = namespace.inside(|| {
            quieten()?;
            // A device takes this over when it is made.
            processors.steering().map_or(Ok(()), |mask| set(STEERING, &mask))?;
            let device = device(layout.mode)?;
            ip("link set lo up")?;
            let (mtu, burst) = (layout.mtu.0, burst(host, layout));
            ip(&format!("link set {DEVICE} mtu {mtu} txqueuelen {DEVICE_QUEUE} {burst} up"))?;
            ip(&format!("route add local {} dev lo", address::block(host)))?;
            ip_batch(&routes(host, layout))?;
            Ok(device)
        })?;
        Ok(Host { namespace, device })
    }

    /// Reads the next packet that the host has sent into `buffer`, in the form of its mode; returns its length,
    /// or none if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match nix::unistd::read(&self.device, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets the source address of programs that choose none: that of `connection` to `other`; `own` is this
    /// host's number. With a controller, all programs use it, whatever they choose.
    pub fn speaks(
        &self,
        own: u8,
        other: u8,
        connection: u32,
        metrics: Metrics,
        controller: Option<&str>,
    ) -> io::Result<()> {
        let (from, to) = (address(own, connection), address(other, connection));
        let controller = controller.map(|name| format!("congctl {name}")).unwrap_or_default();
        let words = words(metrics);
        self.namespace.ip(&format!("route replace {to} dev {DEVICE} src {from} {words} {controller}"))
    }

    /// The number of packets that its device has dropped, which are counted nowhere else.
    pub fn dropped(&self) -> io::Result<u64> {
        let table = self.namespace.inside(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        dropped(&table).ok_or_else(|| io::Error::other(format!("the kernel does not list {DEVICE}")))
    }

    /// Writes a packet to the host, in the form of its mode.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        nix::unistd::write(&self.device, packet)?;
        Ok(())
    }
}

/// The sum of the two columns `drop` in the kernel's table of devices.
fn dropped(table: &str) -> Option<u64> {
    let numbers = table.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    let numbers: Vec<u64> = numbers.split_whitespace().map_while(|number| number.parse().ok()).collect();
    // Of each direction: bytes, packets, errors, dropped, and four more.
    Some(numbers.get(3)? + numbers.get(11)?)
}

/// The routes of a host: one for all connections if they have the same settings, else one for each.
fn routes(host: u8, layout: &Layout) -> String {
    let metrics = |flow: u32| layout.routes[flow as usize].metrics;
    let common = layout.routes.first().map(|route| route.metrics).unwrap_or_default();
    let all = format!("route add {} dev {DEVICE} {}\n", address::everything(), words(common));
    let differing = (0..).zip(&layout.connections).filter(|(_, flow)| metrics(**flow) != common);
    let each = differing.filter_map(|(connection, flow)| {
        let route = &layout.routes[*flow as usize];
        let other = match host {
            _ if host == route.from => route.to,
            _ if host == route.to => route.from,
            _ => return None,
        };
        let other = address(other, connection);
        Some(format!("route add {other} dev {DEVICE} {}\n", words(metrics(*flow))))
    });
    all + &each.collect::<String>()
}

/// The settings in the words of `ip route`.
fn words(metrics: Metrics) -> String {
    let mut words = Vec::new();
    words.extend(metrics.initial_window.map(|packets| format!("initcwnd {packets}")));
    words.extend(metrics.min_rto.map(|span| format!("rto_min {}ms", span / Span::from_ms(1))));
    words.extend(metrics.ecn.then(|| "features ecn".into()));
    words.extend(metrics.acknowledges_at_once.then(|| "quickack 1".into()));
    words.join(" ")
}

/// In exact mode bursts reach the first queue as the sender's window makes them.
fn burst(host: u8, layout: &Layout) -> String {
    match (layout.mode, layout.hosts[usize::from(host)]) {
        (Mode::Fast, 1) => String::new(),
        (_, packets) => format!("gso_max_segs {packets}"),
    }
}

/// Makes the device in the namespace of this thread; it stays there.
fn device(mode: Mode) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let device = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICES)?;
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

/// Switches off everything that the namespace of this thread would do without a request of the run.
fn quieten() -> io::Result<()> {
    // IPv6 would send packets as soon as the device exists.
    set("ipv6/conf/all/disable_ipv6", "1")?;
    set("ipv6/conf/default/disable_ipv6", "1")?;
    set("ipv4/conf/all/rp_filter", "0")?;
    set("ipv4/conf/default/rp_filter", "0")?;
    // A connection whose process was killed would try for minutes to send its remaining data, and keep its
    // namespace and its controller.
    set("ipv4/tcp_orphan_retries", "1")?;
    // A connection must not use what an earlier one has measured on the path.
    set("ipv4/tcp_no_metrics_save", "1")?;
    set("ipv4/tcp_rmem", &format!("4096 131072 {LARGEST_BUFFER}"))?;
    set("ipv4/tcp_wmem", &format!("4096 65536 {LARGEST_BUFFER}"))
}

/// Sets a switch of the namespace of this thread.
pub fn set(switch: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{switch}");
    match fs::write(&path, value) {
        // A kernel without IPv6 has no such switch.
        Err(error) if error.kind() == io::ErrorKind::NotFound && switch.starts_with("ipv6") => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{path} = {value}: {error}"))),
        Ok(()) => Ok(()),
    }
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
        assert_eq!(dropped(table), Some(7));
        assert_eq!(dropped("lo: 1 2 3 4"), None);
    }
}
