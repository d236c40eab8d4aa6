//! The timer of an acknowledgement that the receiver holds back.

use fairhaul_units::Time;

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::route::Route;

impl Connection {
    /// The receiver's delayed acknowledgement may be due.
    pub fn on_delayed_ack(&mut self, now: Time, route: &Route, network: &mut Network) {
        self.delayed_ack_at = Time::NEVER;
        if self.receiver.deadline() == now {
            self.release_delayed_ack(now, route, network);
        } else {
            self.schedule_delayed_ack(network);
        }
    }

    /// The event queue holds one entry for the delayed acknowledgement, at or before its time.
    pub(super) fn schedule_delayed_ack(&mut self, network: &mut Network) {
        let due = self.receiver.deadline();
        if due < self.delayed_ack_at {
            self.delayed_ack_at = due;
            network.events.push(due, EventKind::DelayedAck.key(self.serial));
        }
    }

    pub(super) fn release_delayed_ack(&mut self, now: Time, route: &Route, network: &mut Network) {
        if let Some(ack) = self.receiver.release(now) {
            self.send_ack(&ack, now, route, network);
        }
    }
}
