//! The card of a receiver and what polls it: packets wait for its interrupt, and those of one poll that follow each other
//! are merged (receive offload), as by Linux.
//!
//! What is merged is what lies in the ring between two polls, not what the sender sent as a burst.

use std::collections::VecDeque;

use fairhaul_experiment::{Flow, Traffic};
use fairhaul_path::card::{Interrupts, LARGEST_MERGE, Moderation, Noise, Processor};
use fairhaul_units::{Chance, Data, Span, Time};

use super::time_stamps;

/// Packets that one poll takes (NAPI_POLL_WEIGHT); what follows is merged anew, as with a clock of fewer than 1000 Hz.
const POLL: u8 = 64;
/// Polls after which programs get the processor if more is there (netdev_budget of 300 packets): what has come is read.
const POLLS: u8 = 5;

/// See the module.
#[derive(Clone)]
pub struct Card {
    interrupts: Interrupts,
    processor: Option<Processor>,
    /// The random delay of a packet before it is in the ring.
    noise: Noise,
    chance: Chance,
    merges: bool,
    /// The time from packet to packet of a burst.
    spacing: Span,
    ring: VecDeque<InRing>,
}

/// Packets in the ring, of which the first is there at a time, and the others one after the other.
#[derive(Clone, Copy)]
struct InRing {
    at: Time,
    data: Data,
}

impl Card {
    /// The card of the receiver of the connection with that number, at which packets of a burst arrive with that `spacing`;
    /// `None`: its host has none that does anything.
    pub fn of(flow: &Flow, serial: u32, seed: u64, spacing: Span) -> Option<Card> {
        let host = flow.host.as_deref()?;
        let is_idle = host.moderation == Moderation::NONE && host.noise.is_none() && host.processor.is_none();
        (host.gro || !is_idle).then(|| Card {
            interrupts: Interrupts::new(host.moderation),
            processor: host.processor,
            noise: host.noise,
            chance: Chance::stream(seed, "card", serial.into()),
            merges: host.gro && !matches!(flow.traffic, Traffic::Cbr { .. }),
            spacing,
            ring: VecDeque::new(),
        })
    }

    /// When its next interrupt is.
    pub fn due(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |first| self.interrupts.due(first.at))
    }

    /// Whether nothing waits in it.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// A packet arrives at `now`, or the first of a burst. Each has a delay of its own.
    pub fn arrive(&mut self, data: Data, now: Time) {
        if data.packets > 1 && !self.noise.is_none() {
            for (place, one) in (0..).zip(data.each()) {
                self.arrive(one, now + self.spacing * place);
            }
            return;
        }
        let mut at = now;
        if !self.noise.is_none() {
            at = now + self.noise.draw(&mut self.chance);
        }
        // The order is kept, also behind the last packet of a burst.
        let last =
            self.ring.back().map_or(Time::ZERO, |last| self.time_of(last, last.data.packets.max(1) - 1));
        let at = at.max(last);
        self.interrupts.arrive(at, data.packets.max(1).into(), self.spacing);
        self.ring.push_back(InRing { at, data });
    }

    /// When the packet with that many of its burst before it is in the ring.
    fn time_of(&self, waiting: &InRing, before: u8) -> Time {
        waiting.at + self.spacing * u64::from(before)
    }

    /// The interrupt that is due: calls `each` with what it hands over, in order, and whether more follows.
    pub fn interrupt(&mut self, mut each: impl FnMut(Data, bool)) {
        let due = self.due();
        let (mut packets, mut bytes, mut merges) = (0, 0, 0);
        let mut each = |data: Data, more| {
            packets += u64::from(data.packets.max(1));
            bytes += u64::from(data.size);
            merges += 1;
            each(data, more);
        };
        let mut poll = Poll { merged: None, merges: self.merges, left: POLL, polls: 0 };
        while let Some(&waiting) = self.ring.front().filter(|waiting| waiting.at <= due) {
            let all = waiting.data.packets.max(1);
            let here = if self.spacing.is_zero() || all == 1 {
                all
            } else {
                all.min(((due - waiting.at) / self.spacing + 1).min(u8::MAX.into()) as u8)
            };
            if here == all {
                self.ring.pop_front();
                poll.take(waiting.data, &mut each);
                continue;
            }
            poll.take(waiting.data.part(0, here), &mut each);
            let rest = InRing { at: self.time_of(&waiting, here), data: waiting.data.part(here, all - here) };
            self.ring[0] = rest;
        }
        poll.merged.into_iter().for_each(|data| each(data, false));
        let work = self.processor.map_or(Span::ZERO, |costs| costs.takes(merges, packets, bytes));
        self.interrupts.handed_over(due, packets, bytes, work);
        let ring = self.ring.iter().map(|waiting| (waiting.at, waiting.data.packets.max(1).into()));
        self.interrupts.keep(ring, self.spacing);
    }

    /// What waits in it, bytes.
    pub fn memory(&self) -> u64 {
        (self.ring.capacity() * size_of::<InRing>()) as u64
    }
}

/// What an interrupt hands over, in polls.
struct Poll {
    /// What has been merged and may still grow.
    merged: Option<Data>,
    merges: bool,
    /// Packets that this poll still takes, and polls since what has come was read.
    left: u8,
    polls: u8,
}

impl Poll {
    /// Takes packets of a burst: calls `each` with what is complete by that.
    fn take(&mut self, data: Data, each: &mut impl FnMut(Data, bool)) {
        if data.packets <= 1 {
            return self.take_part(data, each);
        }
        let mut taken = 0;
        while taken < data.packets {
            let left = data.packets - taken;
            let most = (LARGEST_MERGE / data.packet_size()).max(1);
            let room = self.room(&data.part(taken, 1)).unwrap_or(most).min(self.left.into());
            let here = if self.merges { left.min(room.min(u32::from(u8::MAX)) as u8) } else { 1 };
            self.take_part(data.part(taken, here), each);
            taken += here;
        }
    }

    /// How many packets like `data` may join what has been merged; `None`: it cannot.
    fn room(&self, data: &Data) -> Option<u32> {
        let merged = self.merged.as_ref().filter(|merged| self.left < POLL && follows(merged, data))?;
        Some((LARGEST_MERGE - merged.size) / data.size)
    }

    /// Takes a packet, or several that fit into what has been merged, or into one of their own.
    fn take_part(&mut self, data: Data, each: &mut impl FnMut(Data, bool)) {
        let is_read = self.left == POLL && self.polls == POLLS;
        if is_read {
            self.polls = 0;
        }
        match &mut self.merged {
            Some(first) if self.merges && self.left < POLL && follows(first, &data) => {
                first.size += data.size;
                first.packets += data.packets;
                first.sending = data.sending;
            }
            merged => merged.replace(data).into_iter().for_each(|data| each(data, !is_read)),
        }
        self.left -= data.packets.max(1);
        if self.left == 0 {
            (self.left, self.polls) = (POLL, self.polls + 1);
        }
    }
}

/// Whether packets join those merged so far: they are the next in order, with the same time stamp and marks, as long as those
/// before them, and these do not end with the end of a burst [LINUX, tcp_gro_receive].
fn follows(merged: &Data, data: &Data) -> bool {
    let (before, packets) = (u32::from(merged.packets), u32::from(data.packets));
    let is_next = data.number == merged.end();
    let is_plain =
        !data.opens() && !merged.opens() && merged.congestion.is_none() && data.congestion.is_none();
    is_next
        && is_plain
        && !merged.sending.ends_burst()
        && data.size * before <= merged.size * packets
        && merged.size + data.size <= LARGEST_MERGE
        && merged.ecn == data.ecn
        && merged.cwr == data.cwr
        && time_stamps::tick(merged.stamped) == time_stamps::tick(data.stamped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{Ecn, Sending};

    fn card(moderation: Span, noise: Span) -> Card {
        Card {
            interrupts: Interrupts::new(Moderation::Every(moderation)),
            processor: None,
            noise: Noise::Uniform(noise),
            chance: Chance::stream(1, "card", 0),
            merges: true,
            spacing: Span::from_us(10),
            ring: VecDeque::new(),
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn data(number: u64) -> Data {
        Data {
            number,
            stamped: Time::ZERO,
            size: 1500,
            packets: 1,
            sending: Sending::Following,
            ecn: Ecn::Capable,
            cwr: false,
            congestion: None,
        }
    }

    /// A burst is in the ring as its packets are that arrive one by one, 10 us apart.
    #[test]
    fn each_packet_of_a_burst_is_delayed_by_itself() {
        let mut alone = card(Span::ZERO, Span::from_us(50));
        let mut together = alone.clone();
        let burst = Data { packets: 3, size: 4500, sending: Sending::Whole, ..data(0) };
        together.arrive(burst, at(100));
        (0..).zip(burst.each()).for_each(|(place, data)| alone.arrive(data, at(100 + 10 * place)));
        let times = |card: &Card| card.ring.iter().map(|waiting| waiting.at).collect::<Vec<_>>();
        assert_eq!((times(&together), together.ring.len()), (times(&alone), 3));
        assert!(times(&alone).is_sorted());
    }

    /// First number and count of what an interrupt hands over, and whether more follows.
    fn handed_over(card: &mut Card) -> Vec<(u64, u8, bool)> {
        let mut out = Vec::new();
        card.interrupt(|data, more| out.push((data.number, data.packets, more)));
        out
    }

    /// The first packet after a pause is handed over at once, and those of the next 50 us together.
    #[test]
    fn interrupts_are_at_least_the_interval_apart() {
        let mut card = card(Span::from_us(50), Span::ZERO);
        card.arrive(data(0), at(100));
        assert_eq!((card.due(), handed_over(&mut card)), (at(100), vec![(0, 1, false)]));
        (1..4).for_each(|number| card.arrive(data(number), at(100 + 10 * number)));
        assert_eq!((card.due(), handed_over(&mut card)), (at(150), vec![(1, 3, false)]));
        assert_eq!((card.due(), card.is_empty()), (Time::NEVER, true));
        card.arrive(data(4), at(500));
        assert_eq!(card.due(), at(500));
    }

    /// A gap, another mark, another millisecond of the stamp, the end of a burst, and 64 packets of a poll end a merge.
    #[test]
    fn only_packets_that_continue_each_other_are_merged() {
        let mut card = card(Span::ZERO, Span::ZERO);
        let last = Data { sending: Sending::Last, ..data(6) };
        let marked = Data { ecn: Ecn::Marked, ..data(8) };
        let later = Data { stamped: at(1000), ..data(10) };
        let arrivals = [data(0), data(1), data(4), data(5), last, data(7), marked, data(9), later];
        arrivals.into_iter().for_each(|data| card.arrive(data, at(5)));
        let all = [(0, 2, true), (4, 3, true), (7, 1, true), (8, 1, true), (9, 1, true), (10, 1, false)];
        assert_eq!(handed_over(&mut card), all);
        let small = |number| Data { size: 100, ..data(number) };
        (0..70).for_each(|number| card.arrive(small(number), at(9)));
        assert_eq!(handed_over(&mut card), [(0, 64, true), (64, 6, false)]);
        // 43 packets of 1500 B are less than 64 KiB, 44 are more.
        (0..45).for_each(|number| card.arrive(data(number), at(9)));
        assert_eq!(handed_over(&mut card), [(0, 43, true), (43, 2, false)]);
    }

    /// Of 700 packets, 320 are read together.
    #[test]
    fn programs_read_after_five_polls() {
        let mut card = card(Span::ZERO, Span::ZERO);
        (0..700).for_each(|number| card.arrive(data(number), at(5)));
        let mut read = 0;
        let handed = handed_over(&mut card).into_iter().filter_map(|(_, packets, more)| {
            read += u64::from(packets);
            (!more).then_some(read)
        });
        assert_eq!(handed.collect::<Vec<_>>(), [320, 640, 700]);
    }

    /// A host that works for 30 us on a packet takes the next ones over together.
    #[test]
    fn a_busy_host_takes_more_over_at_once() {
        let costs = Processor { burst: Span::from_us(20), kilobyte: Span::ZERO, packet: Span::from_us(10) };
        let mut card = Card { processor: Some(costs), ..card(Span::ZERO, Span::ZERO) };
        (0..3).for_each(|number| card.arrive(data(number), at(100 + 10 * number)));
        assert_eq!((card.due(), handed_over(&mut card)), (at(100), vec![(0, 1, false)]));
        assert_eq!((card.due(), handed_over(&mut card)), (at(130), vec![(1, 2, false)]));
        card.arrive(data(3), at(140));
        assert_eq!(card.due(), at(170));
    }

    #[test]
    fn noise_keeps_the_order_and_its_range() {
        let mut card = card(Span::ZERO, Span::from_us(50));
        (0..200).for_each(|number| card.arrive(Data { sending: Sending::First, ..data(number) }, at(number)));
        let times: Vec<Time> = card.ring.iter().map(|waiting| waiting.at).collect();
        assert!(times.is_sorted());
        let delays = (0..200).zip(&times).map(|(number, time)| time.since(at(number)));
        assert!(delays.into_iter().all(|delay| delay < Span::from_us(50)));
    }
}
