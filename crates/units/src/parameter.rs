//! A named parameter of a controller or a queue, described once.
//!
//! The scenario reader checks values against the description, the JSON Schema and
//! `fairhaul list` print it, and the part that owns it takes its values from [`Settings`].

use crate::Formula;

/// What a parameter accepts. Every value but that of a formula is an `f64` once read.
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
    /// A [`Formula`] over these variables.
    Formula {
        /// The names of the variables, in the order of their values.
        variables: &'static [&'static str],
        /// The formula where the file says nothing; [`Parameter::default`] is not used.
        default: &'static str,
    },
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
    values: Vec<Value>,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a number, a switch or a word: what [`Kind`] says.
    Number(f64),
    /// Of a formula.
    Formula(Formula),
}

impl Value {
    /// The default of a parameter.
    pub fn default_of(parameter: &Parameter) -> Value {
        match parameter.kind {
            Kind::Formula { variables, default } => {
                Value::Formula(Formula::new(default, variables).expect("a default is a formula"))
            }
            _ => Value::Number(parameter.default),
        }
    }

    /// The number; `None` of a formula.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Formula(_) => None,
        }
    }
}

impl Settings {
    /// Every parameter at its default.
    pub fn defaults(parameters: &'static [Parameter]) -> Settings {
        Settings { parameters, values: parameters.iter().map(Value::default_of).collect() }
    }

    /// The parameters and their values, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static Parameter, &Value)> + '_ {
        self.parameters.iter().zip(&self.values)
    }

    /// The value of `name`, which must be one of the parameters: for [`parameters!`](crate::parameters), whose
    /// structs have the values of all parameters in their types, and for tests.
    pub fn number(&self, name: &str) -> f64 {
        self.values[self.index(name)].number().expect("a part knows the kinds of its parameters")
    }

    /// The formula of `name`, which must be one of the parameters.
    pub fn formula(&self, name: &str) -> &Formula {
        match &self.values[self.index(name)] {
            Value::Formula(formula) => formula,
            Value::Number(_) => panic!("a part knows the kinds of its parameters"),
        }
    }

    /// Sets `name`, which must be one of the parameters, to a number that its kind accepts.
    pub fn set(&mut self, name: &str, value: f64) {
        self.give(name, Value::Number(value));
    }

    /// Sets `name`, which must be one of the parameters, to a value that its kind accepts.
    pub fn give(&mut self, name: &str, value: Value) {
        let index = self.index(name);
        self.values[index] = value;
    }

    /// Sets `name` where it is 0, which stands for an automatic value.
    pub fn set_automatic(&mut self, name: &str, value: f64) {
        if self.number(name) == 0.0 {
            self.set(name, value);
        }
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

impl Parameter {
    /// How many parameters `parts` have together.
    #[doc(hidden)]
    pub const fn count(parts: &[&[Parameter]]) -> usize {
        let (mut count, mut part) = (0, 0);
        while part < parts.len() {
            count += parts[part].len();
            part += 1;
        }
        count
    }

    /// The parameters of `parts`, which are `N`, one part after the other.
    #[doc(hidden)]
    pub const fn join<const N: usize>(parts: &[&[Parameter]]) -> [Parameter; N] {
        let mut all = [parts[0][0]; N];
        let (mut at, mut part, mut index) = (0, 0, 0);
        while at < N {
            if index == parts[part].len() {
                (part, index) = (part + 1, 0);
            }
            all[at] = parts[part][index];
            (at, index) = (at + 1, index + 1);
        }
        all
    }
}

/// Makes lists of parameters, each with the struct of their values.
///
/// A parameter is `name: Kind = default, "help";`, or `name as "key": Kind = ...` where its key in TOML is no
/// name in Rust. Its kind is `Number(least..=most, "unit")`, where the unit may be omitted,
/// `Seconds(least..=most)`, `Milliseconds(least..=most)`, `Whole(least..=most)`, `Switch`, or `Word(Enum)`; its
/// value is an `f64`, a [`Span`](crate::Span), a `u64`, a `bool`, or the enum. Instead of a parameter,
/// `name: Parameters(Struct), "help";` lists all parameters of another struct, which is the value.
///
/// The list is `LIST`; the struct is made `from` the [`Settings`] of that list, or of one that contains it. The
/// default is that of all parameters.
#[macro_export]
macro_rules! parameters {
    ($($(#[$about:meta])* $visibility:vis struct $values:ident {
        $($name:ident $(as $key:literal)?: $kind:ident $(($($of:tt)*))? $(= $default:expr)?, $help:literal;)+
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility struct $values {
            $(#[doc = $help] $visibility $name: $crate::parameter!(type $kind $($($of)*)?),)+
        }

        impl $values {
            /// The parameters, in the order in which they are listed.
            $visibility const LIST: &'static [$crate::Parameter] = {
                const PARTS: &[&[$crate::Parameter]] = &[$(
                    $crate::parameter!(list ($name $($key)?) $kind ($($($of)*)?) $($default)?, $help)
                ),+];
                &$crate::Parameter::join::<{ $crate::Parameter::count(PARTS) }>(PARTS)
            };
        }

        impl From<&$crate::Settings> for $values {
            fn from(settings: &$crate::Settings) -> $values {
                $values { $($name: $crate::parameter!(read $kind settings ($name $($key)?))),+ }
            }
        }

        impl Default for $values {
            fn default() -> $values {
                (&$crate::Settings::defaults($values::LIST)).into()
            }
        }
    )+};
}

/// What a kind makes of a parameter of [`parameters!`](crate::parameters).
#[doc(hidden)]
#[macro_export]
macro_rules! parameter {
    (type Number $($of:tt)+) => { f64 };
    (type Seconds $($of:tt)+) => { $crate::Span };
    (type Milliseconds $($of:tt)+) => { $crate::Span };
    (type Whole $($of:tt)+) => { u64 };
    (type Switch) => { bool };
    (type Word $words:ty) => { $words };
    (type Parameters $values:ty) => { $values };
    (list $key:tt Parameters ($values:ty), $help:literal) => { <$values>::LIST };
    (list $key:tt $kind:ident ($($of:tt)*) $default:expr, $help:literal) => {
        &[$crate::Parameter {
            name: $crate::parameter!(key $key),
            kind: $crate::parameter!(kind $kind $($of)*),
            default: $crate::parameter!(default $kind $default),
            help: $help,
        }]
    };
    (key ($name:ident)) => { stringify!($name) };
    (key ($name:ident $key:literal)) => { $key };
    (kind Number $least:literal..=$most:literal) => { $crate::parameter!(kind Number $least..=$most, "") };
    (kind Number $least:literal..=$most:literal, $unit:literal) => {
        $crate::Kind::Number { least: $least, most: $most, unit: $unit }
    };
    (kind Seconds $($of:tt)+) => { $crate::parameter!(kind Number $($of)+, "s") };
    (kind Milliseconds $($of:tt)+) => { $crate::parameter!(kind Number $($of)+, "ms") };
    (kind Whole $least:literal..=$most:literal) => { $crate::Kind::Whole { least: $least, most: $most } };
    (kind Switch) => { $crate::Kind::Switch };
    (kind Word $words:ty) => { $crate::Kind::Word(<$words as $crate::Word>::WORDS) };
    (default Whole $default:expr) => { $default as f64 };
    (default Switch $default:expr) => { $default as u8 as f64 };
    (default Word $default:expr) => { $default.value() };
    (default $kind:ident $default:expr) => { $default };
    (read Parameters $settings:ident $key:tt) => { $settings.into() };
    (read $kind:ident $settings:ident $key:tt) => {
        $crate::parameter!(value $kind $settings.number($crate::parameter!(key $key)))
    };
    (value Number $value:expr) => { $value };
    (value Seconds $value:expr) => { $crate::Span::from_secs($value) };
    (value Milliseconds $value:expr) => { $crate::Span::from_secs($value * 1e-3) };
    (value Whole $value:expr) => { $value as u64 };
    (value Switch $value:expr) => { $value != 0.0 };
    (value Word $value:expr) => { $crate::Word::from_value($value) };
}

#[cfg(test)]
mod tests {
    use crate::{Kind, Parameter, Settings, Span, Word};

    crate::words! {
        enum Growth { Formula = "formula", Table = "table" }
    }

    crate::parameters! {
        struct Values {
            share: Number(-1.0..=1e6) = 0.5, "a share";
            rate: Number(0.0..=10.0, "packets/s") = 2.0, "a rate";
            delay: Milliseconds(0.0..=10.0) = 2.0, "a delay";
            count: Whole(1..=1_000) = 3, "a count";
            fast: Switch = true, "whether it is fast";
            growth: Word(Growth) = Growth::Table, "a word";
        }

        struct More {
            kept as "move": Switch = false, "another switch";
            values: Parameters(Values), "the parameters of another struct";
            last: Number(0.0..=1.0) = 0.25, "a number behind them";
        }
    }

    #[test]
    fn the_list_says_what_was_written() {
        let kinds = [
            Kind::Number { least: -1.0, most: 1e6, unit: "" },
            Kind::Number { least: 0.0, most: 10.0, unit: "packets/s" },
            Kind::Number { least: 0.0, most: 10.0, unit: "ms" },
            Kind::Whole { least: 1, most: 1000 },
            Kind::Switch,
            Kind::Word(Growth::WORDS),
        ];
        let names = ["share", "rate", "delay", "count", "fast", "growth"];
        assert_eq!(Values::LIST.iter().map(|p| p.kind).collect::<Vec<_>>(), kinds);
        assert_eq!(Values::LIST.iter().map(|p| p.name).collect::<Vec<_>>(), names);
        assert_eq!(
            Values::LIST.iter().map(|p| p.default).collect::<Vec<_>>(),
            [0.5, 2.0, 2.0, 3.0, 1.0, 1.0]
        );
        assert_eq!(
            Values::LIST[0],
            Parameter { name: "share", kind: kinds[0], default: 0.5, help: "a share" }
        );
    }

    #[test]
    fn values_have_the_types_of_their_kinds() {
        let settings = Settings::defaults(Values::LIST).with("count", 7.0).with("fast", 0.0);
        let Values { share, rate, delay, count, fast, growth } = Values::from(&settings);
        assert_eq!((share, rate, count, fast, growth), (0.5, 2.0, 7, false, Growth::Table));
        assert_eq!(delay, Span::from_secs(0.002));
    }

    #[test]
    fn the_parameters_of_another_struct_are_listed_in_their_place() {
        assert_eq!(More::LIST.len(), 8);
        assert_eq!(
            (More::LIST[0].name, &More::LIST[1..7], More::LIST[7].name),
            ("move", Values::LIST, "last")
        );
        let given = More::from(&Settings::defaults(More::LIST).with("move", 1.0).with("count", 7.0));
        let values = Values { count: 7, ..Values::default() };
        assert_eq!(given, More { kept: true, values, ..More::default() });
    }

    #[test]
    fn an_automatic_value_is_set_where_none_is_given() {
        let mut settings = Settings::defaults(Values::LIST).with("share", 0.0);
        settings.set_automatic("share", 0.25);
        settings.set_automatic("rate", 9.0);
        let Values { share, rate, .. } = (&settings).into();
        assert_eq!((share, rate), (0.25, 2.0));
    }
}
