//! The keys of what changes on a link while a run lasts.

use super::super::field::Accepts::{self, *};
use super::super::field::{Fallback, Field, Shape};
use super::impair::LOSS;
use super::{INSTANT, LONGEST_RUN, WAY, field, value};

use Fallback::{Required, Said};

const RATES: Accepts = Either(&[Rate, Table(&TRACE)]);
const CHANGES: Accepts = List(&Table(&CHANGE));

/// A rate, or a trace of it.
pub(super) const RATE: Field =
    field("rate", RATES, Required, "Rate of the link in each direction; a trace gives the rate over time.");

static TRACE: Shape = Shape {
    name: "{ trace = … }",
    help: "The rate over time from a file, for both directions. Its lines are either `seconds,bit/s`, in \
           ascending order from 0 s, with an optional header line: each rate applies until the next line, \
           and the last one for as long as the one before it. Or, as in mahimahi, each line is a whole \
           number of milliseconds at which 1504 more bytes can be delivered; here they are spread over the \
           preceding millisecond, and capacity that a packet does not need is left to the next one. Empty \
           lines and lines that begin with `#` are skipped.",
    fields: &[
        field("trace", Text, Required, "File name, relative to the folder of the scenario."),
        field(
            "repeat",
            Switch,
            value("true"),
            "Whether the trace repeats. Otherwise its last rate stays in force; after the last millisecond \
             of a mahimahi trace nothing is sent.",
        ),
    ],
};

pub(super) const SCHEDULE: Field =
    field("schedule", CHANGES, Said("no changes"), "Changes of rate, delay or loss during the run.");

static CHANGE: Shape = Shape {
    name: "{ at = …, rate = …, delay = …, loss = … }",
    help: "One change; values that it does not name stay the same. Rate and delay change in both \
           directions, `loss` in its own direction only. A packet that is being transmitted when the rate \
           changes continues at the new rate; the delay and the loss at the departure of its last bit apply \
           to it. If the delay decreases, packets overtake those sent before the change.",
    fields: &[
        field(
            "at",
            Accepts::Span { least: INSTANT, most: LONGEST_RUN },
            Required,
            "Time of the change; later than that of the previous entry.",
        ),
        field(
            "rate",
            RateOrZero,
            Said("unchanged"),
            "New rate; \"0 bit/s\" is an outage, during which packets wait.",
        ),
        field("delay", WAY, Said("unchanged"), "New one-way propagation delay; routes do not change."),
        field(
            "loss",
            LOSS,
            Said("unchanged"),
            "New loss, in the forms of `loss` of the link, started \
                                                afresh; 0 ends the loss.",
        ),
    ],
};
