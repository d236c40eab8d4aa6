//! Changes of a link that repeat with a period.

use fairhaul_units::{Span, Time};

/// Changes of one kind on one link in a run.
pub(super) const MOST_CHANGES: u64 = 10_000;

/// The changes of a run up to `end`, of those of a lap, which ascend; without a period there is one lap.
/// `None`: they are too many.
pub(super) fn repeated<T: Clone>(
    lap: &[(Span, T)],
    period: Option<Span>,
    end: Span,
) -> Option<Vec<(Time, T)>> {
    let laps = period.filter(|_| !lap.is_empty()).map_or(1, |period| end.as_ps().div_ceil(period.as_ps()));
    if laps.saturating_mul(lap.len() as u64) > MOST_CHANGES {
        return None;
    }
    let start = |number: u64| Time::ZERO + period.map_or(Span::ZERO, |period| period * number);
    let all = (0..laps).flat_map(|number| lap.iter().map(move |(at, value)| (start(number) + *at, value)));
    Some(all.map(|(at, value)| (at, value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lap_of_two_changes_is_eight_in_four_periods_and_too_many_in_a_million() {
        let (ms, lap) = (Span::from_ms, [(Span::ZERO, 'a'), (Span::from_ms(3), 'b')]);
        let at = |time| Time::ZERO + ms(time);
        let found = repeated(&lap, Some(ms(10)), ms(35)).expect("they are few");
        assert_eq!(found.len(), 8);
        assert_eq!(found[2..5], [(at(10), 'a'), (at(13), 'b'), (at(20), 'a')]);
        assert_eq!(repeated(&lap, None, ms(35)), Some(vec![(at(0), 'a'), (at(3), 'b')]));
        assert_eq!(repeated(&lap, Some(ms(10)), Span::from_s(10_000)), None);
        assert_eq!(repeated::<char>(&[], Some(ms(1)), Span::from_s(1_000_000)), Some(Vec::new()));
    }
}
