//! The tables of `fields` as data: what a key is called, what it accepts, its default, and one line
//! of help. JSON Schema, listing, page and the random check follow them, as do the messages of the reader.

use fairhaul_units::{Kind, Parameter, Span};

/// A table of keys: `[bottleneck]`, one `[[flow]]`, or the parameters behind a word.
#[derive(Debug)]
pub struct Shape {
    /// Its heading or its word.
    pub name: &'static str,
    /// One line of what it is.
    pub help: &'static str,
    /// Its keys.
    pub fields: &'static [Field],
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key in TOML.
    pub name: &'static str,
    /// What it accepts.
    pub accepts: Accepts,
    /// Its default.
    pub fallback: Fallback,
    /// One line of help.
    pub help: &'static str,
}

/// The default of a key.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// There is no default: the key is required.
    Required,
    /// This value, as TOML.
    Value(&'static str),
    /// What these words say; the code that resolves the scenario does it.
    InWords(&'static str),
    /// What its parameter says.
    Described(&'static Parameter),
}

/// Words, each with keys of its own: `"web"`, or `{ kind = "web", … }`.
#[derive(Debug)]
pub struct Words {
    /// The key that holds the word in the long form.
    pub tag: &'static str,
    /// The words.
    pub cases: &'static [Shape],
}

/// What a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum Accepts {
    /// Any text.
    Text,
    /// A name that a path of keys can hold.
    Name,
    /// A time within bounds.
    Span {
        /// The shortest.
        least: Span,
        /// The longest.
        most: Span,
    },
    /// A rate.
    Rate,
    /// A rate, or zero in an outage.
    RateOrZero,
    /// A size in bytes within bounds.
    Size {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A number within bounds.
    Number {
        /// The smallest.
        least: f64,
        /// The largest.
        most: f64,
        /// Whether the smallest itself is refused.
        open: bool,
    },
    /// A whole number within bounds.
    Whole {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// True or false.
    Switch,
    /// A number per second, as `"20 /s"`.
    Frequency,
    /// One round-trip time, a range spread evenly, or one per flow.
    RoundTrips,
    /// A time, or a law to draw it from.
    Start,
    /// The largest processing time at the sender.
    Overhead,
    /// What a queue holds.
    Capacity,
    /// What leaves in one burst.
    Burst,
    /// A queue discipline of the kernel, as `tc` takes it.
    Qdisc,
    /// Settings of a kernel and their values.
    Sysctls,
    /// A controller of the catalogue and its parameters.
    Controller,
    /// A transport stack: its name or the path of its library, with its settings.
    Stack,
    /// A program and its arguments.
    CommandLine,
    /// The value of a parameter that its owner describes.
    Described(&'static Parameter),
    /// A list of one kind.
    List(&'static Accepts),
    /// The first of these that a value looks like.
    Either(&'static [Accepts]),
    /// A word, alone or with parameters.
    Words(&'static Words),
    /// A table.
    Table(&'static Shape),
    /// An array of tables.
    Tables(&'static Shape),
    /// Paths of keys and lists of values.
    Sweep,
}

impl Shape {
    /// Whether the word needs nothing beside it.
    pub(crate) fn stands_alone(&self) -> bool {
        !self.fields.iter().any(|field| matches!(field.fallback, Fallback::Required))
    }
}

impl Accepts {
    /// What is wanted, as the object of "wanted".
    pub(crate) fn wanted(&self) -> String {
        match self {
            Accepts::Text => "a string".into(),
            Accepts::Name => "a name of letters, digits, \"-\" and \"_\"".into(),
            Accepts::Span { .. } => "a time such as \"80 ms\"".into(),
            Accepts::Rate => "a rate such as \"1 Gbit/s\"".into(),
            Accepts::RateOrZero => "a rate such as \"1 Gbit/s\" or \"0 bit/s\"".into(),
            Accepts::Size { .. } => "a size such as \"1000 B\" or \"64 kB\"".into(),
            Accepts::Number { .. } => format!("a number{}", self.range()),
            Accepts::Whole { least, most } if least == most => format!("the number {least}"),
            Accepts::Whole { .. } => format!("a whole number{}", self.range()),
            Accepts::Switch => "true or false".into(),
            Accepts::Frequency => "a frequency such as \"20 /s\"".into(),
            Accepts::RoundTrips => "a time such as \"80 ms\", a range such as \"80 ms..200 ms\" or a list of times".into(),
            Accepts::Start => "a time such as \"2 s\", \"uniform 0 s..2 s\" or \"exponential 1 s\"".into(),
            Accepts::Overhead => "\"0 s\" or a range from zero such as \"uniform 0 s..8 us\"".into(),
            Accepts::Capacity => {
                "a time such as \"20 ms\", a size such as \"64 kB\", \"100 packets\", \"1 bdp\" or \"unlimited\"".into()
            }
            Accepts::Burst => "\"16 packets\", a size such as \"64 kB\", or \"auto\"".into(),
            Accepts::Qdisc => "a queue discipline as tc takes it, such as \"fq\" or \"cake bandwidth 50mbit\"".into(),
            Accepts::Sysctls => "a table such as { \"net.ipv4.tcp_rmem\" = \"4096 131072 6291456\" }".into(),
            Accepts::Controller => "a controller such as \"reno\" or { kind = \"reno\" }".into(),
            Accepts::Stack => "a transport stack such as \"quinn\", \"./libmine.so\" or { kind = \"quinn\" }".into(),
            Accepts::CommandLine => "a program and its arguments such as \"./client --upload\" or [\"./client\", \"--upload\"]".into(),
            Accepts::Described(parameter) => described(parameter),
            Accepts::List(of) => format!("a list in which each entry is {}", of.wanted()),
            Accepts::Either(all) => all.iter().map(Accepts::wanted).collect::<Vec<_>>().join(", or "),
            Accepts::Words(words) => {
                let case = |case: &Shape| match case.stands_alone() {
                    true => format!("\"{}\"", case.name),
                    false => format!("{{ {} = \"{}\", … }}", words.tag, case.name),
                };
                words.cases.iter().map(case).collect::<Vec<_>>().join(" or ")
            }
            Accepts::Table(shape) => format!("a table {}", shape.name),
            Accepts::Tables(shape) => format!("tables headed {}", shape.name),
            Accepts::Sweep => "a table of paths of keys, each with a list of values".into(),
        }
    }

    /// The bounds, as the end of a sentence.
    pub(crate) fn range(&self) -> String {
        match *self {
            Accepts::Number { least, most, open } => bounds(least, most, open),
            Accepts::Whole { least, most } if most == u64::MAX => format!(" of at least {least}"),
            Accepts::Whole { least, most } => format!(" from {least} to {most}"),
            _ => String::new(),
        }
    }
}

/// What a parameter accepts.
pub(crate) fn described(parameter: &Parameter) -> String {
    match parameter.kind {
        Kind::Number { least, most, unit } => {
            let range = Accepts::Number { least, most, open: false }.wanted();
            if unit.is_empty() { range } else { format!("{range}, in {unit}") }
        }
        Kind::Whole { least, most } => Accepts::Whole { least, most }.wanted(),
        Kind::Switch => Accepts::Switch.wanted(),
        Kind::Word(words) => {
            let all: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            all.join(" or ")
        }
        Kind::Formula { variables, .. } => format!("a formula of {}", variables.join(", ")),
    }
}

/// The bounds of a number, as the end of a sentence.
pub(crate) fn bounds(least: f64, most: f64, open: bool) -> String {
    match (open, most.is_finite()) {
        (true, true) => format!(" above {least}, at most {most}"),
        (true, false) => format!(" above {least}"),
        (false, true) => format!(" from {least} to {most}"),
        (false, false) => format!(" of at least {least}"),
    }
}
