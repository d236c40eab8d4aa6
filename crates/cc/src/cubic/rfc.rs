//! CUBIC by its formulas, in fractions of packets: that of the RFC [RFC 9438], and its first version
//! [CUBIC 2005].

use fairhaul_units::Time;

use super::CubicParameters;
use super::unused_time::UnusedTime;
use crate::{AckEvent, Window};

/// CUBIC by its formulas.
#[derive(Clone, Debug)]
pub(super) struct CubicRfc {
    formulas: Formulas,
    /// C, in packets per second cubed.
    c: f64,
    /// The share of the window that a loss leaves.
    beta: f64,
    /// What standard TCP, with beta instead of its half, gains in a round: a mean window like standard TCP's.
    alpha: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    /// The plateau; zero where no loss has shown one yet.
    w_max: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
    /// When the epoch began, later by the time in which the application limited the flow; `None`
    /// until congestion avoidance delivers something.
    start: Option<Time>,
    /// The time from the start to the plateau, in seconds.
    k_s: f64,
    /// What standard TCP would have.
    w_est: f64,
    unused: UnusedTime,
}

/// Whose formulas.
#[derive(Clone, Copy, Debug)]
enum Formulas {
    Rfc9438,
    /// `smax` is the fastest growth beyond the plateau, in packets per second; `literal`: one beta for both
    /// the window and K, as in the text of the paper's citations.
    Of2005 {
        smax: f64,
        literal: bool,
    },
}

impl CubicRfc {
    /// That of the RFC.
    pub(super) fn rfc9438(given: &CubicParameters) -> CubicRfc {
        CubicRfc::new(given, Formulas::Rfc9438, given.beta)
    }

    /// The version of 2005, with its formula for K or the literal one.
    pub(super) fn of_2005(given: &CubicParameters, literal: bool) -> CubicRfc {
        let formulas = Formulas::Of2005 { smax: given.smax, literal };
        CubicRfc::new(given, formulas, given.beta_2005)
    }

    fn new(given: &CubicParameters, formulas: Formulas, beta: f64) -> CubicRfc {
        CubicRfc {
            formulas,
            c: given.c,
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: given.fast_convergence,
            tcp_friendliness: given.tcp_friendliness,
            w_max: 0.0,
            cwnd_prior: 0.0,
            start: None,
            k_s: 0.0,
            w_est: 0.0,
            unused: UnusedTime::default(),
        }
    }

    /// The first acknowledgement of congestion avoidance since a loss, a timeout or the start
    /// begins an epoch; gives its start.
    fn begin(&mut self, cwnd: f64, now: Time) -> Time {
        // Slow start that ended without a loss, or a timeout: the plateau is here
        // [RFC 9438, 4.8, 4.10].
        self.w_max = self.w_max.max(cwnd);
        // Differs from [CUBIC 2005]: K = cbrt(W_max (1 - beta) / C) starts at the window only
        // where W_max is the window before the loss; after fast convergence it is less. The root
        // of the true distance is the same otherwise.
        let below = match self.formulas {
            Formulas::Of2005 { literal: true, .. } if self.w_max > cwnd => self.w_max * self.beta,
            Formulas::Of2005 { .. } | Formulas::Rfc9438 => self.w_max - cwnd,
        };
        self.k_s = libm::cbrt(below / self.c);
        self.w_est = cwnd;
        self.start = Some(now);
        now
    }

    /// W(t), the curve.
    fn at(&self, t_s: f64) -> f64 {
        let t_s = t_s - self.k_s;
        self.c * (t_s * t_s * t_s) + self.w_max
    }

    /// What the window is to gain in the next round.
    fn step(&self, t_s: f64, cwnd: f64, ack: &AckEvent) -> f64 {
        match self.formulas {
            Formulas::Rfc9438 => self.at(t_s + ack.srtt.as_secs()).clamp(cwnd, 1.5 * cwnd) - cwnd,
            // Unclear in [CUBIC 2005]: which round-trip time is used. The smallest one, as in Linux 2.6.22, which
            // does not apply Smax before the plateau either.
            Formulas::Of2005 { smax, .. } => {
                let round_s = ack.min_rtt.as_secs();
                let step = (self.at(t_s + round_s) - cwnd).max(0.0);
                if t_s < self.k_s { step } else { step.min(smax * round_s) }
            }
        }
    }

    /// What standard TCP gains in a round; after the last maximum simply one packet, by the RFC alone.
    fn alpha(&self) -> f64 {
        match self.formulas {
            Formulas::Rfc9438 if self.w_est >= self.cwnd_prior => 1.0,
            Formulas::Rfc9438 | Formulas::Of2005 { .. } => self.alpha,
        }
    }

    /// The window `grown` by the curve, or what standard TCP would have.
    fn friendly(&self, grown: f64, cwnd: f64, t_s: f64) -> f64 {
        match self.formulas {
            // Unclear in [RFC 9438, 4.3]: the RFC sets the window to W_est even if the window is above it. Here
            // the window is not lowered, because an acknowledgement is not a sign of congestion.
            Formulas::Rfc9438 if self.at(t_s) < self.w_est => cwnd.max(self.w_est),
            Formulas::Rfc9438 => grown,
            Formulas::Of2005 { .. } => grown.max(self.w_est),
        }
    }

    /// The plateau; zero where there is none.
    pub(super) fn plateau(&self) -> f64 {
        self.w_max
    }

    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        let start = self.start.unwrap_or_else(|| self.begin(window.cwnd, ack.now));
        let t_s = ack.now.since(start).as_secs();
        let share = ack.packets / window.cwnd;
        self.w_est += self.alpha() * share;
        self.unused.window_grows();
        let grown = window.cwnd + self.step(t_s, window.cwnd, ack) * share;
        window.cwnd = if self.tcp_friendliness { self.friendly(grown, window.cwnd, t_s) } else { grown };
    }

    pub(super) fn on_congestion(&mut self, window: &mut Window) {
        let falling = self.fast_convergence && window.cwnd < self.w_max;
        self.w_max = if falling { window.cwnd * (1.0 + self.beta) / 2.0 } else { window.cwnd };
        self.reduce(window);
    }

    /// From one packet towards beta of the window; the plateau is forgotten [RFC 9438, 4.8].
    // Unclear in [CUBIC 2005]: timeouts are not mentioned. They are handled as in the RFC and in Linux.
    pub(super) fn on_timeout(&mut self, window: &mut Window) {
        self.reduce(window);
        self.w_max = 0.0;
        window.cwnd = 1.0;
    }

    /// What a loss or a timeout makes of the window, and what is remembered of it.
    fn reduce(&mut self, window: &mut Window) {
        self.cwnd_prior = window.cwnd;
        self.start = None;
        // Differs from [RFC 9438, 4.6]: the window is reduced, not what is in flight; the RFC
        // leaves that to senders whose window does not grow unless it is used, as here.
        // Differs from [RFC 9438, 4.6]: a mark also leaves at least two packets; the RFC lets it leave one.
        window.give_up(1.0 - self.beta);
    }

    /// A packet leaves after nothing was in flight.
    pub(super) fn on_idle_end(&mut self, now: Time) {
        self.unused.idle_ends(now);
    }

    /// Time in which the window was not used does not count [RFC 9438, 4.2, 5.8].
    // Unclear in [CUBIC 2005]: how a pause of the application affects t. As in the RFC.
    pub(super) fn on_delivery(&mut self, now: Time) {
        let unused = self.unused.take(now);
        if let Some(start) = &mut self.start {
            *start += unused;
        }
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{Settings, Span};

    use super::*;
    use crate::Cubic;
    use crate::test_support::{ack, avoidance, close};

    fn settings() -> Settings {
        Settings::defaults(Cubic::PARAMETERS)
    }

    fn rfc9438() -> CubicRfc {
        CubicRfc::rfc9438(&(&settings()).into())
    }

    fn of_2005() -> CubicRfc {
        CubicRfc::of_2005(&(&settings()).into(), false)
    }

    /// A controller and its window just after a loss at that window.
    fn after_a_loss(mut cubic: CubicRfc, cwnd: f64) -> (CubicRfc, Window) {
        let mut window = avoidance(cwnd);
        cubic.on_congestion(&mut window);
        (cubic, window)
    }

    /// K = cbrt(1000 x 0.3 / 0.4) = 9.09 s, cbrt(1000 x 0.2 / 0.4) = 7.94 s; literally
    /// cbrt(1000 x 0.8 / 0.4) = 12.6 s.
    #[test]
    fn from_a_loss_at_1000_packets_to_the_plateau_takes_k() {
        let literal = CubicRfc::of_2005(&(&settings()).into(), true);
        for (cubic, k_s) in [(rfc9438(), 9.09), (of_2005(), 7.94), (literal, 12.6)] {
            let (mut cubic, mut window) = after_a_loss(cubic, 1000.0);
            cubic.on_ack(&mut window, &ack(Span::from_ms(100)));
            close(cubic.k_s, k_s, 1e-3);
        }
    }

    /// 0.1 s after the loss at 1000 packets, then at 900: 900 x 1.7 / 2 = 765, 900 x 1.8 / 2 = 810.
    // Requirement: rfc9438-4.7-a
    #[test]
    fn a_second_loss_lower_than_the_first_aims_lower_still() {
        let without = CubicRfc::rfc9438(&(&settings().with("fast_convergence", 0.0)).into());
        for (cubic, plateau) in [(rfc9438(), 765.0), (of_2005(), 810.0), (without, 900.0)] {
            let (mut cubic, _) = after_a_loss(cubic, 1000.0);
            cubic.on_congestion(&mut avoidance(900.0));
            close(cubic.w_max, plateau, 1e-9);
        }
    }

    /// 100 s after a loss at 100 packets the curve is at 0.4 x 96^3 = 350 000.
    #[test]
    fn a_round_adds_no_more_than_half_of_the_window() {
        let (cubic, _) = after_a_loss(rfc9438(), 100.0);
        assert_eq!(cubic.step(100.0, 70.0, &ack(Span::from_ms(100))), 35.0);
        assert_eq!(cubic.step(0.0, 1e9, &ack(Span::from_ms(100))), 0.0);
    }

    /// [RFC 9438, 4.8]: 1 packet, towards 0.7 of the window, and there K = 0.
    // Requirement: rfc9438-4.8-a
    #[test]
    fn a_timeout_begins_anew_and_forgets_the_plateau() {
        let (mut cubic, mut window) = after_a_loss(rfc9438(), 1000.0);
        window.cwnd = 800.0;
        cubic.on_timeout(&mut window);
        close(window.ssthresh, 560.0, 1e-9);
        assert_eq!(window.cwnd, 1.0);
        window.cwnd = 560.0;
        cubic
            .on_ack(&mut window, &AckEvent { now: Time::ZERO + Span::from_s(20), ..ack(Span::from_ms(100)) });
        assert_eq!((cubic.k_s, cubic.w_max), (0.0, 560.0));
        // The window that standard TCP would have begins there, too, and has grown by less than a packet.
        assert!((560.0..561.0).contains(&cubic.w_est), "{}", cubic.w_est);
    }
}
