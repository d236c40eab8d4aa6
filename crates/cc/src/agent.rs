//! The controller of a sender that a program outside of the run drives: it holds the window and the rate that the program
//! decides, and sums what the program observes until it decides again.

use std::any::Any;
use std::sync::Arc;

use fairhaul_units::Span;

use crate::{AckEvent, Congestion, Controller, Needs, Own, OwnKind, OwnMaker, OwnValues, Pacing, Window};

/// What a sender observed since the last decision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// Packets that were reported as delivered.
    pub delivered: f64,
    /// Packets that the sender has come to believe lost.
    pub lost: f64,
    /// Sum of the round-trip samples, seconds, and their number.
    pub rtt_sum_s: f64,
    /// See `rtt_sum_s`.
    pub rtt_samples: f64,
    /// Loss events and timeouts.
    pub events: f64,
}

impl Observed {
    /// Adds what another connection observed.
    pub fn add(&mut self, other: Observed) {
        let Observed { delivered, lost, rtt_sum_s, rtt_samples, events } = other;
        self.delivered += delivered;
        self.lost += lost;
        self.rtt_sum_s += rtt_sum_s;
        self.rtt_samples += rtt_samples;
        self.events += events;
    }
}

/// See the module. Loss events do not move its window; a timeout starts over from one packet.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// What was observed.
    pub observed: Observed,
    /// The pacing rate, packets/s; `None` for packets that leave as acknowledgements arrive.
    pub rate: Option<f64>,
}

impl Agent {
    /// The agent of a controller, if it is one.
    pub fn of(own: &mut dyn Own) -> Option<&mut Agent> {
        (own as &mut dyn Any).downcast_mut()
    }
}

impl Controller for Agent {
    fn on_ack(&mut self, _: &mut Window, _: &AckEvent) {}

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        self.observed.events += 1.0;
        window.reduce_to(window.cwnd);
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        self.observed.events += 1.0;
        window.start_over();
    }

    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        let seen = &mut self.observed;
        seen.delivered += ack.packets;
        seen.lost += ack.lost;
        seen.rtt_sum_s += ack.rtt.as_secs();
        seen.rtt_samples += 1.0;
    }

    fn needs(&self) -> Needs {
        Needs { pacing: true, ..Needs::default() }
    }

    fn pacing(&self, _: &Window) -> Pacing {
        self.rate.map_or(Pacing::None, |rate| Pacing::Even(Span::from_secs(1.0 / rate)))
    }
}

impl Own for Agent {
    fn copied(&self) -> Box<dyn Own> {
        Box::new(self.clone())
    }
}

/// The kind of these controllers, which has no parameters.
#[derive(Clone, Copy, Debug)]
pub struct AgentKind;

impl OwnKind for AgentKind {
    fn with(&self, values: &OwnValues) -> Result<Arc<dyn OwnMaker>, String> {
        match values.first() {
            Some((name, _)) => Err(format!("`{name}`: the controller of an agent has no parameters")),
            None => Ok(Arc::new(AgentKind)),
        }
    }
}

impl OwnMaker for AgentKind {
    fn build(&self, _: u64) -> Box<dyn Own> {
        Box::<Agent>::default()
    }

    fn is_users_code(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Time;

    use super::*;
    use crate::Cause;
    use crate::test_support::{CONGESTION, ack};

    #[test]
    fn losses_are_counted_and_do_not_move_the_window() {
        let mut agent = Agent::default();
        let mut window = Window { cwnd: 40.0, ssthresh: 40.0 };
        let event =
            Congestion { cause: Cause::Loss, now: Time::ZERO, in_flight: 40.0, srtt: Span::from_ms(50) };
        agent.on_congestion(&mut window, &event);
        assert_eq!((window.cwnd, window.ssthresh), (40.0, 40.0));
        agent.on_timeout(&mut window, &event);
        assert_eq!((window.cwnd, window.ssthresh, agent.observed.events), (1.0, 20.0, 2.0));
        let mut own: Box<dyn Own> = Box::new(agent);
        assert_eq!(Agent::of(own.as_mut()).map(|agent| agent.observed.events), Some(2.0));
    }

    #[test]
    fn a_rate_is_a_gap_between_packets() {
        let agent = Agent { rate: Some(1000.0), ..Agent::default() };
        let window = Window { cwnd: 10.0, ssthresh: 10.0 };
        assert_eq!(agent.pacing(&window), Pacing::Even(Span::from_ms(1)));
        assert_eq!(Agent::default().pacing(&window), Pacing::None);
        assert!(agent.needs().pacing);
    }

    /// Two acknowledgements of three packets at 50 ms, each with a loss, on each of two connections.
    #[test]
    fn what_connections_observe_is_summed() {
        let mut agent = Agent::default();
        let mut window = Window { cwnd: 40.0, ssthresh: 40.0 };
        let event = AckEvent { packets: 3.0, lost: 1.0, ..ack(Span::from_ms(50)) };
        for _ in 0..2 {
            agent.on_delivery(&mut window, &event);
            agent.on_ack(&mut window, &event);
        }
        agent.on_congestion(&mut window, &CONGESTION);
        let one = Observed { delivered: 6.0, lost: 2.0, rtt_sum_s: 0.1, rtt_samples: 2.0, events: 1.0 };
        assert_eq!((agent.observed, window.cwnd), (one, 40.0));
        let mut both = one;
        both.add(one);
        let sum = Observed { delivered: 12.0, lost: 4.0, rtt_sum_s: 0.2, rtt_samples: 4.0, events: 2.0 };
        assert_eq!(both, sum);
    }
}
