//! What gauges of controllers show: values in the units of the record, and no number where nothing is known yet.

use fairhaul_units::{Bytes, Span};

/// A time in seconds; unknown while it is zero.
pub(crate) fn seconds(time: Span) -> f64 {
    if time.is_zero() { f64::NAN } else { time.as_secs() }
}

/// A value that is unknown until it is above zero, or while it is infinite.
pub(crate) fn known(value: f64) -> f64 {
    if value > 0.0 && value.is_finite() { value } else { f64::NAN }
}

/// A rate in packets of that payload per second, as bit/s; unknown until it is above zero.
pub(crate) fn payload_bps(packets_per_s: f64, payload: Bytes) -> f64 {
    known(packets_per_s * payload.0 as f64 * 8.0)
}
