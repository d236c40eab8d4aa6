//! The sender of an event script: what every sender owes its controller.
//!
//! It reports each delivery; lets the window grow in congestion avoidance and in slow start, there by all that is
//! acknowledged [RFC 9002, 7.3.1], but not in fast recovery, not by an acknowledgement with marks, and not while the
//! application limits it; reports congestion once per window of data
//! [RFC 9002, 7.3.2]; smooths round-trip times [RFC 6298]; and samples the delivery rate [DELIVERY-RATE].

use std::collections::VecDeque;

use fairhaul_units::{Span, Time};

use super::{Amounts, ScriptEvent, ScriptLine};
use crate::packet_sender::grow;
use crate::{AckEvent, Builtin, Cause, Congestion, Controller, Pacing, RateSample, Start, Window};

/// What was sent at one time and has been neither acknowledged nor lost, and what was known when it was sent.
#[derive(Clone, Copy, Debug)]
struct Batch {
    amount: u64,
    sent: Time,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Fast recovery: until all is acknowledged or lost that had been sent when it began.
    Recovery,
    /// The same after a timeout, when the window grows.
    Loss,
}

/// See the module. Amounts are those of the script.
#[derive(Debug)]
pub struct ScriptedSender {
    controller: Builtin,
    window: Window,
    amounts: Amounts,
    state: State,
    now: Time,
    last_sent: Option<Time>,
    flight: VecDeque<Batch>,
    sent: u64,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    lost_reported: u64,
    first_sent: Time,
    /// Nothing that was sent before may reduce the window again.
    reduced_below: u64,
    round_end: u64,
    app_limited: bool,
    limited_until: u64,
    srtt: Option<Span>,
    min_rtt: Span,
}

impl ScriptedSender {
    /// A sender that has sent nothing, with a window of that many packets.
    pub fn new(mut controller: Builtin, initial_window: f64, amounts: Amounts) -> ScriptedSender {
        controller.on_start(&Start { payload: amounts.payload(), together: 1 });
        ScriptedSender {
            controller,
            window: Window { cwnd: initial_window, ssthresh: f64::INFINITY },
            amounts,
            state: State::Open,
            now: Time::ZERO,
            last_sent: None,
            flight: VecDeque::new(),
            sent: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            lost: 0,
            lost_reported: 0,
            first_sent: Time::ZERO,
            reduced_below: 0,
            round_end: 0,
            app_limited: false,
            limited_until: 0,
            srtt: None,
            min_rtt: Span::from_ps(u64::MAX),
        }
    }

    /// Window and threshold, in packets.
    pub fn window(&self) -> Window {
        self.window
    }

    /// How it paces; not at all where the controller leaves that to its host.
    pub fn pacing(&self) -> Pacing {
        if self.controller.needs().pacing { self.controller.pacing(&self.window) } else { Pacing::None }
    }

    /// Processes one line.
    ///
    /// # Errors
    /// Why it cannot happen here.
    pub fn process(&mut self, line: &ScriptLine) -> Result<(), String> {
        if line.at < self.now {
            return Err("the time is earlier than that of the line before".into());
        }
        self.now = line.at;
        match line.event {
            ScriptEvent::Sent(amount) => self.send(amount),
            ScriptEvent::Ack { amount, marked, rtt } => {
                self.expect_in_flight(amount, "acknowledged")?;
                self.acknowledge(amount, marked, rtt);
            }
            ScriptEvent::Lost(amount) => {
                self.expect_in_flight(amount, "lost")?;
                self.lose(amount);
            }
            ScriptEvent::AppLimited => {
                self.app_limited = true;
                self.limited_until = (self.delivered + self.in_flight()).max(1);
            }
            ScriptEvent::Timeout => self.time_out(),
        }
        Ok(())
    }

    fn expect_in_flight(&self, amount: u64, what: &str) -> Result<(), String> {
        let in_flight = self.in_flight();
        if amount <= in_flight {
            return Ok(());
        }
        Err(format!("{amount} cannot be {what}: {in_flight} are in flight"))
    }

    fn in_flight(&self) -> u64 {
        self.sent - self.gone()
    }

    /// What is acknowledged or lost.
    fn gone(&self) -> u64 {
        self.delivered + self.lost
    }

    fn packets(&self, amount: u64) -> f64 {
        amount as f64 / self.amounts.of_packet() as f64
    }

    fn send(&mut self, amount: u64) {
        self.app_limited = false;
        if self.flight.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
            if let Some(last) = self.last_sent {
                self.controller.on_idle_end(&mut self.window, self.now, self.now.since(last));
            }
        }
        self.last_sent = Some(self.now);
        self.sent += amount;
        self.flight.push_back(Batch {
            amount,
            sent: self.now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight: self.in_flight(),
            app_limited: self.limited_until > 0,
        });
    }

    /// Takes the oldest out of the flight: the last batch of which something is taken.
    fn take(&mut self, mut amount: u64) -> Option<Batch> {
        let mut last = None;
        while amount > 0 {
            let batch = self.flight.front_mut()?;
            last = Some(*batch);
            let taken = amount.min(batch.amount);
            batch.amount -= taken;
            amount -= taken;
            if batch.amount == 0 {
                self.flight.pop_front();
            }
        }
        last
    }

    fn acknowledge(&mut self, amount: u64, marked: u64, rtt: Span) {
        let newest = self.take(amount);
        self.delivered += amount;
        self.delivered_at = self.now;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let srtt = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
        self.srtt = Some(srtt);
        self.min_rtt = self.min_rtt.min(rtt);
        let exact = self.controller.needs().exact_echo;
        let event = AckEvent {
            now: self.now,
            packets: self.packets(amount),
            marked: if exact { self.packets(marked) } else { 0.0 },
            lost: self.packets(self.lost - self.lost_reported),
            rtt,
            srtt,
            min_rtt: self.min_rtt,
            one_way: rtt / 2,
            in_flight: self.packets(self.in_flight()),
            new_round: self.gone() > self.round_end,
            recovering: self.state != State::Open,
            window_limited: false,
            rate: newest.filter(|_| self.controller.needs().rates).map(|batch| self.rate(&batch)),
        }
        .by_flight(self.window.cwnd);
        self.lost_reported = self.lost;
        if event.new_round {
            self.round_end = self.sent;
        }
        self.controller.on_delivery(&mut self.window, &event);
        self.grow(&event, marked);
        if marked > 0 && self.gone() > self.reduced_below && self.state == State::Open {
            self.reduce(Cause::Mark, self.in_flight() + amount);
        }
    }

    fn grow(&mut self, event: &AckEvent, marked: u64) {
        let is_recovering = self.state == State::Recovery;
        if self.state != State::Open && self.gone() >= self.reduced_below {
            self.state = State::Open;
            self.controller.on_recovered(&mut self.window, self.now);
        }
        if is_recovering || marked > 0 || self.app_limited {
            return;
        }
        grow(&mut self.controller, &mut self.window, event);
    }

    /// The sample of what was sent with `batch` [DELIVERY-RATE].
    fn rate(&mut self, batch: &Batch) -> RateSample {
        self.first_sent = batch.sent;
        RateSample {
            delivered: self.packets(self.delivered - batch.delivered),
            interval: Span::max(batch.sent.since(batch.first_sent), self.now.since(batch.delivered_at)),
            delivered_before: self.packets(batch.delivered),
            delivered_total: self.packets(self.delivered),
            in_flight_then: self.packets(batch.in_flight),
            lost_since: self.packets(self.lost - batch.lost),
            app_limited: batch.app_limited,
        }
    }

    fn lose(&mut self, amount: u64) {
        let (in_flight, last) = (self.in_flight(), self.gone() + amount);
        self.take(amount);
        self.lost += amount;
        if last > self.reduced_below {
            self.reduce(Cause::Loss, in_flight);
            self.state = State::Recovery;
        }
    }

    fn reduce(&mut self, cause: Cause, in_flight: u64) {
        let event = self.congestion(cause, in_flight);
        self.controller.on_congestion(&mut self.window, &event);
        self.reduced_below = self.sent;
    }

    fn congestion(&self, cause: Cause, in_flight: u64) -> Congestion {
        let in_flight = self.packets(in_flight);
        Congestion { cause, now: self.now, in_flight, srtt: self.srtt.unwrap_or_default() }
    }

    fn time_out(&mut self) {
        let event = self.congestion(Cause::Loss, self.in_flight());
        self.controller.on_timeout(&mut self.window, &event);
        self.lost += self.in_flight();
        self.flight.clear();
        self.reduced_below = self.sent;
        self.state = State::Loss;
    }
}
