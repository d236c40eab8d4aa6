//! A lane: where the packets of one connection wait for their turn, the earliest first.

use std::collections::VecDeque;

use fairhaul_units::Time;

/// Packets and the times at which they are there.
#[derive(Clone, Debug)]
pub struct Lane<T>(VecDeque<(Time, T)>);

impl<T> Default for Lane<T> {
    fn default() -> Lane<T> {
        Lane(VecDeque::new())
    }
}

impl<T> Lane<T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// When the first of them is there.
    pub fn head(&self) -> Option<Time> {
        self.0.front().map(|head| head.0)
    }

    /// Puts a packet that is there at `time` in its place, behind all that are there no later;
    /// whether it is the first. Only what has overtaken others is not the last.
    pub fn line_up(&mut self, time: Time, packet: T) -> bool {
        if self.0.back().is_none_or(|last| last.0 <= time) {
            self.0.push_back((time, packet));
            return self.0.len() == 1;
        }
        let ahead = self.0.partition_point(|waiting| waiting.0 <= time);
        self.0.insert(ahead, (time, packet));
        ahead == 0
    }

    /// The head if it is its turn `now`. A head that was overtaken leaves its entry in the agenda,
    /// beside the one that it gets when it is the head again: the second comes up in vain.
    pub fn step_out(&mut self, now: Time) -> Option<T> {
        if self.head()? > now {
            return None;
        }
        self.0.pop_front().map(|(_, packet)| packet)
    }
}

/// How many packets of one kind were launched, and what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fates {
    pub launched: u64,
    pub arrived: u64,
    pub dropped: u64,
}

impl Fates {
    /// Whether every packet launched has arrived, was dropped, or is among those that wait.
    pub fn are_told(self, waiting: u64) -> bool {
        self.launched == self.arrived + self.dropped + waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overtakes_others_takes_its_place_among_them() {
        let mut lane = Lane::default();
        let at = Time::from_ps;
        assert!(lane.line_up(at(10), 'a'));
        assert!(!lane.line_up(at(30), 'b'));
        assert!(!lane.line_up(at(20), 'c'));
        assert!(lane.line_up(at(5), 'd'));
        assert_eq!(lane.step_out(at(4)), None);
        let order: Vec<char> = std::iter::from_fn(|| lane.step_out(at(30))).collect();
        assert_eq!(order, ['d', 'a', 'c', 'b']);
    }
}
