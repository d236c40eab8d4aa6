//! A run that is paused, copied or stopped at events gives the record of one that is not; what is seen of it is what its
//! record has; and what is changed counts from then on.

use std::sync::Arc;

use crate::drawn::runner;
use crate::reference::chain::Chain;
use crate::reference::compare::difference;
use crate::reference::draw;
use crate::support::senders;
use fairhaul_experiment::{Record, Scenario, read};
use fairhaul_sim::{Control, Pause, RunError, Simulation, run};
use fairhaul_units::{Span, Time};
use proptest::prelude::*;

fn begun(scenario: &Scenario) -> Simulation {
    Simulation::new(Arc::new(scenario.clone()), Control::default()).expect("it begins")
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// Draws `count` chains, each with three parts of its duration.
fn cases(count: u32, seed: u8, chains: impl Strategy<Value = Chain>) {
    let parts = proptest::array::uniform3(0.0f64..1.1);
    let result = runner(count, seed).run(&(chains, parts), |(chain, parts)| {
        let scenario = chain.scenario();
        let whole = run(&scenario, &Control::default()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        for record in interrupted(&scenario, parts) {
            let difference = difference(&record, &whole);
            prop_assert!(difference.is_none(), "{}", difference.unwrap_or_default());
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:#}"));
}

/// The records of a run that is paused three times and once at an event, and of a copy of it.
fn interrupted(scenario: &Scenario, parts: [f64; 3]) -> [Record; 2] {
    let duration = scenario.duration.as_secs();
    let mut run = begun(scenario);
    run.run_until(at(duration * parts[0])).expect("it goes on");
    for flow in 0..scenario.flows.len() as u32 {
        run.flow(flow);
    }
    for link in 0..scenario.links.len() as u32 {
        run.queued(link);
    }
    let mut copy = run.copied(Control::default());
    run.run_until_event(at(duration * parts[1]), |event| event.kind == "reduction").expect("it goes on");
    copy.run_until(at(duration * parts[2])).expect("it goes on");
    run.run_until(at(duration * parts[2])).expect("it goes on");
    [run, copy].map(|run| run.finish().expect("the run ends"))
}

#[test]
fn any_scenario_gives_the_same_record_when_it_is_paused_and_copied() {
    cases(200, 11, draw::chains());
}

#[test]
fn bursts_give_the_same_record_when_a_run_is_paused_and_copied() {
    cases(64, 12, draw::chains_with_bursts());
}

fn two_flows(controller: &str) -> Scenario {
    let text = format!(
        "duration = \"40 s\"\n\
         bottleneck = {{ rate = \"10 Mbit/s\", delay = \"10 ms\", queue = {{ kind = \"droptail\", capacity = \"1 bdp\" }} }}\n\
         flow = [{{ name = \"a\", controller = {controller}, rtt = \"60 ms\" }},\n\
                 {{ name = \"b\", controller = \"reno\", rtt = \"60 ms\" }}]\n"
    );
    read(&text, "two.toml", &senders(&text)).expect("it is a scenario").base
}

#[test]
fn what_is_seen_is_what_the_record_has() {
    let scenario = two_flows("\"reno\"");
    let mut run = begun(&scenario);
    assert_eq!(run.flow(0).connections, 0);
    let Pause::Event(event) = run
        .run_until_event(at(40.0), |event| event.flow == 1 && event.kind == "reduction")
        .expect("it goes on")
    else {
        panic!("a flow that fills its queue loses packets")
    };
    assert_eq!(run.now().as_secs(), event.t_s);
    let state = run.flow(1);
    assert_eq!(state.cwnd, event.value, "the window after the reduction");
    assert!(state.recovering && state.srtt > state.min_rtt);
    assert!(run.queued(0) > 10, "the queue is full");
    assert_eq!(run.run_until(at(99.0)).expect("it goes on"), Pause::End);
    let record = run.finish().expect("the run ends");
    assert!(record.events.contains(&event));
}

#[test]
fn a_window_that_is_set_counts_from_then_on_and_only_there() {
    let scenario = two_flows("\"reno\"");
    let mut run = begun(&scenario);
    run.run_until(at(20.0)).expect("it goes on");
    let mut changed = run.copied(Control::default());
    changed.set_window(0, 1.0, 2.0).expect("it goes on");
    assert_eq!(changed.flow(0).cwnd, 1.0);
    assert_ne!(run.flow(0).cwnd, 1.0);
    changed.run_until(at(21.0)).expect("it goes on");
    run.run_until(at(21.0)).expect("it goes on");
    assert!(changed.flow(0).acknowledged < run.flow(0).acknowledged);
    assert!(changed.flow(1).acknowledged >= run.flow(1).acknowledged);
}

#[test]
fn a_controller_that_is_replaced_goes_on_with_the_window() {
    let mut run = begun(&two_flows("\"reno\""));
    run.run_until(at(20.0)).expect("it goes on");
    let before = run.flow(0).cwnd;
    let faster = two_flows("{ kind = \"aimd\", a = 20 }");
    run.take_controllers(Arc::new(faster.clone())).expect("it goes on");
    assert_eq!(run.flow(0).cwnd, before);
    let mut kept = run.copied(Control::default());
    run.run_until(at(40.0)).expect("it goes on");
    kept.take_controllers(Arc::new(two_flows("\"reno\""))).expect("it goes on");
    kept.run_until(at(40.0)).expect("it goes on");
    assert!(run.flow(0).acknowledged > kept.flow(0).acknowledged);
    // Rates have not been measured, so BBR cannot take over; and nothing is changed.
    let error = run.take_controllers(Arc::new(two_flows("\"bbr\""))).expect_err("it is refused");
    assert!(matches!(&error, RunError::Faulty { what, .. } if what.starts_with("flow \"a\": ")), "{error}");
    assert_eq!(run.scenario().flows[0].controller.name(), "aimd");
    run.finish().expect("the run ends");
}

#[test]
fn a_copy_has_its_own_control() {
    let mut run = begun(&two_flows("\"reno\""));
    let control = Control::default();
    let mut copy = run.copied(control.clone());
    control.stop();
    run.run_until(at(10.0)).expect("it goes on");
    assert_eq!(copy.run_until(at(10.0)), Err(RunError::Stopped));
}
