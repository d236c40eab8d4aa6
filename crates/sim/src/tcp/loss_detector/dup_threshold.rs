//! Loss detection by duplicate acknowledgements [RFC 5681, RFC 6582], or, with SACK, by packets that are reported above
//! a gap [RFC 6675].
//!
//! Instead of a mark on each packet there are two boundaries that only move forward within a
//! recovery, unless it is undone: what lies below `lost_below` and was not reported is lost, and
//! what lies below `retransmitted_below` has been retransmitted. Of a packet that was not reported, one copy is in the
//! network if it is not lost, and one if it was retransmitted. Each packet is passed once by each
//! boundary, so an ACK costs O(1), amortised, at any window.

use fairhaul_experiment::Recovery;
use fairhaul_units::Ack;

use crate::tcp::Scoreboard;

/// Packets reported above a gap before the gap is believed to be lost [RFC 6675, DupThresh].
pub const DUP_THRESHOLD: u64 = 3;

/// See the module.
#[derive(Clone, Debug)]
pub struct DupThreshold {
    recovery: Recovery,
    lost_below: u64,
    retransmitted_below: u64,
    rescued: Option<u64>,
    /// The three highest packets reported, the highest first.
    top: [u64; DUP_THRESHOLD as usize],
    /// Without SACK: duplicate acknowledgements since the last new one, and partial ones in this recovery.
    dup_acks: u64,
    partial_acks: u64,
    /// Without SACK: no fast retransmit below this packet [RFC 6582, 4.1].
    no_fast_below: u64,
}

impl DupThreshold {
    /// The loss detection of that kind of recovery.
    pub fn new(recovery: Recovery) -> DupThreshold {
        DupThreshold {
            recovery,
            lost_below: 0,
            retransmitted_below: 0,
            rescued: None,
            top: [0; DUP_THRESHOLD as usize],
            dup_acks: 0,
            partial_acks: 0,
            no_fast_below: 0,
        }
    }

    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    #[inline(always)]
    pub fn take_ack(&mut self, board: &mut Scoreboard, ack: &Ack) -> u64 {
        let delivered = self.advance(board, ack.next);
        if ack.blocks == 0 { delivered } else { delivered + self.take_reports(board, ack) }
    }

    #[inline(never)]
    fn take_reports(&mut self, board: &mut Scoreboard, ack: &Ack) -> u64 {
        let reported = board.report(ack, |number, _| {
            self.rank(number);
            (1, self.copies(number))
        });
        if reported > 0 {
            self.lose_below(board, self.top[DUP_THRESHOLD as usize - 1]);
        }
        reported
    }

    /// Whether an acknowledgement, which advanced by that many packets, reveals a loss that calls for recovery.
    #[inline(always)]
    pub fn reveals_loss(&mut self, board: &mut Scoreboard, advanced: u64) -> bool {
        if self.recovery.reports() { self.has_loss(board) } else { self.count_dup_acks(board, advanced) }
    }

    #[inline(never)]
    fn count_dup_acks(&mut self, board: &mut Scoreboard, advanced: u64) -> bool {
        if advanced > 0 || board.outstanding() == 0 {
            self.dup_acks = 0;
            board.set_left(0);
            return false;
        }
        self.dup_acks += 1;
        // Limited transmit: each of the first two lets one more packet go [RFC 3042].
        board.set_left(self.dup_acks.min(DUP_THRESHOLD));
        let fast = self.dup_acks == DUP_THRESHOLD && board.una() >= self.no_fast_below;
        if !fast && self.dup_acks >= DUP_THRESHOLD {
            board.set_left(DUP_THRESHOLD - 1);
        }
        fast
    }

    /// A recovery begins: it may rescue one packet.
    pub fn begin_recovery(&mut self, board: &mut Scoreboard) {
        (self.rescued, self.partial_acks) = (None, 0);
        if let Recovery::NewReno { .. } = self.recovery {
            self.no_fast_below = board.next();
        }
        if !self.recovery.reports() {
            self.lose_first(board);
        }
    }

    /// An acknowledgement in recovery that advanced by that many packets and does not end it; whether a retransmission
    /// is due for it, whatever is in flight.
    pub fn on_ack_in_recovery(&mut self, board: &mut Scoreboard, advanced: u64) -> bool {
        if self.recovery.reports() {
            return false;
        }
        if advanced == 0 {
            board.set_left(board.left() + 1);
            return false;
        }
        self.partial_acks += 1;
        // All that the partial acknowledgement covers but the retransmission had left before.
        board.set_left(board.left().saturating_sub(advanced - 1));
        self.lose_first(board);
        true
    }

    /// Whether the timer runs on since the first partial acknowledgement of this recovery
    /// [RFC 6582, 4].
    pub fn is_impatient(&self) -> bool {
        self.recovery == Recovery::NewReno { impatient: true } && self.partial_acks > 1
    }

    /// A recovery has ended.
    pub fn end_recovery(&mut self, board: &mut Scoreboard) {
        (self.dup_acks, self.partial_acks) = (0, 0);
        board.set_left(0);
    }

    /// The timer ran out: everything unreported is lost, and nothing is in the network.
    ///
    // Differs from [RFC 2018, 8]: SACK reports are kept after a timeout, as in Linux; the receivers here never
    // renege.
    pub fn on_timeout(&mut self, board: &mut Scoreboard) {
        let next = board.next();
        self.lose_below(board, next);
        self.retransmitted_below = board.una();
        self.rescued = None;
        board.empty();
        // One more than all that was sent must be acknowledged: what the timeout retransmits needlessly makes
        // duplicates of the next packet itself.
        self.no_fast_below = next + 1;
        (self.dup_acks, self.partial_acks) = (0, 0);
    }

    /// The packets that were believed to be lost are late, except for those which reports still say are lost.
    pub fn undo(&mut self, board: &mut Scoreboard, no_fast_below: u64) {
        let lost_below = self.top[DUP_THRESHOLD as usize - 1].max(board.una());
        for late in lost_below..self.lost_below {
            board.enter(u64::from(!board.is_reported(late)));
        }
        self.lost_below = self.lost_below.min(lost_below);
        board.set_left(0);
        (self.dup_acks, self.partial_acks, self.no_fast_below) = (0, 0, no_fast_below);
    }

    /// The first packet that may be retransmitted for duplicate acknowledgements.
    pub fn no_fast_below(&self) -> u64 {
        self.no_fast_below
    }

    /// Whether the first unacknowledged packet is believed to be lost.
    #[inline(always)]
    pub fn has_loss(&self, board: &Scoreboard) -> bool {
        self.lost_below > board.una()
    }

    /// Whether all retransmissions are acknowledged.
    pub fn retransmissions_are_done(&self, board: &Scoreboard) -> bool {
        self.retransmitted_below <= board.una() && self.rescued.is_none_or(|number| number < board.una())
    }

    /// The lost packet to retransmit next, if any.
    pub fn next_lost_to_retransmit(&mut self, board: &Scoreboard) -> Option<u64> {
        self.next_to_retransmit(board, self.lost_below)
    }

    /// A packet that was not reported, lies below a reported one and was not retransmitted
    /// [RFC 6675, NextSeg rule 3].
    pub fn next_gap_to_retransmit(&mut self, board: &Scoreboard) -> Option<u64> {
        if board.has_reports() { self.next_to_retransmit(board, self.top[0]) } else { None }
    }

    /// The packet that [`next_lost_to_retransmit`](Self::next_lost_to_retransmit) or
    /// [`next_gap_to_retransmit`](Self::next_gap_to_retransmit) gave goes out.
    pub fn retransmit(&mut self, board: &mut Scoreboard, number: u64) {
        self.retransmitted_below = number + 1;
        board.enter(1);
    }

    /// Whether this recovery may still send one packet to save a timeout.
    pub fn may_rescue(&self, board: &Scoreboard) -> bool {
        self.recovery.reports() && self.rescued.is_none() && board.outstanding() > 0
    }

    /// The highest packet below `recover` that was not reported goes out once more in this
    /// recovery, to save a timeout [RFC 6675, NextSeg rule 4]; its number.
    pub fn rescue(&mut self, board: &mut Scoreboard, recover: u64) -> Option<u64> {
        if !self.may_rescue(board) {
            return None;
        }
        let below = board.una()..recover.min(board.next());
        let number = below.rev().find(|&number| !board.is_reported(number))?;
        self.rescued = Some(number);
        board.enter(1);
        Some(number)
    }

    fn lose_first(&mut self, board: &mut Scoreboard) {
        let una = board.una();
        self.lose_below(board, una + 1);
    }

    /// Believes every unreported packet below `number` to be lost.
    fn lose_below(&mut self, board: &mut Scoreboard, number: u64) {
        for lost in self.lost_below.max(board.una())..number {
            if !board.is_reported(lost) {
                board.lose(1);
            }
        }
        self.lost_below = self.lost_below.max(number);
    }

    fn next_to_retransmit(&mut self, board: &Scoreboard, bound: u64) -> Option<u64> {
        self.retransmitted_below = self.retransmitted_below.max(board.una());
        while self.retransmitted_below < bound && board.is_reported(self.retransmitted_below) {
            self.retransmitted_below += 1;
        }
        (self.retransmitted_below < bound).then_some(self.retransmitted_below)
    }

    /// Moves to a cumulative acknowledgement: how many packets were not reported before.
    #[inline(always)]
    fn advance(&mut self, board: &mut Scoreboard, to: u64) -> u64 {
        let (una, to) = (board.una(), to.min(board.next()));
        if to <= una {
            return 0;
        }
        if !board.has_reports() && self.lost_below <= una && self.retransmitted_below <= una {
            let rescued = self.rescued.is_some_and(|number| (una..to).contains(&number));
            board.advance_in_order(to, to - una + u64::from(rescued))
        } else {
            self.advance_over_losses(board, to)
        }
    }

    #[inline(never)]
    fn advance_over_losses(&mut self, board: &mut Scoreboard, to: u64) -> u64 {
        board.advance(to, |number| self.copies(number))
    }

    fn rank(&mut self, number: u64) {
        let [first, second, third] = self.top;
        self.top = match number {
            n if n > first => [n, first, second],
            n if n > second => [first, n, second],
            n if n > third => [first, second, n],
            _ => self.top,
        };
    }

    /// How often an unreported packet is in the network.
    fn copies(&self, number: u64) -> u64 {
        u64::from(number >= self.lost_below)
            + u64::from(number < self.retransmitted_below)
            + u64::from(self.rescued == Some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{SACK_BLOCKS, SackBlock};
    use proptest::prelude::*;

    fn ack(next: u64, blocks: &[(u64, u64)]) -> Ack {
        let mut sack = [SackBlock::default(); SACK_BLOCKS];
        for (slot, &(from, to)) in sack.iter_mut().zip(blocks) {
            *slot = SackBlock { from: (from - next) as u32, to: (to - next) as u32 };
        }
        let blocks = blocks.len().min(SACK_BLOCKS) as u8;
        Ack { next, sack, blocks, ..Ack::default() }
    }

    fn sent(packets: u64) -> (Scoreboard, DupThreshold) {
        let mut board = Scoreboard::default();
        (0..packets).for_each(|number| assert_eq!(board.send_new(1), number));
        (board, DupThreshold::new(Recovery::Sack))
    }

    // Requirement: rfc6675-4-a, rfc6675-4-c, rfc6675-4-d, rfc6675-4-e, rfc6675-4-g, rfc6675-5-j
    #[test]
    fn three_reports_above_a_gap_lose_it() {
        // Of ten, 0 and 3 are missing; 1, 2, 4 are reported: three above 0, but one above 3.
        let (mut board, mut losses) = sent(10);
        assert_eq!(losses.take_ack(&mut board, &ack(0, &[(1, 3)])), 2);
        assert!(!losses.has_loss(&board) && losses.next_lost_to_retransmit(&board).is_none());
        assert_eq!(losses.take_ack(&mut board, &ack(0, &[(4, 5), (1, 3)])), 1);
        assert!(losses.has_loss(&board));
        assert_eq!(board.in_flight(), 6); // 10, less 3 reported, less 1 lost
        assert_eq!(losses.next_lost_to_retransmit(&board), Some(0));
        losses.retransmit(&mut board, 0);
        assert_eq!((board.in_flight(), losses.next_lost_to_retransmit(&board)), (7, None));
        assert_eq!(losses.next_gap_to_retransmit(&board), Some(3)); // below the report of 4
        assert_eq!(losses.take_ack(&mut board, &ack(3, &[(4, 5)])), 1);
        assert_eq!((board.in_flight(), losses.has_loss(&board)), (6, false)); // 3 and 5..10
    }

    /// 0 and 5 of ten are missing. When 0 has come, a recovery up to 5 would be over: 6 to 9 stay reported, and 5 is lost.
    // Requirement: rfc6675-5-f
    #[test]
    fn the_end_of_a_recovery_forgets_no_report() {
        let (mut board, mut losses) = sent(10);
        losses.take_ack(&mut board, &ack(0, &[(6, 10), (1, 5)]));
        losses.take_ack(&mut board, &ack(5, &[(6, 10)]));
        losses.end_recovery(&mut board);
        assert!((6..10).all(|number| board.is_reported(number)));
        assert_eq!(losses.next_lost_to_retransmit(&board), Some(5));
    }

    // Requirement: rfc6675-4-h, rfc6675-4-i, rfc6675-4-j, rfc6675-5-j
    #[test]
    fn one_packet_is_rescued_in_a_recovery() {
        let (mut board, mut losses) = sent(5);
        losses.take_ack(&mut board, &ack(0, &[(1, 3)]));
        assert_eq!(losses.rescue(&mut board, 5), Some(4));
        assert_eq!((losses.rescue(&mut board, 5), board.in_flight()), (None, 4)); // 0, 3, and 4 twice
        losses.take_ack(&mut board, &ack(5, &[]));
        assert_eq!(board.in_flight(), 0);
        losses.begin_recovery(&mut board);
        assert_eq!(losses.rescue(&mut board, 5), None); // nothing is outstanding
    }

    // Requirement: rfc6675-5.1-g
    #[test]
    fn after_a_timeout_all_that_was_not_reported_is_retransmitted_in_order() {
        let (mut board, mut losses) = sent(6);
        losses.take_ack(&mut board, &ack(0, &[(2, 4)]));
        losses.on_timeout(&mut board);
        assert_eq!(board.in_flight(), 0);
        let retransmitted = std::iter::from_fn(|| {
            losses.next_lost_to_retransmit(&board).inspect(|&n| losses.retransmit(&mut board, n))
        });
        assert_eq!(retransmitted.collect::<Vec<_>>(), [0, 1, 4, 5]);
        assert_eq!(board.in_flight(), 4);
        assert_eq!(losses.take_ack(&mut board, &ack(4, &[])), 2);
        assert_eq!(board.in_flight(), 2);
    }

    /// [RFC 6675] packet by packet: every question is answered by going through all of them.
    #[derive(Default)]
    struct Plain {
        una: u64,
        high_rxt: u64,
        packets: Vec<Marks>,
        rescued: Option<u64>,
    }

    #[derive(Clone, Copy, Default)]
    struct Marks {
        sacked: bool,
        /// Marked lost by a timeout, or by the caller.
        lost: bool,
    }

    impl Plain {
        fn next(&self) -> u64 {
            self.packets.len() as u64
        }

        /// Packets that were neither acknowledged nor reported, ascending.
        fn open(&self) -> impl DoubleEndedIterator<Item = u64> {
            (self.una..self.next()).filter(|&n| !self.packets[n as usize].sacked)
        }

        fn reported_above(&self, number: u64) -> usize {
            let above = &self.packets[(number + 1).min(self.next()) as usize..];
            above.iter().filter(|marks| marks.sacked).count()
        }

        fn is_lost(&self, number: u64) -> bool {
            self.packets[number as usize].lost || self.reported_above(number) >= 3
        }

        fn pipe(&self) -> u64 {
            let copies = |n| {
                let rescued = self.rescued == Some(n);
                u64::from(!self.is_lost(n)) + u64::from(n < self.high_rxt) + u64::from(rescued)
            };
            self.open().map(copies).sum()
        }

        /// NextSeg, rule 1.
        fn next_lost_to_retransmit(&self) -> Option<u64> {
            self.open().find(|&n| n >= self.high_rxt && self.is_lost(n))
        }

        /// NextSeg, rule 3.
        fn next_gap_to_retransmit(&self) -> Option<u64> {
            self.open().find(|&n| n >= self.high_rxt && self.reported_above(n) > 0)
        }

        /// NextSeg, rule 4.
        fn rescue(&mut self, recover: u64) -> Option<u64> {
            if self.rescued.is_some() {
                return None;
            }
            let highest = self.open().rfind(|&n| n < recover);
            self.rescued = highest;
            highest
        }

        fn take(&mut self, next: u64, blocks: &[(u64, u64)]) -> u64 {
            let before = self.open().count();
            self.una = self.una.max(next);
            for &(from, to) in blocks {
                self.packets[from as usize..to as usize].iter_mut().for_each(|marks| marks.sacked = true);
            }
            (before - self.open().count()) as u64
        }

        fn lose_all(&mut self) {
            self.packets.iter_mut().for_each(|marks| marks.lost = true);
            self.high_rxt = self.una;
            self.rescued = None;
        }

        fn retransmissions_are_done(&self) -> bool {
            (self.una..self.next()).all(|n| n >= self.high_rxt && self.rescued != Some(n))
        }

        fn forget_losses(&mut self) {
            self.packets.iter_mut().for_each(|marks| marks.lost = false);
        }
    }

    /// A receiver that sees packets in any order, and reports up to three of its runs, the one that
    /// was touched last first.
    #[derive(Default)]
    struct Far {
        arrived: Vec<bool>,
        touched: Vec<u64>,
    }

    impl Far {
        fn take(&mut self, number: u64) -> (u64, Vec<(u64, u64)>) {
            self.arrived.resize(self.arrived.len().max(number as usize + 1), false);
            self.arrived[number as usize] = true;
            self.touched.insert(0, number);
            let has = |n: u64| self.arrived.get(n as usize).copied().unwrap_or(false);
            let next = (0..).find(|&n| !has(n)).unwrap_or(0);
            let mut runs: Vec<(u64, u64)> = Vec::new();
            for &number in self.touched.iter().filter(|&&n| n > next) {
                let from = (next..=number).rev().find(|&n| !has(n)).map_or(next, |gap| gap + 1);
                let to = (number..).find(|&n| !has(n)).unwrap_or(number);
                if !runs.contains(&(from, to)) && runs.len() < SACK_BLOCKS {
                    runs.push((from, to));
                }
            }
            (next, runs)
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send(u64),
        /// The packet of that place among those outstanding arrives, and makes an ACK.
        Arrive(prop::sample::Index),
        /// The sender gets one of the latest ACKs, perhaps not for the first time.
        Ack(prop::sample::Index),
        Retransmit,
        Fill,
        Rescue(prop::sample::Index),
        LoseFirst,
        Timeout,
        Forget,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (1u64..12).prop_map(Step::Send),
            20 => any::<prop::sample::Index>().prop_map(Step::Arrive),
            14 => any::<prop::sample::Index>().prop_map(Step::Ack),
            6 => Just(Step::Retransmit),
            3 => Just(Step::Fill),
            2 => any::<prop::sample::Index>().prop_map(Step::Rescue),
            1 => Just(Step::LoseFirst),
            1 => Just(Step::Timeout),
            2 => Just(Step::Forget),
        ];
        proptest::collection::vec(step, 1..250)
    }

    /// The scoreboard with its marks, the plain board, and the far end.
    struct Bench {
        board: Scoreboard,
        losses: DupThreshold,
        plain: Plain,
        /// Packets that are believed lost, and how often one came to be.
        gone: Vec<u64>,
        lost: u64,
        far: Far,
        acks: Vec<(u64, Vec<(u64, u64)>)>,
    }

    impl Bench {
        fn count_lost(&mut self) {
            let gone: Vec<u64> = self.plain.open().filter(|&n| self.plain.is_lost(n)).collect();
            self.lost += gone.iter().filter(|n| !self.gone.contains(n)).count() as u64;
            self.gone = gone;
        }

        fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
            let Bench { board, losses, plain, far, acks, .. } = self;
            let outstanding = (plain.next() - plain.una) as usize;
            match step {
                Step::Send(packets) => (0..*packets).for_each(|_| {
                    assert_eq!(board.send_new(1), plain.next());
                    plain.packets.push(Marks::default());
                }),
                Step::Arrive(which) if outstanding > 0 => {
                    acks.push(far.take(plain.una + which.index(outstanding) as u64));
                }
                Step::Ack(which) if !acks.is_empty() => {
                    let latest = &acks[acks.len().saturating_sub(6)..];
                    let (next, blocks) = &latest[which.index(latest.len())];
                    prop_assert_eq!(losses.take_ack(board, &ack(*next, blocks)), plain.take(*next, blocks));
                }
                Step::Retransmit | Step::Fill => {
                    let (ours, theirs) = if matches!(step, Step::Retransmit) {
                        (losses.next_lost_to_retransmit(board), plain.next_lost_to_retransmit())
                    } else {
                        (losses.next_gap_to_retransmit(board), plain.next_gap_to_retransmit())
                    };
                    prop_assert_eq!(ours, theirs);
                    if let Some(number) = ours {
                        losses.retransmit(board, number);
                        plain.high_rxt = number + 1;
                    }
                }
                Step::Rescue(which) => {
                    if plain.rescued.is_some_and(|n| n < plain.una) {
                        losses.begin_recovery(board); // the one before is over: all of it is acknowledged
                        plain.rescued = None;
                    }
                    let recover = plain.una + which.index(outstanding + 1) as u64;
                    prop_assert_eq!(losses.rescue(board, recover), plain.rescue(recover));
                }
                Step::LoseFirst if outstanding > 0 => {
                    losses.lose_first(board);
                    plain.packets[plain.una as usize].lost = true;
                }
                Step::Timeout => {
                    losses.on_timeout(board);
                    plain.lose_all();
                }
                Step::Forget => {
                    losses.undo(board, 0);
                    plain.forget_losses();
                }
                _ => {}
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
        // Requirement: rfc6675-4-c
        #[test]
        fn it_knows_what_a_plain_board_finds_packet_by_packet(steps in steps()) {
            let mut bench = Bench {
                board: Scoreboard::default(),
                losses: DupThreshold::new(Recovery::Sack),
                plain: Plain::default(),
                gone: Vec::new(),
                lost: 0,
                far: Far::default(),
                acks: Vec::new(),
            };
            for step in &steps {
                bench.step(step)?;
                let Bench { board, losses, plain, .. } = &bench;
                prop_assert_eq!((board.una(), board.next()), (plain.una, plain.next()));
                prop_assert_eq!(board.in_flight(), plain.pipe(), "after {:?}", step);
                let first_lost = plain.una < plain.next() && plain.is_lost(plain.una);
                prop_assert_eq!(losses.has_loss(board), first_lost);
                prop_assert_eq!(losses.retransmissions_are_done(board), plain.retransmissions_are_done());
                bench.count_lost();
                let Bench { board, plain, lost, .. } = &bench;
                prop_assert_eq!(board.lost(), *lost);
                let reports = plain.una < plain.next() && plain.reported_above(plain.una) > 0;
                prop_assert_eq!(board.has_reports(), reports);
            }
        }
    }
}
