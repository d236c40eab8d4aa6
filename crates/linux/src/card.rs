//! The network card of a host: sends packets one after the other at its line rate, and delivers what it receives with a
//! random delay that keeps their order. Merging and moderation are the work of the kernel and of its device.

use std::collections::VecDeque;

use fairhaul_host::lab::host_settings::HostSettings;
use fairhaul_units::{Bytes, Chance, Rate, Span, Time};

/// See the module.
pub struct Card {
    line_rate: Option<Rate>,
    /// Until when it is sending.
    busy_until: Time,
    noise: Span,
    chance: Chance,
    /// Packets that are delayed, in the order of delivery.
    delayed: VecDeque<(Time, Vec<u8>)>,
}

impl Card {
    /// The card of host number `host` with these settings; `seed`: that of the run.
    pub fn new(settings: &HostSettings, host: u64, seed: u64) -> Card {
        Card {
            line_rate: settings.line_rate,
            busy_until: Time::ZERO,
            noise: settings.noise,
            chance: Chance::stream(seed, "card", host),
            delayed: VecDeque::new(),
        }
    }

    /// Sends a packet of this size at `now` or as soon as the one before has left; returns when its last bit has left.
    pub fn send(&mut self, size: Bytes, now: Time) -> Time {
        let Some(rate) = self.line_rate else { return now };
        self.busy_until = self.busy_until.max(now) + rate.on_wire(size);
        self.busy_until
    }

    /// Whether it delays what it receives.
    pub fn delays(&self) -> bool {
        self.noise > Span::ZERO
    }

    /// Receives a packet at `now`, and delivers it later.
    pub fn receive(&mut self, packet: &[u8], now: Time) {
        let earliest = self.delayed.back().map_or(now, |last| last.0);
        let at = earliest.max(now + self.chance.span(self.noise));
        self.delayed.push_back((at, packet.to_vec()));
    }

    /// When it delivers the next packet.
    pub fn next_at(&self) -> Option<Time> {
        self.delayed.front().map(|next| next.0)
    }

    /// The next packet that is due at `now`.
    pub fn due(&mut self, now: Time) -> Option<Vec<u8>> {
        self.next_at().filter(|at| *at <= now)?;
        self.delayed.pop_front().map(|next| next.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(line_rate: Option<Rate>, noise: Span) -> Card {
        Card::new(&HostSettings { line_rate, noise, ..HostSettings::default() }, 0, 1)
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn packets_leave_one_after_the_other_at_the_line_rate() {
        // 1500 B at 1 Gbit/s take 12 us.
        let mut card = card(Rate::from_bps(1_000_000_000), Span::ZERO);
        let left = [0, 0, 100].map(|us| card.send(Bytes(1500), at_us(us)));
        assert_eq!(left, [at_us(12), at_us(24), at_us(112)]);
    }

    #[test]
    fn without_a_line_rate_a_packet_leaves_at_once() {
        assert_eq!(card(None, Span::ZERO).send(Bytes(1500), at_us(3)), at_us(3));
    }

    #[test]
    fn noise_delays_each_packet_by_less_than_its_range_and_keeps_the_order() {
        let mut card = card(None, Span::from_us(50));
        assert!(card.delays());
        (0..100u8).for_each(|number| card.receive(&[number], at_us(u64::from(number))));
        let mut delivered = Vec::new();
        let mut delays = Vec::new();
        while let Some(at) = card.next_at() {
            let packet = card.due(at).expect("it is due");
            delays.push(at.since(at_us(packet[0].into())));
            delivered.push(packet[0]);
            assert_eq!(card.due(Time::ZERO), None, "nothing is due before its time");
        }
        assert_eq!(delivered, Vec::from_iter(0..100));
        assert!(delays.iter().all(|delay| *delay <= Span::from_us(50)), "{delays:?}");
        assert!(delays.iter().any(|delay| *delay > Span::from_us(40)), "{delays:?}");
    }
}
