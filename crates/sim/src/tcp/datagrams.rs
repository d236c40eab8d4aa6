//! The receiver of datagrams: which of them are new. It acknowledges nothing.

/// How far behind the latest a datagram may come and still be distinguished from a copy.
const REACH: u64 = 4096;
const CELL: u64 = u64::BITS as u64;

/// Which of the last numbers have arrived.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// The first number above all that have arrived.
    top: u64,
    /// A bit for each of the [`REACH`] numbers below `top`, at its number modulo [`REACH`].
    seen: Vec<u64>,
}

impl Default for Datagrams {
    fn default() -> Datagrams {
        Datagrams { top: 0, seen: vec![0; (REACH / CELL) as usize] }
    }
}

impl Datagrams {
    /// A datagram arrives: whether it is new. One that comes too late to tell counts as old.
    pub fn receive(&mut self, number: u64) -> bool {
        if number + REACH < self.top {
            return false;
        }
        let skipped = self.top.max(number.saturating_sub(REACH - 1));
        for absent in skipped..number {
            self.mark(absent, false);
        }
        let fresh = number >= self.top || !self.has(number);
        self.mark(number, true);
        self.top = self.top.max(number + 1);
        fresh
    }

    fn has(&self, number: u64) -> bool {
        self.seen[(number % REACH / CELL) as usize] >> (number % CELL) & 1 == 1
    }

    fn mark(&mut self, number: u64, seen: bool) {
        let cell = &mut self.seen[(number % REACH / CELL) as usize];
        let bit = 1 << (number % CELL);
        if seen { *cell |= bit } else { *cell &= !bit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_datagram_is_new_once_however_late_within_reach() {
        let mut ends = Datagrams::default();
        let fresh = [0, 2, 1, 1, 2, 5000, 904, 904, 903].map(|number| ends.receive(number));
        // 5000 leaves 905 to 5000 within reach, and 904: 904 + 4096 = 5000 < 5001 is out of it.
        assert_eq!(fresh, [true, true, true, false, false, true, false, false, false]);
        assert!(ends.receive(905) && !ends.receive(905));
    }

    proptest! {
        #[test]
        fn within_reach_it_answers_as_a_set(jumps in proptest::collection::vec(-2000i64..2100, 1..500)) {
            let (mut ends, mut plain) = (Datagrams::default(), std::collections::BTreeSet::new());
            let mut top = 0u64;
            for jump in jumps {
                let number = top.saturating_add_signed(jump);
                prop_assert_eq!(ends.receive(number), plain.insert(number));
                top = top.max(number);
            }
        }
    }
}
