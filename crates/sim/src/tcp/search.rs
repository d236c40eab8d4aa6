//! SEARCH: slow start ends where what is delivered falls behind what was sent one round trip earlier [SEARCH], or, in its
//! authors' module for Linux, behind twice what was delivered a round trip earlier [SEARCH-LINUX].
//!
//! Time is divided into bins of 0.35 initial round trips. At the end of each, what ten bins delivered is compared with what
//! the ten bins one round trip before them had sent; while the window doubles and no queue grows, the two are equal.
//
// Differs from [SEARCH]: whole packets are counted, not bytes.

use fairhaul_cc::AckEvent;
use fairhaul_experiment::SearchVariant;
use fairhaul_units::{Span, Time, real};

/// Bins in a window of comparison, and how many initial round trips it lasts, in tenths.
const WINDOW: u64 = 10;
const TENTHS: u64 = 35;
/// How many bins more a round trip may last than that before nothing is compared.
const EXTRA: u64 = 15;
/// Bins that are kept: a window before the longest round trip, and one to interpolate.
const KEPT: usize = (WINDOW + EXTRA + 1) as usize;
/// The share of what was expected that is missing where slow start ends.
const MISSING: f64 = 0.26;
const MISSING_LINUX: f64 = 0.35;
/// The draft begins anew after more bins without an acknowledgement.
const MOST_MISSED: u64 = 10;

/// Packets sent and delivered up to the end of a bin.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    sent: u64,
    delivered: u64,
}

/// What is compared: the last bin one round trip ago, and the part of it that lies in the bin before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Earlier {
    bin: u64,
    part: f64,
}

/// The first slow start of a connection.
#[derive(Clone, Debug)]
pub struct Search {
    variant: SearchVariant,
    bins: [Totals; KEPT],
    current: u64,
    bin_end: Time,
    /// The length of a bin; zero before the first acknowledgement.
    bin: Span,
    initial_rtt: Span,
    delivered: u64,
}

impl Search {
    /// Before the first acknowledgement.
    pub fn new(variant: SearchVariant) -> Search {
        Search {
            variant,
            bins: [Totals::default(); KEPT],
            current: 0,
            bin_end: Time::ZERO,
            bin: Span::ZERO,
            initial_rtt: Span::ZERO,
            delivered: 0,
        }
    }

    /// Takes an acknowledgement, when `sent` packets have been sent; whether slow start is to end. `limited`: the
    /// application limits the sender.
    pub fn is_over(&mut self, ack: &AckEvent, sent: u64, limited: bool) -> bool {
        self.delivered += ack.packets as u64;
        let totals = Totals { sent, delivered: self.delivered };
        let is_linux = self.variant == SearchVariant::Linux;
        if self.bin.is_zero() {
            self.begin(ack, totals);
            return false;
        }
        if is_linux && limited {
            self.restart(ack.now, totals);
            return false;
        }
        // Unclear in [SEARCH]: whether the end of a bin belongs to it. It does; in the module for Linux it does not.
        if ack.now < self.bin_end || !is_linux && ack.now == self.bin_end {
            return false;
        }
        let passed = ack.now.since(self.bin_end).as_ps() / self.bin.as_ps() + 1;
        // Unclear in [SEARCH]: the draft leaves it open whether missed bins begin anew. They do, with the next
        // acknowledgement, as in neqo; in the module for Linux that is switched off.
        if passed > MOST_MISSED && !is_linux {
            let delivered = self.delivered;
            *self = Search { delivered, ..Search::new(self.variant) };
            return false;
        }
        self.pass(passed, totals);
        self.earlier(ack.rtt).is_some_and(|earlier| self.is_missing(earlier))
    }

    /// What the window comes down to where the queue is to drain; in the module for Linux, by how much it does.
    pub fn target(&self, cwnd: f64) -> f64 {
        let bins_of_rtt = self.initial_rtt.as_ps().div_ceil(self.bin.as_ps().max(1));
        match self.variant {
            SearchVariant::Draft => self.delivered_in(self.current, bins_of_rtt),
            SearchVariant::Linux => cwnd - self.delivered_in(self.current, 2 * bins_of_rtt),
        }
    }

    fn begin(&mut self, ack: &AckEvent, totals: Totals) {
        self.initial_rtt = ack.rtt;
        self.bin = Span::from_ps((ack.rtt * TENTHS / (10 * WINDOW)).as_ps().max(1));
        self.restart(ack.now, totals);
    }

    /// The bins begin anew, of the same length.
    fn restart(&mut self, now: Time, totals: Totals) {
        (self.current, self.bin_end) = (0, now + self.bin);
        self.bins = [totals; KEPT];
    }

    /// A number of bins is over; the skipped ones end with what the last one had.
    fn pass(&mut self, passed: u64, totals: Totals) {
        let last = *self.of(self.current);
        for bin in self.current + 1..(self.current + passed).min(self.current + KEPT as u64) {
            *self.of(bin) = last;
        }
        self.current += passed;
        self.bin_end += self.bin * passed;
        *self.of(self.current) = totals;
    }

    fn of(&mut self, bin: u64) -> &mut Totals {
        &mut self.bins[(bin % KEPT as u64) as usize]
    }

    fn at(&self, bin: u64) -> Totals {
        self.bins[(bin % KEPT as u64) as usize]
    }

    /// What lies one round trip back; `None`: it is warming up, or the round trip is too long for its bins.
    fn earlier(&self, rtt: Span) -> Option<Earlier> {
        let back = rtt.as_ps() / self.bin.as_ps();
        let part = (rtt.as_ps() % self.bin.as_ps()) as f64 / self.bin.as_ps() as f64;
        let bin = self.current.checked_sub(back)?;
        let (least, most) = match self.variant {
            SearchVariant::Draft => (WINDOW + 1, EXTRA),
            SearchVariant::Linux => (WINDOW, EXTRA - 1),
        };
        // With the least bin of Linux the interpolation reads the bin before the first, which is empty as it is there.
        (bin >= least && back < most).then_some(Earlier { bin, part })
    }

    fn is_missing(&self, Earlier { bin, part }: Earlier) -> bool {
        let delivered = self.delivered_in(self.current, WINDOW);
        // Differs from [SEARCH]: the text prints the bin after; the bin before lies a longer time back.
        let mix = |value: fn(Totals) -> u64| {
            let of = |bin: u64| real(value(self.at(bin)) - value(self.at(bin.saturating_sub(WINDOW))));
            part * of(bin - 1) + (1.0 - part) * of(bin)
        };
        let (expected, most) = match self.variant {
            SearchVariant::Draft => (mix(|totals| totals.sent), MISSING),
            SearchVariant::Linux => (2.0 * mix(|totals| totals.delivered), MISSING_LINUX),
        };
        expected > 0.0 && (expected - delivered).max(0.0) / expected >= most
    }

    /// What the last `bins` up to and with `bin` delivered.
    fn delivered_in(&self, bin: u64, bins: u64) -> f64 {
        let kept = bins.min(KEPT as u64 - 1).min(bin);
        real(self.at(bin).delivered - self.at(bin - kept).delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_ms(100);
    const BIN: Span = Span::from_ms(35);

    fn ack(now: Time, packets: f64, rtt: Span) -> AckEvent {
        AckEvent {
            now,
            packets,
            marked: 0.0,
            lost: 0.0,
            rtt,
            srtt: rtt,
            min_rtt: RTT,
            one_way: rtt / 2,
            in_flight: 10.0,
            new_round: false,
            recovering: false,
            window_limited: true,
            rate: None,
        }
    }

    /// After an acknowledgement at time zero.
    fn begun(variant: SearchVariant) -> Search {
        let mut search = Search::new(variant);
        assert!(!search.is_over(&ack(Time::ZERO, 1.0, RTT), 10, false));
        search
    }

    fn draft() -> Search {
        begun(SearchVariant::Draft)
    }

    /// The vectors of neqo: a bin of 100 ms is 35 ms, its end belongs to it, and a nanosecond later the next begins; in the
    /// module for Linux the end is the next one's.
    #[test]
    fn a_bin_of_100_ms_lasts_35_ms() {
        let mut search = draft();
        assert_eq!(search.bin, BIN);
        search.is_over(&ack(Time::ZERO + BIN, 1.0, RTT), 11, false);
        assert_eq!(search.current, 0);
        search.is_over(&ack(Time::ZERO + BIN + Span::from_ps(1000), 1.0, RTT), 12, false);
        assert_eq!((search.current, search.bin_end), (1, Time::ZERO + BIN * 2));
        let mut linux = begun(SearchVariant::Linux);
        linux.is_over(&ack(Time::ZERO + BIN, 1.0, RTT), 11, false);
        assert_eq!(linux.current, 1);
    }

    /// 100 ms are two bins and 30 of 35 ms (0.85 in neqo, which rounds down).
    #[test]
    fn a_round_trip_of_100_ms_lies_two_bins_and_a_part_back() {
        let mut search = draft();
        search.current = 12;
        assert_eq!(search.earlier(RTT), None); // bin 10 is warming up
        search.current = 13;
        let earlier = search.earlier(RTT).expect("warm");
        assert_eq!(earlier.bin, 11);
        assert!((earlier.part - 30.0 / 35.0).abs() < 1e-12);
        search.variant = SearchVariant::Linux;
        search.current = 12;
        assert!(search.earlier(RTT).is_some());
    }

    /// The vector of neqo: at bin 13, the first that is compared, what each bin sent was delivered in it, so nothing is missing.
    #[test]
    fn at_bin_13_nothing_is_missing_where_all_that_was_sent_is_delivered() {
        let mut search = draft();
        assert_eq!(run(&mut search, &[(16, 16); 13]), None);
        assert_eq!(search.current, 13);
        let earlier = search.earlier(RTT).expect("warm");
        assert!(!search.is_missing(earlier));
        // The share that is missing: between the ten bins up to bin 10 and those up to bin 11.
        let sent_in_ten = |bin: u64| search.at(bin).sent - search.at(bin - 10).sent;
        assert_eq!((search.delivered_in(13, 10), sent_in_ten(10), sent_in_ten(11)), (160.0, 160, 160));
    }

    /// 600 ms are 17 bins, 525 ms 15; 14 bins are compared, in Linux 13.
    #[test]
    fn a_round_trip_of_15_bins_is_not_compared() {
        let mut search = draft();
        search.current = 28;
        assert_eq!(search.earlier(Span::from_ms(600)), None);
        assert_eq!(search.earlier(Span::from_ms(525)), None);
        assert!(search.earlier(Span::from_ms(524)).is_some());
        search.variant = SearchVariant::Linux;
        assert_eq!(search.earlier(Span::from_ms(524)), None);
        assert!(search.earlier(Span::from_ms(489)).is_some());
    }

    #[test]
    fn ten_bins_without_an_acknowledgement_are_kept_and_eleven_begin_anew() {
        for (missed, bin) in [(9, BIN), (10, Span::ZERO)] {
            let mut search = draft();
            search.is_over(&ack(Time::ZERO + BIN * (missed + 1) + Span::from_ps(1000), 1.0, RTT), 12, false);
            assert_eq!(search.bin, bin);
        }
    }

    /// Bins after each other in which `sent` is sent and `delivered` delivered; in which one slow start ended.
    fn run(search: &mut Search, bins: &[(u64, u64)]) -> Option<usize> {
        let mut sent = search.at(search.current).sent;
        bins.iter().position(|&(more, delivered)| {
            sent += more;
            let now = search.bin_end + Span::from_ps(1000);
            search.is_over(&ack(now, delivered as f64, RTT), sent, false)
        })
    }

    /// What each bin sends is delivered three bins later, 2^0.35 times as much in each as in the one before: nothing is
    /// missing. The last of ten bins has 23.6 % of what they deliver, the last two 42.1 %: where these deliver a quarter, 18 %
    /// is missing after the first and 32 % after the second.
    #[test]
    fn one_bin_that_delivers_a_quarter_is_forgiven_and_the_second_is_not() {
        let doubled = |bin: u64| libm::round(10.0 * libm::exp2(0.35 * bin as f64)) as u64;
        let steady: Vec<(u64, u64)> = (0..26).map(|bin| (doubled(bin + 3), doubled(bin))).collect();
        let mut search = draft();
        assert_eq!(run(&mut search, &steady), None);
        let quarters: Vec<(u64, u64)> = (26..30).map(|bin| (doubled(bin + 3), doubled(bin) / 4)).collect();
        assert_eq!(run(&mut search, &quarters), Some(1));
    }

    /// Where deliveries stay what they are, ten bins deliver 35 % less than twice what they did before once growth ends.
    #[test]
    fn linux_compares_deliveries_and_forgets_them_where_the_application_limits() {
        let doubled = |bin: u64| libm::round(10.0 * libm::exp2(0.35 * bin as f64)) as u64;
        let steady: Vec<(u64, u64)> = (0..26).map(|bin| (doubled(bin + 3), doubled(bin))).collect();
        let flat = vec![(doubled(26), doubled(26)); 12];
        let mut search = begun(SearchVariant::Linux);
        assert_eq!(run(&mut search, &steady), None);
        let mut limited = search.clone();
        assert!(run(&mut search, &flat).is_some());
        assert!(!limited.is_over(&ack(limited.bin_end, 1.0, RTT), 0, true));
        assert_eq!((limited.current, limited.bin), (0, BIN));
        assert_eq!(run(&mut limited, &flat[..10]), None);
    }

    /// 20 packets in each of the last three bins, which are a round trip.
    #[test]
    fn the_window_may_come_down_to_what_a_round_trip_delivered() {
        let mut search = draft();
        run(&mut search, &[(20, 20); 8]);
        assert_eq!(search.target(400.0), 60.0);
        search.variant = SearchVariant::Linux;
        assert_eq!(search.target(400.0), 280.0);
    }
}
