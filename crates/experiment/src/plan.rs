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
    use fairhaul_units::Span;
    scenario
        .flows
        .iter()
        .enumerate()
        .map(|(f, flow)| Transfer {
            flow: f as u32,
            start: Time::ZERO
                + match flow.start {
                    crate::Start::At(s) => s,
                    crate::Start::Uniform(a, b) => {
                        a + fairhaul_units::Chance::stream(scenario.seed, "start", f as u64).span(b - a)
                    }
                    _ => Span::ZERO,
                },
            size: match flow.traffic {
                crate::Traffic::Sized(b) => Some(b),
                _ => None,
            },
        })
        .collect()
}
