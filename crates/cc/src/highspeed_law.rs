//! The window law of HighSpeed TCP [RFC 3649]: how much a round adds and a loss takes, by window.
//!
//! Three controllers use it (`highspeed`, `fhstcp`, `ghstcp`), so it stands apart from them. It comes in the
//! two forms of its source: the formulas, and the table of 73 rows printed in Appendix B.

/// Up to this window the law is Reno's [RFC 3649, 5].
pub(crate) const LOW_WINDOW: f64 = 38.0;
/// The window at which `HIGH_DECREASE` is meant to hold [RFC 3649, 5].
const HIGH_WINDOW: f64 = 83_000.0;
/// The share given up at `HIGH_WINDOW` [RFC 3649, 5].
const HIGH_DECREASE: f64 = 0.1;
/// The share given up at `LOW_WINDOW`, as Reno does.
const LOW_DECREASE: f64 = 0.5;
/// 1 / (p(w) w^1.2): the constant of the program that printed the table. The text says 0.078,
/// which is 1/12.8 rounded.
// Unclear in [RFC 3649, 5 and Appendix B]: text, program and the line through (Low_Window, Low_P)
// give increases up to 2 % apart. The program's, because the printed tables are its output.
const PACKETS_PER_LOSS: f64 = 12.8;
/// The window at which the program that printed the table ends.
// Unclear in [RFC 3649, 5]: windows beyond the table are not specified. By the formulas b(w) and a(w)
// would reach zero at 567 000 packets. Beyond this window b(w) is constant, and a(w) grows as w^0.8,
// so that the response function continues unchanged.
const LAST_WINDOW: f64 = 100_000.0;

/// a(w) of a window that grows. The formula needs a logarithm and a power, which would cost as much for each
/// acknowledgement as the rest of the window rule, so it is worked out once per whole packet of the window.
// Differs from [RFC 3649, 5]: between two whole packets a(w) is linear. That is within 2 x 10^-5 of the formula, but where
// a(w) first exceeds one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncreasePerPacket {
    /// The whole packets of the last window, a(w) of them, and how much more it is of the next packet.
    packets: f64,
    increase: f64,
    slope: f64,
}

impl IncreasePerPacket {
    /// For a window of any size.
    pub(crate) const NEW: IncreasePerPacket = IncreasePerPacket { packets: 0.0, increase: 1.0, slope: 0.0 };

    /// Packets that a round adds to the window `w`.
    #[inline(always)]
    pub(crate) fn at(&mut self, w: f64) -> f64 {
        if !(0.0..1.0).contains(&(w - self.packets)) {
            *self = IncreasePerPacket::of(w.floor());
        }
        self.increase + self.slope * (w - self.packets)
    }

    #[cold]
    fn of(packets: f64) -> IncreasePerPacket {
        let increase_at = increase(packets);
        IncreasePerPacket { packets, increase: increase_at, slope: increase(packets + 1.0) - increase_at }
    }
}

/// a(w): packets that a round adds to the window `w`.
pub(crate) fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = decrease(w);
    // Unclear in [RFC 3649, 5]: just above the low window the formula gives less than one. The minimum is one,
    // because the rule is never slower than Reno's, and Table 6 is printed so.
    (libm::pow(w, 0.8) * (2.0 / PACKETS_PER_LOSS) * (b / (2.0 - b))).max(1.0)
}

/// b(w): the share of the window `w` that a loss event takes.
pub(crate) fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return LOW_DECREASE;
    }
    let ln = |w: f64| libm::log(w / LOW_WINDOW);
    LOW_DECREASE + (HIGH_DECREASE - LOW_DECREASE) * (ln(w.min(LAST_WINDOW)) / ln(HIGH_WINDOW))
}

/// One row of the table [RFC 3649, Appendix B, Table 12].
#[derive(Debug)]
pub(crate) struct TableRow {
    /// The window at which the formula reaches the row's values.
    pub window: f64,
    /// a(w): packets that a round adds.
    pub increase: f64,
    /// b(w): the share that a loss event takes, as printed.
    pub decrease: f64,
}

/// The row that holds from its own window to the next row's; the first below that too.
pub(crate) fn row_from(w: f64) -> &'static TableRow {
    let starting = TABLE.partition_point(|row| row.window <= w);
    &TABLE[starting.saturating_sub(1)]
}

/// Rows of the table in Linux, which lacks the last.
const LINUX_ROWS: usize = TABLE.len() - 1;

/// The row that holds in Linux at the whole packets of `w`: up to its own window; the last beyond
/// that too [LINUX].
pub(crate) fn linux_row(w: f64) -> &'static TableRow {
    let below = TABLE.partition_point(|row| row.window < w.floor());
    &TABLE[below.min(LINUX_ROWS - 1)]
}

/// The share that a loss takes in Linux by a row: that of the formula in whole 1/256, rounded down
/// [LINUX].
pub(crate) fn linux_decrease(row: &TableRow) -> f64 {
    (256.0 * decrease(row.window)).floor() / 256.0
}

const fn row(window: u32, increase: u32, decrease: f64) -> TableRow {
    TableRow { window: window as f64, increase: increase as f64, decrease }
}

#[rustfmt::skip]
static TABLE: [TableRow; 73] = [
    row(38, 1, 0.50), row(118, 2, 0.44), row(221, 3, 0.41), row(347, 4, 0.38), row(495, 5, 0.37),
    row(663, 6, 0.35), row(851, 7, 0.34), row(1058, 8, 0.33), row(1284, 9, 0.32), row(1529, 10, 0.31),
    row(1793, 11, 0.30), row(2076, 12, 0.29), row(2378, 13, 0.28), row(2699, 14, 0.28), row(3039, 15, 0.27),
    row(3399, 16, 0.27), row(3778, 17, 0.26), row(4177, 18, 0.26), row(4596, 19, 0.25), row(5036, 20, 0.25),
    row(5497, 21, 0.24), row(5979, 22, 0.24), row(6483, 23, 0.23), row(7009, 24, 0.23), row(7558, 25, 0.22),
    row(8130, 26, 0.22), row(8726, 27, 0.22), row(9346, 28, 0.21), row(9991, 29, 0.21), row(10_661, 30, 0.21),
    row(11_358, 31, 0.20), row(12_082, 32, 0.20), row(12_834, 33, 0.20), row(13_614, 34, 0.19), row(14_424, 35, 0.19),
    row(15_265, 36, 0.19), row(16_137, 37, 0.19), row(17_042, 38, 0.18), row(17_981, 39, 0.18), row(18_955, 40, 0.18),
    row(19_965, 41, 0.17), row(21_013, 42, 0.17), row(22_101, 43, 0.17), row(23_230, 44, 0.17), row(24_402, 45, 0.16),
    row(25_618, 46, 0.16), row(26_881, 47, 0.16), row(28_193, 48, 0.16), row(29_557, 49, 0.15), row(30_975, 50, 0.15),
    row(32_450, 51, 0.15), row(33_986, 52, 0.15), row(35_586, 53, 0.14), row(37_253, 54, 0.14), row(38_992, 55, 0.14),
    row(40_808, 56, 0.14), row(42_707, 57, 0.13), row(44_694, 58, 0.13), row(46_776, 59, 0.13), row(48_961, 60, 0.13),
    row(51_258, 61, 0.13), row(53_677, 62, 0.12), row(56_230, 63, 0.12), row(58_932, 64, 0.12), row(61_799, 65, 0.12),
    row(64_851, 66, 0.11), row(68_113, 67, 0.11), row(71_617, 68, 0.11), row(75_401, 69, 0.10), row(79_517, 70, 0.10),
    row(84_035, 71, 0.10), row(89_053, 72, 0.10), row(94_717, 73, 0.09),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_grows_or_jumps_gets_the_formulas_increase() {
        let mut per_packet = IncreasePerPacket::NEW;
        for w in [0.5, 1.0, 37.9, 38.5, 43.0, 43.5, 44.0, 43.9, 1e5, 500.75, 1e9 + 0.5, 1e16, 1e9, 2.0] {
            let (read, formula) = (per_packet.at(w), increase(w));
            assert!((read / formula - 1.0).abs() < 2e-5, "at {w} packets: {read}, not {formula}");
            assert_eq!(per_packet.at(w.floor()), increase(w.floor()));
        }
    }

    #[test]
    fn up_to_38_packets_the_law_is_renos() {
        for w in [0.5, 1.0, 20.0, 38.0] {
            assert_eq!((increase(w), decrease(w)), (1.0, 0.5));
        }
    }

    #[test]
    fn growth_goes_on_and_the_decrease_stays_beyond_the_table() {
        // b(10^5) = 0.5 - 0.4 x ln(10^5/38) / ln(83000/38) = 0.5 - 0.4 x 7.8754 / 7.6890 = 0.0903.
        // From 10^5 to 10^6 packets with that share: x 10^0.8 = 6.3096.
        assert!((increase(1e6) / increase(1e5) - 6.3096).abs() < 1e-3);
        assert_eq!(decrease(1e6), decrease(100_000.0));
        assert!((decrease(1e6) - 0.0903).abs() < 5e-5);
        assert!(increase(1e9).is_finite());
    }

    /// The source's program: a row starts where a(w) exceeds that of the row before by one.
    #[test]
    fn the_formulas_print_all_73_rows() {
        let mut rows = vec![(38, 1, 0.5)];
        let mut last = 1.0;
        for w in 38..100_000 {
            let a = increase(f64::from(w));
            if a > last + 1.0 {
                rows.push((w, a as u32, decrease(f64::from(w))));
                last = a;
            }
        }
        assert_eq!(rows.len(), TABLE.len());
        for (computed, printed) in rows.iter().zip(&TABLE) {
            assert_eq!(f64::from(computed.0), printed.window);
            assert_eq!(f64::from(computed.1), printed.increase);
            assert_eq!(format!("{:.2}", computed.2), format!("{:.2}", printed.decrease));
        }
    }

    #[test]
    fn the_table_has_the_printed_check_points() {
        let check = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
            (1284.0, 9.0, 0.32),
            (1529.0, 10.0, 0.31),
            (3039.0, 15.0, 0.27),
            (5036.0, 20.0, 0.25),
            (7558.0, 25.0, 0.22),
            (10_661.0, 30.0, 0.21),
            (18_955.0, 40.0, 0.18),
            (30_975.0, 50.0, 0.15),
            (48_961.0, 60.0, 0.13),
            (79_517.0, 70.0, 0.10),
            (94_717.0, 73.0, 0.09),
        ];
        for (w, a, b) in check {
            let row = row_from(w);
            assert_eq!((row.window, row.increase, row.decrease), (w, a, b));
        }
    }

    /// [RFC 3649, Table 9]: 100 Mbit/s, 1 Gbit/s and 10 Gbit/s at 1500 bytes and 100 ms.
    #[test]
    fn a_row_holds_from_its_window_on_in_the_example_paths() {
        for (w, a, b) in [(833.0, 6.0, 0.35), (8333.0, 26.0, 0.22), (83_333.0, 70.0, 0.10)] {
            let row = row_from(w);
            assert_eq!((row.increase, row.decrease), (a, b));
        }
    }

    /// Linux's table ends with the row of 89 053 packets.
    #[test]
    fn both_readings_of_the_table_meet_at_a_rows_window() {
        assert_eq!((row_from(118.0).increase, linux_row(118.0).increase), (2.0, 2.0));
        assert_eq!((row_from(119.0).increase, linux_row(118.9).increase), (2.0, 2.0));
        assert_eq!((row_from(119.0).increase, linux_row(119.0).increase), (2.0, 3.0));
        assert_eq!((row_from(1.0).increase, linux_row(1.0).increase), (1.0, 1.0));
        assert_eq!((row_from(1e6).increase, linux_row(1e6).increase), (73.0, 72.0));
    }

    /// Of the 72 numbers in Linux: b(347) = 0.38494 is 98.5 / 256; none comes so near to a whole
    /// number that the rounding of a logarithm could move it.
    #[test]
    fn linux_takes_the_formulas_share_in_whole_1_256() {
        for (w, share) in [
            (38.0, 128.0),
            (118.0, 112.0),
            (221.0, 104.0),
            (347.0, 98.0),
            (851.0, 86.0),
            (2378.0, 72.0),
            (10_661.0, 52.0),
            (31_000.0, 38.0),
            (89_053.0, 24.0),
            (1e6, 24.0),
        ] {
            assert_eq!(linux_decrease(linux_row(w)), share / 256.0, "at {w} packets");
        }
        for row in &TABLE[1..LINUX_ROWS] {
            let off = (256.0 * decrease(row.window)).fract();
            assert!((0.001..0.999).contains(&off), "{off} at {} packets", row.window);
        }
    }

    /// [RFC 3649, Table 6]: the window in round n of congestion avoidance, one packet in round 1.
    #[test]
    fn the_window_grows_as_table_6_prints_it() {
        let mut w = 1.0_f64;
        let mut printed = [
            (100, 131.0),
            (200, 475.0),
            (300, 1131.0),
            (500, 3601.0),
            (1000, 17_409.0),
            (1500, 41_336.0),
            (2000, 72_754.0),
        ]
        .into_iter()
        .peekable();
        for round in 1..=2000 {
            if let Some((_, expected)) = printed.next_if(|row| row.0 == round) {
                assert_eq!(w.trunc(), expected, "in round {round}");
            }
            w += increase(w);
        }
        assert!(printed.next().is_none());
    }
}
