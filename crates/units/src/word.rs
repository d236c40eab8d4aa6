//! A parameter whose values are words: each word is a variant of an enum, so that the code that reads the
//! parameter says in a `match` what every word does.

/// An enum whose variants are the words of a parameter. Made by [`words!`](crate::words).
pub trait Word: Copy + 'static {
    /// The variants; the number of a word is its place among them.
    const ALL: &'static [Self];
    /// Their words, in the same order, which is the one in which users see them.
    const WORDS: &'static [&'static str];

    /// The variant that a parameter has at `value`.
    fn from_value(value: f64) -> Self {
        Self::ALL[value as usize]
    }
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
    use crate::{Kind, Word};

    crate::words! {
        enum Growth { Formula = "formula", Table = "table" }
    }

    #[test]
    fn a_value_is_read_back_as_its_variant() {
        for (variant, word) in Growth::ALL.iter().zip(Growth::WORDS) {
            assert_eq!(Growth::from_value(variant.value()), *variant);
            assert_eq!(Kind::Word(Growth::WORDS).word(variant.value()), Some(*word));
        }
    }
}
