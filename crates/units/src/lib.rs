//! The types that every crate shares: quantities with stated rounding, packets, random streams, and the descriptions
//! of a named parameter and of a gauge.
//!
//! Nothing here knows a clock, a socket or a file.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod chance;
mod congestion_header;
mod formula;
mod gauge;
mod histogram;
mod nearest;
mod packet;
mod parameter;
mod parse;
mod quantity;
mod word;

pub use chance::{Chance, mix};
pub use congestion_header::{CONGESTION_HEADER, CongestionHeader, Fixed, SENDER, TICK, tick};
pub use formula::{Formula, FormulaError};
pub use gauge::Gauge;
pub use histogram::Histogram;
pub use nearest::{hint, nearest};
pub use packet::{
    ACK_SIZE, AccurateEcn, Ack, Data, Ecn, EcnCounters, Feedback, HEADER, OPENING_OPTIONS, SACK_BLOCKS,
    SackBlock, Sending, TIME_STAMPS,
};
pub use parameter::{Kind, Parameter, Settings, Value};
pub use parse::{ParseError, number_and_unit};
pub use quantity::{Bytes, Rate, Span, Time, real};
pub use word::Word;
