//! What happens to the host's senders between two looks, for any controller: BPF programs at the kernel's tracepoints
//! `tcp_probe` and `inet_sock_set_state` keep the bounds of each sender's window and round-trip times, and report the
//! last counts of the senders that end. A look by `sock_diag` has neither.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};

use libbpf_rs::{Link, MapCore, MapFlags, RingBuffer};
use serde::Serialize;

use super::loss_monitor::SentCounts;
use crate::error::{Context, Result};
use crate::tracing::CheckedObject;

/// The number of senders that one system call reads.
const BATCH: u32 = 4096;

/// The loaded programs, which stay attached until this is dropped.
#[derive(Debug)]
pub struct FlowProbe {
    _links: Vec<Link>,
    ring: RingBuffer<'static>,
    ended: Receiver<EndedFlow>,
    object: CheckedObject,
}

/// The bounds of a sender's window and round-trip times over some time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The smallest window, in packets,
    pub cwnd_min: u32,
    /// and the largest one.
    pub cwnd_max: u32,
    /// The shortest round-trip time of a packet; `None` if no packet had one,
    pub rtt_min_ms: Option<f64>,
    /// and the longest one.
    pub rtt_max_ms: Option<f64>,
}

/// The last counts of a sender that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedFlow {
    /// The cookie of its connection.
    pub cookie: u64,
    /// Bytes that the other end has acknowledged.
    pub acked_bytes: u64,
    /// Its packets.
    pub counts: SentCounts,
    /// The congestion controller's name.
    pub controller: String,
}

impl FlowProbe {
    /// Attaches the programs.
    ///
    /// # Errors
    /// A kernel without these tracepoints, missing capabilities, or a build without the programs.
    pub fn new() -> Result<FlowProbe> {
        let mut object = CheckedObject::load(fairhaul_ports::FLOW_PROBE, "watch the senders of this host")?;
        let (sender, ended) = mpsc::channel();
        let ring = object.ring("ended", move |bytes| {
            // The receiver is missing only while the probe is being dropped.
            let _ = EndedFlow::read(bytes).map(|flow| sender.send(flow));
        })?;
        let links = object.attach()?;
        Ok(FlowProbe { _links: links, ring, ended, object })
    }

    /// The bounds of each sender since the last call, by the cookie of its connection.
    pub fn bounds(&self) -> Result<BTreeMap<u64, Bounds>> {
        let senders = self.object.map("senders")?;
        let all = senders.lookup_and_delete_batch(BATCH, MapFlags::ANY, MapFlags::ANY);
        let entries = all.when("cannot read the bounds of the senders")?;
        Ok(entries.filter_map(|(cookie, value)| Some((number(&cookie, 0), Bounds::read(&value)?))).collect())
    }

    /// The senders that have ended since the last call.
    pub fn ended(&mut self) -> Vec<EndedFlow> {
        let _ = self.ring.consume(); // fails only if the callback does, which it never does
        self.ended.try_iter().collect()
    }

    /// Senders that have ended and were not reported, because the ring buffer was full.
    pub fn lost_ends(&self) -> Result<u64> {
        self.object.lost()
    }
}

impl Bounds {
    fn read(bytes: &[u8]) -> Option<Bounds> {
        let bytes: &[u8; 16] = bytes.try_into().ok()?;
        let ms = |at| Some(word(bytes, at)).filter(|us| *us != 0).map(|us| f64::from(us) / 1000.0);
        Some(Bounds {
            cwnd_min: word(bytes, 0),
            cwnd_max: word(bytes, 4),
            rtt_min_ms: ms(8),
            rtt_max_ms: ms(12),
        })
    }
}

impl EndedFlow {
    fn read(bytes: &[u8]) -> Option<EndedFlow> {
        let bytes: &[u8; 40] = bytes.try_into().ok()?;
        let name = bytes[24..].split(|byte| *byte == 0).next().unwrap_or_default();
        Some(EndedFlow {
            cookie: number(bytes, 0),
            acked_bytes: number(bytes, 8),
            counts: SentCounts { sent: word(bytes, 16).into(), retransmitted: word(bytes, 20).into() },
            controller: String::from_utf8_lossy(name).into_owned(),
        })
    }
}

/// The number of 32 bits at an offset of `flow_probe.bpf.c`.
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// The number of 64 bits at an offset.
fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_by_the_offsets_of_the_program_and_no_round_trip_time_is_none() {
        let bytes: Vec<u8> = [10_u32, 250, 0, 23_500].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let bounds = Bounds { cwnd_min: 10, cwnd_max: 250, rtt_min_ms: None, rtt_max_ms: Some(23.5) };
        assert_eq!(Bounds::read(&bytes), Some(bounds));
        assert_eq!(Bounds::read(&bytes[1..]), None);
    }

    #[test]
    fn a_sender_that_ended_has_its_counts_and_the_name_of_its_controller() {
        let mut bytes = [7_u64.to_ne_bytes(), 1_000_000_u64.to_ne_bytes()].concat();
        bytes.extend([700_u32.to_ne_bytes(), 9_u32.to_ne_bytes()].concat());
        bytes.extend(b"fh_fhstcp\0\0\0\0\0\0\0");
        let flow = EndedFlow {
            cookie: 7,
            acked_bytes: 1_000_000,
            counts: SentCounts { sent: 700, retransmitted: 9 },
            controller: "fh_fhstcp".into(),
        };
        assert_eq!(EndedFlow::read(&bytes), Some(flow));
    }
}
