//! The model of the path, the states, and the rate at which packets leave [BBR, LINUX].

use fairhaul_units::{Bytes, Span, Time};

use super::aggregated_acks::AggregatedAcks;
use super::burst_goal::burst_goal;
use super::policer::{Policer, Progress};
use super::rate_filter::{RateFilter, ThreeBest};
use super::recovering::Recovering;
use super::{BbrParameters, BbrVariant};
use crate::bbr_shared::{DeliveryRounds, Plateau, Spacing, after_idle};
use crate::draw::draw;
use crate::gauge::{payload_bps, seconds};
use crate::windowed_max::WindowedMax;
use crate::{AckEvent, Pacing, RateSample, Window};

/// The pacing gains of a cycle, a smallest round trip each.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The number of packets that keep acknowledgements coming, and that are in flight while the round trip is probed.
pub(super) const LEAST_WINDOW: f64 = 4.0;
/// Packets beyond the product of rate and round trip, for the packets that the end hosts hold: three bursts.
//
// Differs from [BBR]: in the variant of the draft a burst is one packet, whatever `offload` says and at any rate.
const BURSTS: f64 = 3.0;
/// What Linux paces below the rate, so that queues drain.
const MARGIN: f64 = 0.01;
/// What Linux has in flight beyond that in the phase that probes for more.
const PROBING: f64 = 2.0;
/// The payload of a packet where the sender has not said it.
const PAYLOAD: Bytes = Bytes(1448);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BbrState {
    Startup,
    Drain,
    ProbeBw { phase: u8 },
    ProbeRtt,
}

#[derive(Clone, Debug)]
pub(super) struct BbrModel {
    given: BbrParameters,
    payload: Bytes,
    pub(super) state: BbrState,
    pub(super) rounds: DeliveryRounds,
    rates: RateFilter,
    spacing: Spacing,
    min_rtt: Span,
    min_rtt_at: Time,
    plateau: Plateau,
    pub(super) filled: bool,
    /// When the phase of the cycle began.
    phase_began: Time,
    /// While the round trip is probed: when that ends, once the flight is small.
    probe_ends: Option<Time>,
    probe_round_done: bool,
    /// Samples of packets that left before this number of packets had been delivered are not of a full window.
    probed_until: f64,
    /// The window at the first acknowledgement. Until as much is delivered the rate says little.
    pub(super) first_window: f64,
    pub(super) recovering: Recovering,
    /// What only Linux has.
    aggregated: AggregatedAcks,
    policer: Policer,
    /// When the next burst departs, if the sender has bursts of the kernel.
    next_departure: Time,
    /// Packets delivered and lost so far.
    pub(super) delivered: f64,
    lost: f64,
}

impl BbrModel {
    pub(super) fn new(given: BbrParameters) -> BbrModel {
        let rates = match given.variant {
            BbrVariant::Linux => RateFilter::ThreeBest(ThreeBest::new(given.bandwidth_window)),
            BbrVariant::Draft => RateFilter::Exact(WindowedMax::new(given.bandwidth_window)),
        };
        BbrModel {
            given,
            payload: PAYLOAD,
            state: BbrState::Startup,
            rounds: DeliveryRounds::default(),
            rates,
            spacing: Spacing::default(),
            min_rtt: Span::ZERO,
            min_rtt_at: Time::ZERO,
            plateau: Plateau::default(),
            filled: false,
            phase_began: Time::ZERO,
            probe_ends: None,
            probe_round_done: false,
            probed_until: 0.0,
            first_window: 0.0,
            recovering: Recovering::default(),
            aggregated: AggregatedAcks::new(),
            policer: Policer::default(),
            next_departure: Time::ZERO,
            delivered: 0.0,
            lost: 0.0,
        }
    }

    pub(super) fn is_linux(&self) -> bool {
        self.given.variant == BbrVariant::Linux
    }

    /// Sets the payload of a full packet.
    pub(super) fn carries(&mut self, payload: Bytes) {
        self.payload = payload;
    }

    /// The next burst departs at `at`.
    pub(super) fn departs_at(&mut self, at: Time) {
        self.next_departure = at;
    }

    /// The first acknowledgement: the window of the start is paced over a round trip.
    pub(super) fn begin(&mut self, window: &Window, ack: &AckEvent) {
        if !self.min_rtt.is_zero() {
            return;
        }
        // In Linux the packet that opens the connection is the first sample.
        self.min_rtt = if self.is_linux() { ack.min_rtt } else { ack.rtt };
        self.min_rtt_at = ack.now;
        self.first_window = window.cwnd;
        let rate = self.given.high_gain * window.cwnd / ack.srtt.as_secs();
        self.spacing.follow(self.paced(rate), true);
    }

    /// The rate of the path, packets/s: the largest of the last rounds, or that of a policer.
    fn rate(&self) -> f64 {
        self.policer.rate().unwrap_or(self.rates.largest())
    }

    fn paced(&self, rate: f64) -> f64 {
        if self.is_linux() { rate * (1.0 - MARGIN) } else { rate }
    }

    /// Paces at the rate of the path, times the gain of the state.
    pub(super) fn follow_rate(&mut self) {
        self.spacing.follow(self.paced(self.pacing_gain() * self.rate()), !self.filled);
    }

    pub(super) fn pacing(&self) -> Pacing {
        self.spacing.pacing()
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup => self.given.high_gain,
            BbrState::Drain => 1.0 / self.given.high_gain,
            BbrState::ProbeBw { .. } if self.policer.rate().is_some() => 1.0,
            BbrState::ProbeBw { phase } => CYCLE[usize::from(phase)],
            BbrState::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup | BbrState::Drain => self.given.high_gain,
            BbrState::ProbeBw { .. } => self.given.cwnd_gain,
            BbrState::ProbeRtt => 1.0,
        }
    }

    /// The window that the model allows.
    pub(super) fn target(&self) -> f64 {
        let product = self.cwnd_gain() * self.rate() * self.min_rtt.as_secs();
        let aggregated = if self.filled { self.aggregated.allowance(self.rate()) } else { 0.0 };
        self.with_bursts(product, aggregated)
    }

    /// Packets in flight that fill the path `gain` times.
    fn in_flight_at(&self, gain: f64) -> f64 {
        self.with_bursts(gain * self.rates.largest() * self.min_rtt.as_secs(), 0.0)
    }

    /// The same, with what both ends hold. Linux counts whole packets, in pairs.
    fn with_bursts(&self, product: f64, aggregated: f64) -> f64 {
        if !self.is_linux() {
            return product + BURSTS;
        }
        let probing = if self.state == (BbrState::ProbeBw { phase: 0 }) { PROBING } else { 0.0 };
        let bursts = BURSTS * burst_goal(self.spacing.rate(), self.payload);
        2.0 * ((product.ceil() + aggregated + bursts) / 2.0).ceil() + probing
    }

    /// Moves the model of the path with an acknowledgement.
    pub(super) fn learn(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        self.rounds.take(sample);
        self.delivered = sample.delivered_total;
        let limited = sample.app_limited || sample.delivered_before < self.probed_until;
        if self.is_linux() {
            self.lost += ack.lost;
            self.watch_policer(ack.lost > 0.0, self.rounds.started, limited, ack.now);
        }
        if !limited || sample.rate() >= self.rates.largest() {
            self.rates.take(self.rounds.count, sample.rate());
        }
        if self.is_linux() {
            self.aggregated.take(ack.packets, self.rounds.started, self.rate(), window.cwnd, ack.now);
        }
        self.move_phase(ack);
        if !self.filled && self.rounds.started && !limited {
            self.filled = self.plateau.take(self.rates.largest());
        }
        if self.state == BbrState::Startup && self.filled {
            self.state = BbrState::Drain;
            if self.is_linux() {
                window.ssthresh = self.in_flight_at(1.0);
            }
        }
        if self.state == BbrState::Drain
            && self.at_departure(ack.in_flight, ack.now) <= self.in_flight_at(1.0)
        {
            self.cycle(ack.now);
        }
        self.watch_round_trip(window, ack, sample);
    }

    fn watch_policer(&mut self, finds_loss: bool, new_round: bool, app_limited: bool, now: Time) {
        let (lost, delivered, payload) = (self.lost, self.delivered, self.payload.0 as f64);
        let progress = Progress { now, lost, delivered, finds_loss, new_round, app_limited, payload };
        let cycling = matches!(self.state, BbrState::ProbeBw { .. });
        if self.policer.take(&progress, cycling) {
            self.cycle(now);
        }
    }

    /// A timeout in Linux: growth counts from the next rate on, and the policer's interval may end.
    pub(super) fn restart_plateau(&mut self, now: Time) {
        self.plateau.forget_rate();
        self.watch_policer(true, true, false, now);
    }

    /// A recovery or a timeout is undone: growth counts anew, and there is no policer (bbr_undo_cwnd).
    pub(super) fn on_undo(&mut self) {
        (self.plateau, self.policer) = (Plateau::default(), Policer::default());
    }

    /// Enters the cycle in any phase but that which drains.
    fn cycle(&mut self, now: Time) {
        let phase = (7.0 * draw(now)) as u8;
        let phase = if phase == 0 { 0 } else { phase + 1 };
        (self.state, self.phase_began) = (BbrState::ProbeBw { phase }, now);
    }

    /// What of `in_flight` packets is still in flight when the next burst departs; in Linux in the phase that probes for
    /// more with that burst [LINUX, bbr_packets_in_net_at_edt].
    //
    // Differs from [LINUX]: only a sender whose bursts have the kernel's sizes says when the next one departs. For others
    // these are at most two packets.
    fn at_departure(&self, in_flight: f64, now: Time) -> f64 {
        if !self.is_linux() {
            return in_flight;
        }
        let burst =
            if self.pacing_gain() > 1.0 { burst_goal(self.spacing.rate(), self.payload) } else { 0.0 };
        let delivered = (self.rate() * self.next_departure.since(now).as_secs()).floor();
        (in_flight + burst - delivered).max(0.0)
    }

    fn move_phase(&mut self, ack: &AckEvent) {
        let BbrState::ProbeBw { phase } = self.state else { return };
        let long = ack.now.since(self.phase_began) > self.min_rtt;
        let before = self.at_departure(ack.flight_before(), ack.now);
        let over = match self.pacing_gain() {
            // Until there is a queue, or no room for one.
            gain if gain > 1.0 => long && (ack.lost > 0.0 || before >= self.in_flight_at(gain)),
            gain if gain < 1.0 => long || before <= self.in_flight_at(1.0),
            _ => long,
        };
        if over {
            (self.state, self.phase_began) = (BbrState::ProbeBw { phase: (phase + 1) % 8 }, ack.now);
        }
    }

    /// Keeps the smallest round-trip time, and probes for it when the last is old.
    fn watch_round_trip(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        let old = ack.now > self.min_rtt_at + self.given.min_rtt_window;
        // In the first draft a sample that equals the minimum renews it; in Linux it has to be smaller.
        let fresh = ack.rtt < self.min_rtt || !self.is_linux() && ack.rtt == self.min_rtt;
        if fresh || old {
            (self.min_rtt, self.min_rtt_at) = (ack.rtt, ack.now);
        }
        if old && self.state != BbrState::ProbeRtt && !after_idle(sample) {
            self.state = BbrState::ProbeRtt;
            self.save(window);
            self.probe_ends = None;
        }
        if self.state == BbrState::ProbeRtt {
            self.probe_round_trip(window, ack, sample);
        }
    }

    fn probe_round_trip(&mut self, window: &mut Window, ack: &AckEvent, sample: &RateSample) {
        self.probed_until = sample.delivered_total + ack.in_flight;
        let Some(ends) = self.probe_ends else {
            if ack.in_flight <= LEAST_WINDOW {
                self.probe_ends = Some(ack.now + self.given.probe_rtt);
                self.probe_round_done = false;
                self.rounds.restart(sample.delivered_total);
            }
            return;
        };
        self.probe_round_done |= self.rounds.started;
        if self.probe_round_done && ack.now > ends {
            self.min_rtt_at = ack.now;
            window.cwnd = window.cwnd.max(self.recovering.prior_cwnd);
            if self.filled { self.cycle(ack.now) } else { self.state = BbrState::Startup }
        }
    }

    /// The rate of the path, in bit/s, and the smallest round-trip time, in seconds.
    pub(super) fn gauges(&self) -> [f64; 2] {
        [payload_bps(self.rate(), self.payload), seconds(self.min_rtt)]
    }

    /// The number of the state in the record.
    pub(super) fn mode(&self) -> u8 {
        match self.state {
            BbrState::Startup => 0,
            BbrState::Drain => 1,
            BbrState::ProbeBw { phase } => phase.min(2) + 2,
            BbrState::ProbeRtt => 5,
        }
    }
}
