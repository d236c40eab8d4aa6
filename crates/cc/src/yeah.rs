//! YeAH-TCP [YEAH]: grows as Scalable TCP until a queue builds up, then as Reno, and empties the queue by itself.
//!
//! Once in a round the packets in queues are estimated as in Vegas. Little delay: the fast mode, where the window grows
//! as that of Scalable TCP. Much delay: the slow mode, where it grows as Reno's, and gives up the queue if that is more
//! than `alpha` packets. A loss takes the queue, where no other flow seems to need half of the window.

use fairhaul_units::{Gauge, Parameter, Settings, Span, Time, parameters, words};

use crate::round::{Round, Rounds};
use crate::{AckEvent, Catalogued, Congestion, Controller, ProbeCycle, Window};

/// YeAH-TCP.
#[derive(Clone, Debug)]
pub struct Yeah {
    parameters: Box<YeahParameters>,
    state: Box<State>,
}

/// What it has learnt of the path.
#[derive(Clone, Debug)]
struct State {
    rounds: Rounds,
    /// The last round that is over and has not been judged.
    closed: Option<Round>,
    base: Span,
    /// Own packets in queues, by the last round.
    backlog: f64,
    /// Rounds in the slow mode without a break.
    slow_rounds: u64,
    /// Rounds in the fast mode since a loss.
    fast_rounds: u64,
    /// The window that Reno would have beside other flows: the queue is not given up below it.
    reno: f64,
}

words! {
    /// Whose rule it is.
    enum YeahVariant {
        Baiocchi = "baiocchi",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of YeAH-TCP.
    pub(crate) struct YeahParameters {
        variant: Word(YeahVariant) = YeahVariant::Baiocchi,
            "baiocchi: as published; linux: as in Linux, in whole packets [YEAH]";
        alpha: Number(0.0..=1e6, "packets") = 80.0,
            "above this number of own packets in queues the window is reduced to empty them [YEAH]";
        phi: Number(0.01..=1e6) = 8.0,
            "the slow mode begins at a queueing delay of the minimum round-trip time divided by this [YEAH]";
        gamma: Number(1.0..=1e6) = 1.0,
            "the queue divided by this is given up per round trip, at most half of the window [YEAH]";
        rho: Whole(0..=1_000_000) = 16,
            "rounds of the slow mode in a row after which a loss takes half of the window [YEAH]";
        zeta: Whole(0..=1_000_000) = 50,
            "rounds of the fast mode since a loss after which other flows are taken to be gone [YEAH]";
    }
}

/// What a packet adds in the fast mode, as in Scalable TCP; below the inverse the window grows as in slow start.
const SCALABLE: f64 = 100.0;
/// Longer than any round-trip time.
const FOREVER: Span = Span::from_ps(u64::MAX);
/// The smallest share that a loss takes.
const LEAST_CUT: f64 = 0.125;

impl Yeah {
    pub(crate) const TITLE: &'static str = "YeAH-TCP: grows as Scalable TCP until a queue builds up, then as \
                                            Reno";
    pub(crate) const SOURCE: &'static str = "YEAH";
    pub(crate) const PARAMETERS: &'static [Parameter] = YeahParameters::LIST;

    pub(crate) fn new(given: YeahParameters) -> Yeah {
        let state = State {
            rounds: Rounds::default(),
            closed: None,
            base: FOREVER,
            backlog: 0.0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno: 2.0,
        };
        Yeah { parameters: Box::new(given), state: Box::new(state) }
    }

    /// Whole packets in Linux.
    fn whole(&self, packets: f64) -> f64 {
        match self.parameters.variant {
            YeahVariant::Baiocchi => packets,
            YeahVariant::Linux => packets.floor(),
        }
    }

    /// Judges a round that is over, after the window has grown.
    fn judge(&mut self, window: &mut Window) {
        let Some(round) = self.state.closed.take() else { return };
        // Two samples may both be of delayed acknowledgements.
        if self.parameters.variant == YeahVariant::Linux && round.samples <= 2.0 {
            return;
        }
        let cwnd = self.whole(window.cwnd);
        let (base, least) = (self.state.base, round.least.max(self.state.base));
        let backlog = self.whole(cwnd * (1.0 - base.as_secs() / least.as_secs()));
        let is_long = backlog > self.parameters.alpha;
        let delay_s = least.saturating_sub(base).as_secs();
        if is_long || delay_s > base.as_secs() / self.parameters.phi {
            if is_long && cwnd > self.state.reno {
                let given_up = self.whole(backlog / self.parameters.gamma).min(self.whole(cwnd / 2.0));
                window.reduce_to((cwnd - given_up).max(self.state.reno));
            }
            let half = self.whole(window.cwnd / 2.0).max(2.0);
            self.state.reno = if self.state.reno <= 2.0 { half } else { self.state.reno + 1.0 };
            self.state.slow_rounds += 1;
        } else {
            self.state.fast_rounds += 1;
            if self.state.fast_rounds > self.parameters.zeta {
                (self.state.reno, self.state.fast_rounds) = (2.0, 0);
            }
            self.state.slow_rounds = 0;
        }
        self.state.backlog = backlog;
    }

    /// What a loss leaves of the window.
    fn left(&self, cwnd: f64) -> f64 {
        let half = self.whole(cwnd / 2.0).max(2.0);
        let cut = if self.state.slow_rounds < self.parameters.rho {
            self.state.backlog.min(half).max(self.whole(cwnd * LEAST_CUT))
        } else {
            half
        };
        cwnd - cut
    }

    /// A loss: other flows may be there, and the window of Reno beside them is halved.
    fn reduce(&mut self, window: &mut Window) {
        window.reduce_to(self.left(window.cwnd));
        self.state.fast_rounds = 0;
        self.state.reno = self.whole(self.state.reno / 2.0).max(2.0);
    }
}

impl Catalogued for Yeah {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", YeahVariant::Linux.value()));
    const GAUGES: &'static [Gauge] = &[
        Gauge {
            name: "backlog_packets",
            unit: "packets",
            help: "own packets in queues, by the last round trip",
        },
        Gauge { name: "slow_rounds", unit: "", help: "rounds of the slow mode in a row; 0 in the fast mode" },
    ];

    /// Reductions for a queue leave at least half of the window, which then grows at least as Reno does [YEAH].
    fn probe_cycle(_: &Settings) -> Option<ProbeCycle> {
        Some(ProbeCycle::HALF_WINDOW)
    }
}

impl Controller for Yeah {
    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        self.state.base = match self.parameters.variant {
            YeahVariant::Baiocchi => ack.min_rtt,
            YeahVariant::Linux => self.state.base.min(ack.rtt),
        };
        if let Some(round) = self.state.rounds.take(ack).filter(|_| !ack.recovering) {
            self.state.closed = Some(round);
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets.min(2.0);
        self.judge(window);
    }

    // Differs from [YEAH]: what a packet adds is at most one packet, also below 100 packets, where 1 % of the window
    // is less than Reno adds. The step is the smaller one of 100 and the window, as in [LINUX].
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let is_fast = self.state.slow_rounds == 0;
        let packets_per_step = if is_fast { window.cwnd.min(SCALABLE) } else { window.cwnd };
        window.cwnd += ack.packets / packets_per_step;
        self.judge(window);
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        self.reduce(window);
    }

    // Unclear in [YEAH]: what a timeout does. The slow-start threshold is the window that a loss would have left, as in
    // [LINUX].
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        self.reduce(window);
        window.cwnd = 1.0;
    }

    fn on_recovered(&mut self, _: &mut Window, _: Time) {
        self.state.rounds.restart();
    }

    /// In Linux a restart from idle forgets the base (tcp_vegas_cwnd_event).
    fn on_idle_end(&mut self, _: &mut Window, _: Time, _: Span) {
        self.state.rounds.restart();
        if self.parameters.variant == YeahVariant::Linux {
            self.state.base = FOREVER;
        }
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.extend([self.state.backlog, self.state.slow_rounds as f64]);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Settings;

    use super::*;
    use crate::test_support::{CONGESTION, SharedPath, ack, acknowledge, avoidance, close};

    fn yeah(variant: YeahVariant) -> Yeah {
        Yeah::new((&Settings::defaults(Yeah::PARAMETERS).with("variant", variant.value())).into())
    }

    /// A round of acknowledgements at `rtt_ms` on a path of 100 ms, and the first one of the next.
    fn round(flow: &mut Yeah, window: &mut Window, rtt_ms: u64) {
        flow.state.base = Span::from_ms(100);
        for number in 0..5 {
            let event = AckEvent {
                new_round: number == 0 || number == 4,
                min_rtt: Span::from_ms(100),
                ..ack(Span::from_ms(rtt_ms))
            };
            acknowledge(flow, window, &event);
        }
        flow.state.rounds.restart();
    }

    /// 1 % for each packet in the fast mode: 1000 packets add 10; Reno adds one.
    #[test]
    fn a_round_adds_a_hundredth_without_a_queue_and_one_packet_with_one() {
        for (rtt_ms, added) in [(112, 10.0), (113, 1.0)] {
            let (mut flow, mut window) = (yeah(YeahVariant::Baiocchi), avoidance(1000.0));
            round(&mut flow, &mut window, rtt_ms);
            window.cwnd = 1000.0;
            // 112 ms: 107 packets wait, which are given up at once; the mode is that of the delay alone.
            flow.state.slow_rounds = u64::from(rtt_ms > 112);
            for _ in 0..1000 {
                flow.on_ack(&mut window, &ack(Span::from_ms(rtt_ms)));
            }
            close(window.cwnd - 1000.0, added, 0.01);
        }
    }

    /// Of 1000 packets at 120 ms 1000 x 20 / 120 = 166.7 wait, more than 80: they go. Of 400 66.7 wait: they stay, but
    /// the delay is more than an eighth.
    #[test]
    fn a_queue_above_alpha_is_given_up() {
        let (mut flow, mut window) = (yeah(YeahVariant::Linux), avoidance(1000.0));
        round(&mut flow, &mut window, 120);
        assert_eq!((window.cwnd.floor(), window.ssthresh), (834.0, 834.0));
        let (mut flow, mut window) = (yeah(YeahVariant::Linux), avoidance(400.0));
        round(&mut flow, &mut window, 120);
        assert_eq!((window.cwnd.floor(), flow.state.slow_rounds, flow.state.reno), (400.0, 1, 200.0));
    }

    /// 1000 packets of which 66 waited: 1000 / 8 = 125 go. After 16 rounds of the slow mode half of them.
    #[test]
    fn a_loss_takes_the_queue_at_least_an_eighth_and_half_beside_others() {
        for (slow_rounds, backlog, left) in
            [(0, 66.0, 875.0), (15, 300.0, 700.0), (15, 900.0, 500.0), (16, 66.0, 500.0)]
        {
            let (mut flow, mut window) = (yeah(YeahVariant::Linux), avoidance(1000.0));
            (flow.state.slow_rounds, flow.state.backlog) = (slow_rounds, backlog);
            flow.on_congestion(&mut window, &CONGESTION);
            assert_eq!(window, Window { cwnd: left, ssthresh: left });
        }
    }

    /// The published aim: at most `alpha` packets wait, and the path stays full.
    #[test]
    fn alone_it_keeps_fewer_than_alpha_packets_queued_and_the_path_full() {
        let mut flows = [(yeah(YeahVariant::Baiocchi), avoidance(900.0))];
        let mut path = SharedPath::new(Span::from_ms(100), 10_000.0);
        let queued: Vec<f64> = (0..300).map(|_| path.round(&mut flows)).collect();
        let later = &queued[100..];
        assert!(later.iter().all(|&packets| packets < 120.0), "{later:?}");
        assert!(flows[0].1.cwnd > 990.0);
    }

    #[test]
    fn in_linux_a_restart_forgets_the_base() {
        let mut flow = yeah(YeahVariant::Linux);
        flow.state.base = Span::from_ms(100);
        flow.on_idle_end(&mut avoidance(10.0), Time::ZERO, Span::from_ms(1000));
        flow.on_delivery(&mut avoidance(10.0), &ack(Span::from_ms(150)));
        assert_eq!(flow.state.base, Span::from_ms(150));
    }
}
