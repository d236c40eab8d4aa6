//! Chooses the next packet to send, when the pacer allows one: lost packets first [RFC 6675, NextSeg], then new data.

use fairhaul_cc::{Controller, Pacing, Request};
use fairhaul_experiment::Limit;
use fairhaul_units::{CongestionHeader, Data, Ecn, Sending, Time, real};

use super::frto::Frto;
use super::{CaState, Poll, Sender, SenderConfig};

impl<C: Controller + Clone> Sender<C> {
    /// What leaves once the connection is open.
    pub(super) fn poll_data(&mut self, now: Time) -> Poll {
        let urgent = std::mem::take(&mut self.urgent);
        if !urgent && real(self.board.in_flight() + 1) > self.window.cwnd.max(1.0) {
            self.stopped_by_window();
            return Poll::Idle;
        }
        if let Err(until) = self.pacer.ready(now) {
            // Not the window holds it, so the window must not grow.
            self.urgent = urgent;
            let capped = self.config.max_pacing_rate.is_some();
            self.stopped_otherwise(if capped { Limit::PacingCap } else { Limit::CongestionWindow });
            return Poll::Hold(until);
        }
        let mut poll = self.next_data(now);
        match &mut poll {
            Poll::Send(data) => {
                if self.needs.requests {
                    data.congestion = self.request();
                }
                self.last_sent = now;
                self.pacer.sent(data.size, data.packets, now);
                self.prr.sent(data.packets.into());
            }
            Poll::Hold(_) => self.urgent = urgent,
            Poll::Idle => {}
        }
        poll
    }

    fn next_data(&mut self, now: Time) -> Poll {
        if self.detector.is_probe_due() {
            return self.send_probe(now);
        }
        if self.state != CaState::Open
            && !self.holds_retransmissions()
            && let Some(number) = self.detector.next_lost_to_retransmit(&self.board)
        {
            return self.retransmit(number, now);
        }
        if self.may_send_new() {
            return self.send_new(now);
        }
        let shortage = self.shortage();
        self.stopped_otherwise(shortage);
        // A program that waits for room in a buffer goes on with the same write [LINUX, tcp_rate_check_app_limited].
        let lacks_data = shortage == Limit::Application || !self.config.buffers.is_tuned();
        let lacks_data = lacks_data && self.fq.as_ref().is_none_or(|fq| fq.is_empty(now));
        if let Some(rates) = self.rates.as_mut().filter(|_| lacks_data) {
            rates.app_limited(self.board.in_flight());
        }
        if self.state == CaState::Recovery {
            if let Some(number) = self.detector.next_gap_to_retransmit(&self.board) {
                return self.retransmit(number, now);
            }
            if self.detector.may_rescue(&self.board) {
                return self.rescue(now);
            }
        }
        Poll::Idle
    }

    /// What the last poll gave, a number of `packets`, leaves with that stamp.
    pub fn launched(&mut self, packets: u8, stamp: Time) {
        self.detector.launched(stamp);
        if self.rates.is_some() {
            self.sample_launch(packets.into(), stamp);
        }
    }

    /// The last `packets` were sent with that stamp: reports them to the rate sampler.
    #[inline(never)]
    pub(super) fn sample_launch(&mut self, packets: u64, stamp: Time) {
        if let CaState::Opening { .. } = self.state {
            return;
        }
        if let Some(rates) = &mut self.rates {
            let alone = self.board.outstanding() == packets;
            rates.sent(stamp, alone, self.board.in_flight() - (packets - 1), self.board.lost());
        }
    }

    /// In Linux: for the last acknowledgement nothing is retransmitted.
    fn holds_retransmissions(&self) -> bool {
        self.holds_losses || self.frto == Frto::SendsNew && self.may_send_new()
    }

    pub(super) fn may_send_new(&self) -> bool {
        self.board.next() < self.end_of_ready()
    }

    /// Whether data are lacking, or room in a buffer. At the end of a transfer the limit is what it was before.
    pub(super) fn shortage(&self) -> Limit {
        if self.board.next() >= self.total {
            self.limit.unwrap_or(Limit::CongestionWindow)
        } else if self.board.next() >= self.ready {
            Limit::Application
        } else {
            self.config.buffers.shortage()
        }
    }

    fn end_of_ready(&self) -> u64 {
        self.total.min(self.ready).min(self.config.buffers.end())
    }

    /// Sends a tail loss probe: new data if there are any, else the last packet once more [RFC 8985, 7.3].
    #[cold]
    fn send_probe(&mut self, now: Time) -> Poll {
        let (fresh, mut again) = (self.may_send_new(), self.board.next() - 1);
        if self.board.is_reported(again) && self.board.outstanding() > 0 && self.only_asks() {
            again = self.board.una(); // what only asks has no other timer for it
        }
        if !fresh && self.board.is_reported(again) {
            self.detector.cancel_probe(); // it came while the pacer held the probe
            return Poll::Idle;
        }
        self.pacer.go_on(self.pacer.burst().max(1)); // it waits for no burst of offload
        let poll = if fresh { self.send_new(now) } else { self.retransmit(again, now) };
        if let Poll::Send(_) = poll {
            self.detector.probe_sent(self.board.next(), !fresh);
            self.restart_timer(now);
        }
        poll
    }

    fn retransmit(&mut self, number: u64, now: Time) -> Poll {
        if let Err(until) = self.pace_retransmission(number, now) {
            return Poll::Hold(until);
        }
        self.detector.retransmit(&mut self.board, number, now);
        self.undo_state.on_retransmission(now);
        // A retransmission of the first gap starts the timer anew: it has a round trip before it.
        let first = number == self.board.una() && !self.detector.is_impatient();
        if first && !self.detector.is_reorder_timer_armed() || self.timer == Time::NEVER {
            self.restart_timer(now);
        }
        Poll::Send(self.retransmission(number, now))
    }

    fn rescue(&mut self, now: Time) -> Poll {
        if let Err(until) = self.pace_retransmission(self.recover, now) {
            return Poll::Hold(until);
        }
        let Some(number) = self.detector.rescue(&mut self.board, self.recover) else { return Poll::Idle };
        self.undo_state.on_retransmission(now);
        Poll::Send(self.retransmission(number, now))
    }

    /// How many of the packets of a burst leave as one, of which `left` have not left, and how: not what would say CWR together
    /// with others, and no packet of another size.
    #[inline(never)]
    fn whole(&self, left: u64, sending: Sending) -> (u64, Sending) {
        if self.cwr || self.detector.is_probe_due() {
            return (1, sending);
        }
        let first = self.config.packet_size(self.board.next());
        let last = self.board.next() + left - 1;
        let alike = if self.config.packet_size(last) == first { left } else { left - 1 };
        let packets = alike.clamp(1, u8::MAX.into());
        let ends = packets == left && (sending.follows() || left > 1 || sending == Sending::Whole);
        let sending = match (sending.follows(), ends) {
            (false, true) => Sending::Whole,
            (false, false) => Sending::First,
            (true, true) => Sending::Last,
            (true, false) => Sending::Following,
        };
        (packets, sending)
    }

    /// A block of packets is a burst, and cuts those of offload.
    #[inline(always)]
    fn cut_by_block(&self, burst: u64) -> u64 {
        match self.pacing_of_new() {
            Pacing::Blocks { count, .. } if burst > 1 => {
                burst.min(self.pacer.left_in_block(count, self.window.cwnd))
            }
            _ => burst,
        }
    }

    /// How new data are spread.
    #[inline(always)]
    fn pacing_of_new(&self) -> Pacing {
        match self.pacing() {
            // Unclear in [FHSTCP, Fig. 1]: whether recovery is paced. It is not: retransmissions leave at once.
            Pacing::Blocks { .. } if self.state != CaState::Open => Pacing::None,
            Pacing::Even(_) if self.fq.is_some() => Pacing::None,
            pacing => pacing,
        }
    }

    /// New data wait for their turn, which is not the window's doing where the host spreads them.
    #[inline(never)]
    fn pace_new(&mut self, burst: u64, now: Time) -> Result<(), Time> {
        let admitted = self.pacer.admit(self.pacing_of_new(), self.window.cwnd, burst, now);
        if admitted.is_err() {
            self.stopped_by_pacer();
        }
        admitted
    }

    /// Where the kernel sizes bursts, it does so when the turn of the next one has come.
    #[inline(never)]
    fn wait_for_turn(&mut self, now: Time) -> Result<(), Time> {
        let Pacing::Even(_) = self.pacing_of_new() else { return Ok(()) };
        let turn = self.pacer.turn(now);
        if turn.is_err() {
            self.stopped_by_pacer();
        }
        turn
    }

    fn stopped_by_pacer(&mut self) {
        if self.is_paced_by_host() {
            self.stopped_otherwise(Limit::CongestionWindow);
        } else {
            self.stopped_by_own_pacing();
        }
    }

    /// New data leave together, or spread: how many packets leave as one, and how; or what they wait for.
    #[inline(never)]
    fn begin_burst(&mut self, now: Time) -> Result<(u64, Sending), Poll> {
        if self.config.card.is_some()
            && self.fq.is_none()
            && let Err(until) = self.wait_for_card(now)
        {
            self.stopped_otherwise(Limit::CongestionWindow);
            return Err(Poll::Hold(until));
        }
        if self.config.segmentation.is_some()
            && self.fq.is_none()
            && let Err(until) = self.wait_for_turn(now)
        {
            return Err(Poll::Hold(until));
        }
        if let Some(until) = self.fq.as_ref().and_then(|fq| fq.is_full(now)) {
            return Err(Poll::Hold(until));
        }
        let alone = Some((1, Sending::First));
        let burst = if self.config.offload == 1 { alone } else { self.burst(now) };
        let (burst, sending) = burst.ok_or(Poll::Idle)?;
        let burst = self.cut_by_block(burst);
        let is_first = self.pacer.burst() == 0;
        if is_first && let Err(until) = self.wait_for_fq(burst, now) {
            return Err(Poll::Hold(until));
        }
        if self.spreads()
            && is_first
            && let Err(until) = self.pace_new(burst, now)
        {
            return Err(Poll::Hold(until));
        }
        if is_first {
            self.note_burst(burst);
            self.hand_to_fq(burst, now);
        }
        let (packets, sending) =
            if self.sends_whole_bursts { self.whole(burst, sending) } else { (1, sending) };
        self.pacer.go_on(burst - packets);
        Ok((packets, sending))
    }

    #[inline(always)]
    fn send_new(&mut self, now: Time) -> Poll {
        if self.board.outstanding() == 0 {
            self.end_idle(now);
        }
        let (mut packets, mut sending) = (1, Sending::First);
        if self.is_unpaced {
            self.pacer.go_on(0); // a probe was no burst
        } else {
            match self.begin_burst(now) {
                Ok(together) => (packets, sending) = together,
                Err(waits) => return waits,
            }
        }
        let number = self.board.send_new(packets);
        if self.pacer.burst() == 0 {
            self.note_usage();
            self.note_flight();
        }
        let behind_probe = self.detector.send_new(packets, now);
        if self.timer == Time::NEVER {
            self.restart_timer(now);
        } else if behind_probe {
            self.arm_timer(true, now);
        }
        let cwr = std::mem::take(&mut self.cwr) && self.config.ecn == Ecn::Capable && self.accurate.is_none();
        let one = self.retransmission(number, now);
        Poll::Send(Data {
            size: one.size * packets as u32,
            packets: packets as u8,
            ecn: self.config.ecn,
            cwr,
            sending,
            ..one
        })
    }

    /// What the next packet asks of routers.
    #[inline(never)]
    fn request(&self) -> Option<CongestionHeader> {
        let SenderConfig { line, packet, .. } = self.config;
        let Request { gap, rtt, change } =
            self.controller.request(&self.window, self.rtt.smoothed(), line)?;
        let delta = (change * f64::from(packet)).min(i32::MAX.into());
        Some(CongestionHeader::new(gap, rtt, delta as i32))
    }

    /// A retransmission is not ECN-capable [RFC 3168, 6.1.5].
    fn retransmission(&self, number: u64, now: Time) -> Data {
        let (ecn, size) = (Ecn::NotCapable, self.config.packet_size(number));
        let stamped = self.fq.as_ref().map_or(now, |fq| fq.stamp());
        let (packets, sending, cwr, congestion) = (1, Sending::Again, false, None);
        Data { number, stamped, size, packets, sending, ecn, cwr, congestion }
    }
}
