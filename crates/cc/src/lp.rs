//! TCP-LP [LP]: gives way to other traffic when one-way delays rise.
//!
//! A smoothed one-way delay that exceeds the smallest by `delta` of the range of delays is early congestion: the window is
//! halved, and does not grow for three round trips, in which another sign of congestion leaves one packet. Else it is Reno.

use fairhaul_units::{Gauge, Parameter, Settings, Time, parameters, words};

use crate::draw::draw;
use crate::{AckEvent, Catalogued, Congestion, Controller, ProbeCycle, Window};

/// TCP-LP.
#[derive(Clone, Debug)]
pub struct Lp {
    delta: f64,
    delays: Box<Delays>,
    /// The last early congestion.
    last: Option<Time>,
    /// Whether the time after it, in which the window does not grow, is not over.
    infers: bool,
}

words! {
    /// Whose rule it is.
    enum LpVariant {
        Kuzmanovic = "kuzmanovic",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of TCP-LP.
    pub(crate) struct LpParameters {
        variant: Word(LpVariant) = LpVariant::Kuzmanovic,
            "kuzmanovic: as published; linux: as in Linux, with time stamps of 32 bits [LP]";
        delta: Number(0.0..=1.0) = 0.15,
            "fraction of the range of one-way delays above which they are early congestion [LP]";
    }
}

/// Round trips of the time after early congestion.
const INFERENCE: u64 = 3;

/// The one-way delays of a flow.
#[derive(Clone, Debug)]
enum Delays {
    Exact(ExactDelays),
    Linux(TimeStamps),
}

/// Delays as the paper has them, in seconds by the receiver's clock less the sender's.
#[derive(Clone, Debug, Default)]
struct ExactDelays {
    smoothed: Option<f64>,
    least: f64,
    most: f64,
    /// Whether a loss has shown the largest delay.
    has_lost: bool,
}

/// Delays as Linux computes them, from the time stamps in milliseconds of both hosts, whose clocks have unknown offsets.
/// All is computed modulo 2^32, and `smoothed` holds eight times its value.
#[derive(Clone, Debug)]
struct TimeStamps {
    /// What the receiver's clock is ahead by; drawn with the first acknowledgement.
    offset: Option<u32>,
    /// Estimated ticks per second of the receiver's clock.
    remote_hz: i64,
    last_remote: u32,
    last_local: u32,
    smoothed: u32,
    least: u32,
    most: u32,
    /// The largest delay of all: `most` stays below it.
    reserve: u32,
}

impl ExactDelays {
    /// Takes a sample: whether it is early congestion.
    fn take(&mut self, delay_s: f64, delta: f64) -> bool {
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.least, self.most) = (Some(delay_s), delay_s, delay_s);
            return false;
        };
        self.least = self.least.min(delay_s);
        self.most = self.most.max(delay_s);
        let smoothed = smoothed + (delay_s - smoothed) / 8.0;
        self.smoothed = Some(smoothed);
        // Unclear in [LP]: how the largest delay is known before the first loss. It is not: until then a flow is Reno.
        self.has_lost && smoothed > self.least + delta * (self.most - self.least)
    }
}

impl TimeStamps {
    const NEW: TimeStamps = TimeStamps {
        offset: None,
        remote_hz: 0,
        last_remote: 0,
        last_local: 0,
        smoothed: 0,
        least: u32::MAX,
        most: 0,
        reserve: 0,
    };

    /// Takes the time stamps of an acknowledgement: whether they are early congestion.
    fn take(&mut self, ack: &AckEvent) -> bool {
        let ms = |ps: u64| (ps / 1_000_000_000) as u32;
        let sent_ps = ack.now.as_ps().saturating_sub(ack.rtt.as_ps());
        let offset = *self.offset.get_or_insert_with(|| (draw(ack.now) * 4_294_967_296.0) as u32);
        let local = ms(sent_ps);
        let remote = ms(sent_ps + ack.one_way.as_ps()).wrapping_add(offset);
        self.estimate_clock(remote, local);
        if let Some(delay) = self.delay(remote, local) {
            self.smooth(delay);
        }
        let range = self.most.wrapping_sub(self.least).wrapping_mul(15) / 100;
        if self.smoothed >> 3 < self.least.wrapping_add(range) {
            return false;
        }
        (self.least, self.most, self.reserve) = (self.smoothed >> 3, self.smoothed >> 2, self.smoothed >> 2);
        true
    }

    /// The receiver's ticks since the last acknowledgement, over the sender's: a smoothed estimate of 1/64, truncated.
    fn estimate_clock(&mut self, remote: u32, local: u32) {
        let (ticks, ms) = (remote.wrapping_sub(self.last_remote), local.wrapping_sub(self.last_local));
        if self.last_remote != 0 && self.last_local != 0 && ticks != 0 && ms != 0 {
            let rate = i64::from(1000_u32.wrapping_mul(ticks) / ms);
            self.remote_hz =
                if self.remote_hz > 0 { self.remote_hz + ((rate - self.remote_hz) >> 6) } else { rate };
        }
        (self.last_remote, self.last_local) = (remote, local);
    }

    /// What an acknowledgement says of the delay. A receiver's clock that seems to run faster than 1 kHz counts as one
    /// that stands still, so that the sender's clock is all that is left.
    fn delay(&self, remote: u32, local: u32) -> Option<u32> {
        let scale = u32::try_from(1000_i64.checked_div(self.remote_hz)?).unwrap_or(0);
        let delay = remote.wrapping_mul(scale).wrapping_sub(local);
        (self.remote_hz > 0 && delay > 0).then_some(delay)
    }

    fn smooth(&mut self, delay: u32) {
        self.least = self.least.min(delay);
        if delay > self.most {
            if delay > self.reserve {
                self.most = if self.reserve == 0 { delay } else { self.reserve };
                self.reserve = delay;
            } else {
                self.most = delay;
            }
        }
        self.smoothed = match self.smoothed {
            0 => delay.wrapping_shl(3),
            smoothed => smoothed.wrapping_add(delay.wrapping_sub(smoothed >> 3)),
        };
    }
}

impl Lp {
    pub(crate) const TITLE: &'static str = "TCP-LP: gives way to other traffic when one-way delays rise";
    pub(crate) const SOURCE: &'static str = "LP";
    pub(crate) const PARAMETERS: &'static [Parameter] = LpParameters::LIST;

    pub(crate) fn new(given: LpParameters) -> Lp {
        let delays = match given.variant {
            LpVariant::Kuzmanovic => Delays::Exact(ExactDelays::default()),
            LpVariant::Linux => Delays::Linux(TimeStamps::NEW),
        };
        Lp { delta: given.delta, delays: Box::new(delays), last: None, infers: false }
    }

    fn saw_loss(&mut self) {
        if let Delays::Exact(delays) = &mut *self.delays {
            delays.has_lost = true;
        }
    }
}

impl Catalogued for Lp {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", LpVariant::Linux.value()));
    const GAUGES: &'static [Gauge] = &[Gauge {
        name: "infers",
        unit: "",
        help: "1 in the three round trips after early congestion, in which the window does not grow",
    }];

    /// Early congestion leaves one packet at the least, from which the window grows as Reno does [LP].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle { rounds: INFERENCE as f64, rounds_per_packet: 1.0, ..ProbeCycle::default() })
    }
}

impl Controller for Lp {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let is_early = match &mut *self.delays {
            Delays::Exact(delays) => {
                let delay_s = ack.one_way.as_secs();
                delays.take(delay_s, self.delta) && !ack.recovering
            }
            Delays::Linux(stamps) => stamps.take(ack),
        };
        self.infers = self.last.is_some_and(|last| ack.now.since(last) < ack.rtt * INFERENCE);
        if !is_early {
            return;
        }
        window.cwnd = if self.infers { 1.0 } else { (window.cwnd / 2.0).max(1.0) };
        // Unclear in [LP]: the slow-start threshold. The window is left as by congestion avoidance; in [LINUX] the
        // threshold stays, so that slow start leads back to it.
        if let Delays::Exact(_) = *self.delays {
            window.ssthresh = window.ssthresh.min(window.cwnd.max(2.0));
        }
        (self.last, self.infers) = (Some(ack.now), true);
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        if !self.infers {
            window.cwnd += ack.packets.min(2.0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if !self.infers {
            window.cwnd += ack.packets / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        self.saw_loss();
        window.give_up(0.5);
    }

    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        self.saw_loss();
        window.start_over();
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(f64::from(self.infers));
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Settings, Span};

    use super::*;
    use crate::test_support::{CONGESTION, ack, acknowledge, avoidance};

    fn lp(variant: LpVariant) -> Lp {
        Lp::new((&Settings::defaults(Lp::PARAMETERS).with("variant", variant.value())).into())
    }

    /// An acknowledgement at `now_ms` whose packet took `one_way_ms`, of a round trip of 100 ms.
    fn arrive(flow: &mut Lp, window: &mut Window, now_ms: u64, one_way_ms: u64) {
        let now = Time::ZERO + Span::from_ms(now_ms);
        let event = AckEvent { now, one_way: Span::from_ms(one_way_ms), ..ack(Span::from_ms(100)) };
        acknowledge(flow, window, &event);
    }

    /// Delays of 50 to 100 ms are known. Smoothed by 1/8 from 50 ms, samples of 80 ms give 53.75 and 57.03, below
    /// 50 + 0.15 x 50 = 57.5, and 59.90 above it. 40 packets become 20, and one if it happens again within 300 ms.
    #[test]
    fn early_congestion_halves_and_leaves_one_packet_when_it_lasts() {
        let (mut flow, mut window) = (lp(LpVariant::Kuzmanovic), avoidance(40.0));
        arrive(&mut flow, &mut window, 1000, 50);
        let Delays::Exact(delays) = &mut *flow.delays else { panic!("the delays are exact") };
        (delays.most, delays.has_lost) = (0.1, true);
        window.cwnd = 40.0;
        let after = [1010, 1020, 1030, 1200].map(|now_ms| {
            arrive(&mut flow, &mut window, now_ms, 80);
            window.cwnd.floor()
        });
        assert_eq!(after, [40.0, 40.0, 20.0, 1.0]);
    }

    #[test]
    fn for_three_round_trips_after_early_congestion_it_does_not_grow() {
        let mut flow = lp(LpVariant::Kuzmanovic);
        flow.last = Some(Time::ZERO + Span::from_ms(1000));
        let mut window = avoidance(20.0);
        arrive(&mut flow, &mut window, 1299, 50);
        assert_eq!(window.cwnd, 20.0);
        arrive(&mut flow, &mut window, 1300, 50);
        assert_eq!(window.cwnd, 20.05);
    }

    /// However long the queue, until a loss has shown the largest delay.
    #[test]
    fn before_a_loss_it_is_reno() {
        let (mut flow, mut window) = (lp(LpVariant::Kuzmanovic), avoidance(40.0));
        (50..90).for_each(|ms| arrive(&mut flow, &mut window, 1000 + ms, ms));
        assert!(window.cwnd > 40.9);
        flow.on_congestion(&mut window, &CONGESTION);
        arrive(&mut flow, &mut window, 1500, 90);
        assert!(window.cwnd < 20.0, "half by the loss, and half by the queue");
    }

    /// Two acknowledgements at 10 ms whose packets came 20 ms apart: 2000 ticks a second. The estimate is then above
    /// 1000, and 1000 / 2000 is 0 in whole numbers.
    #[test]
    fn in_linux_a_receiver_that_seems_fast_has_no_clock() {
        let mut stamps = TimeStamps { remote_hz: 0, last_remote: 500, last_local: 100, ..TimeStamps::NEW };
        stamps.estimate_clock(520, 110);
        assert_eq!((stamps.remote_hz, stamps.delay(520, 110)), (2000, Some(0_u32.wrapping_sub(110))));
        stamps.estimate_clock(530, 120);
        assert_eq!(stamps.remote_hz, 1984, "2000 - 1000 / 64, rounded down to 16");
    }

    /// The eightfold of a delay of 2^29 ms does not fit: such a flow never sees a delay above its smallest.
    #[test]
    fn in_linux_seven_of_eight_offsets_of_the_clock_leave_reno() {
        let sees = |offset: u32| {
            let mut stamps = TimeStamps { offset: Some(offset), ..TimeStamps::NEW };
            (0..400).any(|ms| {
                let now = Time::ZERO + Span::from_ms(1000 + 10 * ms);
                let one_way = Span::from_ms(50 + if ms < 200 { 0 } else { ms });
                stamps.take(&AckEvent { now, one_way, ..ack(Span::from_ms(100)) })
            })
        };
        assert_eq!([1 << 28, 1 << 29, 1 << 30, 7 << 29].map(sees), [true, false, false, false]);
    }
}
