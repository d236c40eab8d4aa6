//! The congestion header of XCP [XCP-SPEC]: what a sender reports to the routers of its path, and the change of its
//! rate that they allow.

use std::num::NonZeroU8;

use crate::{Bytes, Span, Time};

/// What the header adds to a packet, a data packet or an acknowledgement [XCP-SPEC, 2.1].
pub const CONGESTION_HEADER: Bytes = Bytes(20);

/// Parts of a second in a duration of the header, which has 4 bits before the point and 28 behind it.
const PARTS_PER_SECOND: u64 = 1 << 28;

/// A duration as it stands in the header: below 16 s, in steps of 3.7 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed(u32);

impl Fixed {
    /// The nearest that the header holds.
    pub fn of(span: Span) -> Fixed {
        let parts = u128::from(span.as_ps()) * u128::from(PARTS_PER_SECOND);
        Fixed((parts / 1_000_000_000_000).min(u32::MAX.into()) as u32)
    }

    /// The number in the header.
    pub fn parts(self) -> u32 {
        self.0
    }

    /// A number of a header.
    pub fn of_parts(parts: u32) -> Fixed {
        Fixed(parts)
    }

    /// Seconds.
    pub fn as_secs(self) -> f64 {
        f64::from(self.0) / PARTS_PER_SECOND as f64
    }

    /// Whether the sender did not know it.
    pub fn is_unknown(self) -> bool {
        self.0 == 0
    }
}

/// What a data packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionHeader {
    /// X, the time between two packets of the sender.
    pub gap: Fixed,
    /// The sender's round-trip time.
    pub rtt: Fixed,
    /// Delta_Throughput, bytes/s: the change that the sender wants, then what routers leave of it.
    pub delta: i32,
    /// The low bits of when it left the last router that knows of XCP, see [`tick`]; of XCP-i.
    pub left: u16,
    /// Routers since then that know nothing of XCP: the difference between the two times to live of XCP-i.
    pub plain: u8,
    /// The last router that knows of XCP, by its number; [`SENDER`] before the first.
    pub last: NonZeroU8,
}

/// [`CongestionHeader::last`] of a packet that has passed no such router.
pub const SENDER: NonZeroU8 = NonZeroU8::MAX;

/// The 16 bits of [`CongestionHeader::left`] count 16 us each, and begin again after 1.05 s.
pub const TICK: Span = Span::from_us(16);

/// What `now` is in that field.
pub fn tick(now: Time) -> u16 {
    (now.as_ps() / TICK.as_ps()) as u16
}

// The niche of `last` keeps a packet without a header as small as one with it.
const _: () = assert!(size_of::<Option<CongestionHeader>>() == 16);

impl CongestionHeader {
    /// That of a sender whose packets are `gap` apart, and which wants `delta` bytes/s more.
    pub fn new(gap: Span, rtt: Span, delta: i32) -> CongestionHeader {
        CongestionHeader { gap: Fixed::of(gap), rtt: Fixed::of(rtt), delta, left: 0, plain: 0, last: SENDER }
    }

    /// It passed a router that knows nothing of XCP.
    pub fn passes_plain(&mut self) {
        self.plain = self.plain.saturating_add(1);
    }

    /// It leaves router `number`, which knows of XCP, at `now`.
    pub fn leaves(&mut self, number: NonZeroU8, now: Time) {
        (self.left, self.plain, self.last) = (tick(now), 0, number);
    }

    /// The router before, where links between it and the one that asks know nothing of XCP.
    // Unclear in [XCP-I]: which router controls such links before the first router and after the last. None
    // does: many senders are before the first, each with its own delay.
    pub fn across(&self) -> Option<NonZeroU8> {
        (self.plain > 0 && self.last != SENDER).then_some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_steps_of_two_to_the_minus_28_seconds_and_stops_below_16_s() {
        assert_eq!(Fixed::of(Span::from_ms(250)).as_secs(), 0.25);
        assert_eq!(Fixed::of(Span::from_ps(3_725)).as_secs(), 0.0); // 2^-28 s = 3725.29 ps
        assert_eq!(Fixed::of(Span::from_ps(3_726)).as_secs(), 1.0 / 268_435_456.0);
        assert!(Fixed::of(Span::from_secs(1000.0)).as_secs() < 16.0);
        assert!(Fixed::of(Span::ZERO).is_unknown());
    }
}
