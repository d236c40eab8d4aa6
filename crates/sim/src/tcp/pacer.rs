//! The pacer: delays packets that the window allows, to keep to a rate, a spacing or blocks.

use fairhaul_cc::Pacing;
use fairhaul_units::{Bytes, Rate, Span, Time};

/// When the next packet may leave.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// No block goes on before.
    release: Time,
    /// Where packets are spaced evenly, none leaves before.
    spaced: Time,
    /// Packets sent in the current block.
    in_block: u64,
    /// When the current block began.
    block_began: Time,
    /// Packets of the burst under way that have not left: they need not wait.
    burst: u64,
    /// The fastest that anything leaves, whatever the controller says.
    most: Option<Rate>,
    /// Until when that rate, or a pause, holds everything.
    full_until: Time,
    /// Where packets are spaced evenly: by how many of them it may be late without losing their turns.
    depth: f64,
}

impl Pacer {
    /// A pacer that lets nothing pass faster than `most`, and that packets spaced evenly may be late for by `depth`.
    pub fn new(most: Option<Rate>, depth: f64) -> Pacer {
        Pacer { most, depth, ..Pacer::default() }
    }

    /// Nothing at all leaves before `until`.
    pub fn pause(&mut self, until: Time) {
        self.full_until = self.full_until.max(until);
    }

    /// Whether the fastest rate lets a packet leave at `now`; if not, when to ask again.
    pub fn ready(&self, now: Time) -> Result<(), Time> {
        if self.burst == 0 && now < self.full_until { Err(self.full_until) } else { Ok(()) }
    }

    /// `packets` more of a burst leave at once: what follows the burst waits for all of it.
    pub fn go_on(&mut self, packets: u64) {
        self.burst = packets;
    }

    /// Packets of the burst under way that have not left.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// `packets` of `size` bytes in all leave: the fastest rate counts them.
    pub fn sent(&mut self, size: u32, packets: u8, now: Time) {
        if let Some(rate) = self.most {
            let packets = packets.max(1);
            let each = rate.on_wire(Bytes((size / u32::from(packets)).into()));
            self.full_until = self.full_until.max(now) + each * u64::from(packets);
        }
    }

    /// Where packets are spaced evenly, whether one may leave at `now`; if not, when to ask again.
    pub fn turn(&self, now: Time) -> Result<(), Time> {
        if self.burst == 0 && now < self.spaced { Err(self.spaced) } else { Ok(()) }
    }

    /// Where packets are spaced evenly, none leaves before.
    pub fn next_turn(&self) -> Time {
        self.spaced
    }

    /// Whether `together` packets may leave as one at `now` under `pacing` with window `cwnd`; if not, when to ask again.
    /// Packets that may leave count as sent.
    pub fn admit(&mut self, pacing: Pacing, cwnd: f64, together: u64, now: Time) -> Result<(), Time> {
        match pacing {
            Pacing::None => Ok(()),
            Pacing::Even(gap) => {
                self.turn(now)?;
                self.spaced = self.spaced.max(self.earliest(gap * together, now)) + gap * together;
                Ok(())
            }
            Pacing::Blocks { count, round } => {
                self.wait(now)?;
                self.next_block(count, round, cwnd, now)?;
                self.in_block += together;
                Ok(())
            }
        }
    }

    /// Where packets are spaced evenly, by `gap`: one packet more leaves with the one that left last.
    pub fn join(&mut self, gap: Span) {
        self.spaced += gap;
    }

    /// When a turn may have been that a packet takes at `now`.
    fn earliest(&self, gap: Span, now: Time) -> Time {
        if self.depth == 0.0 {
            return now;
        }
        let late = Span::from_secs(gap.as_secs() * self.depth).min(now.since(Time::ZERO));
        Time::from_ps(now.as_ps() - late.as_ps())
    }

    /// How many packets of the current block have not left, or all of the next one.
    pub fn left_in_block(&self, count: u32, cwnd: f64) -> u64 {
        let most = block_size(count, cwnd);
        if self.in_block < most { most - self.in_block } else { most }
    }

    /// A loss event: a new block begins at once [FHSTCP, Fig. 1].
    pub fn restart(&mut self, now: Time) {
        *self = Pacer { release: now, in_block: 0, block_began: now, burst: 0, ..*self };
    }

    fn wait(&self, now: Time) -> Result<(), Time> {
        if now < self.release { Err(self.release) } else { Ok(()) }
    }

    /// Begins another block where the current one is full, one part of the round after it began.
    // Differs from [FHSTCP, Fig. 1]: a block is exactly ceil(cwnd / k) packets (the printed counter
    // lets one more pass, and does not count the packet that it delays), k is bounded by the window
    // before the block is measured, and a block that took longer than its part is followed at once.
    fn next_block(&mut self, count: u32, round: Span, cwnd: f64, now: Time) -> Result<(), Time> {
        if self.in_block < block_size(count, cwnd) {
            return Ok(());
        }
        let due = self.block_began + round / blocks(count, cwnd) as u64;
        self.in_block = 0;
        self.block_began = due.max(now);
        self.release = self.block_began;
        self.wait(now)
    }
}

/// In how many blocks a window is sent, of which each has a packet.
fn blocks(count: u32, cwnd: f64) -> f64 {
    f64::from(count).min(cwnd.max(1.0).ceil())
}

/// How many packets a block has.
fn block_size(count: u32, cwnd: f64) -> u64 {
    (cwnd / blocks(count, cwnd)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When each of `n` packets leaves, in ms, from a sender that always wants to send.
    fn departures(pacing: Pacing, cwnd: f64, n: usize) -> Vec<u64> {
        let (mut pacer, mut now) = (Pacer::default(), Time::ZERO);
        let mut left = Vec::new();
        while left.len() < n {
            match pacer.admit(pacing, cwnd, 1, now) {
                Ok(()) => left.push(now.as_ps() / 1_000_000_000),
                Err(until) => now = until,
            }
        }
        left
    }

    #[test]
    fn five_packets_in_two_blocks_of_100_ms_leave_three_and_three() {
        let pacing = Pacing::Blocks { count: 2, round: Span::from_ms(100) };
        assert_eq!(departures(pacing, 5.0, 9), [0, 0, 0, 50, 50, 50, 100, 100, 100]);
    }

    #[test]
    fn more_blocks_than_packets_are_one_packet_each() {
        let pacing = Pacing::Blocks { count: 9, round: Span::from_ms(60) };
        assert_eq!(departures(pacing, 2.0, 3), [0, 30, 60]);
    }

    /// After a pause of a second, eight packets that had their turns leave at once, and the next when it is its turn.
    #[test]
    fn a_bucket_gives_turns_back_that_were_missed() {
        let mut pacer = Pacer::new(None, 8.0);
        let mut left = 0;
        let now = Time::ZERO + Span::from_s(1);
        while pacer.admit(Pacing::Even(Span::from_ms(10)), 5.0, 1, now).is_ok() {
            left += 1;
        }
        assert_eq!(left, 9);
        assert_eq!(pacer.admit(Pacing::Even(Span::from_ms(10)), 5.0, 1, now), Err(now + Span::from_ms(10)));
    }

    #[test]
    fn even_pacing_keeps_its_rate() {
        assert_eq!(departures(Pacing::Even(Span::from_ms(8)), 5.0, 3), [0, 8, 16]);
    }
}
