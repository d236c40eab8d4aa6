//! When the card of a receiver may interrupt.

use fairhaul_units::{Span, Time};

/// The least time between two interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moderation {
    /// That time.
    Every(Span),
    /// A time that follows the traffic, by the rule of ixgbe and i40e at 10 Gbit/s.
    Adaptive {
        /// No interval is shorter.
        shortest: Span,
    },
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
}

impl Interrupts {
    /// A card that has not interrupted yet.
    pub fn new(rule: Moderation) -> Interrupts {
        let interval = match rule {
            Moderation::Every(interval) => interval,
            Moderation::Adaptive { .. } => FIRST,
        };
        Interrupts { rule, interval, last: Time::ZERO, ready: Time::ZERO }
    }

    /// When the next one may be.
    pub fn ready(&self) -> Time {
        self.ready
    }

    /// One at `now` has handed over packets, and its host works on them for a time.
    pub fn handed_over(&mut self, now: Time, packets: u64, bytes: u64, work: Span) {
        if let Moderation::Adaptive { shortest } = self.rule {
            let adapted = if now.since(self.last) > PAUSE { shortest } else { self.adapted(packets, bytes) };
            self.interval = adapted.max(shortest);
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
        assert_eq!(interrupts.ready(), Time::ZERO);
        interrupts.handed_over(Time::ZERO + us(100), 3, 4500, us(7));
        assert_eq!(interrupts.ready(), Time::ZERO + us(150));
        interrupts.handed_over(Time::ZERO + us(150), 90, 135_000, us(70));
        assert_eq!(interrupts.ready(), Time::ZERO + us(220));
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
            now = interrupts.ready();
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
}
