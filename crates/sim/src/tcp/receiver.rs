//! The receiver: acknowledges what arrives [RFC 5681, 4.2], with SACK blocks [RFC 2018], and echoes
//! marks [RFC 3168], or exactly which packets were marked [RFC 8257].

mod accurate;
mod kernel;
mod opening;
mod reports;

use std::num::NonZeroU32;

use fairhaul_experiment::Hold;
use fairhaul_units::{Ack, Data, Ecn, Feedback, Span, Time};

use super::accecn::AccEcnFeedback;
use super::adaptive_delayed_ack::AdaptiveDelayedAck;
use super::receive_window::ReceiveWindow;
use super::runs::Runs;
use super::time_stamps;
use opening::Opening;

/// The receiving end of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The first packet that has not arrived.
    next: u64,
    /// The number behind the last packet of the transfer, which carries the end of the data (FIN); `u64::MAX`: not known.
    end: u64,
    out_of_order: Runs,
    /// The runs reported last, the latest first; `from` and `to` are packet numbers.
    recent: Vec<(u64, u64)>,
    reports: bool,
    /// Whether it reports duplicates (DSACK); and whether it does that or delays acknowledgements as the kernel
    /// does.
    sends_dsack: bool,
    is_special: bool,
    /// Whether it answers every packet at once, says of marks what is usual, and offers no window.
    is_plain: bool,
    /// Whether it is a host of Linux: its acknowledgements have its options, and its program has closed the connection.
    options: bool,
    is_closed: bool,
    /// Such a host has answered a request, and the sender may not have the answer.
    opening: Option<Box<Opening>>,
    /// The stamp of the last packet that came in order when nothing in order waited to be acknowledged (TS.Recent).
    recent_stamp: Time,
    /// How long an acknowledgement may be held, and the packets for which it leaves before; `None`: never.
    hold: Option<(Span, u32)>,
    /// Says that instead, as the kernel would.
    adaptive: Option<Box<AdaptiveDelayedAck>>,
    delayed: Option<DelayedAck>,
    /// The application reads only what follows in the same interrupt; it has read the packets below that number; and an
    /// acknowledgement is due once it has read all.
    reads_later: bool,
    read_below: u64,
    is_due: bool,
    /// What it offers, where its kernel sizes its buffer.
    window: Option<Box<ReceiveWindow>>,
    /// A marked packet has arrived, and none with CWR since [RFC 3168, 6.1.3]; or `exact`, and the
    /// last packet was marked.
    echoes: bool,
    exact: bool,
    /// What routers answered in the packets since the last acknowledgement, or `sums`, in all so far,
    /// bytes/s; `None`: the sender does not ask.
    answers: Option<i32>,
    sums: bool,
    /// Says of marks how many there were instead [RFC 9768].
    accurate: Option<Box<AccEcnFeedback>>,
}

/// An acknowledgement that is held back, for the packet that waits for it.
#[derive(Clone, Copy, Debug)]
struct DelayedAck {
    stamped: Time,
    arrived: Time,
    until: Time,
    /// How many packets it stands for.
    packets: u32,
}

impl Receiver {
    /// A receiver that reports blocks if `reports`, holds an acknowledgement for at most `hold`, and
    /// echoes each mark individually if `exact`.
    pub fn new(reports: bool, hold: Option<Hold>, exact: bool) -> Receiver {
        let (hold, adaptive) = match hold {
            None => (None, None),
            Some(Hold::For { most, packets }) => (Some((most, packets)), None),
            Some(Hold::Adaptive { quick }) => (None, Some(Box::new(AdaptiveDelayedAck::new(quick)))),
        };
        Receiver {
            next: 0,
            end: u64::MAX,
            out_of_order: Runs::default(),
            recent: Vec::new(),
            reports,
            sends_dsack: false,
            is_special: adaptive.is_some(),
            is_plain: hold.is_none() && adaptive.is_none() && !exact,
            options: false,
            is_closed: false,
            opening: None,
            recent_stamp: Time::ZERO,
            hold,
            adaptive,
            delayed: None,
            reads_later: false,
            read_below: 0,
            is_due: false,
            window: None,
            echoes: false,
            exact,
            answers: None,
            sums: false,
            accurate: None,
        }
    }

    /// The same with the sum of all answers of routers in each acknowledgement if `sums`, and not of
    /// those since the last.
    pub fn with_feedback_sum(self, sums: bool) -> Receiver {
        Receiver { sums, ..self }
    }

    /// The same that says of a packet if it had arrived before [RFC 2883], if `tells`.
    pub fn with_dsack(self, tells: bool) -> Receiver {
        let (is_special, is_plain) = (tells || self.is_special, !tells && self.is_plain);
        Receiver { sends_dsack: tells, is_special, is_plain, ..self }
    }

    /// The same whose acknowledgements have the options of a host of Linux, if `options`.
    pub fn with_options(self, options: bool) -> Receiver {
        Receiver { options, ..self }
    }

    /// The same that offers what `window` says.
    pub fn with_window(self, window: Option<Box<ReceiveWindow>>) -> Receiver {
        Receiver { is_plain: window.is_none() && self.is_plain, window, ..self }
    }

    /// The packet before the number `end` carries the end of the data (FIN): once all have arrived, the acknowledgement leaves
    /// at once, whatever else would hold it [RFC 9293, 3.10.7.4].
    pub fn set_end(&mut self, end: u64) {
        self.end = end;
    }

    /// Whether more follows in the same interrupt: the application reads all of it together, and what it has not read
    /// takes room, without which what came in order is acknowledged only then [LINUX, __tcp_ack_snd_check].
    pub fn set_reads_later(&mut self, later: bool) {
        self.reads_later = later;
    }

    /// The first packet that has not arrived: all before it are in order.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether it never holds an acknowledgement.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// When a held acknowledgement must go out, or the answer to a request once more.
    pub fn deadline(&self) -> Time {
        match &self.opening {
            Some(opening) => opening.due(),
            None => self.delayed.map_or(Time::NEVER, |delayed| delayed.until),
        }
    }

    /// The time of a held acknowledgement has come, or it must leave before.
    pub fn release(&mut self, now: Time) -> Option<Ack> {
        if let Some(opening) = self.opening.take() {
            return Some(self.answer_again(*opening, now));
        }
        let delayed = self.delayed.take()?;
        if let Some(window) = &mut self.window {
            window.releases(now);
        }
        if let Some(adaptive) = &mut self.adaptive {
            if delayed.until <= now {
                adaptive.on_expiry();
            }
            adaptive.leaves();
        }
        let mut ack = self.acknowledge(delayed.stamped, delayed.arrived);
        self.add_accurate(&mut ack);
        Some(ack)
    }

    /// Whether an acknowledgement is held that must leave before `data` is taken, since it says
    /// something else about marks [RFC 8257, 3.2], or what a later one would have no room for.
    //
    // Unclear in [RFC 8257, 3.2]: whether the immediate acknowledgement covers the packet that changes the
    // echo. Two are sent, as in Linux: one for the packets held so far, with the old echo, and one for that
    // packet, with the new echo. So an acknowledgement speaks for all packets that it covers.
    pub fn must_ack_before(&self, data: &Data) -> bool {
        self.exact && self.delayed.is_some() && self.echoes != (data.ecn == Ecn::Marked)
            || self.is_special && !self.is_old(data) && self.is_third_run(data)
    }

    /// Whether a packet is mistaken for one of long ago: it was sent before a packet that has arrived in order [RFC 7323, 5.3].
    /// So where a retransmission has filled the first gap, packets that left before it and are late are lost, too.
    #[inline(always)]
    fn is_old(&self, data: &Data) -> bool {
        time_stamps::is_old(data.stamped, self.recent_stamp)
    }

    /// A packet arrives at `now`, or packets that its host has merged: how many are new, and the acknowledgement that is
    /// caused.
    pub fn receive(&mut self, data: &Data, now: Time) -> (u8, Option<Ack>) {
        let ack = self.receive_next(data, now).or_else(|| self.receive_answered(data, now));
        if ack.is_some() { (1, ack) } else { self.receive_any(data, now) }
    }

    /// The same of a packet that is the next in order, while nothing has arrived beyond it, and changes nothing else: its
    /// acknowledgement. `None`: it is another one, and not received.
    #[inline(always)]
    pub fn receive_next(&mut self, data: &Data, now: Time) -> Option<Ack> {
        if !self.expects(data) || data.congestion.is_some() || self.answers.is_some() {
            return None;
        }
        Some(self.acknowledge_next(data, now))
    }

    /// The same where routers have answered.
    fn receive_answered(&mut self, data: &Data, now: Time) -> Option<Ack> {
        if !self.expects(data) {
            return None;
        }
        self.heed_router(data);
        let feedback = self.take_answers();
        Some(Ack { feedback, ..self.acknowledge_next(data, now) })
    }

    /// Whether a packet is just the next in order.
    #[inline(always)]
    fn expects(&self, data: &Data) -> bool {
        let is_plain = self.is_plain && !data.opens() && data.ecn != Ecn::Marked && !data.cwr;
        is_plain && data.number == self.next && self.out_of_order.is_empty()
    }

    #[inline(always)]
    fn acknowledge_next(&mut self, data: &Data, now: Time) -> Ack {
        let next = data.number + 1;
        self.next = next;
        self.out_of_order.advance(next);
        let &mut Receiver { echoes: ece, options, .. } = self;
        Ack { next, echo: data.stamped, arrived: now, ece, options, ..Ack::default() }
    }

    #[inline(never)]
    fn receive_any(&mut self, data: &Data, now: Time) -> (u8, Option<Ack>) {
        let (count, mut ack) = self.take(data, now);
        if let Some(ack) = &mut ack {
            self.add_accurate(ack);
        }
        (count, ack)
    }

    #[inline(always)]
    fn take(&mut self, data: &Data, now: Time) -> (u8, Option<Ack>) {
        if data.opens() {
            return (0, Some(self.open(data, now)));
        }
        if self.is_special && data.packets > 1 {
            return self.receive_merged(data, now);
        }
        self.heed_router(data);
        let in_order = data.number == self.next;
        if self.is_special {
            if self.is_old(data) {
                return (0, self.refuse(data, now));
            }
            self.heed_mark(data);
            self.heed_stamp(data, in_order);
        }
        let fresh = data.number >= self.next && !self.out_of_order.contains(data.number);
        let filled = in_order && !self.out_of_order.is_empty();
        let count = u8::from(fresh);
        let news = self.heed_echo(data, fresh);
        if in_order {
            self.next += 1;
            if filled {
                self.next += self.out_of_order.run_at(self.next);
            }
            self.out_of_order.advance(self.next);
        } else if fresh {
            self.remember(data.number, 1);
        }
        if self.window.is_some() {
            self.size_window(data, now);
        }
        if self.is_special && (self.adaptive.is_some() || !fresh) {
            return (count, self.answer(data, (in_order, filled, fresh), news, now));
        }
        if let (true, false, false, Some((most, packets))) =
            (in_order, filled, news || self.is_at_end(), self.hold)
        {
            let first = DelayedAck { stamped: data.stamped, arrived: now, until: now + most, packets: 0 };
            let held = self.delayed.get_or_insert(first);
            held.packets += 1;
            if held.packets < packets {
                return (count, None);
            }
        }
        // The stamp echoed is that of the packet which waited longest [RFC 7323, 4.3].
        let waited =
            self.delayed.take().map_or((data.stamped, now), |delayed| (delayed.stamped, delayed.arrived));
        (count, Some(self.acknowledge(waited.0, waited.1)))
    }

    /// Whether the end of its side (FIN) follows the acknowledgement that leaves now, and acknowledges the same: in Linux the
    /// program closes the connection once it has read all data [LINUX, tcp_send_fin].
    pub fn closes(&mut self) -> bool {
        let closes = self.options && self.is_at_end() && !self.is_closed;
        self.is_closed |= closes;
        closes
    }

    /// Whether all data have arrived.
    #[inline(always)]
    fn is_at_end(&self) -> bool {
        self.next == self.end
    }

    /// Adds what routers have answered in a packet.
    #[inline(always)]
    fn heed_router(&mut self, data: &Data) {
        if let Some(header) = data.congestion {
            self.answers = Some(self.answers.unwrap_or(0).wrapping_add(header.delta));
        }
    }

    /// What an acknowledgement says of the answers of routers.
    #[inline(always)]
    fn take_answers(&mut self) -> Feedback {
        let Some(answers) = self.answers else { return Feedback::NONE };
        if !self.sums {
            self.answers = Some(0);
        }
        Feedback::of(answers)
    }

    /// What is echoed from now on, after data of which some are new, if `fresh`; whether that is to be said at once.
    #[inline(always)]
    fn heed_echo(&mut self, data: &Data, fresh: bool) -> bool {
        if let Some(accurate) = &mut self.accurate {
            return accurate.arrives(data);
        }
        let marked = data.ecn == Ecn::Marked;
        let news = if self.exact {
            marked != self.echoes
        } else {
            // Unclear in [RFC 3168, 6.1.3]: whether the acknowledgement of a marked packet may be delayed. It
            // may not: the sender learns of the mark at once, and no acknowledgement covers both a mark and a
            // CWR after it.
            marked
        };
        if self.exact || fresh && (marked || data.cwr) {
            self.echoes = marked; // one with both was marked after the reduction
        }
        news
    }

    #[inline(always)]
    fn acknowledge(&mut self, stamped: Time, arrived: Time) -> Ack {
        self.is_due = false;
        let feedback = self.take_answers();
        let &mut Receiver { next, echoes: ece, options, .. } = self;
        let mut ack = Ack { next, echo: stamped, arrived, ece, options, feedback, ..Ack::default() };
        if let Some(window) = &mut self.window {
            ack.window = NonZeroU32::new((window.packets_from(self.next) as u32).max(1));
            window.is_offered(self.next);
        }
        if self.reports && !self.out_of_order.is_empty() {
            self.report(&mut ack);
        }
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Sending;

    fn data(number: u64) -> Data {
        let (stamped, ecn) = (Time::ZERO, Ecn::Capable);
        Data {
            number,
            stamped,
            size: 1000,
            packets: 1,
            sending: Sending::First,
            ecn,
            cwr: false,
            congestion: None,
        }
    }

    fn marked(number: u64) -> Data {
        Data { ecn: Ecn::Marked, ..data(number) }
    }

    fn reduced(number: u64) -> Data {
        Data { cwr: true, ..data(number) }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        ack.sacked()
            .iter()
            .filter(|b| b.from < b.to)
            .map(|b| (ack.next + u64::from(b.from), ack.next + u64::from(b.to)))
            .collect()
    }

    /// Times are multiples of 32 or 256 ms and larger by up to that, because the timer of the kernel counts so.
    #[test]
    fn an_answer_is_retransmitted_five_times_at_most_until_the_sender_has_it() {
        let request = Data { packets: 0, ..data(0) };
        let mut receiver = Receiver::new(true, Some(Hold::Adaptive { quick: 16 }), false).with_options(true);
        assert!(receiver.receive(&request, at(0)).1.expect("it is answered").opens);
        let mut times = Vec::new();
        while receiver.deadline() < Time::NEVER {
            times.push(receiver.deadline());
            assert!(receiver.release(receiver.deadline()).expect("an answer").opens);
        }
        assert_eq!(times, [1024, 3040, 7168, 15_360, 31_488].map(at));
        receiver.receive(&request, at(40_000));
        assert!(receiver.deadline() < at(41_100));
        receiver.is_answered();
        assert_eq!(receiver.deadline(), Time::NEVER);
    }

    /// Other requests make the time begin anew.
    #[test]
    fn a_second_request_is_answered_and_timed_again() {
        let request = |ms| Data { packets: 0, stamped: at(ms), ..data(0) };
        let mut receiver = Receiver::new(true, Some(Hold::Adaptive { quick: 16 }), false).with_options(true);
        receiver.receive(&request(0), at(10));
        let first = receiver.deadline();
        receiver.receive(&request(900), at(910));
        let second = receiver.deadline();
        assert!(second > first && second > at(1900));
        assert_eq!(receiver.release(second).expect("an answer").echo, at(900));
        let mut plain = Receiver::new(true, None, false);
        plain.receive(&request(0), at(10));
        assert_eq!(plain.deadline(), Time::NEVER);
    }

    #[test]
    fn the_latest_block_comes_first_and_joined_blocks_are_one() {
        let mut receiver = Receiver::new(true, None, false);
        let mut take = |n| receiver.receive(&data(n), at(0)).1.expect("no ACK is held");
        assert_eq!(take(0).next, 1);
        assert_eq!(blocks(&take(2)), [(2, 3)]);
        assert_eq!(blocks(&take(6)), [(6, 7), (2, 3)]);
        assert_eq!(blocks(&take(4)), [(4, 5), (6, 7), (2, 3)]);
        assert_eq!(blocks(&take(8)), [(8, 9), (4, 5), (6, 7)]);
        assert_eq!(blocks(&take(5)), [(4, 7), (8, 9), (2, 3)]);
        let ack = take(1);
        assert_eq!((ack.next, blocks(&ack)), (3, vec![(4, 7), (8, 9)]));
    }

    /// Four more runs have come since that of 11.
    #[test]
    fn a_kernel_does_not_join_a_run_with_one_that_it_no_longer_reports() {
        let latest = |hold| {
            let mut receiver = Receiver::new(true, hold, false);
            for n in [0, 11, 13, 15, 17, 19] {
                receiver.receive(&data(n), at(0));
            }
            [10, 18].map(|n| blocks(&receiver.receive(&data(n), at(0)).1.expect("no ACK is held"))[0])
        };
        assert_eq!(latest(None), [(10, 12), (17, 20)]);
        assert_eq!(latest(Some(Hold::Adaptive { quick: 100 })), [(10, 11), (17, 20)]);
    }

    #[test]
    fn a_delayed_acknowledgement_can_wait_for_more_packets_and_not_beyond_a_gap() {
        let hold = Hold::For { most: Span::from_ms(25), packets: 4 };
        let mut receiver = Receiver::new(true, Some(hold), false);
        let answers: Vec<_> =
            (0..10).filter_map(|n| receiver.receive(&data(n), at(n)).1).map(|ack| ack.next).collect();
        assert_eq!((answers, receiver.deadline()), (vec![4, 8], at(8 + 25)));
        assert_eq!(receiver.receive(&data(12), at(11)).1.map(|ack| ack.next), Some(10));
    }

    /// 1 and 3 are missing. The retransmission of 1 was stamped at 50 ms, so that 3, stamped at 8, is old when it comes.
    /// A packet before the gap is answered by its number, and what is stamped like the newest is taken.
    #[test]
    fn what_left_before_a_packet_that_filled_the_first_gap_is_refused() {
        let mut receiver = Receiver::new(true, None, false).with_dsack(true);
        let stamped = |number, ms| Data { stamped: at(ms), ..data(number) };
        let mut take = |number, ms, now| {
            let (fresh, ack) = receiver.receive(&stamped(number, ms), at(now));
            let ack = ack.expect("no ACK is held");
            (fresh, ack.next, ack.dsack(), blocks(&ack))
        };
        for (number, ms) in [(0, 5), (2, 7), (4, 9)] {
            take(number, ms, ms + 20);
        }
        assert_eq!(take(1, 50, 70), (1, 3, None, vec![(4, 5)]));
        assert_eq!(take(3, 8, 71), (0, 3, None, vec![(4, 5)]));
        assert_eq!(take(1, 6, 72), (0, 3, Some(1), vec![(4, 5)]));
        assert_eq!(take(3, 49, 73), (1, 5, None, vec![]));
    }

    // Requirement: rfc5681-4.2-a, rfc5681-4.2-b, rfc5681-4.2-c, rfc5681-4.2-d, rfc5681-4.2-e
    // Requirement: rfc5681-4.2-i
    #[test]
    fn every_second_packet_is_acknowledged_unless_the_first_waits_too_long() {
        let mut receiver = Receiver::new(true, Some(Hold::of_second(Span::from_ms(40))), false);
        assert_eq!(receiver.receive(&data(0), at(1)).1, None);
        assert_eq!(receiver.receive(&data(1), at(2)).1.map(|a| (a.next, a.arrived)), Some((2, at(1))));
        receiver.receive(&data(2), at(3));
        assert_eq!(receiver.deadline(), at(43));
        assert_eq!(receiver.release(at(43)).map(|a| a.next), Some(3));
        assert_eq!(receiver.deadline(), Time::NEVER);
    }

    /// Packets 0 to 2 are all; 2 would wait for another one, in both kinds of hosts.
    #[test]
    fn the_end_of_the_data_is_acknowledged_at_once() {
        for hold in [Hold::of_second(Span::from_ms(40)), Hold::Adaptive { quick: 0 }] {
            let answers = [u64::MAX, 3].map(|end| {
                let mut receiver = Receiver::new(true, Some(hold), false);
                receiver.set_end(end);
                [0, 1, 2].map(|n| receiver.receive(&data(n), at(n)).1.map(|ack| ack.next))
            });
            assert_eq!(answers[0][2], None, "{hold:?}");
            assert_eq!(answers[1], [answers[0][0], answers[0][1], Some(3)], "{hold:?}");
        }
    }

    // Requirement: rfc5681-3.2-a, rfc5681-3.2-b, rfc5681-4.2-f, rfc5681-4.2-g, rfc5681-4.2-h
    #[test]
    fn a_gap_and_its_filling_are_acknowledged_at_once() {
        let mut receiver = Receiver::new(true, Some(Hold::of_second(Span::from_ms(40))), false);
        assert!(receiver.receive(&data(1), at(0)).1.is_some());
        assert_eq!(receiver.receive(&data(0), at(1)).1.map(|a| a.next), Some(2));
    }

    // Requirement: rfc3168-6.1.1-e
    #[test]
    fn a_mark_is_echoed_until_a_packet_says_that_the_window_was_reduced() {
        let mut receiver = Receiver::new(true, None, false);
        let arrivals =
            [data(0), marked(1), data(2), data(4), marked(3), reduced(5), data(6), marked(7), reduced(8)];
        let echoed = arrivals.map(|data| receiver.receive(&data, at(0)).1.expect("no ACK is held").ece);
        assert_eq!(echoed, [false, true, true, true, true, false, false, true, false]);
        // A reduction is said by a packet that is itself marked: the mark is the later of the two.
        let both = Data { cwr: true, ..marked(9) };
        assert!(receiver.receive(&both, at(0)).1.is_some_and(|ack| ack.ece));
        // A copy of what has arrived says nothing new.
        assert!(receiver.receive(&reduced(8), at(0)).1.is_some_and(|ack| ack.ece));
    }

    // Requirement: rfc3168-6.1.5-b
    #[test]
    fn a_mark_on_a_copy_of_what_has_arrived_is_not_echoed() {
        let mut receiver = Receiver::new(true, None, false);
        let echoed = [data(0), marked(0), data(1)].map(|data| receiver.receive(&data, at(0)).1);
        assert_eq!(echoed.map(|ack| ack.expect("no ACK is held").ece), [false; 3]);
    }

    #[test]
    fn a_marked_packet_is_acknowledged_at_once_and_those_after_it_wait_as_ever() {
        let mut receiver = Receiver::new(true, Some(Hold::of_second(Span::from_ms(40))), false);
        let mut take = |data: Data| receiver.receive(&data, at(0)).1.map(|ack| (ack.next, ack.ece));
        assert_eq!(take(marked(0)), Some((1, true)));
        assert_eq!(take(data(1)), None);
        assert_eq!(take(data(2)), Some((3, true)));
        assert_eq!(take(data(3)), None);
        // With the one that waits: it was not marked.
        assert_eq!(take(reduced(4)), Some((5, false)));
        assert_eq!(take(data(5)), None);
        assert_eq!(take(marked(6)), Some((7, true)));
    }

    /// Where nothing turns, every second packet is acknowledged. Packet 3 turns the echo while 2
    /// waits: 2 is acknowledged by the old one and 3 at once; 4 waits, and 5 goes with it.
    // Requirement: rfc8257-3.2-a, rfc8257-3.2-b
    #[test]
    fn an_exact_echo_speaks_for_all_that_an_acknowledgement_covers() {
        let mut receiver = Receiver::new(true, Some(Hold::of_second(Span::from_ms(40))), true);
        let mut acks = Vec::new();
        for packet in [data(0), data(1), data(2), marked(3), marked(4), marked(5), reduced(6), marked(7)] {
            if receiver.must_ack_before(&packet) {
                acks.extend(receiver.release(at(0)));
            }
            acks.extend(receiver.receive(&packet, at(0)).1);
        }
        let acks: Vec<_> = acks.iter().map(|ack| (ack.next, ack.ece)).collect();
        assert_eq!(acks, [(2, false), (3, false), (4, true), (6, true), (7, false), (8, true)]);
    }

    #[test]
    fn what_arrives_twice_is_acknowledged_and_not_new() {
        let mut receiver = Receiver::new(true, None, false);
        receiver.receive(&data(0), at(0));
        receiver.receive(&data(2), at(0));
        assert_eq!([0, 2].map(|number| receiver.receive(&data(number), at(1)).0), [0, 0]);
    }
}
