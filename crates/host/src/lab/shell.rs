//! Runs a program at the sender of a flow: its packets and the answers take that flow's path.

use std::env;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::slice;

use fairhaul_experiment::{Flow, Scenario, grid};
use fairhaul_units::{Span, hint};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::address::address;
use super::clock::Clock;
use super::flow_controller::{datagrams, kernel_name};
use super::host_settings;
use super::layout::Layout;
use super::namespaced_processes::NamespacedProcesses;
use super::plan::around;
use super::router::{Lab, Passed};
use super::run_request::{RequestedScenario, prepare};
use super::temporary_ports::load_ports;
use crate::error::{Context, Error, Result};
use crate::ports::congestion;
use crate::signals;
use crate::steps::say;
use crate::sys::Inherited;

/// The only connection.
const CONNECTION: u32 = 0;

/// The request.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// The scenario whose network is opened.
    pub scenario: RequestedScenario,
    /// The flow in whose sending host the program runs.
    pub host: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Lines for `sh`, which run at the receiver.
    pub receivers: Vec<String>,
    /// Inherited descriptors: the program's input and output.
    pub terminal: (RawFd, RawFd),
    /// The environment of the program; by default that of this process.
    #[serde(default)]
    pub environment: Option<Vec<(String, String)>>,
    /// The folder in which it starts; by default that of this process.
    #[serde(default)]
    pub folder: Option<PathBuf>,
}

/// Opens the network and runs the program until it exits; returns its exit status and the counts of packets.
///
/// # Errors
/// A refusal if hosts cannot be created here, if there is no such flow, or if real hosts cannot run the scenario.
pub fn shell(request: &Shell, inherited: &mut Inherited) -> Result<Value> {
    let (input, output) = terminal(request.terminal, inherited)?;
    let scenario = request.scenario.read_in_bounds()?;
    let number = number(&scenario, &request.host)?;
    let flow = &scenario.flows[number as usize];
    if request.command.is_empty() {
        return Err(Error::refused("the request does not name a program"));
    }
    prepare(false)?;
    let ports = load_ports(slice::from_ref(flow))?;
    let layout = around(&scenario, number, &ports.names)?;
    let route = layout.routes[number as usize].clone();
    let own = address(route.from, CONNECTION).to_string();
    let peer = address(route.to, CONNECTION).to_string();
    // Signals of the keyboard are for the program.
    signals::block_keyboard()?;
    let lab = open(layout, flow, kernel_name(flow, &ports.names))?;
    let clock = Clock::starting_in(Span::ZERO)?;
    let running =
        lab.start(clock, grid(scenario.duration, Span::ZERO, scenario.flows.len(), scenario.links.len()));
    let running = running.when("cannot start the network")?;
    say(&json!({ "open": { "flow": flow.name, "address": own, "peer": peer } }));
    if let Some(folder) = &request.folder {
        env::set_current_dir(folder).when(folder.display())?;
    }
    let mut environment = vec![("FAIRHAUL_PEER".into(), peer), ("FAIRHAUL_FLOW".into(), flow.name.clone())];
    environment.extend(request.environment.iter().flatten().cloned());
    let processes = NamespacedProcesses {
        sender: &running.host(route.from).namespace,
        receiver: &running.host(route.to).namespace,
        command: &request.command,
        receivers: &request.receivers,
        environment: &environment,
    };
    let ended = processes.run(input, output).when(&request.command[0]);
    let (_, passed) = running.finish().when("cannot forward packets")?;
    Ok(summary(ended?, &passed))
}

/// Takes the input and the output of the program.
///
/// # Errors
/// A refusal if they were not passed.
pub fn terminal(numbers: (RawFd, RawFd), inherited: &mut Inherited) -> Result<(OwnedFd, OwnedFd)> {
    let mut take = |number| {
        inherited.take(number).ok_or_else(|| {
            Error::refused(format!(
                "terminal: file descriptor {number} was not passed; wanted two different descriptors, open \
                 in this process, above the standard streams (3 or more)"
            ))
        })
    };
    Ok((take(numbers.0)?, take(numbers.1)?))
}

/// The number of the flow of that name.
pub fn number(scenario: &Scenario, name: &str) -> Result<u32> {
    let flow = (0..).zip(&scenario.flows).find(|(_, flow)| flow.name == name);
    let known = scenario.flows.iter().map(|flow| flow.name.as_str());
    flow.map(|(number, _)| number).ok_or_else(|| {
        Error::refused(format!("unknown flow \"{name}\", so there is no host for it; {}", hint(name, known)))
    })
}

/// The hosts, whose programs use the controller of the flow unless they choose another.
fn open(layout: Layout, flow: &Flow, controller: &str) -> Result<Lab> {
    let route = layout.routes[layout.connections[CONNECTION as usize] as usize].clone();
    host_settings::check(&layout.hosts, &layout.links)?;
    let lab = Lab::new(layout).when("cannot create the hosts of the lab")?;
    for (own, other) in [(route.from, route.to), (route.to, route.from)] {
        let host = lab.host(own);
        host.speaks(own, other, CONNECTION, route.metrics, None).when("cannot set the route of the flow")?;
        if datagrams(flow) {
            continue;
        }
        // As a default it leaves programs their choice, but only controllers that any user may choose can be the
        // default.
        let chosen = host.namespace.inside(|| Ok(congestion::set_default(controller)))?;
        if chosen.is_err() {
            host.speaks(own, other, CONNECTION, route.metrics, Some(controller))
                .when("cannot set the route of the flow")?;
        }
    }
    Ok(lab)
}

fn summary(ended: ExitStatus, passed: &Passed) -> Value {
    // The exit status of a shell for a program that a signal has ended.
    let status = ended.code().or(ended.signal().map(|signal| 128 + signal));
    let lag = |share| passed.lag.quantile(share).map(|span| span.as_secs() * 1e6);
    json!({
        "status": status,
        "packets": passed.counts.delivered,
        "dropped": passed.counts.dropped,
        "strays": passed.counts.strays,
        "requests": passed.counts.requests,
        "unseen": passed.unseen,
        "lag_us": { "p50": lag(0.5), "p99": lag(0.99), "most": lag(1.0) },
        "warnings": passed.warnings,
    })
}
