//! A queue that thins acknowledgements, as cable modems do and CAKE with `ack-filter`: one that arrives takes the place of
//! the one of its connection that waits, which says less.
//
// Differs from [CAKE]: it replaces an acknowledgement whatever the two report; CAKE keeps one that reports
// something of its own.

use std::collections::{BTreeMap, VecDeque};

use fairhaul_units::{Gauge, Parameter};

use super::Queued;

/// First in, first out; of the acknowledgements of a connection one waits.
#[derive(Clone, Debug)]
pub struct AckFilter<T> {
    queued: VecDeque<Queued<T>>,
    /// How many have left: the number of the first that waits.
    left: u64,
    /// The number of the acknowledgement that waits, by connection.
    acks: BTreeMap<u32, u64>,
    replaced: u64,
}

impl<T> Default for AckFilter<T> {
    fn default() -> AckFilter<T> {
        AckFilter { queued: VecDeque::new(), left: 0, acks: BTreeMap::new(), replaced: 0 }
    }
}

impl AckFilter<()> {
    /// One line of what it is.
    pub const TITLE: &'static str =
        "First in, first out; an acknowledgement takes the place of the one of its connection that waits";
    pub(super) const SOURCE: &'static str = "";
    /// Its parameters: none.
    pub const PARAMETERS: &'static [Parameter] = &[];
    pub(super) const GAUGES: [Gauge; 1] =
        [Gauge { name: "replaced", unit: "", help: "acknowledgements replaced since the start" }];
}

impl<T> AckFilter<T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// The packets that wait, the first in front.
    pub fn iter(&self) -> impl Iterator<Item = &Queued<T>> {
        self.queued.iter()
    }

    /// What its gauge shows.
    pub(crate) fn gauges(&self) -> [f64; 1] {
        [self.replaced as f64]
    }

    /// Puts an acknowledgement where the one of its connection waits, which is returned; `ack_of`: its
    /// connection, if it is one.
    ///
    /// # Errors
    /// Gives the packet back: it is no acknowledgement, or none of its connection waits.
    pub fn replace(&mut self, queued: Queued<T>, ack_of: Option<u32>) -> Result<Queued<T>, Queued<T>> {
        let Some(number) = ack_of.and_then(|connection| self.acks.get(&connection)) else {
            return Err(queued);
        };
        self.replaced += 1;
        Ok(std::mem::replace(&mut self.queued[(number - self.left) as usize], queued))
    }

    /// Puts a packet behind the others; `ack_of`: its connection, if it is an acknowledgement.
    pub fn push(&mut self, queued: Queued<T>, ack_of: Option<u32>) {
        if let Some(connection) = ack_of {
            self.acks.insert(connection, self.left + self.queued.len() as u64);
        }
        self.queued.push_back(queued);
    }

    /// Takes the first out; `ack_of`: as it was pushed.
    pub fn pop(&mut self, ack_of: impl Fn(&T) -> Option<u32>) -> Option<Queued<T>> {
        let queued = self.queued.pop_front()?;
        self.left += 1;
        if let Some(connection) = ack_of(&queued.packet) {
            self.acks.remove(&connection);
        }
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{Ecn, Time};

    /// Connections 1 and 2 have acknowledgements, and `None` is data.
    #[test]
    fn an_acknowledgement_takes_the_place_of_the_one_that_waits() {
        let mut queue: AckFilter<(char, Option<u32>)> = AckFilter::default();
        let queued = |packet| Queued { packet, size: 40, ecn: Ecn::NotCapable, arrived: Time::ZERO };
        for packet in
            [('a', Some(1)), ('b', None), ('c', Some(2)), ('d', Some(1)), ('e', None), ('f', Some(1))]
        {
            if let Err(first) = queue.replace(queued(packet), packet.1) {
                queue.push(first, packet.1);
            }
        }
        let mut left = || queue.pop(|packet| packet.1).map(|queued| queued.packet.0);
        assert_eq!([left(), left(), left()], [Some('f'), Some('b'), Some('c')]);
        // The one of connection 1 has left: the next one waits behind the others.
        assert!(queue.replace(queued(('g', Some(1))), Some(1)).is_err());
        queue.push(queued(('g', Some(1))), Some(1));
        let order: String = queue.iter().map(|queued| queued.packet.0).collect();
        assert_eq!((order.as_str(), queue.gauges()), ("eg", [2.0]));
    }
}
