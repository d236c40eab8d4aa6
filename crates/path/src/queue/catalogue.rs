//! The queues by name: what each is, its parameters, and the discipline that a link has before it.

use fairhaul_units::{Bytes, Chance, Parameter, Rate, Settings, Span};

use super::{Capacity, DropTail, Red, red};

/// What the catalogue says of one queue.
#[derive(Debug)]
pub struct Entry {
    /// Its word in TOML, its file and its page.
    pub name: &'static str,
    /// One line of what it is.
    pub title: &'static str,
    /// The key of its source, empty for none.
    pub source: &'static str,
    /// Its parameters, beside the capacity that all have.
    pub parameters: &'static [Parameter],
    resolve: fn(&mut Settings, &Site, Bytes) -> Result<(), Refusal>,
    build: fn(&Settings, &Site, Chance) -> Discipline,
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
pub struct Choice {
    /// Which queue.
    pub entry: &'static Entry,
    /// The values of its parameters.
    pub settings: Settings,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name
    }
}

impl Choice {
    /// The queue `name` with its defaults; `None` where the catalogue has no such name.
    pub fn named(name: &str) -> Option<Choice> {
        entry(name).map(|entry| Choice { entry, settings: Settings::defaults(entry.parameters) })
    }

    /// The same with a number in the place of every automatic value; `largest` is the largest packet
    /// of the scenario.
    ///
    /// # Errors
    /// A parameter that does not fit the others or the link.
    pub fn resolved(mut self, site: &Site, largest: Bytes) -> Result<Choice, Refusal> {
        (self.entry.resolve)(&mut self.settings, site, largest)?;
        Ok(self)
    }

    /// The discipline of a resolved choice; `chance` is its own.
    pub fn build(&self, site: &Site, chance: Chance) -> Discipline {
        (self.entry.build)(&self.settings, site, chance)
    }
}

/// The catalogue, in the order in which it is listed to users.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The entry of `name`.
pub fn entry(name: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.name == name)
}

/// Any queue that decides on arrival, dispatched without a virtual call.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each variant is the queue of that name")]
pub enum Discipline {
    DropTail(DropTail),
    Red(Box<Red>),
}

impl From<DropTail> for Discipline {
    fn from(queue: DropTail) -> Discipline {
        Discipline::DropTail(queue)
    }
}

static ENTRIES: [Entry; 2] = [
    Entry {
        name: "droptail",
        title: DropTail::TITLE,
        source: "",
        parameters: &[],
        resolve: |_, _, _| Ok(()),
        build: |_, site, _| DropTail::new(site.capacity, site.mark).into(),
    },
    Entry {
        name: "red",
        title: Red::TITLE,
        source: Red::SOURCE,
        parameters: Red::PARAMETERS,
        resolve: red::resolve,
        build: |settings, site, chance| Discipline::Red(Box::new(Red::new(settings, site, chance))),
    },
];
