//! What crosses between an engine and a library, in the layout of C. Times are picoseconds, amounts are packets.

use std::ffi::{c_char, c_void};

use fairhaul_cc::{AckEvent, Cause, Congestion, Needs, Pacing, RateSample, Window};
use fairhaul_units::{Span, Time};

/// The version of all that stands here. It changes with any change of this file.
pub const VERSION: u32 = 2;
/// The name of the symbol that a library exports: an [`Interface`].
pub const SYMBOL: &[u8] = b"FAIRHAUL_CONTROLLER";

/// A text that says what went wrong, made by the library and given back to it; null where nothing did.
pub type Failure = *mut c_char;

/// A controller, which only its library looks into.
pub type Handle = *mut c_void;

/// What a library offers. Every function that is called with a handle wants one that `make` or `copy` made and that
/// was not given to `drop`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the functions are those of the trait")]
pub struct Interface {
    /// [`VERSION`], as the library was compiled with it.
    pub version: u32,
    /// Makes a controller from `count` values and a number for its random numbers.
    pub make: unsafe extern "C" fn(
        values: *const RawValue,
        count: usize,
        stream: u64,
        made: *mut Handle,
    ) -> Failure,
    pub copy: unsafe extern "C" fn(Handle, made: *mut Handle) -> Failure,
    pub drop: unsafe extern "C" fn(Handle),
    /// Gives a text back.
    pub forget: unsafe extern "C" fn(Failure),
    pub needs: unsafe extern "C" fn(Handle) -> RawNeeds,
    pub on_ack: unsafe extern "C" fn(Handle, *mut RawWindow, *const RawAck) -> Failure,
    pub on_slow_start: unsafe extern "C" fn(Handle, *mut RawWindow, *const RawAck) -> Failure,
    pub on_delivery: unsafe extern "C" fn(Handle, *mut RawWindow, *const RawAck) -> Failure,
    pub on_congestion: unsafe extern "C" fn(Handle, *mut RawWindow, *const RawCongestion) -> Failure,
    pub on_timeout: unsafe extern "C" fn(Handle, *mut RawWindow, *const RawCongestion) -> Failure,
    pub on_recovered: unsafe extern "C" fn(Handle, *mut RawWindow, now_ps: u64) -> Failure,
    pub mode: unsafe extern "C" fn(Handle, *mut i16) -> Failure,
    pub pacing: unsafe extern "C" fn(Handle, *const RawWindow, *mut RawPacing) -> Failure,
}

/// The value of a parameter: `kind` says which of the others counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the type says it")]
pub struct RawValue {
    pub name: *const c_char,
    /// 0: `number`; 1: `whole`; 2: `whole`, which is 0 or 1 and means false or true; 3: `text`.
    pub kind: u32,
    pub number: f64,
    pub whole: i64,
    pub text: *const c_char,
}

/// A window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are those of `Window`")]
pub struct RawWindow {
    pub cwnd: f64,
    pub ssthresh: f64,
}

/// An acknowledgement.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are those of `AckEvent`")]
pub struct RawAck {
    pub now_ps: u64,
    pub packets: f64,
    pub marked: f64,
    pub lost: f64,
    pub rtt_ps: u64,
    pub srtt_ps: u64,
    pub min_rtt_ps: u64,
    pub one_way_ps: u64,
    pub in_flight: f64,
    pub new_round: bool,
    pub recovering: bool,
    pub window_limited: bool,
    pub has_rate: bool,
    pub rate: RawRate,
}

/// A sample of the delivery rate.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "they are those of `RateSample`")]
pub struct RawRate {
    pub delivered: f64,
    pub interval_ps: u64,
    pub delivered_before: f64,
    pub delivered_total: f64,
    pub in_flight_then: f64,
    pub lost_since: f64,
    pub app_limited: bool,
}

/// A loss event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are those of `Congestion`")]
pub struct RawCongestion {
    pub is_mark: bool,
    pub now_ps: u64,
    pub in_flight: f64,
    pub srtt_ps: u64,
}

/// What a controller needs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are those of `Needs`")]
pub struct RawNeeds {
    pub exact_echo: bool,
    pub rates: bool,
    pub pacing: bool,
    pub modes: bool,
}

/// How packets are spread: `count` is 0 for not at all, 1 for a packet every `span_ps`, and otherwise the number of
/// blocks in a round of `span_ps`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the type says it")]
pub struct RawPacing {
    pub count: u32,
    pub span_ps: u64,
}

impl From<Window> for RawWindow {
    fn from(Window { cwnd, ssthresh }: Window) -> RawWindow {
        RawWindow { cwnd, ssthresh }
    }
}

impl From<RawWindow> for Window {
    fn from(RawWindow { cwnd, ssthresh }: RawWindow) -> Window {
        Window { cwnd, ssthresh }
    }
}

impl From<&AckEvent> for RawAck {
    fn from(ack: &AckEvent) -> RawAck {
        RawAck {
            now_ps: ack.now.as_ps(),
            packets: ack.packets,
            marked: ack.marked,
            lost: ack.lost,
            rtt_ps: ack.rtt.as_ps(),
            srtt_ps: ack.srtt.as_ps(),
            min_rtt_ps: ack.min_rtt.as_ps(),
            one_way_ps: ack.one_way.as_ps(),
            in_flight: ack.in_flight,
            new_round: ack.new_round,
            recovering: ack.recovering,
            window_limited: ack.window_limited,
            has_rate: ack.rate.is_some(),
            rate: ack.rate.as_ref().map_or_else(RawRate::default, RawRate::from),
        }
    }
}

impl From<&RawAck> for AckEvent {
    fn from(ack: &RawAck) -> AckEvent {
        AckEvent {
            now: Time::from_ps(ack.now_ps),
            packets: ack.packets,
            marked: ack.marked,
            lost: ack.lost,
            rtt: Span::from_ps(ack.rtt_ps),
            srtt: Span::from_ps(ack.srtt_ps),
            min_rtt: Span::from_ps(ack.min_rtt_ps),
            one_way: Span::from_ps(ack.one_way_ps),
            in_flight: ack.in_flight,
            new_round: ack.new_round,
            recovering: ack.recovering,
            window_limited: ack.window_limited,
            rate: ack.has_rate.then(|| RateSample::from(&ack.rate)),
        }
    }
}

impl From<&RateSample> for RawRate {
    fn from(rate: &RateSample) -> RawRate {
        RawRate {
            delivered: rate.delivered,
            interval_ps: rate.interval.as_ps(),
            delivered_before: rate.delivered_before,
            delivered_total: rate.delivered_total,
            in_flight_then: rate.in_flight_then,
            lost_since: rate.lost_since,
            app_limited: rate.app_limited,
        }
    }
}

impl From<&RawRate> for RateSample {
    fn from(rate: &RawRate) -> RateSample {
        RateSample {
            delivered: rate.delivered,
            interval: Span::from_ps(rate.interval_ps),
            delivered_before: rate.delivered_before,
            delivered_total: rate.delivered_total,
            in_flight_then: rate.in_flight_then,
            lost_since: rate.lost_since,
            app_limited: rate.app_limited,
        }
    }
}

impl From<&Congestion> for RawCongestion {
    fn from(event: &Congestion) -> RawCongestion {
        RawCongestion {
            is_mark: event.cause == Cause::Mark,
            now_ps: event.now.as_ps(),
            in_flight: event.in_flight,
            srtt_ps: event.srtt.as_ps(),
        }
    }
}

impl From<&RawCongestion> for Congestion {
    fn from(event: &RawCongestion) -> Congestion {
        Congestion {
            cause: if event.is_mark { Cause::Mark } else { Cause::Loss },
            now: Time::from_ps(event.now_ps),
            in_flight: event.in_flight,
            srtt: Span::from_ps(event.srtt_ps),
        }
    }
}

impl From<Needs> for RawNeeds {
    fn from(needs: Needs) -> RawNeeds {
        let Needs { exact_echo, rates, pacing, modes, .. } = needs;
        RawNeeds { exact_echo, rates, pacing, modes }
    }
}

impl From<RawNeeds> for Needs {
    fn from(needs: RawNeeds) -> Needs {
        let RawNeeds { exact_echo, rates, pacing, modes } = needs;
        Needs { exact_echo, rates, pacing, modes, ..Needs::default() }
    }
}

impl From<Pacing> for RawPacing {
    fn from(pacing: Pacing) -> RawPacing {
        match pacing {
            Pacing::None => RawPacing::default(),
            Pacing::Even(span) => RawPacing { count: 1, span_ps: span.as_ps() },
            Pacing::Blocks { count, round } => RawPacing { count: count.max(2), span_ps: round.as_ps() },
        }
    }
}

impl From<RawPacing> for Pacing {
    fn from(RawPacing { count, span_ps }: RawPacing) -> Pacing {
        let span = Span::from_ps(span_ps);
        match count {
            0 => Pacing::None,
            1 => Pacing::Even(span),
            count => Pacing::Blocks { count, round: span },
        }
    }
}
