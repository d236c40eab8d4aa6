//! The self-test of an eBPF port before any program can choose it: a flow over a path of the lab uses it under a
//! temporary name. The path is removed with this process.

use fairhaul_experiment::grid;
use fairhaul_path::impair::LossRule;
use fairhaul_path::queue::{Capacity, QueueChoice, Site};
use fairhaul_units::{Rate, Span, Time};

use crate::error::{Context, Error, Result};
use crate::lab::clock::Clock;
use crate::lab::device::DeviceKind;
use crate::lab::network_counts::NetworkCounts;
use crate::lab::tcp_info::Info;
use crate::lab::traffic::{LabTransfer, run_transfers};
use crate::lab::{Dumbbell, Lab, Layout};
use crate::ports::install_spec::ResolvedInstall;
use crate::ports::{cgroup, load};

/// How long the flow of a self-test lasts.
const DURATION: Span = Span::from_ms(1500);
const RATE_BPS: u64 = 50_000_000;
const RTT: Span = Span::from_ms(10);
/// About 4000 packets pass in that time, so several are lost.
const LOST_EVERY: u64 = 500;
/// With a smaller share of the path the window hardly changed: ten packets per round trip are 0.23.
const LEAST_SHARE: f64 = 0.35;

/// Loads the eBPF port under a temporary name, sends a flow with it, and removes it. It has its default
/// parameters, because the requested ones may be for another kind of path.
pub fn run(install: &ResolvedInstall) -> Result<()> {
    let values = install.note.parameters.iter().map(|p| (p.name.clone(), p.default)).collect();
    let hidden = ResolvedInstall { name: load::hidden_name(), values, ..install.clone() };
    let mut loaded = load::load(&hidden)?;
    let test = || format!("the self-test of {} failed", install.note.name);
    if !load::has_options(&install.elf) {
        return flow(&hidden.name, path().layout()).map(drop).when(test());
    }
    loaded.attach_options(cgroup::of_this_process()?)?;
    let counts = flow(&hidden.name, path_of_router()).when(test())?;
    if counts.requests.is_none_or(|requests| requests.answered == 0) {
        return Err(Error::failed(format!("{}: no packet had its option ({counts:?})", test())));
    }
    Ok(())
}

/// A flow over a path that loses packets must make progress, and must react to losses.
fn flow(name: &str, layout: Layout) -> Result<NetworkCounts> {
    let lab = Lab::with(DeviceKind::of_router(), layout)?;
    let clock = Clock::starting_in(Span::from_ms(50))?;
    let running = lab.start(clock, grid(DURATION, Span::ZERO, 1, 1))?;
    let mut last: Option<Info> = None;
    let transfers = [LabTransfer::endless(0, name)];
    let results = run_transfers(&running, clock, Time::ZERO + DURATION, &transfers, &mut |_, _, info| {
        last = Some(*info)
    })?;
    let (_, passed) = running.finish()?;
    let [one] = &results[..] else { return Err(Error::failed("the flow did not run")) };
    if let Some(failure) = &one.failure {
        return Err(Error::failed(failure.clone()));
    }
    let share = one.received as f64 * 8.0 / DURATION.as_secs() / RATE_BPS as f64;
    let info = last.ok_or_else(|| Error::failed("the kernel did not report the flow"))?;
    if share < LEAST_SHARE || !passed.counts.balance() {
        return Err(Error::failed(format!(
            "its flow used {:.0} % of the path; wanted at least {:.0} % ({info:?})",
            100.0 * share,
            100.0 * LEAST_SHARE
        )));
    }
    if info.retransmitted == 0 || info.ssthresh.is_none() || info.cwnd < 1 {
        return Err(Error::failed(format!("packets were lost, but the flow did not react ({info:?})")));
    }
    Ok(passed.counts)
}

fn path() -> Dumbbell {
    Dumbbell {
        rate: Rate::from_bps(RATE_BPS).expect("it is not zero"),
        rtt: RTT,
        capacity: Capacity::Packets(60),
        loss: Some(LossRule::Every(LOST_EVERY)),
        connections: 1,
    }
}

/// The same with a router of XCP.
fn path_of_router() -> Layout {
    let mut layout = path().layout();
    let link = &mut layout.links[0];
    let site = Site { rate: link.rate, delay: link.delay, capacity: link.capacity, mark: link.mark };
    let choice = QueueChoice::named("xcp").expect("it is in the catalogue");
    link.queue = choice.resolved(&site, layout.mtu).expect("its defaults fit any link");
    layout
}
