//! The application's side of a connection: what it has to send, and when.

use fairhaul_units::{Data, Ecn, Time};

use super::Connection;
use crate::event_key::EventKind;
use crate::route::Route;
use crate::world::World;

impl Connection {
    /// Opens the connection.
    pub fn open(&mut self, route: &Route, world: &mut World) {
        if self.source.is_some() {
            self.sender.ready(0);
            self.await_ready(world);
        }
        if self.datagrams.is_none() {
            self.stand(self.sender.window(), self.start, world);
            self.pump(self.start, route, world);
        }
    }

    fn await_ready(&mut self, world: &mut World) {
        let next = self.source.as_mut().expect("who waits has a source").next_at();
        world.events.push(next, EventKind::Ready.key(self.serial));
    }

    /// The application has one more packet ready: it waits for the window, or leaves as a datagram.
    pub fn on_ready(&mut self, now: Time, route: &Route, world: &mut World) {
        let number = self.ready;
        self.ready += 1;
        if self.datagrams.is_some() {
            let size = self.sender.profile().packet;
            let ecn = Ecn::NotCapable; // nobody would echo a mark
            let (opens, again, cwr, congestion) = (false, false, false, None);
            let mut data = Data { number, stamped: now, size, opens, again, ecn, cwr, congestion };
            self.launch(&mut data, now, route, world);
        } else {
            self.sender.ready(self.ready);
            self.pump(now, route, world);
        }
        self.await_ready(world);
    }
}
