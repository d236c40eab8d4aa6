//! A connection between the ends of a transport stack of others: the engine carries their datagrams, writes and reads
//! for the application, and records what it sees.
//!
//! Datagrams of the sender cross the network as data, and those of the receiver as acknowledgements, each by its number;
//! their bytes stay with the pair. As with delayed acknowledgements, the receiver may be ahead of the clock.

use std::num::NonZeroU16;

use fairhaul_cc::{Fault, StackSetup, StackState, StackText, Transmit, Window};
use fairhaul_experiment::{Flow, Middlebox, NO_WINDOW, PacketWhat, UNKNOWN_WINDOW};
use fairhaul_units::{Ack, Data, Sending, Time, mix};

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::route::Route;
use crate::stack::StackPair;
use crate::tcp::Outcome;

/// Both ends of a connection of `flow`, if it has a stack; `records`: its packets are traced.
pub(super) fn pair(flow: &Flow, serial: u32, seed: u64, now: Time, records: bool) -> Option<Box<StackPair>> {
    let maker = flow.controller.stack()?;
    let seed = mix(seed ^ mix(serial.into()));
    let packet = flow.packet.0 as u32;
    let mut pair = StackPair::new(maker, &StackSetup { packet, seed, now, records });
    pair.clears_ecn = flow.middlebox == Middlebox::ClearsEcn;
    Some(Box::new(pair))
}

const HAS_STACK: &str = "the connection has a stack";

impl Connection {
    /// Both ends of its stack.
    fn pair(&mut self) -> &mut StackPair {
        self.stack.as_deref_mut().expect(HAS_STACK)
    }

    /// The stack of the sender was called, or is to begin: what follows.
    pub(super) fn drive_sender(&mut self, now: Time, route: &Route, network: &mut Network) {
        let size = self.sender.config().size;
        if self.pair().is_closed || self.end.is_some() {
            return;
        }
        let state = loop {
            let ready = self.ready_bytes();
            let stack = self.pair();
            stack.write(ready, size, now);
            match stack.sender.transmit(now) {
                Ok((transmit, number)) => self.send_datagram(transmit, number, now, route, network),
                Err(held_until) => {
                    if held_until != Time::NEVER {
                        self.wake_sender(held_until, network);
                    }
                    if let Some(state) = self.pair().sender.expire(now) {
                        break state;
                    }
                }
            }
            if network.limits.is_halted() {
                return;
            }
        };
        let waits_for_ever = self.data.launched == 0 && state.timer == Time::NEVER && !state.is_closed;
        if waits_for_ever && self.ready_bytes() > 0 && now == self.start {
            let what = "transmit gives no datagram, and state no timer: the connection would never begin";
            Fault { at: Some(now), what: what.into() }.raise();
        }
        self.record_stack(state, now, network);
        self.trace_texts(now, network);
        if self.end.is_none() {
            self.schedule_stack_timer(state.timer, network);
            self.await_application(network);
        }
    }

    /// How much the application has ready, the written included.
    fn ready_bytes(&self) -> u64 {
        let config = self.sender.config();
        let ready = self.application.as_ref().map_or(u64::MAX, |application| application.ready());
        ready.saturating_mul(config.payload().0).min(config.size.unwrap_or(u64::MAX))
    }

    /// The next ready packet of the application is an event if all that was ready is written.
    fn await_application(&mut self, network: &mut Network) {
        let ready = self.ready_bytes();
        if self.application.is_some() && self.pair().written >= ready {
            self.schedule_ready(network);
        }
    }

    fn schedule_stack_timer(&mut self, due: Time, network: &mut Network) {
        if due < self.timer_at {
            self.timer_at = due;
            network.events.push(due, EventKind::Timer.key(self.serial));
        }
    }

    /// The timer of the sender may be due.
    pub(super) fn on_stack_timer(&mut self, now: Time, route: &Route, network: &mut Network) {
        self.count_ready_at(now);
        self.drive_sender(now, route, network);
    }

    /// A datagram leaves the sender; one that is larger than the path allows is dropped there.
    fn send_datagram(
        &mut self,
        transmit: Transmit,
        number: u64,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        let Transmit { size, ecn, retransmits, opens, .. } = transmit;
        let size = (size as u32 + self.pair().headers).min(u16::MAX.into());
        let retransmits = retransmits || self.pair().repeats(number);
        let sending = if retransmits { Sending::Again } else { Sending::First };
        let (packets, cwr, congestion) = (u8::from(!opens), false, None);
        let mut data = Data { number, stamped: now, size, packets, sending, ecn, cwr, congestion };
        let leaves = self.departures.next(&mut data, now, || 0);
        if !opens {
            network.ledger.sent(self.flow, packets, retransmits, data.stamped);
        }
        self.trace_data(PacketWhat::Sent, &data, leaves, network);
        self.trace_content(true, number, network);
        self.data.launched += 1;
        network.limits.launched();
        if size > self.sender.config().packet {
            return self.data_dropped(&data, leaves, network);
        }
        self.forward_data(0, &mut data, leaves, route, network);
    }

    /// A datagram arrives at the receiver, perhaps ahead of the clock: what was due there before comes first.
    #[inline(never)]
    pub(super) fn receive_for_stack(&mut self, data: &Data, now: Time, route: &Route, network: &mut Network) {
        loop {
            let due = self.pair().receiver.end.state().timer;
            if due >= now {
                break;
            }
            self.drive_receiver(due, route, network);
        }
        let was_needless = self.pair().receive(data, now);
        let in_order = self.pair().read(now);
        let payload = data.payload(self.sender.config().headers);
        if network.ledger.delivered(self.flow, payload, data.packets, in_order, now) {
            self.in_order += in_order;
            if was_needless {
                network.ledger.event("spurious", self.flow, f64::NAN, now);
            }
        }
        if self.next.is_some() {
            self.begin_next(now, network);
        }
        self.drive_receiver(now, route, network);
    }

    /// The stack of the receiver was called, or its timer is due: what follows.
    pub(super) fn drive_receiver(&mut self, now: Time, route: &Route, network: &mut Network) {
        let due = loop {
            match self.pair().receiver.transmit(now) {
                Ok((transmit, number)) => self.send_answer(transmit, number, now, route, network),
                Err(held_until) => {
                    if let Some(state) = self.pair().receiver.expire(now) {
                        break state.timer.min(held_until);
                    }
                }
            }
            if network.limits.is_halted() {
                return;
            }
        };
        if due < self.delayed_ack_at {
            self.delayed_ack_at = due;
            network.events.push(due, EventKind::ReceiverTimer.key(self.serial));
        }
    }

    /// A datagram leaves the receiver.
    fn send_answer(
        &mut self,
        transmit: Transmit,
        number: u64,
        now: Time,
        route: &Route,
        network: &mut Network,
    ) {
        let most = self.sender.config().packet;
        let stack = self.pair();
        let size = (transmit.size as u32 + stack.headers).min(u16::MAX.into());
        let (echo, arrived) = stack.newest;
        let datagram = NonZeroU16::new(size as u16);
        let ack = Ack {
            next: number,
            echo,
            arrived,
            datagram,
            ecn: transmit.ecn,
            opens: transmit.opens,
            ..Ack::default()
        };
        self.acks.launched += 1;
        self.trace_ack(PacketWhat::AckSent, &ack, now, network);
        self.trace_content(false, number, network);
        if size > most {
            return self.ack_dropped(ack, now, network);
        }
        self.forward_ack(0, &ack, now, route, network);
    }

    /// The timer of the receiver may be due.
    pub(super) fn on_stack_receiver_timer(&mut self, now: Time, route: &Route, network: &mut Network) {
        if self.delayed_ack_at == now {
            self.delayed_ack_at = Time::NEVER;
            self.drive_receiver(now, route, network);
        }
    }

    /// A datagram of the receiver is at the sender.
    #[inline(never)]
    pub(super) fn answer_for_stack(&mut self, ack: &Ack, now: Time, route: &Route, network: &mut Network) {
        let stack = self.pair();
        stack.sender.end.receive(now, stack.receiver.under_way.get(ack.next), ack.ecn);
        stack.receiver.under_way.release(ack.next);
        if !ack.opens {
            network.ledger.sampled(self.flow, now.since(ack.echo), ack.arrived.since(ack.echo), now);
        }
        self.trace_ack(PacketWhat::AckReceived, ack, now, network);
        self.count_ready(now);
        self.drive_sender(now, route, network);
    }

    /// An acknowledgement or a datagram of the receiver is at a sender that has ended.
    #[cold]
    pub(super) fn arrives_late(&mut self, ack: &Ack) {
        if let Some(stack) = &mut self.stack {
            stack.receiver.under_way.release(ack.next);
        }
    }

    /// Keeps what a datagram carries if the flow is traced; `forward`: one of the sender.
    fn trace_content(&self, forward: bool, number: u64, network: &mut Network) {
        let stack = self.stack.as_deref().expect(HAS_STACK);
        if let Some(trace) = network.trace.as_deref_mut().filter(|_| stack.records) {
            let host = if forward { &stack.sender } else { &stack.receiver };
            trace.keep_content((self.serial, forward, number), host.under_way.get(number));
        }
    }

    /// Keeps the keys and the logs that both ends have for the trace.
    fn trace_texts(&mut self, now: Time, network: &mut Network) {
        let serial = self.serial;
        let stack = self.pair();
        let Some(trace) = network.trace.as_deref_mut().filter(|_| stack.records) else { return };
        for (end, host) in [&mut stack.sender, &mut stack.receiver].into_iter().enumerate() {
            host.record(StackText::Keys, now, |part| trace.keep_keys(part));
            host.record(StackText::Log, now, |part| trace.keep_log(serial, end, part));
        }
    }

    /// Records what the sender shows of itself, and its end.
    fn record_stack(&mut self, state: StackState, now: Time, network: &mut Network) {
        let all_arrived = self.sender.config().size == Some(self.in_order);
        let is_finished = state.is_finished.unwrap_or(true) && all_arrived;
        let payload = self.sender.config().payload().0 as f64;
        let packets = |bytes: Option<f64>| bytes.map_or(f64::INFINITY, |bytes| bytes / payload);
        let window = match state.cwnd {
            _ if is_finished || state.is_closed => NO_WINDOW,
            Some(cwnd) => Window { cwnd: cwnd / payload, ssthresh: packets(state.ssthresh) },
            None => UNKNOWN_WINDOW,
        };
        if window != self.recorded_window.window() {
            self.set_window(window, now, network);
        }
        let reductions = state.reductions.unwrap_or(0);
        for _ in std::mem::replace(&mut self.pair().reductions, reductions)..reductions {
            let cwnd = if window == UNKNOWN_WINDOW { f64::NAN } else { window.cwnd };
            network.ledger.event("reduction", self.flow, cwnd, now);
        }
        if is_finished {
            self.record_outcome(Outcome::Finished, now, network);
        } else if state.is_closed {
            let reason = self.pair().sender.end.reason();
            network.ledger.closed(self.flow, reason, now);
            self.pair().is_closed = true;
        }
    }
}
