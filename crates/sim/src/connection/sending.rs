//! When the sender is polled for packets: after an acknowledgement, when the pacer lets the next one go, and when its timer
//! runs out.

use fairhaul_units::Time;

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::route::Route;
use crate::tcp::Poll;

impl Connection {
    /// The pacer lets the next packet go.
    pub fn on_paced(&mut self, now: Time, route: &Route, network: &mut Network) {
        if self.paced_at == now {
            self.paced_at = Time::NEVER;
            self.count_ready_at(now);
            match self.stack {
                Some(_) => self.drive_sender(now, route, network),
                None => self.send_ready(now, route, network),
            }
        }
    }

    /// Sends the packets that may leave, and schedules the timer.
    pub(super) fn send_ready(&mut self, now: Time, route: &Route, network: &mut Network) {
        loop {
            self.show_share(network);
            match &mut self.sender.poll(now) {
                Poll::Send(data) => {
                    if self.share.is_some() {
                        self.claim_share(data, network);
                    }
                    self.send_data(data, now, route, network);
                    if network.limits.is_halted() {
                        break;
                    }
                }
                &mut Poll::Hold(until) => {
                    self.wake_sender(until, network);
                    break;
                }
                Poll::Idle => break,
            }
        }
        self.end_share(now, network);
        if self.end.is_none() && self.limit != self.sender.limit() {
            self.set_limit(self.sender.limit(), now, network);
        }
        if self.application.is_some() {
            self.await_ready(network);
        }
        self.schedule_timer(network);
    }

    /// The sender is asked again at `until`.
    pub(super) fn wake_sender(&mut self, until: Time, network: &mut Network) {
        if self.paced_at != until {
            self.paced_at = until;
            network.events.push(until, EventKind::Paced.key(self.serial));
        }
    }

    /// The event queue holds one entry for the timer, at or before its time: a timer that moves to a later time
    /// moves nothing there.
    fn schedule_timer(&mut self, network: &mut Network) {
        let due = self.sender.timer();
        if due < self.timer_at {
            self.timer_at = due;
            network.events.push(due, EventKind::Timer.key(self.serial));
        }
    }

    /// The retransmission timer may have run out.
    pub fn on_timer(&mut self, now: Time, route: &Route, network: &mut Network) {
        if self.timer_at != now {
            return; // an entry that an earlier one has replaced
        }
        self.timer_at = Time::NEVER;
        if self.stack.is_some() {
            self.on_stack_timer(now, route, network);
        } else if self.sender.timer() <= now {
            let outcome = self.sender.on_timer(now);
            self.record_outcome(outcome, now, network);
            self.count_ready_at(now);
            self.send_ready(now, route, network);
        } else {
            self.schedule_timer(network);
        }
    }
}
