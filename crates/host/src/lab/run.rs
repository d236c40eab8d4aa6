//! The entry point: runs a scenario on the kernel that this process is in, and returns its record and its validity.

use std::collections::BTreeSet;

use fairhaul_experiment::{FlowRow, PacketTrace, Record, Scenario, TransferRow};
use fairhaul_units::{HEADER, Span, TIME_STAMPS, Time, mix};

use super::clock::Clock;
use super::flow_controller::{KernelNames, datagrams};
use super::machine_load::MachineCounters;
use super::observe::Observer;
use super::plan::{Plan, plan};
use super::program::AllowedPrograms;
use super::programs_of_run::{opened, programs_worked, with_programs};
use super::run_validity::{Evidence, RunValidity};
use super::sample_source::SampleSource;
use super::simulated_path::SimulatedPath;
use super::tcp_info::Info;
use super::tcp_probe::ProbeSample;
use super::traced_windows::TracedWindows;
use super::traffic::{self, DATAGRAM_HEADERS, LEAD, TransferResult};
use super::xcp_option::REQUEST;
use crate::error::{Context, Error, Result};
use crate::ports::capabilities;

/// The result of a run.
#[derive(Debug)]
pub struct RunResult {
    /// The record, in the form of the simulator's.
    pub record: Record,
    /// Whether the run is valid.
    pub validity: RunValidity,
    /// The packet trace, if one was requested.
    pub trace: Option<PacketTrace>,
}

/// Runs `scenario` on hosts of this kernel, in its time; `traced`: the flow whose packets the emulated network traces.
///
/// # Errors
/// A refusal if real hosts cannot run it; a failure if this machine cannot create the hosts.
pub fn run(
    scenario: &Scenario,
    kernel_names: &KernelNames,
    traced: Option<u32>,
    programs: Option<&AllowedPrograms>,
) -> Result<RunResult> {
    can_be_made(traced)?;
    let Plan { layout, transfers } = with_programs(plan(scenario, kernel_names)?, scenario, programs)?;
    let (flows, mode) = (layout.connections.clone(), layout.mode);
    let grid = scenario.grid();
    let lab = opened(layout, scenario, &transfers, programs)?;
    let senders: BTreeSet<u8> = transfers.iter().map(|transfer| transfer.from).collect();
    let senders: Vec<u64> = senders.into_iter().map(|host| lab.host(host).namespace.inode()).collect();
    let (as_root, devices) = (capabilities::lacking().is_empty(), lab.devices());
    let mut samples = SampleSource::of(devices, as_root, &senders);
    let mut observer = Observer::of(scenario, flows.clone());
    let mut traced = TracedWindows::new(traced, flows.clone());
    let before = MachineCounters::now()?;
    let clock = Clock::starting_in(lead(&transfers) + phase(scenario.seed))?;
    let running = lab.start(clock, grid).when("cannot start the network")?;
    let sends = |sample: &ProbeSample| {
        let transfer = transfers.get(sample.connection as usize);
        transfer.is_some_and(|transfer| transfer.from == sample.host && !transfer.is_of_programs())
    };
    let take = |samples: &mut SampleSource, observer: &mut Observer, traced: &mut TracedWindows| {
        for sample in samples.taken().into_iter().filter(sends) {
            observer.on_sample(clock.at(sample.at_ns), sample.connection, &sample.state);
            traced.on_sample(clock, &sample);
        }
    };
    let mut poll = |now, connection, info: &Info| {
        take(&mut samples, &mut observer, &mut traced);
        observer.on_poll(now, connection, info);
        traced.on_poll(now, connection, info);
    };
    let results =
        traffic::run_transfers(&running, clock, Time::ZERO + scenario.duration, &transfers, &mut poll);
    let (mut record, mut passed) = running.finish().when("cannot forward packets")?;
    let machine = MachineCounters::now()?.since(&before);
    take(&mut samples, &mut observer, &mut traced);
    let results = results.when("cannot start threads")?;
    programs_worked(&transfers, &results, &passed.in_order, scenario.duration.as_secs())?;
    let (observed, shortest) = observer.close();
    record.transfers = rows(&transfers, &flows, &results, &passed.in_order);
    let observed = observed.close(record.engine, Vec::new());
    record.flows.iter_mut().zip(observed.flows).for_each(|(rows, observed)| complete(rows, &observed));
    record.events = observed.events;
    record.limits = observed.limits;
    record.events.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
    record.packets = packets(scenario, &flows, &passed.in_order);
    passed.trace.iter_mut().for_each(|trace| traced.complete(trace));
    let windows = samples.windows()?;
    let evidence = Evidence {
        passed: &passed,
        results: &results,
        shortest: &shortest,
        machine,
        mode,
        windows,
        as_root,
        devices,
    };
    let validity = RunValidity::of(scenario, &flows, &record, &evidence);
    Ok(RunResult { record, validity, trace: passed.trace })
}

/// Whether hosts can be created here at all, and the packets of a flow be traced if one is `traced`.
fn can_be_made(traced: Option<u32>) -> Result<()> {
    if traced.is_some() && !SimulatedPath::is_here() {
        return Err(Error::refused("packets are traced only where time is simulated, not in the lab"));
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::refused("the lab needs root, or a user namespace in which this process is root"));
    }
    Ok(())
}

/// The time until all transfers that start at once have their sockets.
fn lead(transfers: &[traffic::LabTransfer]) -> Span {
    let at_once = transfers.iter().filter(|transfer| transfer.start <= Time::ZERO + LEAD).count();
    LEAD * 5 + Span::from_ms(1) * at_once as u64
}

/// How much later a run begins: anywhere in a tick of the kernel, by the seed, where time is simulated and nothing else varies.
fn phase(seed: u64) -> Span {
    const TICK_US: u64 = 4000;
    Span::from_us(mix(seed) % TICK_US)
}

/// Windows and round-trip times come from the senders, everything else from the packets.
fn complete(rows: &mut [FlowRow], observed: &[FlowRow]) {
    for (row, observed) in rows.iter_mut().zip(observed) {
        row.cwnd_packets = observed.cwnd_packets;
        row.ssthresh_packets = observed.ssthresh_packets;
        row.rtt_s = observed.rtt_s;
        row.rtt_samples = observed.rtt_samples;
    }
}

/// One row for every transfer, in the order of the plan.
fn rows(
    transfers: &[traffic::LabTransfer],
    flows: &[u32],
    results: &[TransferResult],
    in_order: &[u64],
) -> Vec<TransferRow> {
    let mut results = results.iter().peekable();
    let row = |transfer: &traffic::LabTransfer| {
        let number = transfer.connection;
        let done = results.next_if(|result| result.connection == number);
        let start = done.and_then(|done| done.start).unwrap_or(transfer.start);
        let end = done.and_then(|done| done.end);
        TransferRow {
            flow: flows[number as usize],
            start_s: start.as_secs(),
            end_s: end.map_or(f64::NAN, Time::as_secs),
            bytes: in_order[number as usize],
        }
    };
    transfers.iter().map(row).collect()
}

/// Distinct data packets delivered.
// Differs from the simulator: packets that arrived out of order and are not yet acknowledged do not count.
fn packets(scenario: &Scenario, flows: &[u32], in_order: &[u64]) -> u64 {
    let packets = |(flow, bytes): (&u32, &u64)| bytes.div_ceil(payload(scenario, *flow));
    flows.iter().zip(in_order).map(packets).sum()
}

/// The payload of a full packet.
fn payload(scenario: &Scenario, flow: u32) -> u64 {
    let flow = &scenario.flows[flow as usize];
    let headers = if datagrams(flow) {
        DATAGRAM_HEADERS
    } else if flow.controller.entry.header.0 > 0 {
        HEADER + TIME_STAMPS + REQUEST
    } else {
        HEADER + TIME_STAMPS
    };
    (flow.packet - headers).0
}
