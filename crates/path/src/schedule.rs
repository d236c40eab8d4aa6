//! A link whose rate, delay or loss changes during a run.
//!
//! The changes are known in advance, so the passage of a packet stays arithmetic: its last bit leaves when the
//! rate, summed over time from its first bit, has reached its size.

use std::sync::Arc;

use fairhaul_units::{Bytes, Rate, Span, Time};

use crate::impair::LossRule;
use crate::token_bucket::{BucketRule, TokenBucket};

/// Work is counted in bits per second times picoseconds: all sums are exact.
pub const WORK_PER_BYTE: u128 = 8_000_000_000_000;

/// What changes on a link; by default nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The rate from the start on, where it changes.
    pub rates: Option<Arc<Rates>>,
    /// From when on the delay is another, ascending.
    pub delays: Vec<(Time, Span)>,
    /// From when on other data packets are lost behind the queue, ascending.
    pub losses: Vec<(Time, LossRule)>,
}

impl Schedule {
    /// Whether nothing changes.
    pub fn is_none(&self) -> bool {
        *self == Schedule::default()
    }

    /// Whether the delay, at first `delay`, ever falls: what leaves later may then arrive earlier.
    pub fn disorders(&self, delay: Span) -> bool {
        let before = std::iter::once(delay).chain(self.delays.iter().map(|change| change.1));
        self.delays.iter().zip(before).any(|(change, before)| change.1 < before)
    }
}

/// A rate over time, in pieces in which it is constant; the whole may repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    pieces: Vec<Piece>,
    lap: Option<Lap>,
}

/// The rate of a link over a run, whether it changes or not.
#[derive(Clone, Debug)]
pub struct LinkRate {
    rate: Rate,
    rates: Option<Arc<Rates>>,
}

impl LinkRate {
    /// Of a link of that rate; the rates of `schedule` hold instead, if there are any.
    pub fn new(rate: Rate, schedule: &Schedule) -> LinkRate {
        LinkRate { rate, rates: schedule.rates.clone() }
    }

    /// What can be sent from `from` to `to`, in the unit of [`WORK_PER_BYTE`].
    pub fn work_between(&self, from: Time, to: Time) -> u128 {
        match &self.rates {
            None => u128::from(self.rate.as_bps()) * u128::from((to - from).as_ps()),
            Some(rates) => rates.work_between(from, to),
        }
    }
}

/// From `at` on, until the next piece begins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    at: Span,
    /// Zero in an outage.
    bps: u64,
    /// What the pieces before it can do.
    before: u128,
}

/// After `span`, in which the pieces can do `work`, the first begins again.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lap {
    span: Span,
    work: u128,
}

impl Rates {
    /// From each of these times on that rate, none in an outage; the times ascend from zero. After
    /// `lap`, which is longer than the last of them, all begins again; without it the last rate stays.
    pub fn new(steps: &[(Span, Option<Rate>)], lap: Option<Span>) -> Rates {
        assert!(steps.first().is_some_and(|step| step.0.is_zero()), "there is a rate from the start on");
        assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "times ascend");
        let mut pieces: Vec<Piece> = Vec::with_capacity(steps.len());
        for &(at, rate) in steps {
            let before = pieces.last().map_or(0, |last| last.until(at));
            pieces.push(Piece { at, bps: rate.map_or(0, Rate::as_bps), before });
        }
        let last = pieces[pieces.len() - 1];
        assert!(lap.is_none_or(|span| span > last.at), "a lap ends behind its last step");
        Rates { lap: lap.map(|span| Lap { span, work: last.until(span) }), pieces }
    }

    /// From when on which rate, in bits per second.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = (Span, u64)> {
        self.pieces.iter().map(|piece| (piece.at, piece.bps))
    }

    /// After which time all begins again.
    pub fn lap(&self) -> Option<Span> {
        self.lap.map(|lap| lap.span)
    }

    /// The fastest rate; `None` where nothing is ever sent.
    pub fn fastest(&self) -> Option<Rate> {
        self.pieces.iter().filter_map(|piece| Rate::from_bps(piece.bps)).max()
    }

    /// The mean over a lap, rounded down to bits per second; `None` where that is none, or nothing
    /// repeats.
    pub fn mean(&self) -> Option<Rate> {
        let lap = self.lap?;
        Rate::from_bps((lap.work / u128::from(lap.span.as_ps())) as u64)
    }

    /// What can be sent from `from` to `to`, in the unit of [`WORK_PER_BYTE`].
    pub fn work_between(&self, from: Time, to: Time) -> u128 {
        self.work_until(to) - self.work_until(from)
    }

    fn work_until(&self, time: Time) -> u128 {
        let (laps, within) = self.place(time);
        let done = self.lap.map_or(0, |lap| lap.work) * u128::from(laps);
        done + self.pieces[self.piece(within)].until(within)
    }

    /// The time when this amount of work, which is above zero, has been done.
    fn time_of(&self, work: u128) -> Time {
        let laps = match self.lap {
            Some(Lap { work: 0, .. }) => return Time::NEVER,
            Some(lap) => (work - 1) / lap.work,
            None => 0,
        };
        let rest = work - laps * self.lap.map_or(0, |lap| lap.work);
        let piece = self.pieces[self.pieces.partition_point(|piece| piece.before < rest) - 1];
        if piece.bps == 0 {
            return Time::NEVER; // the outage at the end
        }
        let within = u128::from(piece.at.as_ps()) + (rest - piece.before).div_ceil(piece.bps.into());
        let span = laps * u128::from(self.lap.map_or(0, |lap| lap.span.as_ps())) + within;
        u64::try_from(span).map_or(Time::NEVER, Time::from_ps)
    }

    /// The laps before `time`, and the time since the last of them.
    fn place(&self, time: Time) -> (u64, Span) {
        let since = time - Time::ZERO;
        self.lap.map_or((0, since), |lap| (since / lap.span, since % lap.span))
    }

    /// The index of the piece at a time within a lap.
    fn piece(&self, within: Span) -> usize {
        self.pieces.partition_point(|piece| piece.at <= within) - 1
    }

    /// The rate at `time`, and until when it stays.
    fn at(&self, time: Time) -> (Option<Rate>, Time) {
        let (_, within) = self.place(time);
        let index = self.piece(within);
        let ends = match self.pieces.get(index + 1) {
            Some(next) => Some(next.at),
            None => self.lap.map(|lap| lap.span),
        };
        let until = ends.map_or(Time::NEVER, |ends| time + (ends - within));
        (Rate::from_bps(self.pieces[index].bps), until)
    }
}

impl Piece {
    /// The work of all pieces until `within` this one.
    fn until(self, within: Span) -> u128 {
        self.before + u128::from(self.bps) * u128::from((within - self.at).as_ps())
    }
}

/// A link's wire whose rate and delay follow a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rates: Arc<Rates>,
    /// The rate where the last packet began, and until when it stays.
    rate: Option<Rate>,
    until: Time,
    delay: Span,
    /// Changes of the delay, of which the first `changed` are behind.
    delays: Vec<(Time, Span)>,
    changed: usize,
    busy_until: Time,
    occupied: Span,
    shaper: Option<TokenBucket>,
}

impl Pace {
    /// What follows `schedule` behind a shaper, instead of a wire of that rate and delay; `None` where neither
    /// changes and there is no shaper.
    pub(crate) fn following(
        rate: Rate,
        delay: Span,
        schedule: &Schedule,
        shaper: Option<BucketRule>,
    ) -> Option<Box<Pace>> {
        let differs = schedule.rates.is_some() || !schedule.delays.is_empty() || shaper.is_some();
        let shaper = shaper.map(TokenBucket::new);
        differs.then(|| Box::new(Pace { shaper, ..Pace::new(rate, delay, schedule) }))
    }

    /// An idle wire, at first of that rate and that delay.
    pub(crate) fn new(rate: Rate, delay: Span, schedule: &Schedule) -> Pace {
        let rates = schedule.rates.clone();
        let rates = rates.unwrap_or_else(|| Arc::new(Rates::new(&[(Span::ZERO, Some(rate))], None)));
        let (rate, until) = rates.at(Time::ZERO);
        Pace {
            rates,
            rate,
            until,
            delay,
            delays: schedule.delays.clone(),
            changed: 0,
            busy_until: Time::ZERO,
            occupied: Span::ZERO,
            shaper: None,
        }
    }

    /// Sends a packet of `size` offered at `now`, which must not run backwards: when its last bit
    /// leaves, and when it is at the other end. Behind an outage without end it never leaves.
    pub(crate) fn send(&mut self, size: u32, now: Time) -> (Time, Time) {
        let mut begins = self.busy_until.max(now);
        if let Some(shaper) = &mut self.shaper
            && begins != Time::NEVER
        {
            begins = shaper.wait(Bytes(size.into()), begins);
        }
        let departs = self.departs(size, begins);
        self.occupied = departs - begins;
        self.busy_until = departs;
        while let Some(&(at, delay)) = self.delays.get(self.changed)
            && at <= departs
        {
            self.delay = delay;
            self.changed += 1;
        }
        (departs, departs + self.delay)
    }

    /// What it can carry at `now`; `None`: nothing.
    pub(crate) fn rate(&self, now: Time) -> Option<Rate> {
        let rate = self.rates.at(now).0;
        rate.map(|rate| self.shaper.as_ref().map_or(rate, |shaper| shaper.rate().min(rate)))
    }

    /// When the last packet has left.
    pub(crate) fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// How long the last packet occupied the link: from when it had its tokens, outages included.
    pub(crate) fn occupied(&self) -> Span {
        self.occupied
    }

    /// When the last bit of a packet leaves whose first leaves at `begins`, or after the outage then.
    fn departs(&mut self, size: u32, begins: Time) -> Time {
        if begins == Time::NEVER {
            return begins;
        }
        if begins >= self.until {
            (self.rate, self.until) = self.rates.at(begins);
        }
        let bytes = Bytes(size.into());
        match self.rate.map(|rate| begins + rate.on_wire(bytes)) {
            Some(departs) if departs <= self.until => departs,
            _ => self.rates.time_of(self.rates.work_until(begins) + u128::from(bytes.0) * WORK_PER_BYTE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + self::ms(ms)
    }

    /// At each of these milliseconds that many Mbit/s; 8 Mbit/s are a packet of 1000 B in 1 ms.
    fn rates(steps: &[(u64, u64)], lap: Option<u64>) -> Rates {
        let step = |&(at, mbps): &(u64, u64)| (ms(at), Rate::from_bps(mbps * 1_000_000));
        Rates::new(&steps.iter().map(step).collect::<Vec<_>>(), lap.map(ms))
    }

    fn pace(steps: &[(u64, u64)], lap: Option<u64>) -> Pace {
        let schedule = Schedule { rates: Some(Arc::new(rates(steps, lap))), ..Schedule::default() };
        Pace::new(Rate::from_bps(1).expect("not zero"), Span::ZERO, &schedule)
    }

    /// When packets of 1000 B leave that are offered at these milliseconds, in microseconds.
    fn departures(pace: &mut Pace, offered: &[u64]) -> Vec<u64> {
        let us = |time: Time| time.as_ps() / 1_000_000;
        offered.iter().map(|&ms| us(pace.send(1000, at(ms)).0)).collect()
    }

    #[test]
    fn a_packet_that_straddles_a_change_leaves_its_first_half_at_one_rate_and_the_rest_at_the_other() {
        // Two packets at 8 Mbit/s until 2 ms, the third at 4 Mbit/s takes 2 ms. One offered at 5.5 ms straddles
        // the change at 6 ms: 2000 bit by then; the other 6000 at 16 Mbit/s take 0.375 ms.
        let mut pace = pace(&[(0, 8), (2, 4), (6, 16)], None);
        assert_eq!(departures(&mut pace, &[0, 0, 0]), [1000, 2000, 4000]);
        let begins = Time::ZERO + Span::from_us(5500);
        assert_eq!(pace.send(1000, begins).0, Time::ZERO + Span::from_us(6375));
        assert_eq!(pace.occupied(), Span::from_us(875));
    }

    #[test]
    fn a_queue_drains_half_as_fast_at_half_the_rate() {
        // Ten packets at 8 Mbit/s take 10 ms; with half the rate from 4 ms on the other six take 12.
        let last = |steps| departures(&mut pace(steps, None), &[0; 10])[9];
        assert_eq!((last(&[(0, 8)]), last(&[(0, 8), (4, 4)])), (10_000, 16_000));
    }

    #[test]
    fn what_is_offered_in_an_outage_leaves_when_it_is_over() {
        // The first is half through at 1.5 s, when 2 s without a link begin; its other half takes 0.5 ms.
        let mut pace = pace(&[(0, 8), (1500, 0), (3500, 8)], None);
        let begins = Time::ZERO + Span::from_us(1_499_500);
        assert_eq!(pace.send(1000, begins).0, Time::ZERO + Span::from_us(3_500_500));
        assert_eq!(departures(&mut pace, &[1500, 3000, 4000]), [3_501_500, 3_502_500, 4_001_000]);
    }

    #[test]
    fn behind_an_outage_without_end_nothing_leaves() {
        let mut pace = pace(&[(0, 8), (2, 0)], None);
        assert_eq!(departures(&mut pace, &[0, 0])[1], 2000);
        assert_eq!(pace.send(1000, at(1)), (Time::NEVER, Time::NEVER));
        assert_eq!(pace.send(1000, at(9)), (Time::NEVER, Time::NEVER));
        assert_eq!(rates(&[(0, 0)], Some(5)).time_of(1), Time::NEVER);
    }

    #[test]
    fn laps_repeat_and_long_silences_cost_nothing() {
        // A packet in each lap of 4 ms, in its first ms.
        let mut pace = pace(&[(0, 8), (1, 0)], Some(4));
        assert_eq!(departures(&mut pace, &[0, 0, 0, 10]), [1000, 5000, 9000, 13_000]);
        // A million packets of which each takes a lap: the last is through 1 ms into its lap.
        let whole = pace.rates.time_of(1_000_000 * 1000 * WORK_PER_BYTE);
        assert_eq!(whole, at(4 * 999_999 + 1));
        let late = Time::ZERO + Span::from_s(8_000_000);
        assert_eq!(pace.send(1000, late).0, late + ms(1));
    }

    #[test]
    fn behind_a_shaper_a_burst_leaves_at_the_rate_of_the_link_and_the_rest_at_that_of_the_bucket() {
        // Of 8 Mbit/s: 1 ms a packet; the bucket holds 3 and gets one each 4 ms, so it is empty after the fourth.
        let rate = |mbps: u64| Rate::from_bps(mbps * 1_000_000).expect("not zero");
        let rule = BucketRule { rate: rate(2), burst: Bytes(3000) };
        let mut pace =
            Pace::following(rate(8), Span::ZERO, &Schedule::default(), Some(rule)).expect("a shaper");
        // Tokens at 4, 8, 12 ms; the packet leaves 1 ms later. The wait for tokens does not occupy the link.
        assert_eq!(departures(&mut pace, &[0; 6]), [1000, 2000, 3000, 5000, 9000, 13_000]);
        assert_eq!((pace.occupied(), pace.rate(at(0))), (ms(1), Some(rate(2))));
        assert_eq!(departures(&mut pace, &[100, 100, 100, 100]), [101_000, 102_000, 103_000, 105_000]);
    }

    #[test]
    fn what_can_be_sent_is_the_integral_of_the_rate() {
        // 1 ms of 8 Mbit/s in each 4 ms: 1000 B; from 3.5 to 8.5 ms the lap from 4 ms and half of that from 8.
        let rates = rates(&[(0, 8), (1, 0)], Some(4));
        let us = |us| Time::ZERO + Span::from_us(us);
        assert_eq!(rates.work_between(us(3500), us(8500)), 1500 * WORK_PER_BYTE);
        assert_eq!(rates.fastest(), Rate::from_bps(8_000_000));
    }

    #[test]
    fn a_packet_takes_the_delay_that_holds_when_it_leaves() {
        let delays = vec![(at(2), ms(30)), (at(4), ms(5))];
        let schedule = Schedule { delays, ..Schedule::default() };
        let mut pace = Pace::new(Rate::from_bps(8_000_000).expect("not zero"), ms(10), &schedule);
        let arrives: Vec<Time> = (0..4).map(|_| pace.send(1000, at(0)).1).collect();
        assert_eq!(arrives, [at(11), at(32), at(33), at(9)]);
        assert!(schedule.disorders(ms(10)));
        assert!(!Schedule { delays: vec![(at(2), ms(30))], ..Schedule::default() }.disorders(ms(10)));
        assert!(Schedule { delays: vec![(at(2), ms(30))], ..Schedule::default() }.disorders(ms(31)));
    }

    proptest! {
        #[test]
        fn work_and_time_are_each_others_inverse(
            steps in proptest::collection::btree_map(1u64..50, 0u64..9, 0..6),
            first in 0u64..9,
            lap in proptest::option::of(50u64..90),
            work in 1u64..u64::MAX,
        ) {
            let steps: Vec<(u64, u64)> = std::iter::once((0, first)).chain(steps).collect();
            let rates = rates(&steps, lap);
            let work = u128::from(work);
            let time = rates.time_of(work);
            if time != Time::NEVER {
                prop_assert!(rates.work_until(time) >= work);
                prop_assert!(rates.work_until(Time::from_ps(time.as_ps() - 1)) < work);
            }
        }
    }
}
