//! When a timer of the kernel expires [LINUX, `kernel/time/timer.c`]. Its clock counts ticks, and a timer is never early:
//! the requested time is rounded up to ticks, and ends with the tick after that. Long times are counted in coarser units.

use fairhaul_units::{Span, Time};

/// At 250 Hz.
const TICK: Span = Span::from_ms(4);
/// Below that number of ticks each counts, and each unit is this many times the one before (LVL_START, LVL_CLK_DIV).
const FINE: u64 = 63;
const COARSER: u64 = 8;

/// When a timer expires that is set at `now` for `due`.
pub fn expires(now: Time, due: Time) -> Time {
    let ticks = (due.since(now) + TICK - Span::from_ps(1)) / TICK;
    let last = now.since(Time::ZERO) / TICK + ticks;
    let (mut unit, mut limit) = (1, FINE);
    while ticks >= limit {
        (unit, limit) = (unit * COARSER, limit.saturating_mul(COARSER));
    }
    Time::ZERO + TICK * ((last / unit + 1) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// At 9 ms two ticks have passed. 12.5 ms are four ticks, and with the tick that has begun the timer ends after the
    /// seventh, at 28 ms; 12 ms are three. 250 ms are 63 ticks, which end with a multiple of eight: 2 + 63 = 65, so 72.
    #[test]
    fn a_timer_ends_after_the_tick_in_which_it_is_due_and_a_long_one_with_a_multiple() {
        let now = at_us(9_000);
        let after = |us| expires(now, now + Span::from_us(us)).since(Time::ZERO);
        assert_eq!(after(12_500), Span::from_ms(28));
        assert_eq!(after(12_000), Span::from_ms(24));
        assert_eq!(after(248_000), Span::from_ms(4 * (2 + 62 + 1)));
        assert_eq!(after(250_000), Span::from_ms(4 * 72));
        assert_eq!(after(3_000_000), Span::from_ms(4 * 768));
        assert_eq!(after(0), Span::from_ms(12));
    }
}
