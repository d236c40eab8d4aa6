//! TCP Veno [VENO]: as Reno, but slower where a queue builds up, and with a smaller reduction after a loss without a queue.
//!
//! The packets in queues are estimated as in Vegas. Fewer than `beta`: a loss is taken to be random, and takes a fifth.
//! More: a loss takes half, and the window grows by one packet in every second round trip only.

use fairhaul_units::{Gauge, Parameter, Span, Time, parameters, words};

use crate::round::Rounds;
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// TCP Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    variant: VenoVariant,
    beta: f64,
    random_loss: f64,
    rounds: Box<Rounds>,
    base: Span,
    /// Samples so far, of which Linux wants more than two.
    samples: u32,
    /// Own packets in queues.
    backlog: f64,
}

words! {
    /// Whose rule it is.
    enum VenoVariant {
        Fu = "fu",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of TCP Veno.
    pub(crate) struct VenoParameters {
        variant: Word(VenoVariant) = VenoVariant::Fu,
            "fu: as published, by the smallest round-trip time of a round; linux: as in Linux, by that of each \
             acknowledgement [VENO]";
        beta: Number(0.0..=1e6, "packets") = 3.0,
            "from this number of own packets in queues on a loss counts as congestion [VENO]";
        random_loss: Number(0.0..=0.9) = 0.2,
            "fraction of the window given up at a loss without a queue [VENO]";
    }
}

/// Longer than any round-trip time.
const FOREVER: Span = Span::from_ps(u64::MAX);

impl Veno {
    pub(crate) const TITLE: &'static str = "TCP Veno: as Reno, and reduces less after a loss without a queue";
    pub(crate) const SOURCE: &'static str = "VENO";
    pub(crate) const PARAMETERS: &'static [Parameter] = VenoParameters::LIST;

    pub(crate) fn new(given: VenoParameters) -> Veno {
        Veno {
            variant: given.variant,
            beta: given.beta,
            random_loss: given.random_loss,
            rounds: Box::default(),
            base: FOREVER,
            samples: 0,
            backlog: 0.0,
        }
    }

    /// Linux estimates the queue with each acknowledgement that may let the window grow: its smallest round-trip time is
    /// forgotten each time. In halves of packets, rounded up.
    fn estimate_as_linux(&mut self, window: &Window, ack: &AckEvent) {
        if self.variant == VenoVariant::Linux && !ack.recovering && self.samples > 2 {
            let halves = 2.0 * window.cwnd.floor();
            let carried = (halves * self.base.as_ps() as f64 / ack.rtt.as_ps() as f64).floor();
            self.backlog = (halves - carried) / 2.0;
        }
    }

    /// The share that a loss takes.
    fn decrease(&self) -> f64 {
        if self.backlog < self.beta { self.random_loss } else { 0.5 }
    }
}

impl Catalogued for Veno {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", VenoVariant::Linux.value()));
    const GAUGES: &'static [Gauge] =
        &[Gauge { name: "backlog_packets", unit: "packets", help: "own packets in queues" }];
}

impl Controller for Veno {
    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        self.samples = self.samples.saturating_add(1);
        match self.variant {
            VenoVariant::Linux => self.base = self.base.min(ack.rtt),
            // Unclear in [VENO]: which round-trip time of a round is compared. The smallest, as in Vegas.
            VenoVariant::Fu => {
                if let Some(round) = self.rounds.take(ack).filter(|_| !ack.recovering) {
                    self.backlog = round.backlog(window.cwnd, ack.min_rtt);
                }
            }
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        self.estimate_as_linux(window, ack);
        window.cwnd += ack.packets.min(2.0);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.estimate_as_linux(window, ack);
        let is_free = self.backlog < self.beta || ack.recovering;
        window.cwnd += match self.variant {
            _ if is_free => ack.packets / window.cwnd,
            VenoVariant::Fu => ack.packets / (2.0 * window.cwnd),
            // The acknowledgement that finds the count complete is not counted itself.
            VenoVariant::Linux => ack.packets / (2.0 * (window.cwnd + ack.packets)),
        };
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(self.decrease());
    }

    // Unclear in [VENO]: whether a timeout, too, keeps four fifths. The slow-start threshold is the window that a loss
    // would have left, as in [LINUX].
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(self.decrease());
        window.cwnd = 1.0;
    }

    fn on_recovered(&mut self, _: &mut Window, _: Time) {
        self.rounds.restart();
    }

    /// In Linux a restart from idle forgets the base (tcp_veno_cwnd_event).
    fn on_idle_end(&mut self, _: &mut Window, _: Time, _: Span) {
        self.rounds.restart();
        if self.variant == VenoVariant::Linux {
            self.base = FOREVER;
        }
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(self.backlog);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Settings;

    use super::*;
    use crate::test_support::{CONGESTION, ack, acknowledge, avoidance, close, mean_window};

    fn veno(variant: VenoVariant) -> Veno {
        Veno::new((&Settings::defaults(Veno::PARAMETERS).with("variant", variant.value())).into())
    }

    /// Two rounds of 40 packets, of which the second takes `rtt_ms` on a path of 100 ms.
    fn two_rounds(flow: &mut Veno, window: &mut Window, rtt_ms: u64) {
        for number in 0..82 {
            let rtt = Span::from_ms(if number <= 40 { 100 } else { rtt_ms });
            let new_round = number % 41 == 0 || number == 81;
            acknowledge(flow, window, &AckEvent { new_round, min_rtt: Span::from_ms(100), ..ack(rtt) });
            window.cwnd = 40.0;
        }
    }

    /// 40 packets at 106 ms: 40 x 6 / 106 = 2.26 wait; at 107 ms 2.62, at 109 ms 3.30. In Linux, in halves of packets,
    /// rounded up: 2.5, 3.0 and 3.5.
    #[test]
    fn a_loss_takes_a_fifth_below_three_packets_queued_and_half_above() {
        for (variant, kept) in
            [(VenoVariant::Fu, [32.0, 32.0, 20.0]), (VenoVariant::Linux, [32.0, 20.0, 20.0])]
        {
            let left = [106, 107, 109].map(|rtt_ms| {
                let (mut flow, mut window) = (veno(variant), avoidance(40.0));
                two_rounds(&mut flow, &mut window, rtt_ms);
                flow.on_congestion(&mut window, &CONGESTION);
                window.cwnd
            });
            assert_eq!(left, kept);
        }
    }

    #[test]
    fn with_a_queue_the_window_grows_by_one_in_two_rounds() {
        let (mut flow, mut window) = (veno(VenoVariant::Fu), avoidance(100.0));
        flow.backlog = 3.0;
        for _ in 0..200 {
            flow.on_ack(&mut window, &ack(Span::from_ms(100)));
        }
        close(window.cwnd, 101.0, 0.001);
    }

    /// Without a queue it is AIMD with a = 1 and b = 0.2: sqrt(1.8 / (0.4 p)) = 2.12 / sqrt(p).
    #[test]
    fn random_loss_without_a_queue_gives_2_12_by_root_p() {
        for p in [1e-3, 1e-4] {
            close(mean_window(&mut veno(VenoVariant::Fu), p, 0.1), (4.5 / p).sqrt(), 0.02);
        }
    }

    #[test]
    fn in_linux_a_restart_forgets_the_base() {
        let mut flow = veno(VenoVariant::Linux);
        flow.on_delivery(&mut avoidance(10.0), &ack(Span::from_ms(100)));
        flow.on_idle_end(&mut avoidance(10.0), Time::ZERO, Span::from_ms(1000));
        flow.on_delivery(&mut avoidance(10.0), &ack(Span::from_ms(150)));
        assert_eq!(flow.base, Span::from_ms(150));
    }
}
