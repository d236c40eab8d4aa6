//! The keys of the impairments of a link: losses, policer, jitter and reordering.

use super::*;

/// A chain that never leaves a state has no law.
type Leaves = Above<0, 1>;
/// A state lasts at least 1 us on average.
type StateTime = Time<1_000_000, RUN>;

/// What a link loses.
#[derive(Clone, Debug)]
pub(crate) enum LossSpec {
    Probability(f64),
    Rule(Box<LossKeys>),
}

either! {
    LossSpec;
    probability: Probability => LossSpec::Probability(probability);
    keys: LossKeys => LossSpec::Rule(Box::new(keys));
}

table! {
    LossKeys: "{ every = … }, { at = […], flows = […] }, { offloaded_bursts = … }, { good = …, bad = … } or { good_to_bad = …, bad_to_good = … }",
        "A number is the loss probability of each packet. Otherwise `every`, `at`, `offloaded_bursts`, or one of two models \
         that lose packets in bursts, each with a good and a bad state. With `good` and `bad` a state lasts \
         an exponentially distributed time, whatever is sent, as the fades of a radio link do. With \
         `good_to_bad` and `bad_to_good` the states form a Gilbert-Elliott chain, which steps with each \
         data packet: it is in the bad state for good_to_bad / (good_to_bad + bad_to_good) of the packets, \
         and stays in it for 1 / bad_to_good packets on average. Because this chain stands still while \
         nothing is sent, a burst that is longer than the window stalls a flow: each timeout sends one \
         packet, which is one step, and the timeouts double, so the burst can last for minutes. Use the \
         form in time unless a burst of a number of packets is meant. For `reverse_loss`, ACKs \
         count like data packets.";
    every: Whole<1, { u64::MAX }> = in_words("unused"), "Every N-th data packet is lost.";
    at: Vec<Time<0, RUN>> = in_words("unused"),
        "Ascending times; of each selected flow, the first packet at or after each of them is lost.";
    flows: Vec<String> = in_words("all flows"),
        "Names of the flows to which `at` applies; `*` matches any text.";
    offloaded_bursts: Probability = in_words("unused"),
        "Probability that a burst of segmentation offload is lost as a whole, as on a path whose links carry \
         it as one packet. A packet that leaves its host alone is a burst of one.";
    good: StateTime = in_words("unused"), "Mean duration of the good state, such as \"2 s\".";
    bad: StateTime = in_words("unused"), "Mean duration of the bad state, such as \"20 ms\".";
    good_to_bad: Leaves = in_words("unused"), "Probability per packet of a change to the bad state.";
    bad_to_good: Leaves = in_words("unused"), "Probability per packet of a change to the good state.";
    loss_good: Probability = default("0"), "Loss probability of each packet in the good state.";
    loss_bad: Probability = default("1"), "Loss probability of each packet in the bad state.";
}

table! {
    BucketKeys: "{ rate = …, burst = … }",
        "A token bucket, full at the start. A packet needs as many tokens as its size on the wire. With a \
         `policer`, a data packet (with `reverse_policer` an ACK, too) that finds fewer is dropped, and counts as dropped by the link. With a `shaper`, the \
         packet at the head of the queue waits for its tokens, ACKs like data: packets leave at `rate` of the link \
         until the bucket is empty, and then at the rate of the bucket.";
    rate: Rate = required, "Rate at which the bucket fills.";
    burst: Volume = required, "Size of the bucket, at least that of the largest packet.";
}

either! {
    JitterRule;
    most: Overhead => JitterRule { most, keeps_order: true };
    keys: JitterKeys => JitterRule { most: keys.delay.value?, keeps_order: keys.keep_order.value };
}

table! {
    JitterKeys: "{ delay = …, keep_order = … }",
        "A string alone is the `delay`. Each packet draws its own delay. If the order is kept, a packet \
         that would overtake another one arrives together with it.";
    delay: Overhead = required, "Delay in addition to that of the link.";
    keep_order: bool = default("true"), "Whether packets are kept in order.";
}

table! {
    ReorderKeys: "{ probability = …, delay = … }", "Packets chosen at random are delayed.";
    probability: Probability = required, "Probability that a packet is delayed.";
    delay: Time<1, { 60 * SECOND }> = required, "Delay in addition to that of the link.";
}

table! {
    AggregateKeys: "{ every = …, from = … }",
        "A link that collects packets and delivers them in bursts, as radio links do: a packet waits for \
         the next release. The acknowledgements of a burst leave the receiver together.";
    every: Time<1_000_000, { 60 * SECOND }> = required, "Time between two releases.";
    from: Time<0, RUN> = default("\"0 s\""), "First release; earlier packets are not held.";
}
