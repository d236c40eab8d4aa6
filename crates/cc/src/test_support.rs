//! Helpers of the tests of several controllers: events, rounds, and the mean window under periodic loss.

use fairhaul_units::{Span, Time};

use crate::{AckEvent, Cause, Congestion, Controller, Window};

pub(crate) const CONGESTION: Congestion =
    Congestion { cause: Cause::Loss, now: Time::ZERO, in_flight: 0.0, srtt: Span::from_ms(100) };

/// A window in congestion avoidance.
pub(crate) fn avoidance(cwnd: f64) -> Window {
    Window { cwnd, ssthresh: 2.0 }
}

/// An acknowledgement of one packet on a path whose round trips all take `rtt`.
pub(crate) fn ack(rtt: Span) -> AckEvent {
    AckEvent {
        now: Time::ZERO,
        packets: 1.0,
        marked: 0.0,
        lost: 0.0,
        rtt,
        srtt: rtt,
        min_rtt: rtt,
        one_way: rtt / 2,
        in_flight: 0.0,
        new_round: false,
        recovering: false,
        window_limited: true,
        rate: None,
    }
}

/// One acknowledgement for every whole packet of the window, at 100 ms.
pub(crate) fn one_round(controller: &mut impl Controller, window: &mut Window) {
    for _ in 0..window.cwnd as u64 {
        controller.on_ack(window, &ack(Span::from_ms(100)));
    }
}

/// The mean over time of the window where every 1/p-th packet is lost: between two losses 1/p
/// packets are acknowledged, each of which takes 1/w of a round. Recovery takes no time.
pub(crate) fn mean_window(controller: &mut impl Controller, p: f64, rtt_s: f64) -> f64 {
    let mut window = avoidance(libm::pow(p, -0.8));
    let mut cycles = PeriodicLoss::new(p, rtt_s, 1);
    for _ in 0..200 {
        let start = window.cwnd;
        let mean = cycles.next(controller, &mut window);
        if (window.cwnd / start - 1.0).abs() < 1e-5 {
            return mean;
        }
    }
    panic!("the window under periodic loss does not reach a steady cycle");
}

/// Losses of every 1/p-th packet, one after the other.
pub(crate) struct PeriodicLoss {
    packets: u64,
    /// Packets that one acknowledgement delivers.
    batch: u64,
    event: AckEvent,
    rtt_s: f64,
    now_s: f64,
}

impl PeriodicLoss {
    pub(crate) fn new(p: f64, rtt_s: f64, batch: u64) -> PeriodicLoss {
        let packets = (1.0 / p).round() as u64;
        let event = AckEvent { packets: batch as f64, ..ack(Span::from_secs(rtt_s)) };
        PeriodicLoss { packets, batch, event, rtt_s, now_s: 0.0 }
    }

    /// Up to the next loss, and what it does: the mean window before it.
    pub(crate) fn next(&mut self, controller: &mut impl Controller, window: &mut Window) -> f64 {
        let mut rounds = 0.0;
        for _ in 0..self.packets / self.batch {
            rounds += self.event.packets / window.cwnd;
            let now = Time::ZERO + Span::from_secs(self.now_s + rounds * self.rtt_s);
            controller.on_ack(window, &AckEvent { now, ..self.event });
        }
        self.now_s += rounds * self.rtt_s;
        controller.on_congestion(window, &CONGESTION);
        self.packets as f64 / rounds
    }
}

/// Flows of one base round-trip time behind one queue without limit, a round of all at a time.
pub(crate) struct SharedPath {
    pub(crate) base: Span,
    pub(crate) packets_per_s: f64,
    pub(crate) now: Time,
}

impl SharedPath {
    /// An idle path.
    #[allow(dead_code, reason = "for the tests of controllers that watch the delay")]
    pub(crate) fn new(base: Span, packets_per_s: f64) -> SharedPath {
        SharedPath { base, packets_per_s, now: Time::ZERO }
    }

    /// One round: every flow gets an acknowledgement for each whole packet of its window, all with
    /// the round-trip time that the windows together make. Gives the packets queued.
    #[allow(dead_code, reason = "for the tests of controllers that watch the delay")]
    pub(crate) fn round<C: Controller>(&mut self, flows: &mut [(C, Window)]) -> f64 {
        let in_flight: f64 = flows.iter().map(|(_, window)| window.cwnd.floor()).sum();
        let queued = (in_flight - self.packets_per_s * self.base.as_secs()).max(0.0);
        let rtt = self.base + Span::from_secs(queued / self.packets_per_s);
        for (controller, window) in flows {
            let packets = window.cwnd as u64;
            for number in 0..packets {
                let event = AckEvent {
                    now: self.now + rtt * number / packets,
                    min_rtt: self.base,
                    one_way: rtt - self.base / 2,
                    in_flight: packets as f64 - 1.0,
                    new_round: number == 0,
                    ..ack(rtt)
                };
                acknowledge(controller, window, &event);
            }
        }
        self.now += rtt;
        queued
    }
}

/// What the sender does with an acknowledgement outside recovery.
#[allow(dead_code, reason = "for the tests of controllers that watch the delay")]
pub(crate) fn acknowledge(controller: &mut impl Controller, window: &mut Window, event: &AckEvent) {
    controller.on_delivery(window, event);
    if window.in_slow_start() {
        controller.on_slow_start(window, event);
    } else {
        controller.on_ack(window, event);
    }
}

/// Asserts that `found` is within the share `band` of `expected`.
pub(crate) fn close(found: f64, expected: f64, band: f64) {
    assert!((found / expected - 1.0).abs() <= band, "{found} is not within {band} of {expected}");
}
