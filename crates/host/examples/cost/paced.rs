//! The processor time of a packet with each controller that paces and moves its window itself, in turns with a paced
//! `cubic`.
//!
//! No route holds the window of such a controller, and its pacing takes timers. So whole flows over the
//! [path](crate::path) are compared: the process does the work of both hosts and of the router, and its processor time
//! is divided by the packets that were delivered. `cubic` is paced by its socket at about the rate that the others
//! reach, so that both sides have the timers, and as many packets.

use fairhaul_host::error::{Context, Error, Result};
use fairhaul_host::lab::traffic::LabTransfer;
use fairhaul_host::ports::congestion;
use fairhaul_host::ports::load::{Loaded, count_program_time};
use fairhaul_host::steps::Steps;
use fairhaul_units::{Rate, Span};
use serde::Serialize;

use crate::candidates::{BASE, load_candidates};
use crate::path::{FlowResult, run_flow};
use crate::spread::Spread;

/// The kernel's own controller that paces, where the kernel has it.
const OWN: &str = "bbr";
/// 97 % of the payload that the link carries: 0.97 x 200 Mbit/s x 1448 / 1500.
const PACED: Rate = Rate::from_bps(187_000_000).expect("it is not zero");
/// Turns of each controller.
const TURNS: usize = 3;

/// What a packet costs with the controllers that pace.
#[derive(Debug, Serialize)]
pub struct PacedCost {
    /// Processor time of a packet with the paced `cubic`, ns, over all its turns.
    cubic_ns: Spread,
    /// The goodput of the paced `cubic`, over all its turns.
    cubic_bps: Spread,
    controllers: Vec<PacketCost>,
}

#[derive(Debug, Serialize)]
struct PacketCost {
    name: String,
    /// Whether it is an eBPF port, or the kernel's own.
    is_port: bool,
    ns: Spread,
    /// Its cost over that of the `cubic` before and after it.
    over_cubic: Spread,
    goodput_bps: Spread,
    /// The part of it in the programs of a port, from a turn of its own.
    programs_ns: Option<f64>,
}

/// A controller, and its turns.
struct Candidate {
    name: String,
    kernel_name: String,
    loaded: Option<Loaded>,
    runs: Vec<FlowResult>,
    over_cubic: Vec<f64>,
}

/// Measures every flow for this time after its start.
pub fn compare(seconds: u32, steps: Steps) -> Result<PacedCost> {
    let measured = Span::from_s(seconds.into());
    let turn = |name: &str, transfer: &LabTransfer| {
        let what = format!("run a paced flow of {name} over 200 Mbit/s and 20 ms for {seconds} s");
        Ok::<_, Error>(steps.step(what, || run_flow(transfer, measured))?.expect("this is no dry run"))
    };
    let mut paced_cubic = LabTransfer::endless(0, BASE);
    paced_cubic.options.max_pacing_rate = Some(PACED);
    let mut candidates = candidates()?;
    let mut base = vec![turn(BASE, &paced_cubic)?];
    for _ in 0..TURNS {
        for one in &mut candidates {
            let run = turn(&one.name, &LabTransfer::endless(0, &one.kernel_name))?;
            let before = base[base.len() - 1].packet_ns;
            let after = turn(BASE, &paced_cubic)?;
            one.over_cubic.push(run.packet_ns / f64::midpoint(before, after.packet_ns));
            one.runs.push(run);
            base.push(after);
        }
    }
    let controllers = candidates.into_iter().map(|one| {
        let programs_ns = one.loaded.as_ref().map(|port| programs_ns(&one.kernel_name, port, measured));
        Ok(PacketCost {
            programs_ns: programs_ns.transpose()?,
            is_port: one.loaded.is_some(),
            name: one.name,
            ns: spread(&one.runs, |run| run.packet_ns),
            goodput_bps: spread(&one.runs, |run| run.goodput_bps),
            over_cubic: Spread::of(one.over_cubic).expect("there are turns"),
        })
    });
    Ok(PacedCost {
        cubic_ns: spread(&base, |run| run.packet_ns),
        cubic_bps: spread(&base, |run| run.goodput_bps),
        controllers: controllers.collect::<Result<_>>()?,
    })
}

/// The ports that move their windows themselves, and the kernel's own controller that does.
fn candidates() -> Result<Vec<Candidate>> {
    let own = congestion::available()?.into_iter().filter(|name| name == OWN);
    let own = own.map(|name| (name.clone(), name, None));
    let ports = load_candidates()?.into_iter().filter(|one| one.has_control);
    let ports = ports.map(|one| (one.name, one.kernel_name, one.loaded));
    let candidate = |(name, kernel_name, loaded)| Candidate {
        name,
        kernel_name,
        loaded,
        runs: Vec::new(),
        over_cubic: Vec::new(),
    };
    Ok(own.chain(ports).map(candidate).collect())
}

/// Time in the programs of a port, per packet delivered.
fn programs_ns(kernel_name: &str, port: &Loaded, measured: Span) -> Result<f64> {
    let _counting = count_program_time().when("cannot measure the run time of BPF programs")?;
    let before = port.ran_ns()?;
    let run = run_flow(&LabTransfer::endless(0, kernel_name), measured)?;
    Ok((port.ran_ns()? - before) as f64 / f64::from(run.delivered))
}

fn spread(runs: &[FlowResult], of: impl Fn(&FlowResult) -> f64) -> Spread {
    Spread::of(runs.iter().map(of).collect()).expect("there are turns")
}
