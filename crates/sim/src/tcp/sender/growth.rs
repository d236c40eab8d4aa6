//! Growth of the window outside fast recovery: in slow start and in congestion avoidance.

use fairhaul_cc::{AckEvent, Controller};
use fairhaul_experiment::Growth;
use fairhaul_units::{Ack, Time, real};

use super::{CaState, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// The event for the controller of an acknowledgement, if it delivered packets.
    #[inline(always)]
    pub(super) fn event(&self, ack: &Ack, delivered: u64, now: Time) -> AckEvent {
        // What was outstanding when the round began is acknowledged, and something that left since is
        // [RFC 8257, 3.3: ACK > WindowEnd; LINUX, `after` in Vegas, Illinois and HyStart]. Without the
        // second part a round would lack the packet that the first acknowledgement of it released.
        let new_round = self.board.una() > self.round_end;
        let arrived = self.config.clock.map_or(ack.arrived, |clock| clock.reads(ack.arrived));
        AckEvent {
            now,
            packets: real(delivered),
            marked: match &self.accurate {
                Some(accurate) => real(accurate.marked().min(delivered)),
                None if ack.ece && self.exact_echo() => real(delivered),
                None => 0.0,
            },
            lost: real(self.board.lost() - self.lost_reported),
            rtt: self.detector.rtt_sample().unwrap_or(now.since(ack.echo)),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.smallest(),
            one_way: arrived.since(ack.echo),
            in_flight: real(self.board.in_flight()),
            new_round,
            recovering: self.state != CaState::Open,
            window_limited: self.usage.full,
            rate: None,
        }
    }

    /// Reports to the controller that something was delivered.
    #[inline(always)]
    pub(super) fn on_delivery(&mut self, event: &mut AckEvent, ack: &Ack, delivered: u64) {
        self.lost_reported = self.board.lost();
        if event.new_round {
            self.round_end = self.board.next();
        }
        if let Some(rates) = &mut self.rates {
            let (lost, now) = (self.board.lost(), event.now);
            rates.deliver(delivered, now);
            event.rate = match self.detector.delivery_times() {
                None => rates.sample_echo(ack.echo, lost, now),
                // Where less than a round trip has passed, a packet was delivered that had been retransmitted needlessly.
                Some((sent, oldest)) => {
                    let least = self.rtt.smallest_of_late();
                    rates.sample(sent, oldest, lost, now).filter(|sample| sample.interval >= least)
                }
            };
        }
        if self.needs.rates && self.config.segmentation.is_some() {
            self.controller.on_departure(self.next_departure());
        }
        self.controller.on_delivery(&mut self.window, event);
    }

    /// New data was acknowledged outside fast recovery: the window may grow if it is used.
    #[inline(always)]
    pub(super) fn grow(&mut self, event: &AckEvent) {
        if self.usage.limited || self.flight_limit.is_some() || self.is_half_used() {
            self.grow_used(event);
        }
    }

    /// A window that is used may grow if anything was delivered just now.
    #[inline(always)]
    pub(super) fn grow_used(&mut self, event: &AckEvent) {
        if event.packets == 0.0 || self.window.cwnd >= self.config.max_window || self.is_held_by_first() {
            return;
        }
        if self.flight_limit.is_some() {
            self.grow_within_flight(event);
        } else {
            self.grow_freely(event);
        }
    }

    #[inline(always)]
    pub(super) fn grow_freely(&mut self, event: &AckEvent) {
        match self.config.growth {
            Growth::PerPacket => self.grow_by(event),
            Growth::PerAck => self.grow_by_one(event),
        }
    }

    /// As if the acknowledgement were of one packet.
    #[cold]
    fn grow_by_one(&mut self, event: &AckEvent) {
        self.grow_by(&AckEvent { packets: event.packets.min(1.0), ..*event });
    }

    #[inline(always)]
    fn grow_by(&mut self, event: &AckEvent) {
        if self.window.in_slow_start() && !self.ends_slow_start(event) {
            self.slow_start(event);
        } else {
            self.avoid(event);
        }
    }
}
