//! When the card of a receiver may interrupt.

use fairhaul_units::{Span, Time};

use super::dim::{Dim, DimDriver};

/// When a card interrupts: mostly the least time between two interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moderation {
    /// That time.
    Every(Span),
    /// A time that follows the traffic, by the rule of ixgbe and i40e at 10 Gbit/s.
    Adaptive {
        /// No interval is shorter.
        shortest: Span,
    },
    /// A time that follows the traffic, by the rule of the kernel and the profiles of a driver.
    Dim(DimDriver),
}

impl Moderation {
    /// A card that interrupts for every packet.
    pub const NONE: Moderation = Moderation::Every(Span::ZERO);
}

impl Default for Moderation {
    fn default() -> Moderation {
        Moderation::NONE
    }
}

/// The interval with which an adaptive card begins, its upper bound, and its step upwards [LINUX, ixgbe].
const FIRST: Span = Span::from_us(50);
const LONGEST: Span = Span::from_us(126);
const STEP: Span = Span::from_us(2);
/// After this pause a card begins anew: a tick of 250 Hz.
const PAUSE: Span = Span::from_ms(4);

/// The interrupts of a card.
#[derive(Clone, Debug)]
pub struct Interrupts {
    rule: Moderation,
    interval: Span,
    last: Time,
    ready: Time,
    dim: Option<Box<Dim>>,
    /// Of a card whose time counts from the last packet.
    collected: Option<Collected>,
}

/// What a card has collected that interrupts when no packet has come for a time, or when there are enough.
#[derive(Clone, Copy, Debug)]
struct Collected {
    pause: Span,
    most: u64,
    packets: u64,
    /// When the last packet came, unless an earlier one ends the collection.
    last: Time,
    /// When it is complete, once that is known.
    complete: Option<Time>,
}

impl Collected {
    /// A collection that begins.
    fn new(dim: &Dim) -> Option<Collected> {
        let profile = dim.profile();
        (dim.driver() == DimDriver::Mlx5).then_some(Collected {
            pause: profile.interval,
            most: profile.packets,
            packets: 0,
            last: Time::ZERO,
            complete: None,
        })
    }

    /// Packets come, the first of them at `at` and the others with that `spacing`.
    fn add(&mut self, at: Time, packets: u64, spacing: Span) {
        if self.complete.is_some() {
            return;
        }
        if self.packets > 0 && self.last + self.pause <= at {
            self.complete = Some(self.last + self.pause);
        } else if packets > 1 && spacing >= self.pause {
            self.complete = Some(at + self.pause);
        } else if self.packets + packets >= self.most {
            self.complete = Some(at + spacing * (self.most - self.packets - 1));
        } else {
            self.packets += packets;
            self.last = at + spacing * (packets - 1);
        }
    }

    fn due(&self) -> Time {
        self.complete.unwrap_or(self.last + self.pause)
    }
}

impl Interrupts {
    /// A card that has not interrupted yet.
    pub fn new(rule: Moderation) -> Interrupts {
        let dim = if let Moderation::Dim(driver) = rule { Some(Box::new(Dim::new(driver))) } else { None };
        let interval = match rule {
            Moderation::Every(interval) => interval,
            Moderation::Adaptive { .. } => FIRST,
            Moderation::Dim(_) => Span::ZERO,
        };
        let collected = dim.as_deref().and_then(Collected::new);
        Interrupts { rule, interval, last: Time::ZERO, ready: Time::ZERO, dim, collected }
    }

    /// Packets come into the ring behind the others, the first of them at `at` and the rest with that `spacing`.
    #[inline(always)]
    pub fn arrive(&mut self, at: Time, packets: u64, spacing: Span) {
        if let Some(collected) = &mut self.collected {
            collected.add(at, packets, spacing);
        }
    }

    /// When the next interrupt is, of a ring whose first packet came at `first`.
    #[inline(always)]
    pub fn due(&self, first: Time) -> Time {
        self.collected.as_ref().map_or(first, Collected::due).max(self.ready)
    }

    /// What an interrupt has left in the ring counts for the next one: when it came, and how many packets it is.
    #[inline(always)]
    pub fn keep(&mut self, ring: impl Iterator<Item = (Time, u64)>, spacing: Span) {
        if let Some(collected) = &mut self.collected {
            ring.for_each(|(at, packets)| collected.add(at, packets, spacing));
        }
    }

    /// One at `now` has handed over packets, and its host works on them for a time.
    pub fn handed_over(&mut self, now: Time, packets: u64, bytes: u64, work: Span) {
        match (self.rule, &mut self.dim) {
            (Moderation::Adaptive { shortest }, _) => {
                let adapted =
                    if now.since(self.last) > PAUSE { shortest } else { self.adapted(packets, bytes) };
                self.interval = adapted.max(shortest);
            }
            (_, Some(dim)) => {
                dim.handed_over(now, packets, bytes);
                self.collected = Collected::new(dim);
                // Where the time counts from the last packet, the card may interrupt at any time.
                self.interval = if self.collected.is_some() { Span::ZERO } else { dim.profile().interval };
            }
            _ => {}
        }
        self.last = now;
        self.ready = now + self.interval.max(work);
    }

    /// The interval after packets of one interrupt [LINUX, ixgbe_update_itr]: a step longer as long as an interrupt collects
    /// fewer than 48 packets, half as long from 96 on, and for fewer than four packets by their size.
    fn adapted(&self, packets: u64, bytes: u64) -> Span {
        match packets {
            1..4 if bytes < 9000 => by_size(bytes / packets),
            ..48 => (self.interval + STEP).min(LONGEST),
            48..96 => self.interval,
            _ => self.interval / 2,
        }
    }
}

/// The interval for few packets of that size, so that small ones are handed over soon: 512 parts are one step.
fn by_size(size: u64) -> Span {
    let parts = match size {
        0..=60 => 5120,
        61..=316 => 40 * size + 2720,
        317..=1084 => 15 * size + 11_452,
        1085..=1968 => 5 * size + 22_420,
        _ => 32_256,
    };
    STEP * (parts / 2).div_ceil(512)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    #[test]
    fn an_interval_counts_from_the_last_interrupt_and_work_can_make_it_longer() {
        let mut interrupts = Interrupts::new(Moderation::Every(us(50)));
        assert_eq!(interrupts.due(Time::ZERO), Time::ZERO);
        interrupts.handed_over(Time::ZERO + us(100), 3, 4500, us(7));
        assert_eq!(interrupts.due(Time::ZERO), Time::ZERO + us(150));
        interrupts.handed_over(Time::ZERO + us(150), 90, 135_000, us(70));
        assert_eq!(interrupts.due(Time::ZERO), Time::ZERO + us(220));
    }

    /// At 10 Gbit/s an interval of 9000 B never collects 48 packets, so it grows to its bound, 17 packets; an acknowledgement
    /// gets 12 us, and a pause begins anew.
    #[test]
    fn an_adaptive_card_follows_the_traffic() {
        let mut interrupts = Interrupts::new(Moderation::Adaptive { shortest: us(10) });
        let mut now = Time::ZERO;
        for _ in 0..60 {
            let packets = (interrupts.interval.as_secs() / 7.2e-6) as u64;
            interrupts.handed_over(now, packets, 9000 * packets, Span::ZERO);
            now = interrupts.due(Time::ZERO);
        }
        assert_eq!(interrupts.interval, LONGEST);
        interrupts.handed_over(now, 120, 180_000, Span::ZERO);
        assert_eq!(interrupts.interval, us(63));
        interrupts.handed_over(now, 60, 90_000, Span::ZERO);
        assert_eq!(interrupts.interval, us(63));
        interrupts.handed_over(now, 1, 66, Span::ZERO);
        assert_eq!(interrupts.interval, us(12));
        interrupts.handed_over(now + us(5000), 1, 1500, Span::ZERO);
        assert_eq!(interrupts.interval, us(10));
    }

    /// Of mlx5: 8 us after the last packet, or with 128 packets. They come again when an interrupt leaves them in the ring.
    #[test]
    fn a_card_that_counts_from_the_last_packet_interrupts_after_a_pause_or_with_enough() {
        let at = |time| Time::ZERO + us(time);
        let mut interrupts = Interrupts::new(Moderation::Dim(DimDriver::Mlx5));
        interrupts.arrive(at(100), 3, us(2));
        assert_eq!(interrupts.due(at(100)), at(112));
        interrupts.arrive(at(111), 1, us(2));
        assert_eq!(interrupts.due(at(100)), at(119));
        // A packet after the pause does not belong to it.
        interrupts.arrive(at(130), 1, us(2));
        assert_eq!(interrupts.due(at(100)), at(119));
        interrupts.handed_over(at(119), 4, 6000, Span::ZERO);
        interrupts.arrive(at(130), 1, us(2));
        assert_eq!(interrupts.due(at(130)), at(138));
        // The 128th packet of these is the 127th of the burst that begins at 131 us; work makes it later.
        interrupts.arrive(at(131), 200, us(1));
        assert_eq!(interrupts.due(at(130)), at(131 + 126));
        interrupts.handed_over(at(257), 128, 192_000, us(50));
        interrupts.arrive(at(258), 73, us(1));
        assert_eq!(interrupts.due(at(258)), at(258 + 72 + 8));
        // Packets further apart than the pause come alone.
        interrupts.handed_over(at(338), 73, 109_500, Span::ZERO);
        interrupts.arrive(at(400), 5, us(9));
        assert_eq!(interrupts.due(at(400)), at(408));
    }

    /// Of ice: from interrupt to interrupt, 8 us at first.
    #[test]
    fn a_card_of_ice_keeps_to_the_interval_of_its_profile() {
        let at = |time| Time::ZERO + us(time);
        let mut interrupts = Interrupts::new(Moderation::Dim(DimDriver::Ice));
        interrupts.arrive(at(100), 1, Span::ZERO);
        assert_eq!(interrupts.due(at(100)), at(100));
        interrupts.handed_over(at(100), 1, 1500, Span::ZERO);
        assert_eq!(interrupts.due(at(101)), at(108));
    }
}
