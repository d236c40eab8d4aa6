//! Where the samples of senders come from: the eBPF program at the kernel's tracepoint, the device of the engine `linux` at
//! the same tracepoint, or nowhere, if only polls are possible.

use super::device::DeviceKind;
use super::run_validity::Windows;
use super::simulated_path::SimulatedPath;
use super::tcp_probe::{ProbeSample, TcpProbe};
use crate::error::{Context, Error, Result};

/// Why a run without root polls its senders.
const NO_PROBE: &str = "only root can load the program that reports acknowledgements";

/// See the module.
#[derive(Debug)]
pub enum SampleSource {
    /// An eBPF program.
    Program(TcpProbe),
    /// The device.
    Device(SimulatedPath),
    /// None, for this reason.
    None(Error),
}

impl SampleSource {
    /// The source for senders in hosts whose network namespaces have these inode numbers.
    pub fn of(devices: DeviceKind, as_root: bool, namespaces: &[u64]) -> SampleSource {
        let source = match devices {
            DeviceKind::Simulated => SimulatedPath::open().when("samples").map(SampleSource::Device),
            _ if as_root => TcpProbe::of(namespaces).map(SampleSource::Program),
            _ => Err(Error::failed(NO_PROBE)),
        };
        source.unwrap_or_else(SampleSource::None)
    }

    /// The samples since the last call, in the order of time.
    pub fn taken(&mut self) -> Vec<ProbeSample> {
        match self {
            SampleSource::Program(probe) => probe.samples().collect(),
            // Fails only if the device no longer exists, and then nothing else does.
            SampleSource::Device(path) => path.samples().unwrap_or_default(),
            SampleSource::None(_) => Vec::new(),
        }
    }

    /// Its part of the validity of a run.
    ///
    /// # Errors
    /// The number of lost samples cannot be read.
    pub fn windows(&self) -> Result<Windows> {
        Ok(match self {
            SampleSource::Program(probe) => Windows::Packets { lost_samples: probe.lost_samples()? },
            SampleSource::Device(path) => Windows::Packets { lost_samples: path.lost_samples()? },
            SampleSource::None(error) => Windows::Polls { because: error.to_string() },
        })
    }
}
