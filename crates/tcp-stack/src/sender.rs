//! The sending end: asks the sender for packets whenever the engine would.

use fairhaul_cc::{Builtin, StackState, Transmit, Window};
use fairhaul_sim::tcp::{Outcome, Poll, Sender};
use fairhaul_units::Time;

use crate::packet::{ack_of, put_data};
use crate::settings::Hosts;

/// Packets that the application may be ahead of what is sent: more than any window here, so that endless data never lack.
const MOST_AHEAD: u64 = 1 << 15;

/// See the module.
pub struct SenderEnd {
    sender: Sender<Builtin>,
    /// Bytes that the application has written.
    written: u64,
    /// Whether the sender may have a packet since it was last asked.
    may_send: bool,
    /// When the pacer lets the next packet go.
    held_until: Time,
    /// The window after the last acknowledgement or timeout.
    window: Window,
    reductions: u64,
    is_finished: bool,
}

impl SenderEnd {
    /// A sender that has not opened its connection.
    pub fn new(hosts: &Hosts) -> SenderEnd {
        let mut sender = hosts.sender();
        sender.ready(0);
        let (written, held_until, reductions) = (0, Time::NEVER, 0);
        let window = sender.window();
        SenderEnd { sender, written, may_send: true, held_until, window, reductions, is_finished: false }
    }

    fn payload(&self) -> u64 {
        self.sender.config().payload().0
    }

    /// An acknowledgement arrives.
    pub fn receive(&mut self, now: Time, bytes: &[u8]) {
        if !self.is_finished {
            let outcome = self.sender.on_ack(&ack_of(bytes), now);
            self.note(outcome);
        }
    }

    /// The next packet.
    pub fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        if !self.may_send {
            return None;
        }
        match self.sender.poll(now) {
            Poll::Send(data) => {
                self.sender.hand_over(&data, now, &mut []);
                self.sender.launched(data.packets, data.stamped);
                let is_last = !data.opens() && data.end() == self.sender.config().packets();
                put_data(&data, is_last, into);
                let (size, not_before) = (data.size as usize, now);
                let (retransmits, opens) = (data.retransmitted(), data.opens());
                Some(Transmit { size, ecn: data.ecn, not_before, retransmits, opens })
            }
            Poll::Hold(until) => {
                (self.may_send, self.held_until) = (false, until);
                None
            }
            Poll::Idle => {
                self.may_send = false;
                None
            }
        }
    }

    /// The pacer lets a packet go, or the retransmission timer runs out.
    pub fn on_timer(&mut self, now: Time) {
        if self.held_until <= now {
            self.held_until = Time::NEVER;
        } else if self.sender.timer() <= now {
            let outcome = self.sender.on_timer(now);
            self.note(outcome);
        }
        self.may_send = !self.is_finished;
    }

    /// The application writes `size` bytes; `fin`: these are all.
    pub fn write(&mut self, size: usize, fin: bool) -> usize {
        let payload = self.payload();
        let room = ((self.sender.next() + MOST_AHEAD) * payload).saturating_sub(self.written);
        let taken = room.min(size as u64);
        self.may_send |= taken > 0 && !self.sender.has_burst_ready();
        self.written += taken;
        if fin {
            self.sender.set_size(self.written);
        }
        let is_ended = fin || self.sender.config().size.is_some();
        let ready = if is_ended { self.written.div_ceil(payload) } else { self.written / payload };
        self.sender.ready(ready);
        taken as usize
    }

    /// What it shows.
    pub fn state(&self) -> StackState {
        let bytes = |packets: f64| packets * self.payload() as f64;
        StackState {
            timer: if self.is_finished { Time::NEVER } else { self.sender.timer().min(self.held_until) },
            is_closed: false,
            is_finished: Some(self.is_finished),
            cwnd: Some(bytes(self.window.cwnd)),
            ssthresh: Some(bytes(self.window.ssthresh)),
            reductions: Some(self.reductions),
        }
    }

    /// Notes what an acknowledgement or the timer has caused.
    fn note(&mut self, outcome: Outcome) {
        self.window = self.sender.window();
        self.reductions += u64::from(matches!(outcome, Outcome::Reduced | Outcome::ReducedAgain));
        self.is_finished = outcome.finishes();
        self.may_send = !self.is_finished;
    }
}
