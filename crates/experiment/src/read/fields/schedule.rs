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
    field("rate", RATES, Required, "What the link can carry, in each direction; a trace says it over time.");

static TRACE: Shape = Shape {
    name: "{ trace = … }",
    help: "The rate over time from a file, for both directions. Its lines are either `seconds,bit/s`, from 0 s on and in \
           the order of time, a header before them or not: each rate holds until the next, the last as long as the \
           one before it. Or, as for mahimahi, each line is a whole number of milliseconds at which 1504 bytes more can be \
           delivered; here they are spread over the millisecond before, and a packet leaves what it does not need to the \
           next. Empty lines and lines that begin with `#` are skipped.",
    fields: &[
        field("trace", Text, Required, "The file, beside that of the scenario."),
        field(
            "repeat",
            Switch,
            value("true"),
            "Whether it begins again at its end. Otherwise the last rate stays, or after the last millisecond of \
             mahimahi's form nothing is sent.",
        ),
    ],
};

pub(super) const SCHEDULE: Field =
    field("schedule", CHANGES, Said("nothing changes"), "From when on rate, delay or loss are others.");

static CHANGE: Shape = Shape {
    name: "{ at = …, rate = …, delay = …, loss = … }",
    help: "One change; what it does not name stays. Rate and delay change in both directions, `loss` in its own. A packet \
           on its way out when the rate changes goes on at the new one; it takes the delay and meets the loss that hold when \
           its last bit leaves. Where the delay falls, packets overtake those before the change.",
    fields: &[
        field(
            "at",
            Accepts::Span { least: INSTANT, most: LONGEST_RUN },
            Required,
            "When; later than the entry before.",
        ),
        field(
            "rate",
            RateOrZero,
            Said("as before"),
            "The new rate; in an outage, \"0 bit/s\", packets wait.",
        ),
        field("delay", WAY, Said("as before"), "The new propagation, one way; routes stay."),
        field("loss", LOSS, Said("as before"), "As `loss` of the link, begun afresh; 0 ends it."),
    ],
};
