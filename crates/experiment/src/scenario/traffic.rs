//! What a flow has to send.

use std::sync::Arc;

use fairhaul_units::{Bytes, Rate, Span};

use crate::Vectors;

/// What a flow has to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Without end.
    Bulk,
    /// That much, once.
    Sized(Bytes),
    /// Transfers that arrive as a Poisson process, each a connection of its own.
    Short {
        /// Arrivals per second.
        per_s: f64,
        /// Size of each.
        size: SizeLaw,
    },
    /// Pages of web users, each object a connection of its own.
    Web(WebPages),
    /// An application that writes at a rate while it is on, over one connection.
    OnOff {
        /// While it is on, in packets on the wire.
        rate: Rate,
        /// Mean time on, exponential.
        on: Span,
        /// Mean time off, exponential.
        off: Span,
    },
    /// Without end, except for a time in which an application limits it.
    Limited {
        /// While it is limited, in packets on the wire; `None`: nothing is ready.
        rate: Option<Rate>,
        /// From then on,
        from: Span,
        /// up to here.
        until: Span,
    },
    /// Datagrams at a constant rate, without congestion control and without acknowledgements.
    Cbr {
        /// In packets on the wire.
        rate: Rate,
        /// Up to here.
        until: Span,
    },
    /// What the initiators of connection vectors write, each unit a connection of its own.
    Vectors {
        /// The name of their file.
        file: String,
        /// The connections.
        vectors: Arc<Vectors>,
    },
    /// What the acceptors of the same connections write.
    Answers {
        /// The name of the flow of the initiators.
        to: String,
        /// Its index.
        flow: u32,
    },
}

/// How large transfers are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeLaw {
    /// Always that.
    Fixed(Bytes),
    /// Exponential with that mean.
    Exponential(Bytes),
    /// Pareto with that mean and shape (above 1).
    Pareto(Bytes, f64),
}

/// The pages of web users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebPages {
    /// New sessions per second, Poisson.
    pub sessions_per_s: f64,
    /// Mean pages in a session, geometric, at least 1.
    pub pages: f64,
    /// Mean time between the pages of a session, exponential.
    pub think: Span,
    /// Mean objects on a page, geometric, at least 1; each is a transfer.
    pub objects: f64,
    /// Size of an object.
    pub size: SizeLaw,
}
