//! Every packet that was sent and not acknowledged, in the order in which it was last sent.
//!
//! The packets of a burst are one entry as long as the same is true of all of them; when one of them is reported, believed
//! lost or retransmitted alone, each becomes an entry of its own. The order is a linked list, so a packet that is delivered,
//! believed lost or retransmitted is removed from it in constant time.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use fairhaul_units::Time;

/// Stands for no packet.
const NONE: u64 = u64::MAX;
/// The number of packets of a hint, which says in which burst the first of them is.
const PACKETS_PER_HINT: u64 = 16;

/// A packet, or what is true of each packet of a burst.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// When it was last sent.
    pub sent: Time,
    /// It is believed to be lost, or was before it was retransmitted.
    pub lost: bool,
    /// A retransmission of it is in flight.
    pub retransmission_in_flight: bool,
    /// It has been retransmitted at least once.
    pub ever_retransmitted: bool,
    /// It was reported.
    done: bool,
    /// It is in the order.
    listed: bool,
    /// The timer, and no packet that overtook it, made it believed lost.
    timed_out: bool,
    before: u64,
    after: u64,
}

impl SentPacket {
    /// How often it is in the network.
    pub fn copies(&self) -> u64 {
        if self.done { 0 } else { u64::from(!self.lost) + u64::from(self.retransmission_in_flight) }
    }

    /// Whether it waits to be retransmitted.
    pub fn waits(&self) -> bool {
        !self.done && self.lost && !self.retransmission_in_flight
    }

    /// Whether nothing has happened to it since it was sent.
    fn is_plain(&self) -> bool {
        !self.lost && !self.done && !self.ever_retransmitted
    }
}

/// The packets that were sent together. It stands in the order by the number of its last packet, which it keeps while others
/// are acknowledged.
#[derive(Clone, Debug)]
struct SentBurst {
    /// The numbers of its packets that are kept.
    first: u64,
    last: u64,
    /// What is true of each of them.
    all: SentPacket,
    /// The packets up to the last, where they differ; then each stands in the order by its own number.
    each: Option<Box<[SentPacket]>>,
}

impl SentBurst {
    /// What is true of a packet.
    fn at(&self, number: u64) -> &SentPacket {
        let behind = (self.last - number) as usize;
        self.each.as_ref().map_or(&self.all, |each| &each[each.len() - 1 - behind])
    }

    /// The same to be changed, of a packet that is an entry of its own or stands for all of them.
    fn at_mut(&mut self, number: u64) -> &mut SentPacket {
        let behind = (self.last - number) as usize;
        match &mut self.each {
            None => &mut self.all,
            Some(each) => {
                let place = each.len() - 1 - behind;
                &mut each[place]
            }
        }
    }

    fn packets(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Flight {
    bursts: VecDeque<SentBurst>,
    /// Bursts that are not kept any more.
    gone: u64,
    /// Of the packets of each hint, the place of the burst of the first, counted from the first burst of all; and the number of
    /// the first hint.
    hints: VecDeque<u64>,
    first_hint: u64,
    /// The number of the next packet.
    end: u64,
    /// The first and the last packet in the order.
    first: u64,
    last: u64,
}

impl Default for Flight {
    fn default() -> Flight {
        Flight {
            bursts: VecDeque::new(),
            gone: 0,
            hints: VecDeque::new(),
            first_hint: 0,
            end: 0,
            first: NONE,
            last: NONE,
        }
    }
}

impl Flight {
    /// `packets` that were never sent leave together, the next by number.
    pub fn add(&mut self, packets: u64, now: Time) {
        let (lost, retransmission_in_flight, ever_retransmitted) = (false, false, false);
        let all = SentPacket {
            sent: now,
            lost,
            retransmission_in_flight,
            ever_retransmitted,
            done: false,
            listed: false,
            timed_out: false,
            before: NONE,
            after: NONE,
        };
        let first = self.end;
        self.end += packets;
        let place = self.gone + self.bursts.len() as u64;
        let hints = self.end.div_ceil(PACKETS_PER_HINT) - first.div_ceil(PACKETS_PER_HINT);
        self.hints.extend((0..hints).map(|_| place));
        self.bursts.push_back(SentBurst { first, last: self.end - 1, all, each: None });
        self.append(self.end - 1);
    }

    /// A packet leaves once more.
    pub fn add_retransmission(&mut self, number: u64, now: Time) {
        let packet = self.take_out(number);
        (packet.sent, packet.retransmission_in_flight, packet.ever_retransmitted) = (now, true, true);
        self.append(number);
    }

    /// What left last did so with that stamp.
    pub fn stamp(&mut self, stamp: Time) {
        if self.last != NONE {
            self.entry(self.last).sent = stamp;
        }
    }

    /// The first packets below `end` are acknowledged, if nothing has happened to them since they left together: how many
    /// they are, and when they left.
    pub fn acknowledge_burst(&mut self, end: u64) -> Option<(u64, Time)> {
        let burst = self.bursts.front_mut()?;
        if burst.each.is_some() || !burst.all.is_plain() || burst.first >= end {
            return None;
        }
        let (packets, sent, last) = (burst.packets().min(end - burst.first), burst.all.sent, burst.last);
        if packets == burst.packets() {
            self.unlink(last);
            self.forget_burst();
        } else {
            burst.first = end;
        }
        Some((packets, sent))
    }

    /// The packets from `from` to before `to` are reported: if they begin with a burst to which nothing has happened since it
    /// left, that is, how many packets that are, and when they left.
    pub fn deliver_burst(&mut self, from: u64, to: u64) -> Option<(u64, Time)> {
        let place = self.find(from);
        let burst = &mut self.bursts[place];
        if burst.first != from || burst.last >= to || burst.each.is_some() || !burst.all.is_plain() {
            return None;
        }
        burst.all.done = true;
        let (packets, sent, last) = (burst.packets(), burst.all.sent, burst.last);
        self.unlink(last);
        Some((packets, sent))
    }

    /// A packet is reported, as it was until then.
    pub fn deliver(&mut self, number: u64) -> SentPacket {
        let packet = self.take_out(number);
        let before = *packet;
        packet.done = true;
        before
    }

    /// A packet is believed to be lost; `timed_out`: because the timer ran out.
    pub fn lose(&mut self, number: u64, timed_out: bool) {
        let packet = self.take_out(number);
        (packet.lost, packet.retransmission_in_flight, packet.timed_out) = (true, false, timed_out);
    }

    /// Nothing is lost after all; how many copies more are in the network. Of what waited to be retransmitted, what had
    /// timed out is looked at again, and what was overtaken is not before it is sent once more: in the kernel only the
    /// latter has left the order [LINUX, tcp_rack_detect_loss, tcp_undo_cwnd_reduction].
    pub fn undo_losses(&mut self) -> u64 {
        let mut copies = 0;
        for place in (0..self.bursts.len()).rev() {
            let SentBurst { first, last, ref each, .. } = self.bursts[place];
            if first < last && each.is_none() {
                continue; // none of it is lost
            }
            for number in (first..=last).rev() {
                let packet = *self.bursts[place].at(number);
                if packet.waits() && packet.timed_out {
                    self.prepend(number);
                }
                copies += u64::from(packet.lost && !packet.done);
                self.entry(number).lost = false;
            }
        }
        copies
    }

    /// All below `una` is acknowledged: whether any of it had been retransmitted.
    pub fn forget_below(&mut self, una: u64) -> bool {
        let mut any = false;
        while let Some(burst) = self.bursts.front_mut().filter(|burst| burst.first < una) {
            let end = una.min(burst.last + 1);
            any |= match burst.each {
                None => burst.all.ever_retransmitted,
                Some(_) => (burst.first..end).any(|number| burst.at(number).ever_retransmitted),
            };
            if end <= burst.last {
                burst.first = end;
                break;
            }
            self.forget_burst();
        }
        any
    }

    /// The first burst is not kept any more.
    fn forget_burst(&mut self) {
        self.bursts.pop_front();
        self.gone += 1;
        let first = self.bursts.front().map_or(self.end, |burst| burst.first);
        let needless = first / PACKETS_PER_HINT - self.first_hint;
        self.hints.drain(..(needless as usize).min(self.hints.len()));
        self.first_hint += needless;
    }

    /// When the packet with the lowest number was last sent, if one is kept.
    pub fn first_sent(&self) -> Option<Time> {
        self.bursts.front().map(|burst| burst.at(burst.first).sent)
    }

    /// A packet that is kept.
    pub fn at(&self, number: u64) -> &SentPacket {
        self.bursts[self.find(number)].at(number)
    }

    /// What stands in the order by that number: the numbers of the packets.
    pub fn together_with(&self, number: u64) -> RangeInclusive<u64> {
        let burst = &self.bursts[self.find(number)];
        if burst.each.is_some() { number..=number } else { burst.first..=burst.last }
    }

    /// The packets in the order in which they were last sent: the first, or that behind another; of packets that left together
    /// the last.
    pub fn next(&self, behind: Option<u64>) -> Option<u64> {
        let next = behind.map_or(self.first, |number| self.at(number).after);
        (next != NONE).then_some(next)
    }

    /// The memory that it takes, bytes.
    pub fn memory(&self) -> usize {
        let each = self.bursts.iter().filter_map(|burst| burst.each.as_ref()).map(|each| each.len());
        let hints = self.hints.capacity() * size_of::<u64>();
        hints
            + self.bursts.capacity() * size_of::<SentBurst>()
            + each.sum::<usize>() * size_of::<SentPacket>()
    }

    /// The place of the burst of a packet that is kept.
    fn find(&self, number: u64) -> usize {
        let hint = self.hints[(number / PACKETS_PER_HINT - self.first_hint) as usize];
        let mut place = hint.saturating_sub(self.gone) as usize;
        while self.bursts[place].last < number {
            place += 1;
        }
        place
    }

    /// What stands in the order by that number.
    fn entry(&mut self, number: u64) -> &mut SentPacket {
        let place = self.find(number);
        self.bursts[place].at_mut(number)
    }

    /// Takes a packet out of the order, alone.
    fn take_out(&mut self, number: u64) -> &mut SentPacket {
        self.separate(number);
        self.unlink(number);
        self.entry(number)
    }

    /// From now on a packet is an entry of its own, and so are the packets that left together with it.
    fn separate(&mut self, number: u64) {
        let place = self.find(number);
        let burst = &mut self.bursts[place];
        if burst.each.is_some() || burst.first == burst.last {
            return;
        }
        let &mut SentBurst { first, last, all, .. } = burst;
        let each = (first..=last).map(|number| SentPacket {
            before: if number == first { all.before } else { number - 1 },
            after: if number == last { all.after } else { number + 1 },
            ..all
        });
        burst.each = Some(each.collect());
        if !all.listed {
            return;
        }
        *if all.before == NONE { &mut self.first } else { &mut self.entry(all.before).after } = first;
    }

    fn append(&mut self, number: u64) {
        let last = std::mem::replace(&mut self.last, number);
        let packet = self.entry(number);
        (packet.before, packet.after, packet.listed) = (last, NONE, true);
        *if last == NONE { &mut self.first } else { &mut self.entry(last).after } = number;
    }

    fn prepend(&mut self, number: u64) {
        let first = std::mem::replace(&mut self.first, number);
        let packet = self.entry(number);
        (packet.before, packet.after, packet.listed) = (NONE, first, true);
        *if first == NONE { &mut self.last } else { &mut self.entry(first).before } = number;
    }

    fn unlink(&mut self, number: u64) {
        let packet = self.entry(number);
        if !std::mem::take(&mut packet.listed) {
            return;
        }
        let SentPacket { before, after, .. } = *packet;
        *if before == NONE { &mut self.first } else { &mut self.entry(before).after } = after;
        *if after == NONE { &mut self.last } else { &mut self.entry(after).before } = before;
    }
}

#[cfg(test)]
mod tests {
    use fairhaul_units::Span;
    use proptest::prelude::*;

    use super::*;

    fn sent(packets: u64) -> Flight {
        let mut flight = Flight::default();
        (0..packets).for_each(|n| flight.add(1, Time::ZERO + Span::from_ms(n)));
        flight
    }

    fn order(flight: &Flight) -> Vec<u64> {
        let numbers = std::iter::successors(flight.next(None), |&number| flight.next(Some(number)));
        numbers.collect()
    }

    #[test]
    fn what_is_sent_again_goes_to_the_end_and_what_is_lost_leaves_the_order() {
        let mut flight = sent(5);
        flight.lose(1, false);
        flight.deliver(3);
        assert_eq!((order(&flight), flight.at(1).waits()), (vec![0, 2, 4], true));
        flight.add_retransmission(1, Time::ZERO + Span::from_ms(9));
        flight.add_retransmission(0, Time::ZERO + Span::from_ms(9));
        assert_eq!(order(&flight), [2, 4, 1, 0]);
        // Number 0 was not believed lost, so it is twice in the network.
        assert_eq!([0, 1, 2, 3].map(|n| flight.at(n).copies()), [2, 1, 1, 0]);
        flight.deliver(0);
        flight.deliver(1);
        flight.forget_below(2);
        assert_eq!(order(&flight), [2, 4]);
    }

    #[test]
    fn what_waited_is_out_of_the_order_until_it_leaves_again() {
        let mut flight = sent(4);
        flight.lose(0, false);
        flight.lose(2, false);
        assert_eq!((flight.undo_losses(), order(&flight)), (2, vec![1, 3]));
        flight.lose(1, true);
        flight.lose(3, true);
        assert_eq!((flight.undo_losses(), order(&flight)), (2, vec![1, 3]));
        flight.add_retransmission(2, Time::ZERO + Span::from_ms(9));
        flight.deliver(0);
        assert_eq!(order(&flight), [1, 3, 2]);
    }

    /// Every operation on bursts gives what it gives on their packets, of which each is a burst of its own.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Send(u64),
        Deliver(u64),
        Lose(u64, bool),
        DeliverBurst(u64, u64),
        SendAgain(u64),
        Acknowledge(u64),
        Undo,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1u64..6).prop_map(Step::Send),
            (0u64..40).prop_map(Step::Deliver),
            (0u64..40, any::<bool>()).prop_map(|(number, timed_out)| Step::Lose(number, timed_out)),
            (0u64..40, 1u64..9).prop_map(|(from, most)| Step::DeliverBurst(from, most)),
            (0u64..40).prop_map(Step::SendAgain),
            (0u64..12).prop_map(Step::Acknowledge),
            Just(Step::Undo),
        ]
    }

    /// All below `end` is acknowledged, where all below `una` was: when the first of it left, and whether any was retransmitted.
    fn acknowledge(flight: &mut Flight, una: u64, end: u64) -> (Option<Time>, bool) {
        let (sent, mut next) = (flight.first_sent(), una);
        while let Some((packets, _)) = flight.acknowledge_burst(end) {
            next += packets;
        }
        (next..end).for_each(|number| _ = flight.deliver(number));
        (sent, flight.forget_below(end))
    }

    proptest! {
        #[test]
        fn packets_that_left_together_are_each_what_they_would_be_alone(
            steps in proptest::collection::vec(step(), 1..80),
        ) {
            let (mut bursts, mut singles) = (Flight::default(), Flight::default());
            let (mut una, mut end) = (0, 0);
            for (time, step) in (1..).zip(steps) {
                let now = Time::ZERO + Span::from_ms(time);
                let pick = |place: u64| (una < end).then(|| una + place % (end - una));
                match step {
                    Step::Send(packets) => {
                        bursts.add(packets, now);
                        (0..packets).for_each(|_| singles.add(1, now));
                        end += packets;
                    }
                    Step::Deliver(place) => if let Some(number) = pick(place) {
                        let [a, b] = [&mut bursts, &mut singles].map(|flight| flight.deliver(number));
                        prop_assert_eq!((a.sent, a.copies()), (b.sent, b.copies()));
                    },
                    Step::Lose(place, timed_out) => if let Some(number) = pick(place) {
                        [&mut bursts, &mut singles].into_iter().for_each(|flight| flight.lose(number, timed_out));
                    },
                    Step::DeliverBurst(place, most) => if let Some(number) = pick(place)
                        && let Some((packets, sent)) = bursts.deliver_burst(number, number + most) {
                        prop_assert!(packets <= most);
                        for number in number..number + packets {
                            let alone = singles.deliver(number);
                            prop_assert_eq!((alone.sent, alone.copies()), (sent, 1));
                        }
                    },
                    Step::SendAgain(place) => if let Some(number) = pick(place) {
                        [&mut bursts, &mut singles].into_iter().for_each(|flight| flight.add_retransmission(number, now));
                    },
                    Step::Acknowledge(packets) => {
                        let to = (una + packets).min(end);
                        prop_assert_eq!(acknowledge(&mut bursts, una, to), acknowledge(&mut singles, una, to));
                        una = to;
                    }
                    Step::Undo => prop_assert_eq!(bursts.undo_losses(), singles.undo_losses()),
                }
                let whole = |number: &u64| bursts.together_with(*number).collect::<Vec<_>>();
                prop_assert_eq!(order(&bursts).iter().flat_map(whole).collect::<Vec<_>>(), order(&singles));
                prop_assert_eq!(bursts.first_sent(), singles.first_sent());
                for number in una..end {
                    let [a, b] = [&bursts, &singles].map(|flight| *flight.at(number));
                    prop_assert_eq!((a.sent, a.copies(), a.waits()), (b.sent, b.copies(), b.waits()));
                }
            }
        }
    }
}
