//! A host of the lab: a network namespace whose only connection is a device, from which the router reads and to which
//! it writes packets.

use std::io;

use fairhaul_experiment::Flow;
use fairhaul_units::Span;

use super::address::{self, address};
use super::device::{Device, DeviceKind};
use super::interface::{DEVICE, DEVICE_QUEUE, dropped_here, quieten, set};
use super::layout::{Layout, Metrics, Mode};
use super::processors::{Processors, STEERING};
use crate::namespace::{Namespace, ip, ip_batch};

/// A host, held by its namespace and its device; it is removed when they are closed.
#[derive(Debug)]
pub struct Host {
    /// The namespace of its sockets.
    pub namespace: Namespace,
    device: Device,
}

impl Host {
    /// Host number `host` of `layout`, with a device of this kind, up and with its addresses, whose kernel works on its
    /// share of `processors`.
    pub fn new(host: u8, layout: &Layout, kind: DeviceKind, processors: &Processors) -> io::Result<Host> {
        let namespace = Namespace::new()?;
        let settings = &layout.hosts[usize::from(host)];
        let device = namespace.inside(|| {
            quieten()?;
            settings.set_namespace()?;
            // A device takes this over when it is made.
            processors.steering().map_or(Ok(()), |mask| set(STEERING, &mask))?;
            let device = Device::new(kind, host, layout)?;
            ip("link set lo up")?;
            let (mtu, burst) = (layout.mtu.0, burst(host, layout));
            ip(&format!("link set {DEVICE} mtu {mtu} txqueuelen {DEVICE_QUEUE} {burst} up"))?;
            settings.set_device(DEVICE)?;
            ip(&format!("route add local {} dev lo", address::block(host)))?;
            ip_batch(&routes(host, layout))?;
            Ok(device)
        })?;
        Ok(Host { namespace, device })
    }

    /// Reads the next packet that the host has sent into `buffer`, in the form of its mode; returns its length,
    /// or none if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.device.read(buffer)
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
        Ok(self.namespace.inside(|| dropped_here(DEVICE))? + self.device.dropped()?)
    }

    /// Writes a packet to the host, in the form of its mode.
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        self.device.write(packet)
    }
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
    match (layout.mode, layout.hosts[usize::from(host)].burst) {
        (Mode::Fast, 1) | (_, Flow::BURSTS_OF_KERNEL) => String::new(),
        (_, packets) => format!("gso_max_segs {packets}"),
    }
}
