//! TCP Hybla [HYBLA]: grows as a connection with a round-trip time of 25 ms, so that satellites do not slow it down.
//!
//! rho is the round-trip time divided by that of the reference. In slow start a packet delivered adds 2^rho - 1 packets,
//! then rho^2 / w: in a second the window grows as that of the reference, times rho. Losses are those of Reno.

use fairhaul_units::{Gauge, Parameter, Span, parameters, words};

use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// TCP Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    variant: HyblaVariant,
    reference: Span,
    /// The round-trip time over that of the reference, at least one.
    rho: f64,
    /// The smallest smoothed round-trip time.
    least: Span,
    /// What Linux has earned of the next packet, in parts of 128, and acknowledgements that earned nothing.
    earned: u32,
    idle_acks: u32,
}

words! {
    /// Whose rule it is.
    enum HyblaVariant {
        Caini = "caini",
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of TCP Hybla.
    pub(crate) struct HyblaParameters {
        variant: Word(HyblaVariant) = HyblaVariant::Caini,
            "caini: as published; linux: as in Linux, in fixed point and by acknowledgement [HYBLA]";
        rtt0: Milliseconds(0.001..=10_000.0) = 25.0, "round-trip time of the reference connection [HYBLA]";
    }
}

/// No acknowledgement adds more than 2^16 packets.
const MOST_RHO: f64 = 16.0;
/// The largest window of Hybla in Linux, packets.
const MOST_PACKETS: f64 = 65_535.0;
/// Parts of a packet that Linux counts.
const PARTS: u32 = 128;
/// 2^(n / 8) in parts of 128, as Linux has them: not the nearest whole numbers everywhere.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

impl Hybla {
    pub(crate) const TITLE: &'static str = "TCP Hybla: grows as a connection with a round-trip time of 25 ms";
    pub(crate) const SOURCE: &'static str = "HYBLA";
    pub(crate) const PARAMETERS: &'static [Parameter] = HyblaParameters::LIST;

    pub(crate) fn new(given: HyblaParameters) -> Hybla {
        let (variant, reference) = (given.variant, given.rtt0);
        Hybla { variant, reference, rho: 1.0, least: Span::from_ps(u64::MAX), earned: 0, idle_acks: 0 }
    }

    /// What Linux adds with an acknowledgement, in parts of a packet. rho is in eighths.
    fn parts(&self, window: &Window) -> u32 {
        let eighths = (8.0 * self.rho) as u32;
        if window.in_slow_start() {
            return (POWERS[(eighths % 8) as usize] << (eighths / 8).min(MOST_RHO as u32)) - PARTS;
        }
        2 * eighths * eighths / (window.cwnd as u32).max(1)
    }

    /// An acknowledgement in Linux, of however many packets.
    fn grow_as_linux(&mut self, window: &mut Window) {
        let parts = self.parts(window);
        self.earned += parts;
        if !window.in_slow_start() && parts < PARTS {
            self.idle_acks += 1;
        }
        let mut whole = self.earned / PARTS;
        self.earned %= PARTS;
        if whole > parts / PARTS {
            self.idle_acks = 0;
        }
        // Without this a window of more than 128 rho^2 packets would not grow.
        if parts == 0 && self.idle_acks >= window.cwnd as u32 {
            (whole, self.idle_acks) = (1, 0);
        }
        window.cwnd = (window.cwnd + f64::from(whole)).min(MOST_PACKETS);
    }

    fn is_as_reno(&self, ack: &AckEvent) -> bool {
        self.variant == HyblaVariant::Linux && ack.recovering
    }
}

impl Catalogued for Hybla {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", HyblaVariant::Linux.value()));
    const GAUGES: &'static [Gauge] =
        &[Gauge { name: "rho", unit: "", help: "round-trip time over that of the reference connection" }];
}

impl Controller for Hybla {
    // Differs from [HYBLA] and [LINUX]: the first window and threshold are those of the sender. In the paper they are
    // multiplied by rho, and in Linux the first window is rho packets, whatever the route asks for.
    fn on_delivery(&mut self, _: &mut Window, ack: &AckEvent) {
        match self.variant {
            // Unclear in [HYBLA]: which round-trip time gives rho. The smallest one: a queue must not make a flow faster.
            HyblaVariant::Caini => {
                self.rho = (ack.min_rtt.as_secs() / self.reference.as_secs()).clamp(1.0, MOST_RHO);
            }
            // Only a new smallest value counts, so that the first one lasts where later ones are longer.
            HyblaVariant::Linux if ack.srtt < self.least => {
                self.least = ack.srtt;
                self.rho = ((ack.srtt * 8 / self.reference) as f64 / 8.0).max(1.0);
            }
            HyblaVariant::Linux => {}
        }
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        match self.variant {
            _ if self.is_as_reno(ack) => window.cwnd += ack.packets.min(2.0),
            HyblaVariant::Caini => {
                let added = ack.packets.min(2.0) * (libm::exp2(self.rho) - 1.0);
                window.cwnd = (window.cwnd + added).min(window.ssthresh);
            }
            HyblaVariant::Linux => {
                self.grow_as_linux(window);
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        match self.variant {
            _ if self.is_as_reno(ack) => window.cwnd += ack.packets / window.cwnd,
            HyblaVariant::Caini => window.cwnd += self.rho * self.rho * ack.packets / window.cwnd,
            HyblaVariant::Linux => self.grow_as_linux(window),
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(0.5);
    }

    fn gauges(&self, _: &Window, values: &mut Vec<f64>) {
        values.push(self.rho);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Settings;

    use super::*;
    use crate::test_support::{ack, avoidance, close, mean_window};

    /// A flow that has had one acknowledgement at `rtt_ms`.
    fn hybla(variant: HyblaVariant, rtt_ms: u64) -> Hybla {
        let settings = Settings::defaults(Hybla::PARAMETERS).with("variant", variant.value());
        let mut flow = Hybla::new((&settings).into());
        flow.on_delivery(&mut avoidance(10.0), &ack(Span::from_ms(rtt_ms)));
        flow
    }

    /// 100 ms are rho = 4: 16 packets in a round of 100 ms, as many per second as four times the reference's 40.
    #[test]
    fn a_round_of_100_ms_adds_16_packets() {
        let (mut flow, mut window) = (hybla(HyblaVariant::Caini, 100), avoidance(1000.0));
        for _ in 0..1000 {
            flow.on_ack(&mut window, &ack(Span::from_ms(100)));
        }
        close(window.cwnd, 1016.0, 0.001);
    }

    #[test]
    fn in_slow_start_a_packet_adds_two_to_the_rho_less_one() {
        for (rtt_ms, added) in [(20, 1.0), (50, 3.0), (100, 15.0)] {
            for variant in [HyblaVariant::Caini, HyblaVariant::Linux] {
                let mut window = Window { cwnd: 10.0, ssthresh: 1e9 };
                hybla(variant, rtt_ms).on_slow_start(&mut window, &ack(Span::from_ms(rtt_ms)));
                assert_eq!(window.cwnd - 10.0, added);
            }
        }
    }

    /// 40 ms are 12 eighths in Linux: 2 x 12^2 = 288 parts, at 100 packets 2 for each acknowledgement, truncated from
    /// 2.88. So 64 acknowledgements make a packet, of 1 or 2 packets delivered each.
    #[test]
    fn linux_counts_acknowledgements_in_parts_of_128() {
        for packets in [1.0, 2.0] {
            let (mut flow, mut window) = (hybla(HyblaVariant::Linux, 40), avoidance(100.0));
            for _ in 0..64 {
                flow.on_ack(&mut window, &AckEvent { packets, ..ack(Span::from_ms(40)) });
            }
            assert_eq!((flow.rho, window.cwnd), (1.5, 101.0));
        }
    }

    /// With rho = 1 there are 128 parts: none at 200 packets, of which one is added for 200 acknowledgements.
    #[test]
    fn beyond_128_packets_linux_adds_one_per_window_of_acknowledgements() {
        let (mut flow, mut window) = (hybla(HyblaVariant::Linux, 20), avoidance(200.0));
        let grown: Vec<f64> = (0..200)
            .map(|_| {
                flow.on_ack(&mut window, &ack(Span::from_ms(20)));
                window.cwnd
            })
            .collect();
        assert_eq!((grown[198], grown[199]), (200.0, 201.0));
    }

    #[test]
    fn linux_keeps_rho_of_the_smallest_smoothed_round_trip() {
        let mut flow = hybla(HyblaVariant::Linux, 100);
        for (rtt_ms, rho) in [(200, 4.0), (75, 3.0), (90, 3.0)] {
            flow.on_delivery(&mut avoidance(10.0), &ack(Span::from_ms(rtt_ms)));
            assert_eq!(flow.rho, rho);
        }
    }

    /// AIMD with a = rho^2 = 16 and b = 1/2: sqrt(16 x 1.5 / p) = 4.9 / sqrt(p), four times Reno's.
    #[test]
    fn the_mean_window_is_rho_times_that_of_reno() {
        close(
            mean_window(&mut hybla(HyblaVariant::Caini, 100), 1e-4, 0.1),
            4.0 * 1.225 / 1e-4_f64.sqrt(),
            0.03,
        );
    }
}
