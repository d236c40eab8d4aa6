//! One value of a kind that the tables of keys name: near the scale of its scenario, or odd but
//! valid, up to the bounds of the key.

use fairhaul_cc::entries;
use fairhaul_experiment::table::{Accepts, Fallback, Field, Shape, Words};
use fairhaul_units::{Chance, Kind, Parameter, Span};

use crate::doc::{Item, Keys};

/// The magnitudes of a scenario, so that its values fit together.
#[derive(Clone, Copy, Debug)]
pub struct Magnitudes {
    /// The length of the run.
    pub duration: Span,
    /// A round-trip time.
    pub rtt: Span,
    /// The rate of a link, bit/s.
    pub bps: f64,
    /// The size of a packet on the wire, bytes.
    pub packet: f64,
    /// The number of packets that its links carry in the run.
    pub packets: f64,
}

/// Draws values.
#[derive(Debug)]
pub struct Draw {
    /// The random stream.
    pub chance: Chance,
    /// The magnitudes near which values are drawn.
    pub scale: Magnitudes,
    /// The share of optional keys that are written.
    pub density: f64,
    /// The share of values that are far from the magnitudes.
    pub odd: f64,
}

const UNITS: &[(&str, f64)] =
    &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12), ("min", 6e13), ("h", 3.6e15)];
const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("kB", 1e3), ("KiB", 1024.0), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
const RATES: &[(&str, f64)] =
    &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)];

/// Formulas that are an increase as well as a decrease, and some that are not accepted as one of them.
const FORMULAS: &[&str] = &[
    "0",
    "0.3",
    "if(w > 100, 0.2, 0.5)",
    "min(0.9, rtt)",
    "1 / (2 + since_loss)",
    "0.01 * w",
    "w - w_loss",
    "w *",
];

/// Files of rates beside the kept scenarios, one of each form.
const TRACES: [&str; 2] = ["steps.csv", "opportunities.txt"];
/// The share of values that only kernels carry out, where there are any: with one of them the simulator refuses the
/// scenario.
const OF_KERNEL: f64 = 0.02;
/// The longest delay that a key accepts, ps.
const LONGEST_WAY: f64 = 3.6e16;

impl Draw {
    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.place(of)]
    }

    /// The index of one of these.
    fn place<T>(&mut self, of: &[T]) -> usize {
        self.chance.below(of.len() as u64) as usize
    }

    /// A number whose logarithm is uniform between `least`, which is above zero, and `most`.
    pub fn spread(&mut self, least: f64, most: f64) -> f64 {
        least * libm::pow(most / least, self.chance.unit())
    }

    /// Whether an odd value is due.
    fn is_odd(&mut self) -> bool {
        let odd = self.odd;
        self.chance.hits(odd)
    }

    /// Whether a request is due that the simulator refuses.
    pub fn needs_kernel(&mut self) -> bool {
        self.chance.hits(OF_KERNEL)
    }

    /// The keys of a table, in its order: required keys, and some optional ones.
    pub fn table(&mut self, shape: &Shape, skipped: &[&str]) -> Keys {
        let mut keys = Keys::default();
        let is_drawn =
            |field: &&Field| !skipped.contains(&field.name) && !["stack", "program"].contains(&field.name);
        for field in shape.fields.iter().filter(is_drawn) {
            let required = matches!(field.fallback, Fallback::Required);
            let density = self.density;
            if required || self.chance.hits(density) {
                keys.set(field.name, self.field(field));
            }
        }
        keys
    }

    /// A value of a key.
    pub fn field(&mut self, field: &Field) -> Item {
        self.special(field).unwrap_or_else(|| self.accepted(&field.accepts))
    }

    /// A value for a key that needs more than its kind: it names another part of the file, or determines the cost of
    /// a case.
    fn special(&mut self, field: &Field) -> Option<Item> {
        let whole = |number: f64| Some(Item::Raw((number as u64).to_string()));
        match (field.name, &field.accepts) {
            ("seed", _) => whole(self.spread(1.0, 1e15)),
            ("count", _) => {
                let most = if self.chance.hits(0.02) { 1500.0 } else { 12.0 };
                whole(self.spread(1.0, most))
            }
            ("connections", _) => whole(self.spread(1.0, 12.0)),
            // A window far above what a path holds is a burst of that size.
            ("initial_window", _) => {
                let odd = self.odd;
                let most = if self.chance.hits(odd) { 1e5 } else { 300.0 };
                Some(number(self.spread(1.0, most)))
            }
            ("file", _) => Some(Item::text("connections.cvec")),
            ("trace", _) => Some(Item::text(self.one(&TRACES))),
            // About a round trip; otherwise the run would end before anything arrives.
            ("delay", Accepts::Span { .. }) => Some(Item::text(&self.near_rtt(LONGEST_WAY))),
            // The flows that a loss affects, by patterns that match some.
            ("flows", Accepts::List(_)) => {
                let pattern = self.one(&["*", "f0", "f0*", "f1*", "f{0,1}*"]);
                Some(Item::List(vec![Item::text(pattern)]))
            }
            _ => None,
        }
    }

    /// A value that is accepted.
    pub fn accepted(&mut self, accepts: &Accepts) -> Item {
        match accepts {
            Accepts::Text => Item::text(self.one(&["", "a", "ünï \\u0007 [x]", "a text"])),
            Accepts::Name => Item::text(self.one(&["a", "b", "g-1", "x_2"])),
            Accepts::Span { least, most } => self.span(least.as_ps() as f64, most.as_ps() as f64),
            Accepts::Rate | Accepts::RateOrZero => {
                let zero = matches!(accepts, Accepts::RateOrZero) && self.chance.hits(0.3);
                if zero { Item::text("0 bit/s") } else { self.rate() }
            }
            Accepts::Size { least, most } => self.size(*least as f64, *most as f64),
            Accepts::Number { least, most, open } => self.number(*least, *most, *open),
            Accepts::Whole { least, most } => self.whole(*least, *most),
            Accepts::Switch => Item::Raw(self.chance.hits(0.5).to_string()),
            Accepts::Frequency => {
                let (transfers, seconds) = (self.spread(0.5, 200.0), self.scale.duration.as_secs());
                Item::text(&format!("{} /s", decimal((transfers / seconds).clamp(1e-9, 1e6))))
            }
            Accepts::RoundTrips => self.round_trips(),
            Accepts::Start => self.start(),
            Accepts::Overhead => {
                let most = self.near_rtt(1e12);
                if self.chance.hits(0.3) {
                    Item::text("0 s")
                } else {
                    Item::text(&format!("uniform 0 s..{most}"))
                }
            }
            Accepts::Capacity => self.capacity(),
            Accepts::Burst => {
                if self.needs_kernel() {
                    Item::text("auto")
                } else if self.chance.hits(0.5) {
                    Item::text(&format!("{} packets", self.spread(1.0, 100.0) as u64))
                } else {
                    self.size(100.0, 64_000_000.0)
                }
            }
            Accepts::Qdisc => {
                Item::text(self.one(&["fq", "cake bandwidth 50mbit", "red limit 1mb avpkt 1000"]))
            }
            Accepts::Sysctls => sysctls(self.one(&[1, 2])),
            Accepts::Controller => self.controller(),
            Accepts::Stack | Accepts::CommandLine => unreachable!("the check has none, so none is drawn"),
            Accepts::Described(parameter) => self.parameter(parameter),
            Accepts::List(of) => Item::List((0..self.chance.below(4)).map(|_| self.accepted(of)).collect()),
            Accepts::Either(all) => match &all[self.place(all)] {
                // Of a buffer, the word means that a kernel sizes it.
                Accepts::Words(Words { cases: [Shape { name: "auto", .. }], .. }) if !self.needs_kernel() => {
                    self.accepted(&all[0])
                }
                accepts => self.accepted(accepts),
            },
            Accepts::Words(words) => self.word(words),
            Accepts::Table(shape) => Item::Table(self.table(shape, &[])),
            Accepts::Tables(shape) => {
                let count = 1 + self.chance.below(3);
                Item::List((0..count).map(|_| Item::Table(self.table(shape, &[]))).collect())
            }
            Accepts::Sweep => Item::Table(Keys::default()),
        }
    }

    fn word(&mut self, words: &Words) -> Item {
        let case = match &words.cases[self.place(words.cases)] {
            case if case.name == "kernel" && !self.needs_kernel() => &words.cases[0],
            case => case,
        };
        let bare = !case.fields.iter().any(|field| matches!(field.fallback, Fallback::Required));
        if bare && self.chance.hits(0.5) {
            return Item::text(case.name);
        }
        let mut keys = Keys(vec![(words.tag.to_owned(), Item::text(case.name))]);
        keys.0.extend(self.table(case, &[]).0);
        Item::Table(keys)
    }

    fn controller(&mut self) -> Item {
        let entry = &entries()[self.place(entries())];
        let mut keys = Keys(vec![("kind".to_owned(), Item::text(entry.name))]);
        for parameter in entry.parameters {
            let density = self.density / 2.0;
            if self.chance.hits(density) {
                keys.set(parameter.name, self.parameter(parameter));
            }
        }
        if keys.0.len() == 1 { Item::text(entry.name) } else { Item::Table(keys) }
    }

    /// Near its default, or anywhere between its bounds.
    fn parameter(&mut self, parameter: &Parameter) -> Item {
        let default = parameter.default;
        match parameter.kind {
            Kind::Number { least, most, .. } if default > 0.0 && !self.is_odd() => {
                let (low, high) = (least.max(default / 10.0), most.min(default * 10.0));
                if low > 0.0 && low < high {
                    number(self.spread(low, high))
                } else {
                    self.number(least, most, false)
                }
            }
            Kind::Number { least, most, .. } => self.number(least, most, false),
            Kind::Whole { least, most } => self.whole(least, most),
            Kind::Switch => Item::Raw(self.chance.hits(0.5).to_string()),
            Kind::Word(words) => Item::text(self.one(words)),
            Kind::Formula { .. } => Item::text(self.one(FORMULAS)),
        }
    }

    fn number(&mut self, least: f64, most: f64, open: bool) -> Item {
        let most = if most.is_finite() { most } else { 1e12 };
        let low = least.max(most * 1e-9).max(1e-12);
        let drawn = match self.chance.below(20) {
            0 => most,
            1 if !open => least,
            2 if least < 0.0 => least * self.chance.unit(),
            3..=8 if low < most => self.spread(low, most),
            _ => least + (most - least) * self.chance.unit(),
        };
        let fits = if open { drawn > least } else { drawn >= least };
        number(if fits { drawn.min(most) } else { most })
    }

    fn whole(&mut self, least: u64, most: u64) -> Item {
        let drawn = match self.chance.below(8) {
            0 => least,
            1 if self.is_odd() => most,
            _ => self.spread(least.max(1) as f64, (most as f64).min(1e6).max(least.max(1) as f64)) as u64,
        };
        Item::Raw(drawn.clamp(least, most.min(i64::MAX as u64)).to_string())
    }

    fn span(&mut self, least: f64, most: f64) -> Item {
        let (duration, rtt) = (self.scale.duration.as_ps() as f64, self.scale.rtt.as_ps() as f64);
        let drawn = match self.chance.below(10) {
            _ if self.is_odd() => self.spread(least.max(1.0), most),
            0 => least,
            1..=5 => duration * self.chance.unit(),
            _ => rtt * self.spread(0.05, 20.0),
        };
        Item::text(&span(drawn.clamp(least, most)))
    }

    /// A time about as long as a round trip, as text.
    pub fn near_rtt(&mut self, most: f64) -> String {
        let factor = self.spread(0.01, 3.0);
        span((self.scale.rtt.as_ps() as f64 * factor).clamp(1.0, most))
    }

    fn size(&mut self, least: f64, most: f64) -> Item {
        let all = self.scale.packet * self.scale.packets;
        let drawn = match self.chance.below(8) {
            0 => least,
            1 if self.is_odd() => most,
            _ => self.spread(least.max(1.0), most.min(all).max(least.max(1.0))),
        };
        Item::text(&quantity(drawn.clamp(least, most).floor(), SIZES))
    }

    fn rate(&mut self) -> Item {
        let factor = if self.is_odd() { self.spread(1e-6, 1e6) } else { self.spread(0.1, 10.0) };
        Item::text(&quantity((self.scale.bps * factor).clamp(1.0, 1e15).floor(), RATES))
    }

    fn capacity(&mut self) -> Item {
        let drawn = match self.chance.below(6) {
            0 => "unlimited".to_owned(),
            1 => format!("{} bdp", decimal(self.spread(0.01, 10.0))),
            2 => {
                let packets = self.spread(1.0, 1e4);
                quantity((self.scale.packet * packets).floor(), SIZES)
            }
            3 => self.near_rtt(1e18),
            _ => format!("{} packets", self.spread(1.0, 1e4) as u64),
        };
        Item::text(&drawn)
    }

    fn round_trips(&mut self) -> Item {
        let (short, long) = (self.spread(0.1, 1.0), self.spread(1.0, 10.0));
        let times =
            [short, long].map(|factor| span((self.scale.rtt.as_ps() as f64 * factor).clamp(1.0, 1e17)));
        let text =
            if self.chance.hits(0.3) { format!("{}..{}", times[0], times[1]) } else { times[1].clone() };
        Item::text(&text)
    }

    fn start(&mut self) -> Item {
        let duration = self.scale.duration.as_ps() as f64;
        let (early, late) = (duration * 0.3 * self.chance.unit(), duration * 0.5 * self.chance.unit());
        let text = match self.chance.below(5) {
            0 => format!("uniform {}..{}", span(early), span(early + late)),
            1 => format!("exponential {}", span(late.max(1.0))),
            2 => span(early),
            _ => "0 s".to_owned(),
        };
        Item::text(&text)
    }
}

/// Settings of a kernel.
fn sysctls(count: usize) -> Item {
    let all = [
        ("net.ipv4.tcp_rmem", Item::text("4096 131072 6291456")),
        ("net.ipv4.tcp_ecn", Item::Raw("1".into())),
    ];
    let settings = all.into_iter().take(count);
    Item::Table(Keys(settings.map(|(name, value)| (name.to_owned(), value)).collect()))
}

/// A number as written in TOML.
pub fn number(number: f64) -> Item {
    let rounded: f64 = format!("{number:.8e}").parse().unwrap_or(number);
    Item::Raw(format!("{rounded:?}"))
}

/// A time of that many picoseconds.
pub fn span(ps: f64) -> String {
    quantity(ps.floor(), UNITS)
}

/// A rate.
pub fn rate(bps: f64) -> String {
    quantity(bps.floor(), RATES)
}

/// `value` in the largest unit of which it is at least one.
fn quantity(value: f64, units: &[(&str, f64)]) -> String {
    let (name, scale) = units.iter().rev().find(|unit| value >= unit.1).unwrap_or(&units[0]);
    format!("{} {name}", decimal(value / scale))
}

/// At most six digits, and no exponent.
fn decimal(value: f64) -> String {
    let digits = if value >= 1e6 { 0 } else { (5.0 - libm::floor(libm::log10(value.max(1e-9)))) as usize };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_six_digits_and_a_unit() {
        assert_eq!(span(1_234_567_890.0), "1.23456 ms".replace("456", "457"));
        assert_eq!(span(0.0), "0 ps");
        assert_eq!(span(1e15), "16.6667 min");
        assert_eq!(rate(1_000_000.0), "1 Mbit/s");
        assert_eq!(decimal(0.000_012_345_67), "0.0000123457");
    }
}
