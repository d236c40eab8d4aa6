//! CAKE's shaper: a virtual clock without bursts, and the size that a packet has on the link behind it [LINUX].

use fairhaul_units::{Span, Time, real, words};

words! {
    /// How the link behind the shaper frames packets.
    pub enum Framing {
        /// Not.
        None = "none",
        /// In cells of 53 bytes, of which 48 are payload.
        Atm = "atm",
        /// A byte more for each 64.
        Ptm = "ptm",
    }
}

/// The bytes that packets take on the link behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    pub(super) overhead: f64,
    pub(super) least: f64,
    pub(super) framing: Framing,
}

impl Sizes {
    /// Those of a packet.
    pub(super) fn of(&self, size: u32) -> u64 {
        let bytes = (f64::from(size) + self.overhead).max(self.least).max(1.0) as u64;
        match self.framing {
            Framing::None => bytes,
            Framing::Atm => bytes.div_ceil(48) * 53,
            Framing::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

/// A clock of a rate; no rate: it does not limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    /// Bytes/s.
    pub(super) rate: f64,
    pub(super) next: Time,
}

impl Clock {
    pub(super) fn time_of(&self, bytes: u64) -> Span {
        if self.rate > 0.0 { Span::from_secs(real(bytes) / self.rate) } else { Span::ZERO }
    }

    /// Nothing waited: time that was not used is lost.
    pub(super) fn rest(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// That many bytes leave by the clock of the link.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.next += self.time_of(bytes);
    }

    /// That many bytes of a tin leave at `now`: a tin that is behind catches up, one that is ahead is not pushed further.
    pub(super) fn advance_tin(&mut self, bytes: u64, now: Time) {
        let time = self.time_of(bytes);
        if self.next < now {
            self.next += time;
        } else if self.next < now + time {
            self.next = now + time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1500 B with 10 B more: 32 cells of 48 B, and 24 bytes more of PTM. An acknowledgement is at least 64 B.
    #[test]
    fn a_packet_has_the_size_of_the_link_behind() {
        let of = |framing, size| Sizes { overhead: 10.0, least: 64.0, framing }.of(size);
        assert_eq!(
            [of(Framing::None, 1500), of(Framing::Atm, 1500), of(Framing::Ptm, 1500)],
            [1510, 1696, 1534]
        );
        assert_eq!([of(Framing::None, 40), of(Framing::Atm, 40)], [64, 106]);
    }

    /// 1 kB at 1 MB/s takes a millisecond. A clock that is behind catches up with what is sent, after a rest it does not.
    #[test]
    fn a_clock_lets_its_rate_pass_without_a_burst() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut clock = Clock { rate: 1e6, next: Time::ZERO };
        (0..3).for_each(|_| clock.advance(1000));
        assert_eq!(clock.next, at(3));
        clock.rest(at(10));
        assert_eq!(clock.next, at(10));
        let mut tin = Clock { rate: 1e6, next: at(5) };
        tin.advance_tin(1000, at(10));
        assert_eq!(tin.next, at(6));
        tin.next = at(10);
        tin.advance_tin(1000, at(10));
        assert_eq!(tin.next, at(11));
        tin.advance_tin(1000, at(10));
        assert_eq!(tin.next, at(11));
    }
}
