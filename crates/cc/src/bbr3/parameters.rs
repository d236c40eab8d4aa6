//! The parameters of BBR, version 3 [BBRV3].

use crate::ProbeCycle;

fairhaul_units::parameters! {
    /// The parameters of BBR, version 3.
    pub(crate) struct Bbr3Parameters {
        loss_threshold: Number(0.001..=0.5) = 0.02,
            "loss rate that a bandwidth probe may reach in a round trip [BBRV3]";
        kept: Number(0.1..=0.99) = 0.7,
            "smallest fraction of the bounds that is kept after a loss, Beta [BBRV3]";
        headroom: Number(0.0..=0.9) = 0.15,
            "fraction of the upper bound left free for other flows between probes [BBRV3]";
        probe_interval: Seconds(0.1..=100.0) = 2.0,
            "shortest time between bandwidth probes; randomised up to 1.5 times this [BBRV3]";
        probe_rtt_interval: Seconds(0.1..=1000.0) = 5.0,
            "interval between probes for the minimum round-trip time [BBRV3]";
        probe_rtt: Seconds(0.0..=10.0) = 0.2,
            "duration of a probe for the minimum round-trip time, with half a bandwidth-delay product in \
             flight [BBRV3]";
        min_rtt_window: Seconds(0.1..=1000.0) = 10.0,
            "length of the filter for the minimum round-trip time [BBRV3]";
        single_filter: Switch = false,
            "a probe begins when the filter of min_rtt_window ends, as in version 1, and its window follows from the \
             minimum before that [BBRV3, issue 109]; probe_rtt_interval is then not used";
        proportional: Switch = false,
            "an extension: responds to marks by their share, sends ECT(1) and needs accurate feedback, as prague does \
             [BBR-GOOGLE]";
        mark_threshold: Number(0.01..=1.0) = 0.5,
            "fraction of marked packets in a round from which a probe ends, if proportional [BBR-GOOGLE]";
        mark_factor: Number(0.0..=1.0) = 0.3333,
            "fraction of the average share of marked packets by which a round with marks lowers the packets in flight, if \
             proportional [BBR-GOOGLE]";
        marks_max_rtt: Milliseconds(0.0..=1000.0) = 0.0,
            "largest minimum round-trip time at which marks count, if proportional; 0: every one [BBR-GOOGLE: 5 ms]";
    }
}

impl Bbr3Parameters {
    /// The longest time between probes for the round-trip time, and between bandwidth probes [BBRV3].
    pub(crate) fn probe_cycle(&self) -> ProbeCycle {
        let probe_rtt = if self.single_filter { self.min_rtt_window } else { self.probe_rtt_interval };
        ProbeCycle::seconds(probe_rtt.as_secs().max(1.5 * self.probe_interval.as_secs()))
    }
}
