//! The catalogue of queue disciplines: the name, description and parameters of each, and how a link gets it.

use fairhaul_units::{Bytes, Chance, Parameter, Rate, Settings, Span, Time};

use super::{
    Capacity, Codel, CodelRule, DropTail, FqCodel, FqCodelRule, Pie, Red, Sred, Xcp, XcpRule, XcpTcp,
    XcpTcpRule, codel, fq_codel, red, xcp, xcp_tcp,
};

/// What the catalogue says of one queue.
#[derive(Debug)]
pub struct QueueEntry {
    /// Its word in TOML, its file and its page.
    pub name: &'static str,
    /// One line of what it is.
    pub title: &'static str,
    /// The key of its source, empty for none.
    pub source: &'static str,
    /// Its parameters, beside the capacity that all have.
    pub parameters: &'static [Parameter],
    /// Whether it decides at departure.
    pub at_departure: bool,
    /// Whether it is a router of XCP, which answers senders that ask.
    pub answers: bool,
    /// What it tells of itself.
    pub gauges: &'static [Gauge],
    resolve: fn(&mut Settings, &Site, Bytes) -> Result<(), Refusal>,
    build: fn(&Settings, &Site, Chance) -> Built,
}

/// A number that a queue keeps for itself and that is worth seeing over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Its name in the record.
    pub name: &'static str,
    /// What it counts in, as an axis says it; empty for a plain number.
    pub unit: &'static str,
    /// One line of what it is.
    pub help: &'static str,
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// What the link can carry: at the start, or the mean of a trace.
    pub rate: Rate,
    /// Its propagation, one way, at the start.
    pub delay: Span,
    /// What the queue holds.
    pub capacity: Capacity,
    /// What a drop-tail queue holds before it marks.
    pub mark: Capacity,
}

/// A parameter that does not fit the others or the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Which.
    pub parameter: &'static str,
    /// Why, as the rest of a sentence.
    pub text: String,
}

impl Refusal {
    pub(super) fn new(parameter: &'static str, text: String) -> Refusal {
        Refusal { parameter, text }
    }
}

/// A queue chosen for a link, with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueChoice {
    /// Which queue.
    pub entry: &'static QueueEntry,
    /// The values of its parameters.
    pub settings: Settings,
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &QueueEntry) -> bool {
        self.name == other.name
    }
}

impl QueueChoice {
    /// The queue `name` with its defaults; `None` where the catalogue has no such name.
    pub fn named(name: &str) -> Option<QueueChoice> {
        entry(name).map(|entry| QueueChoice { entry, settings: Settings::defaults(entry.parameters) })
    }

    /// The same with a number in the place of every automatic value; `largest` is the largest packet
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
        (self.entry.build)(&self.settings, site, chance)
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
    Codel(CodelRule),
    FqCodel(FqCodelRule),
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
            Discipline::Sred(sred) => shown.extend(sred.gauges(at)),
        }
    }
}

impl From<DropTail> for Discipline {
    fn from(queue: DropTail) -> Discipline {
        Discipline::DropTail(queue)
    }
}

static ENTRIES: [QueueEntry; 8] = [
    QueueEntry {
        name: "droptail",
        title: DropTail::TITLE,
        source: "",
        parameters: &[],
        at_departure: false,
        answers: false,
        gauges: &[],
        resolve: |_, _, _| Ok(()),
        build: |_, site, _| Built::OnArrival(DropTail::new(site.capacity, site.mark).into()),
    },
    QueueEntry {
        name: "red",
        title: Red::TITLE,
        source: Red::SOURCE,
        parameters: Red::PARAMETERS,
        at_departure: false,
        answers: false,
        gauges: &Red::GAUGES,
        resolve: red::resolve,
        build: |settings, site, chance| {
            Built::OnArrival(Discipline::Red(Box::new(Red::new(settings, site, chance))))
        },
    },
    QueueEntry {
        name: "pie",
        title: Pie::TITLE,
        source: Pie::SOURCE,
        parameters: Pie::PARAMETERS,
        at_departure: false,
        answers: false,
        gauges: &Pie::GAUGES,
        resolve: Pie::resolve,
        build: |settings, site, chance| {
            Built::OnArrival(Discipline::Pie(Box::new(Pie::new(settings, site, chance))))
        },
    },
    QueueEntry {
        name: "sred",
        title: Sred::TITLE,
        source: Sred::SOURCE,
        parameters: Sred::PARAMETERS,
        gauges: &Sred::GAUGES,
        at_departure: false,
        answers: false,
        resolve: Sred::resolve,
        build: |settings, site, chance| {
            Built::OnArrival(Discipline::Sred(Box::new(Sred::new(settings, site, chance))))
        },
    },
    QueueEntry {
        name: "codel",
        title: Codel::TITLE,
        source: Codel::SOURCE,
        parameters: Codel::PARAMETERS,
        at_departure: true,
        answers: false,
        gauges: &Codel::GAUGES,
        resolve: codel::resolve,
        build: |settings, _, _| Built::AtDeparture(DepartureRule::Codel(codel::rule(settings))),
    },
    QueueEntry {
        name: "fq_codel",
        title: FqCodel::TITLE,
        source: FqCodel::SOURCE,
        parameters: FqCodel::PARAMETERS,
        at_departure: true,
        answers: false,
        gauges: &FqCodel::GAUGES,
        resolve: codel::resolve,
        build: |settings, _, _| Built::AtDeparture(DepartureRule::FqCodel(fq_codel::rule(settings))),
    },
    QueueEntry {
        name: "xcp",
        title: Xcp::TITLE,
        source: Xcp::SOURCE,
        parameters: Xcp::PARAMETERS,
        gauges: &Xcp::GAUGES,
        at_departure: true,
        answers: true,
        resolve: xcp::resolve,
        build: |settings, site, _| Built::AtDeparture(DepartureRule::Xcp(xcp::rule(settings, site))),
    },
    QueueEntry {
        name: "xcp_tcp",
        title: XcpTcp::TITLE,
        source: XcpTcp::SOURCE,
        parameters: XcpTcp::PARAMETERS,
        gauges: &XcpTcp::GAUGES,
        at_departure: true,
        answers: true,
        resolve: xcp_tcp::resolve,
        build: |settings, site, chance| {
            let rules = (xcp::rule(settings, site), XcpTcpRule::new(settings, chance));
            Built::AtDeparture(DepartureRule::XcpTcp(Box::new(rules)))
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// `late` is read before a queue is built, by what plans the ways of packets.
    #[test]
    fn an_entry_states_when_its_queue_decides() {
        let site = Site {
            rate: Rate::from_bps(8_000_000).expect("not zero"),
            delay: Span::from_ms(10),
            capacity: Capacity::Packets(100),
            mark: Capacity::Unlimited,
        };
        for entry in entries() {
            let choice = QueueChoice::named(entry.name).expect("it is in the catalogue");
            let choice = choice.resolved(&site, Bytes(1000)).expect("defaults fit");
            let built = choice.build(&site, Chance::stream(1, "queue", 0));
            assert_eq!(entry.at_departure, matches!(built, Built::AtDeparture(_)), "{}", entry.name);
        }
    }
}
