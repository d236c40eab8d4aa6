//! The kinds of values without parts: what a key of each accepts, and how it is read.
//!
//! A type without bounds (`bool`, `Rate`, `Start`) is its own kind; the others are names, whose bounds are
//! part of them.

use std::collections::BTreeMap;

use fairhaul_units::{Bytes, Rate, Span};

use super::field::Accepts;
use super::kernel_words;
use super::mistake::Notes;
use super::quantities::{self, BurstSpec, CapacitySpec, RoundTrips, unwanted};
use super::reader::{FromToml, refuse};
use super::toml_tree::{Node, TomlValue};
use crate::Start;

/// A name that a path of keys can hold.
pub(crate) struct Name;
/// A time from `LEAST` to `MOST` picoseconds.
pub(crate) struct Time<const LEAST: u64, const MOST: u64>;
/// A size from `LEAST` to `MOST` bytes.
pub(crate) struct Size<const LEAST: u64, const MOST: u64>;
/// A whole number from `LEAST` to `MOST`.
pub(crate) struct Whole<const LEAST: u64, const MOST: u64>;
/// A number from `LEAST` to `MOST`.
pub(crate) struct Number<const LEAST: i64, const MOST: i64>;
/// A number above `LEAST`, at most `MOST`.
pub(crate) struct Above<const LEAST: i64, const MOST: i64>;
/// A rate, or `None` in an outage.
pub(crate) struct RateOrZero;
/// A number per second.
pub(crate) struct Frequency;
/// The largest processing time at the sender.
pub(crate) struct Overhead;
/// A queue discipline of the kernel.
pub(crate) struct Qdisc;
/// Settings of a kernel.
pub(crate) struct Sysctls;
/// A program and its arguments.
pub(crate) struct CommandLine;
/// `[sweep]`, which is removed from the tree before it is read.
pub(crate) struct Sweep;

/// Kinds by what a node of each is: `None` for one of another type, `Some(Err(…))` for a wrong value.
macro_rules! kinds {
    ($([$($bounds:tt)*] $kind:ty => $value:ty, $accepts:expr, |$node:ident| $read:expr;)+) => {$(
        impl<$($bounds)*> FromToml for $kind {
            type Value = $value;
            const ACCEPTS: Accepts = $accepts;

            fn read($node: &Node, key: &str, notes: &mut Notes) -> Option<$value> {
                let read: Option<Result<$value, String>> = $read;
                let read = read.unwrap_or_else(|| Err(unwanted(&Self::ACCEPTS, $node)));
                read.map_or_else(|text| refuse($node, key, text, notes), Some)
            }
        }
    )+};
}

kinds! {
    [] String => String, Accepts::Text, |node| node.text().map(|text| Ok(text.to_owned()));
    [] Name => String, Accepts::Name, |node| node.text().map(quantities::name);
    [const LEAST: u64, const MOST: u64] Time<LEAST, MOST> => Span,
        Accepts::Span { least: Span::from_ps(LEAST), most: Span::from_ps(MOST) },
        |node| node.text().map(|text| quantities::span(text, Span::from_ps(LEAST), Span::from_ps(MOST)));
    [] Rate => Rate, Accepts::Rate, |node| node.text().map(quantities::rate);
    [] RateOrZero => Option<Rate>, Accepts::RateOrZero, |node| node.text().map(quantities::rate_or_zero);
    [const LEAST: u64, const MOST: u64] Size<LEAST, MOST> => Bytes, Accepts::Size { least: LEAST, most: MOST },
        |node| node.text().map(|text| quantities::size(text, LEAST, MOST));
    [const LEAST: i64, const MOST: i64] Number<LEAST, MOST> => f64,
        Accepts::Number { least: LEAST as f64, most: MOST as f64, open: false },
        |node| quantities::number(node, LEAST as f64, MOST as f64, false);
    [const LEAST: i64, const MOST: i64] Above<LEAST, MOST> => f64,
        Accepts::Number { least: LEAST as f64, most: MOST as f64, open: true },
        |node| quantities::number(node, LEAST as f64, MOST as f64, true);
    [const LEAST: u64, const MOST: u64] Whole<LEAST, MOST> => u64, Accepts::Whole { least: LEAST, most: MOST },
        |node| quantities::whole(node, LEAST, MOST);
    [] bool => bool, Accepts::Switch,
        |node| if let TomlValue::Switch(switch) = node.value { Some(Ok(switch)) } else { None };
    [] Frequency => f64, Accepts::Frequency, |node| node.text().map(quantities::frequency);
    [] RoundTrips => RoundTrips, Accepts::RoundTrips, |node| quantities::round_trips(node);
    [] Start => Start, Accepts::Start, |node| node.text().map(quantities::start);
    [] Overhead => Span, Accepts::Overhead, |node| node.text().map(quantities::overhead);
    [] CapacitySpec => CapacitySpec, Accepts::Capacity, |node| node.text().map(quantities::capacity);
    [] Qdisc => String, Accepts::Qdisc, |node| node.text().map(kernel_words::qdisc);
    [] Sysctls => BTreeMap<String, String>, Accepts::Sysctls, |node| kernel_words::sysctls(node);
    [] BurstSpec => BurstSpec, Accepts::Burst, |node| node.text().map(quantities::burst);
    [] CommandLine => Vec<String>, Accepts::CommandLine, |node| kernel_words::command_line(node);
}

impl FromToml for Sweep {
    type Value = ();
    const ACCEPTS: Accepts = Accepts::Sweep;

    fn read(_node: &Node, _key: &str, _notes: &mut Notes) -> Option<()> {
        None
    }
}
