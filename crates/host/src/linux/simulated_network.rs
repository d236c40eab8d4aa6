//! The network of a request, as the library in the program builds it.

use crate::error::{Context, Result};
use crate::lab::host_settings::HostSettings;
use crate::lab::network::Network;
use crate::lab::plan::{simulated_layout, simulated_layout_around};
use crate::request::{LinuxRequest, SimulatedRun, linux_request};

/// An idle network for the hosts of a request.
pub struct SimulatedNetwork {
    /// The network.
    pub network: Network,
    /// The number of its connections.
    pub connections: u32,
    /// The settings of hosts, of which their cards carry out some.
    pub hosts: Vec<HostSettings>,
    /// The seed of their random numbers.
    pub seed: u64,
}

impl SimulatedNetwork {
    /// The network of a request that has one, in the form of `fairhaul-host`.
    ///
    /// # Errors
    /// It is not a request that has a network, or its scenario has mistakes.
    pub fn of(request: &[u8]) -> Result<Option<SimulatedNetwork>> {
        let (layout, grid, traced, captures) = match linux_request(&String::from_utf8_lossy(request))? {
            LinuxRequest::Ready => return Ok(None),
            LinuxRequest::Run(run) => {
                let SimulatedRun { scenario, traced, captures } = *run;
                (simulated_layout(&scenario), scenario.grid(), traced, captures)
            }
            LinuxRequest::Shell(scenario, flow) => {
                (simulated_layout_around(&scenario, flow), scenario.grid(), None, Vec::new())
            }
        };
        let connections = layout.connections.len() as u32;
        let mut network = Network::new(&layout, grid);
        if let Some(flow) = traced {
            network.trace(flow);
        }
        for (flow, folder) in captures {
            network.capture(flow, &folder).when(folder.display())?;
        }
        let (hosts, seed) = (layout.hosts, layout.seed);
        Ok(Some(SimulatedNetwork { network, connections, hosts, seed }))
    }
}
