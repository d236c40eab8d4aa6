//! How long a controller that probes the path without losses takes to learn it anew.
//!
//! A controller that probes by losses learns the path anew with each loss event. Others have a time of their own for that:
//! the period of their probes, or the round trips in which they can leave the window that they have. Figures of a run say
//! something about the long term once there have been enough of either.

/// The time in which a controller learns the path anew without a loss: the longer of `seconds` and as many round trips as
/// `rounds` and `rounds_per_packet` of its window give.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProbeCycle {
    /// A period of time.
    pub seconds: f64,
    /// Round trips, whatever the window is.
    pub rounds: f64,
    /// Round trips for each packet of the window.
    pub rounds_per_packet: f64,
}

impl ProbeCycle {
    /// Of a controller that moves its window by about one packet per round trip: as long as Reno takes from half of a window
    /// to the whole.
    pub(crate) const HALF_WINDOW: ProbeCycle =
        ProbeCycle { seconds: 0.0, rounds: 0.0, rounds_per_packet: 0.5 };

    /// A period of time.
    pub(crate) fn seconds(seconds: f64) -> ProbeCycle {
        ProbeCycle { seconds, ..ProbeCycle::default() }
    }

    /// A number of round trips.
    pub(crate) fn rounds(rounds: f64) -> ProbeCycle {
        ProbeCycle { rounds, ..ProbeCycle::default() }
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Settings;

    use super::*;
    use crate::{ControllerChoice, entries};

    fn of(name: &str, values: &[(&str, f64)]) -> Option<ProbeCycle> {
        let mut choice = ControllerChoice::named(name).expect("a controller of the catalogue");
        for (parameter, value) in values {
            let settings: Settings = choice.settings.clone();
            choice.settings = settings.with(parameter, *value);
        }
        choice.probe_cycle()
    }

    /// Controllers that find their share without losses, and no others.
    #[test]
    fn a_controller_that_probes_without_losses_has_a_cycle() {
        let with: Vec<&str> =
            entries().iter().map(|entry| entry.name).filter(|name| of(name, &[]).is_some()).collect();
        let all = ["synctcp", "vegas", "fast", "bbr", "bbr3", "xcp", "yeah", "lp", "nv", "cdg", "copa"];
        assert_eq!(with, all);
    }

    /// [BBR]: a probe for the round-trip time every 10 s. [BBRV3]: every 5 s, or as long as the filter if there is only one;
    /// bandwidth probes after up to 1.5 times their interval.
    #[test]
    fn a_cycle_follows_the_parameters() {
        assert_eq!(of("bbr", &[]), Some(ProbeCycle::seconds(10.0)));
        assert_eq!(of("bbr", &[("min_rtt_window", 20.0)]), Some(ProbeCycle::seconds(20.0)));
        assert_eq!(of("bbr3", &[]), Some(ProbeCycle::seconds(5.0)));
        assert_eq!(of("bbr3", &[("single_filter", 1.0)]), Some(ProbeCycle::seconds(10.0)));
        assert_eq!(of("bbr3", &[("probe_interval", 4.0)]), Some(ProbeCycle::seconds(6.0)));
        // 0.1 of 200 packets: a window of 500 packets takes 10 + 25 round trips.
        let fast = ProbeCycle { rounds_per_packet: 0.05, ..ProbeCycle::rounds(10.0) };
        assert_eq!(of("fast", &[("gamma", 0.1)]), Some(fast));
        let nv = ProbeCycle { seconds: 6.25, ..ProbeCycle::HALF_WINDOW };
        assert_eq!(of("nv", &[]), Some(nv));
    }
}
