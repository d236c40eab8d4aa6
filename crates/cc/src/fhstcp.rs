//! FHSTCP [FHSTCP]: HighSpeed TCP whose growth is multiplied by c x RTT, sent in blocks.
//!
//! With the factor, dw/dt = c a(w) whatever the round-trip time: flows that lose together hold
//! equal windows, and their rates are as the inverse of their round-trip times. Since a long
//! round then adds more at once, its window is sent in k blocks spread over the round.
//!
//! This file says how far the window goes and how many blocks it makes. The pacer that holds
//! packets back (count, timer, first in first out, ceil(w/k) packets a block, a wait that is
//! never negative, nothing paced in recovery) is the sender's: it receives [`Pacing::Blocks`].

use fairhaul_units::{Gauge, Parameter, Span, parameters, words};

use crate::highspeed_law::{self as law, IncreasePerPacket};
use crate::{AckEvent, Catalogued, Congestion, Controller, Needs, Pacing, Start, Window};

/// What the kernel sends at once of a block at most, bytes.
const KERNEL_TRAIN: u64 = 64_000;

/// Fair High-Speed TCP.
#[derive(Clone, Debug)]
pub struct Fhstcp {
    variant: FhstcpVariant,
    c: f64,
    estimate: RttEstimate,
    factor: bool,
    eta_floor: bool,
    blocks: bool,
    increase: IncreasePerPacket,
    /// Packets that leave at once, at most.
    train: f32,
    /// Blocks in a round; one, which is no pacing, until congestion avoidance has set it.
    count: u32,
    /// The round-trip time that the blocks divide.
    round: Span,
}

words! {
    /// How large blocks leave.
    pub enum FhstcpVariant {
        /// At once, as published.
        Paper = "paper",
        /// In trains, as the eBPF port sends them.
        Linux = "linux",
    }
}

words! {
    /// Which round-trip time RTT stands for.
    pub enum RttEstimate {
        /// The smoothed one.
        Smoothed = "smoothed",
        /// The last one.
        Sample = "sample",
        /// The smallest one.
        Minimum = "minimum",
    }
}

parameters! {
    /// The parameters of FHSTCP.
    pub(crate) struct FhstcpParameters {
        variant: Word(FhstcpVariant) = FhstcpVariant::Paper,
            "paper: a block leaves at once [FHSTCP]; linux: a block larger than 64 kB, and than what the host hands over \
             together, leaves as several trains, spread evenly over its part of the round trip";
        c: Number(0.0..=1000.0, "1/s") = 10.0,
            "fair factor per second of round-trip time; at an RTT of 1/c the growth equals that of HighSpeed \
             TCP [FHSTCP]";
        rtt: Word(RttEstimate) = RttEstimate::Smoothed,
            "round-trip time used for the factor and the blocks [FHSTCP]";
        eta_floor: Switch = true,
            "keep the factor at 1 or more for windows up to 38 packets, so that growth there never falls \
             below Reno; false is the paper's rule [FHSTCP]";
        factor: Switch = true,
            "multiply growth by c x RTT; false leaves HighSpeed TCP with block pacing [FHSTCP]";
        blocks: Switch = true, "send the window in paced blocks; false leaves only the factor [FHSTCP]";
        train: Number(0.0..=65_535.0, "packets") = 0.0,
            "largest train sent back to back; a larger block is spread over its part of the round trip; 0: as the \
             variant has it";
    }
}

impl Fhstcp {
    pub(crate) const TITLE: &'static str = "FHSTCP: HighSpeed TCP whose growth scales with the round-trip \
                                            time, with block pacing";
    pub(crate) const SOURCE: &'static str = "FHSTCP";
    pub(crate) const PARAMETERS: &'static [Parameter] = FhstcpParameters::LIST;

    pub(crate) fn new(given: FhstcpParameters) -> Fhstcp {
        Fhstcp {
            variant: given.variant,
            c: given.c,
            estimate: given.rtt,
            factor: given.factor,
            eta_floor: given.eta_floor,
            blocks: given.blocks,
            increase: IncreasePerPacket::NEW,
            train: given.train as f32,
            count: 1,
            round: Span::ZERO,
        }
    }

    /// The RTT of the rule.
    // Unclear in [FHSTCP, 2]: whether RTT is the last sample, the smoothed or the smallest round-trip time. It
    // is the smoothed one, because one late acknowledgement must not change a share. It includes the queueing
    // delay, so that the factor rises under congestion, for all flows alike.
    fn round(&self, ack: &AckEvent) -> Span {
        match self.estimate {
            RttEstimate::Smoothed => ack.srtt,
            RttEstimate::Sample => ack.rtt,
            RttEstimate::Minimum => ack.min_rtt,
        }
    }

    /// The fair factor that multiplies a(w).
    // Differs from [FHSTCP, 2]: below 1/c seconds the factor is below one, and by the printed rule such a flow grows
    // more slowly than Reno at small windows, where a(w) = 1: by a hundredth of a packet in a round of 1 ms. Here the
    // factor is at least one at windows up to 38 packets; without `eta_floor` the rule is as printed.
    fn eta(&self, round: Span, w: f64) -> f64 {
        if !self.factor {
            return 1.0;
        }
        let eta = self.c * round.as_secs();
        if self.eta_floor && w <= law::LOW_WINDOW { eta.max(1.0) } else { eta }
    }

    /// What one delivered packet adds to the window `w` under the factor `eta`: no more than in slow
    /// start [FHSTCP, Fig. 1].
    fn per_packet(&mut self, eta: f64, w: f64) -> f64 {
        (self.increase.at(w) * (eta / w)).min(1.0)
    }
}

/// k = (int) c x RTT + 1 [FHSTCP, Fig. 1].
// Unclear in [FHSTCP, Fig. 1]: the cast applies to c alone. Here the product is truncated, which is the same
// for integer c. An added 1e-9 keeps 10 x 0.2 s from falling to 1 by rounding.
fn block_count(c: f64, round: Span) -> u32 {
    ((c * round.as_secs() + 1e-9) as u32).saturating_add(1)
}

impl Catalogued for Fhstcp {
    const LINUX: Option<(&'static str, f64)> = Some(("variant", FhstcpVariant::Linux.value()));

    const GAUGES: &'static [Gauge] = &[
        Gauge { name: "fair_factor", unit: "", help: "factor c x RTT that multiplies the growth" },
        Gauge { name: "blocks", unit: "blocks", help: "blocks in which a window is sent; 1: at once" },
    ];
}

impl Controller for Fhstcp {
    fn on_start(&mut self, start: &Start) {
        if self.variant == FhstcpVariant::Linux && self.train == 0.0 {
            self.train = (KERNEL_TRAIN / start.payload.0.max(1)).clamp(1, start.together) as f32;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let round = self.round(ack);
        window.cwnd += self.per_packet(self.eta(round, window.cwnd), window.cwnd) * ack.packets;
        self.count = block_count(self.c, round);
        self.round = round;
    }

    /// The source also begins a new block here. The sender does so by itself, since it does not
    /// pace in recovery.
    // Unclear in [FHSTCP, Fig. 1]: which window is the argument of b(w). The window before the loss [RFC 3649,
    // 5].
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(law::decrease(window.cwnd));
    }

    /// Standard TCP's, and no blocks until congestion avoidance is reached again.
    // Unclear in [FHSTCP, Fig. 1]: timeouts are not mentioned. They are handled like the start of a connection.
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        window.start_over();
        self.count = 1;
    }

    fn gauges(&self, window: &Window, values: &mut Vec<f64>) {
        let known = !self.round.is_zero();
        let blocks = if self.blocks { f64::from(self.count) } else { 1.0 };
        values.extend([if known { self.eta(self.round, window.cwnd) } else { f64::NAN }, blocks]);
    }

    fn needs(&self) -> Needs {
        Needs { pacing: self.blocks, ..Needs::default() }
    }

    // Differs from [FHSTCP, Fig. 1]: read literally, k = 1 and block = 0 at the start delay every packet of
    // slow start by a round, and k = 1 later waits once per window without effect. Here there are no blocks
    // before the first acknowledgement of congestion avoidance, and none for k = 1.
    // Differs from [FHSTCP, Fig. 1]: if k exceeds the window, the source leaves block unchanged; here block
    // follows k, because the sender divides the window by the count that it is given.
    fn pacing(&self, window: &Window) -> Pacing {
        let count = self.count.min(window.cwnd as u32);
        if !self.blocks || count < 2 {
            return Pacing::None;
        }
        let train = f64::from(self.train);
        let trains = if train > 0.0 { (window.cwnd / train).ceil() } else { 0.0 };
        Pacing::Blocks { count: count.max(trains as u32), round: self.round }
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Bytes, Settings};

    use super::*;
    use crate::test_support::{CONGESTION, ack, avoidance, close, mean_window};

    fn settings() -> Settings {
        Settings::defaults(Fhstcp::PARAMETERS)
    }

    fn with_c(c: f64) -> Fhstcp {
        Fhstcp::new((&settings().with("c", c)).into())
    }

    /// The window after one packet delivered at `cwnd` and `ms`, under `settings`.
    fn grown(settings: Settings, cwnd: f64, ms: u64) -> f64 {
        let mut window = avoidance(cwnd);
        Fhstcp::new((&settings).into()).on_ack(&mut window, &ack(Span::from_ms(ms)));
        window.cwnd - cwnd
    }

    const PATHS: [Span; 3] = [Span::from_ms(80), Span::from_ms(140), Span::from_ms(200)];

    #[test]
    fn the_factor_is_c_times_the_round_trip_time() {
        let factors = [(5.0, [0.4, 0.7, 1.0]), (10.0, [0.8, 1.4, 2.0]), (20.0, [1.6, 2.8, 4.0])];
        for (c, expected) in factors {
            for (round, eta) in PATHS.into_iter().zip(expected) {
                assert!((with_c(c).eta(round, 1000.0) - eta).abs() < 1e-12);
            }
        }
    }

    /// floor(c x RTT) + 1, for instance floor(10 x 0.14 s) + 1 = 2.
    #[test]
    fn the_number_of_blocks_follows_the_factor() {
        for (c, expected) in [(5.0, [1, 1, 2]), (10.0, [1, 2, 3]), (20.0, [2, 3, 5])] {
            assert_eq!(PATHS.map(|round| block_count(c, round)), expected);
        }
        assert_eq!(block_count(10.0, Span::from_ps(199_999_999_999)), 3, "a picosecond is rounding");
        assert_eq!(block_count(10.0, Span::from_us(199_999)), 2, "a microsecond is not");
        assert_eq!(block_count(0.0, PATHS[2]), 1);
    }

    /// 2 x a(1000) / 1000 = 2 x 7.752 / 1000.
    #[test]
    fn a_packet_at_1000_packets_and_200_ms_adds_twice_highspeeds_share() {
        close(grown(settings(), 1000.0, 200), 0.015_504, 1e-4);
    }

    /// 100 ms x 10 / s = 1.
    #[test]
    fn at_100_ms_growth_is_highspeeds() {
        close(grown(settings(), 500.0, 100), law::increase(500.0) / 500.0, 1e-9);
    }

    /// 20 x 0.2 s x 1 / 2 packets = 2, cut to 1.
    #[test]
    fn a_packet_never_adds_more_than_one() {
        assert_eq!(grown(settings().with("c", 20.0), 2.0, 200), 1.0);
    }

    /// 10 ms: 0.1 x 1/20 as printed, 1/20 with the floor, which ends above 38 packets.
    #[test]
    fn the_floor_keeps_a_short_path_at_renos_growth() {
        close(grown(settings().with("eta_floor", 0.0), 20.0, 10), 0.005, 1e-9);
        close(grown(settings(), 20.0, 10), 0.05, 1e-9);
        close(grown(settings(), 50.0, 10), 0.1 * law::increase(50.0) / 50.0, 1e-9);
    }

    #[test]
    fn without_the_factor_growth_is_highspeeds_on_any_path() {
        assert_eq!(grown(settings().with("factor", 0.0), 500.0, 10), grown(settings(), 500.0, 100));
    }

    #[test]
    fn the_round_trip_time_is_the_one_asked_for() {
        let event =
            AckEvent { rtt: Span::from_ms(300), min_rtt: Span::from_ms(100), ..ack(Span::from_ms(200)) };
        for (word, ms) in [(0.0, 200), (1.0, 300), (2.0, 100)] {
            let controller = Fhstcp::new((&settings().with("rtt", word)).into());
            assert_eq!(controller.round(&event), Span::from_ms(ms));
        }
    }

    #[test]
    fn blocks_begin_with_congestion_avoidance_and_end_at_a_timeout() {
        let mut controller = with_c(10.0);
        let mut window = avoidance(100.0);
        assert_eq!(controller.pacing(&window), Pacing::None);
        controller.on_slow_start(&mut window, &ack(PATHS[2]));
        assert_eq!(controller.pacing(&window), Pacing::None);
        controller.on_ack(&mut window, &ack(PATHS[2]));
        assert_eq!(controller.pacing(&window), Pacing::Blocks { count: 3, round: PATHS[2] });
        controller.on_congestion(&mut window, &CONGESTION);
        assert_eq!(controller.pacing(&window), Pacing::Blocks { count: 3, round: PATHS[2] });
        controller.on_timeout(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, controller.pacing(&avoidance(100.0))), (1.0, Pacing::None));
    }

    #[test]
    fn there_are_no_more_blocks_than_packets_and_none_on_a_short_path() {
        let mut controller = with_c(20.0);
        controller.on_ack(&mut avoidance(100.0), &ack(PATHS[2]));
        assert_eq!(controller.pacing(&avoidance(3.9)), Pacing::Blocks { count: 3, round: PATHS[2] });
        assert_eq!(controller.pacing(&avoidance(1.9)), Pacing::None);
        // Trains of 10: five blocks of 20 become ten, and blocks of 10 are what they were.
        let mut trains = Fhstcp::new((&settings().with("c", 20.0).with("train", 10.0)).into());
        trains.on_ack(&mut avoidance(100.0), &ack(PATHS[2]));
        assert_eq!(trains.pacing(&avoidance(100.0)), Pacing::Blocks { count: 10, round: PATHS[2] });
        assert_eq!(trains.pacing(&avoidance(50.0)), Pacing::Blocks { count: 5, round: PATHS[2] });
        // A window of a part of a packet more than 100 has 101 trains of one packet, and not 100 of two.
        let mut single = Fhstcp::new((&settings().with("c", 20.0).with("train", 1.0)).into());
        single.on_ack(&mut avoidance(100.0), &ack(PATHS[2]));
        assert_eq!(single.pacing(&avoidance(100.5)), Pacing::Blocks { count: 101, round: PATHS[2] });
        let mut short = with_c(10.0);
        short.on_ack(&mut avoidance(100.0), &ack(PATHS[0]));
        assert_eq!(short.pacing(&avoidance(100.0)), Pacing::None);
        let mut off = Fhstcp::new((&settings().with("blocks", 0.0)).into());
        off.on_ack(&mut avoidance(100.0), &ack(PATHS[2]));
        assert_eq!(off.pacing(&avoidance(100.0)), Pacing::None);
    }

    /// 64,000 B are 43 packets with 1460 B of payload, and 7 with 8960 B: a window of 860 has 20 trains, and one of 70 ten.
    /// A host that hands over packets one by one spaces them evenly.
    #[test]
    fn in_linux_a_block_leaves_in_trains_of_64_kb_and_of_what_the_host_hands_over_together() {
        let linux = &settings().with("c", 20.0).with("variant", FhstcpVariant::Linux.value());
        let count = |settings: &Settings, payload, together, cwnd| {
            let mut controller = Fhstcp::new(settings.into());
            controller.on_start(&Start { payload: Bytes(payload), together });
            controller.on_ack(&mut avoidance(cwnd), &ack(PATHS[2]));
            match controller.pacing(&avoidance(cwnd)) {
                Pacing::Blocks { count, .. } => count,
                _ => 1,
            }
        };
        let large = |together, cwnd| count(linux, 1460, together, cwnd);
        assert_eq!([large(45, 100.0), large(45, 860.0), large(1, 860.0)], [5, 20, 860]);
        assert_eq!(count(linux, 8960, 45, 70.0), 10);
        assert_eq!(
            count(&linux.clone().with("train", 10.0), 1460, 45, 860.0),
            86,
            "the scenario says how long"
        );
        assert_eq!(count(&settings().with("c", 20.0), 1460, 45, 860.0), 5, "as published");
    }

    /// b(1000) = 0.3299 on every path.
    #[test]
    fn a_loss_takes_what_highspeed_gives_up() {
        let mut window = avoidance(1000.0);
        with_c(10.0).on_congestion(&mut window, &CONGESTION);
        assert!((window.cwnd - 670.1).abs() < 0.1);
    }

    /// One flow of the synchronised run: its acknowledgements come every RTT / w.
    struct Flow {
        controller: Fhstcp,
        window: Window,
        rtt_s: f64,
        next_s: f64,
        delivered: u64,
    }

    impl Flow {
        fn run_until(&mut self, end_s: f64) {
            let event = ack(Span::from_secs(self.rtt_s));
            while self.next_s < end_s {
                self.controller.on_ack(&mut self.window, &event);
                self.next_s += self.rtt_s / self.window.cwnd;
                self.delivered += 1;
            }
        }
    }

    /// All three lose every 4 s for 100 episodes, from windows 16 times apart. Between losses
    /// dw/dt = c a(w) for each, so only the window itself is left to decide.
    #[test]
    fn flows_that_lose_together_end_with_equal_windows() {
        let mut flows = [(0.08, 1600.0), (0.14, 400.0), (0.2, 100.0)].map(|(rtt_s, cwnd)| Flow {
            controller: with_c(10.0),
            window: avoidance(cwnd),
            rtt_s,
            next_s: 0.0,
            delivered: 0,
        });
        for episode in 1..=100 {
            for flow in &mut flows {
                flow.delivered = 0;
                flow.run_until(4.0 * f64::from(episode));
                flow.controller.on_congestion(&mut flow.window, &CONGESTION);
            }
        }
        for flow in &flows {
            close(flow.window.cwnd, flows[0].window.cwnd, 0.05);
            close(flow.delivered as f64 * flow.rtt_s, flows[0].delivered as f64 * flows[0].rtt_s, 0.05);
        }
    }

    /// Under a common loss probability w^(1/0.835) is as eta / p: the window goes as RTT^0.835.
    #[test]
    fn under_a_common_loss_probability_the_window_goes_as_rtt_to_the_0_835() {
        let exponent = |p, near, far| {
            let ratio = mean_window(&mut with_c(10.0), p, far) / mean_window(&mut with_c(10.0), p, near);
            libm::log(ratio) / libm::log(far / near)
        };
        for p in [1e-5, 1e-6] {
            close(exponent(p, 0.08, 0.2), 0.835, 0.05 / 0.835);
        }
    }
}
