//! The interface of congestion controllers: the trait, its events, the window and the pacing.

use fairhaul_units::{Bytes, Span, Time};

/// The two numbers that every controller moves, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window: how many packets may be in flight.
    pub cwnd: f64,
    /// Below this window the sender is in slow start.
    pub ssthresh: f64,
}

impl Window {
    /// Whether the sender is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Gives up the share `decrease` of the window, as at a loss event; at least 2 packets stay
    /// [RFC 5681, 3.1].
    pub fn give_up(&mut self, decrease: f64) {
        self.reduce_to(self.cwnd * (1.0 - decrease));
    }

    /// Sets window and threshold to `cwnd`, as at a loss event; at least 2 packets stay.
    pub fn reduce_to(&mut self, cwnd: f64) {
        self.ssthresh = cwnd.max(2.0);
        self.cwnd = self.ssthresh;
    }

    /// Takes the window down to `cwnd`, not below 2 packets, and the threshold with it, so that what
    /// a controller gives up by itself does not begin a slow start.
    pub fn lower_to(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(2.0).min(self.cwnd);
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// Sets the window to `cwnd`: upwards as it is, downwards as [`lower_to`](Window::lower_to) does.
    pub fn move_to(&mut self, cwnd: f64) {
        if cwnd < self.cwnd { self.lower_to(cwnd) } else { self.cwnd = cwnd }
    }

    /// Starts again from one packet, towards half the window, as at a timeout [RFC 5681, 3.1].
    pub fn start_over(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).max(2.0);
        self.cwnd = 1.0;
    }
}

/// An acknowledgement that delivered something new.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When the sender got it.
    pub now: Time,
    /// Packets that it newly reports as delivered.
    pub packets: f64,
    /// Of these, the packets that it reports as marked by a queue, for a controller that wants an
    /// [exact echo](Needs::exact_echo).
    pub marked: f64,
    /// Packets that the sender has come to believe lost since the last event.
    pub lost: f64,
    /// The round-trip sample that it carries.
    pub rtt: Span,
    /// Smoothed round-trip time [RFC 6298].
    pub srtt: Span,
    /// The smallest sample so far.
    pub min_rtt: Span,
    /// One-way transit time of the packet that caused it, by the receiver's clock less the
    /// sender's: where they are not one clock, only its changes mean something.
    pub one_way: Span,
    /// Packets in flight after it.
    pub in_flight: f64,
    /// Whether it is the first of another round: something that left after the first of the last
    /// round came has been delivered.
    pub new_round: bool,
    /// Whether the sender is recovering from a loss event or a timeout.
    pub recovering: bool,
    /// Whether the window limits the sender, and not the application, a buffer or the pacer.
    pub window_limited: bool,
    /// How fast the path delivers, for a controller that [asks](Needs::rates).
    pub rate: Option<RateSample>,
}

impl AckEvent {
    /// Packets that were in flight when the acknowledgement came, before it.
    pub(crate) fn flight_before(&self) -> f64 {
        self.in_flight + self.packets + self.lost
    }

    /// The same acknowledgement for a sender that only says what is in flight: a window of `cwnd` packets limits it where
    /// there was no room for another one.
    pub fn by_flight(self, cwnd: f64) -> AckEvent {
        AckEvent { window_limited: self.flight_before() + 1.0 > cwnd, ..self }
    }
}

/// How fast the path delivered between the sending of a packet and its acknowledgement
/// [DELIVERY-RATE].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Packets delivered in `interval`.
    pub delivered: f64,
    /// The longer of the times in which they were sent and acknowledged.
    pub interval: Span,
    /// All that had been delivered when the packet was sent.
    pub delivered_before: f64,
    /// All that has been delivered now.
    pub delivered_total: f64,
    /// Packets in flight when it was sent, itself included.
    pub in_flight_then: f64,
    /// Packets believed lost since it was sent.
    pub lost_since: f64,
    /// Whether the application, not the network, limited the sender when it was sent.
    pub app_limited: bool,
}

impl RateSample {
    /// Packets delivered per second.
    pub fn rate(&self) -> f64 {
        self.delivered / self.interval.as_secs()
    }
}

/// What revealed congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A loss.
    Loss,
    /// A mark [RFC 3168].
    Mark,
}

/// A loss event: one or more packets of a window were lost, or arrived marked; reported once per window.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// What revealed it.
    pub cause: Cause,
    /// When the sender saw it.
    pub now: Time,
    /// Packets in flight, the lost ones included.
    pub in_flight: f64,
    /// Smoothed round-trip time.
    pub srtt: Span,
}

/// What a packet reports to routers, and requests from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The time between two packets of the sender.
    pub gap: Span,
    /// Its smoothed round-trip time.
    pub rtt: Span,
    /// The change of its rate that this packet asks for, packets/s.
    pub change: f64,
}

/// How the sender spreads what the window lets go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// At once, as acknowledgements arrive.
    None,
    /// Packet by packet, one every so often, in recovery as well.
    Even(Span),
    /// In `count` blocks of ceil(cwnd / count) packets each, one block every `round / count`.
    Blocks {
        /// Blocks in a round; at least 2.
        count: u32,
        /// The round-trip time that the blocks divide.
        round: Span,
    },
}

/// What a controller needs of its sender, which does not change during a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Acknowledgements are to say exactly which packets were marked [RFC 8257, 3.2], and not, as usual, that some were
    /// [RFC 3168, 6.1.3].
    pub exact_echo: bool,
    /// It reduces the window for marks itself, from [`AckEvent::marked`], and the window grows while they come. Where feedback
    /// is not [accurate](Controller::on_ecn_feedback), this does not apply.
    pub own_marks: bool,
    /// An acknowledgement is to bring the sum of all answers of routers so far, and not of those since the last
    /// acknowledgement: then a lost one takes nothing with it.
    pub feedback_sum: bool,
    /// The sender is to call its [request](Controller::request).
    pub requests: bool,
    /// [`AckEvent::rate`] is to be kept.
    pub rates: bool,
    /// The sender is to call its [pacing](Controller::pacing).
    pub pacing: bool,
    /// The sender is to call its [mode](Controller::mode).
    pub modes: bool,
}

/// What a sender is, when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The payload of a full packet.
    pub payload: Bytes,
    /// The most packets that it hands over together (segmentation offload); one without.
    pub together: u64,
}

/// A congestion controller. Most need only `on_ack` and `on_congestion`.
pub trait Controller {
    /// Called once, before anything else.
    fn on_start(&mut self, start: &Start) {
        let _ = start;
    }

    /// Something new was delivered in congestion avoidance, by a flow that used its window.
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent);

    /// A loss event, reported on entering recovery or with the echo of a mark.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion);

    /// Something new was delivered in slow start: one packet more for each, at most two an ACK
    /// [RFC 3465, 2.2].
    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets.min(2.0);
    }

    /// The retransmission timer ran out, the first time for this data: start again from one
    /// packet, towards half the window [RFC 5681, 3.1].
    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        let _ = event;
        window.start_over();
    }

    /// Something new was delivered, in whatever state the sender is and whether or not the window
    /// limits it; reported before the window grows by one of the methods above.
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let _ = (window, ack);
    }

    /// The next burst departs at `at`, or later. Reported before each delivery by a sender whose kernel sizes bursts, to a
    /// controller that asks for [rates](Needs::rates).
    fn on_departure(&mut self, at: Time) {
        let _ = at;
    }

    /// Fast recovery, or what follows a timeout, is over.
    fn on_recovered(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// The last loss event or timeout was spurious; `before`: the window before it. A sender of Linux leaves
    /// to the controller what it takes back: by default the window, and nothing of what the reduction taught it
    /// [LINUX, tcp_reno_undo_cwnd]. Reported before the end of the recovery.
    fn on_undo(&mut self, window: &mut Window, before: f64, now: Time) {
        let _ = now;
        window.cwnd = window.cwnd.max(before);
    }

    /// A packet leaves after nothing was in flight; `silence`: the time since the last one left.
    fn on_idle_end(&mut self, window: &mut Window, now: Time, silence: Span) {
        let _ = (window, now, silence);
    }

    /// What it needs of its sender.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What a packet that leaves now asks of routers, where the controller does so. `line` is the
    /// fastest that its host can send, packets/s.
    fn request(&self, window: &Window, srtt: Span, line: f64) -> Option<Request> {
        let _ = (window, srtt, line);
        None
    }

    /// An acknowledgement brought what routers answer: a change of the rate, packets/s.
    fn on_feedback(&mut self, window: &mut Window, change: f64, srtt: Span) {
        let _ = (window, change, srtt);
    }

    /// The connection is open, and its ends have agreed on how marks are reported: accurately [RFC 9768], or only that there
    /// were some, or not at all. Called once if the flow has requested accurate feedback.
    fn on_ecn_feedback(&mut self, accurate: bool) {
        let _ = accurate;
    }

    /// What it is doing, for a controller with several modes: a number that its page explains.
    /// Each change of it is an event of the record. Only a controller that [says so](Needs::modes) is asked.
    fn mode(&self) -> Option<u8> {
        None
    }

    /// Adds what it holds to `values`, in the order in which its entry in the catalogue names it; not a number where it is
    /// not known yet. Only a controller whose entry names gauges is asked.
    fn gauges(&self, window: &Window, values: &mut Vec<f64>) {
        let _ = (window, values);
    }

    /// How to spread what the window lets go. Blocks are for times outside recovery. Only a controller that
    /// [says so](Needs::pacing) is asked.
    fn pacing(&self, window: &Window) -> Pacing {
        let _ = window;
        Pacing::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::ack;

    /// Seven in flight, one delivered and one lost: with nine packets the window was full, and with ten one more would leave.
    #[test]
    fn by_its_flight_a_sender_is_limited_where_another_packet_has_no_room() {
        let event = AckEvent { in_flight: 7.0, lost: 1.0, ..ack(Span::from_ms(1)) };
        let limited = [9.0, 9.9, 10.0].map(|cwnd| event.by_flight(cwnd).window_limited);
        assert_eq!(limited, [true, true, false]);
    }
}
