//! Careful Resume [CAREFUL-RESUME]: a connection jumps to half of the window that an earlier one over the path has used, and
//! falls back to what was acknowledged if the jump meets congestion.
//!
//! Of what the jump sends, the unvalidated packets, none is known to fit the path. They leave spread over a round trip; when
//! the first of them is acknowledged the window becomes what is in flight, and when the last is, the rule has done its part.
//
// Differs from [CAREFUL-RESUME]: a saved set does not expire, and the path does not change, within a run.

use fairhaul_cc::Window;
use fairhaul_units::{Span, Time};

use super::startup_ack::StartupAck;

/// The round trip may be this much longer than the saved one, and not this much shorter.
const MOST_TIMES_LONGER: u64 = 10;
const MOST_TIMES_SHORTER: u64 = 2;

/// What an earlier connection has saved.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: f64,
    rtt: Span,
    max_jump: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Reconnaissance,
    /// The jump began when all below `first` was sent, of which `flight` was in flight.
    Unvalidated {
        began: Time,
        gap: Span,
    },
    /// What was sent until it ended is acknowledged bit by bit.
    Validating,
    /// The jump met congestion: all below `last` is unvalidated, and `beta` of the pipe stays.
    SafeRetreat {
        beta: f64,
    },
    Normal,
}

/// The phases of a jump.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved: Saved,
    initial_window: f64,
    phase: Phase,
    /// What is known to fit the path (PipeSize), and how much must be delivered before more is.
    pipe: f64,
    validated: f64,
    /// The first unvalidated packet, and the first packet after them.
    first: u64,
    end: u64,
}

impl CarefulResume {
    /// With a saved window and round trip; the jump is at most `max_jump`.
    pub fn new(cwnd: f64, rtt: Span, max_jump: f64, initial_window: f64) -> CarefulResume {
        let saved = Saved { cwnd, rtt, max_jump };
        let phase = Phase::Reconnaissance;
        CarefulResume { saved, initial_window, phase, pipe: 0.0, validated: 0.0, first: 0, end: 0 }
    }

    /// The time between two packets of the jump.
    pub fn gap(&self) -> Option<Span> {
        if let Phase::Unvalidated { gap, .. } = self.phase { Some(gap) } else { None }
    }

    /// Whether nothing else moves the window.
    pub fn holds_window(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. } | Phase::SafeRetreat { .. })
    }

    /// Whether it has done its part.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Normal
    }

    /// An acknowledgement.
    pub fn on_ack(&mut self, window: &mut Window, ack: &StartupAck) {
        if self.phase != Phase::Reconnaissance {
            // What was in flight before the jump is in the pipe already.
            let more = (ack.delivered - self.validated).max(0.0);
            self.validated = (self.validated - ack.delivered).max(0.0);
            self.pipe += more;
        }
        match self.phase {
            Phase::Reconnaissance => self.reconnoitre(window, ack),
            Phase::Unvalidated { began, .. } => self.end_jump(window, ack, began),
            Phase::Validating if ack.una >= self.end => self.phase = Phase::Normal,
            Phase::SafeRetreat { beta } if ack.una >= self.end && !ack.recovering => {
                window.ssthresh = (beta * self.pipe).max(2.0);
                self.phase = Phase::Normal;
            }
            _ => {}
        }
    }

    /// The initial data are acknowledged, and there is more to send: the jump, if the path is the saved one.
    fn reconnoitre(&mut self, window: &mut Window, ack: &StartupAck) {
        let is_other = ack.min_rtt * MOST_TIMES_SHORTER <= self.saved.rtt
            || ack.rtt > self.saved.rtt * MOST_TIMES_LONGER;
        if is_other || ack.recovering {
            self.phase = Phase::Normal;
            return;
        }
        if (ack.una as f64) < self.initial_window || !ack.has_more {
            return;
        }
        let jump = self.saved.max_jump.min(self.saved.cwnd / 2.0);
        if jump <= window.cwnd {
            self.phase = Phase::Normal;
            return;
        }
        window.cwnd = jump;
        (self.pipe, self.validated, self.first) = (ack.in_flight, ack.in_flight, ack.next);
        self.phase = Phase::Unvalidated { began: ack.now, gap: Span::from_secs(ack.rtt.as_secs() / jump) };
    }

    /// The jump ends when all of it has left, the first of it is acknowledged, or after a round trip.
    fn end_jump(&mut self, window: &mut Window, ack: &StartupAck, began: Time) {
        let is_sent = ack.in_flight + 1.0 > window.cwnd;
        if !is_sent && ack.una <= self.first && ack.now.since(began) <= ack.rtt {
            return;
        }
        self.end = ack.next;
        if ack.in_flight < self.initial_window || ack.in_flight <= self.pipe {
            window.cwnd = self.pipe.max(self.initial_window);
            self.phase = Phase::Normal;
        } else {
            window.cwnd = ack.in_flight;
            self.phase = Phase::Validating;
        }
    }

    /// A loss or a mark, when all below `next` was sent; the controller keeps `beta` of the window.
    pub fn on_congestion(&mut self, window: &mut Window, next: u64, beta: f64) {
        match self.phase {
            Phase::Unvalidated { .. } => self.end = next,
            Phase::Validating => {}
            Phase::SafeRetreat { .. } => return self.retreat(window),
            Phase::Reconnaissance | Phase::Normal => return self.phase = Phase::Normal,
        }
        self.phase = Phase::SafeRetreat { beta };
        self.retreat(window);
    }

    fn retreat(&self, window: &mut Window) {
        window.reduce_to((self.pipe / 2.0).floor());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_ms(100);

    fn ack(ms: u64, delivered: f64, una: u64, next: u64) -> StartupAck {
        StartupAck {
            now: Time::ZERO + Span::from_ms(ms),
            delivered,
            lost: 0.0,
            rtt: RTT,
            min_rtt: RTT,
            una,
            next,
            in_flight: (next - una) as f64,
            has_more: true,
            recovering: false,
        }
    }

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: f64::INFINITY }
    }

    /// With an initial window of 10 and a saved window of 300, when 10 are acknowledged and 29 in flight.
    fn jumped() -> (CarefulResume, Window) {
        let (mut resume, mut window) = (CarefulResume::new(300.0, RTT, 1e6, 10.0), window(30.0));
        resume.on_ack(&mut window, &ack(200, 1.0, 10, 39));
        (resume, window)
    }

    /// The example of the draft: 29 in flight, a jump to 150, 121 unvalidated packets, of which the 35th is lost when 34 are
    /// acknowledged: a pipe of 63, a window of 31. At the end the pipe is 29 + 121 - 1 = 149 by the rule; the draft's text
    /// says 120.
    #[test]
    fn a_loss_in_the_jump_leaves_half_of_the_pipe() {
        let (mut resume, mut window) = jumped();
        assert_eq!((window.cwnd, resume.gap()), (150.0, Some(Span::from_secs(0.1 / 150.0))));
        resume.on_ack(&mut window, &ack(301, 29.0, 39, 160));
        assert_eq!((window.cwnd, resume.pipe, resume.end), (121.0, 29.0, 160));
        resume.on_ack(&mut window, &ack(330, 34.0, 73, 160));
        resume.on_congestion(&mut window, 160, 0.5);
        assert_eq!((resume.pipe, window), (63.0, Window { cwnd: 31.0, ssthresh: 31.0 }));
        assert!(resume.holds_window());
        resume.on_ack(&mut window, &ack(400, 86.0, 160, 160));
        assert_eq!((resume.pipe, window), (149.0, Window { cwnd: 31.0, ssthresh: 74.5 }));
        assert!(resume.is_over());
    }

    /// The other example: an application that has 50 unvalidated packets gets a window of what is in flight.
    #[test]
    fn a_jump_that_is_not_used_leaves_what_is_in_flight() {
        let (mut resume, mut window) = jumped();
        resume.on_ack(&mut window, &ack(301, 30.0, 40, 90));
        assert_eq!((window.cwnd, resume.phase), (50.0, Phase::Validating));
        resume.on_ack(&mut window, &ack(400, 50.0, 90, 140));
        assert!(resume.is_over());
    }

    #[test]
    fn another_path_or_an_early_loss_is_no_jump() {
        for (rtt, min_rtt) in [(50, 50), (1001, 100)] {
            let mut resume = CarefulResume::new(300.0, RTT, 1e6, 10.0);
            let mut window = window(30.0);
            let (rtt, min_rtt) = (Span::from_ms(rtt), Span::from_ms(min_rtt));
            resume.on_ack(&mut window, &StartupAck { rtt, min_rtt, ..ack(200, 1.0, 10, 39) });
            assert!(resume.is_over());
            assert_eq!(window.cwnd, 30.0);
        }
        let mut resume = CarefulResume::new(300.0, RTT, 1e6, 10.0);
        resume.on_congestion(&mut window(10.0), 10, 0.5);
        assert!(resume.is_over());
    }
}
