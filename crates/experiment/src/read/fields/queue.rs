//! The keys of a queue: its capacity, and the parameters that its discipline describes.

use fairhaul_path::queue::{
    AckFilter, Cake, Codel, DropTail, DualPi2, Fq, FqCodel, Kernel, Pie, QueueChoice, Red, Sred, Xcp, XcpTcp,
};
use fairhaul_units::Parameter;

use super::*;
use crate::read::parameters::setting;
use crate::read::reader::{Key, KeyedOption};

/// A queue of the catalogue: its limits, and the values of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct QueueKeys {
    pub(crate) choice: QueueChoice,
    pub(crate) limits: QueueLimits,
    /// Where its parameters stand.
    pub(crate) parameters: Vec<Key>,
}

/// When a drop-tail queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropWhen {
    Arrival,
    Departure,
}

words! {
    DropWhen => DropWhen, "kind";
    "arrival", "A packet that arrives at a full queue is dropped." => DropWhen::Arrival;
    "departure", "A packet that would leave is dropped while those behind it are `capacity` or more: drops hit the head of the queue, in a row."
        => DropWhen::Departure;
}

table! {
    QueueLimits: "droptail", DropTail::TITLE;
    capacity: CapacitySpec = required,
        "Limit of the queue: a time (multiplied by the rate, in largest packets, rounded up), a size on the \
         wire, packets, a multiple of the bandwidth-delay product, or no limit.";
    mark: CapacitySpec = in_words("none"),
        "Marking threshold: a data packet of a flow with `ecn` that finds this much in the queue is \
         marked (RFC 3168). It takes the same forms as `capacity` and must be below it.";
    drop: DropWhen = default("\"arrival\""),
        "When the queue drops: on arrival, or, as some switches do, at departure, without marks.";
}

table! {
    KernelQueue: "kernel", Kernel::TITLE;
    qdisc: Qdisc = required,
        "The discipline and its options, as `tc qdisc add dev … root` takes them: `cake bandwidth 50mbit`, `red …`, \
         `pie`, `codel`, `fq_codel`, `fq_pie`, `dualpi2`, `fq`, `tbf …`. Its limit is one of the options. Packets \
         leave it at the rate of the link.";
}

impl KernelQueue {
    /// A queue without a capacity or parameters of ours.
    fn queue(self) -> Option<QueueKeys> {
        let KernelQueue { origin, qdisc } = self;
        let choice = QueueChoice::of_kernel(&qdisc.value?);
        let capacity = Keyed { key: qdisc.key, value: Some(CapacitySpec::Unlimited) };
        let mark: KeyedOption<CapacitySpec> = Keyed { key: qdisc.key, value: None };
        let drop = Keyed { key: qdisc.key, value: DropWhen::Arrival };
        Some(QueueKeys {
            choice,
            limits: QueueLimits { origin, capacity, mark, drop },
            parameters: Vec::new(),
        })
    }
}

/// The capacity of a queue, and a key for each of its parameters.
macro_rules! queue {
    ($word:literal, $queue:ident) => {
        Shape {
            name: $word,
            help: $queue::TITLE,
            fields: &described::<{ $queue::PARAMETERS.len() + 1 }>($queue::PARAMETERS),
        }
    };
}

const fn described<const N: usize>(parameters: &'static [Parameter]) -> [Field; N] {
    assert!(parameters.len() + 1 == N, "there is a field for every parameter");
    let mut fields = [QueueLimits::SHAPE.fields[0]; N];
    let mut at = 1;
    while at < N {
        let parameter = &parameters[at - 1];
        fields[at] = Field {
            name: parameter.name,
            accepts: Accepts::Described(parameter),
            fallback: Fallback::Described(parameter),
            help: parameter.help,
        };
        at += 1;
    }
    fields
}

impl Choice for QueueKeys {
    const WORDS: Words = Words {
        tag: "kind",
        cases: &[
            QueueLimits::SHAPE,
            queue!("red", Red),
            queue!("pie", Pie),
            queue!("sred", Sred),
            queue!("ack_filter", AckFilter),
            queue!("codel", Codel),
            queue!("fq_codel", FqCodel),
            queue!("dualpi2", DualPi2),
            queue!("fq", Fq),
            queue!("cake", Cake),
            queue!("xcp", Xcp),
            queue!("xcp_tcp", XcpTcp),
            KernelQueue::SHAPE,
        ],
    };
}

impl FromToml for QueueKeys {
    type Value = QueueKeys;
    const ACCEPTS: Accepts = Accepts::Words(&Self::WORDS);

    fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<QueueKeys> {
        let (_, entries) = word(node, key, &Self::WORDS, notes)?;
        if entries.shape.name == KernelQueue::SHAPE.name {
            return KernelQueue::from_entries(&entries, notes).queue();
        }
        let choice = QueueChoice::named(entries.shape.name);
        let mut choice = choice.expect("every other word for a queue is in the catalogue");
        let mut parameters = Vec::new();
        for parameter in choice.entry.parameters {
            let read = entries.keyed(parameter.name, |node| setting(node, parameter, notes));
            if let Some(value) = read.value {
                choice.settings.give(parameter.name, value);
            }
            parameters.push(read.key);
        }
        let limits = QueueLimits::from_entries(&entries, notes);
        if limits.drop.value == DropWhen::Departure {
            choice = QueueChoice::dropping_at_departure();
            if limits.mark.value.is_some() {
                limits.mark.key.note("a queue that drops at departure does not mark".to_owned(), notes);
            }
        }
        Some(QueueKeys { choice, limits, parameters })
    }
}
