//! The parameters of BBR, version 3 [BBRV3].

use fairhaul_units::{Kind, Parameter, Settings, Span};

use crate::pipe::span;

/// What the parameters say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bbr3Parameters {
    pub(super) loss: f64,
    pub(super) kept: f64,
    pub(super) headroom: f64,
    pub(super) probe_least: Span,
    pub(super) probe_rtt_interval: Span,
    pub(super) probe_rtt: Span,
    pub(super) min_rtt_window: Span,
}

impl Bbr3Parameters {
    pub(super) fn new(settings: &Settings) -> Bbr3Parameters {
        Bbr3Parameters {
            loss: settings.number("loss_threshold"),
            kept: settings.number("kept"),
            headroom: settings.number("headroom"),
            probe_least: span(settings, "probe_interval"),
            probe_rtt_interval: span(settings, "probe_rtt_interval"),
            probe_rtt: span(settings, "probe_rtt"),
            min_rtt_window: span(settings, "min_rtt_window"),
        }
    }
}

pub(super) const PARAMETERS: &[Parameter] = &[
    number(
        "loss_threshold",
        0.001,
        0.5,
        "",
        0.02,
        "share of a round's packets that a probe may lose [BBRV3]",
    ),
    number("kept", 0.1, 0.99, "", 0.7, "share of the bounds that loss leaves at least, Beta [BBRV3]"),
    number("headroom", 0.0, 0.9, "", 0.15, "share of the upper bound left to others between probes [BBRV3]"),
    number(
        "probe_interval",
        0.1,
        100.0,
        "s",
        2.0,
        "time between probes for more; up to half as long again [BBRV3]",
    ),
    number("probe_rtt_interval", 0.1, 1000.0, "s", 5.0, "how often the round-trip time is probed [BBRV3]"),
    number("probe_rtt", 0.0, 10.0, "s", 0.2, "how long half a path in flight probes it [BBRV3]"),
    number("min_rtt_window", 0.1, 1000.0, "s", 10.0, "how long the smallest round-trip time holds [BBRV3]"),
];

const fn number(
    name: &'static str,
    least: f64,
    most: f64,
    unit: &'static str,
    default: f64,
    help: &'static str,
) -> Parameter {
    Parameter { name, kind: Kind::Number { least, most, unit }, default, help }
}
