//! RACK: loss detection by time [RFC 8985, 6], as in Linux. A packet is lost once a packet that was sent later was
//! delivered, and a round trip and the reordering window have passed since it was sent.
//!
//! Time also reveals a retransmission that was lost again, and reordered packets are not mistaken for lost as long as they
//! are late by less than the reordering window.

use std::collections::BTreeSet;

use fairhaul_units::{Ack, Span, Time};

use super::dup_threshold::DUP_THRESHOLD;
use super::flight::{Flight, SentPacket};
use crate::tcp::{RttEstimator, Scoreboard};

/// The reordering window grows by one part of this of the smallest round trip with each round in which a packet was
/// retransmitted needlessly.
const REORDER_PARTS: u64 = 4;
/// The most of such parts, and the number of recoveries for which they last (TCP_RACK_RECOVERY_THRESH).
const MOST_REORDER_STEPS: u64 = 255;
const REORDER_PERSIST: u32 = 16;
/// The largest degree of reordering that is remembered, packets (tcp_max_reordering).
const MOST_DEGREE: u64 = 300;

/// The time, and the round-trip times that are known.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The time.
    pub now: Time,
    /// The smallest sample of recent time [RFC 8985, 6.2].
    pub min_rtt: Span,
    /// The smoothed round-trip time.
    pub srtt: Span,
}

impl Timing {
    /// That of `now`, with what an estimator knows.
    pub fn of(rtt: &RttEstimator, now: Time) -> Timing {
        Timing { now, min_rtt: rtt.smallest_of_late(), srtt: rtt.smoothed() }
    }
}

/// What the sender knows of the times at which packets were sent; the scoreboard counts them.
#[derive(Clone, Debug)]
pub struct Rack {
    flight: Flight,
    /// The packet that left last of all delivered packets, and the round trip of the last delivered.
    latest: (Time, u64),
    rtt: Span,
    /// The same of the part of an acknowledgement that is being taken, if it delivers any.
    rtt_by_ack: Option<Span>,
    /// A packet was delivered since losses were looked for.
    advanced: bool,
    /// Round trip of a packet in the last acknowledgement that was sent once; and when the packet left that left last of
    /// all that it delivered.
    sample: Option<Span>,
    last_delivered: Time,
    /// The first packet above all that were delivered, and whether one below it came later.
    highest: u64,
    reordered: bool,
    /// How far below it one came, packets, at least the usual threshold (`reordering`).
    degree: u64,
    /// Of the packets of the last acknowledgement that were sent once: the first; and whether it reported any beyond a
    /// gap.
    first_original: Option<u64>,
    has_reported: bool,
    /// The retransmitted packet that it reported to have come twice, if that was not acknowledged in order before [LINUX,
    /// tcp_sacktag_one].
    pub(super) came_twice: Option<u64>,
    reorder_steps: u64,
    persist: u32,
    /// Nothing sent needlessly counts until that is acknowledged.
    round_end: u64,
    /// Packets marked lost and not delivered, and retransmissions in flight.
    lost: u64,
    retransmissions: u64,
    /// The lost packets to retransmit.
    waiting: BTreeSet<u64>,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            flight: Flight::default(),
            latest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            rtt_by_ack: None,
            advanced: false,
            sample: None,
            last_delivered: Time::ZERO,
            highest: 0,
            reordered: false,
            degree: DUP_THRESHOLD,
            first_original: None,
            has_reported: false,
            came_twice: None,
            reorder_steps: 1,
            persist: 0,
            round_end: 0,
            lost: 0,
            retransmissions: 0,
            waiting: BTreeSet::new(),
        }
    }
}

impl Rack {
    /// The memory that it takes, bytes.
    pub fn memory(&self) -> usize {
        self.flight.memory()
    }

    /// `packets` leave together for the first time.
    pub fn send_new(&mut self, packets: u64, now: Time) {
        self.flight.add(packets, now);
    }

    /// A packet leaves once more.
    pub fn retransmit(&mut self, board: &mut Scoreboard, number: u64, now: Time) {
        self.retransmissions += u64::from(!self.flight.at(number).retransmission_in_flight);
        let before = self.flight.at(number).copies();
        self.flight.add_retransmission(number, now);
        self.waiting.remove(&number);
        board.enter(self.flight.at(number).copies() - before);
    }

    /// What left last did so with that stamp.
    pub fn launched(&mut self, stamp: Time) {
        self.flight.stamp(stamp);
    }

    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    pub fn take_ack(&mut self, board: &mut Scoreboard, ack: &Ack, timing: Timing) -> u64 {
        let highest = self.highest;
        (self.sample, self.last_delivered, self.first_original) = (None, Time::ZERO, None);
        self.came_twice = ack.dsack().filter(|&number| self.came_after_its_copy(board, number));
        let whole = self.take_bursts(board, ack.next, timing);
        let mut deliver = |number| self.deliver(number, ack, timing);
        let in_order = whole + board.advance(ack.next, &mut deliver);
        let in_order_rtt = std::mem::take(&mut self.rtt_by_ack);
        let in_order_sample = self.sample.take();
        let reported = board.report(&by_number(ack), |from, to| {
            if let Some((packets, sent)) = self.flight.deliver_burst(from, to) {
                self.deliver_originals(from, packets, sent, timing);
                return (packets, packets);
            }
            (1, self.deliver(from, ack, timing))
        });
        // What is acknowledged with a retransmission may have come long before [LINUX, FLAG_RETRANS_DATA_ACKED].
        if !self.flight.forget_below(board.una()) {
            self.sample = self.sample.or(in_order_sample);
        }
        // The kernel takes what is in order after what is beyond a gap: where the acknowledgement of a packet was delayed,
        // the round trip is long [LINUX, tcp_sacktag_write_queue, tcp_clean_rtx_queue].
        if let Some(rtt) = in_order_rtt.or(std::mem::take(&mut self.rtt_by_ack)) {
            self.rtt = rtt;
        }
        self.has_reported = reported > 0;
        let late = self.first_original.into_iter().chain(self.came_twice).filter(|&number| number < highest);
        if let Some(late) = late.min() {
            self.note_reordering(late);
        }
        in_order + reported
    }

    /// Takes what is acknowledged of bursts to which nothing has happened, up to the first other packet: how many packets.
    fn take_bursts(&mut self, board: &mut Scoreboard, next: u64, timing: Timing) -> u64 {
        let (una, end) = (board.una(), next.min(board.next()));
        while board.una() < end && board.reported() == 0 {
            let number = board.una();
            let Some((packets, sent)) = self.flight.acknowledge_burst(end) else { break };
            board.advance_in_order(number + packets, packets);
            self.deliver_originals(number, packets, sent, timing);
        }
        board.una() - una
    }

    /// `packets` from that number on, which were sent together and once, are delivered.
    fn deliver_originals(&mut self, number: u64, packets: u64, sent: Time, timing: Timing) {
        let (end, rtt) = (number + packets, timing.now.since(sent));
        self.first_original = Some(self.first_original.map_or(number, |first| first.min(number)));
        self.highest = self.highest.max(end);
        self.last_delivered = self.last_delivered.max(sent);
        (self.advanced, self.rtt_by_ack, self.sample) = (true, Some(rtt), Some(rtt));
        self.latest = self.latest.max((sent, end - 1));
    }

    /// Whether a packet that has now arrived twice was reported before, beyond the cumulative acknowledgement, after it
    /// had been retransmitted.
    fn came_after_its_copy(&self, board: &Scoreboard, number: u64) -> bool {
        let outstanding = number >= board.una() && number < board.next();
        outstanding && board.is_reported(number) && self.flight.at(number).ever_retransmitted
    }

    /// A packet came later than one above it, and was no retransmission [LINUX, tcp_check_sack_reordering].
    pub fn note_reordering(&mut self, number: u64) {
        self.reordered = true;
        self.degree = self.degree.max((self.highest - number).min(MOST_DEGREE));
    }

    /// Whether packets come so late that what is delivered beyond a gap lets the window grow [LINUX,
    /// tcp_may_raise_cwnd].
    pub fn grows_beyond_gaps(&self) -> bool {
        self.degree > DUP_THRESHOLD
    }

    /// The first of the packets that the last acknowledgement delivered and that were sent once.
    pub fn first_original(&self) -> Option<u64> {
        self.first_original
    }

    /// Whether the last acknowledgement reported a packet beyond a gap that had not been.
    pub fn has_reported(&self) -> bool {
        self.has_reported
    }

    /// Duplicates have shown that all retransmissions of a recovery were needless: the wider reordering window lasts
    /// for one recovery more [LINUX, tcp_try_undo_dsack].
    pub fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(REORDER_PERSIST);
    }

    /// A packet was retransmitted needlessly; `next`: all below it was sent [RFC 8985, 6.2 step 4].
    //
    // Differs from [RFC 8985, 6.2]: the reordering window widens only if packets have been reordered, as in
    // Linux.
    pub fn widen_reorder_window(&mut self, una: u64, next: u64) {
        if self.reordered && una >= self.round_end {
            self.reorder_steps = (self.reorder_steps + 1).min(MOST_REORDER_STEPS);
            (self.round_end, self.persist) = (next, REORDER_PERSIST);
        }
    }

    /// A recovery is over.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.reorder_steps = 1;
        }
    }

    /// Marks packets lost, if an acknowledgement delivered something since the last call; how long until the last of
    /// the overtaken packets would be lost [RFC 8985, 6.2 step 5].
    pub fn detect_if_advanced(
        &mut self,
        board: &mut Scoreboard,
        recovering: bool,
        timing: Timing,
    ) -> Option<Span> {
        if std::mem::take(&mut self.advanced) { self.detect_losses(board, recovering, timing) } else { None }
    }

    /// The same, whether or not a packet was delivered.
    pub fn detect_losses(
        &mut self,
        board: &mut Scoreboard,
        recovering: bool,
        timing: Timing,
    ) -> Option<Span> {
        let due = self.rtt + self.reorder_window(board, recovering, timing);
        let (mut wait, mut next) = (None, self.flight.next(None));
        while let Some(number) = next {
            let sent = self.flight.at(number).sent;
            if (sent, number) >= self.latest {
                break;
            }
            next = self.flight.next(Some(number));
            let age = timing.now.since(sent);
            if age >= due {
                self.flight.together_with(number).for_each(|number| self.lose(board, number, false));
            } else {
                wait = wait.max(Some(due - age));
            }
        }
        wait
    }

    /// The timer ran out: the first packet is lost, and what left at least a round trip ago
    /// [RFC 8985, 6.3].
    pub fn mark_lost_on_timeout(&mut self, board: &mut Scoreboard, now: Time) {
        for number in board.una()..board.next() {
            let packet = self.flight.at(number);
            let old = number == board.una() || now.since(packet.sent) >= self.rtt;
            if packet.copies() > 0 && old {
                self.lose(board, number, true);
            }
        }
    }

    /// A timeout after many packets were reported beyond a gap: they were not as late as that [LINUX, tcp_enter_loss].
    pub fn doubt_degree(&mut self, board: &Scoreboard) {
        if board.reported() >= DUP_THRESHOLD {
            self.degree = DUP_THRESHOLD;
        }
    }

    /// The packets marked lost were only late.
    pub fn undo_losses(&mut self, board: &mut Scoreboard) {
        board.enter(self.flight.undo_losses());
        self.lost = 0;
        self.waiting.clear();
    }

    /// The lost packet to retransmit next, if any.
    pub fn next_lost_to_retransmit(&self) -> Option<u64> {
        self.waiting.first().copied()
    }

    /// Whether a packet is marked lost.
    pub fn has_loss(&self) -> bool {
        self.lost > 0
    }

    /// When the first packet left last, if one is outstanding.
    pub fn first_sent(&self) -> Option<Time> {
        self.flight.first_sent()
    }

    /// When the packet left that left last of all delivered packets.
    pub fn latest_sent(&self) -> Time {
        self.latest.0
    }

    /// When the packet left that left last of the packets that the last acknowledgement delivered, and when the one that
    /// left first of those in flight.
    pub fn delivery_times(&self) -> (Time, Time) {
        let oldest = self.flight.next(None).map_or(Time::NEVER, |number| self.flight.at(number).sent);
        (self.last_delivered, oldest)
    }

    /// Retransmissions in flight.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Round trip of the last packet that the last acknowledgement delivered and that was sent once.
    pub fn sample(&self) -> Option<Span> {
        self.sample
    }

    /// Round trip of the last delivered packet (rack.rtt_us).
    pub fn latest_rtt(&self) -> Span {
        self.rtt
    }

    /// The reordering window: how late a packet may be without being lost.
    fn reorder_window(&self, board: &Scoreboard, recovering: bool, timing: Timing) -> Span {
        if !self.reordered && (recovering || board.reported() >= self.degree) {
            return Span::ZERO;
        }
        (timing.min_rtt / REORDER_PARTS * self.reorder_steps).min(timing.srtt)
    }

    fn lose(&mut self, board: &mut Scoreboard, number: u64, timed_out: bool) {
        let SentPacket { lost, retransmission_in_flight, .. } = *self.flight.at(number);
        board.lose(self.flight.at(number).copies());
        self.flight.lose(number, timed_out);
        self.lost += u64::from(!lost);
        self.retransmissions -= u64::from(retransmission_in_flight);
        self.waiting.insert(number);
    }

    /// A packet is delivered: how often it was in the network.
    fn deliver(&mut self, number: u64, ack: &Ack, timing: Timing) -> u64 {
        let packet = self.flight.deliver(number);
        if packet.waits() {
            self.waiting.remove(&number);
        }
        self.lost -= u64::from(packet.lost);
        self.retransmissions -= u64::from(packet.retransmission_in_flight);
        if !packet.ever_retransmitted && number < self.first_original.unwrap_or(u64::MAX) {
            self.first_original = Some(number);
        }
        self.highest = self.highest.max(number + 1);
        self.last_delivered = self.last_delivered.max(packet.sent);
        let rtt = timing.now.since(packet.sent);
        // Of a retransmitted packet, one that cannot be the answer to the last copy. Beyond a gap the echo is that of
        // what came in order, and shows nothing.
        let is_echo_older = number < ack.next && ack.echo < packet.sent;
        let unsure = packet.ever_retransmitted && (rtt < timing.min_rtt || is_echo_older);
        if !unsure {
            (self.advanced, self.rtt_by_ack) = (true, Some(rtt));
            self.latest = self.latest.max((packet.sent, number));
        }
        if !packet.ever_retransmitted {
            self.sample = Some(rtt);
        }
        packet.copies()
    }
}

/// The same acknowledgement with its blocks in the order in which the kernel takes them: by number.
fn by_number(ack: &Ack) -> Ack {
    let mut ordered = *ack;
    if ack.blocks > 1 {
        ordered.sack[..usize::from(ack.blocks)].sort_unstable_by_key(|block| block.from);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use fairhaul_units::{SACK_BLOCKS, SackBlock};
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// At that time, on a path of 40 ms.
    fn timing(ms: u64) -> Timing {
        Timing { now: at(ms), min_rtt: Span::from_ms(40), srtt: Span::from_ms(40) }
    }

    fn ack(next: u64, block: (u64, u64)) -> Ack {
        let mut sack = [SackBlock::default(); SACK_BLOCKS];
        let blocks = u8::from(block.0 < block.1);
        if blocks > 0 {
            sack[0] = SackBlock { from: (block.0 - next) as u32, to: (block.1 - next) as u32 };
        }
        Ack { next, echo: at(1000), sack, blocks, ..Ack::default() }
    }

    /// A packet every millisecond.
    fn sent(packets: u64) -> (Scoreboard, Rack) {
        let (mut board, mut rack) = (Scoreboard::default(), Rack::default());
        for number in 0..packets {
            board.send_new(1);
            rack.send_new(1, at(number));
        }
        (board, rack)
    }

    /// Packet 1 left at 1 ms and is reported at 41. Packet 0 is 41 ms old: it is lost 40 + 40/4 ms
    /// after it left, unless three are reported: then at once, being older than a round trip.
    // Requirement: rfc8985-3.3.2-a, rfc8985-3.3.2-b
    #[test]
    fn an_overtaken_packet_has_a_quarter_of_a_round_trip_or_until_three_are_reported() {
        let (mut board, mut rack) = sent(10);
        assert_eq!(rack.take_ack(&mut board, &ack(0, (1, 2)), timing(41)), 1);
        assert_eq!(rack.detect_if_advanced(&mut board, false, timing(41)), Some(Span::from_ms(9)));
        assert_eq!((rack.has_loss(), rack.detect_if_advanced(&mut board, false, timing(41))), (false, None));
        assert_eq!(rack.detect_losses(&mut board, false, timing(50)), None);
        assert_eq!((rack.has_loss(), rack.next_lost_to_retransmit(), board.in_flight()), (true, Some(0), 8));
        let (mut board, mut rack) = sent(10);
        rack.take_ack(&mut board, &ack(0, (1, 4)), timing(43));
        assert_eq!((rack.detect_if_advanced(&mut board, false, timing(43)), rack.has_loss()), (None, true));
    }

    /// Packets 2 and 5 left at 2 and 5 ms. The latest block comes first, and the kernel takes it last.
    #[test]
    fn the_round_trip_is_that_of_the_highest_packet_that_an_acknowledgement_reports() {
        let (mut board, mut rack) = sent(10);
        let mut both = ack(0, (5, 6));
        (both.sack[1], both.blocks) = (SackBlock { from: 2, to: 3 }, 2);
        rack.take_ack(&mut board, &both, timing(47));
        assert_eq!((rack.latest_rtt(), rack.sample()), (Span::from_ms(42), Some(Span::from_ms(42))));
    }

    /// Packet 0 was lost and left again at 50 ms. Its acknowledgement is the first that tells of 4, too, which had come
    /// long before.
    // Requirement: rfc6298-3-a, rfc6298-3-b, bbrv3-4.2-a
    #[test]
    fn what_is_acknowledged_with_a_retransmission_is_no_sample() {
        let (mut board, mut rack) = sent(10);
        rack.take_ack(&mut board, &ack(0, (1, 4)), timing(43));
        rack.detect_if_advanced(&mut board, false, timing(43));
        rack.retransmit(&mut board, 0, at(50));
        rack.take_ack(&mut board, &ack(5, (0, 0)), timing(90));
        assert_eq!(rack.sample(), None);
    }

    /// Packet 0 is reported after 1 to 3, without having been retransmitted: packets change places. Then
    /// 5 to 8 come before 4, which left at 4 ms and is due at 4 + 40 + 10 + 4 = 58, the round trip of 8
    /// being 44. After something that came twice it has another 10 ms.
    #[test]
    fn once_packets_change_places_three_reports_are_no_proof_and_regret_allows_more() {
        for (regrets, wait) in [(0, 6), (1, 16), (2, 16), (9, 16)] {
            let (mut board, mut rack) = sent(10);
            rack.take_ack(&mut board, &ack(0, (1, 4)), timing(43));
            rack.take_ack(&mut board, &ack(4, (0, 0)), timing(44));
            // All but the first are in the same round.
            (0..regrets).for_each(|_| rack.widen_reorder_window(4, 10));
            rack.take_ack(&mut board, &ack(4, (5, 9)), timing(52));
            let waits = rack.detect_if_advanced(&mut board, false, timing(52));
            assert_eq!((waits, rack.has_loss()), (Some(Span::from_ms(wait)), false), "{regrets} regrets");
        }
    }

    /// Each round with a needless retransmission adds a quarter of the smallest round trip, 10 ms, up to the smoothed one,
    /// 40 ms. After 16 recoveries without one it is 10 ms again.
    // Requirement: rfc8985-3.3.2-c, rfc8985-3.3.2-d, rfc8985-3.3.2-e, rfc8985-4-d
    #[test]
    fn the_reordering_window_grows_up_to_a_round_trip_and_is_forgotten_after_sixteen_recoveries() {
        let (board, mut rack) = sent(10);
        rack.note_reordering(0);
        let windows = [0; 6].map(|_| {
            let window = rack.reorder_window(&board, false, timing(50));
            rack.widen_reorder_window(rack.round_end, rack.round_end + 10);
            window
        });
        assert_eq!(windows, [10, 20, 30, 40, 40, 40].map(Span::from_ms));
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(rack.reorder_window(&board, true, timing(50)), Span::from_ms(40));
        rack.recovered();
        assert_eq!(rack.reorder_window(&board, true, timing(50)), Span::from_ms(10));
    }

    /// Retransmitted at 50 ms, reported lost by a packet that left at 60 ms and is back at 100.
    #[test]
    fn a_retransmission_is_lost_like_any_other_packet() {
        let (mut board, mut rack) = sent(10);
        rack.take_ack(&mut board, &ack(0, (1, 4)), timing(43));
        rack.detect_if_advanced(&mut board, false, timing(43));
        rack.retransmit(&mut board, 0, at(50));
        assert_eq!(
            (board.in_flight(), rack.next_lost_to_retransmit(), rack.retransmissions() == 0),
            (7, None, false)
        );
        board.send_new(1);
        rack.send_new(1, at(60));
        rack.take_ack(&mut board, &ack(0, (10, 11)), timing(100));
        rack.detect_if_advanced(&mut board, true, timing(100));
        assert_eq!((rack.next_lost_to_retransmit(), rack.retransmissions() == 0), (Some(0), true));
    }

    /// Of 10 packets, a millisecond apart, the timer finds lost the first and those that are as old
    /// as the last round trip, 40 ms: at 45 ms the packets up to 5.
    #[test]
    fn the_timer_leaves_what_has_just_left() {
        let (mut board, mut rack) = sent(10);
        rack.take_ack(&mut board, &ack(1, (0, 0)), timing(40));
        rack.mark_lost_on_timeout(&mut board, at(45));
        assert_eq!(board.in_flight(), 4);
        rack.undo_losses(&mut board);
        assert_eq!((board.in_flight(), rack.next_lost_to_retransmit(), rack.has_loss()), (9, None, false));
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Send,
        /// That many beyond the first, and as many as that of them, are reported.
        Report(u64, u64),
        Acknowledge(u64),
        Retransmit,
        Probe,
        TimeOut,
        Forgive,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => Just(Step::Send),
            6 => (1u64..30, 1u64..4).prop_map(|(from, packets)| Step::Report(from, packets)),
            3 => (1u64..6).prop_map(Step::Acknowledge),
            4 => Just(Step::Retransmit),
            1 => Just(Step::Probe),
            1 => Just(Step::TimeOut),
            1 => Just(Step::Forgive),
        ];
        proptest::collection::vec(step, 1..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]
        /// What is counted as it happens is what a count of all packets gives.
        // Requirement: rfc8985-4-b, rfc9937-6.2-a, bbrv3-2.2-f
        #[test]
        fn its_counts_are_those_of_its_packets(steps in steps(), recovering in any::<bool>()) {
            let (mut board, mut rack) = sent(5);
            for (ms, step) in (10u64..).step_by(3).zip(steps) {
                let (una, next, now) = (board.una(), board.next(), timing(ms));
                match step {
                    Step::Send => {
                        board.send_new(1);
                        rack.send_new(1, now.now);
                    }
                    Step::Report(from, packets) if una + from < next => {
                        let to = (una + from + packets).min(next);
                        rack.take_ack(&mut board, &ack(una, (una + from, to)), now);
                    }
                    Step::Acknowledge(packets) => {
                        // As a receiver would: past what is reported.
                        let mut to = (una + packets).min(next);
                        while to < next && board.is_reported(to) {
                            to += 1;
                        }
                        rack.take_ack(&mut board, &ack(to, (0, 0)), now);
                    }
                    Step::Retransmit => {
                        if let Some(number) = rack.next_lost_to_retransmit() {
                            rack.retransmit(&mut board, number, now.now);
                        }
                    }
                    Step::Probe if una < next && !board.is_reported(next - 1) => {
                        rack.retransmit(&mut board, next - 1, now.now);
                    }
                    Step::TimeOut => rack.mark_lost_on_timeout(&mut board, now.now),
                    Step::Forgive => rack.undo_losses(&mut board),
                    _ => {}
                }
                rack.detect_if_advanced(&mut board, recovering, now);
                let (una, next) = (board.una(), board.next());
                let packets = || (una..next).map(|number| rack.flight.at(number));
                prop_assert_eq!(board.in_flight(), packets().map(SentPacket::copies).sum::<u64>(), "{:?}", step);
                let open = || (una..next).filter(|&number| !board.is_reported(number));
                let lost = open().filter(|&number| rack.flight.at(number).lost).count() as u64;
                let in_flight = open().filter(|&number| rack.flight.at(number).retransmission_in_flight).count() as u64;
                prop_assert_eq!((rack.lost, rack.retransmissions), (lost, in_flight));
                let first = (una..next).find(|&number| rack.flight.at(number).waits());
                prop_assert_eq!(rack.next_lost_to_retransmit(), first);
            }
        }
    }
}
