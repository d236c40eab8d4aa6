//! Checks one text in this process: it is read, run, checked against the invariants, run again, and stopped.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use fairhaul_experiment::{CostEstimate, Mistakes, Record, Scenario, read};
use fairhaul_sim::{Control, RunError, run};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

use crate::laws;
use crate::violation::{Invariant, Violation};

/// The longest time for reading a file, valid or not.
const READING_S: f64 = 1.0;
/// The longest processor time that a run may continue after a request to stop.
const STOPPING_S: f64 = 0.2;
/// The allowed cost of any run, and of each packet that a sender sends or a link is offered: ten times the cost
/// in a build with checks.
const START_S: f64 = 0.05;
const PACKET_S: f64 = 5e-6;
/// A row of the record, a flow or a change of a rate.
const ROW_S: f64 = 1e-6;
/// A transfer, with its connection.
const TRANSFER_S: f64 = 100e-6;
/// The memory limit of a case, kB; random cases carry about ten thousand packets.
const MEMORY_KB: i64 = 1 << 20;
/// The limit of transfers in a case: each takes about 500 B while it is open.
const MOST_TRANSFERS: f64 = 500_000.0;
/// Longest message about one mistake, characters.
const LONGEST_MESSAGE: usize = 4000;

/// The verdict on a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It ran, and all invariants hold; the cost as a share of the allowed cost.
    Fine(f64),
    /// It is invalid, and was refused correctly.
    Refused,
    /// The run was stopped at the budget, ended with an error that says what to do, or is too large.
    Unfinished,
    /// An invariant is violated.
    Broken(Violation),
}

/// Checks `text`, whose traces are beside `file`; a run may take `budget_s` of processor time.
pub fn check(text: &str, file: &str, budget_s: f64) -> Verdict {
    let verdict = attempt(text, file, budget_s).unwrap_or_else(Verdict::Broken);
    match memory_kb() {
        peak if peak > MEMORY_KB && !matches!(verdict, Verdict::Broken(_)) => Verdict::Broken(Violation {
            invariant: Invariant::Resources,
            text: format!("the run used {} MB of memory", peak / 1024),
        }),
        _ => verdict,
    }
}

/// The peak memory of this process.
fn memory_kb() -> i64 {
    getrusage(UsageWho::RUSAGE_SELF).expect("every system that runs this counts memory").max_rss()
}

fn attempt(text: &str, file: &str, budget_s: f64) -> Result<Verdict, Violation> {
    let started = cpu_s();
    let study = read(text, file, &[]);
    let took = cpu_s() - started;
    if took > READING_S {
        return Err(Violation {
            invariant: Invariant::Refusal,
            text: format!("reading it took {took:.1} s of processor time"),
        });
    }
    let scenario = match study {
        Ok(study) => study.base,
        Err(mistakes) => return refused(&mistakes, file).map(|()| Verdict::Refused),
    };
    if CostEstimate::of(&scenario).transfers > MOST_TRANSFERS {
        return Ok(Verdict::Unfinished);
    }
    let (first, cost) = timed(&scenario, budget_s, false)?;
    let Some(first) = first else { return Ok(Verdict::Unfinished) };
    let share = affordable(&scenario, &first, cost)?;
    laws::broken(&scenario, &first)?;
    let (second, _) = timed(&scenario, 3.0 * budget_s, false)?;
    let packets = first.packets;
    if second.is_some_and(|second| comparable(second) != comparable(first)) {
        return Err(Violation {
            invariant: Invariant::Same,
            text: "the second run gave a different record".into(),
        });
    }
    // Requests a stop at a random moment of the run, which may be while the record is closed.
    let moment = (packets % 10) as f64 / 10.0 + 0.05;
    if cost > 0.02 {
        timed(&scenario, cost * moment, true)?;
    }
    Ok(Verdict::Fine(share))
}

/// A record in which NaN equals itself.
fn comparable(mut record: Record) -> Record {
    let replace_nan = |value: &mut f64| {
        if value.is_nan() {
            *value = -1.0;
        }
    };
    for row in record.flows.iter_mut().flatten() {
        [&mut row.ssthresh_packets, &mut row.rtt_s, &mut row.one_way_s].into_iter().for_each(replace_nan);
    }
    record.transfers.iter_mut().for_each(|row| replace_nan(&mut row.end_s));
    record.gauges.iter_mut().chain(&mut record.flow_gauges).flatten().for_each(replace_nan);
    record
}

/// A message for each mistake, short, with a line of the file.
fn refused(mistakes: &Mistakes, file: &str) -> Result<(), Violation> {
    let complain = |text| Err(Violation { invariant: Invariant::Refusal, text });
    if mistakes.0.is_empty() {
        return complain("refused without a message".into());
    }
    for mistake in &mistakes.0 {
        let line = mistake.place.strip_prefix(file).and_then(|rest| rest.strip_prefix(':'));
        if line.is_none_or(|line| line.parse::<usize>().is_err()) {
            return complain(format!("\"{}\" names no line", mistake.place));
        }
        if mistake.text.chars().count() > LONGEST_MESSAGE {
            return complain(format!("a message has {} characters", mistake.text.chars().count()));
        }
    }
    Ok(())
}

/// A run and its cost, without a record if it was stopped at `budget_s` of processor time or ended with an error
/// that is not a defect.
fn timed(scenario: &Scenario, budget_s: f64, hurry: bool) -> Result<(Option<Record>, f64), Violation> {
    let control = Control::default();
    control.limit_memory(MEMORY_KB as u64 * 1024 / 2);
    let (send, receive) = channel();
    let poll_interval = Duration::from_micros(if hurry { 200 } else { 2000 });
    thread::scope(|scope| {
        let started = cpu_s();
        scope.spawn(|| send.send(run(scenario, &control)).expect("the other end waits"));
        let mut asked = None;
        let result = loop {
            match receive.recv_timeout(poll_interval) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Disconnected) => unreachable!("a run catches its panics"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = cpu_s();
            match asked {
                None if now - started > budget_s => {
                    control.stop();
                    asked = Some(now);
                }
                // The thread would never be joined, so the process has to end here.
                Some(asked) if now - asked > 10.0 * STOPPING_S => {
                    let reached = control.reached();
                    fail(&late(now - asked, &format!("and is still running; simulated time is {reached}")));
                }
                _ => {}
            }
        };
        let now = cpu_s();
        if let Some(asked) = asked.filter(|asked| now - asked > STOPPING_S) {
            return Err(late(now - asked, "to end"));
        }
        match result {
            Ok(record) => Ok((Some(record), now - started)),
            Err(RunError::Broken { at, what }) => Err(Violation {
                invariant: Invariant::Panic,
                text: format!("at {at} of simulated time: {what}"),
            }),
            Err(_) => Ok((None, now - started)),
        }
    })
}

fn late(seconds: f64, rest: &str) -> Violation {
    Violation {
        invariant: Invariant::Stop,
        text: format!("after the request to stop, it took {seconds:.2} s of processor time {rest}"),
    }
}

/// Reports the violation and ends the process, because its run cannot be ended.
fn fail(violation: &Violation) -> ! {
    println!("broken {violation}");
    std::process::exit(0);
}

/// The cost of the run as a share of the allowed cost.
fn affordable(scenario: &Scenario, record: &Record, cost: f64) -> Result<f64, Violation> {
    let sent: u64 = record.flows.iter().flatten().map(|row| row.sent).sum();
    let offered: u64 = record.links.iter().flatten().map(|row| row.arrived).sum();
    let steps: usize = scenario
        .links
        .iter()
        .filter_map(|link| link.schedule.rates.as_ref())
        .map(|rates| rates.steps().len())
        .sum();
    let rows = record.grid.len() * (record.flows.len() + record.links.len()) + steps + record.events.len();
    let packets = (sent + offered) as f64;
    let bound =
        START_S + PACKET_S * packets + ROW_S * rows as f64 + TRANSFER_S * record.transfers.len() as f64;
    if cost <= bound {
        return Ok(cost / bound);
    }
    let text = format!(
        "the run took {cost:.2} s of processor time for {packets} packets, {rows} rows and {} transfers; \
         the bound is {bound:.2} s",
        record.transfers.len()
    );
    Err(Violation { invariant: Invariant::Cost, text })
}

/// Processor time of this process, seconds.
fn cpu_s() -> f64 {
    let time =
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every system that runs this has the clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9
}
