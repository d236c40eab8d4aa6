//! The state of every sender as each packet arrives, for any controller: a BPF program at the kernel's tracepoint
//! `tcp_probe` writes it to a ring buffer. Between two polls by [`observe`](super::observe) a hundred packets arrive or more.

use std::net::Ipv4Addr;
use std::sync::mpsc::{self, Receiver};

use fairhaul_units::Span;
use libbpf_rs::{Link, MapCore, MapFlags, RingBuffer};

use super::address::owner;
use super::tcp_info::{CaState, TcpState, threshold};
use crate::error::{Context, Result};
use crate::tracing::CheckedObject;

/// The loaded program and its ring buffer. The program stays attached until this is dropped.
#[derive(Debug)]
pub struct TcpProbe {
    _links: Vec<Link>,
    ring: RingBuffer<'static>,
    samples: Receiver<ProbeSample>,
    object: CheckedObject,
}

/// The state of a sender when a packet arrived, which had not changed since the previous packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeSample {
    /// The time on the host's monotonic clock.
    pub at_ns: i64,
    /// The host of the sender, or of a receiver at which data arrived.
    pub host: u8,
    /// The number of the connection.
    pub connection: u32,
    /// Its state.
    pub state: TcpState,
}

/// The length of a sample, bytes; `tcp_probe.bpf.c` has the offsets of its fields.
pub const LENGTH: usize = 32;

impl TcpProbe {
    /// Attaches the probe to the hosts whose network namespaces have these inode numbers.
    ///
    /// # Errors
    /// A kernel without the tracepoint, or a build without the program.
    pub fn of(namespaces: &[u64]) -> Result<TcpProbe> {
        let mut object = CheckedObject::load(fairhaul_ports::TCP_PROBE, "trace acknowledgements")?;
        let (sender, samples) = mpsc::channel();
        let hosts = object.map("hosts")?;
        for namespace in namespaces {
            let number = u32::try_from(*namespace).when("the number of a namespace")?;
            hosts.update(&number.to_ne_bytes(), &[0], MapFlags::ANY).when("the hosts that are watched")?;
        }
        let ring = object.ring("samples", move |bytes| {
            // The receiver is missing only while the probe is being dropped.
            let _ = ProbeSample::read(bytes).map(|sample| sender.send(sample));
        })?;
        let links = object.attach()?;
        Ok(TcpProbe { _links: links, ring, samples, object })
    }

    /// The samples since the last call, in the order of time.
    pub fn samples(&mut self) -> impl Iterator<Item = ProbeSample> {
        let _ = self.ring.consume(); // fails only if the callback does, which it never does
        self.samples.try_iter()
    }

    /// Packets without a sample, because the ring buffer was full.
    pub fn lost_samples(&self) -> Result<u64> {
        self.object.lost()
    }
}

impl ProbeSample {
    /// Reads a sample of this length; `None` if it is not of a host of the lab.
    pub fn read(bytes: &[u8]) -> Option<ProbeSample> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let address: [u8; 4] = std::array::from_fn(|i| bytes[8 + i]);
        let (host, connection) = owner(Ipv4Addr::from(address))?;
        let state = TcpState {
            cwnd: word(12),
            ssthresh: threshold(word(16)),
            rtt: Some(word(20)).filter(|us| *us != 0).map(|us| Span::from_us(us.into())),
            timeouts: Some(u16::from_ne_bytes([bytes[24], bytes[25]])),
            ca_state: CaState::of(bytes[26]),
            mode: bytes[27].checked_sub(1),
            recovery_end: Some(word(28)),
        };
        let at_ns = i64::from_ne_bytes(std::array::from_fn(|i| bytes[i]));
        Some(ProbeSample { at_ns, host, connection, state })
    }
}
