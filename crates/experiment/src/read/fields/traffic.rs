//! Keys of what a flow sends.

use fairhaul_units::Span;

use super::super::field::Accepts::{self, *};
use super::super::field::{Fallback, Shape, Words};
use super::{LONGEST_WAY, VOLUME, WAY, field, value, word};

use Fallback::Required;

/// From where a period is many packets on a fast link.
const PERIOD: Accepts = Accepts::Span { least: Span::from_ms(1), most: LONGEST_WAY };
const COUNTED: Accepts = Number { least: 1.0, most: 1000.0, open: false };

pub(super) const TRAFFIC: Accepts = Either(&[VOLUME, TRAFFIC_WORDS]);

pub(crate) const TRAFFIC_WORDS: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("bulk", "Endless data."),
        Shape {
            name: "sized",
            help: "A single transfer of the given size.",
            fields: &[field("size", VOLUME, Required, "Payload of the transfer.")],
        },
        Shape {
            name: "short",
            help: "Transfers that arrive as a Poisson process from the start of the flow, each on its own connection.",
            fields: &[
                field("rate", Frequency, Required, "Transfers per second."),
                field("size", SIZE, Required, "Payload of each transfer: a size, or a distribution."),
            ],
        },
        Shape {
            name: "web",
            // The values of ns-2's web-traffic example (its object size is 12 packets of 1000 B).
            help: "Sessions arrive as a Poisson process; a session requests pages and a page requests \
                   objects, each on its own connection. The load is open-loop: a slow network does not slow \
                   the users down.",
            fields: &[
                field("sessions", Frequency, Required, "New sessions per second."),
                field(
                    "pages",
                    COUNTED,
                    value("5"),
                    "Mean number of pages per session (geometric distribution).",
                ),
                field(
                    "think",
                    WAY,
                    value("\"15 s\""),
                    "Mean time between the pages of a session (exponential distribution).",
                ),
                field(
                    "objects",
                    COUNTED,
                    value("3"),
                    "Mean number of objects per page (geometric distribution).",
                ),
                field(
                    "size",
                    SIZE,
                    value("{ law = \"pareto\", mean = \"12 kB\", shape = 1.2 }"),
                    "Payload of an object: a size, or a distribution.",
                ),
            ],
        },
        Shape {
            name: "onoff",
            help: "An application that writes to one connection at a constant rate while it is on; it is on \
                   at its start. The congestion window is kept while it is off.",
            fields: &[
                field("rate", Rate, Required, "Rate while it is on, headers included."),
                field("on", PERIOD, Required, "Mean duration of an on period (exponential distribution)."),
                field("off", PERIOD, Required, "Mean duration of an off period (exponential distribution)."),
            ],
        },
        Shape {
            name: "cbr",
            help: "UDP datagrams at a constant rate, without congestion control and without \
                   acknowledgements. The record of such a flow has no round-trip time, no window and no \
                   loss events, so `stationary` does not judge it.",
            fields: &[field("rate", Rate, Required, "Rate, headers included.")],
        },
    ],
});

const SIZE: Accepts = Either(&[VOLUME, SIZE_WORDS]);

pub(crate) const SIZE_WORDS: Accepts = Words(&Words {
    tag: "law",
    cases: &[
        Shape {
            name: "exponential",
            help: "Exponential distribution.",
            fields: &[field("mean", VOLUME, Required, "Mean size.")],
        },
        Shape {
            name: "pareto",
            help: "Pareto distribution, which is heavy-tailed. Sizes are limited to 1 PB.",
            fields: &[
                field("mean", VOLUME, Required, "Mean size."),
                field(
                    "shape",
                    Number { least: 1.0, most: 100.0, open: true },
                    value("1.2"),
                    "Shape parameter: the smaller, the heavier the tail.",
                ),
            ],
        },
    ],
});
