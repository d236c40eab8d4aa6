//! How what the window lets go is spread: by the controller, or by the host of one that does not pace itself.

use fairhaul_cc::{Controller, Pacing, Window};
use fairhaul_experiment::HostPacing;
use fairhaul_units::Span;

use super::Sender;

/// How much faster than a window in a round trip a host of Linux sends: in slow start, and otherwise (tcp_pacing_ss_ratio,
/// tcp_pacing_ca_ratio); and one of QUIC (N).
const LINUX_RATIOS: (f64, f64) = (2.0, 1.2);
const QUIC_RATIO: f64 = 1.25;
/// Packets that leave at once in Linux when a connection begins.
pub(super) const LINUX_BURST: u64 = 10;
/// Packets by which a sender may be late without losing their turns: in Linux half of one, in QUIC a bucket
/// of ten, the one whose turn it is included.
const LINUX_DEPTH: f64 = 0.5;
const QUIC_DEPTH: f64 = 9.0;

/// By how many packets a sender may be late without losing their turns; `linux`: its kernel is Linux, which spreads what
/// a controller asks it to spread by the same rule as `fq` [LINUX, tcp_update_skb_after_send].
pub(super) fn depth(pacing: HostPacing, linux: bool) -> f64 {
    match pacing {
        HostPacing::None if linux => LINUX_DEPTH,
        HostPacing::None => 0.0,
        HostPacing::Linux => LINUX_DEPTH,
        HostPacing::Quic => QUIC_DEPTH,
    }
}

impl<C: Controller + Clone> Sender<C> {
    /// Whether the controller, or the host, spreads what the window lets go.
    #[inline(always)]
    pub(super) fn spreads(&self) -> bool {
        self.needs.pacing || self.config.pacing != HostPacing::None || self.first.is_some()
    }

    /// How that is spread.
    #[inline(always)]
    pub(super) fn pacing(&self) -> Pacing {
        if let Some(gap) = self.first_gap() {
            return Pacing::Even(gap);
        }
        let own = if self.needs.pacing { self.controller.pacing(&self.window) } else { Pacing::None };
        if own != Pacing::None {
            own
        } else if self.config.pacing != HostPacing::None {
            self.host_pacing()
        } else {
            Pacing::None
        }
    }

    /// Whether its host spreads what leaves.
    #[inline(always)]
    pub(super) fn is_paced_by_host(&self) -> bool {
        self.config.pacing != HostPacing::None && !self.needs.pacing
    }

    /// How the host spreads what the window lets go.
    #[inline(never)]
    pub(super) fn host_pacing(&self) -> Pacing {
        let gap = match self.config.pacing {
            HostPacing::None => return Pacing::None,
            HostPacing::Linux if self.board.next() < LINUX_BURST => return Pacing::None,
            HostPacing::Linux => self.gap_of_window(),
            HostPacing::Quic => self.rtt.smoothed().as_secs() / (QUIC_RATIO * self.window.cwnd.max(1.0)),
        };
        if gap > 0.0 { Pacing::Even(Span::from_secs(gap)) } else { Pacing::None }
    }

    /// The time from packet to packet at which Linux sends a window, seconds; zero before the first round trip.
    pub(super) fn gap_of_window(&self) -> f64 {
        let Window { cwnd, ssthresh } = self.window;
        let ratio = if cwnd < ssthresh / 2.0 { LINUX_RATIOS.0 } else { LINUX_RATIOS.1 };
        self.rtt.smoothed().as_secs() / (ratio * cwnd.max(self.board.outstanding() as f64).max(1.0))
    }
}
