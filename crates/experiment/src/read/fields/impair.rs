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
    help: "A number is the loss probability of each packet. Otherwise `every`, `at`, or the two \
           probabilities of a Gilbert-Elliott chain, which loses packets in bursts: the chain steps with \
           each data packet, is in the bad state for good_to_bad / (good_to_bad + bad_to_good) of the \
           packets, and stays in it for 1 / bad_to_good packets on average.",
    fields: &[
        field("every", Whole { least: 1, most: u64::MAX }, Said("unused"), "Every N-th data packet is lost."),
        field(
            "at",
            List(&Accepts::Span { least: Span::ZERO, most: LONGEST_RUN }),
            Said("unused"),
            "Ascending times; of each selected flow, the first packet at or after each of them is lost.",
        ),
        field(
            "flows",
            List(&Text),
            Said("all flows"),
            "Names of the flows to which `at` applies; `*` matches any text.",
        ),
        field("good_to_bad", LEAVES, Said("unused"), "Probability per packet of a change to the bad state."),
        field("bad_to_good", LEAVES, Said("unused"), "Probability per packet of a change to the good state."),
        field("loss_good", PROBABILITY, value("0"), "Loss probability of each packet in the good state."),
        field("loss_bad", PROBABILITY, value("1"), "Loss probability of each packet in the bad state."),
    ],
};

pub(super) const POLICER: Field = field(
    "policer",
    Table(&POLICER_TABLE),
    Said("none"),
    "Drops data packets that exceed a rate, before the queue; in the direction of `loss`.",
);

static POLICER_TABLE: Shape = Shape {
    name: "{ rate = …, burst = … }",
    help: "A token bucket, full at the start. A data packet that finds fewer tokens than its size on the \
           wire is dropped; it counts as dropped by the link.",
    fields: &[
        field("rate", Rate, Required, "Rate at which the bucket fills."),
        field("burst", VOLUME, Required, "Size of the bucket, at least that of the largest packet."),
    ],
};

const DELAYS: Accepts = Either(&[Overhead, Table(&JITTER_TABLE)]);

pub(super) const JITTER: Field = field(
    "jitter",
    DELAYS,
    Said("none"),
    "Random extra delay of every packet after the queue, in the direction of `loss`.",
);

static JITTER_TABLE: Shape = Shape {
    name: "{ delay = …, keep_order = … }",
    help: "A string alone is the `delay`. Each packet draws its own delay. If the order is kept, a packet \
           that would overtake another one arrives together with it.",
    fields: &[
        field("delay", Overhead, Required, "Delay in addition to that of the link."),
        field("keep_order", Switch, value("true"), "Whether packets are kept in order."),
    ],
};

pub(super) const REORDER: Field = field(
    "reorder",
    Table(&REORDER_TABLE),
    Said("none"),
    "Packets that are delayed after the queue so that others overtake them, in the direction of `loss`.",
);

static REORDER_TABLE: Shape = Shape {
    name: "{ probability = …, delay = … }",
    help: "Packets chosen at random are delayed.",
    fields: &[
        field("probability", PROBABILITY, Required, "Probability that a packet is delayed."),
        field(
            "delay",
            Accepts::Span { least: INSTANT, most: Span::from_s(60) },
            Required,
            "Delay in addition to that of the link.",
        ),
    ],
};

pub(super) const DUPLICATE: Field = field(
    "duplicate",
    PROBABILITY,
    Said("none"),
    "Probability that a packet arrives twice, in the direction of `loss`.",
);
