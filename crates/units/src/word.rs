//! A parameter whose values are words: each word is a variant of an enum, so that whoever reads the
//! parameter says in a `match` what every word does.

/// An enum whose variants are the words of a parameter. Made by [`words!`](crate::words).
pub trait Word: Copy + 'static {
    /// The variants; the number of a word is its place among them.
    const ALL: &'static [Self];
    /// Their words, in the same order, which is the one in which users see them.
    const WORDS: &'static [&'static str];
}

/// Makes enums and their [`Word`]s, each from one list, which is read as `Variant = "word"`.
///
/// `Enum::Variant.value()` is the variant as the value of a parameter, for its default.
#[macro_export]
macro_rules! words {
    ($($(#[$about:meta])* $visibility:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// This word as the value of a parameter.
            pub const fn value(self) -> f64 {
                self as u32 as f64
            }
        }

        impl $crate::Word for $name {
            const ALL: &'static [$name] = &[$($name::$variant),+];
            const WORDS: &'static [&'static str] = &[$($word),+];
        }
    )+};
}

#[cfg(test)]
mod tests {
    use crate::{Kind, Parameter, Settings, Word};

    crate::words! {
        enum Growth { Formula = "formula", Table = "table" }
        enum Variant { Kelly = "kelly", Linux = "linux" }
    }

    static PARAMETERS: [Parameter; 1] = [Parameter {
        name: "growth",
        kind: Kind::Word(Growth::WORDS),
        default: Growth::Table.value(),
        help: "",
    }];

    #[test]
    fn a_value_is_read_back_as_its_variant() {
        let settings = Settings::defaults(&PARAMETERS);
        assert_eq!(settings.word::<Growth>("growth"), Growth::Table);
        assert_eq!(PARAMETERS[0].kind.word(Growth::Table.value()), Some("table"));
        assert_eq!(
            settings.with("growth", Growth::Formula.value()).word::<Growth>("growth"),
            Growth::Formula
        );
    }

    #[test]
    #[should_panic(expected = "the words of growth")]
    fn the_words_of_another_parameter_are_a_mistake() {
        assert_eq!(Settings::defaults(&PARAMETERS).word::<Variant>("growth").value(), Variant::Linux.value());
    }
}
