//! Bursts of loss that last a time: a link is good or bad, for exponentially distributed times, and loses packets as its
//! state says. It is the chain of [GILBERT, ELLIOTT] in continuous time, as of a radio link that fades.
//!
//! The times of the states depend on nothing but their random numbers, so flows of any controller meet the same bursts.

use fairhaul_units::{Chance, Span, Time};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedBursts {
    /// How long the good state lasts on average; above zero, like that of the other.
    pub good: Span,
    /// How long the bad state lasts on average.
    pub bad: Span,
    /// Probability that a packet is lost in the good state.
    pub loss_good: f64,
    /// Probability that a packet is lost in the bad state.
    pub loss_bad: f64,
}

impl TimedBursts {
    /// The share of time in the bad state.
    pub fn share_bad(&self) -> f64 {
        self.bad.as_secs() / (self.good.as_secs() + self.bad.as_secs())
    }

    /// The share of packets that are lost, of packets that come at all times.
    pub fn loss_rate(&self) -> f64 {
        self.loss_bad * self.share_bad() + self.loss_good * (1.0 - self.share_bad())
    }
}

/// The number of pairs of states after which the end of a silence does not depend on its beginning: the state is drawn
/// afresh, so that a packet costs a bounded number of draws.
const MOST_PAIRS: u64 = 1000;

/// The state of a link over time.
#[derive(Clone, Debug)]
pub(super) struct LinkState {
    bad: bool,
    until: Time,
    chance: Chance,
}

impl LinkState {
    /// The state at `now`: bad with the share of time in which it is so.
    pub fn new(rule: &TimedBursts, now: Time, mut chance: Chance) -> LinkState {
        let bad = chance.hits(rule.share_bad());
        LinkState { bad, until: now + lasts(rule, bad, &mut chance), chance }
    }

    /// The probability with which a packet at `now`, which must not run backwards, is lost.
    pub fn loss(&mut self, rule: &TimedBursts, now: Time) -> f64 {
        if now.since(self.until) / (rule.good + rule.bad) > MOST_PAIRS {
            *self = LinkState::new(rule, now, self.chance.clone());
        }
        while self.until <= now && self.until < Time::NEVER {
            self.bad = !self.bad;
            self.until += lasts(rule, self.bad, &mut self.chance);
        }
        if self.bad { rule.loss_bad } else { rule.loss_good }
    }
}

/// How long a state lasts that begins.
fn lasts(rule: &TimedBursts, bad: bool, chance: &mut Chance) -> Span {
    let mean = if bad { rule.bad } else { rule.good };
    Span::from_secs(chance.exponential(mean.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bad for 20 of each 100 ms on average.
    const RULE: TimedBursts =
        TimedBursts { good: Span::from_ms(80), bad: Span::from_ms(20), loss_good: 0.0, loss_bad: 1.0 };

    /// Whether the link is bad at each of these times.
    fn states(times: impl Iterator<Item = Time>) -> Vec<bool> {
        let mut state = LinkState::new(&RULE, Time::ZERO, Chance::stream(1, "loss", 0));
        times.map(|now| state.loss(&RULE, now) > 0.0).collect()
    }

    fn every(gap: Span) -> impl Iterator<Item = Time> {
        (0..1_000_000u64).map(move |n| Time::ZERO + gap * n)
    }

    #[test]
    fn a_fifth_of_the_time_is_bad_in_bursts_of_20_ms() {
        // A packet each 0.1 ms for 100 s: 1000 bursts of mean 20 ms, sigma of the mean 20 / sqrt(1000) = 0.63 ms.
        let states = states(every(Span::from_us(100)));
        let bad = states.iter().filter(|&&bad| bad).count() as f64 * 1e-4;
        let bursts = states.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((bad / bursts - 20e-3).abs() < 1.9e-3, "{}", bad / bursts);
        // Of a process of two states the share varies by 2 p^2 q^2 (good + bad) / T: sigma = 0.0072.
        assert!((bad / 100.0 - RULE.share_bad()).abs() < 0.022, "{bad} s");
    }

    #[test]
    fn a_single_packet_after_a_second_finds_the_state_as_often_bad_as_any_other() {
        // Where the chain that steps with each packet stays bad for as many of these as of any others.
        let states = states(every(Span::from_s(1)).take(100_000));
        let share = states.iter().filter(|&&bad| bad).count() as f64 / 1e5;
        assert!((share - 0.2).abs() < 0.0038, "{share}"); // 3 sigma, independent
    }

    /// Behind an outage without end a packet leaves never, which is a time, too.
    #[test]
    fn at_no_time_the_state_is_one_of_the_two() {
        let mut state = LinkState::new(&RULE, Time::ZERO, Chance::stream(1, "loss", 0));
        assert!([0.0, 1.0].contains(&state.loss(&RULE, Time::NEVER)));
        assert!([0.0, 1.0].contains(&state.loss(&RULE, Time::NEVER)));
    }

    #[test]
    fn packets_at_other_times_meet_the_same_bursts() {
        let (many, few) = (states(every(Span::from_us(100))), states(every(Span::from_us(700))));
        let common = many.iter().step_by(7).zip(&few).filter(|(a, b)| a != b).count();
        assert_eq!(common, 0);
    }

    #[test]
    fn after_a_long_silence_the_state_is_drawn_afresh() {
        let day = Span::from_s(86_400);
        let states = states((0..90).map(|n| Time::ZERO + day * n));
        let bad = states.iter().filter(|&&bad| bad).count();
        assert!((7..30).contains(&bad), "{bad}"); // 18, 3 sigma = 11.4
    }
}
