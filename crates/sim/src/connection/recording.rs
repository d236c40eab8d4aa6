//! What a connection records in the ledger of the run and in the packet trace of its flow.

use fairhaul_cc::Window;
use fairhaul_experiment::{Limit, NO_WINDOW, NextTransfer, PacketRecorder, PacketWhat, TransferRow};
use fairhaul_units::{Ack, Data, Time};

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::packet_trace::{ack_row, data_row};
use crate::tcp::Outcome;

impl Connection {
    /// Its transfer, as far as it came.
    pub fn transfer(&self) -> TransferRow {
        TransferRow {
            flow: self.flow,
            start_s: self.start.as_secs(),
            end_s: self.end.map_or(f64::NAN, Time::as_secs),
            bytes: self.in_order,
        }
    }

    /// Adds what its controller holds to `values`.
    pub fn gauges(&self, values: &mut Vec<f64>) {
        self.sender.gauges(values);
    }

    /// The receiving end of datagrams takes one.
    #[inline(never)]
    pub(super) fn receive_datagram(&mut self, data: &Data, now: Time, network: &mut Network) {
        let Some(datagrams) = &mut self.datagrams else { return };
        let fresh = datagrams.receive(data.number);
        let payload = if fresh { data.payload(self.sender.config().headers) } else { 0 };
        self.deliver(data, fresh.into(), payload, now, network);
    }

    /// A data packet was delivered.
    #[inline(always)]
    pub(super) fn deliver(
        &mut self,
        data: &Data,
        fresh: u8,
        in_order: u64,
        now: Time,
        network: &mut Network,
    ) {
        let payload = data.payload(self.sender.config().headers);
        if network.ledger.delivered(self.flow, payload, fresh, in_order, now) {
            self.in_order += in_order;
        }
        if self.next.is_some() {
            self.begin_next(now, network);
        }
    }

    /// Has the next transfer begin once all of this one has arrived.
    #[cold]
    pub(super) fn begin_next(&mut self, now: Time, network: &mut Network) {
        if self.sender.config().size == Some(self.in_order)
            && let Some(NextTransfer { transfer, pause }) = self.next.take()
        {
            network.events.push(now + pause, EventKind::Begin.key(transfer));
        }
    }

    #[inline(always)]
    pub(super) fn trace_data(&self, what: PacketWhat, data: &Data, now: Time, network: &mut Network) {
        if let Some(trace) = &mut network.trace {
            self.trace_data_rows(trace, what, data, now);
        }
    }

    #[inline(never)]
    fn trace_data_rows(&self, trace: &mut PacketRecorder, what: PacketWhat, data: &Data, now: Time) {
        let request = self.accurate_codes().map(|codes| codes.0);
        if data.packets <= 1 {
            return trace.keep(self.flow, now, || data_row(self.serial, what, data, now, request));
        }
        let sent = what == PacketWhat::Sent;
        let spacing = if sent { self.spacings.at_sender() } else { self.spacings.at_receiver() };
        for (place, one) in (0..).zip(data.each()) {
            let at = now + spacing * place;
            trace.keep(self.flow, at, || data_row(self.serial, what, &one, at, request));
        }
    }

    #[inline(always)]
    pub(super) fn trace_ack(&self, what: PacketWhat, ack: &Ack, now: Time, network: &mut Network) {
        if let Some(trace) = &mut network.trace {
            self.trace_ack_row(trace, what, *ack, now);
        }
    }

    #[inline(never)]
    fn trace_ack_row(&self, trace: &mut PacketRecorder, what: PacketWhat, ack: Ack, now: Time) {
        let took = what == PacketWhat::AckReceived;
        let sender = (took && self.is_tcp).then(|| (self.sender.window().cwnd, self.sender.srtt().as_secs()));
        let answer = self.accurate_codes().map(|codes| codes.1);
        trace.keep(self.flow, now, || ack_row(self.serial, what, &ack, now, (sender, answer)));
    }

    /// The codes of the request for accurate feedback and of its answer, as they leave their hosts.
    fn accurate_codes(&self) -> Option<(u8, u8)> {
        self.sender.config().accecn.map(|(_, middlebox)| middlebox.codes())
    }

    /// Records what an acknowledgement or the timer has caused.
    #[inline(always)]
    pub(super) fn record_outcome(&mut self, outcome: Outcome, now: Time, network: &mut Network) {
        let quiet = matches!(outcome, Outcome::Quiet);
        let window = if !quiet && outcome.finishes() { NO_WINDOW } else { self.sender.window() };
        if window != self.recorded_window.window() {
            self.set_window(window, now, network);
        }
        if !quiet || self.sender.mode() != self.mode {
            self.record_event(outcome, now, network);
        }
    }

    #[inline(never)]
    fn record_event(&mut self, outcome: Outcome, now: Time, network: &mut Network) {
        let mode = self.sender.mode();
        if mode != self.mode {
            self.mode = mode;
            network.ledger.event("mode", self.flow, mode.map_or(f64::NAN, f64::from), now);
        }
        let cwnd = self.recorded_window.window().cwnd;
        let mut event = |kind, value| network.ledger.event(kind, self.flow, value, now);
        match outcome {
            Outcome::Quiet | Outcome::Finished => {}
            Outcome::Reduced => event("reduction", cwnd),
            Outcome::Marked => event("marked", cwnd),
            Outcome::Recovered => event("recovered", cwnd),
            Outcome::ReducedAgain => {
                event("recovered", cwnd);
                event("reduction", cwnd);
            }
            Outcome::TimedOut(timeout) => event("timeout", timeout.as_secs()),
            Outcome::Undone { since, .. } => event("undone", since.as_secs()),
        }
        if outcome.finishes() {
            self.end = Some(now);
            self.set_limit(None, now, network);
        }
    }

    /// Records that something else keeps the connection back.
    #[inline(never)]
    pub(super) fn set_limit(&mut self, limit: Option<Limit>, now: Time, network: &mut Network) {
        let before = std::mem::replace(&mut self.limit, limit);
        network.ledger.limited(self.flow, before, limit, now);
    }

    /// Records a new window.
    #[inline(always)]
    pub(super) fn set_window(&mut self, window: Window, now: Time, network: &mut Network) {
        network.ledger.window(self.flow, &mut self.recorded_window, window, now);
    }
}
