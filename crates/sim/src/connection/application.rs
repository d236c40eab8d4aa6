//! The application's side of a connection: what it has to send, and when.

use fairhaul_units::{Data, Ecn, Time};

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::route::Route;

impl Connection {
    /// Opens the connection.
    pub fn open(&mut self, route: &Route, network: &mut Network) {
        if self.source.is_some() {
            self.sender.ready(0);
            self.schedule_ready(network);
        }
        if self.datagrams.is_none() {
            self.set_window(self.sender.window(), self.start, network);
            self.send_ready(self.start, route, network);
        }
    }

    fn schedule_ready(&mut self, network: &mut Network) {
        let next = self.source.as_mut().expect("who waits has a source").next_at();
        network.events.push(next, EventKind::Ready.key(self.serial));
    }

    /// The application has one more packet ready: it waits for the window, or leaves as a datagram.
    pub fn on_ready(&mut self, now: Time, route: &Route, network: &mut Network) {
        let number = self.ready;
        self.ready += 1;
        if self.datagrams.is_some() {
            let size = self.sender.config().packet;
            let ecn = Ecn::NotCapable; // nobody would echo a mark
            let (opens, again, cwr, congestion) = (false, false, false, None);
            let mut data = Data { number, stamped: now, size, opens, again, ecn, cwr, congestion };
            self.send_data(&mut data, now, route, network);
        } else {
            self.sender.ready(self.ready);
            self.send_ready(now, route, network);
        }
        self.schedule_ready(network);
    }
}
