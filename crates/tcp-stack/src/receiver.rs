//! The receiving end.

use std::collections::VecDeque;

use fairhaul_cc::{StackState, Transmit};
use fairhaul_sim::tcp::Receiver;
use fairhaul_units::{Ack, Ecn, Time};

use crate::packet::{data_of, put_ack};
use crate::settings::Hosts;

/// See the module.
pub struct ReceiverEnd {
    receiver: Receiver,
    /// Headers and payload of a full packet, and what the packet of that number lacks, which is the last.
    headers: u32,
    payload: u64,
    short: Option<(u64, u64)>,
    /// Bytes in order that the application has not read.
    unread: u64,
    /// Acknowledgements that have not left.
    ready: VecDeque<Ack>,
}

impl ReceiverEnd {
    /// A receiver of a connection that is not open.
    pub fn new(hosts: &Hosts) -> ReceiverEnd {
        let (config, ready) = (hosts.config(), VecDeque::new());
        let (headers, payload) = (config.headers, config.payload().0);
        ReceiverEnd { receiver: hosts.receiver(), headers, payload, short: None, unread: 0, ready }
    }

    /// A data packet arrives.
    pub fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        let (data, is_last) = data_of(bytes, ecn);
        if is_last {
            self.receiver.set_end(data.end());
        }
        let payload = data.payload(self.headers);
        if !data.opens() && payload < self.payload {
            self.short = Some((data.number, self.payload - payload));
        }
        if !data.opens() {
            self.receiver.is_answered();
        }
        if !self.receiver.is_plain() {
            if self.receiver.deadline() < now {
                self.release(self.receiver.deadline());
            } else if self.receiver.must_ack_before(&data) {
                self.release(now);
            }
        }
        let before = self.receiver.next();
        let (_, ack) = self.receiver.receive(&data, now);
        self.unread += self.bytes_before(self.receiver.next()) - self.bytes_before(before);
        self.ready.extend(ack);
        self.ready.extend(ack.filter(|_| self.receiver.closes()));
    }

    /// The next acknowledgement.
    pub fn transmit(&mut self, into: &mut [u8]) -> Option<Transmit> {
        let ack = self.ready.pop_front()?;
        let size = put_ack(&ack, into);
        let not_before = Time::ZERO;
        Some(Transmit { size, ecn: Ecn::NotCapable, not_before, retransmits: false, opens: ack.opens })
    }

    /// An acknowledgement was held long enough.
    pub fn on_timer(&mut self, now: Time) {
        if self.receiver.deadline() <= now {
            self.release(now);
        }
    }

    /// The application reads: how many bytes.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let size = self.unread.min(into.len() as u64);
        self.unread -= size;
        size as usize
    }

    /// What it shows: when it wants to be called.
    pub fn state(&self) -> StackState {
        StackState { timer: self.receiver.deadline(), ..StackState::default() }
    }

    fn release(&mut self, now: Time) {
        self.ready.extend(self.receiver.release(now));
    }

    fn bytes_before(&self, number: u64) -> u64 {
        let lacks = self.short.filter(|(short, _)| number > *short).map_or(0, |(_, lacks)| lacks);
        number * self.payload - lacks
    }
}
