//! A run that can be paused, looked at, changed and copied.

use std::sync::Arc;

use fairhaul_cc::{Agent, Observed};
use fairhaul_experiment::{EventRow, Record, Scenario};
use fairhaul_units::{Span, Time};

use crate::control::{Control, RunError};
use crate::engine::{Engine, possible};
use crate::flow_state::FlowState;
use crate::run::guarded;

/// A run under way. Paused or not, and copied or not, the same scenario gives the same record.
#[derive(Clone)]
pub struct Simulation {
    engine: Engine,
    now: Time,
}

/// Why a run was paused.
#[derive(Clone, Debug, PartialEq)]
pub enum Pause {
    /// The time was reached.
    Time,
    /// An event that was waited for happened.
    Event(EventRow),
    /// The run is over.
    End,
}

impl Simulation {
    /// Before anything has happened.
    ///
    /// # Errors
    /// Those of [`crate::run`].
    pub fn new(scenario: Arc<Scenario>, control: Control) -> Result<Simulation, RunError> {
        let engine = guarded(&control, || Engine::in_steps(scenario, control.clone()))?;
        Ok(Simulation { engine, now: Time::ZERO })
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The scenario, with what was changed.
    pub fn scenario(&self) -> &Arc<Scenario> {
        self.engine.scenario()
    }

    /// A copy that is stopped by another control.
    pub fn copied(&self, control: Control) -> Simulation {
        let mut copy = self.clone();
        copy.engine.control_by(control);
        copy
    }

    /// Runs until `until`: everything before has happened then.
    ///
    /// # Errors
    /// Those of [`crate::run`]; the simulation cannot go on then.
    pub fn run_until(&mut self, until: Time) -> Result<Pause, RunError> {
        self.advance(until, false, |_| false)
    }

    /// Runs until an event for which `wanted` holds has happened, or until `until`.
    ///
    /// # Errors
    /// Those of [`Simulation::run_until`].
    pub fn run_until_event(
        &mut self,
        until: Time,
        wanted: impl Fn(&EventRow) -> bool,
    ) -> Result<Pause, RunError> {
        self.advance(until, true, wanted)
    }

    fn advance(
        &mut self,
        until: Time,
        in_order: bool,
        wanted: impl Fn(&EventRow) -> bool,
    ) -> Result<Pause, RunError> {
        let end = self.engine.end_of_run();
        let until = until.min(end);
        let Simulation { engine, now } = self;
        let known = engine.events().len();
        let control = engine.control().clone();
        let found = |events: &[EventRow]| {
            events[known.min(events.len())..].iter().find(|event| wanted(event)).cloned()
        };
        let next = guarded(&control, || {
            engine.advance(until, in_order, |network| found(network.ledger.events()).is_some())
        })?;
        if let Some(event) = found(engine.events()) {
            *now = Time::ZERO + Span::from_secs(event.t_s);
            return Ok(Pause::Event(event));
        }
        debug_assert!(next >= until, "it stops at an event or a time");
        *now = (*now).max(until);
        Ok(if *now >= end { Pause::End } else { Pause::Time })
    }

    /// The senders of a flow.
    pub fn flow(&self, flow: u32) -> FlowState {
        self.engine.flow(flow)
    }

    /// Packets that wait at a link or are being sent there.
    pub fn queued(&mut self, link: u32) -> u64 {
        self.engine.queued(link, self.now)
    }

    /// What the agent of a flow observed since the last call: sums over its open connections. From now on it sends at
    /// `rate`, packets/s, or as acknowledgements arrive.
    pub fn observe(&mut self, flow: u32, rate: Option<f64>) -> Observed {
        let mut seen = Observed::default();
        self.engine.own(flow, |own| {
            if let Some(agent) = Agent::of(own) {
                seen.add(agent.observed);
                agent.observed = Observed::default();
                agent.rate = rate;
            }
        });
        seen
    }

    /// Sets window and threshold of the open connections of a flow, packets.
    ///
    /// # Errors
    /// Those of [`Simulation::run_until`].
    pub fn set_window(&mut self, flow: u32, cwnd: f64, ssthresh: f64) -> Result<(), RunError> {
        let (engine, now) = (&mut self.engine, self.now);
        let control = engine.control().clone();
        guarded(&control, || {
            engine.set_window(flow, cwnd, ssthresh, now);
            Ok(())
        })
    }

    /// Goes on with the controllers of another scenario, which is the same in all else. A connection whose controller
    /// differs gets a fresh one, and keeps its window.
    ///
    /// # Errors
    /// Those of [`Simulation::run_until`]; [`RunError::Faulty`] where a controller needs what the connection does not
    /// measure, and then nothing is changed.
    pub fn take_controllers(&mut self, scenario: Arc<Scenario>) -> Result<(), RunError> {
        possible(&scenario)?;
        let (engine, at) = (&mut self.engine, self.now);
        let control = engine.control().clone();
        guarded(&control, || {
            engine.take_controllers(scenario, at).map_err(|flow| RunError::Faulty {
                at,
                what: format!(
                    "flow \"{flow}\": the other controller needs rates, echoes or feedback that this connection does \
                     not have; start with it instead"
                ),
            })
        })
    }

    /// Runs to the end: the record.
    ///
    /// # Errors
    /// Those of [`crate::run`].
    pub fn finish(self) -> Result<Record, RunError> {
        let control = self.engine.control().clone();
        guarded(&control, || self.engine.run()).map(|(record, _)| record)
    }
}
