//! A named parameter of a controller or a queue, described once.
//!
//! The scenario reader checks values against the description, the JSON Schema and
//! `fairhaul list` print it, and the part that owns it takes its values from [`Settings`].

use crate::Word;

/// What a parameter accepts. Every value is an `f64` once read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A number in `least..=most`, in `unit` (empty for none).
    Number {
        /// The smallest accepted value.
        least: f64,
        /// The largest accepted value.
        most: f64,
        /// The unit that a user reads; the value in TOML is a bare number.
        unit: &'static str,
    },
    /// A whole number in `least..=most`.
    Whole {
        /// The smallest accepted value.
        least: u64,
        /// The largest accepted value.
        most: u64,
    },
    /// `true` (1) or `false` (0).
    Switch,
    /// One of these words, which are those of an enum; the value is its index. See [`Word`].
    Word(&'static [&'static str]),
}

impl Kind {
    /// The word that `value` stands for, of a parameter whose values are words.
    pub fn word(self, value: f64) -> Option<&'static str> {
        match self {
            Kind::Word(words) => words.get(value as usize).copied(),
            _ => None,
        }
    }
}

/// One parameter: its name in TOML, what it accepts, its default and one line of help.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The key in TOML.
    pub name: &'static str,
    /// What it accepts.
    pub kind: Kind,
    /// The value where the file says nothing.
    pub default: f64,
    /// One line of help, with the source.
    pub help: &'static str,
}

/// The values of a list of parameters, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    parameters: &'static [Parameter],
    values: Vec<f64>,
}

impl Settings {
    /// Every parameter at its default.
    pub fn defaults(parameters: &'static [Parameter]) -> Settings {
        Settings { parameters, values: parameters.iter().map(|p| p.default).collect() }
    }

    /// The parameters and their values, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static Parameter, f64)> + '_ {
        self.parameters.iter().zip(self.values.iter().copied())
    }

    /// The value of `name`, which must be one of the parameters.
    pub fn number(&self, name: &str) -> f64 {
        self.values[self.index(name)]
    }

    /// Whether the switch `name` is on.
    pub fn switch(&self, name: &str) -> bool {
        self.number(name) != 0.0
    }

    /// The word chosen for `name`, whose words must be those of `W`.
    pub fn word<W: Word>(&self, name: &str) -> W {
        let index = self.index(name);
        assert_eq!(self.parameters[index].kind, Kind::Word(W::WORDS), "the words of {name}");
        W::ALL[self.values[index] as usize]
    }

    /// Sets `name`, which must be one of the parameters, to a value that its kind accepts.
    pub fn set(&mut self, name: &str, value: f64) {
        let index = self.index(name);
        self.values[index] = value;
    }

    /// The same with `name` set: convenient in tests.
    pub fn with(mut self, name: &str, value: f64) -> Settings {
        self.set(name, value);
        self
    }

    fn index(&self, name: &str) -> usize {
        let found = self.parameters.iter().position(|p| p.name == name);
        found.expect("a part asks only for its own parameters")
    }
}
