//! A set of packet numbers above a moving base, stored as maximal runs: what a receiver has received out of order.
//!
//! Every member has a cell in a ring; the first and the last cell of a run hold its length. Adding
//! a number joins its neighbours' runs by touching three cells, so a window of 10^6 packets costs
//! as much per packet as one of ten, in whatever order the packets come.

/// The set; see the module.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    base: u64,
    members: u64,
    /// A power of two long, or empty until first needed. Zero: not a member.
    cells: Vec<u32>,
}

impl Runs {
    /// Whether no number is in the set.
    pub fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// How many numbers are in the set.
    pub fn members(&self) -> u64 {
        self.members
    }

    /// Whether `number` is in the set.
    pub fn contains(&self, number: u64) -> bool {
        self.members > 0
            && number >= self.base
            && number - self.base < self.cells.len() as u64
            && self.cells[self.slot(number)] != 0
    }

    /// The length of the run that begins at `first`, zero where `first` is not a member.
    pub fn run_at(&self, first: u64) -> u64 {
        if self.contains(first) { u64::from(self.cells[self.slot(first)]) } else { 0 }
    }

    /// Adds `number`, which is neither below the base nor a member: the run that now holds it, its
    /// first number and the first after it.
    pub fn insert(&mut self, number: u64) -> (u64, u64) {
        debug_assert!(number >= self.base && !self.contains(number), "each packet is new once");
        self.reach(number + 1);
        let left = if number > self.base { self.cells[self.slot(number - 1)] } else { 0 };
        let right = self.cells[self.slot(number + 1)];
        let length = left + 1 + right;
        let (first, last) = (number - u64::from(left), number + u64::from(right));
        for end in [number, first, last] {
            let slot = self.slot(end);
            self.cells[slot] = length;
        }
        self.members += 1;
        (first, last + 1)
    }

    /// Adds `count` numbers from `number` on, of which the same is true: the run that now holds them.
    pub fn insert_all(&mut self, number: u64, count: u64) -> (u64, u64) {
        if count == 1 {
            return self.insert(number);
        }
        debug_assert!((number..number + count).all(|n| n >= self.base && !self.contains(n)));
        self.reach(number + count);
        let left = if number > self.base { self.cells[self.slot(number - 1)] } else { 0 };
        let right = self.cells[self.slot(number + count)];
        let length = left + count as u32 + right;
        for inner in number..number + count {
            let slot = self.slot(inner);
            self.cells[slot] = length;
        }
        let (first, last) = (number - u64::from(left), number + count - 1 + u64::from(right));
        for end in [first, last] {
            let slot = self.slot(end);
            self.cells[slot] = length;
        }
        self.members += count;
        (first, last + 1)
    }

    /// Moves the base up to `base` and forgets what lies below. A run is never cut: `base` is not
    /// inside one.
    #[inline(always)]
    pub fn advance(&mut self, base: u64) {
        if self.members > 0 {
            self.forget_below(base);
        }
        self.base = base;
    }

    #[inline(never)]
    fn forget_below(&mut self, base: u64) {
        let known = base.min(self.base + self.cells.len() as u64);
        for number in self.base..known {
            let slot = self.slot(number);
            if self.cells[slot] != 0 {
                self.cells[slot] = 0;
                self.members -= 1;
            }
        }
    }

    /// Makes room for `number`.
    fn reach(&mut self, number: u64) {
        let wanted = (number - self.base + 1) as usize;
        if wanted <= self.cells.len() {
            return;
        }
        let size = wanted.next_power_of_two().max(64);
        let mut wider = vec![0; size];
        for number in self.base..self.base + self.cells.len() as u64 {
            wider[number as usize & (size - 1)] = self.cells[self.slot(number)];
        }
        self.cells = wider;
    }

    fn slot(&self, number: u64) -> usize {
        number as usize & (self.cells.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_number_between_two_runs_joins_them() {
        let mut runs = Runs::default();
        assert_eq!(runs.insert(5), (5, 6));
        assert_eq!(runs.insert(7), (7, 8));
        assert_eq!(runs.insert(6), (5, 8));
        assert_eq!((runs.run_at(5), runs.run_at(8)), (3, 0));
        runs.advance(8);
        assert!(runs.is_empty() && !runs.contains(7));
    }

    proptest! {
        #[test]
        fn it_holds_what_a_plain_set_holds(steps in proptest::collection::vec((0u64..300, any::<bool>(), 1u64..9), 1..400)) {
            let (mut runs, mut plain, mut base) = (Runs::default(), BTreeSet::new(), 0u64);
            for (ahead, moves, count) in steps {
                let number = base + ahead;
                if moves && !plain.contains(&number) {
                    base = number;
                    plain = plain.split_off(&base);
                    runs.advance(base);
                } else if (number..number + count).all(|n| !plain.contains(&n)) {
                    plain.extend(number..number + count);
                    let (first, after) = runs.insert_all(number, count);
                    prop_assert!((first..after).all(|n| plain.contains(&n)));
                    prop_assert!(!plain.contains(&after) && (first == base || !plain.contains(&(first - 1))));
                    prop_assert_eq!(runs.run_at(first), after - first);
                }
                prop_assert!((base..base + 310).all(|n| runs.contains(n) == plain.contains(&n)));
                prop_assert_eq!(runs.is_empty(), plain.is_empty());
            }
        }
    }
}
