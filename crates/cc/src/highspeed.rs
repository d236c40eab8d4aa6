//! HighSpeed TCP [RFC 3649]: the larger the window, the more a round adds and the less a loss takes.
//!
//! Up to 38 packets it is Reno. Above, a(w) and b(w) are chosen such that the mean window under a
//! loss probability p is 0.12 / p^0.835 packets.

use fairhaul_units::{Parameter, parameters, words};

use crate::highspeed_law::{self as law, IncreasePerPacket, TableRow};
use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct Highspeed {
    growth: HighspeedGrowth,
    increase: IncreasePerPacket,
    /// In Linux: the row in force, which changes in congestion avoidance only.
    row: &'static TableRow,
}

words! {
    /// Where a(w) and b(w) are read.
    pub enum HighspeedGrowth {
        /// In the formulas.
        Formula = "formula",
        /// In the table, whose rows hold from their windows upwards.
        Table = "table",
        /// In the table, whose rows hold up to their windows, as in Linux.
        Linux = "linux",
    }
}

parameters! {
    /// The parameters of HighSpeed TCP.
    pub(crate) struct HighspeedParameters {
        growth: Word(HighspeedGrowth) = HighspeedGrowth::Formula,
            "source of a(w) and b(w): the formulas; the 73-row table, where a row applies from its window \
             upwards; or linux: the table, where a row applies up to its window, and a(w) is added once per \
             ACK [RFC 3649, LINUX]";
    }
}

impl Highspeed {
    pub(crate) const TITLE: &'static str = "HighSpeed TCP: growth and decrease scale with the window";
    pub(crate) const SOURCE: &'static str = "RFC 3649";
    // Unclear in [RFC 3649, 5 and Appendix B]: whether the formulas or the table are the rule.
    // The formulas, because they alone meet the response function, which is what the source
    // designs for: at a loss probability of 1e-4 the mean window is 99.9 % of it by the formulas,
    // 81 % by the table as Table 9 reads it, and 115 % by the table as Linux reads it.
    pub(crate) const PARAMETERS: &'static [Parameter] = HighspeedParameters::LIST;

    pub(crate) fn new(given: HighspeedParameters) -> Highspeed {
        Highspeed { growth: given.growth, increase: IncreasePerPacket::NEW, row: law::linux_row(0.0) }
    }

    /// What an acknowledgement adds to the window `w`.
    fn gain(&mut self, w: f64, packets: f64) -> f64 {
        match self.growth {
            HighspeedGrowth::Formula => self.increase.at(w) * (packets / w),
            HighspeedGrowth::Table => law::row_from(w).increase * (packets / w),
            // Differs from [RFC 3649, 5], as [LINUX] does: a(w) / w is added once for each ACK, however many
            // packets it acknowledges.
            HighspeedGrowth::Linux => {
                self.row = law::linux_row(w);
                self.row.increase / w
            }
        }
    }

    /// What a loss leaves of the window `w`.
    fn left(&self, w: f64) -> f64 {
        match self.growth {
            HighspeedGrowth::Formula => w * (1.0 - law::decrease(w)),
            HighspeedGrowth::Table => w * (1.0 - law::row_from(w).decrease),
            // Differs from [RFC 3649, 5], as [LINUX] does: b(w) is that of the last window in congestion
            // avoidance, so that a loss in the first slow start takes half, however large the window.
            HighspeedGrowth::Linux => w - (w * law::linux_decrease(self.row)).floor(),
        }
    }
}

impl Catalogued for Highspeed {
    const LINUX: Option<(&'static str, f64)> = Some(("growth", HighspeedGrowth::Linux.value()));
}

impl Controller for Highspeed {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += self.gain(window.cwnd, ack.packets);
    }

    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.reduce_to(self.left(window.cwnd));
    }

    // Unclear in [RFC 3649]: what a timeout does to ssthresh. It becomes half the window, as in standard TCP;
    // in Linux slow start ends at the window that a loss would have left.
    fn on_timeout(&mut self, window: &mut Window, _: &Congestion) {
        match self.growth {
            HighspeedGrowth::Formula | HighspeedGrowth::Table => window.start_over(),
            HighspeedGrowth::Linux => {
                window.reduce_to(self.left(window.cwnd));
                window.cwnd = 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;

    use super::HighspeedGrowth::{Formula, Linux, Table};
    use super::*;
    use crate::test_support::{CONGESTION, PeriodicLoss, ack, avoidance, close, mean_window, one_round};

    fn highspeed(growth: HighspeedGrowth) -> Highspeed {
        Highspeed::new(HighspeedParameters { growth })
    }

    fn after_a_loss(growth: HighspeedGrowth, cwnd: f64) -> f64 {
        let mut window = avoidance(cwnd);
        highspeed(growth).on_congestion(&mut window, &CONGESTION);
        window.cwnd
    }

    /// a(1000) = 1000^0.8 / 12.8 x 2 x 0.3299 / 1.6701 = 19.623 x 0.3951 = 7.752; the window
    /// that divides it grows meanwhile, by 0.4 % on average.
    #[test]
    fn a_round_at_1000_packets_adds_7_75() {
        let mut window = avoidance(1000.0);
        one_round(&mut highspeed(Formula), &mut window);
        assert!((window.cwnd - 1007.75).abs() < 0.03, "{}", window.cwnd);
    }

    /// b(1000) = 0.5 - 0.4 x ln(1000/38) / ln(83000/38) = 0.5 - 0.4 x 3.2702 / 7.6890 = 0.3299.
    #[test]
    fn a_loss_at_1000_packets_leaves_670() {
        assert!((after_a_loss(Formula, 1000.0) - 670.1).abs() < 0.1);
    }

    /// Between the rows 851 (7, 0.34) and 1058 (8, 0.33).
    #[test]
    fn a_loss_at_1000_packets_takes_the_rows_share_by_the_table() {
        assert!((after_a_loss(Table, 1000.0) - 660.0).abs() < 1e-9);
    }

    /// Linux's rule, and a window whose last ACK in congestion avoidance was at `cwnd` packets.
    fn linux_at(cwnd: f64, packets: f64) -> (Highspeed, Window) {
        let (mut linux, mut window) = (highspeed(Linux), avoidance(cwnd));
        linux.on_ack(&mut window, &AckEvent { packets, ..ack(Span::from_ms(100)) });
        (linux, window)
    }

    /// At 1000 packets the row of 1058 holds: 8 packets in a round of 1000 ACKs, whatever each of
    /// them acknowledges.
    #[test]
    fn in_linux_an_ack_of_two_packets_adds_no_more_than_one_of_one() {
        for packets in [1.0, 2.0, 44.0] {
            assert!((linux_at(1000.0, packets).1.cwnd - 1000.008).abs() < 1e-9);
        }
    }

    /// The first row takes half, until congestion avoidance has begun: 640 leaves 320. At 640 packets
    /// in congestion avoidance the row of 663 takes floor(640 x 89 / 256) = 222.
    #[test]
    fn in_linux_a_loss_in_the_first_slow_start_takes_half() {
        let (mut linux, mut window) = (highspeed(Linux), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
        while window.cwnd < 640.0 {
            linux.on_slow_start(&mut window, &ack(Span::from_ms(100)));
        }
        linux.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (320.0, 320.0));
        let (mut linux, _) = linux_at(640.0, 1.0);
        let mut window = avoidance(640.0);
        linux.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 418.0);
        // The row stays where slow start after a timeout has left it.
        let mut window = Window { cwnd: 100.0, ssthresh: 418.0 };
        linux.on_congestion(&mut window, &CONGESTION);
        assert_eq!(window.cwnd, 66.0, "100 - floor(100 x 89 / 256)");
    }

    /// By the row of 2378 packets: 2131 - floor(2131 x 72 / 256) = 2131 - 599 = 1532.
    #[test]
    fn in_linux_slow_start_after_a_timeout_ends_where_a_loss_would_have_left_the_window() {
        let mut window = avoidance(2131.0);
        linux_at(2131.0, 1.0).0.on_timeout(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 1532.0));
        let mut window = avoidance(2131.0);
        highspeed(Formula).on_timeout(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 1065.5));
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut window = avoidance(20.0);
        one_round(&mut highspeed(Formula), &mut window);
        assert!((window.cwnd - 20.98).abs() < 0.01, "20 times 1/w with w from 20 to 21");
        assert_eq!(after_a_loss(Formula, 20.0), 10.0);
    }

    /// [RFC 3649, Table 3] and its formula 0.12 / p^0.835.
    #[test]
    fn periodic_loss_gives_the_response_function() {
        for (p, printed, band) in
            [(1e-3, 38.0, 0.065), (1e-4, 263.0, 0.03), (1e-5, 1795.0, 0.03), (1e-6, 12_279.0, 0.03)]
        {
            let mean = mean_window(&mut highspeed(Formula), p, 0.1);
            let formula = 0.12 / libm::pow(p, 0.835);
            close(mean / formula, 1.0, if p == 1e-3 { 0.06 } else { 0.03 });
            close(mean / printed, 1.0, band);
        }
    }

    /// The reason for the default: the table's steps miss the response function on either side.
    #[test]
    fn the_table_misses_the_response_function_at_small_windows() {
        let ratio = |mean: f64| mean * libm::pow(1e-4, 0.835) / 0.12;
        close(ratio(mean_window(&mut highspeed(Table), 1e-4, 0.1)), 0.81, 0.02);
        // Linux gives up whole packets, so that no cycle is quite like the last: the mean of 100.
        let (mut linux, mut window) = (highspeed(Linux), avoidance(263.0));
        let mut cycles = PeriodicLoss::new(1e-4, 0.1, 1);
        let means: Vec<f64> = (0..150).map(|_| cycles.next(&mut linux, &mut window)).collect();
        close(ratio(means[50..].iter().sum::<f64>() / 100.0), 1.15, 0.02);
    }
}
