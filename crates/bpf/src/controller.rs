//! A controller in eBPF in the engine: it is called as a kernel calls it, and the window of its socket is the sender's.

use fairhaul_cc::{AckEvent, Cause, Congestion, Controller, Fault, Needs, Own, Pacing, Window};
use fairhaul_units::{Span, Time};

use crate::error::Error;
use crate::fields::{
    ADVERTISED_MSS, BYTES_ACKED, CLOCK, CWND, CWND_CLAMP, DELIVERED, DELIVERED_AT, DELIVERED_MARKED,
    ECN_FLAGS, HAS_STAMP, HAS_USEC_STAMPS, HIGH_SEQ, IS_CWND_LIMITED, LAST_SENT, LEAST_RTT, LEAST_RTT_AT,
    LOST, MAX_PACING_RATE, MAX_PACKETS_OUT, MSS, MSTAMP, PACING_RATE, PACING_SHIFT, PACING_STATUS,
    PACKETS_OUT, PRIOR_CWND, SND_NXT, SND_UNA, SRTT, SSTHRESH, STAMP, STAMP_ECHO, STATE, TOS,
};
use crate::kernel::HZ;
use crate::program::Operation;
use crate::socket::{Control, Delivery, Sample, Socket};

/// The payload of a packet, bytes.
const PACKET_BYTES: u32 = 1448;
/// What the kernel's clock shows when a run begins: programs take zero for a time that is not set.
const BEGIN_US: u64 = 1_000_000;
/// A threshold that is not set.
const INFINITE: u64 = 0x7fff_ffff;
/// States of congestion control.
const OPEN: u8 = 0;
const REDUCED: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// Events of the window: sending begins when nothing is in flight, a recovery is over, and a timeout.
const BEGIN: u64 = 0;
const COMPLETE: u64 = 2;
const TIMEOUT: u64 = 3;
/// Of an acknowledgement: it was processed in full, and it carries a mark.
const PROCESSED: u64 = 1;
const MARKED: u64 = 4;
/// The controller wants ECN, and exact echoes of marks.
pub(crate) const NEEDS_ECN: u32 = 2;
/// What the kernel notes of a connection with classic and with accurate feedback on marks; in both it sends data with ECT(0),
/// whatever the network makes of it.
const CLASSIC: u64 = 1;
const ACCURATE: u64 = 16;
const ECT_0: u64 = 2;
/// The kernel paces the socket.
const PACED: u64 = 1;

/// The controller of one connection.
#[derive(Clone)]
pub(crate) struct BpfController {
    socket: Socket,
    is_attached: bool,
    /// Whether the program moves the window by `cong_control`.
    has_control: bool,
    needs: Needs,
    is_accurate: bool,
    delivered: f64,
    marked: f64,
    lost: f64,
    pacing: Pacing,
}

impl BpfController {
    pub(crate) fn new(socket: Socket, needs_ecn: bool, paces: bool) -> BpfController {
        let has_control = socket.has(Operation::CongControl);
        let needs = Needs { exact_echo: needs_ecn, rates: has_control, pacing: paces, ..Needs::default() };
        let (delivered, marked, lost) = (0.0, 0.0, 0.0);
        BpfController {
            socket,
            is_attached: false,
            has_control,
            needs,
            is_accurate: false,
            delivered,
            marked,
            lost,
            pacing: Pacing::None,
        }
    }

    /// Calls the program with the sender's window and clock, and takes over what it did.
    fn with<T>(
        &mut self,
        window: &mut Window,
        now: Time,
        act: impl FnOnce(&mut BpfController) -> Result<T, Error>,
    ) -> T {
        let us = BEGIN_US + now.since(Time::ZERO).as_ps() / 1_000_000;
        let (cwnd, ssthresh) = (window.cwnd as u64, (window.ssthresh as u64).min(INFINITE));
        let (socket, ns) = (&mut self.socket, 1000 * us);
        socket.set_fields([(MSTAMP, us), (CLOCK, ns), (CWND, cwnd), (SSTHRESH, ssthresh)]);
        socket.set_clock(ns);
        let attached = if self.is_attached { Ok(()) } else { self.attach() };
        let done = attached.and_then(|()| act(self));
        let done = done.unwrap_or_else(|error| Fault { at: Some(now), what: error.to_string() }.raise());
        let (after, threshold) = (self.socket.field(CWND), self.socket.field(SSTHRESH));
        if after != cwnd {
            window.cwnd = after.max(1) as f64;
        }
        if threshold != ssthresh {
            window.ssthresh = if threshold >= INFINITE { f64::INFINITY } else { threshold as f64 };
        }
        done
    }

    /// What a kernel does when a connection is established.
    fn attach(&mut self) -> Result<(), Error> {
        self.is_attached = true;
        let (feedback, codepoint) = match (self.is_accurate, self.needs.exact_echo) {
            (true, _) => (ACCURATE, ECT_0),
            (false, true) => (CLASSIC, ECT_0),
            (false, false) => (0, 0),
        };
        self.socket.set_fields([
            (STATE, 1),
            (CWND_CLAMP, u32::MAX.into()),
            (MSS, PACKET_BYTES.into()),
            (ADVERTISED_MSS, PACKET_BYTES.into()),
            (MAX_PACING_RATE, u64::MAX),
            (PACING_RATE, u64::MAX),
            (PACING_SHIFT, 10),
            (HAS_STAMP, 1),
            (HAS_USEC_STAMPS, 1),
            (ECN_FLAGS, feedback),
            (TOS, codepoint),
        ]);
        self.socket.init()
    }

    /// Brings the socket up to date with an acknowledgement.
    fn update(&mut self, ack: &AckEvent) {
        self.delivered += ack.packets;
        self.marked += ack.marked;
        self.lost += ack.lost;
        let (now, rtt) = (self.socket.field(MSTAMP), micros(ack.rtt));
        let sent = now.wrapping_sub(rtt);
        let una = self.delivered as u64 * u64::from(PACKET_BYTES);
        let in_flight = ack.in_flight as u64;
        self.socket.set_fields([
            (SRTT, micros(ack.srtt) * 8),
            (LEAST_RTT, micros(ack.min_rtt)),
            (LEAST_RTT_AT, now * HZ / 1_000_000),
            (SND_UNA, una),
            (SND_NXT, una + in_flight * u64::from(PACKET_BYTES)),
            (BYTES_ACKED, una),
            (PACKETS_OUT, in_flight),
            (MAX_PACKETS_OUT, in_flight + ack.packets as u64),
            (DELIVERED, self.delivered as u64),
            (DELIVERED_MARKED, self.marked as u64),
            (DELIVERED_AT, now),
            (LOST, self.lost as u64),
            (LAST_SENT, now * HZ / 1_000_000),
            (STAMP_ECHO, sent),
            (STAMP, sent.wrapping_add(micros(ack.one_way))),
            (IS_CWND_LIMITED, u64::from(ack.window_limited)),
        ]);
    }

    /// The operations of every acknowledgement, in the order of the kernel.
    fn acknowledge(&mut self, ack: &AckEvent) -> Result<(), Error> {
        self.update(ack);
        let flags = PROCESSED | if ack.marked > 0.0 { MARKED } else { 0 };
        self.socket.call(Operation::InAckEvent, &[flags])?;
        let rtt_us = i32::try_from(micros(ack.rtt)).unwrap_or(i32::MAX);
        let in_flight = (ack.in_flight + ack.packets) as u32;
        self.socket.pkts_acked(Sample { packets: ack.packets as u32, rtt_us, in_flight })?;
        if !self.has_control {
            return Ok(());
        }
        let rate = ack.rate.as_ref().map(|rate| Delivery {
            before: rate.delivered_before as u32,
            packets: rate.delivered as u32,
            interval_us: micros(rate.interval),
            is_app_limited: rate.app_limited,
        });
        let (acked, lost) = (ack.packets as u32, ack.lost as u32);
        let control = Control { flags, acked, lost, in_flight, rtt_us: micros(ack.rtt), rate };
        self.socket.cong_control(&control)
    }

    fn grow(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.has_control {
            return;
        }
        self.with(window, ack.now, |this| {
            this.socket.set_field(IS_CWND_LIMITED, 1);
            this.socket.cong_avoid(ack.packets as u32)
        });
        self.spread(window, ack.now);
    }

    /// The threshold after a loss event, with the next state of the socket.
    fn reduce(&mut self, window: &mut Window, event: &Congestion, state: u8) {
        self.with(window, event.now, |this| {
            let (before, next) = (this.socket.field(CWND), this.socket.field(SND_NXT));
            this.socket.set_field(PRIOR_CWND, before);
            this.socket.set_field(HIGH_SEQ, next);
            let threshold = this.socket.ssthresh()?;
            this.socket.set_field(SSTHRESH, threshold.into());
            if state == LOSS {
                this.socket.call(Operation::CwndEvent, &[TIMEOUT])?;
                this.socket.set_field(CWND, 1);
            }
            this.socket.set_state(state)
        });
    }

    /// How the socket spreads its packets, after the program has been called.
    fn spread(&mut self, window: &mut Window, now: Time) {
        if !self.needs.pacing {
            return;
        }
        let rate = self.socket.field(PACING_RATE).min(self.socket.field(MAX_PACING_RATE));
        if self.socket.field(PACING_STATUS) != PACED || rate == 0 || rate >= u64::MAX / 2 {
            self.pacing = Pacing::None;
            return;
        }
        let round = |packets: f64| Span::from_secs(packets * f64::from(PACKET_BYTES) / rate as f64);
        let burst = self.with(window, now, |this| this.socket.min_tso_segs()).unwrap_or(1);
        let count = (window.cwnd / f64::from(burst.max(1))).ceil();
        self.pacing = match burst > 2 && count >= 2.0 {
            true => Pacing::Blocks { count: count as u32, round: round(window.cwnd) },
            false => Pacing::Even(round(1.0)),
        };
    }
}

fn micros(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

impl Controller for BpfController {
    /// The connection says so when it is established, before anything is sent.
    fn on_ecn_feedback(&mut self, accurate: bool) {
        self.is_accurate = accurate;
    }

    fn on_delivery(&mut self, window: &mut Window, ack: &AckEvent) {
        self.with(window, ack.now, |this| this.acknowledge(ack));
        if self.has_control {
            self.spread(window, ack.now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.grow(window, ack);
    }

    fn on_slow_start(&mut self, window: &mut Window, ack: &AckEvent) {
        self.grow(window, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        let state = if event.cause == Cause::Mark { REDUCED } else { RECOVERY };
        if state == REDUCED {
            // The kernel has counted the mark before; how many there were comes with the acknowledgement.
            self.socket.set_field(DELIVERED_MARKED, self.marked as u64 + 1);
        }
        self.reduce(window, event, state);
        // The kernel takes the window down to the threshold during the recovery, unless the program moves it.
        if !self.has_control {
            window.cwnd = window.ssthresh.max(1.0);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, event: &Congestion) {
        self.reduce(window, event, LOSS);
    }

    fn on_recovered(&mut self, window: &mut Window, now: Time) {
        self.with(window, now, |this| {
            this.socket.call(Operation::CwndEvent, &[COMPLETE])?;
            this.socket.set_state(OPEN)
        });
    }

    fn on_undo(&mut self, window: &mut Window, before: f64, now: Time) {
        self.with(window, now, |this| {
            this.socket.set_field(PRIOR_CWND, before as u64);
            let cwnd = this.socket.undo_cwnd()?;
            this.socket.set_field(CWND, cwnd.into());
            Ok(())
        });
    }

    fn on_idle_end(&mut self, window: &mut Window, now: Time, silence: Span) {
        self.with(window, now, |this| {
            let sent = this.socket.field(MSTAMP).saturating_sub(micros(silence));
            this.socket.set_field(LAST_SENT, sent * HZ / 1_000_000);
            this.socket.call(Operation::CwndEvent, &[BEGIN]).map(drop)
        });
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn pacing(&self, _: &Window) -> Pacing {
        self.pacing
    }
}

impl Own for BpfController {
    fn copied(&self) -> Box<dyn Own> {
        Box::new(self.clone())
    }

    fn memory(&self) -> u64 {
        self.socket.bytes() as u64
    }
}
