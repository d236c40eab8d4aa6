//! The path of the engine `linux`: the program that is Linux carries packets itself, through the emulated network that it
//! has loaded as a library (`crates/linux`). What the router does in the lab is done there, at exact times; this process
//! makes the devices of hosts, starts the network, and reads what the network and the samples of senders say.

use std::fs::{self, File};
use std::io::{self, Read};
use std::sync::Arc;

use fairhaul_experiment::{PacketTrace, Record};
use fairhaul_path::card::Moderation;
use fairhaul_units::Time;
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::host_settings::HostSettings;
use super::network_counts::NetworkCounts;
use super::tcp_probe::{LENGTH, ProbeSample};
use crate::sys::simulated;

/// The file of the device of all hosts.
pub const DEVICE: &str = "/dev/fairhaul";
/// The text that says what is to be run.
pub const REQUEST: &str = "/dev/fairhaul-request";
/// The file to which the record is written.
pub const RECORD: &str = "/dev/fairhaul-record";
/// What the network has counted.
const NETWORK: &str = "/dev/fairhaul-network";
/// Samples that are read at once.
const SAMPLES: usize = 1 << 12;

/// The network's half of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct NetworkResult {
    /// Of links, and of flows as far as packets show it.
    pub record: Record,
    /// Packets.
    pub counts: NetworkCounts,
    /// Payload of each connection that its receiver has acknowledged.
    pub in_order: Vec<u64>,
    /// The packet trace, if one was requested, without windows.
    pub trace: Option<PacketTrace>,
}

/// The open file of the device.
#[derive(Clone, Debug)]
pub struct SimulatedPath {
    control: Arc<File>,
}

impl SimulatedPath {
    /// Whether this process runs in the program.
    pub fn is_here() -> bool {
        fs::exists(DEVICE).unwrap_or(false)
    }

    /// Opens the device.
    pub fn open() -> io::Result<SimulatedPath> {
        let control = File::options().read(true).write(true).open(DEVICE)?;
        Ok(SimulatedPath { control: Arc::new(control) })
    }

    /// Makes the device of a host in the namespace of this thread.
    pub fn make_host(&self, host: u8, settings: &HostSettings) -> io::Result<()> {
        let asked = simulated::Make {
            host: host.into(),
            merges: settings.merges.into(),
            splits: (settings.burst > 1).into(),
            unused: 0,
            moderation_ns: match settings.moderation {
                Moderation::Every(interval) => interval.as_ps() / 1000,
                // Its card does it.
                Moderation::Adaptive { .. } | Moderation::Dim(_) => 0,
            },
        };
        simulated::make(&*self.control, &asked)
    }

    /// Makes the device of a queue in the namespace of this thread.
    pub fn make_queue(&self, number: u8) -> io::Result<()> {
        let asked =
            simulated::Make { host: number.into(), merges: 0, splits: 0, unused: 0, moderation_ns: 0 };
        simulated::make(&*self.control, &asked)
    }

    /// The run begins at the start of `clock`.
    pub fn start(&self, clock: Clock) -> io::Result<()> {
        simulated::start(&*self.control, clock.origin_ns() as u64)
    }

    /// Ends the network and reads what it has counted.
    pub fn finish(&self) -> io::Result<NetworkResult> {
        let mut text = Vec::new();
        File::open(NETWORK)?.read_to_end(&mut text)?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// The samples of senders since the last call, in the order of time.
    pub fn samples(&self) -> io::Result<Vec<ProbeSample>> {
        let mut samples = Vec::new();
        let mut bytes = vec![0; SAMPLES * LENGTH];
        loop {
            let read = (&*self.control).read(&mut bytes)?;
            samples.extend(bytes[..read].chunks_exact(LENGTH).filter_map(ProbeSample::read));
            if read < bytes.len() {
                return Ok(samples);
            }
        }
    }

    /// Packets without a sample.
    pub fn lost_samples(&self) -> io::Result<u64> {
        simulated::lost_samples(&*self.control)
    }
}

/// When the network does something next, on the program's clock, nanoseconds: the first that is not before it.
pub fn wake_ns(origin_ns: u64, at: Time) -> u64 {
    origin_ns.saturating_add(at.as_ps().div_ceil(1000))
}
