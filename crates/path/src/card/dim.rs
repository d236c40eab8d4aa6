//! Dynamic interrupt moderation [LINUX, net_dim]: after every 64 interrupts the kernel compares what has arrived since with what
//! arrived in the 64 before, and steps through the profiles of a driver in the direction that made it better: more bytes,
//! else more packets, else fewer interrupts, each by more than 10 %. When a step makes nothing better it turns around, and
//! it stays where it has found the best, or when it has made many steps, for a time.
//
// Differs from [LINUX, net_dim]: a new profile holds from the interrupt on that has led to it, where the kernel sets it in a
// work queue.

use fairhaul_units::{Span, Time};

/// A driver whose cards are moderated so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DimDriver {
    /// E810: the least time from interrupt to interrupt.
    Ice,
    /// ConnectX-4 Lx and later, which count from the last packet ("CQE", the default where the card can do it): an
    /// interrupt when no packet has come for a time, or when there are that many.
    Mlx5,
}

/// The settings of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    pub interval: Span,
    /// The most packets that the card collects.
    pub packets: u64,
}

const fn profile(us: u64, packets: u64) -> Profile {
    Profile { interval: Span::from_us(us), packets }
}

/// No limit of packets.
const ANY: u64 = u64::MAX;

/// The profiles of a driver [LINUX, ice_main.c, NET_DIM_RX_CQE_PROFILES]. ice never interrupts more often than every 4 us
/// [LINUX, ice_set_q_vector_intrl], so its first profile of 2 us has that interval.
static ICE: [Profile; 5] =
    [profile(4, ANY), profile(8, ANY), profile(16, ANY), profile(62, ANY), profile(126, ANY)];
static MLX5: [Profile; 5] =
    [profile(2, 256), profile(8, 128), profile(16, 64), profile(32, 64), profile(64, 64)];

/// The profile with which both drivers begin.
const FIRST: usize = 1;
/// Interrupts between two decisions (DIM_NEVENTS).
const INTERRUPTS: u64 = 64;
/// Steps after which it rests (twice the number of profiles).
const MOST_STEPS: u8 = 10;
/// A measurement that is older begins anew with ice.
const STALE: Span = Span::from_ms(1000);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Dim {
    driver: DimDriver,
    profile: usize,
    tuning: Tuning,
    /// Steps since it last turned, and since it last rested.
    steps_right: u8,
    steps_left: u8,
    tired: u8,
    previous: Rates,
    /// When the measurement began; `None`: it begins with the next interrupt.
    since: Option<Time>,
    /// What has come since.
    interrupts: u64,
    packets: u64,
    bytes: u64,
}

/// What it is doing; right is towards longer intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tuning {
    /// It stays at the best profile until the traffic changes.
    ParkedOnTop,
    /// It stays until that many decisions have passed as it had made steps.
    ParkedTired,
    Right,
    Left,
}

/// Packets, bytes and interrupts per millisecond, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rates {
    packets: u64,
    bytes: u64,
    interrupts: u64,
}

/// How something compares with what was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Better,
    Same,
    Worse,
}

impl DimDriver {
    /// Its word in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            DimDriver::Ice => "ice",
            DimDriver::Mlx5 => "mlx5",
        }
    }

    fn profiles(self) -> &'static [Profile; 5] {
        match self {
            DimDriver::Ice => &ICE,
            DimDriver::Mlx5 => &MLX5,
        }
    }
}

impl Dim {
    pub(super) fn new(driver: DimDriver) -> Dim {
        Dim {
            driver,
            profile: FIRST,
            tuning: Tuning::ParkedOnTop,
            steps_right: 0,
            steps_left: 0,
            tired: 0,
            previous: Rates::default(),
            since: None,
            interrupts: 0,
            packets: 0,
            bytes: 0,
        }
    }

    pub(super) fn driver(&self) -> DimDriver {
        self.driver
    }

    pub(super) fn profile(&self) -> Profile {
        self.driver.profiles()[self.profile]
    }

    /// An interrupt at `now` has handed over packets. With a new profile the next one begins a measurement.
    pub(super) fn handed_over(&mut self, now: Time, packets: u64, bytes: u64) {
        let stale = |since| self.driver == DimDriver::Ice && now.since(since) >= STALE;
        let Some(since) = self.since.filter(|&since| !stale(since)) else { return self.measure(now) };
        self.interrupts += 1;
        self.packets += packets;
        self.bytes += bytes;
        if self.interrupts < INTERRUPTS {
            return;
        }
        // The kernel counts whole microseconds.
        let us = now.since(since).as_ps() / 1_000_000;
        if us == 0 {
            return;
        }
        let rate = |count: u64| (count * 1000).div_ceil(us);
        let rates =
            Rates { packets: rate(self.packets), bytes: rate(self.bytes), interrupts: rate(INTERRUPTS) };
        let profile = self.profile;
        self.decide(rates);
        if self.profile == profile {
            self.measure(now);
        } else {
            self.since = None;
        }
    }

    fn measure(&mut self, now: Time) {
        (self.since, self.interrupts, self.packets, self.bytes) = (Some(now), 0, 0, 0);
    }

    fn decide(&mut self, rates: Rates) {
        let before = self.tuning;
        match self.tuning {
            Tuning::ParkedOnTop => {
                if rates.compared_with(&self.previous) != Change::Same {
                    self.leave();
                }
            }
            Tuning::ParkedTired => {
                self.tired -= 1;
                if self.tired == 0 {
                    self.leave();
                }
            }
            Tuning::Right | Tuning::Left => {
                if rates.compared_with(&self.previous) != Change::Better {
                    self.turn();
                }
                if self.is_on_top() || !self.can_step() {
                    self.park(Tuning::ParkedOnTop);
                } else if self.tired == MOST_STEPS {
                    self.park(Tuning::ParkedTired);
                } else {
                    self.step();
                }
            }
        }
        if before != Tuning::ParkedOnTop || self.tuning != Tuning::ParkedOnTop {
            self.previous = rates;
        }
    }

    /// It has turned after several steps and has gone back by one: the best profile lies there.
    fn is_on_top(&self) -> bool {
        match self.tuning {
            Tuning::Right => self.steps_left > 1 && self.steps_right == 1,
            Tuning::Left => self.steps_right > 1 && self.steps_left == 1,
            Tuning::ParkedOnTop | Tuning::ParkedTired => true,
        }
    }

    fn turn(&mut self) {
        match self.tuning {
            Tuning::Right => (self.tuning, self.steps_left) = (Tuning::Left, 0),
            Tuning::Left => (self.tuning, self.steps_right) = (Tuning::Right, 0),
            Tuning::ParkedOnTop | Tuning::ParkedTired => {}
        }
    }

    fn park(&mut self, tuning: Tuning) {
        (self.tuning, self.steps_right, self.steps_left) = (tuning, 0, 0);
        if tuning == Tuning::ParkedOnTop {
            self.tired = 0;
        }
    }

    fn leave(&mut self) {
        self.tuning = if self.profile > 0 { Tuning::Left } else { Tuning::Right };
        if self.tired < MOST_STEPS {
            self.step();
        }
    }

    /// Whether there is a profile further in its direction.
    fn can_step(&self) -> bool {
        let last = self.driver.profiles().len() - 1;
        self.tired == MOST_STEPS
            || if self.tuning == Tuning::Right { self.profile < last } else { self.profile > 0 }
    }

    fn step(&mut self) {
        if self.tuning == Tuning::Right {
            (self.profile, self.steps_right) = (self.profile + 1, self.steps_right + 1);
        } else {
            (self.profile, self.steps_left) = (self.profile - 1, self.steps_left + 1);
        }
        self.tired += 1;
    }
}

impl Rates {
    fn compared_with(&self, previous: &Rates) -> Change {
        // Nothing is better only than nothing at all.
        let first = |now: u64| if now > 0 { Change::Better } else { Change::Same };
        if previous.bytes == 0 {
            return first(self.bytes);
        }
        if differs(self.bytes, previous.bytes) {
            return if self.bytes > previous.bytes { Change::Better } else { Change::Worse };
        }
        if previous.packets == 0 {
            return first(self.packets);
        }
        if differs(self.packets, previous.packets) {
            return if self.packets > previous.packets { Change::Better } else { Change::Worse };
        }
        if !differs(self.interrupts, previous.interrupts) {
            return Change::Same;
        }
        if self.interrupts < previous.interrupts { Change::Better } else { Change::Worse }
    }
}

/// Whether a rate differs from another by more than 10 %.
fn differs(rate: u64, from: u64) -> bool {
    from > 0 && 100 * rate.abs_diff(from) / from > 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interrupts every `interval`, each with that many packets of 1500 B, until the next decision; the profile then.
    fn decides(dim: &mut Dim, now: &mut Time, interval: Span, packets: u64) -> usize {
        for _ in 0..INTERRUPTS + u64::from(dim.since.is_none()) {
            *now += interval;
            dim.handed_over(*now, packets, 1500 * packets);
        }
        dim.profile
    }

    /// The profiles after each decision while packets come every `gap` and each interrupt waits for the interval.
    fn steady(dim: &mut Dim, now: &mut Time, gap: Span, count: usize) -> Vec<usize> {
        let decide = |_| {
            let interval = dim.profile().interval.max(gap);
            decides(dim, now, interval, (interval / gap.as_ps()).as_ps().max(1))
        };
        (0..count).map(decide).collect()
    }

    /// It begins with a step to shorter intervals. Interrupts every 4 instead of 8 us are no better, so it turns, and every
    /// longer interval has fewer interrupts, up to the longest, where it stays.
    #[test]
    fn at_a_steady_rate_the_interval_grows_to_the_longest() {
        let (mut dim, mut now) = (Dim::new(DimDriver::Ice), Time::ZERO);
        let profiles = steady(&mut dim, &mut now, Span::from_us(1), 8);
        // 0 is the step out of the first stay; from 0 it can only go right.
        assert_eq!(profiles, [0, 1, 2, 3, 4, 4, 4, 4]);
        assert_eq!(dim.tuning, Tuning::ParkedOnTop);
    }

    /// Where packets come every 20 us, the intervals of 4, 8 and 16 us all have an interrupt for each: nothing gets better, and
    /// it turns back and forth until it has made ten steps, of which it then rests.
    #[test]
    fn where_no_step_is_better_it_gets_tired() {
        let (mut dim, mut now) = (Dim::new(DimDriver::Ice), Time::ZERO);
        let profiles = steady(&mut dim, &mut now, Span::from_us(20), 12);
        assert_eq!(profiles[..10], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!((dim.tuning, profiles[11]), (Tuning::ParkedTired, 1));
        // Ten decisions later it goes on.
        assert_eq!(steady(&mut dim, &mut now, Span::from_us(20), 9).last(), Some(&0));
    }

    /// On top it stays as long as bytes, packets and interrupts differ by at most 10 %.
    #[test]
    fn a_change_of_the_traffic_ends_the_stay() {
        let (mut dim, mut now) = (Dim::new(DimDriver::Mlx5), Time::ZERO);
        steady(&mut dim, &mut now, Span::from_us(1), 6);
        assert_eq!((dim.profile, dim.tuning), (4, Tuning::ParkedOnTop));
        assert_eq!(decides(&mut dim, &mut now, Span::from_us(64), 60), 4);
        assert_eq!(decides(&mut dim, &mut now, Span::from_us(64), 40), 3);
    }

    #[test]
    fn a_measurement_of_ice_that_is_a_second_old_begins_anew() {
        for (driver, profile) in [(DimDriver::Ice, FIRST), (DimDriver::Mlx5, FIRST - 1)] {
            let mut dim = Dim::new(driver);
            let at = |us: u64| Time::ZERO + Span::from_us(us);
            (0..64).for_each(|number| dim.handed_over(at(10 * number), 1, 1500));
            dim.handed_over(at(1_000_000), 1, 1500);
            assert_eq!(dim.profile, profile);
        }
    }

    #[test]
    fn a_difference_counts_from_11_percent_on() {
        assert_eq!([109, 110, 111, 89].map(|rate| differs(rate, 100)), [false, false, true, true]);
        assert!(!differs(5, 0));
    }
}
