//! The catalogue of queue disciplines: the name, description and parameters of each, and how a link gets it.

use std::fmt;
use std::sync::Arc;

use fairhaul_units::{Bytes, Chance, Gauge, Parameter, Settings, Time};

use super::{
    AckFilter, Cake, CakeChoice, Capacity, Codel, CodelRule, DropTail, DualPi2, DualPi2Rule, FlowLabel, Fq,
    FqCodel, FqCodelRule, FqRule, Kernel, KernelPie, Pie, PieParameters, Red, Refusal, Site, Sred, Variant,
    Xcp, XcpRule, XcpTcp, XcpTcpParameters, XcpTcpRule, cake, codel, dualpi2, fq, fq_codel, red, xcp_tcp,
};
use Built::{AtDeparture, OnArrival};

/// What the catalogue says of one queue.
pub struct QueueEntry {
    /// Its word in TOML, its file and its page.
    pub name: &'static str,
    /// One line of what it is.
    pub title: &'static str,
    /// The key of its source, empty for none.
    pub source: &'static str,
    /// Its parameters, beside the capacity that all have.
    pub parameters: &'static [Parameter],
    /// Whether it decides at departure. Drop tail has an entry for either.
    pub at_departure: bool,
    /// Whether it is a router of XCP, which answers senders that ask.
    pub answers: bool,
    /// The gauges that it reports.
    pub gauges: &'static [Gauge],
    resolve: fn(&mut Settings, &Site, Bytes) -> Result<(), Refusal>,
    build: fn(&Settings, &Site, Chance) -> Built,
}

/// The name alone, so that the text is the same in every process: functions would print their addresses.
impl fmt::Debug for QueueEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QueueEntry").field(&self.name).finish()
    }
}

/// A queue chosen for a link, with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueChoice {
    /// Which queue.
    pub entry: &'static QueueEntry,
    /// The values of its parameters.
    pub settings: Settings,
    /// The kernel's queue discipline as `tc` takes it, where it is one.
    pub qdisc: Option<Box<str>>,
    /// The hosts and classes of the flows of the scenario, in their order, for a queue that reads them.
    pub labels: Option<Arc<[FlowLabel]>>,
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &QueueEntry) -> bool {
        (self.name, self.at_departure) == (other.name, other.at_departure)
    }
}

impl QueueChoice {
    /// The queue `name` with its defaults; `None` where the catalogue has no such name.
    pub fn named(name: &str) -> Option<QueueChoice> {
        entry(name).map(|entry| QueueChoice {
            entry,
            settings: Settings::defaults(entry.parameters),
            qdisc: None,
            labels: None,
        })
    }

    /// A drop-tail queue that drops at departure.
    pub fn dropping_at_departure() -> QueueChoice {
        QueueChoice {
            entry: &DEPARTURE_DROPTAIL,
            settings: Settings::defaults(&[]),
            qdisc: None,
            labels: None,
        }
    }

    /// A queue discipline of the kernel, in the words of `tc`.
    pub fn of_kernel(qdisc: &str) -> QueueChoice {
        QueueChoice {
            entry: &KERNEL,
            settings: Settings::defaults(&[]),
            qdisc: Some(qdisc.into()),
            labels: None,
        }
    }

    /// The same with a number instead of every automatic value; `largest` is the largest packet
    /// of the scenario.
    ///
    /// # Errors
    /// A parameter that does not fit the others or the link.
    pub fn resolved(mut self, site: &Site, largest: Bytes) -> Result<QueueChoice, Refusal> {
        (self.entry.resolve)(&mut self.settings, site, largest)?;
        Ok(self)
    }

    /// The queue of a resolved choice; `chance` is its own.
    pub fn build(&self, site: &Site, chance: Chance) -> Built {
        match (self.entry.build)(&self.settings, site, chance) {
            Built::AtDeparture(DepartureRule::Cake(choice)) => {
                AtDeparture(DepartureRule::Cake(CakeChoice { labels: self.labels.clone(), ..*choice }.into()))
            }
            built => built,
        }
    }
}

/// The catalogue, in the order in which it is listed to users.
pub fn entries() -> &'static [QueueEntry] {
    &ENTRIES
}

/// The entry of `name`.
pub fn entry(name: &str) -> Option<&'static QueueEntry> {
    entries().iter().find(|entry| entry.name == name)
}

/// A queue by when it decides.
#[derive(Clone, Debug)]
pub enum Built {
    /// On arrival: the passage of a packet is arithmetic.
    OnArrival(Discipline),
    /// At departure: packets wait in it.
    AtDeparture(DepartureRule),
}

/// Any queue that decides at departure.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant is the queue of that name")]
pub enum DepartureRule {
    DropTail,
    AckFilter,
    Codel(CodelRule),
    FqCodel(FqCodelRule),
    DualPi2(Box<(DualPi2Rule, Chance)>),
    Fq(FqRule),
    Cake(Box<CakeChoice>),
    Xcp(XcpRule),
    XcpTcp(Box<(XcpRule, XcpTcpRule)>),
}

/// Any queue that decides on arrival, dispatched without a virtual call.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant is the queue of that name")]
pub enum Discipline {
    DropTail(DropTail),
    Red(Box<Red>),
    Pie(Box<Pie>),
    KernelPie(Box<KernelPie>),
    Sred(Box<Sred>),
}

impl Discipline {
    /// Adds what its gauges show at `at`, before anything arrives then, to `shown`, in the order of its
    /// entry; what was taken has left at `busy_until`, or will have.
    pub(crate) fn gauges(&mut self, at: Time, busy_until: Time, shown: &mut Vec<f64>) {
        match self {
            Discipline::DropTail(_) => {}
            Discipline::Red(red) => shown.extend(red.gauges()),
            Discipline::Pie(pie) => shown.extend(pie.gauges(at, busy_until)),
            Discipline::KernelPie(pie) => shown.extend(pie.gauges(at)),
            Discipline::Sred(sred) => shown.extend(sred.gauges(at)),
        }
    }
}

impl From<DropTail> for Discipline {
    fn from(queue: DropTail) -> Discipline {
        Discipline::DropTail(queue)
    }
}

/// The entry of a queue, from the constants of its type. Last the flags that are set.
macro_rules! entry {
    ($name:literal, $queue:ident, $resolve:expr, $build:expr $(, $flag:ident)*) => {{
        #[allow(unused_mut, reason = "most have no flag")]
        let mut entry = QueueEntry {
            name: $name,
            title: $queue::TITLE,
            source: $queue::SOURCE,
            parameters: $queue::PARAMETERS,
            at_departure: false,
            answers: false,
            gauges: &$queue::GAUGES,
            resolve: $resolve,
            build: $build,
        };
        $(entry.$flag = true;)*
        entry
    }};
}

/// What stands for the entry of a queue discipline of the kernel, which is in no catalogue: a link behind it queues
/// nothing, because packets leave the kernel's queue at the rate of the link.
static KERNEL: QueueEntry = entry!("kernel", Kernel, |_, _, _| Ok(()), |_, _, _| {
    OnArrival(DropTail::new(Capacity::Unlimited, Capacity::Unlimited).into())
});

/// What stands for the entry of a drop-tail queue that drops at departure, which in the catalogue is a key of the other.
static DEPARTURE_DROPTAIL: QueueEntry = entry!(
    "droptail",
    DropTail,
    |_, _, _| Ok(()),
    |_, _, _| AtDeparture(DepartureRule::DropTail),
    at_departure
);

static ENTRIES: [QueueEntry; 12] = [
    entry!("droptail", DropTail, |_, _, _| Ok(()), |_, site, _| OnArrival(
        DropTail::new(site.capacity, site.mark).into()
    )),
    entry!("red", Red, red::resolve, |settings, site, chance| {
        OnArrival(Discipline::Red(Red::new(settings.into(), site, chance).into()))
    }),
    entry!("pie", Pie, Pie::resolve, |settings, site, chance| {
        let given = PieParameters::from(settings);
        OnArrival(match given.variant {
            Variant::Rfc => Discipline::Pie(Pie::new(given, site, chance).into()),
            Variant::Linux => Discipline::KernelPie(KernelPie::new(given, site, chance).into()),
        })
    }),
    entry!("sred", Sred, Sred::resolve, |settings, site, chance| {
        OnArrival(Discipline::Sred(Sred::new(settings.into(), site, chance).into()))
    }),
    entry!(
        "ack_filter",
        AckFilter,
        |_, _, _| Ok(()),
        |_, _, _| AtDeparture(DepartureRule::AckFilter),
        at_departure
    ),
    entry!(
        "codel",
        Codel,
        codel::resolve,
        |settings, _, _| AtDeparture(DepartureRule::Codel(settings.into())),
        at_departure
    ),
    entry!(
        "fq_codel",
        FqCodel,
        fq_codel::resolve,
        |settings, _, _| AtDeparture(DepartureRule::FqCodel(settings.into())),
        at_departure
    ),
    entry!(
        "dualpi2",
        DualPi2,
        dualpi2::resolve,
        |settings, _, chance| AtDeparture(DepartureRule::DualPi2(Box::new((settings.into(), chance)))),
        at_departure
    ),
    entry!(
        "fq",
        Fq,
        fq::resolve,
        |settings, _, _| AtDeparture(DepartureRule::Fq(settings.into())),
        at_departure
    ),
    entry!(
        "cake",
        Cake,
        cake::resolve,
        |settings, _, chance| {
            let choice = CakeChoice { rule: settings.into(), labels: None, chance };
            AtDeparture(DepartureRule::Cake(choice.into()))
        },
        at_departure
    ),
    entry!(
        "xcp",
        Xcp,
        |settings, _, _| XcpRule::from(&*settings).check(),
        |settings, site, _| AtDeparture(DepartureRule::Xcp(XcpRule::from(settings).at(site))),
        at_departure,
        answers
    ),
    entry!(
        "xcp_tcp",
        XcpTcp,
        xcp_tcp::resolve,
        |settings, site, chance| {
            let given = XcpTcpParameters::from(settings);
            let rules = (given.xcp.at(site), XcpTcpRule::new(given, chance));
            AtDeparture(DepartureRule::XcpTcp(rules.into()))
        },
        at_departure,
        answers
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Capacity;
    use fairhaul_units::{Rate, Span};

    /// `late` is read before a queue is built, by what plans the ways of packets.
    #[test]
    fn an_entry_states_when_its_queue_decides() {
        let site = Site {
            rate: Rate::from_bps(8_000_000).expect("not zero"),
            delay: Span::from_ms(10),
            capacity: Capacity::Packets(100),
            mark: Capacity::Unlimited,
        };
        let named = |entry: &QueueEntry| QueueChoice::named(entry.name).expect("it is in the catalogue");
        for choice in entries().iter().map(named).chain([QueueChoice::dropping_at_departure()]) {
            let entry = choice.entry;
            let choice = choice.resolved(&site, Bytes(1000)).expect("defaults fit");
            let built = choice.build(&site, Chance::stream(1, "queue", 0));
            assert_eq!(entry.at_departure, matches!(built, Built::AtDeparture(_)), "{}", entry.name);
        }
    }
}
