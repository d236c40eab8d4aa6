//! The macros in which `fields` is written: a list of keys becomes types, their readers, and the tables from which
//! schema and page are made. They take the names of `reader` and `field` from where they are used.
//!
//! A key is `name: Kind = fallback, "help";`. Its kind is a type that is `FromToml`; its fallback is `required`,
//! `default("TOML")`, or `in_words("words")`, where the code that resolves the scenario does what the words say. Its value is
//! an `Option` unless it has a default: what is required may be missing or wrong, which has been noted then.

/// What a fallback makes of a key: the type of the value, how it is read, and how it is listed.
macro_rules! fallback {
    (value default $kind:ty) => { <$kind as FromToml>::Value };
    (value $fallback:ident $kind:ty) => { Option<<$kind as FromToml>::Value> };
    (read required $kind:ty, $key:ident, $entries:expr, $notes:expr) => {
        $entries.required::<$kind>(stringify!($key), $notes)
    };
    (read in_words($words:literal) $kind:ty, $key:ident, $entries:expr, $notes:expr) => {
        $entries.optional::<$kind>(stringify!($key), $notes)
    };
    (read default($toml:literal) $kind:ty, $key:ident, $entries:expr, $notes:expr) => {
        $entries.default::<$kind>(stringify!($key), $toml, $notes)
    };
    (list required) => { Fallback::Required };
    (list in_words($words:literal)) => { Fallback::InWords($words) };
    (list default($toml:literal)) => { Fallback::Value($toml) };
}

/// Keys as they are listed.
macro_rules! fields {
    ($($key:ident: $kind:ty = $fallback:ident $(($text:literal))?, $help:expr;)*) => {
        &[$(Field {
            name: stringify!($key),
            accepts: <$kind as FromToml>::ACCEPTS,
            fallback: fallback!(list $fallback $(($text))?),
            help: $help,
        }),*]
    };
}

/// A table, as a struct: `Name: "heading", "help"; keys`. The keys of another table may stand before or after its own:
/// `..field: Name;`.
macro_rules! table {
    (
        $(#[$meta:meta])*
        $table:ident: $heading:expr, $about:expr;
        $(..$first:ident: $First:ty;)?
        $($key:ident: $kind:ty = $fallback:ident $(($text:literal))?, $help:expr;)+
        $(..$last:ident: $Last:ty;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub(crate) struct $table {
            #[allow(dead_code, reason = "not every table can be wrong as a whole")]
            pub(crate) origin: SourceSpan,
            $(pub(crate) $first: $First,)?
            $(pub(crate) $key: Keyed<fallback!(value $fallback $kind)>,)+
            $(pub(crate) $last: $Last,)?
        }

        impl Table for $table {
            const SHAPE: Shape = {
                const PARTS: &[&[Field]] = &[
                    $(<$First>::SHAPE.fields,)?
                    fields!($($key: $kind = $fallback $(($text))?, $help;)+),
                    $(<$Last>::SHAPE.fields,)?
                ];
                Shape { name: $heading, help: $about, fields: &joined::<{ total(PARTS) }>(PARTS) }
            };

            fn from_entries(entries: &Entries, notes: &mut Notes) -> $table {
                $table {
                    origin: entries.origin,
                    $($first: <$First>::from_entries(entries, notes),)?
                    $($key: fallback!(read $fallback $(($text))? $kind, $key, entries, notes),)+
                    $($last: <$Last>::from_entries(entries, notes),)?
                }
            }
        }

        impl FromToml for $table {
            type Value = $table;
            const ACCEPTS: Accepts = Accepts::Table(&Self::SHAPE);

            fn read(node: &Node, _key: &str, notes: &mut Notes) -> Option<$table> {
                table(node, notes)
            }
        }
    };
}

/// Words to choose from, each with keys of its own and a value: `Name => Value, "tag";`, then
/// `"word", "help", { keys } => value;`. The values of its keys are variables under their names; a `?` on one that is
/// missing or wrong makes the word so.
macro_rules! words {
    (
        $words:ty => $value:ty, $tag:literal;
        $($word:literal, $about:expr
            $(, { $($key:ident: $kind:ty = $fallback:ident $(($text:literal))?, $help:expr;)+ })? => $made:expr;)+
    ) => {
        impl Choice for $words {
            const WORDS: Words = Words {
                tag: $tag,
                cases: &[$(Shape {
                    name: $word,
                    help: $about,
                    fields: fields!($($($key: $kind = $fallback $(($text))?, $help;)+)?),
                }),+],
            };
        }

        impl FromToml for $words {
            type Value = $value;
            const ACCEPTS: Accepts = Accepts::Words(&Self::WORDS);

            #[allow(unused_variables, reason = "not every word has keys")]
            fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<$value> {
                let cases: &[fn(&Entries, &mut Notes) -> Option<$value>] = &[$(|entries, notes| {
                    $($(let $key = fallback!(read $fallback $(($text))? $kind, $key, entries, notes).value;)+)?
                    Some($made)
                }),+];
                let (case, entries) = word(node, key, &Self::WORDS, notes)?;
                cases[case](&entries, notes)
            }
        }
    };
}

/// A type that is made from the first of several kinds that a value looks like: `Name;`, then `variable: Kind => value;`.
macro_rules! either {
    ($either:ty; $($value:ident: $kind:ty => $made:expr;)+) => {
        impl FromToml for $either {
            type Value = $either;
            const ACCEPTS: Accepts = Accepts::Either(&[$(<$kind as FromToml>::ACCEPTS),+]);

            fn read(node: &Node, key: &str, notes: &mut Notes) -> Option<$either> {
                $(if fits(node, &<$kind as FromToml>::ACCEPTS) {
                    let $value = <$kind as FromToml>::read(node, key, notes)?;
                    return Some($made);
                })+
                refuse(node, key, unwanted(&Self::ACCEPTS, node), notes)
            }
        }
    };
}
