//! The transfers of a run, drawn before it starts: the same on every engine.
//!
//! Each flow draws from two streams of its own, one for its start and one for its traffic, so that
//! what one flow sends never depends on the others.

use fairhaul_units::{Bytes, Chance, Span, Time};

use crate::{Scenario, SizeLaw, Start, Traffic, WebPages};

/// Sizes are cut here, so that a heavy tail stays a number; no run delivers as much.
const LARGEST: f64 = 1e15;
/// Reading a scenario refuses more than 10^7 expected transfers; chance cannot double that.
const MOST_TRANSFERS: usize = 20_000_000;

/// One connection and what it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Index of its flow in the scenario.
    pub flow: u32,
    /// When its sender opens the connection.
    pub start: Time,
    /// Payload, of all connections that carry it; `None`: without end.
    pub size: Option<Bytes>,
}

/// The transfers of `scenario`, ordered by flow and then by start; all start before its end.
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
        // Connections that carry one transfer start as the first of them.
        let starts = Chance::stream(scenario.seed, "start", u64::from(flow.lead.unwrap_or(index)));
        let start = Time::ZERO + begin(flow.start, &mut { starts });
        let mut chance = stream("traffic");
        let first = transfers.len();
        let mut add = |start, size| {
            if start < end && goes_on() {
                transfers.push(Transfer { flow: index, start, size });
            }
        };
        match flow.traffic {
            Traffic::Bulk | Traffic::OnOff { .. } | Traffic::Limited { .. } | Traffic::Cbr { .. } => {
                add(start, None);
            }
            Traffic::Sized(size) => add(start, Some(size)),
            Traffic::Short { per_s, size } => {
                poisson(start, end, per_s, &mut chance, &goes_on, |at, chance| {
                    add(at, Some(draw(size, chance)));
                });
            }
            Traffic::Web(pages) => {
                poisson(start, end, pages.sessions_per_s, &mut chance, &goes_on, |at, chance| {
                    session(at, end, &pages, chance, &mut add);
                });
            }
        }
        // Sessions overlap; a stable sort keeps the objects of one page in the order drawn.
        transfers[first..].sort_by_key(|transfer| transfer.start);
        assert!(transfers.len() <= MOST_TRANSFERS, "a scenario is refused when it expects half as many");
    }
    goes_on().then_some(transfers)
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
