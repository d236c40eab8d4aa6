//! Time stamps as the kernel compares them [RFC 7323, 5; LINUX, tcp_paws_check].

use fairhaul_units::{Span, Time};

/// How long one of them is: they count milliseconds.
const TICK_PS: u64 = 1_000_000_000;
/// By how many a segment may be older than the newest one and still be taken (TCP_PAWS_WINDOW).
const WINDOW: u64 = 1;

/// The time stamp of what leaves at `stamp`.
#[inline(always)]
pub fn tick(stamp: Time) -> u64 {
    stamp.as_ps() / TICK_PS
}

/// How long the clock of a host has been in a tick, by a random number.
pub fn phase(random: u64) -> Span {
    Span::from_ps(random % TICK_PS)
}

/// Whether a segment with that stamp is mistaken for one of long ago, after one with the stamp `recent`.
#[inline(always)]
pub fn is_old(stamp: Time, recent: Time) -> bool {
    tick(recent) > tick(stamp) + WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_may_be_one_millisecond_older() {
        let at = |us| Time::ZERO + Span::from_us(us);
        assert!(!is_old(at(9_000), at(10_999)));
        assert!(is_old(at(8_999), at(10_000)));
        assert!(!is_old(at(20_000), at(10_000)));
    }
}
