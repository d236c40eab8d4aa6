//! The sender: what may leave, and what an acknowledgement means.
//!
//! It owns what every controller shares: the handshake, slow start, recovery (Reno, NewReno [RFC 6582], SACK [RFC 6675],
//! RACK [RFC 8985]) and its undo [RFC 4015], the retransmission timer [RFC 6298], echoes of marks [RFC 3168] and the pacer.
//! Its loss detector says what is lost. The engine reports each event to it, then polls it until it has nothing to send.

mod accurate;
mod buffers;
mod burst;
mod departure;
mod echo;
mod first;
mod frto;
mod growth;
mod host_pacing;
mod integer_cwnd;
mod kernel_burst;
mod outcome;
mod outgoing;
mod paused;
mod rate_limited;
mod recovery;
mod restart;
mod round_trip;
mod silence;
mod slow_start;
mod timers;
mod undo;
mod undo_linux;
mod usage;
mod validation;

use std::collections::VecDeque;

use departure::RetransmittedBurst;
use fairhaul_cc::{Controller, Needs, Window};
use fairhaul_experiment::{Limit, OnTimeout, Restart, Rto};
use fairhaul_units::{Ack, Bytes, Data, Ecn, HEADER, OPENING_OPTIONS, Sending, Span, Time};
use frto::Frto;
pub use outcome::Outcome;
use rate_limited::FlightLimit;
use silence::Silence;
use slow_start::DelayExit;
use undo::UndoState;
use usage::Usage;
use validation::Validation;

use super::{
    AccEcnReader, AtCard, First, Fq, LossDetector, Pacer, Prr, RateSampler, RttEstimator, Scoreboard,
    SenderConfig,
};

/// What a poll gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// This leaves now.
    Send(Data),
    /// The pacer holds the next packet until then.
    Hold(Time),
    /// Nothing may leave before something happens.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaState {
    /// The request to open has not been answered.
    Opening { asked: bool, timeouts: u8 },
    /// All is well.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout, until `recover` is acknowledged.
    Loss,
}

/// The sending end of one connection.
#[derive(Clone, Debug)]
pub struct Sender<C> {
    config: SenderConfig,
    /// Packets in the transfer.
    total: u64,
    /// Packets that the application has ready.
    ready: u64,
    /// Whether the packets of a burst leave as one.
    sends_whole_bursts: bool,

    controller: C,
    needs: Needs,
    window: Window,
    /// Whether the window is what limits the sender.
    usage: Usage,
    /// What kept the next packet back the last time; nothing before that.
    limit: Option<Limit>,
    /// When a packet last left; never: none has since the end of the last pause.
    last_sent: Time,
    /// When what the last acknowledgement is for arrived, its time stamp.
    newest_ack: Time,
    /// Whether the window has been used, where that is asked [RFC 7661].
    validation: Option<Box<Validation>>,
    /// What ends slow start before something is lost.
    delay_exit: DelayExit,
    /// What the first round trips do beyond slow start, as long as they do.
    first: Option<Box<First>>,
    /// What bounds the growth of a window that is not used, where that is asked [RATE-LIMITED].
    flight_limit: Option<FlightLimit>,
    pacer: Pacer,
    fq: Option<Box<Fq>>,
    at_card: AtCard,
    /// Packets that are retransmitted as one.
    retransmitted: RetransmittedBurst,
    /// A burst that the kernel sizes waits for another acknowledgement.
    defers: bool,
    /// The packets behind each burst that is not acknowledged, where the kernel sizes the send buffer.
    bursts: VecDeque<u64>,
    /// Whether the window alone says when new data leave, one packet at a time.
    is_unpaced: bool,

    board: Scoreboard,
    detector: LossDetector,
    rtt: RttEstimator,
    /// Samples of the path's rate, where the controller asks for them.
    rates: Option<Box<RateSampler>>,
    /// When the timer runs out, of whichever kind it is.
    timer: Time,
    /// What is asked while nothing is acknowledged, where a timeout only asks.
    silence: Option<Box<Silence>>,

    state: CaState,
    /// Recovery ends when all below this packet is acknowledged.
    recover: u64,
    /// A retransmission is due whatever is in flight: a recovery's first, or for a partial acknowledgement.
    urgent: bool,
    /// How the window is reduced where that is in proportion to what is delivered.
    prr: Prr,
    undo_state: UndoState<C>,
    /// In Linux: whether all was lost at the last timeout is not known yet.
    frto: Frto,
    /// In Linux: the last acknowledgement showed that packets are late, so it marks nothing as lost.
    holds_losses: bool,

    /// The first packet that had not been sent when an echo last reduced the window.
    marked_below: u64,
    /// In Linux: an echo reduces the window in proportion to what is delivered (CA_CWR).
    in_cwr: bool,
    /// The window was reduced, and no new data have said so yet.
    cwr: bool,
    /// Reads how many packets were marked, where feedback is accurate.
    accurate: Option<Box<AccEcnReader>>,
    /// Whether acknowledgements say of each packet that they cover whether it was marked, or of how many.
    exact_echo: bool,
    /// The routers' feedback so far, bytes/s, where acknowledgements carry its sum.
    router_feedback: i32,

    /// Packets marked lost that were reported to the controller.
    lost_reported: u64,
    /// The round under way is over when this packet is acknowledged, too.
    round_end: u64,
}

impl<C: Controller + Clone> Sender<C> {
    /// A sender that has not opened its connection.
    pub fn new(config: SenderConfig, mut controller: C) -> Sender<C> {
        controller.on_start(&config.start());
        let needs = controller.needs();
        let fq = config.segmentation.and_then(|segmentation| segmentation.fq);
        Sender {
            is_unpaced: config.is_unpaced(needs.pacing),
            needs,
            total: config.packets(),
            ready: u64::MAX,
            sends_whole_bursts: false,
            window: config.window(),
            usage: Usage::NEW,
            limit: None,
            last_sent: Time::NEVER,
            newest_ack: Time::ZERO,
            validation: (config.restart == Restart::Rfc7661).then(Box::default),
            delay_exit: DelayExit::new(config.slow_start),
            first: None,
            flight_limit: config.rate_limited_increase.then(|| FlightLimit::new(config.window().cwnd)),
            fq: fq.map(|horizon| Fq::new(horizon).into()),
            at_card: AtCard::default(),
            retransmitted: RetransmittedBurst::NONE,
            pacer: Pacer::new(
                config.max_pacing_rate.filter(|_| fq.is_none()),
                host_pacing::depth(config.pacing, config.rto == Rto::Linux),
            ),
            defers: false,
            bursts: VecDeque::new(),
            board: Scoreboard::default(),
            detector: LossDetector::new(config.recovery, config.min_rto, config.rto == Rto::Linux),
            rtt: match config.rto {
                Rto::Rfc6298 => RttEstimator::with_least_timeout(config.min_rto),
                Rto::Scaled | Rto::Linux => RttEstimator::new(config.min_rto),
            },
            rates: needs.rates.then(Box::default),
            timer: Time::NEVER,
            silence: (config.on_timeout == OnTimeout::Probe).then(Box::default),
            state: CaState::Opening { asked: false, timeouts: 0 },
            recover: 0,
            urgent: false,
            prr: Prr::new(config.recovery, needs.rates),
            undo_state: UndoState::new(),
            frto: Frto::Off,
            holds_losses: false,
            marked_below: 0,
            in_cwr: false,
            cwr: false,
            accurate: None,
            exact_echo: needs.exact_echo,
            router_feedback: 0,
            lost_reported: 0,
            round_end: 0,
            config,
            controller,
        }
        .with_agreed_feedback()
    }

    /// The application has `packets` ready, the sent included; by default all of them.
    pub fn ready(&mut self, packets: u64) {
        self.ready = packets;
    }

    /// The number of the next new packet: how many it has sent.
    pub fn next(&self) -> u64 {
        self.board.next()
    }

    /// Whether more ready packets would change nothing: a whole burst that has not been sent is ready, and perhaps one
    /// packet behind it, and does not wait for another acknowledgement.
    pub fn has_burst_ready(&self) -> bool {
        let behind = u64::from(self.config.segmentation.is_some());
        let is_whole = self.ready - self.board.next() >= self.config.offload + behind;
        self.ready == u64::MAX || is_whole && !self.defers
    }

    /// What it has to carry becomes that much payload, the sent included.
    pub fn set_size(&mut self, size: u64) {
        self.config.size = Some(size);
        self.total = self.config.packets();
    }

    /// Whether the connection is open and all that it has to carry is acknowledged.
    pub fn is_done(&self) -> bool {
        !matches!(self.state, CaState::Opening { .. }) && self.board.una() == self.total
    }

    /// What it goes by.
    #[inline(always)]
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// The window and the slow-start threshold; where the window counts whole packets, without the fraction earned of
    /// the next one, as a kernel shows it.
    #[inline(always)]
    pub fn window(&self) -> Window {
        if self.config.integer_cwnd { self.whole_window() } else { self.window }
    }

    /// Whether the receiver is to echo exactly which packets were marked.
    pub fn exact_echo(&self) -> bool {
        self.exact_echo
    }

    /// Whether acknowledgements are to sum what routers answer.
    pub fn sums_feedback(&self) -> bool {
        self.needs.feedback_sum
    }

    /// When the retransmission timer runs out; [`Time::NEVER`] where it does not run.
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Span {
        self.rtt.smoothed()
    }

    /// What leaves at `now`. To be asked until it has nothing more.
    pub fn poll(&mut self, now: Time) -> Poll {
        match self.state {
            CaState::Opening { asked: true, .. } => Poll::Idle,
            CaState::Opening { asked: false, timeouts } => {
                self.state = CaState::Opening { asked: true, timeouts };
                self.restart_timer(now);
                let options = if self.config.options { OPENING_OPTIONS } else { Bytes(0) };
                let (ecn, size) = (Ecn::NotCapable, (HEADER + options).0 as u32); // [RFC 3168, 6.1.1]
                Poll::Send(Data {
                    number: 0,
                    stamped: now,
                    size,
                    packets: 0,
                    sending: Sending::First,
                    ecn,
                    cwr: false,
                    congestion: None,
                })
            }
            _ => self.poll_open(now),
        }
    }

    /// What keeps the next packet back, as the last poll found.
    #[inline(always)]
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// An acknowledgement arrives.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, now: Time) -> Outcome {
        if let CaState::Opening { .. } = self.state {
            return self.on_opened(ack, now);
        }
        if let Some(feedback) = ack.feedback.get() {
            self.apply_router_feedback(feedback);
        }
        let una = self.board.una();
        if ack.opens {
            return Outcome::Quiet;
        }
        let disbelieved = ack.has_dsack() && !self.undo_state.hears_of_duplicate();
        let ack = if disbelieved { &ack.without_dsack() } else { ack };
        if ack.next < una {
            return self.on_overtaken(ack, now);
        }
        self.newest_ack = ack.arrived;
        let delivered = self.take(ack, now);
        let advanced = self.board.una() - una;
        let ece = if self.accurate.is_some() { self.read_marks(ack, (una, delivered)) } else { ack.ece };
        if delivered > 0 || advanced > 0 {
            self.sample(now.since(ack.echo));
        }
        self.hear_window(ack);
        if advanced > 0 {
            self.free_buffer();
            self.rtt.progress();
            self.adapt_rto(ack, now);
            self.validate(now);
        }
        self.holds_losses = false;
        let undone_since = self.undo(ack, ece, una, now);
        self.find_losses(ack, now);
        let mut event = self.event(ack, delivered, now);
        if delivered > 0 {
            self.on_delivery(&mut event, ack, delivered);
        }
        let finished = self.is_done();
        let mut outcome = match (undone_since, self.state) {
            (Some(since), _) => {
                self.first = None;
                self.grow_after_recovery(&event, ece, advanced);
                Outcome::Undone { since, finished }
            }
            (None, CaState::Open) => self.in_open(&event, ece, delivered, advanced, now),
            (None, CaState::Recovery) => self.in_recovery(&event, ece, delivered, advanced, now),
            (None, CaState::Loss) => self.in_loss(&event, delivered, advanced, now),
            (None, CaState::Opening { .. }) => unreachable!("answered above"),
        };
        if self.detector.is_by_time() {
            outcome = self.after_timed(ack, delivered, advanced, outcome, now);
        }
        self.settle_window(&event, now);
        if finished {
            self.timer = Time::NEVER;
            return if outcome.finishes() { outcome } else { Outcome::Finished };
        }
        outcome
    }
}
