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
        word("bulk", "Without end."),
        Shape {
            name: "sized",
            help: "That much, once.",
            fields: &[field("size", VOLUME, Required, "Payload.")],
        },
        Shape {
            name: "short",
            help: "Transfers that arrive as a Poisson process from the flow's start on, each a connection of its own.",
            fields: &[
                field("rate", Frequency, Required, "Transfers per second."),
                field("size", SIZE, Required, "Payload of each: a size, or a law."),
            ],
        },
        Shape {
            name: "web",
            // The values of ns-2's web-traffic example (its object size is 12 packets of 1000 B).
            help: "Sessions arrive as a Poisson process; a session asks for pages, a page for objects, each a \
                   connection of its own. The load is open: a slow network does not slow the users down.",
            fields: &[
                field("sessions", Frequency, Required, "New sessions per second."),
                field("pages", COUNTED, value("5"), "Mean pages in a session, geometric."),
                field(
                    "think",
                    WAY,
                    value("\"15 s\""),
                    "Mean time between the pages of a session, exponential.",
                ),
                field("objects", COUNTED, value("3"), "Mean objects on a page, geometric."),
                field(
                    "size",
                    SIZE,
                    value("{ law = \"pareto\", mean = \"12 kB\", shape = 1.2 }"),
                    "Payload of an object: a size, or a law.",
                ),
            ],
        },
        Shape {
            name: "onoff",
            help: "An application on one connection that writes at a rate while it is on, on at its start. The window \
                   is kept while it is off.",
            fields: &[
                field("rate", Rate, Required, "While it is on, in packets on the wire."),
                field("on", PERIOD, Required, "Mean time on, exponential."),
                field("off", PERIOD, Required, "Mean time off, exponential."),
            ],
        },
        Shape {
            name: "cbr",
            help: "Datagrams at a constant rate, of no congestion control and never acknowledged. A flow of them has no \
                   round trip, no window and no loss events in the record, so `stationary` does not judge it.",
            fields: &[field("rate", Rate, Required, "In packets on the wire.")],
        },
    ],
});

const SIZE: Accepts = Either(&[VOLUME, SIZE_WORDS]);

pub(crate) const SIZE_WORDS: Accepts = Words(&Words {
    tag: "law",
    cases: &[
        Shape {
            name: "exponential",
            help: "Exponential.",
            fields: &[field("mean", VOLUME, Required, "Its mean.")],
        },
        Shape {
            name: "pareto",
            help: "Pareto: heavy-tailed. Sizes are cut at 1 PB.",
            fields: &[
                field("mean", VOLUME, Required, "Its mean."),
                field(
                    "shape",
                    Number { least: 1.0, most: 100.0, open: true },
                    value("1.2"),
                    "The smaller, the heavier the tail.",
                ),
            ],
        },
    ],
});
