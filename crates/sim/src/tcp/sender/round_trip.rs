//! The round trip that an acknowledgement shows.

use fairhaul_cc::Controller;
use fairhaul_experiment::Rto;
use fairhaul_units::{Ack, Span, Time, real};

use super::{CaState, Sender};

impl<C: Controller + Clone> Sender<C> {
    /// The round trip that an acknowledgement shows, which was just taken: that of the packet that waited for it longest
    /// [RFC 7323, 4.3]; with RACK that of the packet which left last of all delivered packets, as in Linux.
    #[inline(always)]
    pub fn round_trip(&self, ack: &Ack, now: Time) -> Span {
        self.detector.latest_rtt().unwrap_or_else(|| now.since(ack.echo))
    }

    /// Takes a round trip.
    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: Span) {
        match self.config.rto {
            Rto::Scaled | Rto::Rfc6298 => self.rtt.sample(rtt, real(self.board.in_flight())),
            Rto::Linux => self.sample_as_linux(rtt),
        }
    }

    #[cold]
    fn sample_as_linux(&mut self, echoed: Span) {
        let opens = matches!(self.state, CaState::Opening { .. });
        let rtt = if opens { Some(echoed) } else { self.detector.rtt_for_timeout(echoed) };
        if let Some(rtt) = rtt {
            self.rtt.sample_in_full(rtt, self.board.una(), self.board.next());
        }
    }
}
