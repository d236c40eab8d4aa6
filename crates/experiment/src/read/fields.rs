//! Every key of a scenario. One table per struct; nothing else in Fairhaul lists keys.

use fairhaul_units::Span;

use super::field::Accepts::{self, *};
use super::field::{Fallback, Field, Shape, Words};
use super::quantities::LONGEST_RUN;

mod impair;
mod queue;
mod schedule;
mod traffic;

use impair::{DUPLICATE, JITTER, LOSS, POLICER, REORDER};
pub(crate) use queue::QUEUE;
use schedule::{RATE, SCHEDULE};
use traffic::TRAFFIC;
pub(crate) use traffic::{SIZE_WORDS, TRAFFIC_WORDS};

use Fallback::{Required, Said};

/// Longest way: longer than to Neptune.
const LONGEST_WAY: Span = Span::from_s(36_000);
/// The smallest span there is: "above zero".
const INSTANT: Span = Span::from_ps(1);
/// Largest window, packets: what ns-2 users write for "no limit", and a thousand times more.
const WINDOW: Accepts = Number { least: 1.0, most: 1e9, open: false };
/// A packet is more than its 40 bytes of headers; 64 kB is the largest that IP carries, rounded.
const PACKET: Accepts = Size { least: 41, most: 64_000 };
/// One PB: more than any run delivers.
const VOLUME: Accepts = Size { least: 1, most: 1_000_000_000_000_000 };
const WAY: Accepts = Accepts::Span { least: Span::ZERO, most: LONGEST_WAY };

const fn field(name: &'static str, accepts: Accepts, fallback: Fallback, help: &'static str) -> Field {
    Field { name, accepts, fallback, help }
}

const fn value(toml: &'static str) -> Fallback {
    Fallback::Value(toml)
}

/// Every key that a file may hold.
pub static SCENARIO: Shape = Shape {
    name: "a scenario",
    help: "Top-level keys.",
    fields: &[
        field("schema", Whole { least: 1, most: 1 }, value("1"), "Number of this format."),
        field("title", Text, Said("the file's name"), "What a person calls it."),
        field("source", Text, value("\"\""), "Where it comes from: the key of a paper and the place in it."),
        field("seed", Whole { least: 0, most: u64::MAX }, value("1"), "Every random number follows from it."),
        field(
            "duration",
            Accepts::Span { least: INSTANT, most: LONGEST_RUN },
            Required,
            "How long a run lasts.",
        ),
        field(
            "warmup",
            Accepts::Span { least: Span::ZERO, most: LONGEST_RUN },
            value("\"0 s\""),
            "What is left out of all figures; shorter than `duration`.",
        ),
        field(
            "packet",
            PACKET,
            value("\"1000 B\""),
            "A data packet on the wire, 40 B of headers included. An ACK is 40 B. With `xcp` both have 20 B more of headers.",
        ),
        field(
            "bottleneck",
            Table(&BOTTLENECK),
            Said("`[[node]]` and `[[link]]`"),
            "The one link of a dumbbell.",
        ),
        field("node", Tables(&NODE), Said("`[bottleneck]`"), "The nodes of a graph."),
        field("link", Tables(&LINK), Said("`[bottleneck]`"), "The links of a graph."),
        field("flow", Tables(&FLOW), Required, "The flows, in order."),
        field(
            "profile",
            PROFILE,
            Said("\"plain\"; of flows of `bbr` and `bbr3` `linux`"),
            "What flows are that do not say it themselves.",
        ),
        field("sweep", Sweep, Said("one run"), "What a sweep varies."),
    ],
};

static BOTTLENECK: Shape = Shape {
    name: "[bottleneck]",
    help: "A dumbbell: every flow crosses this link, named `bottleneck`. Both directions are real; the other is \
           `bottleneck (reverse)`.",
    fields: &[
        RATE,
        field("delay", WAY, Required, "Propagation, one way."),
        field("queue", QUEUE, Required, "The queue before it; the reverse direction has the same."),
        field("loss", LOSS, Said("none"), "Data packets lost behind the queue, forward only."),
        POLICER,
        JITTER,
        REORDER,
        DUPLICATE,
        SCHEDULE,
        field(
            "access_rate",
            Rate,
            Said("10 x `rate`, or the fastest of a schedule or a trace"),
            "Of the access links, one on each side for every connection.",
        ),
    ],
};

static NODE: Shape = Shape {
    name: "[[node]]",
    help: "A node of a graph.",
    fields: &[field("name", Name, Required, "Its name.")],
};

static LINK: Shape = Shape {
    name: "[[link]]",
    help: "A link of a graph. Both directions are real; the other is named `<name> (reverse)`.",
    fields: &[
        field("name", Name, Said("`from-to`"), "Its name."),
        field("from", Name, Required, "A node."),
        field("to", Name, Required, "Another node."),
        RATE,
        field("delay", WAY, Required, "Propagation, one way."),
        field("queue", QUEUE, Required, "The queue before it; the reverse direction has the same."),
        field("loss", LOSS, Said("none"), "Data packets lost behind the queue, from `from` to `to` only."),
        POLICER,
        JITTER,
        REORDER,
        DUPLICATE,
        SCHEDULE,
    ],
};

static FLOW: Shape = Shape {
    name: "[[flow]]",
    help: "A flow, or `count` alike.",
    fields: &[
        field("name", Name, Required, "Its name; `name[0]`, `name[1]`, … where `count` is above 1."),
        field("count", Whole { least: 1, most: 1_000_000 }, value("1"), "How many."),
        field(
            "connections",
            Whole { least: 1, most: 1000 },
            value("1"),
            "That carry what the flow has to send together: without end, or a size, of which each takes the next \
             packet when its window has room for it. They start at once, are flows `name[0]`, `name[1]`, … of the \
             record (`name[0][1]` where `count` is above 1), and one group.",
        ),
        field("role", ROLE, value("\"measured\""), "Fairness is taken over measured flows."),
        field(
            "group",
            Name,
            Said("each flow for itself"),
            "The party of fairness: flows of one group count as one.",
        ),
        field(
            "rtt",
            RoundTrips,
            Said("that of its links"),
            "Two-way propagation of the whole path. What the links leave is split evenly over the access on both \
             sides. A range is spread evenly over `count` flows, both ends included (one flow: the middle).",
        ),
        field("from", Name, Said("the dumbbell's left"), "The sender's node, in a graph."),
        field("to", Name, Said("the dumbbell's right"), "The receiver's node, in a graph."),
        field("direction", DIRECTION, value("\"forward\""), "Reverse: data and ACKs swap their ways."),
        field(
            "controller",
            Controller,
            Said("required, but for \"cbr\""),
            "The congestion controller; `cbr` traffic has none.",
        ),
        field("profile", PROFILE, Said("the scenario's"), "Values of the keys that it leaves out."),
        field("recovery", RECOVERY, value("\"sack\""), "How the sender recovers from loss."),
        field("traffic", TRAFFIC, value("\"bulk\""), "What it sends; a size alone is that much, once."),
        field(
            "start",
            Start,
            value("\"0 s\""),
            "When it starts. A flow that an exponential law starts after the end never does.",
        ),
        field("initial_window", WINDOW, value("2"), "Packets."),
        field("initial_ssthresh", WINDOW, Said("no limit"), "Packets."),
        field("max_window", WINDOW, Said("no limit"), "Bound of the congestion window, packets."),
        field("slow_start", SLOW_START, value("\"standard\""), "How the window grows in slow start."),
        field(
            "ecn",
            Switch,
            Said("false, but for a controller that reads marks"),
            "Whether queues may mark its new data instead of dropping them (RFC 3168); an echoed mark reduces the \
             window once a round, as a loss would.",
        ),
        field(
            "max_pacing_rate",
            Rate,
            Said("no limit"),
            "The fastest that its packets leave, evenly spaced, headers included.",
        ),
        field(
            "offload",
            Burst,
            value("\"1 packet\""),
            "Bursts of segmentation offload: the sender waits until so much may leave, or a third of its window, or \
             the last that it has, and hands it over at once; a pacer spaces bursts. Not in recovery.",
        ),
        field(
            "undo",
            Switch,
            value("true"),
            "Whether the sender takes back a reduction or a timeout when time stamps show that the packets were only \
             late (RFC 3522, RFC 4015).",
        ),
        field(
            "delayed_ack",
            Either(&[Switch, Accepts::Span { least: INSTANT, most: Span::from_ms(500) }, DELAYED_ACK]),
            value("false"),
            "How long the receiver may hold an ACK; `true` is 40 ms.",
        ),
        field(
            "whole_window",
            Switch,
            value("false"),
            "Whether the window counts whole packets, as in Linux: another one when it is earned in full, and none for \
             the fraction that a reduction leaves.",
        ),
        field(
            "clock_offset",
            WAY,
            value("\"0 s\""),
            "How far the receiver's clock is ahead of the sender's, for controllers that read one-way times.",
        ),
        field(
            "clock_drift",
            Number { least: -1000.0, most: 1000.0, open: false },
            value("0"),
            "What it gains, parts per million; below zero, what it loses.",
        ),
        field(
            "clock_stamp",
            Accepts::Span { least: Span::ZERO, most: Span::from_s(1) },
            value("\"0 s\""),
            "The unit in which it is read, as \"1 ms\"; `0 s` is exact.",
        ),
        field(
            "min_rto",
            Accepts::Span { least: INSTANT, most: Span::from_s(60) },
            value("\"0.2 s\""),
            "Least margin of the retransmission timer above the smoothed round-trip time; with `rto = \"rfc6298\"` \
             the least timeout.",
        ),
        field("rto", RTO, value("\"scaled\""), "How the retransmission timeout follows from round trips."),
        field("send_buffer", VOLUME, Said("no limit"), "What the sender may keep unacknowledged."),
        field("sockbuf", SOCKBUF, value("\"payload\""), "What `send_buffer` counts."),
        field("receive_buffer", VOLUME, Said("no limit"), "Payload that the receiver may hold."),
        field("packet", PACKET, Said("the scenario's"), "A data packet on the wire, headers included."),
        field(
            "overhead",
            Overhead,
            Said("up to one packet time of the slowest link on its way"),
            "Random processing time at the sender; keeps order. It breaks the phase effects of exact timing.",
        ),
    ],
};

const fn word(name: &'static str, help: &'static str) -> Shape {
    Shape { name, help, fields: &[] }
}

const ROLE: Accepts = Words(&Words {
    tag: "kind",
    cases: &[word("measured", "Fairness is taken over it."), word("background", "It is there to disturb.")],
});

const DIRECTION: Accepts = Words(&Words {
    tag: "kind",
    cases: &[word("forward", "Data flows as written."), word("reverse", "Data flows against it.")],
});

const VARIANT: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("impatient", "The first partial ACK alone restarts the timer."),
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
                "Proportional rate reduction (RFC 6937): what recovery sends is spread over its round trip.",
            )],
        },
        Shape {
            name: "newreno",
            help: "Partial acknowledgements retransmit (RFC 6582).",
            fields: &[field(
                "variant",
                VARIANT,
                value("\"impatient\""),
                "What partial ACKs do to the timer.",
            )],
        },
        word("reno", "Fast recovery ends with the first new acknowledgement (RFC 5681)."),
        word(
            "rack",
            "Selective acknowledgements whose losses are found by time, a probe before the timer (RFC 8985), and \
             proportional rate reduction.",
        ),
    ],
});

const DELAYED_ACK: Accepts = Words(&Words {
    tag: "kind",
    cases: &[word(
        "adaptive",
        "As Linux: the first 16 packets at once, then every second, held for 40 ms to 200 ms by how packets arrive; \
         after three reports of a gap, more of them together within 1 ms.",
    )],
});

const SOCKBUF: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("payload", "Payload."),
        word(
            "linux",
            "As SO_SNDBUF: memory of packets, 832 B each beside their payload, against twice what is asked for; and an \
             application that has filled it waits until a third of it is free.",
        ),
    ],
});

const RTO: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word(
            "scaled",
            "Gains for one sample a round (RFC 6298), divided by their number (RFC 7323, appendix G).",
        ),
        word(
            "rfc6298",
            "As `scaled`, but `min_rto` is the least timeout as a whole (RFC 6298, 2.4), not the least margin \
             above the smoothed round trip.",
        ),
        word("linux", "Full gains for each sample, and a variation that falls once a round."),
    ],
});

const PROFILE: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("plain", "Every key has the default that stands here."),
        word("linux", "Keys that are left out have the values of Linux 6.18; see [the profile](profile.md)."),
    ],
});

pub(crate) const SLOW_START: Accepts = Words(&Words {
    tag: "kind",
    cases: &[
        word("standard", "Doubles each round (RFC 5681)."),
        Shape {
            name: "limited",
            help: "Above `max_ssthresh` the window grows by at most half of that each round (RFC 3742).",
            fields: &[field("max_ssthresh", WINDOW, value("100"), "Packets.")],
        },
        word("hystart++", "The first ends where the round-trip time rises, before a loss (RFC 9406)."),
        word("full", "By every packet that is acknowledged, however many at once, as in Linux."),
        word(
            "hystart",
            "The same; that of the start, or after a timeout, ends where acknowledgements form a train of half a round \
             trip or the round-trip time rises, as in Linux's CUBIC.",
        ),
    ],
});
