//! What happens when, at each node: the earliest of (time, order).
//!
//! A node is where things of several connections are put in the order of time: a link where flows
//! meet, or the hosts. `order` says what happens to whom, so that what happens at a node in the same
//! picosecond comes in an order that follows from its content, never from when it was put in. Whatever
//! travels waits in a ring ([`rings`](crate::rings)), and only the head of each ring is here: the rings
//! of a node play a tournament, in which a ring whose head has changed plays its matches up to the final
//! again. What there are few of (the timers of the hosts) lies in a heap.

use fairhaul_units::Time;

use crate::event_key::EventKey;

const CHILDREN: usize = 4;
/// Later than anything.
const NEVER: u128 = u128::MAX;

/// Who plays where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Player {
    /// The node: the index of a link, or the number of links for the hosts.
    pub node: u32,
    /// Its number there.
    pub number: u32,
}

/// Of so many links on what is next is not looked for from link to link: they play a tournament, too.
const MANY_LINKS: usize = 12;

/// What is next of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Where.
    pub node: usize,
    /// When.
    pub now: Time,
    /// When what is next at any other node is.
    pub others: Time,
}

/// See the module. An entry is an [`EventKey`] at its time.
#[derive(Debug)]
pub struct Agenda {
    /// By node.
    tournaments: Vec<Tournament>,
    /// That of the links, where there are many: each plays by its number.
    links: Option<Box<Tournament>>,
    /// Of the hosts. Each entry is smaller than its four children.
    heap: Vec<u128>,
}

/// Four meet in each match.
#[derive(Debug)]
struct Tournament {
    matches: Vec<[u128; 4]>,
    /// The number of the first match of each stage, from that of the players to the final.
    stages: Vec<u32>,
    winner: u128,
}

impl Tournament {
    fn new(players: u32) -> Tournament {
        let (mut stages, mut matches, mut playing) = (Vec::new(), 0, players);
        while playing > 1 {
            stages.push(matches);
            playing = playing.div_ceil(4);
            matches += playing;
        }
        Tournament { matches: vec![[NEVER; 4]; matches as usize], stages, winner: NEVER }
    }

    /// The entry of a player has changed.
    #[inline(always)]
    fn enter(&mut self, player: u32, entry: u128) {
        let (mut best, mut number) = (entry, player);
        for first in self.stages.iter() {
            let four = &mut self.matches[(first + number / 4) as usize];
            four[number as usize % 4] = best;
            best = four[0].min(four[1]).min(four[2].min(four[3]));
            number /= 4;
        }
        self.winner = best;
    }

    /// The winner's number, and the best of all others.
    fn first_two(&self) -> (usize, u128) {
        let (mut number, mut second) = (0, NEVER);
        for first in self.stages.iter().rev() {
            let four = &self.matches[*first as usize + number];
            let at = four.iter().position(|entry| *entry == self.winner).unwrap_or(0);
            for other in (0..4).filter(|other| *other != at) {
                second = second.min(four[other]);
            }
            number = number * 4 + at;
        }
        (number, second)
    }
}

impl Agenda {
    /// Nothing is to happen, and so many play at each node. The last node is the hosts.
    pub fn new(players: &[u32]) -> Agenda {
        let tournaments: Vec<Tournament> = players.iter().map(|&players| Tournament::new(players)).collect();
        let links = tournaments.len() - 1;
        let links = (links > MANY_LINKS).then(|| Box::new(Tournament::new(links as u32)));
        Agenda { tournaments, links, heap: Vec::new() }
    }

    /// What is next, where a transfer begins at `start` at the hosts.
    pub fn next(&self, start: Time) -> Next {
        let hosts = self.tournaments.len() - 1;
        let at_hosts = time_of(self.first_of_hosts()).min(start);
        let (link, first, second) = match &self.links {
            None => self.first_links(),
            Some(links) => {
                let (link, second) = links.first_two();
                (link, time_of(links.winner), time_of(second))
            }
        };
        if at_hosts <= first {
            return Next { node: hosts, now: at_hosts, others: first };
        }
        Next { node: link, now: first, others: second.min(at_hosts) }
    }

    /// Of the links the one where something is next, that, and what is next at the others.
    fn first_links(&self) -> (usize, Time, Time) {
        let (mut link, mut first, mut second) = (0, Time::NEVER, Time::NEVER);
        for (node, tournament) in self.tournaments[..self.tournaments.len() - 1].iter().enumerate() {
            let time = time_of(tournament.winner);
            if time < first {
                (link, second, first) = (node, first, time);
            } else {
                second = second.min(time);
            }
        }
        (link, first, second)
    }

    /// What is next at a link; [`Time::NEVER`]: nothing.
    #[inline(always)]
    pub fn at_link(&self, link: usize) -> (Time, EventKey) {
        opened(self.tournaments[link].winner)
    }

    /// What is next at the hosts; [`Time::NEVER`]: nothing.
    #[inline(always)]
    pub fn at_hosts(&self) -> (Time, EventKey) {
        opened(self.first_of_hosts())
    }

    #[inline(always)]
    fn first_of_hosts(&self) -> u128 {
        let winner = self.tournaments[self.tournaments.len() - 1].winner;
        self.heap.first().map_or(winner, |&other| other.min(winner))
    }

    /// What `player` has next has changed; `None`: nothing.
    #[inline(always)]
    pub fn leads(&mut self, player: Player, head: Option<(Time, EventKey)>) {
        let tournament = &mut self.tournaments[player.node as usize];
        tournament.enter(player.number, head.map_or(NEVER, |(time, order)| order.at(time)));
        if self.links.is_some() {
            self.goes_on(player.node);
        }
    }

    /// The winner of `node`, where it is one of many links, plays among those of the others.
    #[inline(never)]
    fn goes_on(&mut self, node: u32) {
        let winner = self.tournaments[node as usize].winner;
        let is_link = (node as usize) < self.tournaments.len() - 1;
        if let Some(links) = self.links.as_mut().filter(|_| is_link) {
            links.enter(node, winner);
        }
    }

    /// Adds an entry of the hosts that is no ring's.
    pub fn push(&mut self, time: Time, order: EventKey) {
        self.heap.push(order.at(time));
        self.rise(self.heap.len() - 1);
    }

    /// Removes what is next at the hosts, which is no ring's.
    pub fn pop(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        if !self.heap.is_empty() {
            self.sink(last);
        }
    }

    fn rise(&mut self, mut at: usize) {
        let value = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.heap[parent] <= value {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = value;
    }

    /// Lets `value` take its place from the top.
    fn sink(&mut self, value: u128) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            if first >= heap.len() {
                break;
            }
            let last = (first + CHILDREN).min(heap.len());
            let mut least = first;
            for child in first + 1..last {
                if heap[child] < heap[least] {
                    least = child;
                }
            }
            if value <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = value;
    }
}

#[inline(always)]
fn time_of(entry: u128) -> Time {
    Time::from_ps((entry >> 64) as u64)
}

#[inline(always)]
fn opened(entry: u128) -> (Time, EventKey) {
    (Time::from_ps((entry >> 64) as u64), EventKey(entry as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against lists of all: twenty rings at link 0, which have the orders 0 to 19, and twenty at the
        /// hosts, which have 20 to 39; of the others at the hosts each has its own.
        #[test]
        fn what_goes_in_comes_out_by_time_then_order(steps in proptest::collection::vec((0u64..50, 0u32..40, 0u8..4), 1..300)) {
            let mut agenda = Agenda::new(&[20, 20]);
            let (mut rings, mut others) = ([None; 40], BTreeSet::new());
            for (number, (time, ring, step)) in steps.into_iter().enumerate() {
                let at = Time::from_ps(time);
                let player = Player { node: ring / 20, number: ring % 20 };
                match step {
                    0 => {
                        rings[ring as usize] = None;
                        agenda.leads(player, None);
                    }
                    1 => {
                        rings[ring as usize] = Some((time, u64::from(ring)));
                        agenda.leads(player, Some((at, EventKey(ring.into()))));
                    }
                    2 => {
                        others.insert((time, 40 + number as u64));
                        agenda.push(at, EventKey(40 + number as u64));
                    }
                    _ if (40..u64::MAX).contains(&agenda.at_hosts().1.0) => {
                        others.pop_first();
                        agenda.pop();
                    }
                    _ => {}
                }
                let never = (u64::MAX, u64::MAX);
                let link = rings[..20].iter().flatten().min().copied().unwrap_or(never);
                let hosts = rings[20..].iter().flatten().chain(others.first()).min().copied().unwrap_or(never);
                let plain = |(time, order): (Time, EventKey)| (time.as_ps(), order.0);
                prop_assert_eq!((plain(agenda.at_link(0)), plain(agenda.at_hosts())), (link, hosts));
                let node = usize::from(link.0 >= hosts.0);
                let (now, others) = (link.0.min(hosts.0), link.0.max(hosts.0));
                let next = Next { node, now: Time::from_ps(now), others: Time::from_ps(others) };
                prop_assert_eq!(agenda.next(Time::NEVER), next);
                let start = agenda.next(Time::ZERO);
                prop_assert_eq!((start.node, start.now, start.others.as_ps()), (1, Time::ZERO, link.0));
            }
        }

        /// A ring at each of few and of many links, against the times of all.
        #[test]
        fn the_first_and_the_second_of_many_links_are_found(
            links in prop_oneof![Just(3usize), Just(12), Just(13), Just(64), Just(100)],
            steps in proptest::collection::vec((0usize..100, 0u64..1000, any::<bool>()), 1..200),
        ) {
            let mut players = vec![1; links];
            players.push(0);
            let mut agenda = Agenda::new(&players);
            let mut times = vec![u64::MAX; links];
            for (link, time, leaves) in steps {
                let link = link % links;
                times[link] = if leaves { u64::MAX } else { time };
                let head = (!leaves).then(|| (Time::from_ps(time), EventKey(link as u64)));
                agenda.leads(Player { node: link as u32, number: 0 }, head);
                let Next { node, now, others } = agenda.next(Time::NEVER);
                let mut sorted = times.clone();
                sorted.sort_unstable();
                prop_assert_eq!((now.as_ps(), others.as_ps()), (sorted[0], sorted[1]));
                if now < Time::NEVER {
                    prop_assert_eq!(times[node], now.as_ps());
                }
            }
        }
    }
}
