//! Connection vectors: what the two ends of many connections wrote to each other, and when, as Tmix records it [TMIX].

use fairhaul_units::{Bytes, Span, Time, mix};

/// The connections of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors(pub Vec<Vector>);

/// What the two ends of one connection write.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// When its initiator opens it.
    pub start: Span,
    /// Whether a unit follows the one before it, as in a conversation; otherwise each side writes at its own times.
    pub is_sequential: bool,
    /// In their order.
    pub units: Vec<Unit>,
}

/// What one side writes at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Who writes it.
    pub side: Side,
    /// How long after the unit before it has arrived or, for the first one and in a connection that is not sequential,
    /// after the start of the connection.
    pub pause: Span,
    /// Payload, at least a byte.
    pub size: Bytes,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It opened the connection.
    Initiator,
    /// It answers.
    Acceptor,
}

/// A unit in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    pub(crate) unit: Unit,
    /// When it starts; `None`: a pause after the one before it, which stands right before it in the order of the file.
    pub(crate) at: Option<Time>,
}

impl Vectors {
    /// The units that a run until `end` may see, if the file begins at `start`.
    pub(crate) fn placed(&self, start: Time, end: Time) -> impl Iterator<Item = Placed> + '_ {
        self.0.iter().flat_map(move |vector| {
            let opens = start + vector.start;
            let at = move |(place, unit): (usize, &Unit)| Placed {
                unit: *unit,
                at: (place == 0 || !vector.is_sequential).then(|| opens + unit.pause),
            };
            let within = move |placed: &Placed| placed.at.is_none_or(|at| at < end);
            let first = vector.units.first().map(|unit| opens + unit.pause);
            let starts = !vector.is_sequential || first.is_some_and(|first| first < end);
            vector.units.iter().enumerate().map(at).filter(within).filter(move |_| starts)
        })
    }

    /// Whether that side writes anything.
    pub fn has(&self, side: Side) -> bool {
        self.units().any(|unit| unit.side == side)
    }

    /// Payload of that side, bytes.
    pub fn payload(&self, side: Side) -> u64 {
        self.units().filter(|unit| unit.side == side).map(|unit| unit.size.0).sum()
    }

    /// How many units there are of that side.
    pub fn count(&self, side: Side) -> u64 {
        self.units().filter(|unit| unit.side == side).count() as u64
    }

    /// A number that differs where any connection does: they are too many to be described one by one.
    pub fn digest(&self) -> u64 {
        let take = |digest: u64, number: u64| mix(digest ^ mix(number));
        self.0.iter().fold(0, |digest, vector| {
            let head = [vector.start.as_ps(), vector.is_sequential.into(), vector.units.len() as u64];
            let digest = head.into_iter().fold(digest, take);
            vector.units.iter().fold(digest, |digest, unit| {
                let is_answer = u64::from(unit.side == Side::Acceptor);
                [is_answer, unit.pause.as_ps(), unit.size.0].into_iter().fold(digest, take)
            })
        })
    }

    fn units(&self) -> impl Iterator<Item = &Unit> {
        self.0.iter().flat_map(|vector| &vector.units)
    }
}
