//! Reno, the standard window rule [RFC 5681]: one packet more per round, half at a loss event.

use fairhaul_units::{Parameter, Settings};

use crate::{AckEvent, Congestion, Controller, Window};

/// Standard TCP. Which recovery it uses is the sender's affair.
#[derive(Clone, Debug, Default)]
pub struct Reno;

impl Reno {
    pub(crate) const TITLE: &'static str = "Standard TCP: one packet more per round, half at a loss";
    pub(crate) const SOURCE: &'static str = "RFC 5681";
    pub(crate) const PARAMETERS: &'static [Parameter] = &[];

    pub(crate) fn new(_: &Settings) -> Reno {
        Reno
    }
}

impl Controller for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets / window.cwnd;
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(0.5);
    }
}
