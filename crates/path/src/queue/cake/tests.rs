//! Tests of CAKE.

use super::*;
use fairhaul_units::{CongestionHeader, Ecn, Sending, Settings, Span};

/// A packet of a connection of the flow of that number; an acknowledgement has a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    flow: u32,
    ack: Option<u64>,
}

impl Packet for Sent {
    fn at_link(&self) -> LinkPacket {
        let kind = if self.ack.is_some() { PacketKind::Ack } else { PacketKind::Data };
        let (sending, ecn) = (Sending::First, Ecn::NotCapable);
        LinkPacket { connection: self.flow, size: 1500, ecn, flow: self.flow, kind, sending, counted: 0 }
    }

    fn congestion(&self) -> Option<&CongestionHeader> {
        None
    }

    fn congestion_mut(&mut self) -> Option<&mut CongestionHeader> {
        None
    }

    fn covers(&self, other: &Sent) -> bool {
        self.flow == other.flow && other.ack.is_some() && self.ack >= other.ack
    }
}

fn cake(values: &[(&str, f64)], labels: &[FlowLabel]) -> Cake<Sent> {
    let mut settings = Settings::defaults(CakeRule::LIST).with("mtu", 1500.0);
    values.iter().for_each(|(name, value)| settings.set(name, *value));
    let (rule, labels) = ((&settings).into(), (!labels.is_empty()).then(|| labels.into()));
    Cake::new(&CakeChoice { rule, labels, chance: Chance::stream(1, "queue", 0) })
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn push(cake: &mut Cake<Sent>, flow: u32, ack: Option<u64>) -> Vec<Option<u64>> {
    let (packet, mut dropped) = (Sent { flow, ack }, Vec::new());
    let size = if ack.is_some() { 40 } else { 1500 };
    cake.push(flow, Queued { packet, size, ecn: Ecn::NotCapable, arrived: at(0) }, &mut dropped);
    dropped.iter().map(|queued| queued.packet.ack).collect()
}

/// How many of 3000 packets are of each of the flows, which never run dry, without delay.
fn shares(cake: &mut Cake<Sent>, flows: u32) -> Vec<usize> {
    (0..flows).for_each(|flow| (0..30).for_each(|_| _ = push(cake, flow, None)));
    let mut sent = vec![0; flows as usize];
    for _ in 0..3000 {
        let (queued, _) = cake.next(at(0), &mut Vec::new()).expect("all flows have packets");
        sent[queued.packet.flow as usize] += 1;
        push(cake, queued.packet.flow, None);
    }
    sent
}

fn label(source: u32, destination: u32, dscp: u8) -> FlowLabel {
    FlowLabel { source, destination, dscp }
}

/// Host 1 has one connection and host 2 three, to four hosts: by hosts half is of host 1, by connections a quarter.
#[test]
fn hosts_share_equally_and_then_their_connections() {
    let labels = [label(1, 11, 0), label(2, 12, 0), label(2, 13, 0), label(2, 14, 0)];
    for (sharing, first, others) in [
        (Sharing::Triple, 1500, 500),
        (Sharing::DualSource, 1500, 500),
        (Sharing::DualDestination, 750, 750),
        (Sharing::Flows, 750, 750),
    ] {
        let sent = shares(&mut cake(&[("sharing", sharing.value())], &labels), 4);
        assert!(sent[0].abs_diff(first) < 60, "{sharing:?}: {sent:?}");
        assert!(sent[1..].iter().all(|count| count.abs_diff(others) < 60), "{sharing:?}: {sent:?}");
    }
}

/// Connections from one host to two, and from two to one: what counts is the busier end of each.
#[test]
fn triple_isolation_goes_by_the_busier_host() {
    // Host 1 sends to 10 and 11, hosts 2 and 3 send to 12; host 4 sends to 13 alone.
    let labels = [label(1, 10, 0), label(1, 11, 0), label(2, 12, 0), label(3, 12, 0), label(4, 13, 0)];
    let sent = shares(&mut cake(&[], &labels), 5);
    assert!(
        sent[4].abs_diff(1000) < 60 && sent[..4].iter().all(|count| count.abs_diff(500) < 60),
        "{sent:?}"
    );
}

/// 12 Mbit/s: a packet a millisecond. While every tin has packets voice has its quarter and bulk its sixteenth, best effort
/// the rest.
#[test]
fn tins_have_their_rates_and_the_shaper_its_own() {
    let labels = [label(1, 1, 0), label(2, 2, 8), label(3, 3, 46)];
    let mut cake = cake(&[("bandwidth", 12.0)], &labels);
    (0..3).for_each(|flow| (0..30).for_each(|_| _ = push(&mut cake, flow, None)));
    let (mut sent, mut now) = ([0usize; 3], at(0));
    for _ in 0..1600 {
        let (queued, _) = cake.next(now, &mut Vec::new()).expect("all flows have packets");
        sent[queued.packet.flow as usize] += 1;
        now = cake.ready();
        let mut queued = queued;
        queued.arrived = now;
        cake.push(queued.packet.flow, queued, &mut Vec::new());
    }
    assert_eq!(now, at(1_600_000));
    assert!(sent[1].abs_diff(100) <= 20 && sent[2].abs_diff(400) <= 40, "{sent:?}");
}

/// The filter drops the first of two acknowledgements that the new one covers, the aggressive one the only one.
#[test]
fn acknowledgements_that_say_nothing_more_are_dropped() {
    let dropped = |thinning: AckThinning| {
        let mut cake = cake(&[("ack_filter", thinning.value())], &[]);
        let all: Vec<_> = (1..=4).flat_map(|number| push(&mut cake, 7, Some(number))).flatten().collect();
        (all, cake.len(), cake.gauges()[2])
    };
    assert_eq!(dropped(AckThinning::No), (vec![], 4, 0.0));
    assert_eq!(dropped(AckThinning::Yes), (vec![1, 2], 2, 2.0));
    assert_eq!(dropped(AckThinning::Aggressive), (vec![1, 2, 3], 1, 3.0));
}

/// What overflows is dropped from the head of the longest queue.
#[test]
fn the_longest_queue_gives_up_its_first_packet() {
    let mut cake = cake(&[], &[]);
    (0..3).for_each(|_| _ = push(&mut cake, 1, None));
    (0..5).for_each(|_| _ = push(&mut cake, 2, None));
    let gone: Vec<_> =
        (0..3).filter_map(|_| cake.pop_longest(at(0))).map(|queued| queued.packet.flow).collect();
    assert_eq!((gone[..2].to_vec(), cake.len()), (vec![2, 2], 5));
}

/// [LINUX, cake_set_rate] at 1 Mbit/s: 125 000 B/s give a quantum of 300 B, and 1.5 times 12 ms are a target of 18 ms.
#[test]
fn a_slow_link_has_a_longer_target() {
    let clock = Clock { rate: 125_000.0, next: Time::ZERO };
    let times = tin::times(&clock, 1500.0, Span::from_ms(5), Span::from_ms(100));
    assert_eq!((times.target, times.interval), (Span::from_ms(18), Span::from_ms(113)));
    assert_eq!([125_000.0, 2.5e6, 0.0].map(tin::quantum), [300.0, 610.0, 1514.0]);
}
