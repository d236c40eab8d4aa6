//! Rings: where packets wait for their turn, the earliest first.
//!
//! Flows whose packets have taken the same time since they last stood in one order share a ring, and
//! so what lines up is almost always behind all that wait.

use std::collections::VecDeque;

use fairhaul_units::{Ack, Data, Time};

use crate::agenda::{Agenda, Player};
use crate::route::Lane;
use crate::turn::{Order, Turn};

/// How far from the end a packet is compared with those that wait one by one.
const NEAR: usize = 8;

/// A packet of a connection, and when its turn is.
#[derive(Clone, Debug)]
struct Waiting<T> {
    time: Time,
    order: Order,
    packet: T,
}

impl<T> Waiting<T> {
    #[inline(always)]
    fn key(&self) -> u128 {
        self.order.at(self.time)
    }
}

/// The packets that wait for one kind of turn at one node.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    waiting: VecDeque<Waiting<T>>,
    /// The key of what has last lined up behind all others: nobody who waits has a later one.
    last: u128,
    player: Player,
}

impl<T> Ring<T> {
    /// An empty ring that plays as `player`.
    pub fn new(player: Player) -> Ring<T> {
        Ring { waiting: VecDeque::new(), last: 0, player }
    }

    /// Puts a packet whose turn is at `time` in its place; whether it is the first.
    #[inline(always)]
    fn line_up(&mut self, time: Time, order: Order, packet: T) -> bool {
        let waiting = Waiting { time, order, packet };
        let key = waiting.key();
        if self.last > key {
            return self.overtake(waiting);
        }
        self.last = key;
        self.waiting.push_back(waiting);
        self.waiting.len() == 1
    }

    #[inline(never)]
    fn overtake(&mut self, waiting: Waiting<T>) -> bool {
        let key = waiting.key();
        let near = self.waiting.iter().rev().take(NEAR).position(|other| other.key() <= key);
        let ahead = match near {
            Some(behind) => self.waiting.len() - behind,
            None => self.waiting.partition_point(|other| other.key() <= key),
        };
        self.waiting.insert(ahead, waiting);
        ahead == 0
    }

    /// The head takes its turn; the next head.
    #[inline(always)]
    fn step_out(&mut self) -> (T, Option<(Time, Order)>) {
        let first = self.waiting.pop_front().expect("a ring has a turn while a packet waits in it");
        (first.packet, self.waiting.front().map(|next| (next.time, next.order)))
    }

    /// A packet waits.
    #[inline(always)]
    fn add(&mut self, agenda: &mut Agenda, time: Time, order: Order, packet: T) {
        if self.line_up(time, order, packet) {
            agenda.leads(self.player, Some((time, order)));
        }
    }

    /// The head takes its turn.
    #[inline(always)]
    fn take(&mut self, agenda: &mut Agenda) -> T {
        let (packet, next) = self.step_out();
        agenda.leads(self.player, next);
        packet
    }

    fn serials(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().map(|waiting| waiting.order.serial())
    }
}

/// All rings of a run.
#[derive(Debug)]
pub struct Rings {
    data: Vec<Ring<Data>>,
    acks: Vec<Ring<Ack>>,
}

impl Rings {
    /// Empty rings that play as these.
    pub fn new(data: &[Player], acks: &[Player]) -> Rings {
        Rings {
            data: data.iter().map(|&player| Ring::new(player)).collect(),
            acks: acks.iter().map(|&player| Ring::new(player)).collect(),
        }
    }

    /// A data packet of connection `serial` waits in `lane`.
    #[inline(always)]
    pub fn add_data(&mut self, agenda: &mut Agenda, lane: Lane, serial: u32, time: Time, data: Data) {
        let order = Turn::Data(lane.leg).in_ring(serial, lane.ring);
        self.data[lane.ring as usize].add(agenda, time, order, data);
    }

    /// An acknowledgement of connection `serial` waits in `lane`.
    #[inline(always)]
    pub fn add_ack(&mut self, agenda: &mut Agenda, lane: Lane, serial: u32, time: Time, ack: Ack) {
        let order = Turn::Ack(lane.leg).in_ring(serial, lane.ring);
        self.acks[lane.ring as usize].add(agenda, time, order, ack);
    }

    /// The data packet at the head of a ring takes its turn.
    #[inline(always)]
    pub fn take_data(&mut self, agenda: &mut Agenda, ring: u32) -> Data {
        self.data[ring as usize].take(agenda)
    }

    /// The acknowledgement at the head of a ring takes its turn.
    #[inline(always)]
    pub fn take_ack(&mut self, agenda: &mut Agenda, ring: u32) -> Ack {
        self.acks[ring as usize].take(agenda)
    }

    /// Calls `each` with the connection of everything that waits.
    pub fn each_serial(&self, mut each: impl FnMut(u32)) {
        self.data.iter().flat_map(Ring::serials).for_each(&mut each);
        self.acks.iter().flat_map(Ring::serials).for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_overtakes_others_takes_its_place_among_them() {
        let mut ring = Ring::new(Player::default());
        let mut line_up = |ps, order, packet| ring.line_up(Time::from_ps(ps), Order(order), packet);
        assert!(line_up(10, 0, 'a'));
        assert!(!line_up(30, 0, 'b'));
        assert!(!line_up(20, 1, 'c'));
        assert!(!line_up(20, 0, 'd')); // at the same time, and of a smaller order
        assert!(!line_up(20, 0, 'e')); // behind its equal
        assert!(line_up(5, 0, 'f'));
        let order: Vec<char> = (0..6).map(|_| ring.step_out().0).collect();
        assert_eq!(order, ['f', 'a', 'd', 'e', 'c', 'b']);
    }

    proptest! {
        #[test]
        fn a_ring_is_sorted_whatever_lines_up(times in proptest::collection::vec(0u64..100, 1..60)) {
            let mut ring = Ring::new(Player::default());
            for (number, &time) in times.iter().enumerate() {
                let first = times[..number].iter().all(|&before| time < before);
                prop_assert_eq!(ring.line_up(Time::from_ps(time), Order(0), number), first);
            }
            let mut sorted: Vec<usize> = (0..times.len()).collect();
            sorted.sort_by_key(|&number| times[number]);
            let out: Vec<usize> = (0..times.len()).map(|_| ring.step_out().0).collect();
            prop_assert_eq!(out, sorted);
        }
    }
}
