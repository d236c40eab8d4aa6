//! What a controller written in Python is called with: times in seconds, amounts in packets.

use fairhaul_cc::{AckEvent, Cause, Congestion, Window as EngineWindow};
use fairhaul_units::{Span, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The congestion window and the slow-start threshold, in packets. A controller changes them.
#[pyclass(module = "fairhaul._core", get_all, set_all)]
#[derive(Clone, Copy, Default)]
pub struct Window {
    /// How many packets may be in flight.
    pub cwnd: f64,
    /// Below this window the sender is in slow start.
    pub ssthresh: f64,
    /// What a round trip adds to the window in congestion avoidance, for a controller that is not called for every
    /// acknowledgement: each acknowledged packet adds growth / cwnd.
    pub growth: f64,
}

#[pymethods]
impl Window {
    /// Gives up a share of the window, as at a loss event; at least 2 packets stay.
    fn give_up(&mut self, share: f64) {
        self.reduce_to(self.cwnd * (1.0 - share));
    }

    /// Sets window and threshold to `cwnd`, as at a loss event; at least 2 packets stay.
    fn reduce_to(&mut self, cwnd: f64) {
        self.ssthresh = cwnd.max(2.0);
        self.cwnd = self.ssthresh;
    }

    /// Starts again from one packet, towards half the window, as at a timeout.
    fn start_over(&mut self) {
        self.ssthresh = (self.cwnd / 2.0).max(2.0);
        self.cwnd = 1.0;
    }

    /// Whether the window is below the threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={}, growth={})", self.cwnd, self.ssthresh, self.growth)
    }
}

impl Window {
    pub fn of(window: &EngineWindow, growth: f64) -> Window {
        Window { cwnd: window.cwnd, ssthresh: window.ssthresh, growth }
    }

    /// Whether an engine can go on with it.
    pub fn check(&self) -> PyResult<()> {
        let is_window = self.cwnd.is_finite() && self.cwnd > 0.0 && self.ssthresh > 0.0;
        if is_window && self.growth.is_finite() {
            return Ok(());
        }
        let Window { cwnd, ssthresh, growth } = self;
        Err(PyValueError::new_err(format!(
            "cwnd = {cwnd}, ssthresh = {ssthresh}, growth = {growth}; windows must be above 0, and finite except for ssthresh"
        )))
    }
}

/// An acknowledgement that delivered something.
#[pyclass(frozen, module = "fairhaul._core", get_all)]
pub struct Ack {
    /// When it arrived.
    now_s: f64,
    /// Packets that it reports as delivered.
    packets: f64,
    /// Packets that the sender has come to believe lost since the last one.
    lost: f64,
    /// Its round-trip time.
    rtt_s: f64,
    /// The smoothed round-trip time.
    srtt_s: f64,
    /// The smallest round-trip time so far.
    min_rtt_s: f64,
    /// The transit time of its packet, by the receiver's clock less the sender's.
    one_way_s: f64,
    /// Packets in flight after it.
    in_flight: f64,
    /// Whether it is the first of a round.
    new_round: bool,
    /// Whether the sender is recovering from a loss.
    recovering: bool,
}

impl Ack {
    pub fn of(ack: &AckEvent) -> Ack {
        Ack {
            now_s: ack.now.as_secs(),
            packets: ack.packets,
            lost: ack.lost,
            rtt_s: ack.rtt.as_secs(),
            srtt_s: ack.srtt.as_secs(),
            min_rtt_s: ack.min_rtt.as_secs(),
            one_way_s: ack.one_way.as_secs(),
            in_flight: ack.in_flight,
            new_round: ack.new_round,
            recovering: ack.recovering,
        }
    }
}

/// What happened since a controller was last called.
#[derive(Clone, Copy, Default)]
pub struct RoundSum {
    since: Time,
    packets: f64,
    lost: f64,
    rtts: f64,
    /// Packets times their round-trip times, s.
    rtt_sum: f64,
    least_rtt: Option<Span>,
}

impl RoundSum {
    pub fn from(since: Time) -> RoundSum {
        RoundSum { since, ..RoundSum::default() }
    }

    pub fn lasted(&self, now: Time) -> Span {
        now.since(self.since)
    }

    pub fn add(&mut self, ack: &AckEvent) {
        self.packets += ack.packets;
        self.lost += ack.lost;
        self.rtts += 1.0;
        self.rtt_sum += ack.rtt.as_secs();
        self.least_rtt = Some(self.least_rtt.map_or(ack.rtt, |least| least.min(ack.rtt)));
    }
}

/// A round, or the time since a controller was last called.
#[pyclass(frozen, module = "fairhaul._core", get_all)]
pub struct Round {
    /// When it ended.
    now_s: f64,
    /// How long it was.
    duration_s: f64,
    /// Packets that were delivered.
    packets: f64,
    /// Packets that the sender has come to believe lost.
    lost: f64,
    /// The mean round-trip time of its acknowledgements; the smoothed one if there was none.
    rtt_s: f64,
    /// The smallest of them.
    least_rtt_s: f64,
    /// The smoothed round-trip time.
    srtt_s: f64,
    /// The smallest round-trip time so far.
    min_rtt_s: f64,
    /// Packets in flight.
    in_flight: f64,
    /// Whether the sender is recovering from a loss.
    recovering: bool,
    /// Whether the sender is in its slow start.
    slow_start: bool,
}

impl Round {
    pub fn of(sum: &RoundSum, ack: &AckEvent, slow_start: bool) -> Round {
        Round {
            now_s: ack.now.as_secs(),
            duration_s: sum.lasted(ack.now).as_secs(),
            packets: sum.packets,
            lost: sum.lost,
            rtt_s: if sum.rtts > 0.0 { sum.rtt_sum / sum.rtts } else { ack.srtt.as_secs() },
            least_rtt_s: sum.least_rtt.unwrap_or(ack.srtt).as_secs(),
            srtt_s: ack.srtt.as_secs(),
            min_rtt_s: ack.min_rtt.as_secs(),
            in_flight: ack.in_flight,
            recovering: ack.recovering,
            slow_start,
        }
    }
}

/// A loss event, the echo of a mark, a timeout, or the end of a recovery.
#[pyclass(frozen, module = "fairhaul._core", get_all)]
pub struct Event {
    /// When the sender saw it.
    now_s: f64,
    /// Packets in flight, the lost ones included.
    in_flight: f64,
    /// The smoothed round-trip time.
    srtt_s: f64,
    /// Whether the echo of a mark revealed it.
    marked: bool,
}

impl Event {
    pub fn of(event: &Congestion) -> Event {
        Event {
            now_s: event.now.as_secs(),
            in_flight: event.in_flight,
            srtt_s: event.srtt.as_secs(),
            marked: event.cause == Cause::Mark,
        }
    }
}
