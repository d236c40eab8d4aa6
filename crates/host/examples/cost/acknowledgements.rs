//! What an acknowledgement costs the sender's host with each controller, in turns with `cubic`.
//!
//! The memory in which the kernel puts a program or a socket changes its cost by some percent for as long as it
//! stays there. So every round has new programs and sockets, and the spread over rounds includes this effect.

use fairhaul_host::error::{Context, Result};
use fairhaul_host::ports::load::{Loaded, count_program_time};
use fairhaul_host::steps::Steps;
use serde::Serialize;

use crate::candidates::{BASE, Candidate, load_candidates};
use crate::direct_link::{AckBatch, DirectLink, Flow};
use crate::spread::Spread;

/// Turns of each controller in a round.
const TURNS: usize = 20;
/// Acknowledgements in a turn: so few that the speed of the machine hardly drifts meanwhile.
const ACKNOWLEDGEMENTS: u64 = 1000;
/// Acknowledgements in the turn that measures the time in programs.
const COUNTED: u64 = 5000;

/// What an acknowledgement costs with one controller, over all rounds.
#[derive(Debug, Serialize)]
pub struct AcknowledgementCost {
    name: String,
    /// Whether it is an eBPF port, or the kernel's own.
    is_port: bool,
    /// Its cost over that of the `cubic` before and after it.
    over_cubic: Spread,
    /// Processor time.
    ns: Spread,
    /// The part of it in the programs of a port. Counting takes the kernel some time, so it is done in turns of its own.
    programs_ns: Option<Spread>,
}

/// Medians of a round.
#[derive(Debug)]
struct Round {
    over_cubic: f64,
    ns: f64,
    programs_ns: Option<f64>,
}

/// Measures the kernel's own controllers and all ports in this number of rounds, at least one.
pub fn compare(rounds: u32, steps: Steps) -> Result<Vec<AcknowledgementCost>> {
    let mut link = DirectLink::new()?;
    let mut candidates = Vec::new();
    let mut measured: Vec<Vec<Round>> = Vec::new();
    for number in 1..=rounds {
        // Times can be compared with a constant window only, which BBR's is not; `paced` has its cost.
        candidates = load_candidates()?.into_iter().filter(|one| !one.has_control).collect::<Vec<_>>();
        let what =
            format!("time acknowledgements of {} controllers, round {number} of {rounds}", candidates.len());
        measured.extend(steps.step(what, || round(&mut link, &candidates))?);
    }
    let spread = |of: &dyn Fn(&Round) -> Option<f64>, index: usize| {
        Spread::of(measured.iter().filter_map(|round| of(&round[index])).collect())
    };
    let row = |(index, candidate): (usize, &Candidate)| {
        Some(AcknowledgementCost {
            name: candidate.name.clone(),
            is_port: candidate.loaded.is_some(),
            over_cubic: spread(&|round| Some(round.over_cubic), index)?,
            ns: spread(&|round| Some(round.ns), index)?,
            programs_ns: spread(&|round| round.programs_ns, index),
        })
    };
    Ok(candidates.iter().enumerate().filter_map(row).collect())
}

/// Measures every candidate in turns, with `cubic` before and after every turn.
fn round(link: &mut DirectLink, candidates: &[Candidate]) -> Result<Vec<Round>> {
    let mut base = link.open(BASE)?;
    let flows = candidates.iter().map(|candidate| link.open(&candidate.kernel_name));
    let mut flows: Vec<Flow> = flows.collect::<Result<_>>()?;
    let mut turn = |flow: &mut Flow| link.run(flow, ACKNOWLEDGEMENTS).map(AckBatch::each_ns);
    let mut times = vec![(Vec::new(), Vec::new()); candidates.len()];
    let mut before = turn(&mut base)?;
    for _ in 0..TURNS {
        for (flow, (ratios, own)) in flows.iter_mut().zip(&mut times) {
            let ns = turn(flow)?;
            let after = turn(&mut base)?;
            ratios.push(ns / f64::midpoint(before, after));
            own.push(ns);
            before = after;
        }
    }
    let median = |values| Spread::of(values).expect("there are turns").median;
    let rows = candidates.iter().zip(&mut flows).zip(times).map(|((candidate, flow), (ratios, own))| {
        let programs_ns = candidate.loaded.as_ref().map(|port| programs_ns(link, flow, port)).transpose()?;
        Ok(Round { over_cubic: median(ratios), ns: median(own), programs_ns })
    });
    rows.collect()
}

/// Time in the programs of a port, per acknowledgement.
fn programs_ns(link: &mut DirectLink, flow: &mut Flow, port: &Loaded) -> Result<f64> {
    let _counting = count_program_time().when("cannot measure the run time of BPF programs")?;
    let (ns, acknowledged) = (port.ran_ns()?, flow.acknowledged);
    link.run(flow, COUNTED)?;
    Ok((port.ran_ns()? - ns) as f64 / (flow.acknowledged - acknowledged) as f64)
}
