//! The network card of a host and its processor: sends packets one after the other at its line rate, when the host has worked
//! for them, and delivers what it receives with a random delay that keeps their order. Merging and a fixed moderation are the
//! work of the kernel and of its device.

use std::collections::VecDeque;

use fairhaul_host::lab::host_settings::HostSettings;
use fairhaul_path::card::{Interrupts, LARGEST_MERGE, Moderation, Noise, Processor, SendCard};
use fairhaul_units::{Bytes, Chance, Sending, Span, Time};

/// See the module.
pub struct Card {
    sending: SendCard,
    receiving: Option<Processor>,
    noise: Noise,
    chance: Chance,
    /// The interrupts of a card whose interval follows the traffic, or whose host works.
    interrupts: Option<Interrupts>,
    /// Packets that are delayed, in the order of delivery.
    delayed: VecDeque<(Time, Vec<u8>)>,
}

impl Card {
    /// The card of host number `host` with these settings; `seed`: that of the run.
    pub fn new(settings: &HostSettings, host: u64, seed: u64) -> Card {
        let (rule, receiving) = (settings.moderation, settings.receiving);
        let is_adaptive = !matches!(rule, Moderation::Every(_));
        // The device keeps to a fixed interval.
        let rule = if is_adaptive { rule } else { Moderation::NONE };
        Card {
            sending: SendCard::new(settings.line_rate, settings.sending).bonded(settings.links),
            receiving,
            noise: settings.noise,
            chance: Chance::stream(seed, "card", host),
            interrupts: (is_adaptive || receiving.is_some()).then(|| Interrupts::new(rule)),
            delayed: VecDeque::new(),
        }
    }

    /// Sends a packet of this size, the first of a burst or one that follows, at `now` or as soon as the host has worked for
    /// it and the one before has left; returns when its last bit has left, and on which link.
    pub fn send(&mut self, size: Bytes, sending: Sending, now: Time) -> (Time, usize) {
        let left = self.sending.send(size, 1, sending.follows(), now).1;
        (left, self.sending.link())
    }

    /// Whether it delays what it receives.
    pub fn delays(&self) -> bool {
        !self.noise.is_none() || self.interrupts.is_some()
    }

    /// Receives a packet at `now`, and delivers it later.
    pub fn receive(&mut self, packet: &[u8], now: Time) {
        let earliest = self.delayed.back().map_or(now, |last| last.0);
        let at = earliest.max(now + self.noise.draw(&mut self.chance));
        self.delayed.push_back((at, packet.to_vec()));
        if let Some(interrupts) = &mut self.interrupts {
            interrupts.arrive(at, 1, Span::ZERO);
        }
    }

    /// When it delivers the next packet.
    pub fn next_at(&self) -> Option<Time> {
        let first = self.delayed.front()?.0;
        Some(self.interrupts.as_ref().map_or(first, |interrupts| interrupts.due(first)))
    }

    /// Delivers the packets that are due at `now`.
    pub fn deliver(&mut self, now: Time, mut each: impl FnMut(&[u8])) {
        if self.next_at().is_none_or(|at| at > now) {
            return;
        }
        let (mut packets, mut bytes) = (0, 0);
        while self.delayed.front().is_some_and(|next| next.0 <= now)
            && let Some((_, packet)) = self.delayed.pop_front()
        {
            packets += 1;
            bytes += u64::from(length(&packet));
            each(&packet);
        }
        if let Some(interrupts) = &mut self.interrupts {
            // How many merges packets become is not known before the kernel has made them.
            let merges = bytes.div_ceil(LARGEST_MERGE.into());
            let work = self.receiving.map_or(Span::ZERO, |costs| costs.takes(merges, packets, bytes));
            interrupts.handed_over(now, packets, bytes, work);
            interrupts.keep(self.delayed.iter().map(|(at, _)| (*at, 1)), Span::ZERO);
        }
    }
}

/// The length of an IP packet, of which only the headers may be there: they say it.
pub(super) fn length(packet: &[u8]) -> u32 {
    match *packet {
        [_, _, high, low, ..] => u16::from_be_bytes([high, low]).into(),
        _ => packet.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairhaul_units::Rate;

    fn card(line_rate: Option<Rate>, noise: Noise) -> Card {
        Card::new(&HostSettings { line_rate, noise, ..HostSettings::default() }, 0, 1)
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn delivered(card: &mut Card, now: Time) -> Vec<u8> {
        let mut delivered = Vec::new();
        card.deliver(now, |packet| delivered.push(packet[0]));
        delivered
    }

    #[test]
    fn packets_leave_one_after_the_other_at_the_line_rate() {
        // 1500 B at 1 Gbit/s take 12 us.
        let mut card = card(Rate::from_bps(1_000_000_000), Noise::NONE);
        let left = [0, 0, 100].map(|us| card.send(Bytes(1500), Sending::First, at_us(us)).0);
        assert_eq!(left, [at_us(12), at_us(24), at_us(112)]);
    }

    #[test]
    fn without_a_line_rate_a_packet_leaves_at_once() {
        assert_eq!(card(None, Noise::NONE).send(Bytes(1500), Sending::First, at_us(3)).0, at_us(3));
    }

    #[test]
    fn a_host_works_for_a_burst_before_it_leaves() {
        let costs = Processor { burst: Span::from_us(8), kilobyte: Span::from_us(2), packet: Span::ZERO };
        let mut card = Card::new(&HostSettings { sending: Some(costs), ..HostSettings::default() }, 0, 1);
        let mut left = |us, sending| card.send(Bytes(1500), sending, at_us(us)).0;
        let (first, following) = (Sending::First, Sending::Following);
        assert_eq!([left(0, first), left(0, following), left(1, first)], [11, 14, 25].map(at_us));
        assert_eq!(left(100, first), at_us(111));
    }

    #[test]
    fn a_host_that_works_for_what_it_has_received_takes_more_over_at_once() {
        let costs = Processor { burst: Span::ZERO, kilobyte: Span::ZERO, packet: Span::from_us(10) };
        let mut card = Card::new(&HostSettings { receiving: Some(costs), ..HostSettings::default() }, 0, 1);
        (0..3u8).for_each(|number| card.receive(&[number], at_us(100 + 3 * u64::from(number))));
        assert_eq!(delivered(&mut card, at_us(100)), [0]);
        assert_eq!((card.next_at(), delivered(&mut card, at_us(110))), (Some(at_us(110)), vec![1, 2]));
        card.receive(&[3], at_us(111));
        assert_eq!((card.next_at(), delivered(&mut card, at_us(129))), (Some(at_us(130)), vec![]));
    }

    #[test]
    fn noise_delays_each_packet_by_less_than_its_range_and_keeps_the_order() {
        let mut card = card(None, Noise::Uniform(Span::from_us(50)));
        assert!(card.delays());
        (0..100u8).for_each(|number| card.receive(&[number], at_us(u64::from(number))));
        let (mut order, mut delays) = (Vec::new(), Vec::new());
        while let Some(at) = card.next_at() {
            assert!(delivered(&mut card, Time::ZERO).is_empty(), "nothing is due before its time");
            for number in delivered(&mut card, at) {
                delays.push(at.since(at_us(number.into())));
                order.push(number);
            }
        }
        assert_eq!(order, Vec::from_iter(0..100));
        assert!(delays.iter().all(|delay| *delay <= Span::from_us(50)), "{delays:?}");
        assert!(delays.iter().any(|delay| *delay > Span::from_us(40)), "{delays:?}");
    }
}
