//! Losses found by time [RFC 8985, 6], as the kernel does it: a packet is lost once one that left later
//! was delivered, and a round trip and a settling time have passed since.
//!
//! Time tells a retransmission that was lost again, too, and packets that change places are not taken
//! for lost ones as long as they do so by less than the settling time.

use fairhaul_units::{Ack, Span, Time};

use super::flight::{Flight, Packet};
use super::{DUP_THRESHOLD, Scoreboard};

/// The settling time grows by one part of this of the smallest round trip with each round in which
/// something was sent needlessly.
const PARTS: u64 = 4;
/// The most of such parts, and the recoveries for which they last (TCP_RACK_RECOVERY_THRESH).
const MOST_STEPS: u64 = 255;
const PERSIST: u32 = 16;

/// What round trips are when an acknowledgement comes.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When it comes.
    pub now: Time,
    /// The smallest sample so far.
    pub min_rtt: Span,
    /// The smoothed time.
    pub srtt: Span,
}

/// What the sender knows of the times at which packets left; counts are the board's.
#[derive(Clone, Debug)]
pub struct Rack {
    flight: Flight,
    /// The packet that left last of those that were delivered, and the round trip of the last delivered.
    latest: (Time, u64),
    rtt: Span,
    /// A packet was delivered since losses were looked for.
    advanced: bool,
    /// Round trip of a packet in the last acknowledgement that was sent once.
    sample: Option<Span>,
    /// The first packet above all that were delivered, and whether one below it came later.
    highest: u64,
    reordered: bool,
    steps: u64,
    persist: u32,
    /// Nothing sent needlessly counts until that is acknowledged.
    round_end: u64,
    /// Packets believed lost and not delivered, and packets sent again and on their way.
    lost: u64,
    again: u64,
    /// Where what waits to be sent again lies.
    waits_from: u64,
    waits_below: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            flight: Flight::default(),
            latest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            advanced: false,
            sample: None,
            highest: 0,
            reordered: false,
            steps: 1,
            persist: 0,
            round_end: 0,
            lost: 0,
            again: 0,
            waits_from: 0,
            waits_below: 0,
        }
    }
}

impl Rack {
    /// A packet leaves for the first time.
    pub fn send_new(&mut self, now: Time) {
        self.flight.add(now);
    }

    /// A packet leaves once more.
    pub fn resend(&mut self, board: &mut Scoreboard, number: u64, now: Time) {
        self.again += u64::from(!self.flight.at(number).again);
        let before = self.flight.at(number).copies();
        self.flight.add_again(number, now);
        board.enter(self.flight.at(number).copies() - before);
    }

    /// What left last did so with that stamp.
    pub fn launched(&mut self, stamp: Time) {
        self.flight.stamp(stamp);
    }

    /// Takes an acknowledgement: how many packets it newly reports as delivered.
    pub fn take(&mut self, board: &mut Scoreboard, ack: &Ack, moment: Moment) -> u64 {
        let highest = self.highest;
        self.sample = None;
        let delivered = board.take_by(ack, |number| self.deliver(number, highest, ack, moment));
        self.flight.forget_below(board.una());
        delivered
    }

    /// Something was sent needlessly; `next`: all below it was sent [RFC 8985, 6.2 step 4].
    pub fn regret(&mut self, una: u64, next: u64) {
        // Without packets that change places a longer wait would help nothing.
        if self.reordered && una >= self.round_end {
            self.steps = (self.steps + 1).min(MOST_STEPS);
            (self.round_end, self.persist) = (next, PERSIST);
        }
    }

    /// A recovery is over.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Believes lost what is due, if an acknowledgement delivered something since the last time; how
    /// long until the last of what is overtaken would be [RFC 8985, 6.2 step 5].
    pub fn look(&mut self, board: &mut Scoreboard, recovering: bool, moment: Moment) -> Option<Span> {
        if std::mem::take(&mut self.advanced) { self.find(board, recovering, moment) } else { None }
    }

    /// The same in any case.
    pub fn find(&mut self, board: &mut Scoreboard, recovering: bool, moment: Moment) -> Option<Span> {
        let due = self.rtt + self.settling(board, recovering, moment);
        let (mut wait, mut next) = (None, self.flight.next(None));
        while let Some(number) = next {
            let sent = self.flight.at(number).sent;
            if (sent, number) >= self.latest {
                break;
            }
            next = self.flight.next(Some(number));
            let age = moment.now.since(sent);
            if age >= due {
                self.lose(board, number);
            } else {
                wait = wait.max(Some(due - age));
            }
        }
        wait
    }

    /// The timer ran out: the first packet is lost, and what left at least a round trip ago
    /// [RFC 8985, 6.3].
    pub fn time_out(&mut self, board: &mut Scoreboard, now: Time) {
        for number in board.una()..board.next() {
            let packet = self.flight.at(number);
            let old = number == board.una() || now.since(packet.sent) >= self.rtt;
            if packet.copies() > 0 && old {
                self.lose(board, number);
            }
        }
    }

    /// What was believed to be lost is late.
    pub fn forgive(&mut self, board: &mut Scoreboard) {
        board.enter(self.flight.forgive());
        (self.lost, self.waits_from, self.waits_below) = (0, 0, 0);
    }

    /// The lost packet to send again next, if any.
    pub fn lost_to_resend(&mut self, una: u64) -> Option<u64> {
        self.waits_from = self.waits_from.max(una);
        while self.waits_from < self.waits_below && !self.flight.at(self.waits_from).waits() {
            self.waits_from += 1;
        }
        (self.waits_from < self.waits_below).then_some(self.waits_from)
    }

    /// Whether an unacknowledged packet was reported.
    pub fn is_delivered(&self, number: u64) -> bool {
        self.flight.at(number).is_delivered()
    }

    /// Whether a packet is believed to be lost.
    pub fn has_loss(&self) -> bool {
        self.lost > 0
    }

    /// Whether all that was sent again is delivered.
    pub fn resent_is_done(&self) -> bool {
        self.again == 0
    }

    /// Round trip of the last packet that the last acknowledgement delivered and that was sent once.
    pub fn sample(&self) -> Option<Span> {
        self.sample
    }

    /// How long packets may take to change places.
    fn settling(&self, board: &Scoreboard, recovering: bool, moment: Moment) -> Span {
        if !self.reordered && (recovering || board.reported() >= DUP_THRESHOLD) {
            return Span::ZERO;
        }
        (moment.min_rtt / PARTS * self.steps).min(moment.srtt)
    }

    fn lose(&mut self, board: &mut Scoreboard, number: u64) {
        let Packet { lost, again, .. } = *self.flight.at(number);
        board.lose(self.flight.at(number).copies());
        self.flight.lose(number);
        self.lost += u64::from(!lost);
        self.again -= u64::from(again);
        self.waits_from = self.waits_from.min(number);
        self.waits_below = self.waits_below.max(number + 1);
    }

    /// A packet is delivered; `highest`: the first above all that were before this acknowledgement.
    /// How often it was in the network.
    fn deliver(&mut self, number: u64, highest: u64, ack: &Ack, moment: Moment) -> u64 {
        let packet = self.flight.deliver(number);
        self.lost -= u64::from(packet.lost);
        self.again -= u64::from(packet.again);
        self.reordered |= number < highest && !packet.ever;
        self.highest = self.highest.max(number + 1);
        let rtt = moment.now.since(packet.sent);
        // Of a packet that was sent again, one that cannot be the answer to the last copy.
        let unsure = packet.ever && (rtt < moment.min_rtt || ack.echo < packet.sent);
        if !unsure {
            (self.advanced, self.rtt) = (true, rtt);
            self.latest = self.latest.max((packet.sent, number));
        }
        if !packet.ever {
            self.sample = Some(rtt);
        }
        packet.copies()
    }
}
