//! `flows`: the host's connections that send, with every controller, in one look or in looks without end.

use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::looks::{FlowFilter, Looks};
use crate::error::{Error, Result};
use crate::ports::capabilities;
use crate::steps::{say, warn};

/// The request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// The time between two looks.
    #[serde(default = "one")]
    interval_s: f64,
    /// Report look after look, until this process is ended; without it, the second look is the result.
    #[serde(default)]
    follow: bool,
    /// Use the kernel's tracepoints, if that is possible.
    #[serde(default = "yes")]
    trace: bool,
    #[serde(default)]
    filter: FlowFilter,
}

fn yes() -> bool {
    true
}

/// Many round trips, and a short wait.
fn one() -> f64 {
    1.0
}

/// Reports the connections. Without root, only those of this network namespace.
pub fn host_flows(request: &Flows) -> Result<Value> {
    let interval = check_interval(request.interval_s)?;
    let mut looks = Looks::new(request.filter.clone())?;
    if looks.everywhere() {
        capabilities::keep_needed()?;
    } else {
        warn(
            "without root, only the flows of this network namespace are shown; the marks of their sockets are \
             missing, and of their owners only the numbers of the users are known",
        );
    }
    if request.trace {
        looks = looks.traced();
    }
    looks.next()?;
    loop {
        thread::sleep(interval);
        let look = looks.next()?;
        if !request.follow {
            return Ok(json!(look));
        }
        say(&json!({ "flows": look }));
    }
}

/// The time between two looks, if it is one.
pub fn check_interval(interval_s: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(interval_s)
        .ok()
        .filter(|interval| !interval.is_zero())
        .ok_or_else(|| Error::refused(format!("the interval is {interval_s} s; wanted more than 0 s")))
}
