//! Reno, the standard window rule [RFC 5681]: one packet more per round, half at a loss event.

use fairhaul_units::{Parameter, Settings};

use crate::{AckEvent, Catalogued, Congestion, Controller, Window};

/// Standard TCP. The sender decides which recovery it uses.
#[derive(Clone, Debug, Default)]
pub struct Reno;

impl Reno {
    pub(crate) const TITLE: &'static str = "Standard TCP (Reno): one more packet per round trip, half the \
                                            window at a loss";
    pub(crate) const SOURCE: &'static str = "RFC 5681";
    pub(crate) const PARAMETERS: &'static [Parameter] = &[];

    pub(crate) fn new(_: &Settings) -> Reno {
        Reno
    }
}

impl Catalogued for Reno {}

impl Controller for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        window.cwnd += ack.packets / window.cwnd;
    }

    // Differs from [RFC 5681, 3.1]: ssthresh is half of the window, not of the data in flight, as in Linux and as [RFC 9438,
    // 4.6] allows where a window grows only while it is used. Both are the same for a flow that fills its window.
    fn on_congestion(&mut self, window: &mut Window, _: &Congestion) {
        window.give_up(0.5);
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Span, Time};

    use super::*;
    use crate::test_support::{CONGESTION, avoidance, close, mean_window, one_round};
    use crate::{Needs, Pacing};

    /// 100 additions of 1/w while w goes from 100 to 101.
    #[test]
    fn a_round_at_100_packets_adds_one() {
        let mut window = avoidance(100.0);
        one_round(&mut Reno, &mut window);
        assert!((window.cwnd - 101.0).abs() < 0.01);
    }

    // Requirement: rfc5681-3.1-h, rfc5681-3.2-g
    #[test]
    fn a_loss_takes_half_and_leaves_two() {
        let mut window = avoidance(100.0);
        Reno.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (50.0, 50.0));
        let mut window = avoidance(3.0);
        Reno.on_congestion(&mut window, &CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (2.0, 2.0));
    }

    /// From W/2 to W in W/2 rounds, 3/8 W^2 packets: the mean 3/4 W is sqrt(3/2) / sqrt(p).
    // Requirement: rfc5681-3.1-a, rfc5681-3.1-i, rfc5681-3.1-j
    #[test]
    fn periodic_loss_gives_the_square_root_law() {
        for p in [1e-2, 1e-3, 1e-4, 1e-5] {
            close(mean_window(&mut Reno, p, 0.1), 1.225 / p.sqrt(), 0.03);
        }
    }

    #[test]
    fn what_was_no_loss_gives_the_window_back_and_takes_nothing() {
        let mut window = avoidance(50.0);
        Reno.on_undo(&mut window, 100.0, Time::ZERO);
        assert_eq!(window.cwnd, 100.0);
        Reno.on_undo(&mut window, 70.0, Time::ZERO);
        assert_eq!(window.cwnd, 100.0);
    }

    #[test]
    fn it_asks_nothing_of_routers_and_of_its_sender() {
        let (window, needs) = (avoidance(50.0), Needs::default());
        assert_eq!((Reno.needs(), Reno.mode(), Reno.pacing(&window)), (needs, None, Pacing::None));
        assert_eq!(Reno.request(&window, Span::from_ms(100), 1e6), None);
    }
}
