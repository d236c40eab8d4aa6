//! What a connection does in its first round trips beyond slow start: an initial window that is spread, and the rules of
//! `careful_resume.rs` and `rapid_start.rs`.

use fairhaul_cc::Window;
use fairhaul_experiment::Startup;
use fairhaul_units::Span;

use super::startup_ack::StartupAck;
use super::{CarefulResume, RapidStart};

/// How much faster than the initial window Rapid Start may begin.
const FIRST_JUMP: f64 = 2.0;

/// What the first round trips do.
#[derive(Clone, Debug)]
pub struct First {
    rule: Rule,
    /// The first flight: its packets leave that far apart until something is acknowledged.
    gap: Option<Span>,
    flight: u64,
}

#[derive(Clone, Debug)]
enum Rule {
    Spread,
    Resume(CarefulResume),
    Rapid(RapidStart),
    /// Whether packets of the jump were lost, and are repaired.
    Jump {
        repairs: bool,
    },
}

impl First {
    /// Begins with `window` when the handshake has shown `rtt`; `all`: how many packets the sender could send at once.
    pub fn new(startup: Startup, window: &mut Window, rtt: Span, all: f64) -> Option<First> {
        let rule = match startup {
            Startup::None => return None,
            Startup::Paced => Rule::Spread,
            Startup::RapidStart => {
                window.cwnd *= FIRST_JUMP;
                Rule::Rapid(RapidStart::default())
            }
            Startup::Jumpstart => {
                window.cwnd = window.cwnd.max(all);
                Rule::Jump { repairs: false }
            }
            Startup::CarefulResume { cwnd, rtt, max_jump } => {
                let resume = CarefulResume::new(cwnd, rtt, max_jump, window.cwnd);
                return Some(First { rule: Rule::Resume(resume), gap: None, flight: 0 });
            }
        };
        let gap = Some(Span::from_secs(rtt.as_secs() / window.cwnd));
        Some(First { rule, gap: gap.filter(|gap| !gap.is_zero()), flight: window.cwnd as u64 })
    }

    /// The time between two packets, where it spreads them; all below `next` was sent.
    pub fn gap(&self, next: u64) -> Option<Span> {
        match &self.rule {
            Rule::Resume(resume) => resume.gap(),
            _ => self.gap.filter(|_| next < self.flight),
        }
    }

    /// Whether nothing else moves the window.
    pub fn holds_window(&self) -> bool {
        match &self.rule {
            Rule::Resume(resume) => resume.holds_window(),
            Rule::Rapid(rapid) => rapid.recovers(),
            Rule::Spread | Rule::Jump { .. } => false,
        }
    }

    /// By how many times what slow start adds the window grows.
    pub fn growth(&self, min_rtt: Span) -> f64 {
        if let Rule::Rapid(rapid) = &self.rule { rapid.growth(min_rtt) } else { 1.0 }
    }

    /// An acknowledgement; `lost`: packets that were lost so far. Whether the rule has done its part.
    pub fn on_ack(&mut self, window: &mut Window, ack: &StartupAck, lost: u64) -> bool {
        if ack.una > 0 {
            self.gap = None;
        }
        match &mut self.rule {
            Rule::Spread => ack.una > 0,
            Rule::Resume(resume) => {
                resume.on_ack(window, ack);
                resume.is_over()
            }
            Rule::Rapid(rapid) if rapid.recovers() => {
                window.cwnd = rapid.recover(window.cwnd, ack.delivered, ack.lost);
                window.ssthresh = window.cwnd;
                !ack.recovering
            }
            Rule::Rapid(rapid) => {
                rapid.sample(ack.rtt, ack.min_rtt, ack.now);
                !window.in_slow_start()
            }
            // What arrived of the jump is what the path has carried; half of that stays.
            Rule::Jump { repairs: true } if !ack.recovering => {
                window.reduce_to(self.flight.saturating_sub(lost) as f64 / 2.0);
                true
            }
            Rule::Jump { repairs } => !*repairs && ack.una >= self.flight,
        }
    }

    /// The controller has reduced the window, which was `before`, for a loss or a mark; all below `next` was sent. Whether
    /// the rule has done its part.
    pub fn on_congestion(&mut self, window: &mut Window, before: Window, next: u64) -> bool {
        self.gap = None;
        let beta = window.cwnd / before.cwnd;
        match &mut self.rule {
            Rule::Spread => true,
            Rule::Resume(resume) => {
                resume.on_congestion(window, next, beta);
                resume.is_over()
            }
            Rule::Rapid(rapid) if rapid.recovers() => false,
            Rule::Rapid(_) if !before.in_slow_start() => true,
            Rule::Rapid(rapid) => {
                window.reduce_to(rapid.begin_recovery(before.cwnd, beta));
                false
            }
            Rule::Jump { repairs } => {
                *repairs = true;
                self.flight = next;
                false
            }
        }
    }
}
