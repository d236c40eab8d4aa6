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

    /// Takes a round trip, of `packets` that left as one.
    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: Span, packets: u8) {
        match self.config.rto {
            Rto::Scaled | Rto::Rfc6298 => {
                let in_flight = real(self.board.in_flight());
                let per_round = if packets > 1 { trains(in_flight, packets) } else { in_flight };
                self.rtt.sample(rtt, per_round);
            }
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

/// How many trains of `packets` are in flight. Apart, or single packets would be divided, too.
#[cold]
fn trains(in_flight: f64, packets: u8) -> f64 {
    in_flight / f64::from(packets)
}
