//! What an acknowledgement costs the sender's host with each controller, in turns with `cubic`.
//!
//! Where the kernel puts a program or a socket moves its cost by some percent for as long as it stays there. So every
//! round has programs and sockets of its own, and the spread over rounds tells of that, too.

use serde::Serialize;

use super::spread::Spread;
use super::wire::{Flow, Handed, Wire};
use super::{BASE, Tried};
use crate::error::{Context, Result};
use crate::kernel::load::Loaded;
use crate::steps::Steps;
use crate::sys;

/// Of each controller in a round.
const TURNS: usize = 20;
/// In a turn: short enough that a machine hardly drifts meanwhile.
const ACKNOWLEDGEMENTS: u64 = 1000;
/// In the turn that tells the time of programs.
const COUNTED: u64 = 5000;

/// What an acknowledgement costs with one controller, over all rounds.
#[derive(Debug, Serialize)]
pub struct Seen {
    name: String,
    /// Whether it is a twin, or the kernel's own.
    twin: bool,
    /// Over that of the `cubic` before and after it.
    over_cubic: Spread,
    /// Of the processor.
    ns: Spread,
    /// Of a twin: what its programs take of it. The kernel's counting takes time, too, so this is of turns of its own.
    programs_ns: Option<Spread>,
}

/// Medians of a round.
#[derive(Debug)]
struct Round {
    over_cubic: f64,
    ns: f64,
    programs_ns: Option<f64>,
}

/// Tries the kernel's own and all twins in so many rounds, at least one.
pub fn compare(rounds: u32, steps: Steps) -> Result<Vec<Seen>> {
    let mut wire = Wire::new()?;
    let mut tried = Vec::new();
    let mut seen: Vec<Vec<Round>> = Vec::new();
    for number in 1..=rounds {
        tried = super::tried()?;
        let what =
            format!("time acknowledgements of {} controllers, round {number} of {rounds}", tried.len());
        seen.extend(steps.step(what, || round(&mut wire, &tried))?);
    }
    let spread = |of: &dyn Fn(&Round) -> Option<f64>, one: usize| {
        Spread::of(seen.iter().filter_map(|round| of(&round[one])).collect())
    };
    let row = |(one, tried): (usize, &Tried)| {
        Some(Seen {
            name: tried.name.clone(),
            twin: tried.loaded.is_some(),
            over_cubic: spread(&|round| Some(round.over_cubic), one)?,
            ns: spread(&|round| Some(round.ns), one)?,
            programs_ns: spread(&|round| round.programs_ns, one),
        })
    };
    Ok(tried.iter().enumerate().filter_map(row).collect())
}

/// Each of them in turns, with `cubic` before and after every turn.
fn round(wire: &mut Wire, tried: &[Tried]) -> Result<Vec<Round>> {
    let mut base = wire.open(BASE)?;
    let flows = tried.iter().map(|one| wire.open(&one.kernel_name));
    let mut flows: Vec<Flow> = flows.collect::<Result<_>>()?;
    let mut turn = |flow: &mut Flow| wire.carry(flow, ACKNOWLEDGEMENTS).map(Handed::each_ns);
    let mut times = vec![(Vec::new(), Vec::new()); tried.len()];
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
    let median = |seen| Spread::of(seen).expect("there are turns").median;
    let rows = tried.iter().zip(&mut flows).zip(times).map(|((one, flow), (ratios, own))| {
        let programs_ns = one.loaded.as_ref().map(|twin| programs_ns(wire, flow, twin)).transpose()?;
        Ok(Round { over_cubic: median(ratios), ns: median(own), programs_ns })
    });
    rows.collect()
}

/// What the programs of a twin take of an acknowledgement.
fn programs_ns(wire: &mut Wire, flow: &mut Flow, twin: &Loaded) -> Result<f64> {
    let _counting = sys::count_program_time().when("cannot measure the run time of BPF programs")?;
    let (ns, acknowledged) = (twin.ran_ns()?, flow.acknowledged);
    wire.carry(flow, COUNTED)?;
    Ok((twin.ran_ns()? - ns) as f64 / (flow.acknowledged - acknowledged) as f64)
}
