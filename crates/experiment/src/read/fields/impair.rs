//! The keys of what a link does to packets beside carrying them.

use fairhaul_units::Span;

use super::super::field::Accepts::{self, *};
use super::super::field::{Fallback, Field, Shape};
use super::{INSTANT, LONGEST_RUN, VOLUME, field, value};

use Fallback::{Required, Said};

const PROBABILITY: Accepts = Number { least: 0.0, most: 1.0, open: false };
/// A chain that never leaves a state has no law.
const LEAVES: Accepts = Number { least: 0.0, most: 1.0, open: true };

pub(super) const LOSS: Accepts = Either(&[PROBABILITY, Table(&LOSS_TABLE)]);

static LOSS_TABLE: Shape = Shape {
    name: "{ every = … }, { at = […], flows = […] } or { good_to_bad = …, bad_to_good = … }",
    help: "A number is the probability of each packet. Otherwise `every`, `at`, or the two probabilities of a chain \
           that loses in bursts (Gilbert-Elliott): it steps with each data packet, finds the link bad for \
           good_to_bad / (good_to_bad + bad_to_good) of them, and stays so for 1 / bad_to_good packets on average.",
    fields: &[
        field("every", Whole { least: 1, most: u64::MAX }, Said("unused"), "Every N-th data packet."),
        field(
            "at",
            List(&Accepts::Span { least: Span::ZERO, most: LONGEST_RUN }),
            Said("unused"),
            "Of each chosen flow the first packet at or after each of these times, which ascend.",
        ),
        field(
            "flows",
            List(&Text),
            Said("all flows"),
            "The flows that `at` strikes, by name; `*` stands for anything.",
        ),
        field("good_to_bad", LEAVES, Said("unused"), "Probability that the link turns bad with a packet."),
        field("bad_to_good", LEAVES, Said("unused"), "Probability that the link turns good with a packet."),
        field(
            "loss_good",
            PROBABILITY,
            value("0"),
            "Of a chain: probability of each packet while it is good.",
        ),
        field("loss_bad", PROBABILITY, value("1"), "Of a chain: probability of each packet while it is bad."),
    ],
};

pub(super) const POLICER: Field = field(
    "policer",
    Table(&POLICER_TABLE),
    Said("none"),
    "Drops data packets beyond a rate, before the queue; in the direction of `loss`.",
);

static POLICER_TABLE: Shape = Shape {
    name: "{ rate = …, burst = … }",
    help: "A bucket of tokens, full at the start. A data packet that finds fewer tokens than its size on the wire is \
           dropped; it counts as dropped by the link.",
    fields: &[
        field("rate", Rate, Required, "At which the bucket fills."),
        field("burst", VOLUME, Required, "What the bucket holds, at least the largest packet."),
    ],
};

const DELAYS: Accepts = Either(&[Overhead, Table(&JITTER_TABLE)]);

pub(super) const JITTER: Field = field(
    "jitter",
    DELAYS,
    Said("none"),
    "Random delay of every packet behind the queue, in the direction of `loss`.",
);

static JITTER_TABLE: Shape = Shape {
    name: "{ delay = …, keep_order = … }",
    help: "A text alone is the `delay`. Each packet draws its own. Where the order is kept, one that would overtake \
           arrives with the one before it.",
    fields: &[
        field("delay", Overhead, Required, "On top of the link's."),
        field("keep_order", Switch, value("true"), "Whether no packet overtakes another."),
    ],
};

pub(super) const REORDER: Field = field(
    "reorder",
    Table(&REORDER_TABLE),
    Said("none"),
    "Packets held behind the queue so that others overtake them, in the direction of `loss`.",
);

static REORDER_TABLE: Shape = Shape {
    name: "{ probability = …, delay = … }",
    help: "Some packets are longer on their way.",
    fields: &[
        field("probability", PROBABILITY, Required, "Of each packet."),
        field(
            "delay",
            Accepts::Span { least: INSTANT, most: Span::from_s(60) },
            Required,
            "By how much longer.",
        ),
    ],
};

pub(super) const DUPLICATE: Field = field(
    "duplicate",
    PROBABILITY,
    Said("none"),
    "Probability that a packet arrives twice, in the direction of `loss`.",
);
