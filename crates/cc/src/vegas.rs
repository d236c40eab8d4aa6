//! TCP Vegas [VEGAS]: keeps a few of its packets in the queue, and finds its rate without losses.
//!
//! Once in a round the window is compared with what the path carried: the difference is what waits
//! in queues. Fewer than alpha packets: one packet more. More than beta: one less.

use fairhaul_units::{Gauge, Parameter, Settings, Span, Time, parameters, words};

use crate::round::{Round, Rounds};
use crate::{AckEvent, Catalogued, Congestion, Controller, ProbeCycle, Window};

/// TCP Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    variant: VegasVariant,
    alpha: f64,
    beta: f64,
    gamma: f64,
    decrease: f64,
    rounds: Box<Rounds>,
    /// In slow start: whether the window grows in this round. After it: whether one packet more is
    /// due.
    grows: bool,
    /// Own packets in queues at the end of the last round; not a number before there is one.
    backlog: f64,
}

words! {
    /// Whose rule it is.
    enum VegasVariant {
        Brakmo = "brakmo",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of Vegas.
    pub(crate) struct VegasParameters {
        variant: Word(VegasVariant) = VegasVariant::Brakmo,
            "brakmo: as published, where slow start grows every other round trip; linux: as in Linux [VEGAS]";
        alpha: Number(0.0..=1e6, "packets") = 2.0,
            "below this number of own packets in queues the window grows; the paper also uses 1 [LINUX]";
        beta: Number(0.0..=1e6, "packets") = 4.0,
            "above this number of own packets in queues the window shrinks; the paper also uses 3 [LINUX]";
        gamma: Number(0.0..=1e6, "packets") = 1.0,
            "above this number of own packets in queues slow start ends [VEGAS]";
        b: Number(0.0..=0.9) = 0.5, "fraction of the window given up at a loss; 0.25 in ns-2 [LINUX]";
    }
}

impl Vegas {
    pub(crate) const TITLE: &'static str = "TCP Vegas: keeps a few packets in the queue, estimated from the \
                                            delay";
    pub(crate) const SOURCE: &'static str = "VEGAS";
    pub(crate) const PARAMETERS: &'static [Parameter] = VegasParameters::LIST;

    pub(crate) fn new(given: VegasParameters) -> Vegas {
        Vegas {
            variant: given.variant,
            alpha: given.alpha,
            beta: given.beta,
            gamma: given.gamma,
            decrease: given.b,
            rounds: Box::default(),
            grows: false,
            backlog: f64::NAN,
        }
    }

    /// Takes the packets in queues.
    fn take_backlog(&mut self, window: &Window, round: &Round, ack: &AckEvent) {
        self.backlog = match self.variant {
            VegasVariant::Brakmo => round.backlog(window.cwnd, ack.min_rtt),
            // Differs from [VEGAS], as newer kernels of [LINUX] do: the difference is divided by the base
            // round-trip time, which gives more, and truncated to whole packets. So more than beta means at
            // least beta + 1.
            VegasVariant::Linux => {
                let queueing = round.least.saturating_sub(ack.min_rtt);
                (window.cwnd.floor() * queueing.as_ps() as f64 / ack.min_rtt.as_ps() as f64).floor()
            }
        };
    }

    /// A round of slow start is over: whether the next grows, or slow start ends.
    fn slow_start_round(&mut self, window: &mut Window, round: &Round, ack: &AckEvent) {
        let ends = self.backlog > self.gamma;
        match self.variant {
            // A round in which the window grew says nothing of either window: none is compared.
            VegasVariant::Brakmo if self.grows => self.grows = false,
            // Unclear in [VEGAS]: the window that slow start leaves when it ends. It is reduced by an eighth,
            // as in [NS-2].
            VegasVariant::Brakmo if ends => window.lower_to(window.cwnd * 0.875),
            VegasVariant::Linux if ends => {
                // What the path carried in a base round trip in whole packets, and one for what was cut off.
                let base = ack.min_rtt.as_ps() as f64;
                window.lower_to((window.cwnd.floor() * base / round.least.as_ps() as f64).floor() + 1.0);
            }
            VegasVariant::Brakmo | VegasVariant::Linux => self.grows = true,
        }
    }

    /// A round of congestion avoidance is over.
    fn round(&mut self, window: &mut Window, round: &Round) {
        let too_few_samples = match self.variant {
            VegasVariant::Brakmo => false,
            // Two samples may both be of delayed acknowledgements: the window grows as in Reno.
            VegasVariant::Linux => round.samples <= 2.0,
        };
        let backlog = if too_few_samples { 0.0 } else { self.backlog };
        self.grows = too_few_samples || backlog < self.alpha;
        if backlog > self.beta {
            window.lower_to(window.cwnd - 1.0);
        }
    }
}

impl Catalogued for Vegas {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", VegasVariant::Linux.value()));
    const GAUGES: &'static [Gauge] = &[Gauge {
        name: "backlog_packets",
        unit: "packets",
        help: "own packets in queues, by the last round trip",
    }];

    /// A round trip moves the window by one packet [VEGAS].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle::HALF_WINDOW)
    }
}

impl Controller for Vegas {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        let Some(round) = self.rounds.take(ack).filter(|_| !ack.recovering) else {
            return;
        };
        self.take_backlog(window, &round, ack);
        if window.in_slow_start() {
            self.slow_start_round(window, &round, ack);
        } else {
            self.round(window, &round);
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        // Unclear in [VEGAS]: slow start after a timeout, whose acknowledgements are partly for older packets.
        // The window grows in every round until all losses are repaired.
        let every_round = match self.variant {
            VegasVariant::Brakmo => false,
            VegasVariant::Linux => true,
        };
        if self.grows || ack.recovering || every_round {
            window.cwnd += ack.packets.min(2.0);
        }
        self.grows &= window.in_slow_start();
    }

    fn on_ack(&mut self, window: &mut Window, _: &AckEvent) {
        if std::mem::take(&mut self.grows) {
            window.cwnd += 1.0;
        }
    }

    // Unclear in [VEGAS]: the share of the window that a loss takes. Half, as in [LINUX].
    // Differs from [VEGAS]: Vegas also retransmits upon the first duplicate acknowledgement, by its own timer.
    // Here recovery belongs to the sender and is the same for all controllers.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(self.decrease);
        self.grows = false;
    }

    fn on_recovered(&mut self, _: &mut Window, _: Time) {
        self.rounds.restart();
    }

    /// A round in which nothing was in flight is none (tcp_vegas_cwnd_event).
    fn on_idle_end(&mut self, _: &mut Window, _: Time, _: Span) {
        self.rounds.restart();
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(self.backlog);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Settings, Span};

    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, acknowledge, avoidance};

    fn settings() -> Settings {
        Settings::defaults(Vegas::PARAMETERS)
    }

    fn linux() -> Settings {
        settings().with("variant", VegasVariant::Linux.value())
    }

    /// The window after a round at `rtt_ms` on a path of 100 ms.
    fn after_a_round(settings: &Settings, window: Window, rtt_ms: u64) -> Window {
        after_a_round_at(settings, window, Span::from_ms(rtt_ms))
    }

    fn after_a_round_at(settings: &Settings, mut window: Window, rtt: Span) -> Window {
        let mut vegas = Vegas::new(settings.into());
        let event = AckEvent { min_rtt: Span::from_ms(100), ..ack(rtt) };
        for number in 0..4 {
            let event = AckEvent { new_round: number % 3 == 0, ..event };
            acknowledge(&mut vegas, &mut window, &event);
        }
        window
    }

    /// 40 packets at 100 and 105 ms: 40 x 5 / 105 = 1.90 are queued; at 110 ms 3.64; at 112 ms 4.29.
    #[test]
    fn between_alpha_and_beta_the_window_stands() {
        let grown = |rtt_ms| after_a_round(&settings(), avoidance(40.0), rtt_ms).cwnd;
        assert_eq!([100, 105, 110, 112].map(grown), [41.0, 41.0, 40.0, 39.0]);
    }

    /// At 114 ms 40 x 14 / 114 = 4.91 by the paper, 40 x 14 / 100 = 5.6 by Linux; at 105 ms 1.90 and
    /// 2.0.
    #[test]
    fn linux_divides_by_the_base() {
        assert_eq!(after_a_round(&settings(), avoidance(40.0), 105).cwnd, 41.0);
        assert_eq!(after_a_round(&linux(), avoidance(40.0), 105).cwnd, 40.0);
        let paper = settings().with("beta", 5.0);
        assert_eq!(after_a_round(&paper, avoidance(40.0), 114).cwnd, 40.0);
        assert_eq!(after_a_round(&linux(), avoidance(40.0), 114).cwnd, 39.0);
    }

    /// 40 packets at 100 ms: 4.0 at 110 ms, 4.96 at 112.4 ms, 5.0 at 112.5 ms, of which 4 and 4 are no
    /// more than beta. And the kernel's own function leaves 304 packets at 101.333 ms, 4.05 queued.
    #[test]
    fn linux_shrinks_from_five_packets_queued_on() {
        let left = |cwnd, rtt_us| after_a_round_at(&linux(), avoidance(cwnd), Span::from_us(rtt_us)).cwnd;
        assert_eq!([110_000, 112_400, 112_500].map(|rtt_us| left(40.0, rtt_us)), [40.0, 40.0, 39.0]);
        assert_eq!(left(304.0, 101_333), 304.0);
    }

    /// The window grows by three within a round that begins with 8: 11 x 18 / 100 = 1.98 at 118 ms, 2.09
    /// at 119.
    #[test]
    fn linux_leaves_slow_start_at_two_packets_queued() {
        let slow = Window { cwnd: 8.0, ssthresh: 1e9 };
        assert_eq!(after_a_round(&linux(), slow, 118).ssthresh, 1e9);
        let left = after_a_round(&linux(), slow, 119);
        assert_eq!(left, Window { cwnd: 10.0, ssthresh: 10.0 }, "floor(11 / 1.19) + 1");
    }

    #[test]
    fn giving_up_a_packet_does_not_begin_a_slow_start() {
        let window = Window { cwnd: 40.0, ssthresh: 40.0 };
        let after = after_a_round(&settings(), window, 200);
        assert_eq!(after, Window { cwnd: 39.0, ssthresh: 39.0 });
    }

    /// 8 packets of a path of 100 ms, held for a round: at 120 ms 8 x 20 / 120 = 1.33 are queued.
    #[test]
    fn slow_start_leaves_an_eighth_or_what_is_queued_when_it_ends() {
        let slow = Window { cwnd: 8.0, ssthresh: 1e9 };
        assert_eq!(after_a_round(&settings(), slow, 120), Window { cwnd: 7.0, ssthresh: 7.0 });
        // Linux grows by three within the round: of 11 packets the path carried 11 x 100 / 120 = 9.2.
        assert_eq!(after_a_round(&linux(), slow, 120), Window { cwnd: 10.0, ssthresh: 10.0 });
    }

    #[test]
    fn slow_start_doubles_in_every_other_round() {
        let mut flows = [(Vegas::new((&settings()).into()), Window { cwnd: 2.0, ssthresh: 1e9 })];
        let mut path = SharedPath::new(Span::from_ms(100), 1e6);
        let windows = [(); 7].map(|()| {
            path.round(&mut flows);
            flows[0].1.cwnd
        });
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0]);
    }

    /// Each flow keeps from alpha to beta packets queued: 2 to 4, and three of them 6 to 12.
    #[test]
    fn every_flow_keeps_between_alpha_and_beta_packets_queued() {
        for (alpha, beta) in [(2.0, 4.0), (1.0, 3.0)] {
            for number in [1, 3] {
                let chosen = settings().with("alpha", alpha).with("beta", beta);
                let flow = (Vegas::new((&chosen).into()), avoidance(10.0));
                let mut flows = vec![flow; number];
                let mut path = SharedPath::new(Span::from_ms(50), 2000.0);
                let queued = (0..200).map(|_| path.round(&mut flows)).last().unwrap();
                let flows = number as f64;
                assert!(queued >= alpha * flows && queued <= beta * flows, "{queued} of {flows} flows");
            }
        }
    }

    #[test]
    fn a_loss_takes_half_or_what_b_says() {
        let after = |settings: &Settings| {
            let mut window = avoidance(100.0);
            Vegas::new(settings.into()).on_congestion(&mut window, &CONGESTION);
            window.cwnd
        };
        assert_eq!(after(&settings()), 50.0);
        assert_eq!(after(&settings().with("b", 0.25)), 75.0);
    }

    /// Two samples at 200 ms would be 20 packets queued of 40; Linux does not believe them.
    #[test]
    fn linux_does_not_believe_two_samples() {
        let mut vegas = Vegas::new((&linux()).into());
        let mut window = avoidance(40.0);
        let event = AckEvent { min_rtt: Span::from_ms(100), ..ack(Span::from_ms(200)) };
        for number in 0..3 {
            acknowledge(&mut vegas, &mut window, &AckEvent { new_round: number != 1, ..event });
        }
        assert_eq!(window.cwnd, 41.0);
    }
}
