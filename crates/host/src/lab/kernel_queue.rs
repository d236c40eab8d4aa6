//! Queues of the kernel as the queues of links, in the engine `linux`. Each has a device of its own in the program, with its
//! queue discipline: a packet that comes to the link is sent there, and what the device transmits, one packet after the
//! other, begins to leave the link. The network knows the packet again by its mark.

use std::io;
use std::sync::Arc;

use fairhaul_path::LinkSpec;
use fairhaul_path::queue::FlowLabel;
use fairhaul_units::{Span, Time};

use super::address::MOST_HOSTS;
use super::host_settings::set_qdisc;
use super::interface::{DEVICE, quieten};
use super::layout::Layout;
use super::queued_packet::QueuedPacket;
use super::simulated_path::SimulatedPath;
use crate::namespace::{Namespace, ip};

/// The devices of queues have numbers behind those of hosts.
const FIRST: u8 = MOST_HOSTS;
/// Queues of a run, at most.
pub const MOST_QUEUES: usize = 16;
/// Time in the program is a whole number of these.
const TICK: Span = Span::from_ps(1000);

/// The device of a queue, held by its namespace.
#[derive(Debug)]
pub struct KernelQueue {
    _namespace: Namespace,
}

impl KernelQueue {
    /// Makes those of `layout`.
    ///
    /// # Errors
    /// The kernel does not accept a queue discipline.
    pub fn all(layout: &Layout) -> io::Result<Vec<KernelQueue>> {
        let with_device = |(device, qdisc): (u8, &str)| KernelQueue::new(device, qdisc, layout.mtu.0);
        devices(&layout.links).map(|(_, device, qdisc)| (device, qdisc)).map(with_device).collect()
    }

    fn new(device: u8, qdisc: &str, mtu: u64) -> io::Result<KernelQueue> {
        let namespace = Namespace::new()?;
        namespace.inside(|| {
            quieten()?;
            SimulatedPath::open()?.make_queue(device)?;
            ip(&format!("link set {DEVICE} mtu {mtu} up"))?;
            set_qdisc(DEVICE, qdisc)
        })?;
        Ok(KernelQueue { _namespace: namespace })
    }
}

/// Whether a device of this number is that of a queue.
pub fn is_queue(device: u8) -> bool {
    device >= FIRST
}

/// The links with a queue of the kernel, each with its device and the queue discipline.
fn devices(links: &[LinkSpec]) -> impl Iterator<Item = (usize, u8, &str)> {
    let of_kernel =
        links.iter().enumerate().filter_map(|(link, spec)| Some((link, spec.queue.qdisc.as_deref()?)));
    (FIRST..).zip(of_kernel).map(|(device, (link, qdisc))| (link, device, qdisc))
}

/// A packet in a queue of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Its link.
    pub link: u32,
    /// The packet.
    pub packet: QueuedPacket,
    /// What the queue reads of its flow beside it.
    pub label: Option<FlowLabel>,
    /// When it came to the link.
    pub arrived: Time,
    /// When it begins to leave.
    pub begins: Time,
}

/// A packet that has come to a queue of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// The number of its device.
    pub device: u8,
    /// Its mark.
    pub mark: u32,
    /// What the queue reads of its flow beside it.
    pub label: Option<FlowLabel>,
}

/// The packets in queues of the kernel.
#[derive(Debug)]
pub struct KernelQueues {
    /// The device of the queue of each link, if it is one of the kernel.
    devices: Vec<Option<u8>>,
    /// The hosts and classes of all flows, for the queue of each link that reads them.
    labels: Vec<Option<Arc<[FlowLabel]>>>,
    /// When each link has sent what it was sending.
    busy_until: Vec<Time>,
    /// By slot.
    waiting: Vec<Option<Waiting>>,
    count: usize,
    /// Packets that are to be sent to a device.
    entered: Vec<Entered>,
}

impl KernelQueues {
    /// Those of these links.
    pub fn of(links: &[LinkSpec]) -> KernelQueues {
        let mut of_links = vec![None; links.len()];
        devices(links).for_each(|(link, device, _)| of_links[link] = Some(device));
        KernelQueues {
            busy_until: vec![Time::ZERO; links.len()],
            labels: links.iter().map(|spec| spec.queue.labels.clone()).collect(),
            devices: of_links,
            waiting: Vec::new(),
            count: 0,
            entered: Vec::new(),
        }
    }

    /// A packet comes to a link: whether the link has a queue of the kernel, in which it waits then.
    pub fn enter(&mut self, link: u32, packet: QueuedPacket, now: Time) -> bool {
        let Some(device) = self.devices[link as usize] else { return false };
        let slot = packet.slot as usize;
        if self.waiting.len() <= slot {
            self.waiting.resize(slot + 1, None);
        }
        let labels = self.labels[link as usize].as_ref();
        let label = labels.and_then(|labels| labels.get(packet.at_link.flow as usize)).copied();
        self.waiting[slot] = Some(Waiting { link, packet, label, arrived: now, begins: now });
        self.count += 1;
        // Packets of others have no mark, which is zero.
        self.entered.push(Entered { device, mark: packet.slot + 1, label });
        true
    }

    /// The packets that have entered since the last call.
    pub fn entered(&mut self) -> impl Iterator<Item = Entered> {
        self.entered.drain(..)
    }

    /// A packet leaves its queue at `now`, or is dropped there; `None` if there is no such packet.
    pub fn leave(&mut self, mark: u32, now: Time) -> Option<Waiting> {
        let slot = mark.checked_sub(1)? as usize;
        let waiting = self.waiting.get_mut(slot)?.take()?;
        self.count -= 1;
        // The clock of the program is coarser than this one: a link that always has packets is never idle.
        let idle_from = self.busy_until[waiting.link as usize];
        let begins = if now.since(idle_from) < TICK { idle_from } else { now };
        Some(Waiting { begins, ..waiting })
    }

    /// A link sends until then.
    pub fn busy(&mut self, link: u32, until: Time) {
        self.busy_until[link as usize] = until;
    }

    /// How many packets wait.
    pub fn waiting(&self) -> usize {
        self.count
    }
}
