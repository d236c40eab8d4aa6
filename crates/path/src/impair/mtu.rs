//! The largest packet that a link carries: larger ones are dropped without a word, as where ICMP does not get through.

use std::collections::VecDeque;

use fairhaul_units::Time;

/// The limit at work.
#[derive(Clone, Debug)]
pub(super) struct Mtu {
    most: u32,
    /// From when on it is another, the next first.
    changes: VecDeque<(Time, u32)>,
}

impl Mtu {
    /// From each of these times on, which ascend, that many bytes; before them there is no limit.
    pub(super) fn new(changes: &[(Time, u32)]) -> Mtu {
        Mtu { most: u32::MAX, changes: changes.iter().copied().collect() }
    }

    /// Whether a packet of `size` passes at `now`, which must not run backwards.
    pub(super) fn passes(&mut self, size: u32, now: Time) -> bool {
        while let Some(&(_, most)) = self.changes.front().filter(|change| change.0 <= now) {
            self.most = most;
            self.changes.pop_front();
        }
        size <= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Span;

    #[test]
    fn a_limit_holds_from_its_time_on_until_the_next() {
        let at = |s| Time::ZERO + Span::from_s(s);
        let passes = |mut mtu: Mtu| [0, 1, 2, 3, 4].map(|s| mtu.passes(1400, at(s)));
        assert_eq!(passes(Mtu::new(&[])), [true; 5]);
        let changes = [(at(1), 1399), (at(2), 1300), (at(3), 1400)];
        assert_eq!(passes(Mtu::new(&changes)), [true, false, false, true, true]);
        assert_eq!(passes(Mtu::new(&[(at(0), 1400), (at(4), 1399)])), [true, true, true, true, false]);
    }
}
