//! What a pause leaves of the window: all of it, or what is left in Linux [LINUX, tcp_cwnd_restart] or by
//! [RFC 5681, 4.1]. The rule of [RFC 7661] is in `validation.rs`.

use fairhaul_cc::Controller;
use fairhaul_experiment::Restart;
use fairhaul_units::{Span, Time};

use super::Sender;
use super::undo_linux::current_ssthresh;

impl<C: Controller + Clone> Sender<C> {
    /// New data are about to leave, and nothing is in flight: a pause is over, if something has left before.
    #[inline(never)]
    pub(super) fn end_idle(&mut self, now: Time) {
        let sent = std::mem::replace(&mut self.last_sent, Time::NEVER);
        if sent == Time::NEVER {
            return;
        }
        let (silence, timeout) = (now.since(sent), self.rtt.timeout());
        self.controller.on_idle_end(&mut self.window, now, silence);
        if silence <= timeout || self.moves_window_itself() {
            return;
        }
        let restart = self.config.initial_window.min(self.window.cwnd);
        match self.config.restart {
            Restart::None | Restart::Rfc7661 => {}
            Restart::Rfc5681 => self.window.cwnd = restart,
            Restart::Linux => {
                if !self.in_cwr {
                    self.window.ssthresh = current_ssthresh(self.window);
                }
                // Halved for each timeout of silence but the first.
                let mut rest = silence.saturating_sub(timeout);
                while rest > Span::ZERO && self.window.cwnd > restart {
                    self.window.cwnd = (self.window.cwnd / 2.0).floor().max(restart);
                    rest = rest.saturating_sub(timeout);
                }
            }
        }
    }

    /// Whether its controller sets the window itself (`cong_control` in the kernel).
    pub(super) fn moves_window_itself(&self) -> bool {
        self.needs.rates
    }
}
