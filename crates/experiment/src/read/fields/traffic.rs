//! The keys of the traffic of a flow.

use super::super::exchange::unread;
use super::*;
use crate::{SizeLaw, WebPages};

/// From where a period is many packets on a fast link.
type Period = Time<{ SECOND / 1000 }, { 36_000 * SECOND }>;
/// A mean number.
type Counted = Number<1, 1000>;

either! {
    Traffic;
    size: Volume => Traffic::Sized(size);
    words: TrafficWords => words;
}

/// The words for `traffic`.
pub(crate) struct TrafficWords;

words! {
    TrafficWords => Traffic, "kind";
    "bulk", "Endless data." => Traffic::Bulk;
    "sized", "A single transfer of the given size.", {
        size: Volume = required, "Payload of the transfer.";
    } => Traffic::Sized(size?);
    "short",
        "Transfers that arrive as a Poisson process from the start of the flow, each on its own connection.", {
        rate: Frequency = required, "Transfers per second.";
        size: SizeLaw = required, "Payload of each transfer: a size, or a distribution.";
    } => Traffic::Short { per_s: rate?, size: size? };
    // The values of ns-2's web-traffic example (its object size is 12 packets of 1000 B).
    "web",
        "Sessions arrive as a Poisson process; a session requests pages and a page requests \
         objects, each on its own connection. The load is open-loop: a slow network does not slow \
         the users down.", {
        sessions: Frequency = required, "New sessions per second.";
        pages: Counted = default("5"), "Mean number of pages per session (geometric distribution).";
        think: Way = default("\"15 s\""),
            "Mean time between the pages of a session (exponential distribution).";
        objects: Counted = default("3"), "Mean number of objects per page (geometric distribution).";
        size: SizeLaw = default("{ law = \"pareto\", mean = \"12 kB\", shape = 1.2 }"),
            "Payload of an object: a size, or a distribution.";
    } => Traffic::Web(WebPages { sessions_per_s: sessions?, pages, think, objects, size });
    "onoff",
        "An application that writes to one connection at a constant rate while it is on; it is on \
         at its start. The congestion window is kept while it is off.", {
        rate: Rate = required, "Rate while it is on, headers included.";
        on: Period = required, "Mean duration of an on period (exponential distribution).";
        off: Period = required, "Mean duration of an off period (exponential distribution).";
    } => Traffic::OnOff { rate: rate?, on: on?, off: off? };
    "limited",
        "Endless data, except for a time in which the application writes at a constant rate, or nothing. \
         Data that the application had not written when this time began are not sent in it.", {
        rate: RateOrZero = required, "Rate in this time, headers included; \"0 bit/s\" is a pause.";
        from: Time<0, RUN> = default("\"0 s\""), "Start of this time.";
        until: Time<1, RUN> = in_words("the end of the run"), "End of this time; later than `from`.";
    } => Traffic::Limited { rate: rate?, from, until: until.unwrap_or(LONGEST_RUN) };
    "cbr",
        "UDP datagrams at a constant rate, without congestion control and without \
         acknowledgements. The record of such a flow has no round-trip time, no window and no \
         loss events, so `stationary` does not judge it.", {
        rate: Rate = required, "Rate, headers included.";
        until: Time<1, RUN> = in_words("the end of the run"), "When it stops.";
    } => Traffic::Cbr { rate: rate?, until: until.unwrap_or(LONGEST_RUN) };
    "vectors",
        "What the initiators of recorded connections write, from a file of connection vectors; see \
         [Connection vectors](#connection-vectors).", {
        file: String = required, "File name, relative to the folder of the scenario.";
    } => unread(file?);
    "answers",
        "What the acceptors of these connections write: a unit follows the one that it answers once that has \
         arrived.", {
        to: String = required, "Name of the flow of `vectors` traffic that it answers.";
    } => Traffic::Answers { to: to?, flow: 0 };
}

either! {
    SizeLaw;
    size: Volume => SizeLaw::Fixed(size);
    words: SizeWords => words;
}

/// The words for the distribution of a size.
pub(crate) struct SizeWords;

words! {
    SizeWords => SizeLaw, "law";
    "exponential", "Exponential distribution.", {
        mean: Volume = required, "Mean size.";
    } => SizeLaw::Exponential(mean?);
    "pareto", "Pareto distribution, which is heavy-tailed. Sizes are limited to 1 PB.", {
        mean: Volume = required, "Mean size.";
        shape: Above<1, 100> = default("1.2"), "Shape parameter: the smaller, the heavier the tail.";
    } => SizeLaw::Pareto(mean?, shape);
}
