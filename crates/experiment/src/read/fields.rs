//! Every key of a scenario. One table per struct; nothing else in Fairhaul lists keys.

use fairhaul_units::Span;

use super::field::Accepts::{self, *};
use super::field::{Fallback, Field, Shape};
use super::quantities::LONGEST_RUN;

mod flow;
mod impair;
mod queue;
mod schedule;
mod traffic;

use flow::{DELAYED_ACK, DIRECTION, PROFILE, ROLE, RTO, SOCKBUF};
pub(crate) use flow::{RECOVERY, SLOW_START};
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
        field("schema", Whole { least: 1, most: 1 }, value("1"), "Version of the scenario format."),
        field("title", Text, Said("the file name without its extension"), "Title shown in output."),
        field(
            "source",
            Text,
            value("\"\""),
            "Source of the scenario: the key of a paper and the place in \
                                              it.",
        ),
        field("seed", Whole { least: 0, most: u64::MAX }, value("1"), "Seed of all random numbers."),
        field("duration", Accepts::Span { least: INSTANT, most: LONGEST_RUN }, Required, "Length of a run."),
        field(
            "warmup",
            Accepts::Span { least: Span::ZERO, most: LONGEST_RUN },
            value("\"0 s\""),
            "Initial period that is excluded from all measured figures; shorter than `duration`.",
        ),
        field(
            "packet",
            PACKET,
            value("\"1000 B\""),
            "Size of a data packet on the wire, including 40 B of headers. An ACK is 40 B. With `xcp` both \
             carry 20 B more of headers.",
        ),
        field(
            "bottleneck",
            Table(&BOTTLENECK),
            Said("`[[node]]` and `[[link]]` instead"),
            "The bottleneck link of a dumbbell.",
        ),
        field("node", Tables(&NODE), Said("`[bottleneck]` instead"), "The nodes of a graph."),
        field("link", Tables(&LINK), Said("`[bottleneck]` instead"), "The links of a graph."),
        field("flow", Tables(&FLOW), Required, "The flows, in order."),
        field(
            "profile",
            PROFILE,
            Said("\"linux\" for flows of `bbr` and `bbr3`, else \"plain\""),
            "Profile of the flows that do not set their own.",
        ),
        field("sweep", Sweep, Said("a single run"), "Keys to vary, with their values."),
    ],
};

static BOTTLENECK: Shape = Shape {
    name: "[bottleneck]",
    help: "A dumbbell: every flow crosses this link, which is named `bottleneck`. Both directions are full \
           links with a queue; the reverse one is named `bottleneck (reverse)`.",
    fields: &[
        RATE,
        field("delay", WAY, Required, "One-way propagation delay."),
        field("queue", QUEUE, Required, "The queue of the link; the reverse direction has an identical one."),
        field(
            "loss",
            LOSS,
            Said("none"),
            "Loss of data packets after the queue, in the forward direction \
                                           only.",
        ),
        POLICER,
        JITTER,
        REORDER,
        DUPLICATE,
        SCHEDULE,
        field(
            "access_rate",
            Rate,
            Said("10 x `rate`, or 10 x the highest rate of a schedule or trace"),
            "Rate of the access links; every connection has one on each side.",
        ),
    ],
};

static NODE: Shape = Shape {
    name: "[[node]]",
    help: "A node of a graph.",
    fields: &[field("name", Name, Required, "Name of the node.")],
};

static LINK: Shape = Shape {
    name: "[[link]]",
    help: "A link of a graph. Both directions are full links with a queue; the reverse one is named `<name> (reverse)`.",
    fields: &[
        field("name", Name, Said("`from-to`"), "Name of the link."),
        field("from", Name, Required, "Node at one end."),
        field("to", Name, Required, "Node at the other end."),
        RATE,
        field("delay", WAY, Required, "One-way propagation delay."),
        field("queue", QUEUE, Required, "The queue of the link; the reverse direction has an identical one."),
        field(
            "loss",
            LOSS,
            Said("none"),
            "Loss of data packets after the queue, in the direction from \
                                           `from` to `to` only.",
        ),
        POLICER,
        JITTER,
        REORDER,
        DUPLICATE,
        SCHEDULE,
    ],
};

static FLOW: Shape = Shape {
    name: "[[flow]]",
    help: "A flow, or `count` identical flows.",
    fields: &[
        field(
            "name",
            Name,
            Required,
            "Name of the flow; the flows are named `name[0]`, `name[1]`, … if \
                                       `count` is above 1.",
        ),
        field("count", Whole { least: 1, most: 1_000_000 }, value("1"), "Number of identical flows."),
        field(
            "connections",
            Whole { least: 1, most: 1000 },
            value("1"),
            "Number of parallel TCP connections that carry the data of the flow together, which is endless \
             or of one size: each connection takes the next packet when its window has room for it. The \
             connections start at the same time, are recorded as flows `name[0]`, `name[1]`, … \
             (`name[0][1]` if `count` is above 1), and form one group.",
        ),
        field("role", ROLE, value("\"measured\""), "Fairness is computed over the measured flows."),
        field(
            "group",
            Name,
            Said("each flow is its own group"),
            "Fairness group: flows of one group count as one flow.",
        ),
        field(
            "rtt",
            RoundTrips,
            Said("the propagation delay of its links"),
            "Two-way propagation delay of the whole path. The part that the links do not account for is \
             split evenly over the access hops on both sides. A range is spread evenly over `count` flows, \
             both ends included (a single flow gets the middle).",
        ),
        field("from", Name, Said("the left side of the dumbbell"), "The sender's node, in a graph."),
        field("to", Name, Said("the right side of the dumbbell"), "The receiver's node, in a graph."),
        field(
            "direction",
            DIRECTION,
            value("\"forward\""),
            "Direction of the data; in the reverse \
            direction data and ACKs swap their paths.",
        ),
        field(
            "controller",
            Controller,
            Said("required, except for `cbr` traffic"),
            "The congestion controller; `cbr` traffic has none.",
        ),
        field(
            "profile",
            PROFILE,
            Said("that of the scenario"),
            "Values of the keys that the flow does not set.",
        ),
        field("recovery", RECOVERY, value("\"sack\""), "Loss recovery of the sender."),
        field(
            "traffic",
            TRAFFIC,
            value("\"bulk\""),
            "Traffic model; a size alone is a single transfer of \
                                                      that size.",
        ),
        field(
            "start",
            Start,
            value("\"0 s\""),
            "Start time. A flow whose exponentially distributed start falls after the end of the run never \
             starts.",
        ),
        field("initial_window", WINDOW, value("2"), "Initial congestion window, packets."),
        field("initial_ssthresh", WINDOW, Said("no limit"), "Initial slow-start threshold, packets."),
        field("max_window", WINDOW, Said("no limit"), "Upper bound of the congestion window, packets."),
        field("slow_start", SLOW_START, value("\"standard\""), "Growth of the window in slow start."),
        field(
            "ecn",
            Switch,
            Said("true for a controller that reads marks, else false"),
            "Whether queues may mark new data of the flow instead of dropping it (RFC 3168); an echoed mark \
             reduces the window once per round trip, as a loss would.",
        ),
        field("max_pacing_rate", Rate, Said("no limit"), "Upper bound of the pacing rate, headers included."),
        field(
            "offload",
            Burst,
            value("\"1 packet\""),
            "Size of the bursts of segmentation offload: the sender waits until a burst of this size, a \
             third of its window, or the last of its data may leave, and hands it over at once; a pacer \
             spaces bursts. Not used in recovery.",
        ),
        field(
            "undo",
            Switch,
            value("true"),
            "Whether the sender undoes a reduction or a timeout when time stamps show that the packets were \
             only late (RFC 3522, RFC 4015).",
        ),
        field(
            "delayed_ack",
            Either(&[Switch, Accepts::Span { least: INSTANT, most: Span::from_ms(500) }, DELAYED_ACK]),
            value("false"),
            "Longest time that the receiver holds an ACK; `true` is 40 ms.",
        ),
        field(
            "whole_window",
            Switch,
            value("false"),
            "Whether the window is an integer number of packets, as in Linux: it grows by a packet once \
             that packet is fully earned, and the fraction that a reduction leaves is cut off.",
        ),
        field(
            "clock_offset",
            WAY,
            value("\"0 s\""),
            "Offset of the receiver's clock, ahead of the sender's, for controllers that measure one-way \
             delays.",
        ),
        field(
            "clock_drift",
            Number { least: -1000.0, most: 1000.0, open: false },
            value("0"),
            "Drift of the receiver's clock, parts per million; positive if it runs fast, negative if it \
             runs slow.",
        ),
        field(
            "clock_stamp",
            Accepts::Span { least: Span::ZERO, most: Span::from_s(1) },
            value("\"0 s\""),
            "Resolution of the time stamps, e.g. \"1 ms\"; `0 s` is exact.",
        ),
        field(
            "min_rto",
            Accepts::Span { least: INSTANT, most: Span::from_s(60) },
            value("\"0.2 s\""),
            "Smallest margin of the retransmission timeout above the smoothed round-trip time; with `rto = \
             \"rfc6298\"` the smallest timeout.",
        ),
        field(
            "rto",
            RTO,
            value("\"scaled\""),
            "How the retransmission timeout is computed from round-trip \
                                                time samples.",
        ),
        field("send_buffer", VOLUME, Said("no limit"), "Limit of unacknowledged data at the sender."),
        field("sockbuf", SOCKBUF, value("\"payload\""), "What counts towards `send_buffer`."),
        field("receive_buffer", VOLUME, Said("no limit"), "Limit of the payload that the receiver holds."),
        field(
            "packet",
            PACKET,
            Said("that of the scenario"),
            "Size of a data packet on the wire, headers included.",
        ),
        field(
            "overhead",
            Overhead,
            Said("up to one packet time on the slowest link of its path"),
            "Random processing time at the sender, which keeps packets in order. It breaks the phase \
             effects of exact timing.",
        ),
    ],
};

const fn word(name: &'static str, help: &'static str) -> Shape {
    Shape { name, help, fields: &[] }
}
