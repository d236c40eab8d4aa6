//! Every key of a scenario. One table per struct; nothing else in Fairhaul lists keys.

use fairhaul_cc::ControllerChoice;
use fairhaul_path::impair::JitterRule;
use fairhaul_units::{Bytes, Rate, Span};

use super::field::{Accepts, Fallback, Field, Shape, Words};
use super::kinds::{
    Above, CommandLine, Frequency, Name, Number, Overhead, Qdisc, RateOrZero, Size, Sweep, Sysctls, Time,
    Whole,
};
use super::mistake::{Notes, SourceSpan};
use super::quantities::{BurstSpec, CapacitySpec, LARGEST_TRANSFER, LONGEST_RUN, RoundTrips, unwanted};
use super::reader::{
    Choice, Entries, FromToml, Keyed, Table, Tables, fits, joined, refuse, table, total, word,
};
use super::stack_choice::StackChoice;
use super::toml_tree::Node;
use crate::{
    AccEcnOption, Grain, Growth, HostPacing, Middlebox, OnTimeout, Profile, Recovery, Restart, Role, Rto,
    SearchVariant, SlowStart, Sockbuf, Start, Startup, Traffic,
};

mod expect;
mod flow;
mod host;
mod impair;
mod program;
mod queue;
mod schedule;
mod traffic;

pub(crate) use expect::ExpectKeys;
pub(crate) use flow::{DelayedAck, Direction, Dscp};
pub(crate) use host::{BufferSpec, HostKeys, ProcessorKeys};
pub(crate) use impair::{AggregateKeys, BucketKeys, LossKeys, LossSpec, ReorderKeys};
pub(crate) use program::ProgramKeys;
pub(crate) use queue::QueueKeys;
pub(crate) use schedule::{ChangeKeys, RateSpec, RateUnit, TraceKeys};
pub(crate) use traffic::{SizeWords, TrafficWords};

/// The bounds of times, ps; the least above zero is 1.
const SECOND: u64 = Span::from_s(1).as_ps();
const RUN: u64 = LONGEST_RUN.as_ps();
/// Ten hours: longer than to Neptune.
type Way = Time<0, { 36_000 * SECOND }>;
/// A packet is more than its 40 bytes of headers; 64 kB is the largest that IP carries, rounded.
type PacketSize = Size<41, 64_000>;
/// At most one PB: more than any run delivers.
type Volume = Size<1, LARGEST_TRANSFER>;
/// Packets, at most what ns-2 users write for "no limit", and a thousand times more.
type Window = Number<1, 1_000_000_000>;
type Probability = Number<0, 1>;

/// The table of a whole file, within which are all others.
pub static SCENARIO: Shape = ScenarioKeys::SHAPE;

table! {
    /// Every key that a file may hold.
    #[expect(dead_code, reason = "the version, the profile and the sweep have done their part before")]
    ScenarioKeys: "a scenario", "Top-level keys.";
    schema: Whole<1, 1> = default("1"), "Version of the scenario format.";
    title: String = in_words("the file name without its extension"), "Title shown in output.";
    source: String = default("\"\""), "Source of the scenario: the key of a paper and the place in it.";
    seed: Whole<0, { u64::MAX }> = default("1"), "Seed of all random numbers.";
    duration: Time<1, RUN> = required, "Length of a run.";
    warmup: Time<0, RUN> = default("\"0 s\""),
        "Initial period that is excluded from all measured figures; shorter than `duration`.";
    packet: PacketSize = default("\"1000 B\""),
        "Size of a data packet on the wire. 40 B of it are headers, with the profiles of Linux 52 B, because of time stamps; \
         with `xcp` 20 B more. An ACK has such headers alone, and with the profiles of Linux its SACK blocks.";
    bottleneck: BottleneckKeys = in_words("`[[node]]` and `[[link]]` instead"), "The bottleneck link of a dumbbell.";
    node: Tables<NodeKeys> = in_words("`[bottleneck]` instead"), "The nodes of a graph.";
    link: Tables<GraphLinkKeys> = in_words("`[bottleneck]` instead"), "The links of a graph.";
    flow: Tables<FlowKeys> = required, "The flows, in order.";
    profile: Profile = default("\"linux\""),
        "Profile of the flows that do not set their own. The defaults of a flow on this page are those of `plain`.";
    grain: Grain = default("\"auto\""), "What is simulated as one: see [Grain](grain.md).";
    expect: Tables<ExpectKeys> = in_words("none"),
        "What is expected of the figures of a run, for [`fairhaul check`](check.md).";
    sweep: Sweep = in_words("a single run"), "Keys to vary, with their values.";
}

words! {
    Grain => Grain, "kind";
    "auto",
        "What a host hands over together, a burst of segmentation offload, as long as no link decides about each packet." => Grain::Auto;
    "packet", "Each packet, which takes longer." => Grain::Packet;
}

table! {
    BottleneckKeys: "[bottleneck]",
        "A dumbbell: every flow crosses this link, which is named `bottleneck`. Both directions are full \
         links with a queue; the reverse one is named `bottleneck (reverse)`.";
    ..link: LinkKeys;
    access_rate: Rate = in_words("10 x `rate`, or 10 x the highest rate of a schedule or trace"),
        "Rate of the access links; every connection has one on each side.";
}

table! {
    NodeKeys: "[[node]]", "A node of a graph.";
    name: Name = required, "Name of the node.";
}

table! {
    GraphLinkKeys: "[[link]]",
        "A link of a graph. Both directions are full links with a queue; the reverse one is named `<name> (reverse)`.";
    name: Name = in_words("`from-to`"), "Name of the link.";
    from: Name = required, "Node at one end.";
    to: Name = required, "Node at the other end.";
    ..link: LinkKeys;
}

table! {
    LinkKeys: "[bottleneck] or [[link]]", "What both have.";
    rate: RateSpec = required, "Rate of the link in each direction; a trace gives the rate over time.";
    delay: Way = required, "One-way propagation delay.";
    queue: QueueKeys = required, "The queue of the link.";
    reverse_rate: Rate = in_words("that of `rate`, with its changes"),
        "Rate of the reverse direction, where the two differ; a trace or a schedule then changes the rate of the \
         other direction only.";
    reverse_queue: QueueKeys = in_words("one like `queue`"), "The queue of the reverse direction.";
    loss: LossSpec = in_words("none"),
        "Loss of data packets after the queue, in the forward direction only (in a graph: from `from` to `to`).";
    mtu: PacketSize = in_words("no limit"),
        "Largest packet that the link carries, in each direction; larger ones are dropped before the queue, and nothing reports it to \
         the sender. Packets of Fairhaul's senders have one size and have to pass; a `stack` or a `program` may discover it.";
    policer: BucketKeys = in_words("none"),
        "Drops data packets that exceed a rate, before the queue; in the direction of `loss`.";
    shaper: BucketKeys = in_words("none"),
        "Lets packets that exceed a rate wait in the queue, in the direction of `loss`. Capacities in time and in bdp go by \
         the rate of the bucket if it is below that of the link; shares of the link refer to `rate`.";
    jitter: JitterRule = in_words("none"),
        "Random extra delay of every packet after the queue, in the direction of `loss`.";
    aggregate: AggregateKeys = in_words("none"),
        "Packets that are held after the queue and released in bursts, in the direction of `loss`.";
    reorder: ReorderKeys = in_words("none"),
        "Packets that are delayed after the queue so that others overtake them, in the direction of `loss`.";
    duplicate: Probability = in_words("none"),
        "Probability that a packet arrives twice, in the direction of `loss`.";
    reverse_loss: LossSpec = in_words("none"),
        "Loss of packets after the queue in the reverse direction: ACKs of forward flows, and data of reverse flows. \
         Packets that open or close a connection are not lost.";
    reverse_policer: BucketKeys = in_words("none"),
        "Drops packets that exceed a rate, before the queue of the reverse direction; ACKs, too.";
    reverse_jitter: JitterRule = in_words("none"),
        "Random extra delay of every packet after the queue, in the reverse direction.";
    reverse_reorder: ReorderKeys = in_words("none"),
        "Packets that are delayed after the queue so that others overtake them, in the reverse direction.";
    schedule: Vec<ChangeKeys> = in_words("no changes"), "Changes of rate, delay, loss or MTU during the run.";
    schedule_repeat: Time<1, RUN> = in_words("once"),
        "Period after which the schedule begins again, with the rate, the delay, the losses and the MTU of the link as at the \
         start of the run; longer than the last `at`.";
}

table! {
    FlowKeys: "[[flow]]", "A flow, or `count` identical flows.";
    name: Name = required,
        "Name of the flow; the flows are named `name[0]`, `name[1]`, … if `count` is above 1.";
    count: Whole<1, 1_000_000> = default("1"), "Number of identical flows.";
    connections: Whole<1, 1000> = default("1"),
        "Number of parallel TCP connections that carry the data of the flow together, which is endless \
         or of one size: each connection takes the next packet when its window has room for it. The \
         connections start at the same time, are recorded as flows `name[0]`, `name[1]`, … \
         (`name[0][1]` if `count` is above 1), and form one group.";
    role: Role = default("\"measured\""), "Fairness is computed over the measured flows.";
    group: Name = in_words("each flow is its own group"),
        "Fairness group: flows of one group count as one flow.";
    rtt: RoundTrips = in_words("the propagation delay of its links"),
        "Two-way propagation delay of the whole path. The part that the links do not account for is \
         split evenly over the access hops on both sides. A range is spread evenly over `count` flows, \
         both ends included (a single flow gets the middle).";
    from: Name = in_words("the left side of the dumbbell"), "The sender's node, in a graph.";
    to: Name = in_words("the right side of the dumbbell"), "The receiver's node, in a graph.";
    direction: Direction = default("\"forward\""),
        "Direction of the data; in the reverse direction data and ACKs swap their paths.";
    controller: ControllerChoice = in_words("required, except for `cbr` traffic and with a `stack` or a `program`"),
        "The congestion controller; `cbr` traffic has none.";
    stack: StackChoice = in_words("a sender and a receiver of Fairhaul"),
        "The transport stack that takes the place of sender, receiver and controller ([stacks.md](stacks.md)): a name, or \
         the path of a library from the folder of the scenario, alone or as `kind` with settings.";
    program: ProgramKeys = in_words("a sender and a receiver of Fairhaul"),
        "Two programs that take the place of sender, receiver, controller and traffic, in the engines `linux` and `lab`, with \
         `--allow-programs` ([programs.md](programs.md)).";
    profile: Profile = in_words("that of the scenario"), "Values of the keys that the flow does not set.";
    recovery: Recovery = default("\"sack\""), "Loss recovery of the sender.";
    traffic: Traffic = default("\"bulk\""), "Traffic model; a size alone is a single transfer of that size.";
    start: Start = default("\"0 s\""),
        "Start time. A flow whose exponentially distributed start falls after the end of the run never \
         starts.";
    initial_window: Window = default("2"), "Initial congestion window, packets.";
    initial_ssthresh: Window = in_words("no limit"), "Initial slow-start threshold, packets.";
    max_window: Window = in_words("no limit"), "Upper bound of the congestion window, packets.";
    min_window: Window = in_words("that of the controller, or one packet after a timeout"),
        "Least congestion window that a reduction leaves, packets; QUIC has 2 (RFC 9002, 7.2). Of 1, marks alone can leave one \
         packet (RFC 3168), of which they otherwise leave two.";
    slow_start: SlowStart = default("\"standard\""), "Growth of the window in slow start.";
    startup: Startup = default("\"slow start\""), "What the first round trips of a connection do beyond `slow_start`.";
    rate_limited_increase: bool = default("false"),
        "Whether a window that is not used grows as far as the most that was in flight since its last reduction would \
         have let it grow (draft-ietf-ccwg-ratelimited-increase), and not only while it limits the sender.";
    growth: Growth = default("\"per packet\""), "What an ACK of several packets counts for in the growth of the window.";
    restart: Restart = default("\"none\""), "What a pause of the application leaves of the window.";
    first_beta: Above<0, 1> = in_words("that of the controller"),
        "Fraction of the window that the first reduction leaves, if it ends the first slow start.";
    ecn: bool = in_words("true for a controller that reads marks, else false"),
        "Whether queues may mark new data of the flow instead of dropping it (RFC 3168); an echoed mark \
         reduces the window once per round trip, as a loss would.";
    ect1: bool = in_words("true for `prague` and a proportional `bbr3`, else false"),
        "Whether new data say by ECT(1) that the sender reduces in proportion to marks (RFC 9331), so that an L4S queue takes \
         them. `prague` does; `dctcp` with it is an extension, because RFC 8257 knows ECT(0) only. Needs `ecn`.";
    accecn: bool = in_words("true for `prague` and a proportional `bbr3`, else false"),
        "Whether the receiver reports exactly how many packets were marked (AccECN, RFC 9768), instead of only that some were. \
         Needs `ecn`.";
    accecn_option: AccEcnOption = default("\"always\""),
        "When the receiver sends the option of AccECN, which counts bytes.";
    middlebox: Middlebox = default("\"none\""),
        "What a middlebox between the hosts does to marks and to their feedback; needs `accecn`. Of a `stack` it can be \
         \"clears ecn\".";
    source_host: Name = in_words("a host of its own"),
        "Host of the sender, for the queue `cake`, which shares by hosts: flows with the same name have the same host.";
    destination_host: Name = in_words("a host of its own"), "Host of the receiver, likewise.";
    dscp: Dscp = default("\"CS0\""), "Class of the packets of the flow, for the queue `cake`.";
    mark_beta: Above<0, 1> = in_words("that of the controller"),
        "Fraction of the window that an echoed mark leaves (RFC 8511: 0.8 for `reno`, 0.85 for `cubic`).";
    pacing: HostPacing = default("\"none\""),
        "How the host spreads what the window lets go, for a controller that does not pace itself.";
    max_pacing_rate: Rate = in_words("no limit"),
        "Upper bound of the pacing rate, headers included. With the profile `linux` it also switches pacing on, as in the \
         kernel: as `pacing = \"fq\"`, but not faster.";
    offload: BurstSpec = default("\"1 packet\""),
        "Size of the bursts of segmentation offload: the sender waits until a burst of this size, a \
         third of its window, or the last of its data may leave, and hands it over at once; a pacer \
         spaces bursts. Not used in recovery. `auto`: as the kernel sizes them ([hosts.md](hosts.md)).";
    undo: bool = default("true"),
        "Whether the sender undoes a reduction or a timeout when time stamps show that the packets were \
         only late (RFC 3522, RFC 4015).";
    delayed_ack: DelayedAck = default("false"),
        "Longest time for which the receiver delays an ACK; `true` is 40 ms, and `adaptive` is the rule of Linux.";
    ack_every: Whole<2, 1000> = default("2"),
        "The number of packets after which a delayed ACK leaves, as with the ACK frequency of QUIC; only with \
         a time as `delayed_ack`. What arrives out of order is acknowledged at once.";
    whole_window: bool = default("false"),
        "Whether the window is an integer number of packets, as in Linux: it grows by a packet once \
         enough acknowledgements for a whole packet have arrived, and the fraction that a reduction \
         leaves is cut off.";
    clock_offset: Way = default("\"0 s\""),
        "Offset of the receiver's clock, ahead of the sender's, for controllers that measure one-way \
         delays.";
    clock_drift: Number<-1000, 1000> = default("0"),
        "Drift of the receiver's clock, parts per million; positive if it runs fast, negative if it \
         runs slow.";
    clock_stamp: Time<0, SECOND> = default("\"0 s\""),
        "Resolution of the time stamps, e.g. \"1 ms\"; `0 s` is exact.";
    min_rto: Time<1, { 60 * SECOND }> = default("\"0.2 s\""),
        "Smallest margin of the retransmission timeout above the smoothed round-trip time; with `rto = \
         \"rfc6298\"` the smallest timeout.";
    rto: Rto = default("\"scaled\""),
        "How the retransmission timeout is computed from round-trip time samples.";
    on_timeout: OnTimeout = default("\"start over\""),
        "What the sender does when nothing has been acknowledged for the retransmission timeout.";
    send_buffer: BufferSpec = default("\"unlimited\""),
        "Limit of unacknowledged data at the sender. `auto`: the kernel sizes it, within `net.ipv4.tcp_wmem`.";
    sockbuf: Sockbuf = default("\"payload\""), "What counts towards `send_buffer`.";
    receive_buffer: BufferSpec = default("\"unlimited\""),
        "Limit of the payload that the receiver holds. `auto`: the kernel sizes it, within `net.ipv4.tcp_rmem`.";
    packet: PacketSize = in_words("that of the scenario"),
        "Size of a data packet on the wire, headers included.";
    overhead: Overhead = in_words("up to one packet time on the slowest link of its path"),
        "Random processing time at the sender, which keeps packets in order. It breaks the phase \
         effects of exact timing.";
    host: HostKeys = in_words("ideal hosts"), "Its hosts as kernels and cards make them.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::toml_tree::fragment;

    /// Reads a table that has no key.
    fn empty<T: Table>() {
        table::<T>(&Node::table(SourceSpan::Line(1)), &mut Notes::default());
    }

    /// Reads every word without a key.
    fn bare<T: Choice>() {
        for case in T::WORDS.cases {
            let text = format!("{{ {} = \"{}\" }}", T::WORDS.tag, case.name);
            T::read(&fragment(&text, SourceSpan::Line(1)), "key", &mut Notes::default());
        }
    }

    #[test]
    fn every_default_is_one_of_the_values_of_its_key() {
        empty::<ScenarioKeys>();
        empty::<BottleneckKeys>();
        empty::<FlowKeys>();
        empty::<LossKeys>();
        empty::<HostKeys>();
        empty::<ProgramKeys>();
        empty::<impair::JitterKeys>();
        empty::<TraceKeys>();
        bare::<Recovery>();
        bare::<SlowStart>();
        bare::<TrafficWords>();
        bare::<SizeWords>();
    }
}
