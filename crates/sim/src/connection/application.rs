//! The application's side of a connection: what it has to send, and when.

use fairhaul_cc::Builtin;
use fairhaul_experiment::Source;
use fairhaul_units::{Data, Ecn, Sending, Span, Time};

use super::Connection;
use crate::event_key::EventKind;
use crate::network::Network;
use crate::route::Route;
use crate::tcp::Sender;

/// An application that has packets ready one after the other.
///
/// An event for each ready packet would cost more than the run where an application is faster than its
/// connection. So the next ready packet is an event only where the sender waits for it; others are counted
/// before the sender is polled, with the same result.
#[derive(Clone)]
pub(super) struct Application {
    source: Source,
    /// Packets that are ready or have been, the one that is an event not included.
    ready: u64,
    /// Whether the next ready packet is an event in the event queue.
    is_scheduled: bool,
}

/// Packets that are ready if all are.
const ENDLESS: u64 = u64::MAX;

impl Application {
    /// How many packets are ready, the sent included.
    pub(super) fn ready(&self) -> u64 {
        self.ready
    }

    /// Nothing is ready yet.
    pub(super) fn new(source: Source) -> Application {
        Application { source, ready: 0, is_scheduled: false }
    }

    #[cold]
    fn count_ready(&mut self, time: Time, sender: &mut Sender<Builtin>) {
        if self.is_scheduled || self.ready == ENDLESS {
            return;
        }
        // What is ready at `time` itself is an event where the sender waits for it.
        if time > self.source.endless_from() {
            self.ready = ENDLESS;
        } else {
            self.ready += self.source.skip_until(time);
        }
        sender.ready(self.ready);
    }

    /// An event of the application at `now`: one more packet is ready, or all are, or no more than `sent`.
    fn advance(&mut self, now: Time, sent: u64) {
        self.is_scheduled = false;
        if now >= self.source.endless_from() {
            self.ready = ENDLESS;
            return;
        }
        if self.ready == ENDLESS {
            // The time begins in which it limits its sender; a packet that is ready now counts.
            self.ready = sent + self.source.skip_until(now + Span::from_ps(1));
            return;
        }
        self.ready += 1;
    }
}

impl Connection {
    /// Opens the connection.
    pub fn open(&mut self, route: &Route, network: &mut Network) {
        if let Some(application) = &mut self.application {
            let limits_from = application.source.endless_until();
            if let Some(from) = limits_from.filter(|from| *from > self.start) {
                (application.ready, application.is_scheduled) = (ENDLESS, true);
                self.sender.ready(ENDLESS);
                network.events.push(from, EventKind::Ready.key(self.serial));
            } else {
                self.sender.ready(0);
                self.schedule_ready(network);
            }
        }
        if self.stack.is_some() {
            self.drive_sender(self.start, route, network);
        } else if self.datagrams.is_none() {
            self.set_window(self.sender.window(), self.start, network);
            self.send_ready(self.start, route, network);
        }
    }

    /// Counts the packets that have become ready before `time` without an event.
    #[inline(always)]
    pub(super) fn count_ready(&mut self, time: Time) {
        if let Some(application) = &mut self.application {
            application.count_ready(time, &mut self.sender);
        }
    }

    /// The same, with those at the time of a timer, which come before it.
    pub(super) fn count_ready_at(&mut self, timer: Time) {
        self.count_ready(timer + Span::from_ps(1));
    }

    /// Schedules the next ready packet if the sender waits for it.
    #[cold]
    pub(super) fn await_ready(&mut self, network: &mut Network) {
        if !self.sender.has_burst_ready() {
            self.schedule_ready(network);
        }
    }

    pub(super) fn schedule_ready(&mut self, network: &mut Network) {
        let application = self.application.as_mut().expect("packets become ready where an application is");
        if !application.is_scheduled {
            application.is_scheduled = true;
            let ready = application.source.next_at();
            if ready < Time::NEVER {
                network.events.push(ready, EventKind::Ready.key(self.serial));
            }
        }
    }

    /// The application has one more packet ready, which waits for the window or leaves as a datagram; or it begins or
    /// ends to limit its sender.
    pub fn on_ready(&mut self, now: Time, route: &Route, network: &mut Network) {
        let payload = self.sender.config().payload().0;
        let sent = self.stack.as_ref().map_or(self.sender.next(), |stack| stack.written / payload);
        let application = self.application.as_mut().expect("packets become ready where an application is");
        let number = application.ready;
        application.advance(now, sent);
        let ready = application.ready;
        if self.datagrams.is_some() {
            let size = self.sender.config().packet;
            let ecn = Ecn::NotCapable; // no receiver would echo a mark
            let (packets, sending, cwr, congestion) = (1, Sending::First, false, None);
            let mut data = Data { number, stamped: now, size, packets, sending, ecn, cwr, congestion };
            self.send_data(&mut data, now, route, network);
            self.schedule_ready(network);
        } else if self.stack.is_some() {
            self.drive_sender(now, route, network);
        } else {
            self.sender.ready(ready);
            self.send_ready(now, route, network);
        }
    }
}
