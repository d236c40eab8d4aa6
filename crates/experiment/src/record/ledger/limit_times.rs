//! How long each limit has kept the connections of a flow back.

use fairhaul_units::{Span, Time};

use crate::Limit;

/// See the module: the sums of the ends of all times less those of their starts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LimitTimes([LimitTime; Limit::WORDS.len()]);

#[derive(Clone, Copy, Debug, Default)]
struct LimitTime {
    /// The connections that it keeps back now.
    connections: u32,
    ps: i128,
}

impl LimitTimes {
    /// One connection is kept back by something else from `now` on.
    pub(super) fn change(&mut self, before: Option<Limit>, after: Option<Limit>, now: Time) {
        let now = i128::from(now.as_ps());
        if let Some(limit) = before {
            let time = &mut self.0[limit as usize];
            time.connections -= 1;
            time.ps += now;
        }
        if let Some(limit) = after {
            let time = &mut self.0[limit as usize];
            time.connections += 1;
            time.ps -= now;
        }
    }

    /// A connection was kept back for that long.
    pub(super) fn add(&mut self, limit: Limit, span: Span) {
        self.0[limit as usize].ps += i128::from(span.as_ps());
    }

    /// All times up to the end of the run, seconds.
    pub(super) fn close(&self, end: Time) -> [f64; Limit::WORDS.len()] {
        let at_end = i128::from(end.as_ps());
        self.0.map(|time| (time.ps + i128::from(time.connections) * at_end) as f64 * 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_two_connections_add_up_and_what_goes_on_lasts_until_the_end() {
        let (mut times, at) = (LimitTimes::default(), |s| Time::ZERO + Span::from_s(s));
        let [window, application] = [Some(Limit::CongestionWindow), Some(Limit::Application)];
        times.change(None, window, at(1));
        times.change(None, application, at(2));
        times.change(window, application, at(4));
        times.change(application, None, at(5));
        times.add(Limit::PacingCap, Span::from_ms(500));
        assert_eq!(times.close(at(10)), [3.0, 0.5, 0.0, 0.0, 9.0]);
    }
}
