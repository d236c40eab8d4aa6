//! `watch`: looks at the host's flows again and again, and takes a twin out whose flows lose too much.

use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::capabilities;
use super::judge::{Counts, Judge, Limits, Seen};
use super::place::Place;
use super::remove::take_out;
use super::status::everywhere;
use crate::error::{Error, Result};
use crate::nearest::hint;
use crate::steps::{Steps, say, warn};

/// What is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Those to watch; all that are installed, now or later, where none is named.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    limits: Limits,
    /// Between looks.
    #[serde(default = "five")]
    interval_s: f64,
    /// Tell what would be taken out, and leave it.
    #[serde(default)]
    dry_run: bool,
}

/// Long enough that a flow with a loss now and then is not clear of blame at each look.
fn five() -> f64 {
    5.0
}

/// Watches until nothing is left to watch.
pub fn watch(place: &Place, request: &Watch) -> Result<Value> {
    check(place, request)?;
    capabilities::require()?;
    capabilities::keep_needed()?;
    let (mut judge, start) = (Judge::default(), Instant::now());
    let mut removed = Vec::new();
    loop {
        let watched: Vec<String> = {
            let there = place.names()?;
            there
                .into_iter()
                .filter(|name| request.names.is_empty() || request.names.contains(name))
                .collect()
        };
        if watched.is_empty() {
            return Ok(json!({ "removed": removed }));
        }
        judge.look(start.elapsed().as_secs_f64(), &seen()?, &request.limits);
        for name in watched {
            removed.extend(visit(place, &judge, name, request)?);
        }
        thread::sleep(Duration::from_secs_f64(request.interval_s));
    }
}

fn check(place: &Place, request: &Watch) -> Result<()> {
    let Limits { share, times, seconds, .. } = request.limits;
    let fits = (0.0..1.0).contains(&share) && times >= 0.0 && seconds > 0.0 && request.interval_s > 0.0;
    if !fits || request.interval_s > seconds {
        return Err(Error::refused(
            "wanted a share of at least 0 and below 1, a factor (times) of at least 0, a duration (seconds) \
             and an interval above 0, and an interval that is not longer than the duration",
        ));
    }
    let there = place.names().unwrap_or_default();
    match request.names.iter().find(|name| !there.contains(*name)) {
        Some(unknown) => {
            let known = there.iter().map(String::as_str);
            Err(Error::refused(format!("{unknown} is not installed; {}", hint(unknown, known))))
        }
        None => Ok(()),
    }
}

/// Tells how one fares, and takes it out if it must go.
fn visit(place: &Place, judge: &Judge, name: String, request: &Watch) -> Result<Option<String>> {
    let finding = judge.finding(&name, &request.limits);
    say(&json!({ "look": name, "finding": finding }));
    if !finding.guilty {
        return Ok(None);
    }
    warn(format!(
        "{name} retransmitted {:.2} % of its packets and the other flows of the host {:.2} %, for {} s",
        100.0 * finding.own.share(),
        100.0 * finding.others.share(),
        request.limits.seconds
    ));
    let _lock = place.lock()?;
    let steps = Steps::new(request.dry_run);
    take_out(place, &name, steps)?;
    place.vacate(steps)?;
    Ok((!request.dry_run).then_some(name))
}

fn seen() -> Result<Vec<Seen>> {
    let of = |placed: super::status::Placed| Seen {
        cookie: placed.flow.cookie,
        controller: placed.flow.controller,
        counts: Counts { sent: placed.flow.sent, retransmitted: placed.flow.retransmitted },
    };
    Ok(everywhere()?.into_iter().map(of).collect())
}
