//! The timer of a receiver: an acknowledgement that it delays, or the interrupt of its card.

use fairhaul_units::{Data, Time};

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::route::Route;

impl Connection {
    /// The receiver's card may interrupt, or its delayed acknowledgement may be due.
    pub fn on_receiver_timer(&mut self, now: Time, route: &Route, network: &mut Network) {
        if self.stack.is_some() {
            return self.on_stack_receiver_timer(now, route, network);
        }
        for scheduled in [&mut self.delayed_ack_at, &mut self.interrupt_at] {
            if *scheduled == now {
                *scheduled = Time::NEVER;
            }
        }
        if self.interrupt_due() == now {
            self.interrupt(now, route, network);
        }
        if self.receiver.deadline() == now {
            self.release_delayed_ack(now, route, network);
        }
        self.schedule_receiver(network);
    }

    /// The event queue holds one entry for the delayed acknowledgement, at or before its time, and one for the interrupt.
    pub(super) fn schedule_receiver(&mut self, network: &mut Network) {
        let (deadline, due) = (self.receiver.deadline(), self.interrupt_due());
        if deadline < self.delayed_ack_at {
            self.delayed_ack_at = deadline;
            network.events.push(deadline, EventKind::ReceiverTimer.key(self.serial));
        }
        if due < self.interrupt_at {
            self.interrupt_at = due;
            network.events.push(due, EventKind::ReceiverTimer.key(self.serial));
        }
    }

    /// An acknowledgement that is held leaves before the receiver takes `data`, if it has to.
    #[inline(never)]
    pub(super) fn release_before(&mut self, data: &Data, now: Time, route: &Route, network: &mut Network) {
        if self.receiver.deadline() < now {
            self.release_delayed_ack(self.receiver.deadline(), route, network);
        } else if self.receiver.must_ack_before(data) {
            self.release_delayed_ack(now, route, network);
        }
    }

    fn release_delayed_ack(&mut self, now: Time, route: &Route, network: &mut Network) {
        if let Some(ack) = self.receiver.release(now) {
            self.send_ack(&ack, now, route, network);
        }
    }
}
