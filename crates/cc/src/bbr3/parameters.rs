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
        "loss rate that a bandwidth probe may reach in a round trip [BBRV3]",
    ),
    number(
        "kept",
        0.1,
        0.99,
        "",
        0.7,
        "smallest fraction of the bounds that is kept after a loss, Beta \
                                        [BBRV3]",
    ),
    number(
        "headroom",
        0.0,
        0.9,
        "",
        0.15,
        "fraction of the upper bound left free for other flows between \
                                            probes [BBRV3]",
    ),
    number(
        "probe_interval",
        0.1,
        100.0,
        "s",
        2.0,
        "shortest time between bandwidth probes; randomised up to 1.5 times this [BBRV3]",
    ),
    number(
        "probe_rtt_interval",
        0.1,
        1000.0,
        "s",
        5.0,
        "interval between probes for the minimum round-trip \
                                                         time [BBRV3]",
    ),
    number(
        "probe_rtt",
        0.0,
        10.0,
        "s",
        0.2,
        "duration of such a probe, with half a bandwidth-delay product \
                                              in flight [BBRV3]",
    ),
    number(
        "min_rtt_window",
        0.1,
        1000.0,
        "s",
        10.0,
        "length of the filter for the minimum round-trip time [BBRV3]",
    ),
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
