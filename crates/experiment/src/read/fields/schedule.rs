//! The keys of the schedule of a link: changes of its rate, delay and loss during a run.

use super::*;

/// The unit of the rates of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RateUnit {
    Bit,
    Kilobit,
    Megabit,
    Gigabit,
}

words! {
    RateUnit => RateUnit, "unit";
    "bit/s", "Bits per second." => RateUnit::Bit;
    "kbit/s", "Thousands of them." => RateUnit::Kilobit;
    "Mbit/s", "Millions of them." => RateUnit::Megabit;
    "Gbit/s", "Thousands of millions of them." => RateUnit::Gigabit;
}

impl RateUnit {
    /// In bits per second.
    pub(crate) fn as_bps(self) -> f64 {
        match self {
            RateUnit::Bit => 1.0,
            RateUnit::Kilobit => 1e3,
            RateUnit::Megabit => 1e6,
            RateUnit::Gigabit => 1e9,
        }
    }
}

/// A rate, or a trace of it.
#[derive(Clone, Debug)]
pub(crate) enum RateSpec {
    Constant(Rate),
    Trace(TraceKeys),
}

either! {
    RateSpec;
    rate: Rate => RateSpec::Constant(rate);
    trace: TraceKeys => RateSpec::Trace(trace);
}

table! {
    TraceKeys: "{ trace = … }",
        "The rate over time from a file, for both directions. The file has one of two formats. In the \
         first, each line is `seconds,rate`, in ascending order from 0 s, after an optional header line; \
         each rate applies until the next line, and the last one for as long as the one before it. Further \
         columns need a header that names them: `delay_ms`, the one-way propagation delay of both directions \
         in milliseconds, and `loss`, the loss probability in the direction of the key `loss`; routes and bdp still go by the \
         key `delay`. A trace whose \
         largest rate is below 1 kbit/s is refused unless `unit` is given. In the second, that of mahimahi, each line is a whole number of milliseconds at which 1504 more bytes \
         can be delivered; here these bytes are spread over the preceding millisecond, and capacity that \
         a packet does not need is left to the next one. Empty lines and lines that begin with `#` are \
         skipped.";
    trace: String = required, "File name, relative to the folder of the scenario.";
    unit: RateUnit = in_words("\"bit/s\""), "Unit of the rates in the first format.";
    repeat: bool = default("true"),
        "Whether the trace repeats. Otherwise its last rate stays in force; after the last millisecond \
         of a mahimahi trace nothing is sent.";
}

table! {
    ChangeKeys: "{ at = …, rate = …, delay = …, loss = …, reverse_loss = …, mtu = … }",
        "One change; values that it does not name stay the same. Rate, delay and MTU change in both \
         directions, `loss` and `reverse_loss` each in its own direction only. A packet that is being transmitted when the rate \
         changes continues at the new rate; the delay and the loss at the departure of its last bit apply \
         to it. If the delay decreases, packets overtake those sent before the change.";
    at: Time<1, RUN> = required, "Time of the change; later than that of the previous entry.";
    rate: RateOrZero = in_words("unchanged"), "New rate; \"0 bit/s\" is an outage, during which packets wait.";
    delay: Way = in_words("unchanged"), "New one-way propagation delay; routes do not change.";
    loss: LossSpec = in_words("unchanged"),
        "New loss, in the forms of `loss` of the link, started afresh; 0 ends the loss.";
    reverse_loss: LossSpec = in_words("unchanged"), "New loss in the reverse direction, in the same forms.";
    mtu: PacketSize = in_words("unchanged"), "New MTU of the link, for packets that come to its queue.";
}
