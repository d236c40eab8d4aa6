//! What the sender knows of the packets it has sent [RFC 6675], with or without SACK.
//!
//! Instead of a mark on each packet there are two boundaries that only move forward within a
//! recovery, unless it is undone: what lies below `lost_below` and was not reported is lost, and
//! what lies below `resent_below` has been sent again. `pipe` counts, for each packet that was not
//! reported, one if it is not lost and one if it was sent again. Each packet is passed once by each
//! boundary, so an ACK costs O(1), amortised, at any window.

use fairhaul_units::Ack;

use super::runs::Runs;

/// Packets reported above a gap before the gap is believed to be lost [RFC 6675, DupThresh].
pub const DUP_THRESHOLD: u64 = 3;

/// The sender's picture of the packets in flight.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// The first packet that was not acknowledged.
    una: u64,
    /// The first packet that was never sent.
    next: u64,
    sacked: Runs,
    pipe: u64,
    lost_below: u64,
    resent_below: u64,
    rescued: Option<u64>,
    /// How often a packet came to be believed lost.
    lost: u64,
    /// The three highest packets reported, the highest first.
    top: [u64; DUP_THRESHOLD as usize],
    /// Without SACK: packets that duplicate acknowledgements say have left the network.
    left: u64,
}

impl Scoreboard {
    /// The first packet that was not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The first packet that was never sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Packets sent and not cumulatively acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Packets believed to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.pipe.saturating_sub(self.left)
    }

    /// Whether the first unacknowledged packet is believed to be lost.
    pub fn has_loss(&self) -> bool {
        self.lost_below > self.una
    }

    /// How often a packet has come to be believed lost: one that was sent again counts again only
    /// where it had been given up in error.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether any packet was reported beyond the cumulative acknowledgement.
    pub fn has_reports(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// A packet that was never sent goes out: its number.
    pub fn send_new(&mut self) -> u64 {
        self.next += 1;
        self.pipe += 1;
        self.next - 1
    }

    /// The lost packet to send again next, if any.
    pub fn lost_to_resend(&mut self) -> Option<u64> {
        self.next_to_resend(self.lost_below)
    }

    /// A packet that was not reported, lies below a reported one and was not sent again
    /// [RFC 6675, NextSeg rule 3].
    pub fn gap_to_resend(&mut self) -> Option<u64> {
        if self.sacked.is_empty() { None } else { self.next_to_resend(self.top[0]) }
    }

    /// The packet that [`lost_to_resend`](Self::lost_to_resend) or
    /// [`gap_to_resend`](Self::gap_to_resend) gave goes out.
    pub fn resend(&mut self, number: u64) {
        self.resent_below = number + 1;
        self.pipe += 1;
    }

    /// Whether this recovery may still send one packet to save a timeout.
    pub fn may_rescue(&self) -> bool {
        self.rescued.is_none() && self.outstanding() > 0
    }

    /// The highest packet below `recover` that was not reported goes out once more in this
    /// recovery, to save a timeout [RFC 6675, NextSeg rule 4]; its number.
    pub fn rescue(&mut self, recover: u64) -> Option<u64> {
        if !self.may_rescue() {
            return None;
        }
        let number = (self.una..recover.min(self.next)).rev().find(|&n| !self.sacked.contains(n))?;
        self.rescued = Some(number);
        self.pipe += 1;
        Some(number)
    }

    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    pub fn take(&mut self, ack: &Ack) -> u64 {
        let delivered = self.advance(ack.next);
        let mut reported = 0;
        for block in ack.sacked() {
            let (from, to) = (ack.next + u64::from(block.from), ack.next + u64::from(block.to));
            reported += self.report(from.max(self.una), to.min(self.next), |board, number| {
                board.rank(number);
                board.in_pipe(number)
            });
        }
        if reported > 0 {
            self.lose_below(self.top[DUP_THRESHOLD as usize - 1]);
        }
        delivered + reported
    }

    /// The same where RACK finds losses, which is called for each packet that is newly reported
    /// and says how often it was in the network.
    pub fn take_by(&mut self, ack: &Ack, mut copies: impl FnMut(u64) -> u64) -> u64 {
        let to = ack.next.min(self.next);
        let mut delivered = 0;
        for number in self.una..to {
            if !self.sacked.contains(number) {
                self.pipe -= copies(number);
                delivered += 1;
            }
        }
        if to > self.una {
            self.una = to;
            self.sacked.advance(to);
        }
        for block in ack.sacked() {
            let (from, to) = (ack.next + u64::from(block.from), ack.next + u64::from(block.to));
            delivered += self.report(from.max(self.una), to.min(self.next), |_, number| copies(number));
        }
        delivered
    }

    /// Packets reported beyond the cumulative acknowledgement.
    pub fn reported(&self) -> u64 {
        self.sacked.members()
    }

    /// So many copies more are in the network.
    pub fn enter(&mut self, copies: u64) {
        self.pipe += copies;
    }

    /// A packet comes to be believed lost that was in the network that often.
    pub fn lose(&mut self, copies: u64) {
        self.pipe -= copies;
        self.lost += 1;
    }

    /// Believes every unreported packet below `number` to be lost.
    pub fn lose_below(&mut self, number: u64) {
        for lost in self.lost_below.max(self.una)..number {
            let open = u64::from(!self.sacked.contains(lost));
            self.pipe -= open;
            self.lost += open;
        }
        self.lost_below = self.lost_below.max(number);
    }

    /// Without SACK: says how many packets duplicate acknowledgements report as gone.
    pub fn set_left(&mut self, left: u64) {
        self.left = left;
    }

    /// Without SACK: packets that duplicate acknowledgements report as gone.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// A recovery begins: it may rescue one packet.
    pub fn begin_recovery(&mut self) {
        self.rescued = None;
    }

    /// The timer ran out: everything unreported is lost, and nothing is in the network.
    ///
    // Differs from [RFC 2018, 8]: SACK reports are kept after a timeout, as in Linux; the receivers here never
    // renege.
    pub fn lose_all(&mut self) {
        self.lose_below(self.next);
        self.resent_below = self.una;
        self.rescued = None;
        self.pipe = 0;
        self.left = 0;
    }

    /// Whether all that was sent again is acknowledged.
    pub fn resent_is_done(&self) -> bool {
        self.resent_below <= self.una && self.rescued.is_none_or(|number| number < self.una)
    }

    /// What was believed to be lost is late, but for what reports still say is lost.
    pub fn forget_losses(&mut self) {
        let lost_below = self.top[DUP_THRESHOLD as usize - 1].max(self.una);
        for late in lost_below..self.lost_below {
            self.pipe += u64::from(!self.sacked.contains(late));
        }
        self.lost_below = self.lost_below.min(lost_below);
        self.left = 0;
    }

    fn next_to_resend(&mut self, bound: u64) -> Option<u64> {
        self.resent_below = self.resent_below.max(self.una);
        while self.resent_below < bound && self.sacked.contains(self.resent_below) {
            self.resent_below += 1;
        }
        (self.resent_below < bound).then_some(self.resent_below)
    }

    /// Moves to a cumulative acknowledgement: how many packets were not reported before.
    fn advance(&mut self, to: u64) -> u64 {
        let to = to.min(self.next);
        if to <= self.una {
            return 0;
        }
        let mut delivered = to - self.una;
        if self.sacked.is_empty() && self.lost_below <= self.una && self.resent_below <= self.una {
            self.pipe -= delivered + self.rescued_within(self.una, to);
        } else {
            for number in self.una..to {
                if self.sacked.contains(number) {
                    delivered -= 1;
                } else {
                    self.pipe -= self.in_pipe(number);
                }
            }
        }
        self.una = to;
        self.sacked.advance(to);
        delivered
    }

    /// Marks `from..to` as reported: how many were not before. Says of each how often it is in the network.
    fn report(&mut self, from: u64, to: u64, mut copies: impl FnMut(&mut Scoreboard, u64) -> u64) -> u64 {
        let mut fresh = 0;
        let mut number = from;
        while number < to {
            if !self.sacked.contains(number) {
                self.pipe -= copies(self, number);
                fresh += 1;
                number = self.sacked.insert(number).1;
            } else if number > self.una && self.sacked.contains(number - 1) {
                number += 1; // an old block begins inside a run: no first cell to read its length from
            } else {
                number += self.sacked.run_at(number);
            }
        }
        fresh
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
    fn in_pipe(&self, number: u64) -> u64 {
        u64::from(number >= self.lost_below)
            + u64::from(number < self.resent_below)
            + u64::from(self.rescued == Some(number))
    }

    fn rescued_within(&self, from: u64, to: u64) -> u64 {
        u64::from(self.rescued.is_some_and(|n| (from..to).contains(&n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::{SACK_BLOCKS, SackBlock, Time};
    use proptest::prelude::*;

    fn ack(next: u64, blocks: &[(u64, u64)]) -> Ack {
        let mut sack = [SackBlock::default(); SACK_BLOCKS];
        for (slot, &(from, to)) in sack.iter_mut().zip(blocks) {
            *slot = SackBlock { from: (from - next) as u32, to: (to - next) as u32 };
        }
        let blocks = blocks.len().min(SACK_BLOCKS) as u8;
        Ack {
            next,
            echo: Time::ZERO,
            arrived: Time::ZERO,
            sack,
            blocks,
            opens: false,
            ece: false,
            congestion: false,
            feedback: 0,
        }
    }

    fn sent(packets: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..packets).for_each(|number| assert_eq!(board.send_new(), number));
        board
    }

    #[test]
    fn three_reports_above_a_gap_lose_it() {
        // Of ten, 0 and 3 are missing; 1, 2, 4 are reported: three above 0, but one above 3.
        let mut board = sent(10);
        assert_eq!(board.take(&ack(0, &[(1, 3)])), 2);
        assert!(!board.has_loss() && board.lost_to_resend().is_none());
        assert_eq!(board.take(&ack(0, &[(4, 5), (1, 3)])), 1);
        assert!(board.has_loss());
        assert_eq!(board.in_flight(), 6); // 10, less 3 reported, less 1 lost
        assert_eq!(board.lost_to_resend(), Some(0));
        board.resend(0);
        assert_eq!((board.in_flight(), board.lost_to_resend()), (7, None));
        assert_eq!(board.gap_to_resend(), Some(3)); // below the report of 4
        assert_eq!(board.take(&ack(3, &[(4, 5)])), 1);
        assert_eq!((board.in_flight(), board.has_loss()), (6, false)); // 3 and 5..10
    }

    #[test]
    fn one_packet_is_rescued_in_a_recovery() {
        let mut board = sent(5);
        board.take(&ack(0, &[(1, 3)]));
        assert_eq!(board.rescue(5), Some(4));
        assert_eq!((board.rescue(5), board.in_flight()), (None, 4)); // 0, 3, and 4 twice
        board.take(&ack(5, &[]));
        assert_eq!(board.in_flight(), 0);
        board.begin_recovery();
        assert_eq!(board.rescue(5), None); // nothing is outstanding
    }

    #[test]
    fn after_a_timeout_all_that_was_not_reported_is_sent_again_in_order() {
        let mut board = sent(6);
        board.take(&ack(0, &[(2, 4)]));
        board.lose_all();
        assert_eq!(board.in_flight(), 0);
        let again = std::iter::from_fn(|| board.lost_to_resend().inspect(|&n| board.resend(n)));
        assert_eq!(again.collect::<Vec<_>>(), [0, 1, 4, 5]);
        assert_eq!(board.in_flight(), 4);
        assert_eq!(board.take(&ack(4, &[])), 2);
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
        fn lost_to_resend(&self) -> Option<u64> {
            self.open().find(|&n| n >= self.high_rxt && self.is_lost(n))
        }

        /// NextSeg, rule 3.
        fn gap_to_resend(&self) -> Option<u64> {
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

        fn resent_is_done(&self) -> bool {
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
        Resend,
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
            6 => Just(Step::Resend),
            3 => Just(Step::Fill),
            2 => any::<prop::sample::Index>().prop_map(Step::Rescue),
            1 => Just(Step::LoseFirst),
            1 => Just(Step::Timeout),
            2 => Just(Step::Forget),
        ];
        proptest::collection::vec(step, 1..250)
    }

    /// The two boards, and the far end.
    #[derive(Default)]
    struct Bench {
        board: Scoreboard,
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
            let Bench { board, plain, far, acks, .. } = self;
            let outstanding = (plain.next() - plain.una) as usize;
            match step {
                Step::Send(packets) => (0..*packets).for_each(|_| {
                    assert_eq!(board.send_new(), plain.next());
                    plain.packets.push(Marks::default());
                }),
                Step::Arrive(which) if outstanding > 0 => {
                    acks.push(far.take(plain.una + which.index(outstanding) as u64));
                }
                Step::Ack(which) if !acks.is_empty() => {
                    let latest = &acks[acks.len().saturating_sub(6)..];
                    let (next, blocks) = &latest[which.index(latest.len())];
                    prop_assert_eq!(board.take(&ack(*next, blocks)), plain.take(*next, blocks));
                }
                Step::Resend | Step::Fill => {
                    let (ours, theirs) = if matches!(step, Step::Resend) {
                        (board.lost_to_resend(), plain.lost_to_resend())
                    } else {
                        (board.gap_to_resend(), plain.gap_to_resend())
                    };
                    prop_assert_eq!(ours, theirs);
                    if let Some(number) = ours {
                        board.resend(number);
                        plain.high_rxt = number + 1;
                    }
                }
                Step::Rescue(which) => {
                    if plain.rescued.is_some_and(|n| n < plain.una) {
                        board.begin_recovery(); // the one before is over: all of it is acknowledged
                        plain.rescued = None;
                    }
                    let recover = plain.una + which.index(outstanding + 1) as u64;
                    prop_assert_eq!(board.rescue(recover), plain.rescue(recover));
                }
                Step::LoseFirst if outstanding > 0 => {
                    board.lose_below(plain.una + 1);
                    plain.packets[plain.una as usize].lost = true;
                }
                Step::Timeout => {
                    board.lose_all();
                    plain.lose_all();
                }
                Step::Forget => {
                    board.forget_losses();
                    plain.forget_losses();
                }
                _ => {}
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn it_knows_what_a_plain_board_finds_packet_by_packet(steps in steps()) {
            let mut bench = Bench::default();
            for step in &steps {
                bench.step(step)?;
                let Bench { board, plain, .. } = &bench;
                prop_assert_eq!((board.una(), board.next()), (plain.una, plain.next()));
                prop_assert_eq!(board.in_flight(), plain.pipe(), "after {:?}", step);
                let first_lost = plain.una < plain.next() && plain.is_lost(plain.una);
                prop_assert_eq!(board.has_loss(), first_lost);
                prop_assert_eq!(board.resent_is_done(), plain.resent_is_done());
                bench.count_lost();
                let Bench { board, plain, lost, .. } = &bench;
                prop_assert_eq!(board.lost(), *lost);
                let reports = plain.una < plain.next() && plain.reported_above(plain.una) > 0;
                prop_assert_eq!(board.has_reports(), reports);
            }
        }
    }
}
