//! A lane: packets that wait for their turn, in order of time.

use std::collections::VecDeque;

use fairhaul_units::Time;

/// Puts a packet that is there at `time` in its place in a lane, behind all that are there no
/// later; whether it is the first. Only what has overtaken others is not the last.
pub fn line_up<T>(lane: &mut VecDeque<(Time, T)>, time: Time, packet: T) -> bool {
    if lane.back().is_none_or(|last| last.0 <= time) {
        lane.push_back((time, packet));
        return lane.len() == 1;
    }
    let ahead = lane.partition_point(|waiting| waiting.0 <= time);
    lane.insert(ahead, (time, packet));
    ahead == 0
}

/// The head of a lane if it is its turn `now`. A head that was overtaken leaves its entry in the
/// agenda, beside the one that it gets when it is the head again: the second comes up in vain.
pub fn step_out<T>(lane: &mut VecDeque<(Time, T)>, now: Time) -> Option<T> {
    if lane.front()?.0 > now {
        return None;
    }
    lane.pop_front().map(|(_, packet)| packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Span;

    #[test]
    fn a_packet_that_overtakes_two_stands_before_them_and_behind_one_of_its_time() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut lane = VecDeque::new();
        assert!(line_up(&mut lane, at(5), 'a') && !line_up(&mut lane, at(8), 'b'));
        assert!(!line_up(&mut lane, at(5), 'c') && line_up(&mut lane, at(3), 'd'));
        assert_eq!(step_out(&mut lane, at(2)), None);
        let order: Vec<char> = std::iter::from_fn(|| step_out(&mut lane, at(9))).collect();
        assert_eq!(order, ['d', 'a', 'c', 'b']);
    }
}
