//! The adaptive delayed acknowledgements of Linux's receiver [LINUX]: not delayed at the start of a connection, then
//! delayed by the time between packets. Of the acknowledgements that report a gap, three are sent at once and the
//! following ones are compressed into fewer.

use fairhaul_units::{Span, Time};

/// The shortest delay, from which it grows (TCP_DELACK_MIN, TCP_ATO_MIN), and the longest (TCP_DELACK_MAX).
const LEAST_DELAY: Span = Span::from_ms(40);
const MOST_DELAY: Span = Span::from_ms(200);
/// Below that, the time between packets does not count (TCP_ATO_MIN / 2).
const SOON: Span = Span::from_ms(20);
/// The least margin of the receiver's own timeout above the round trip (TCP_RTO_MIN).
const MARGIN: Span = Span::from_ms(200);
/// Reports of a gap that go out by themselves (TCP_FASTRETRANS_THRESH), and how many of the reports that
/// follow one acknowledgement stands for at most (tcp_comp_sack_nr), for how long (tcp_comp_sack_delay_ns),
/// and for what part of a round trip; and how much later the timer may be (tcp_comp_sack_slack_ns), which it is
/// where nothing else wakes the host.
const SENT_AT_ONCE: u32 = 3;
const MOST_COMPRESSED: u32 = 44;
const LONGEST_COMPRESSION: Span = Span::from_ms(1);
const RTT_PART: u64 = 20;
const COMPRESSION_SLACK: Span = Span::from_us(100);
/// Acknowledgements that go out at once from the first mark on.
const QUICK_AT_MARK: u32 = 2;

/// How a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalKind {
    /// The next in order, with nothing missing.
    InOrder,
    /// The next in order, where something behind it had arrived.
    FillsGap,
    /// The next in order alone, where something is still missing behind it: what follows is still beyond a gap.
    BeforeGap,
    /// Beyond a gap.
    BeyondGap,
    /// A duplicate: it had arrived before.
    Duplicate,
}

/// What the receiver does with its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDecision {
    /// It is sent.
    Send,
    /// It is delayed by that time, or sent with the delayed one.
    Delay(Span),
    /// It is compressed: it waits with the delayed one, or by that time if none is delayed.
    Compress(Span),
}

/// See the module.
//
// Differs from [LINUX]: the application reads at once, so that no acknowledgement is delayed by a small window,
// and none is triggered by reading. The receiver's round-trip time is that of the handshake.
#[derive(Clone, Debug)]
pub struct AdaptiveDelayedAck {
    /// How many acknowledgements the start is worth, and how many of them are left.
    most_quick: u32,
    quick: u32,
    /// How long the next one may be held (ATO).
    hold: Span,
    /// When the last packet in order arrived; before the first, when the connection was opened.
    last: Time,
    /// From the answer to the opening to the first packet; `None` before.
    rtt: Option<Span>,
    /// Reports of the gap at hand that went out, and that wait.
    reports: u32,
    waiting: u32,
}

impl AdaptiveDelayedAck {
    /// A receiver that acknowledges the first `quick` packets one by one.
    pub fn new(quick: u32) -> AdaptiveDelayedAck {
        let last = Time::ZERO;
        AdaptiveDelayedAck {
            most_quick: quick,
            quick: 0,
            hold: LEAST_DELAY,
            last,
            rtt: None,
            reports: 0,
            waiting: 0,
        }
    }

    /// The connection is opened at `now`.
    pub fn opens(&mut self, now: Time) {
        self.last = now;
    }

    /// A packet was marked, and is the first to be echoed [LINUX, tcp_enter_quickack_mode].
    pub fn on_first_mark(&mut self) {
        (self.quick, self.hold) = (self.quick.max(QUICK_AT_MARK), LEAST_DELAY);
    }

    /// The receive window has grown: the next packet is acknowledged at once [LINUX, tcp_grow_window].
    pub fn on_larger_window(&mut self) {
        self.quick |= 1;
    }

    /// A packet arrives at `now`; `urgent`: it says something that must not wait.
    #[cold]
    pub fn take(&mut self, kind: ArrivalKind, urgent: bool, now: Time) -> AckDecision {
        match kind {
            ArrivalKind::InOrder => self.in_order(now),
            ArrivalKind::FillsGap | ArrivalKind::BeforeGap => self.in_order(now),
            ArrivalKind::BeyondGap => {}
            // What comes twice is a sign of a sender in trouble.
            ArrivalKind::Duplicate => self.quick = self.quick.max(self.most_quick),
        }
        if urgent || self.quick > 0 {
            return AckDecision::Send;
        }
        match kind {
            ArrivalKind::InOrder => AckDecision::Delay(self.length()),
            ArrivalKind::FillsGap | ArrivalKind::Duplicate => {
                self.reports = 0;
                AckDecision::Send
            }
            ArrivalKind::BeforeGap => {
                self.reports = 1;
                AckDecision::Send
            }
            ArrivalKind::BeyondGap => self.report(),
        }
    }

    /// An acknowledgement leaves.
    #[cold]
    pub fn leaves(&mut self) {
        self.waiting = 0;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.hold = LEAST_DELAY;
            }
        }
    }

    /// The timer of a delayed acknowledgement has expired: the next may be delayed for longer.
    pub fn on_expiry(&mut self) {
        if self.waiting == 0 {
            self.hold = (self.hold * 2).min(self.timeout());
        }
    }

    /// A packet in order arrives [LINUX, tcp_event_data_recv].
    fn in_order(&mut self, now: Time) {
        let gap = now.since(self.last);
        self.last = now;
        if self.rtt.is_none() {
            (self.rtt, self.quick) = (Some(gap), self.most_quick);
        } else if gap <= SOON {
            self.hold = self.hold / 2 + SOON;
        } else if gap < self.hold {
            self.hold = (self.hold / 2 + gap).min(self.timeout());
        } else if gap > self.timeout() {
            self.quick = self.quick.max(self.most_quick); // its sender starts anew
        }
    }

    /// How long an acknowledgement is held [LINUX, tcp_send_delayed_ack].
    fn length(&self) -> Span {
        let rtt = self.rtt.unwrap_or(LEAST_DELAY).max(LEAST_DELAY);
        self.hold.min(rtt).min(MOST_DELAY)
    }

    /// Another report of a gap [LINUX, __tcp_ack_snd_check].
    fn report(&mut self) -> AckDecision {
        if self.reports < SENT_AT_ONCE || self.waiting + 1 >= MOST_COMPRESSED {
            self.reports += 1;
            return AckDecision::Send;
        }
        self.waiting += 1;
        let delay = (self.rtt.unwrap_or(LEAST_DELAY) / RTT_PART).min(LONGEST_COMPRESSION);
        AckDecision::Compress(delay + COMPRESSION_SLACK)
    }

    /// The timeout of a host that has measured one round trip.
    fn timeout(&self) -> Span {
        let rtt = self.rtt.unwrap_or(LEAST_DELAY);
        rtt + (rtt * 2).max(MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A connection over 100 ms after its quick start: the first of 16 packets at 100 ms.
    fn begun() -> AdaptiveDelayedAck {
        let mut adaptive = AdaptiveDelayedAck::new(16);
        adaptive.opens(at(0));
        for n in 0..16 {
            assert_eq!(adaptive.take(ArrivalKind::InOrder, false, at(100 + n)), AckDecision::Send);
            adaptive.leaves();
        }
        adaptive
    }

    #[test]
    fn the_seventeenth_packet_is_the_first_to_wait_and_for_40_ms() {
        assert_eq!(begun().take(ArrivalKind::InOrder, false, at(116)), AckDecision::Delay(Span::from_ms(40)));
    }

    /// Packets 36 ms apart: 40/2 + 36 = 56, 56/2 + 36 = 64, 68, 70; then close ones: 70/2 + 20 = 55, 47.5.
    #[test]
    fn the_hold_follows_the_time_between_packets() {
        let mut adaptive = begun();
        let mut hold = |ms| match adaptive.take(ArrivalKind::InOrder, false, at(ms)) {
            AckDecision::Delay(span) => span.as_secs() * 1e3,
            other => panic!("{other:?}"),
        };
        let steps = [151, 187, 223, 259, 260, 261].map(&mut hold);
        assert_eq!(steps, [56.0, 64.0, 68.0, 70.0, 55.0, 47.5]);
    }

    /// 40, 80; the third would be 160, but a round trip is 100.
    #[test]
    fn what_waits_in_vain_doubles_the_hold_up_to_a_round_trip() {
        let mut adaptive = begun();
        let mut now = at(116);
        let holds = [(); 3].map(|()| {
            now += Span::from_ms(200);
            let held = adaptive.take(ArrivalKind::InOrder, false, now);
            adaptive.on_expiry();
            held
        });
        assert_eq!(holds, [40, 80, 100].map(|ms| AckDecision::Delay(Span::from_ms(ms))));
    }

    /// The timeout of 100 ms is 100 + 200 = 300 ms.
    #[test]
    fn a_long_pause_begins_another_quick_start() {
        let mut adaptive = begun();
        assert!(matches!(adaptive.take(ArrivalKind::InOrder, false, at(415)), AckDecision::Delay(_)));
        assert_eq!(adaptive.take(ArrivalKind::InOrder, false, at(716)), AckDecision::Send);
        assert_eq!(adaptive.quick, 16);
    }

    /// Three alone, then 43 and the one that sends them; a fiftieth of 10 ms would be less than 1 ms.
    #[test]
    fn of_the_reports_of_a_gap_three_go_alone_and_then_44_together() {
        let mut adaptive = begun();
        let mut report = || {
            let verdict = adaptive.take(ArrivalKind::BeyondGap, false, at(120));
            if verdict == AckDecision::Send {
                adaptive.leaves();
            }
            verdict
        };
        let alone = [(); 3].map(|()| report());
        assert_eq!(alone, [AckDecision::Send; 3]);
        let together: Vec<AckDecision> = (0..44).map(|_| report()).collect();
        assert!(together[..43].iter().all(|verdict| *verdict == AckDecision::Compress(Span::from_us(1100))));
        assert_eq!(together[43], AckDecision::Send);
    }

    /// What fills a gap is the first of three, where the next packet is missing, too.
    #[test]
    fn between_two_gaps_the_acknowledgement_of_what_fills_one_counts_as_a_report() {
        for (kind, alone) in [(ArrivalKind::BeforeGap, 2), (ArrivalKind::FillsGap, 3)] {
            let mut adaptive = begun();
            for _ in 0..9 {
                adaptive.take(ArrivalKind::BeyondGap, false, at(120));
            }
            assert_eq!(adaptive.take(kind, false, at(121)), AckDecision::Send);
            let reports = (0..4).map(|_| adaptive.take(ArrivalKind::BeyondGap, false, at(122)));
            assert_eq!(reports.filter(|decision| *decision == AckDecision::Send).count(), alone, "{kind:?}");
        }
    }
}
