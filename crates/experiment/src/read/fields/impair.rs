//! The keys of what a link does to packets beside carrying them.

use fairhaul_units::Span;

use super::super::field::Accepts::{self, *};
use super::super::field::{Fallback, Shape};
use super::{LONGEST_RUN, field, value};

use Fallback::Said;

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
