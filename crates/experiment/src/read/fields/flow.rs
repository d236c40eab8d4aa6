//! Keys of a flow that take a word: what each word means.

use super::super::field::Accepts::{self, *};
use super::super::field::{Shape, Words};
use super::{WINDOW, field, value, word};

pub(super) const ROLE: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("measured", "Included in the fairness figures."),
        word("background", "Background load, which the fairness figures do not include."),
    ],
});

pub(super) const DIRECTION: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("forward", "Data travel in the forward direction."),
        word("reverse", "Data travel in the reverse direction."),
    ],
});

const VARIANT: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("impatient", "Only the first partial ACK restarts the timer."),
        word("slow-but-steady", "Every partial ACK restarts the timer."),
    ],
});

pub(crate) const RECOVERY: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        Shape {
            name: "sack",
            help: "Selective acknowledgements (RFC 2018, RFC 6675).",
            fields: &[field(
                "prr",
                Switch,
                value("false"),
                "Proportional rate reduction (RFC 6937): the packets sent in recovery are spread over its \
                 round trip.",
            )],
        },
        Shape {
            name: "newreno",
            help: "Partial acknowledgements trigger retransmissions (RFC 6582).",
            fields: &[field(
                "variant",
                VARIANT,
                value("\"impatient\""),
                "Effect of partial ACKs on the retransmission timer.",
            )],
        },
        word("reno", "Fast recovery ends with the first new acknowledgement (RFC 5681)."),
        word(
            "rack",
            "Selective acknowledgements with time-based loss detection and tail loss probes (RACK-TLP, RFC \
             8985), and proportional rate reduction.",
        ),
    ],
});

pub(super) const DELAYED_ACK: Accepts = Words(&Words {
    tag: "kind",
    cases: &[word(
        "adaptive",
        "As in Linux: the first 16 packets are acknowledged at once, then every second one; an ACK is held \
         for 40 ms to 200 ms, depending on how packets arrive; after three ACKs that report a gap, further \
         ones are merged within 1 ms.",
    )],
});

pub(super) const SOCKBUF: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("payload", "Payload only."),
        word(
            "linux",
            "As SO_SNDBUF: the memory of packets, 832 B each in addition to their payload, compared with \
             twice the requested size; an application that has filled the buffer waits until a third of it \
             is free.",
        ),
    ],
});

pub(super) const RTO: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word(
            "scaled",
            "The gains for one sample per round trip (RFC 6298), divided by the number of samples (RFC \
             7323, appendix G).",
        ),
        word(
            "rfc6298",
            "As `scaled`, but `min_rto` is the smallest timeout as a whole (RFC 6298, 2.4), not the \
             smallest margin above the smoothed round-trip time.",
        ),
        word("linux", "Full gains for each sample, and a variation that decreases once per round trip."),
    ],
});

pub(super) const PROFILE: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("plain", "Every key has the default that is listed here."),
        word("linux", "Keys that are not set have the values of Linux 6.18; see [the profile](profile.md)."),
    ],
});

pub(crate) const SLOW_START: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("standard", "The window doubles each round trip (RFC 5681)."),
        Shape {
            name: "limited",
            help: "Above `max_ssthresh` the window grows by at most half of that value per round trip (RFC 3742).",
            fields: &[field("max_ssthresh", WINDOW, value("100"), "Threshold, packets.")],
        },
        word(
            "hystart++",
            "The first slow start ends when the round-trip time rises, before a loss (RFC \
                           9406).",
        ),
        word(
            "full",
            "The window grows by every acknowledged packet, even if one ACK covers several, as in \
                      Linux.",
        ),
        word(
            "hystart",
            "As `full`; slow start at the beginning or after a timeout ends when the ACKs form a train of \
             half a round trip or the round-trip time rises, as in Linux's CUBIC.",
        ),
    ],
});
