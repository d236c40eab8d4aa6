//! The transfers of a run, drawn before it starts: the same on every engine.

use fairhaul_units::{Bytes, Time};

use crate::Scenario;

/// One connection and what it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Index of its flow in the scenario.
    pub flow: u32,
    /// When its sender opens the connection.
    pub start: Time,
    /// Payload; `None`: without end.
    pub size: Option<Bytes>,
}

/// The transfers of `scenario`, ordered by flow and then by start.
pub fn plan(scenario: &Scenario) -> Vec<Transfer> {
    let _ = scenario;
    Vec::new()
}
