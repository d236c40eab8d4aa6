//! The throughput of a flow over a path of the lab with each port, in turns with `cubic`.

use fairhaul_experiment::grid;
use fairhaul_host::error::{Context, Error, Result};
use fairhaul_host::lab::clock::Clock;
use fairhaul_host::lab::tcp_info::Info;
use fairhaul_host::lab::traffic::{LabTransfer, run_transfers};
use fairhaul_host::lab::{Dumbbell, Lab};
use fairhaul_host::steps::Steps;
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Rate, Span, Time};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::candidates::{BASE, Candidate, load_candidates};
use crate::spread::Spread;

const RATE_BPS: u64 = 200_000_000;
const RTT: Span = Span::from_ms(20);
/// The bandwidth-delay product in packets of 1500 B: 200 Mbit/s x 20 ms / 12,000 bit.
const BDP: u64 = 333;
/// By then slow start has overshot, and the flow has recovered from it.
const START: Span = Span::from_ms(1500);
/// Ports between one `cubic` and the next.
const PORTS_PER_TURN: usize = 2;

/// The goodput of flows over the path.
#[derive(Debug, Serialize)]
pub struct PathGoodput {
    /// With `cubic`, over all its turns.
    cubic_bps: Spread,
    /// With each port, once.
    ports: Vec<PortGoodput>,
    /// How late one packet in a hundred was, in the worst of all runs.
    lag_p99_s: f64,
}

#[derive(Debug, Serialize)]
struct PortGoodput {
    name: String,
    goodput_bps: f64,
    /// Over the median of `cubic`.
    over_cubic: f64,
}

/// One flow alone on the path.
#[derive(Clone, Copy, Debug)]
pub struct FlowResult {
    /// Payload delivered per second.
    pub goodput_bps: f64,
    /// Processor time of this process, which is both hosts and the router, per packet delivered.
    pub packet_ns: f64,
    /// Packets delivered, from the beginning of the flow on.
    pub delivered: u32,
    lag_p99_s: f64,
}

/// Runs a flow with each port, and measures it for this time after its start: `cubic`, two ports, `cubic`, two ports, and so on.
pub fn compare(seconds: u32, steps: Steps) -> Result<PathGoodput> {
    let ports: Vec<Candidate> = load_candidates()?.into_iter().filter(|one| one.loaded.is_some()).collect();
    let turn = |name: &str, kernel_name: &str| {
        let what = format!("run a flow of {name} over 200 Mbit/s and 20 ms for {seconds} s");
        let transfer = LabTransfer::endless(0, kernel_name);
        let seen = steps.step(what, || run_flow(&transfer, Span::from_s(seconds.into())))?;
        Ok(seen.expect("this is no dry run"))
    };
    let (mut runs, mut base) = (Vec::new(), vec![turn(BASE, BASE)?]);
    for some in ports.chunks(PORTS_PER_TURN) {
        let done = some.iter().map(|one| turn(&one.name, &one.kernel_name));
        runs.extend(done.collect::<Result<Vec<FlowResult>>>()?);
        base.push(turn(BASE, BASE)?);
    }
    let cubic = base.iter().map(|run| run.goodput_bps).collect();
    let cubic_bps = Spread::of(cubic).expect("it had its turns");
    let port = |(one, run): (&Candidate, &FlowResult)| PortGoodput {
        name: one.name.clone(),
        goodput_bps: run.goodput_bps,
        over_cubic: run.goodput_bps / cubic_bps.median,
    };
    let lag_p99_s = base.iter().chain(&runs).map(|run| run.lag_p99_s).fold(0.0, f64::max);
    Ok(PathGoodput { cubic_bps, ports: ports.iter().zip(&runs).map(port).collect(), lag_p99_s })
}

/// Runs one flow alone on the path.
pub fn run_flow(transfer: &LabTransfer, measured: Span) -> Result<FlowResult> {
    let lab = Lab::unsteered(path().layout())?;
    let end = Time::ZERO + START + measured;
    let clock = Clock::starting_in(Span::from_ms(50))?;
    let running = lab.start(clock, grid(START + measured, START, 1, 1))?;
    let mut polls: Vec<(Time, Info, i64)> = Vec::new();
    let mut on_poll = |now, _, info: &Info| polls.push((now, *info, processor_ns()));
    let results = run_transfers(&running, clock, end, std::slice::from_ref(transfer), &mut on_poll)?;
    let (_, passed) = running.finish().when("cannot forward packets")?;
    if let Some(failure) = results.iter().find_map(|one| one.failure.clone()) {
        return Err(Error::failed(failure));
    }
    let first = polls.iter().find(|(now, ..)| *now >= Time::ZERO + START);
    let ((since, before, began_ns), (until, after, ended_ns)) =
        first.zip(polls.last()).ok_or_else(|| Error::failed("the kernel did not report the flow"))?;
    let packets = f64::from(delivered(after) - delivered(before));
    let bits = packets * f64::from(after.mss) * 8.0;
    let lag = passed.lag.quantile(0.99).unwrap_or(Span::ZERO);
    Ok(FlowResult {
        goodput_bps: bits / until.since(*since).as_secs(),
        packet_ns: (ended_ns - began_ns) as f64 / packets,
        delivered: delivered(after),
        lag_p99_s: lag.as_secs(),
    })
}

/// The packets delivered so far.
fn delivered(info: &Info) -> u32 {
    info.delivered.expect("Linux 4.18 and later report it")
}

/// Processor time of this process.
fn processor_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every kernel has this clock").num_nanoseconds()
}

fn path() -> Dumbbell {
    Dumbbell {
        rate: Rate::from_bps(RATE_BPS).expect("it is not zero"),
        rtt: RTT,
        capacity: Capacity::Packets(BDP),
        loss: None,
        connections: 1,
    }
}
