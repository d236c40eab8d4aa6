//! The transfers of a run, drawn before it starts: the same on every engine.
//!
//! Each flow draws from two streams of its own, one for its start and one for its traffic, so that
//! what one flow sends never depends on the others.

use fairhaul_units::{Bytes, Chance, Span, Time};

use super::vectors::Placed;
use crate::{Flow, Scenario, Side, SizeLaw, Start, Traffic, Vectors, WebPages};

/// Sizes are cut here, so that a heavy tail stays a number; no run delivers as much.
const LARGEST: f64 = 1e15;
/// Reading a scenario refuses more than 10^7 expected transfers; chance cannot double that.
const MOST_TRANSFERS: usize = 20_000_000;

/// One connection and what it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Index of its flow in the scenario.
    pub flow: u32,
    /// When its sender opens the connection; `Time::NEVER`: when another transfer says so.
    pub start: Time,
    /// Payload, of all connections that carry it; `None`: without end.
    pub size: Option<Bytes>,
    /// What starts once all of its payload has arrived.
    pub next: Option<NextTransfer>,
}

/// The transfer that follows another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextTransfer {
    /// Its number in the plan.
    pub transfer: u32,
    /// How long after the arrival.
    pub pause: Span,
}

/// The transfers of `scenario`, ordered by flow and then by start, those of connection vectors as in their file. All start
/// before its end, or after another one.
pub fn plan(scenario: &Scenario) -> Vec<Transfer> {
    plan_while(scenario, || true).expect("nothing ends it")
}

/// The same while `goes_on` says so, which is asked of every flow and every transfer; `None`: it did not.
pub fn plan_while(scenario: &Scenario, goes_on: impl Fn() -> bool) -> Option<Vec<Transfer>> {
    let end = Time::ZERO + scenario.duration;
    let mut transfers = Vec::new();
    for (index, flow) in (0u32..).zip(&scenario.flows) {
        if !goes_on() {
            return None;
        }
        let stream = |purpose| Chance::stream(scenario.seed, purpose, u64::from(index));
        let start = opens(scenario, index);
        let mut chance = stream("traffic");
        let first = transfers.len();
        let mut add = |start, size| {
            if start < end && goes_on() {
                transfers.push(Transfer { flow: index, start, size, next: None });
            }
        };
        match &flow.traffic {
            Traffic::Bulk | Traffic::OnOff { .. } | Traffic::Limited { .. } | Traffic::Cbr { .. } => {
                add(start, None);
            }
            Traffic::Sized(size) => add(start, Some(*size)),
            &Traffic::Short { per_s, size } => {
                poisson(start, end, per_s, &mut chance, &goes_on, |at, chance| {
                    add(at, Some(draw(size, chance)));
                });
            }
            Traffic::Web(pages) => {
                poisson(start, end, pages.sessions_per_s, &mut chance, &goes_on, |at, chance| {
                    session(at, end, pages, chance, &mut add);
                });
            }
            Traffic::Vectors { .. } | Traffic::Answers { .. } => {
                if goes_on() {
                    transfers.extend(units(scenario, index, end));
                }
                continue;
            }
        }
        // Sessions overlap; a stable sort keeps the objects of one page in the order drawn.
        transfers[first..].sort_by_key(|transfer| transfer.start);
        assert!(transfers.len() <= MOST_TRANSFERS, "a scenario is refused when it expects half as many");
    }
    for (index, flow) in (0u32..).zip(&scenario.flows) {
        if let Traffic::Vectors { vectors, .. } = &flow.traffic {
            link(vectors, scenario, index, &mut transfers);
        }
    }
    goes_on().then_some(transfers)
}

/// When a flow opens: connections that carry one transfer with the first of them, and answers with what they answer.
fn opens(scenario: &Scenario, index: u32) -> Time {
    let flow = &scenario.flows[index as usize];
    let with = match flow.traffic {
        Traffic::Answers { flow, .. } => flow,
        _ => flow.lead.unwrap_or(index),
    };
    let mut starts = Chance::stream(scenario.seed, "start", u64::from(with));
    Time::ZERO + begin(scenario.flows[with as usize].start, &mut starts)
}

/// The units of connection vectors that a flow writes, in the order of their file.
fn units(scenario: &Scenario, index: u32, end: Time) -> Vec<Transfer> {
    let (side, vectors) = match &scenario.flows[index as usize].traffic {
        Traffic::Vectors { vectors, .. } => (Side::Initiator, vectors),
        &Traffic::Answers { flow, .. } => match &scenario.flows[flow as usize].traffic {
            Traffic::Vectors { vectors, .. } => (Side::Acceptor, vectors),
            _ => unreachable!("reading a scenario finds the flow that is answered"),
        },
        _ => unreachable!("only connection vectors have units"),
    };
    let mine = vectors.placed(opens(scenario, index), end).filter(|placed| placed.unit.side == side);
    mine.map(|Placed { unit, at }| Transfer {
        flow: index,
        start: at.unwrap_or(Time::NEVER),
        size: Some(unit.size),
        next: None,
    })
    .collect()
}

/// Makes each unit of a conversation follow the one before it; `index` is the flow of the initiators.
fn link(vectors: &Vectors, scenario: &Scenario, index: u32, transfers: &mut [Transfer]) {
    let answers = |flow: &Flow| matches!(flow.traffic, Traffic::Answers { flow, .. } if flow == index);
    let acceptors = scenario.flows.iter().position(answers).map_or(index, |flow| flow as u32);
    let first = |flow| transfers.partition_point(|transfer| transfer.flow < flow) as u32;
    let (mut initiator, mut acceptor) = (first(index), first(acceptors));
    let mut before = None;
    let end = Time::ZERO + scenario.duration;
    for Placed { unit, at } in vectors.placed(opens(scenario, index), end) {
        let mine = if unit.side == Side::Initiator { &mut initiator } else { &mut acceptor };
        if let (None, Some(before)) = (at, before) {
            let before: &mut Transfer = &mut transfers[before as usize];
            before.next = Some(NextTransfer { transfer: *mine, pause: unit.pause });
        }
        before = Some(*mine);
        *mine += 1;
    }
}

/// How many transfers a flow of `traffic` is expected to make in `duration`, at most.
pub(crate) fn expected(traffic: &Traffic, duration: Span) -> f64 {
    match traffic {
        Traffic::Bulk
        | Traffic::Sized(_)
        | Traffic::OnOff { .. }
        | Traffic::Limited { .. }
        | Traffic::Cbr { .. } => 1.0,
        Traffic::Short { per_s, .. } => per_s * duration.as_secs(),
        Traffic::Web(web) => web.sessions_per_s * duration.as_secs() * web.pages * web.objects,
        // Of both sides.
        Traffic::Vectors { vectors, .. } => {
            (vectors.count(Side::Initiator) + vectors.count(Side::Acceptor)) as f64
        }
        Traffic::Answers { .. } => 0.0,
    }
}

fn begin(start: Start, chance: &mut Chance) -> Span {
    match start {
        Start::At(at) => at,
        Start::Uniform(from, to) => from + chance.span(to - from),
        Start::Exponential(mean) => wait(mean.as_secs(), chance),
    }
}

/// Calls `arrival` at every instant of a Poisson process between `start` and `end`, while `goes_on`.
fn poisson(
    start: Time,
    end: Time,
    per_s: f64,
    chance: &mut Chance,
    goes_on: &impl Fn() -> bool,
    mut arrival: impl FnMut(Time, &mut Chance),
) {
    let mut at = start + wait(1.0 / per_s, chance);
    while at < end && goes_on() {
        arrival(at, chance);
        at += wait(1.0 / per_s, chance);
    }
}

/// A session: pages with think time between their starts, every object of a page at once.
// Differs from [ns-2 webtraf]: in ns-2 objects follow each other at a mean interval of 10 ms, and all sessions
// have the same number of pages; here both numbers are geometric and a page requests its objects at once.
fn session(
    start: Time,
    end: Time,
    web: &WebPages,
    chance: &mut Chance,
    add: &mut impl FnMut(Time, Option<Bytes>),
) {
    let mut at = start;
    for page in 0..geometric(web.pages, chance) {
        if page > 0 {
            at += wait(web.think.as_secs(), chance);
        }
        if at >= end {
            break;
        }
        for _ in 0..geometric(web.objects, chance) {
            add(at, Some(draw(web.size, chance)));
        }
    }
}

/// An exponential span, at least the smallest there is: time goes on.
pub(crate) fn wait(mean_s: f64, chance: &mut Chance) -> Span {
    Span::from_secs(chance.exponential(mean_s)).max(Span::from_ps(1))
}

/// Geometric on 1, 2, … with that mean, which is at least 1.
fn geometric(mean: f64, chance: &mut Chance) -> u64 {
    let unit = chance.unit();
    if mean <= 1.0 {
        return 1;
    }
    // P(N > n) = (1 - 1/mean)^n, inverted.
    1 + (libm::log1p(-unit) / libm::log1p(-1.0 / mean)) as u64
}

fn draw(law: SizeLaw, chance: &mut Chance) -> Bytes {
    let size = match law {
        SizeLaw::Fixed(size) => return size,
        SizeLaw::Exponential(mean) => chance.exponential(mean.0 as f64),
        SizeLaw::Pareto(mean, shape) => chance.pareto(mean.0 as f64, shape),
    };
    Bytes(size.clamp(1.0, LARGEST) as u64)
}
