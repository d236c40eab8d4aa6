//! What a flow makes of a path of the lab with each twin, in turns with `cubic`.

use fairhaul_experiment::grid;
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Rate, Span, Time};
use serde::Serialize;

use super::spread::Spread;
use super::{BASE, Tried};
use crate::error::{Context, Error, Result};
use crate::lab::clock::Clock;
use crate::lab::info::Info;
use crate::lab::traffic::{Transfer, carry};
use crate::lab::{Dumbbell, Lab};
use crate::steps::Steps;

const RATE_BPS: u64 = 200_000_000;
const RTT: Span = Span::from_ms(20);
/// What the path holds in packets of 1500 B: 200 Mbit/s x 20 ms / 12,000 bit.
const BDP: u64 = 333;
/// Slow start has overshot and has been recovered from by then.
const START: Span = Span::from_ms(1500);
/// Twins between one `cubic` and the next.
const AT_ONCE: usize = 2;

/// What flows made of the path.
#[derive(Debug, Serialize)]
pub struct Seen {
    /// With `cubic`, over all its turns.
    cubic_bps: Spread,
    /// With each twin, once.
    twins: Vec<Twin>,
    /// How late one packet in a hundred was, in the worst of all runs.
    lag_p99_s: f64,
}

#[derive(Debug, Serialize)]
struct Twin {
    name: String,
    goodput_bps: f64,
    /// Over the median of `cubic`.
    over_cubic: f64,
}

/// One flow alone on the path.
#[derive(Clone, Copy, Debug)]
struct Alone {
    goodput_bps: f64,
    lag_p99_s: f64,
}

/// Has each twin carry data for so long after its start: `cubic`, two of them, `cubic`, two of them, and so on.
pub fn compare(seconds: u32, steps: Steps) -> Result<Seen> {
    let twins: Vec<Tried> = super::tried()?.into_iter().filter(|one| one.loaded.is_some()).collect();
    let turn = |name: &str, kernel_name: &str| {
        let what = format!("run a flow of {name} over 200 Mbit/s and 20 ms for {seconds} s");
        let seen = steps.step(what, || alone(kernel_name, Span::from_s(seconds.into())))?;
        Ok(seen.expect("this is no dry run"))
    };
    let (mut runs, mut base) = (Vec::new(), vec![turn(BASE, BASE)?]);
    for some in twins.chunks(AT_ONCE) {
        let done = some.iter().map(|one| turn(&one.name, &one.kernel_name));
        runs.extend(done.collect::<Result<Vec<Alone>>>()?);
        base.push(turn(BASE, BASE)?);
    }
    let cubic = base.iter().map(|run| run.goodput_bps).collect();
    let cubic_bps = Spread::of(cubic).expect("it had its turns");
    let twin = |(one, run): (&Tried, &Alone)| Twin {
        name: one.name.clone(),
        goodput_bps: run.goodput_bps,
        over_cubic: run.goodput_bps / cubic_bps.median,
    };
    let lag_p99_s = base.iter().chain(&runs).map(|run| run.lag_p99_s).fold(0.0, f64::max);
    Ok(Seen { cubic_bps, twins: twins.iter().zip(&runs).map(twin).collect(), lag_p99_s })
}

/// A flow of this controller that has the path for itself.
fn alone(controller: &str, measured: Span) -> Result<Alone> {
    let lab = Lab::new(path().layout())?;
    let end = Time::ZERO + START + measured;
    let clock = Clock::starting_in(Span::from_ms(50))?;
    let running = lab.start(clock, grid(START + measured, START, 1, 1));
    let mut looks: Vec<(Time, Info)> = Vec::new();
    let mut look = |now, _, info: &Info| looks.push((now, *info));
    let carried = carry(&running, clock, end, &[Transfer::endless(0, controller)], &mut look)?;
    let (_, passed) = running.finish().when("cannot forward packets")?;
    if let Some(failure) = carried.iter().find_map(|one| one.failure.clone()) {
        return Err(Error::failed(failure));
    }
    let first = looks.iter().find(|(now, _)| *now >= Time::ZERO + START);
    let ((since, before), (until, after)) =
        first.zip(looks.last()).ok_or_else(|| Error::failed("the kernel did not report the flow"))?;
    let bits = f64::from(after.delivered - before.delivered) * f64::from(after.mss) * 8.0;
    let lag = passed.lag.quantile(0.99).unwrap_or(Span::ZERO);
    Ok(Alone { goodput_bps: bits / until.since(*since).as_secs(), lag_p99_s: lag.as_secs() })
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
