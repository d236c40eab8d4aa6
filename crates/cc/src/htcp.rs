//! H-TCP [HTCP]: growth by the time since the last loss, decrease by the ratio of the round-trip times.
//!
//! For a second after a loss it is standard TCP; then what a round adds grows with the square of
//! the time. What a loss leaves is the share of the round trip that is not queue, so that the queue
//! just runs empty, and half where the flow's rate is still changing.

use fairhaul_units::{Gauge, Parameter, Span, Time, parameters};

use crate::gauge::seconds;
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// H-TCP.
#[derive(Clone, Debug)]
pub struct Htcp {
    /// How long after a loss event growth stays Reno's.
    low_speed: Span,
    rtt_scaling: bool,
    adaptive: bool,
    /// What a loss event leaves of the window.
    kept: f64,
    /// The last loss event; the first delivery before there is one.
    since: Time,
    min_rtt: Span,
    max_rtt: Span,
    past: Box<Past>,
}

/// What is kept of earlier times.
#[derive(Clone, Debug)]
struct Past {
    /// The throughput, where it is watched.
    meter: Option<Meter>,
    before: BeforeLoss,
}

/// What a loss event changes and Linux takes back where nothing was lost (htcp_cwnd_undo).
#[derive(Clone, Copy, Debug)]
struct BeforeLoss {
    since: Time,
    max_rtt: Span,
    last_most: f64,
}

/// The largest throughput between two loss events, in packets per second.
#[derive(Clone, Copy, Debug)]
struct Meter {
    packets: f64,
    /// The begin of the round under way; never, outside one.
    since: Time,
    filtered: f64,
    most: f64,
    last_most: f64,
}

impl Meter {
    const NEW: Meter = Meter { packets: 0.0, since: Time::NEVER, filtered: 0.0, most: 0.0, last_most: 0.0 };

    /// Counts a delivery; at the end of a round takes its rate into a filter of a quarter.
    fn take(&mut self, ack: &AckEvent) {
        if ack.new_round {
            if self.since < ack.now {
                let rate = self.packets / ack.now.since(self.since).as_secs();
                self.filtered = if self.filtered > 0.0 { 0.75 * self.filtered + 0.25 * rate } else { rate };
                self.most = self.most.max(self.filtered);
            }
            (self.since, self.packets) = (ack.now, 0.0);
        }
        self.packets += ack.packets;
    }

    /// Whether the largest throughput before this loss event is that before the last, within a
    /// fifth. A new epoch begins; one without a whole round leaves what is known.
    fn is_steady(&mut self) -> bool {
        let most = if self.most > 0.0 { self.most } else { self.last_most };
        let steady = self.last_most > 0.0 && (most - self.last_most).abs() <= 0.2 * self.last_most;
        *self = Meter { last_most: most, ..Meter::NEW };
        steady
    }
}

parameters! {
    /// The parameters of H-TCP.
    pub(crate) struct HtcpParameters {
        delta_l: Seconds(0.0..=1000.0) = 1.0,
            "time after a loss during which growth is that of Reno [HTCP]";
        rtt_scaling: Switch = true,
            "multiply growth by RTTmin / 0.1 s, clamped to 0.1..2; on in Linux, off in FreeBSD [HTCP]";
        adaptive_backoff: Switch = true,
            "keep the fraction RTTmin / RTTmax, clamped to 0.5..0.8, of the window at a loss; false keeps \
             half [HTCP]";
        throughput_switch: Switch = true,
            "keep half if the throughput has changed by more than 20 % since the last loss [HTCP]";
    }
}

impl Htcp {
    pub(crate) const TITLE: &'static str = "H-TCP: growth depends on the time since the last loss";
    pub(crate) const SOURCE: &'static str = "HTCP";
    pub(crate) const PARAMETERS: &'static [Parameter] = HtcpParameters::LIST;

    pub(crate) fn new(given: HtcpParameters) -> Htcp {
        let meter = given.throughput_switch.then_some(Meter::NEW);
        let before = BeforeLoss { since: Time::NEVER, max_rtt: Span::ZERO, last_most: 0.0 };
        Htcp {
            low_speed: given.delta_l,
            rtt_scaling: given.rtt_scaling,
            adaptive: given.adaptive_backoff,
            kept: 0.5,
            since: Time::NEVER,
            min_rtt: Span::ZERO,
            max_rtt: Span::ZERO,
            past: Box::new(Past { meter, before }),
        }
    }

    /// What a round adds, `elapsed` after the last loss event.
    fn increase(&self, elapsed: Span) -> f64 {
        let beyond_s = elapsed.saturating_sub(self.low_speed).as_secs();
        let rule = 1.0 + 10.0 * beyond_s + 0.25 * beyond_s * beyond_s;
        2.0 * (1.0 - self.kept) * (rule * self.scale()).max(1.0)
    }

    // Unclear in [HTCP]: whether scaling may make growth on a short path slower than Reno. It may not, as in
    // [LINUX], whose factor is at least one.
    fn scale(&self) -> f64 {
        if self.rtt_scaling { (self.min_rtt.as_secs() / 0.1).clamp(0.1, 2.0) } else { 1.0 }
    }

    /// What this loss event leaves of the window.
    // Differs from [LINUX]: in Linux, after one change of throughput two loss events halve the window, and
    // round-trip times of up to 10 ms, where its clock is coarse, always do.
    fn keep(&mut self) -> f64 {
        let steady = self.past.meter.as_mut().is_none_or(|meter| meter.is_steady());
        if !(self.adaptive && steady) || self.max_rtt.is_zero() {
            return 0.5;
        }
        (self.min_rtt.as_secs() / self.max_rtt.as_secs()).clamp(0.5, 0.8)
    }

    /// A loss event, or a timeout: another epoch begins.
    // Unclear in [HTCP]: whether time runs from the loss or, as in [LINUX], from the end of its recovery. From
    // the loss; so after a timeout the time of slow start counts, and the first round after it may add several
    // times what Linux adds.
    fn begin_epoch(&mut self, now: Time) {
        let last_most = self.past.meter.as_ref().map_or(0.0, |meter| meter.last_most);
        self.past.before = BeforeLoss { since: self.since, max_rtt: self.max_rtt, last_most };
        self.kept = self.keep();
        self.since = now;
        // Differs from [HTCP], as [LINUX] does: a twentieth of the largest queueing delay is forgotten at each
        // loss, so that a change of the route is noticed in time.
        let queue = self.max_rtt.saturating_sub(self.min_rtt);
        self.max_rtt = self.min_rtt + Span::from_secs(0.95 * queue.as_secs());
    }
}

impl Catalogued for Htcp {
    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "kept", unit: "", help: "fraction of the window that the last loss event left" },
        Gauge { name: "min_rtt_s", unit: "s", help: "smallest round-trip time" },
        Gauge {
            name: "max_rtt_s",
            unit: "s",
            help: "largest round-trip time, of which each loss forgets a part",
        },
    ];
}

impl Controller for Htcp {
    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        self.min_rtt = ack.min_rtt;
        self.since = self.since.min(ack.now);
        if ack.recovering {
            return;
        }
        // Differs from [LINUX]: in Linux a round-trip sample of more than 20 ms above the largest so far is
        // ignored.
        self.max_rtt = self.max_rtt.max(ack.rtt);
        if let Some(meter) = &mut self.past.meter {
            meter.take(ack);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.increase(ack.now.since(self.since)) * ack.packets / window.cwnd;
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.begin_epoch(event.now);
        window.give_up(1.0 - self.kept);
    }

    // Unclear in [HTCP]: timeouts are not mentioned. The slow-start threshold is the window that a loss would
    // have left.
    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        self.begin_epoch(event.now);
        window.give_up(1.0 - self.kept);
        window.cwnd = 1.0;
    }

    fn on_undo(&mut self, window: &mut Window, before: f64, _: Time) {
        let BeforeLoss { since, max_rtt, last_most } = self.past.before;
        (self.since, self.max_rtt) = (since, max_rtt);
        if let Some(meter) = &mut self.past.meter {
            meter.last_most = last_most;
        }
        window.cwnd = window.cwnd.max(before);
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([self.kept, seconds(self.min_rtt), seconds(self.max_rtt)]);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Settings;

    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance, close};

    fn settings() -> Settings {
        Settings::defaults(Htcp::PARAMETERS)
    }

    fn at(s: f64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// Whether or not throughput is watched, a flow on a path of 100 ms at its first delivery.
    fn begun(settings: &Settings) -> Htcp {
        let mut htcp = Htcp::new(settings.into());
        htcp.on_delivery(&mut avoidance(10.0), &ack(Span::from_ms(100)));
        htcp
    }

    /// A loss at 10 s that was none: growth goes on as 11 s after the one before.
    #[test]
    fn what_was_no_loss_leaves_the_time_of_the_last_one() {
        let mut htcp = begun(&settings());
        let mut window = avoidance(100.0);
        htcp.on_congestion(&mut window, &Congestion { now: at(1.0), ..CONGESTION });
        htcp.on_congestion(&mut window, &Congestion { now: at(10.0), ..CONGESTION });
        assert_eq!(htcp.since, at(10.0));
        htcp.on_undo(&mut window, 100.0, at(10.1));
        assert_eq!((htcp.since, window.cwnd), (at(1.0), 100.0));
    }

    /// 1 + 10 x 2 + (2 / 2)^2 = 22 three seconds after the loss; kept 0.5, so 2 (1 - 0.5) is 1;
    /// kept 0.8 leaves 0.4 x 22 = 8.8.
    #[test]
    fn growth_follows_the_time_since_the_loss() {
        let mut htcp = begun(&settings());
        let increases = [0.0, 1.0, 2.0, 3.0, 11.0].map(|s| htcp.increase(Span::from_secs(s)));
        assert_eq!(increases, [1.0, 1.0, 11.25, 22.0, 126.0]);
        htcp.kept = 0.8;
        assert!((htcp.increase(Span::from_s(3)) - 8.8).abs() < 1e-9);
    }

    /// Round trips of 20, 100 and 300 ms: 22 x 0.2, 22 x 1 and 22 x 2; the first second is Reno's.
    #[test]
    fn scaling_makes_growth_follow_the_round_trip() {
        for (ms, expected) in [(20, 4.4), (100, 22.0), (300, 44.0)] {
            let mut htcp = begun(&settings());
            htcp.min_rtt = Span::from_ms(ms);
            assert!((htcp.increase(Span::from_s(3)) - expected).abs() < 1e-9);
            assert_eq!(htcp.increase(Span::ZERO), if ms == 300 { 2.0 } else { 1.0 });
            htcp.rtt_scaling = false;
            assert_eq!(htcp.increase(Span::from_s(3)), 22.0);
        }
    }

    /// Over t seconds beyond the first the integral of a is t + 5 t^2 + t^3 / 12, in rounds of
    /// 0.1 s ten times that; t = 9 adds 4 747.5, and the first second 10: from 1000 to 5757.5.
    #[test]
    fn ten_seconds_without_a_loss_at_100_ms_add_4757_packets() {
        let mut htcp = begun(&settings());
        let mut window = avoidance(1000.0);
        let mut s = 0.0;
        while s < 10.0 {
            let event = AckEvent { now: at(s), ..ack(Span::from_ms(100)) };
            htcp.on_ack(&mut window, &event);
            s += 0.1 / window.cwnd;
        }
        close(window.cwnd, 5757.5, 0.001);
    }

    /// The window that is left of 1000 packets where round trips went from 100 ms to `rtt_ms` and
    /// the throughput of three epochs was as said: one packet a round, `rounds_s` long.
    fn left(settings: &Settings, rtt_ms: u64, rounds_s: [f64; 3]) -> [f64; 3] {
        let mut htcp = begun(settings);
        let mut now = 0.0;
        rounds_s.map(|round_s| {
            let mut window = avoidance(1000.0);
            for rtt_ms in [100, 100, rtt_ms, rtt_ms, rtt_ms] {
                let event = AckEvent {
                    now: at(now),
                    new_round: true,
                    min_rtt: Span::from_ms(100),
                    ..ack(Span::from_ms(rtt_ms))
                };
                htcp.on_delivery(&mut window, &event);
                now += round_s;
            }
            htcp.on_congestion(&mut window, &Congestion { now: at(now), ..CONGESTION });
            window.cwnd
        })
    }

    /// 100 / 160 = 0.625; the second epoch is steady, and the largest queue, 60 ms, is seen anew.
    #[test]
    fn a_steady_flow_keeps_the_share_of_the_round_trip_that_is_not_queue() {
        assert_eq!(left(&settings(), 160, [1.0; 3]).map(f64::round), [500.0, 625.0, 625.0]);
        assert_eq!(left(&settings(), 110, [1.0; 3])[2].round(), 800.0, "100 / 110 is above 0.8");
        assert_eq!(left(&settings(), 300, [1.0; 3])[2].round(), 500.0, "100 / 300 is below 0.5");
        assert_eq!(left(&settings().with("adaptive_backoff", 0.0), 160, [1.0; 3]), [500.0; 3]);
    }

    /// 1, 0.833 and 0.667 packets a second: changes of 17 and 20 per cent, the second just beyond
    /// a fifth at 1.55 s.
    #[test]
    fn a_throughput_that_changes_by_more_than_a_fifth_takes_half() {
        assert_eq!(
            left(&settings(), 160, [1.0, 1.2, 1.55])[1..].iter().map(|w| w.round()).collect::<Vec<_>>(),
            [625.0, 500.0]
        );
        let without = settings().with("throughput_switch", 0.0);
        assert_eq!(left(&without, 160, [1.0, 1.2, 1.55]).map(f64::round), [625.0; 3]);
    }

    /// 60 ms of queue seen once: 0.95 x 60 = 57 ms are remembered after a loss.
    #[test]
    fn a_twentieth_of_the_queue_is_forgotten_at_a_loss() {
        let mut htcp = begun(&settings());
        htcp.max_rtt = Span::from_ms(160);
        htcp.on_congestion(&mut avoidance(10.0), &CONGESTION);
        assert_eq!(htcp.max_rtt, Span::from_ms(157));
    }

    #[test]
    fn a_timeout_starts_over_towards_what_a_loss_leaves() {
        let mut window = avoidance(100.0);
        begun(&settings()).on_timeout(&mut window, &CONGESTION);
        assert_eq!(window, Window { cwnd: 1.0, ssthresh: 50.0 });
    }
}
