//! The keys of a flow that take a word, and the meaning of each word.

use super::*;

/// Which way the data of a flow travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Reverse,
}

/// How long a receiver holds an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelayedAck {
    Never,
    For(Span),
    Adaptive,
}

/// What a receiver holds an acknowledgement for where the file says `true`, as Linux does.
const DELAYED_ACK: Span = Span::from_ms(40);

either! {
    DelayedAck;
    held: bool => if held { DelayedAck::For(DELAYED_ACK) } else { DelayedAck::Never };
    most: Time<1, { SECOND / 2 }> => DelayedAck::For(most);
    word: DelayedAckWords => word;
}

/// The words for `delayed_ack`.
pub(super) struct DelayedAckWords;

words! {
    DelayedAckWords => DelayedAck, "kind";
    "adaptive",
        "As in Linux: the first 16 packets are acknowledged at once, then every second one; an ACK is held \
         for 40 ms to 200 ms, depending on how packets arrive; after three ACKs that report a gap, further \
         ones are merged within 1 ms."
        => DelayedAck::Adaptive;
}

words! {
    Role => Role, "kind";
    "measured", "Included in the fairness figures." => Role::Measured;
    "background", "Background load, which the fairness figures do not include." => Role::Background;
}

words! {
    Direction => Direction, "kind";
    "forward", "Data travel in the forward direction." => Direction::Forward;
    "reverse", "Data travel in the reverse direction." => Direction::Reverse;
}

words! {
    Recovery => Recovery, "kind";
    "sack", "Selective acknowledgements (RFC 2018, RFC 6675).", {
        prr: bool = default("false"),
            "Proportional rate reduction (RFC 6937): the packets sent in recovery are spread over its \
             round trip.";
    } => if prr { Recovery::SackPrr } else { Recovery::Sack };
    "newreno", "Partial acknowledgements trigger retransmissions (RFC 6582).", {
        variant: Impatient = default("\"impatient\""), "Effect of partial ACKs on the retransmission timer.";
    } => Recovery::NewReno { impatient: variant };
    "reno", "Fast recovery ends with the first new acknowledgement (RFC 5681)." => Recovery::Reno;
    "rack",
        "Selective acknowledgements with time-based loss detection and tail loss probes (RACK-TLP, RFC \
         8985), and proportional rate reduction."
        => Recovery::Rack;
}

/// The variant of NewReno: whether it is the impatient one.
struct Impatient;

words! {
    Impatient => bool, "kind";
    "impatient", "Only the first partial ACK restarts the timer." => true;
    "slow-but-steady", "Every partial ACK restarts the timer." => false;
}

words! {
    Sockbuf => Sockbuf, "kind";
    "payload", "Payload only." => Sockbuf::Payload;
    "linux",
        "As SO_SNDBUF: the memory of packets, 832 B each in addition to their payload, compared with \
         twice the requested size; an application that has filled the buffer waits until a third of it \
         is free."
        => Sockbuf::Linux;
}

words! {
    Rto => Rto, "kind";
    "scaled",
        "The gains for one sample per round trip (RFC 6298), divided by the number of samples (RFC \
         7323, appendix G)."
        => Rto::Scaled;
    "rfc6298",
        "As `scaled`, but `min_rto` is the smallest timeout as a whole (RFC 6298, 2.4), not the \
         smallest margin above the smoothed round-trip time, and the first timeout of data is 3 s if the request to open \
         was lost (RFC 6298, 5.7)."
        => Rto::Rfc6298;
    "linux", "Full gains for each sample, and a variation that decreases once per round trip." => Rto::Linux;
}

words! {
    OnTimeout => OnTimeout, "kind";
    "start over",
        "It retransmits what is in flight, from a window of one packet on in slow start (RFC 6298, RFC 5681)."
        => OnTimeout::StartOver;
    "probe",
        "As in QUIC: it sends a packet as a probe, each time after twice the time, and keeps its window. Only if an \
         acknowledgement then shows that what was lost had left over more than three timeouts, it starts over in slow start with \
         `min_window`: persistent congestion (RFC 9002, 6.2 and 7.6). Needs `recovery = \"rack\"`."
        => OnTimeout::Probe;
}

words! {
    Growth => Growth, "kind";
    "per packet",
        "By every packet that an ACK acknowledges, in slow start at most two (RFC 3465)." => Growth::PerPacket;
    "per ack", "By every ACK as if it acknowledged one packet (RFC 5681, with L = 1)." => Growth::PerAck;
}

words! {
    Restart => Restart, "kind";
    "none", "All of it." => Restart::None;
    "linux",
        "After a retransmission timeout of silence the window is halved, once more for each further one, down to \
         `initial_window`, and the threshold is at least three quarters of the window before. Controllers that set the \
         window themselves, as `bbr`, keep it."
        => Restart::Linux;
    "rfc5681", "After a retransmission timeout of silence the window is at most `initial_window` (RFC 5681, 4.1)."
        => Restart::Rfc5681;
    "rfc7661",
        "All of it for five minutes, then half; a loss while it is not used leaves half of what was used (RFC 7661)."
        => Restart::Rfc7661;
}

words! {
    HostPacing => HostPacing, "kind";
    "none", "Packets leave as soon as the window lets them." => HostPacing::None;
    "fq",
        "As in Linux with the queue `fq`: at 1.2 times window / srtt, twice as long as the window is below half of its \
         threshold; the first ten packets leave at once."
        => HostPacing::Linux;
    "quic", "At 1.25 times window / srtt, with up to ten packets at once (RFC 9002, 7.7)." => HostPacing::Quic;
}

/// The words for `dscp`: the number of the class.
pub(crate) struct Dscp;

words! {
    Dscp => u8, "kind";
    "CS0", "Best effort." => 0;
    "LE", "Lower effort (RFC 8622)." => 1;
    "TOS4", "The old bit for throughput." => 4;
    "CS1", "Class selector 1 (RFC 2474)." => 8;
    "CS2", "Class selector 2 (RFC 2474)." => 16;
    "AF21", "Assured forwarding (RFC 2597)." => 18;
    "AF22", "Assured forwarding (RFC 2597)." => 20;
    "AF23", "Assured forwarding (RFC 2597)." => 22;
    "CS3", "Class selector 3 (RFC 2474)." => 24;
    "AF31", "Assured forwarding (RFC 2597)." => 26;
    "AF32", "Assured forwarding (RFC 2597)." => 28;
    "AF33", "Assured forwarding (RFC 2597)." => 30;
    "CS4", "Class selector 4 (RFC 2474)." => 32;
    "AF41", "Assured forwarding (RFC 2597)." => 34;
    "AF42", "Assured forwarding (RFC 2597)." => 36;
    "AF43", "Assured forwarding (RFC 2597)." => 38;
    "CS5", "Class selector 5 (RFC 2474)." => 40;
    "VA", "Voice that was admitted (RFC 5865)." => 44;
    "EF", "Expedited forwarding (RFC 3246)." => 46;
    "CS6", "Class selector 6 (RFC 2474)." => 48;
    "CS7", "Class selector 7 (RFC 2474)." => 56;
}

words! {
    AccEcnOption => AccEcnOption, "kind";
    "never", "Never." => AccEcnOption::Never;
    "minimum", "With two ACKs after each change of the codepoint that arrives, and every 4 MiB." => AccEcnOption::Minimum;
    "always", "With every ACK that has room for it." => AccEcnOption::Always;
}

words! {
    Middlebox => Middlebox, "kind";
    "none", "Nothing." => Middlebox::None;
    "clears request", "It clears the three bits of the request: the hosts agree on no feedback." => Middlebox::ClearsRequest;
    "clears ae",
        "It clears the bit of the request that RFC 3168 does not know: the hosts agree on RFC 3168, and ECT(0)."
        => Middlebox::ClearsAe;
    "clears ace", "It clears the three bits of ACKs: the sender stops ECT." => Middlebox::ClearsAce;
    "removes option", "It removes the option from ACKs." => Middlebox::RemovesOption;
    "clears ecn", "It makes data Not-ECT behind all links: the receiver never sees a mark." => Middlebox::ClearsEcn;
    "sets ect", "It sets ECT(0) in the request, which is Not-ECT: the sender stops ECT." => Middlebox::SetsEct;
}

words! {
    Profile => Profile, "kind";
    "plain", "Every key has the default that is listed here." => Profile::Plain;
    "linux", "Keys that are not set have the values of a host with Linux: its TCP, bursts, interrupts and buffers; see [the profile](profile.md)."
        => Profile::Linux;
    "linux-tuned", "The same with buffers that limit nothing, as on a host that is set up for long, fast paths."
        => Profile::LinuxTuned;
    "linux-tcp", "Its TCP on ideal hosts: packets leave and arrive one by one, and buffers limit nothing."
        => Profile::LinuxTcp;
}

words! {
    SlowStart => SlowStart, "kind";
    "standard", "The window doubles each round trip (RFC 5681)." => SlowStart::Standard;
    "limited",
        "Above `max_ssthresh` the window grows by at most half of that value per round trip (RFC 3742).", {
        max_ssthresh: Window = default("100"), "Threshold, packets.";
    } => SlowStart::Limited { max_ssthresh };
    "hystart++", "The first slow start ends when the round-trip time rises, before a loss (RFC 9406)."
        => SlowStart::HyStartPp;
    "full", "The window grows by every acknowledged packet, even if one ACK covers several, as in Linux."
        => SlowStart::Full;
    "hystart",
        "As `full`; slow start at the beginning or after a timeout ends when the ACKs form a train of \
         half a round trip or the round-trip time rises, as in Linux's CUBIC."
        => SlowStart::HyStart;
    "search",
        "As `full`; the first slow start ends when what was delivered falls behind what was sent one round trip earlier \
         (SEARCH).", {
        variant: SearchVariant = default("\"draft\""), "Whose rule.";
        drain: bool = default("false"),
            "Whether the window then comes down to what was delivered in the initial round trip (`linux`: by what was \
             delivered in two of them), so that the queue drains.";
    } => SlowStart::Search { variant, drain };
}

words! {
    SearchVariant => SearchVariant, "kind";
    "draft", "SEARCH 4.0 (draft-chung-ccwg-search-09): a quarter of what was sent is missing." => SearchVariant::Draft;
    "linux",
        "SEARCH 3.1 of its authors' module for Linux: deliveries are 35 % less than twice the deliveries of a round trip \
         earlier."
        => SearchVariant::Linux;
}

words! {
    Startup => Startup, "kind";
    "slow start", "Nothing: the initial window leaves as the host lets it." => Startup::None;
    "paced", "The initial window is spread evenly over the round trip of the handshake." => Startup::Paced;
    "careful resume",
        "The window jumps to half of what an earlier connection over the path has used, once the initial data are \
         acknowledged (draft-ietf-tsvwg-careful-resume).", {
        saved_window: Window = default("100"), "What that connection had delivered in a round trip, packets.";
        saved_rtt: Time<1, { 60 * SECOND }> = default("\"0.1 s\""), "Its smallest round-trip time.";
        max_jump: Window = default("1000000"), "Upper bound of the jump, packets.";
    } => Startup::CarefulResume { cwnd: saved_window, rtt: saved_rtt, max_jump };
    "rapid start",
        "The first window is twice `initial_window`, spread over a round trip; slow start triples the window while the \
         round-trip time has not risen by 10 % or 4 ms, and the first recovery corrects it by what was delivered and lost \
         (draft-kazuho-ccwg-rapid-start)."
        => Startup::RapidStart;
    "jumpstart",
        "All data that are ready are spread over the round trip of the handshake; nothing bounds them but buffers, \
         `max_window` and the rate of the host."
        => Startup::Jumpstart;
}
