//! A sender whose packets are acknowledged and lost one by one: what a controller gets in a QUIC stack [RFC 9002], with samples
//! of the delivery rate [DELIVERY-RATE].
//!
//! A stack that has an interface for controllers of others reports its events here, and obeys the window, and the pacing rate
//! if it can. Packets are known by the time at which they left, because not every stack names them to its controller.

use std::collections::VecDeque;

use fairhaul_units::{Bytes, Span, Time};

use crate::{AckEvent, Cause, Congestion, Controller, Pacing, RateSample, Start, Window};

/// A packet that has left, and what was known when it did. Amounts are bytes.
#[derive(Clone, Copy, Debug)]
struct SentPacket {
    at: Time,
    bytes: u64,
    is_acked: bool,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// What an acknowledgement has reported so far.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    bytes: u64,
    newest: Option<SentPacket>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PacketSender<C> {
    controller: C,
    window: Window,
    /// The bytes of a packet, in which the controller counts.
    packet: u64,
    in_flight: u64,
    packets: VecDeque<SentPacket>,
    acked: Acked,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    lost_reported: u64,
    first_sent: Time,
    last_sent: Option<Time>,
    round_end: u64,
    /// The application limits the sender until as much is delivered.
    limited_until: u64,
    srtt: Option<Span>,
    min_rtt: Span,
    /// When the window was last reduced: no packet that left before may reduce it again, or let it grow.
    reduced_at: Option<Time>,
    recovering: bool,
    /// Controller and window before the last loss event.
    before_loss: Option<Box<(C, Window)>>,
}

impl<C: Controller + Clone> PacketSender<C> {
    /// A sender that has sent nothing, with an initial window in bytes. `packet`: the size of its packets at the start.
    pub fn new(mut controller: C, initial_window: Bytes, packet: Bytes) -> PacketSender<C> {
        controller.on_start(&Start { payload: packet, together: 1 });
        PacketSender {
            controller,
            window: Window { cwnd: initial_window.0 as f64 / packet.0 as f64, ssthresh: f64::INFINITY },
            packet: packet.0,
            in_flight: 0,
            packets: VecDeque::new(),
            acked: Acked::default(),
            delivered: 0,
            delivered_at: Time::ZERO,
            lost: 0,
            lost_reported: 0,
            first_sent: Time::ZERO,
            last_sent: None,
            round_end: 0,
            limited_until: 0,
            srtt: None,
            min_rtt: Span::from_ps(u64::MAX),
            reduced_at: None,
            recovering: false,
            before_loss: None,
        }
    }

    /// The congestion window, bytes.
    pub fn window(&self) -> u64 {
        (self.window.cwnd * self.packet as f64) as u64
    }

    /// The slow-start threshold, bytes; `None` before there is one.
    pub fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh.is_finite().then_some((self.window.ssthresh * self.packet as f64) as u64)
    }

    /// The rate at which packets are to leave, bytes per second, where the controller has one.
    pub fn pacing_rate(&self) -> Option<u64> {
        let packets_a_second = match self.controller.pacing(&self.window) {
            Pacing::None => return None,
            Pacing::Even(gap) => 1.0 / gap.as_secs(),
            Pacing::Blocks { round, .. } => self.window.cwnd / round.as_secs(),
        };
        Some((packets_a_second * self.packet as f64) as u64)
    }

    /// A packet leaves that will be acknowledged.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
            if let Some(last) = self.last_sent {
                self.controller.on_idle_end(&mut self.window, now, now.since(last));
            }
        }
        self.last_sent = Some(now);
        self.in_flight += bytes;
        self.packets.push_back(SentPacket {
            at: now,
            bytes,
            is_acked: false,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight: self.in_flight,
            app_limited: self.limited_until > 0,
        });
    }

    /// An acknowledgement reports a packet that left at `sent`; [`on_acks_end`](PacketSender::on_acks_end) follows.
    pub fn on_acked(&mut self, sent: Time, bytes: u64) {
        self.acked.bytes += bytes;
        let first = self.packets.partition_point(|packet| packet.at < sent);
        let same = self.packets.range_mut(first..).take_while(|packet| packet.at == sent);
        let Some(packet) = same.into_iter().find(|packet| !packet.is_acked) else { return };
        packet.is_acked = true;
        if self.acked.newest.is_none_or(|newest| newest.at <= packet.at) {
            self.acked.newest = Some(*packet);
        }
    }

    /// All packets of an acknowledgement are reported. `in_flight`: the bytes in flight after it; `app_limited`: whether the
    /// application, and neither window nor pacer, keeps the sender back.
    pub fn on_acks_end(&mut self, now: Time, in_flight: u64, app_limited: bool) {
        let acked = std::mem::take(&mut self.acked);
        self.in_flight = in_flight;
        self.delivered += acked.bytes;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if app_limited {
            self.limited_until = (self.delivered + in_flight).max(1);
        }
        let Some(newest) = acked.newest else { return };
        self.delivered_at = now;
        let event = self.event(now, acked.bytes, &newest);
        self.controller.on_delivery(&mut self.window, &event);
        if self.reduced_at.is_some_and(|reduced_at| newest.at <= reduced_at) {
            return;
        }
        if self.recovering {
            self.recovering = false;
            self.controller.on_recovered(&mut self.window, now);
        }
        if !app_limited {
            grow(&mut self.controller, &mut self.window, &event);
        }
    }

    /// Packets are believed lost, of which the last left at `sent`; or none of them, and the acknowledgement of the packet that
    /// left at `sent` reports marks (CE). `persistent`: all of several timeouts [RFC 9002, 7.6].
    pub fn on_congestion(&mut self, now: Time, sent: Time, lost: u64, persistent: bool) {
        let in_flight = self.in_flight as f64 / self.packet as f64;
        self.lost += lost;
        self.in_flight = self.in_flight.saturating_sub(lost);
        self.forget(sent, lost);
        let cause = if lost > 0 { Cause::Loss } else { Cause::Mark };
        let event = Congestion { cause, now, in_flight, srtt: self.srtt.unwrap_or_default() };
        if persistent {
            self.before_loss = None;
            self.controller.on_timeout(&mut self.window, &event);
        } else if self.reduced_at.is_none_or(|reduced_at| sent > reduced_at) {
            let before = || Box::new((self.controller.clone(), self.window));
            self.before_loss = (cause == Cause::Loss).then(before);
            self.controller.on_congestion(&mut self.window, &event);
        } else {
            return;
        }
        self.reduced_at = Some(now);
        self.recovering |= cause == Cause::Loss;
    }

    /// All that the last loss event took for lost has arrived: controller and window are as before it.
    pub fn on_spurious(&mut self) {
        if let Some(before) = self.before_loss.take() {
            (self.controller, self.window) = *before;
            (self.reduced_at, self.recovering) = (None, false);
        }
    }

    fn packets_of(&self, bytes: u64) -> f64 {
        bytes as f64 / self.packet as f64
    }

    fn event(&mut self, now: Time, bytes: u64, newest: &SentPacket) -> AckEvent {
        let rtt = now.since(newest.at);
        let srtt = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
        self.srtt = Some(srtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.first_sent = newest.at;
        let new_round = newest.delivered >= self.round_end;
        if new_round {
            self.round_end = self.delivered;
        }
        let lost = self.lost - self.lost_reported;
        self.lost_reported = self.lost;
        self.discard(newest.at, srtt);
        AckEvent {
            now,
            packets: self.packets_of(bytes),
            marked: 0.0,
            lost: self.packets_of(lost),
            rtt,
            srtt,
            min_rtt: self.min_rtt,
            one_way: rtt / 2,
            in_flight: self.packets_of(self.in_flight),
            new_round,
            recovering: self.recovering,
            window_limited: false,
            rate: Some(self.rate(now, newest)),
        }
        .by_flight(self.window.cwnd)
    }

    fn rate(&self, now: Time, packet: &SentPacket) -> RateSample {
        RateSample {
            delivered: self.packets_of(self.delivered - packet.delivered),
            interval: Span::max(packet.at.since(packet.first_sent), now.since(packet.delivered_at)),
            delivered_before: self.packets_of(packet.delivered),
            delivered_total: self.packets_of(self.delivered),
            in_flight_then: self.packets_of(packet.in_flight),
            lost_since: self.packets_of(self.lost - packet.lost),
            app_limited: packet.app_limited,
        }
    }

    /// Forgets lost bytes, of which the last left at `sent`, and what left before them.
    fn forget(&mut self, sent: Time, mut lost: u64) {
        while let Some(packet) = self.packets.front().copied() {
            if lost == 0 || packet.at > sent {
                return;
            }
            self.packets.pop_front();
            if !packet.is_acked {
                lost = lost.saturating_sub(packet.bytes);
            }
        }
    }

    /// Forgets what is acknowledged, and what left so long before the packet that it is lost or asks for no acknowledgement.
    fn discard(&mut self, newest: Time, srtt: Span) {
        let is_done = |packet: &SentPacket| packet.is_acked || packet.at + srtt * 2 < newest;
        while self.packets.front().is_some_and(is_done) {
            self.packets.pop_front();
        }
    }
}

/// Lets a window grow that its sender uses.
pub(crate) fn grow(controller: &mut impl Controller, window: &mut Window, event: &AckEvent) {
    if !window.in_slow_start() {
        controller.on_ack(window, event);
        return;
    }
    let before = window.cwnd;
    controller.on_slow_start(window, event);
    // A controller counts at most two packets of an acknowledgement [RFC 3465]; QUIC counts all of them.
    let growth = (window.cwnd - before).max(0.0) * event.packets / event.packets.min(2.0);
    if growth > 0.0 {
        window.cwnd = (before + growth).min(window.ssthresh.max(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builtin, ControllerChoice};

    const PACKET: u64 = 1200;

    fn sender(name: &str) -> PacketSender<Builtin> {
        let controller = ControllerChoice::named(name).expect("it is in the catalogue").build();
        PacketSender::new(controller, Bytes(10 * PACKET), Bytes(PACKET))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A script: `count` packets leave at each of the times; one acknowledgement reports those of a time.
    fn send(sender: &mut PacketSender<Builtin>, ms: u64, count: u64) {
        (0..count).for_each(|_| sender.on_sent(at(ms), PACKET));
    }

    fn ack(sender: &mut PacketSender<Builtin>, ms: u64, sent_ms: u64, count: u64, in_flight: u64) {
        (0..count).for_each(|_| sender.on_acked(at(sent_ms), PACKET));
        sender.on_acks_end(at(ms), in_flight * PACKET, false);
    }

    fn lose(sender: &mut PacketSender<Builtin>, ms: u64, sent_ms: u64, count: u64) {
        sender.on_congestion(at(ms), at(sent_ms), count * PACKET, false);
    }

    fn packets(sender: &PacketSender<Builtin>) -> f64 {
        sender.window() as f64 / PACKET as f64
    }

    /// Ten acknowledged in slow start are ten more; of 27 in the next round half is left, once.
    #[test]
    fn a_window_grows_by_all_that_is_acknowledged_and_is_reduced_once_per_round_trip() {
        let mut reno = sender("reno");
        send(&mut reno, 0, 10);
        ack(&mut reno, 100, 0, 10, 0);
        assert_eq!(packets(&reno), 20.0);
        send(&mut reno, 100, 10);
        send(&mut reno, 101, 10);
        ack(&mut reno, 200, 100, 7, 13);
        lose(&mut reno, 201, 100, 3);
        assert_eq!((packets(&reno), reno.ssthresh()), (13.5, Some(13 * PACKET + PACKET / 2)));
        lose(&mut reno, 202, 101, 2);
        assert_eq!(packets(&reno), 13.5);
        // Packets that left before the reduction let nothing grow; one that left after it ends the recovery.
        ack(&mut reno, 203, 101, 8, 0);
        assert_eq!(packets(&reno), 13.5);
    }

    /// In use the window is 20 after one round; under an application that writes less it stays 10.
    #[test]
    fn a_window_that_the_application_does_not_use_does_not_grow() {
        let mut reno = sender("reno");
        send(&mut reno, 0, 10);
        (0..10).for_each(|_| reno.on_acked(at(0), PACKET));
        reno.on_acks_end(at(100), 0, true);
        assert_eq!(packets(&reno), 10.0);
    }

    /// Two packets every 10 ms, acknowledged 100 ms later: 200 packets, 240 kB a second. After two rounds the rate of the
    /// start is 2.77 x 0.99 of it.
    #[test]
    fn the_delivery_rate_is_sampled_between_departure_and_acknowledgement() {
        let mut bbr = sender("bbr3");
        for step in 0..31u64 {
            if step >= 10 {
                ack(&mut bbr, step * 10, (step - 10) * 10, 2, 18);
            }
            send(&mut bbr, step * 10, 2);
        }
        let rate = bbr.pacing_rate().expect("it paces") as f64;
        assert!((rate / (2.77 * 0.99 * 240_000.0) - 1.0).abs() < 1e-3, "{rate}");
    }

    /// A sample that left while the application had limited the sender says so, until all of that time is acknowledged.
    #[test]
    fn packets_after_an_application_that_had_nothing_are_marked_as_limited() {
        let mut bbr = sender("bbr3");
        send(&mut bbr, 0, 2);
        (0..2).for_each(|_| bbr.on_acked(at(0), PACKET));
        bbr.on_acks_end(at(100), 0, true);
        send(&mut bbr, 200, 2);
        assert!(bbr.packets.iter().all(|packet| packet.app_limited));
        ack(&mut bbr, 300, 200, 2, 0);
        send(&mut bbr, 300, 2);
        assert!(bbr.packets.iter().all(|packet| !packet.app_limited));
    }

    /// 3 of 4 packets of one time are acknowledged and one is lost: nothing is left of it.
    #[test]
    fn what_is_acknowledged_or_lost_is_forgotten() {
        let mut reno = sender("reno");
        send(&mut reno, 0, 4);
        send(&mut reno, 10, 1);
        ack(&mut reno, 100, 0, 3, 2);
        assert_eq!(reno.packets.len(), 2);
        lose(&mut reno, 110, 0, 1);
        assert_eq!((reno.packets.len(), reno.in_flight, reno.lost), (1, PACKET, PACKET));
        // A packet that asks for no acknowledgement is never reported, and does not stay for ever.
        send(&mut reno, 500, 1);
        ack(&mut reno, 600, 500, 1, 0);
        assert!(reno.packets.is_empty());
    }

    /// CUBIC keeps 0.7 of 20 packets, once per round trip; what was taken for lost and arrives gives all of it back. A mark
    /// is no loss, and is not taken back.
    #[test]
    fn a_spurious_loss_is_undone_and_a_mark_is_not() {
        let mut cubic = sender("cubic");
        send(&mut cubic, 0, 10);
        ack(&mut cubic, 100, 0, 10, 0);
        send(&mut cubic, 100, 20);
        lose(&mut cubic, 210, 100, 2);
        assert_eq!(packets(&cubic), 14.0);
        cubic.on_spurious();
        assert_eq!((packets(&cubic), cubic.ssthresh()), (20.0, None));
        cubic.on_congestion(at(220), at(100), 0, false);
        cubic.on_congestion(at(221), at(100), 0, false);
        assert_eq!(packets(&cubic), 14.0);
        cubic.on_spurious();
        assert_eq!(packets(&cubic), 14.0);
    }

    /// BBR goes on with one packet, and has its window back when a packet that left after it is acknowledged.
    #[test]
    fn persistent_congestion_leaves_one_packet_until_a_later_one_arrives() {
        let mut bbr = sender("bbr3");
        send(&mut bbr, 0, 10);
        ack(&mut bbr, 100, 0, 10, 0);
        let before = packets(&bbr);
        send(&mut bbr, 100, 10);
        bbr.on_congestion(at(3000), at(100), 10 * PACKET, true);
        assert_eq!(packets(&bbr), 1.0);
        send(&mut bbr, 3001, 1);
        ack(&mut bbr, 3101, 3001, 1, 0);
        assert!(packets(&bbr) >= before, "{} < {before}", packets(&bbr));
    }

    #[test]
    fn a_controller_without_a_rate_leaves_pacing_to_the_stack() {
        assert_eq!(sender("reno").pacing_rate(), None);
    }
}
