//! Senders that a program in Python drives: decisions and observations of many paused runs at once.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fairhaul_sim::{Control, FlowState, Observed, RunError, Simulation as Engine};
use fairhaul_units::{Span, Time};
use pyo3::prelude::*;

use crate::guard;
use crate::own;
use crate::run::failure;
use crate::simulation::Simulation;

/// How often the interpreter is asked whether the program is interrupted.
const ASKS_EVERY: Duration = Duration::from_millis(50);

/// A decision for a flow: its index, its window, packets, and its pacing rate, packets/s; zero for none.
type Decision = (u32, f64, f64);

/// What a flow observed: packets delivered, packets lost, the sum of its round-trip samples, seconds, their number, loss
/// events and timeouts; then its open connections, window, packets in flight, smoothed and smallest round-trip time.
type Observation = [f64; 10];

/// Takes decisions in each run, goes on until its time, seconds, and gives what its flows observed since then. The runs
/// are shared out among `threads`.
#[pyfunction]
pub fn step_agents(
    py: Python<'_>,
    runs: Vec<Py<Simulation>>,
    decisions: Vec<Vec<Decision>>,
    until_s: Vec<f64>,
    threads: usize,
) -> PyResult<Vec<Vec<Observation>>> {
    let jobs: Vec<_> = runs
        .iter()
        .map(Py::get)
        .zip(decisions)
        .zip(until_s)
        .map(|((run, made), until)| (run, made, until))
        .collect();
    let share = jobs.len().div_ceil(threads.max(1)).max(1);
    py.detach(|| {
        let work = |part: &[(&Simulation, Vec<Decision>, f64)]| -> PyResult<Vec<Vec<Observation>>> {
            part.iter()
                .map(|(run, made, until)| run.with(|engine, control| step(engine, control, made, *until)))
                .collect()
        };
        if jobs.len() <= share {
            return work(&jobs);
        }
        thread::scope(|scope| {
            let (working, ended) = mpsc::channel::<()>();
            let spawn = |part| {
                let working = working.clone();
                scope.spawn(move || {
                    let done = work(part);
                    drop(working);
                    done
                })
            };
            let parts: Vec<_> = jobs.chunks(share).map(spawn).collect();
            drop(working);
            // Only this thread can be the main one, which handles signals.
            while ended.recv_timeout(ASKS_EVERY) == Err(RecvTimeoutError::Timeout) {
                if own::is_interrupted() {
                    jobs.iter().for_each(|(run, _, _)| run.stop());
                }
            }
            if let Some(raised) = own::take_request_to_end() {
                return Err(raised);
            }
            let mut all = Vec::with_capacity(jobs.len());
            for part in parts {
                all.extend(part.join().expect("a panic of a run is an error")?);
            }
            Ok(all)
        })
    })
}

fn step(
    engine: &mut Engine,
    control: &Control,
    decisions: &[Decision],
    until_s: f64,
) -> PyResult<Vec<Observation>> {
    let question = engine.scenario().clone();
    let until = Time::ZERO + Span::from_secs(until_s);
    let done = guard::watch(control, || -> Result<Vec<Observation>, RunError> {
        for &(flow, cwnd, rate) in decisions {
            engine.observe(flow, (rate > 0.0).then_some(rate));
            if cwnd > 0.0 {
                engine.set_window(flow, cwnd, cwnd)?;
            }
        }
        engine.run_until(until)?;
        let observe = |&(flow, _, rate): &Decision| {
            let observed = engine.observe(flow, (rate > 0.0).then_some(rate));
            observation(observed, engine.flow(flow))
        };
        Ok(decisions.iter().map(observe).collect())
    });
    done.map_err(|why| failure(&question, &why))
}

fn observation(observed: Observed, state: FlowState) -> Observation {
    let Observed { delivered, lost, rtt_sum_s, rtt_samples, events } = observed;
    let FlowState { connections, cwnd, in_flight, srtt, min_rtt, .. } = state;
    let (srtt_s, min_rtt_s) = (srtt.as_secs(), min_rtt.as_secs());
    let open = connections as f64;
    [delivered, lost, rtt_sum_s, rtt_samples, events, open, cwnd, in_flight, srtt_s, min_rtt_s]
}
