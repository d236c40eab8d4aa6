//! Packets, bytes and their order are conserved where bursts are made, cut, joined and split: counted from packet traces and from
//! what a card hands over, and by nothing that the engine counts itself.

use std::collections::HashMap;

use fairhaul_experiment::{Hold, HostSettings, PacketRow, PacketWhat};
use fairhaul_path::card::{Moderation, Noise};
use fairhaul_path::impair::Impairments;
use fairhaul_path::queue::Capacity;
use fairhaul_sim::tcp::Card;
use fairhaul_sim::{Control, run_traced};
use fairhaul_units::{Data, Ecn, Sending, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::reference::chain::{Chain, ChainFlow, ChainLink};
use crate::reference::draw;

/// What identifies a packet on its way; a number may be sent again.
fn identity(row: &PacketRow) -> (u32, u64, bool, u32) {
    (row.connection, row.number, row.retransmitted, row.size)
}

/// Why the rows of a trace cannot be those of one flow whose packets nothing doubles or reorders.
fn fault(rows: &[PacketRow]) -> Option<String> {
    let of = |what: PacketWhat| rows.iter().filter(move |row| row.what == what && !row.opens);
    let mut in_network: HashMap<_, i64> = HashMap::new();
    of(PacketWhat::Sent).for_each(|row| *in_network.entry(identity(row)).or_default() += 1);
    for row in of(PacketWhat::Received).chain(of(PacketWhat::Dropped)) {
        *in_network.entry(identity(row)).or_default() -= 1;
    }
    if let Some((packet, _)) = in_network.iter().find(|(_, copies)| **copies < 0) {
        return Some(format!("{packet:?} arrived or was dropped more often than it was sent"));
    }
    // What arrives has been sent in the same order.
    let mut sent = of(PacketWhat::Sent);
    let late = of(PacketWhat::Received).find(|row| !sent.any(|other| identity(other) == identity(row)));
    late.map(|row| format!("{:?} arrived before what had been sent before it", identity(row)))
}

fn keeps_order(chain: &Chain) -> bool {
    let plain = |link: &ChainLink| {
        let moves = |impair: &Impairments| {
            impair.duplicate > 0.0 || impair.reorder.is_some() || impair.jitter.is_some()
        };
        !moves(&link.impair) && !moves(&link.back_impair) && link.schedule.delays.is_empty()
    };
    chain.links.iter().all(plain)
}

#[test]
fn every_packet_that_is_sent_arrives_once_and_in_order_or_is_dropped() {
    let config = Config { cases: 150, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[5; 32]);
    let chains = draw::chains_with_bursts().prop_filter("it keeps the order", keeps_order);
    let result = TestRunner::new_with_rng(config, rng).run(&chains, |chain| {
        let scenario = chain.scenario();
        let (_, trace) = run_traced(&scenario, 0, &Control::default())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let fault = fault(&trace.rows).filter(|_| !trace.full);
        prop_assert!(fault.is_none(), "{}", fault.unwrap_or_default());
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:#}"));
}

/// A card of a receiver that merges.
fn card(moderation: u64, noise: u64, spacing: u64) -> Card {
    let settings = HostSettings {
        gro: true,
        moderation: Moderation::Every(Span::from_us(moderation)),
        noise: Noise::Uniform(Span::from_us(noise)),
        ..HostSettings::default()
    };
    let kernel = Some(Hold::Adaptive { quick: 16 });
    let flow = ChainFlow { host: Some(settings), delayed_ack: kernel, ..ChainFlow::plain() };
    let link = ChainLink::new(8000, Span::ZERO, Capacity::Unlimited);
    let scenario = Chain::dumbbell(link, vec![flow], 1).scenario();
    Card::of(&scenario.flows[0], 0, 1, Span::from_us(spacing)).expect("it merges")
}

proptest! {
    /// Bursts of any lengths arrive at any times: each packet is handed over once, in order, with its bytes, and what was handed
    /// over together is at most 64 KiB of one burst.
    #[test]
    fn a_card_hands_over_what_arrives(
        bursts in proptest::collection::vec((1u8..200, 0u64..3000, 100u32..1500), 1..40),
        (moderation, noise, spacing) in (0u64..300, 0u64..40, 0u64..20),
    ) {
        let mut card = card(moderation, noise, spacing);
        let (mut number, mut us, mut arrived, mut handed) = (0u64, 0u64, Vec::new(), Vec::new());
        for (packets, pause, size) in bursts {
            us += pause;
            while card.due() < Time::ZERO + Span::from_us(us) {
                card.interrupt(|data, _| handed.push(data));
            }
            let data = Data {
                number,
                stamped: Time::ZERO,
                size: size * u32::from(packets),
                packets,
                sending: if packets > 1 { Sending::Whole } else { Sending::First },
                ecn: Ecn::Capable,
                cwr: false,
                congestion: None,
            };
            arrived.extend((0..u64::from(packets)).map(|place| (number + place, size)));
            card.arrive(data, Time::ZERO + Span::from_us(us));
            number += u64::from(packets);
            us += spacing * u64::from(packets);
        }
        while card.due() < Time::NEVER {
            card.interrupt(|data, _| handed.push(data));
        }
        prop_assert!(card.is_empty());
        prop_assert!(handed.iter().all(|data| data.packets == 1 || data.size <= 65_536));
        let packets = handed.iter().map(|data| u64::from(data.packets)).sum::<u64>();
        prop_assert_eq!(packets, arrived.len() as u64);
        let numbers = handed.iter().flat_map(|data| data.number..data.end());
        prop_assert!(numbers.eq(arrived.iter().map(|packet| packet.0)));
        let bytes = |sizes: &mut dyn Iterator<Item = u32>| sizes.map(u64::from).sum::<u64>();
        prop_assert_eq!(
            bytes(&mut handed.iter().map(|data| data.size)),
            bytes(&mut arrived.iter().map(|packet| packet.1))
        );
    }

    /// Parts of a burst are its packets: none is missing, and the first and the last know that they are.
    #[test]
    fn a_burst_is_its_parts(packets in 2u8..255, cuts in proptest::collection::vec(0.0f64..1.0, 0..5), whole in any::<bool>()) {
        let burst = Data {
            number: 7,
            stamped: Time::ZERO,
            size: 1500 * u32::from(packets),
            packets,
            sending: if whole { Sending::Whole } else { Sending::First },
            ecn: Ecn::Capable,
            cwr: true,
            congestion: None,
        };
        let mut edges: Vec<u8> = cuts.iter().map(|cut| (cut * f64::from(packets)) as u8).collect();
        edges.extend([0, packets]);
        edges.sort_unstable();
        edges.dedup();
        let parts: Vec<Data> = edges.windows(2).map(|edge| burst.part(edge[0], edge[1] - edge[0])).collect();
        let singles = |parts: &[Data]| parts.iter().flat_map(Data::each).collect::<Vec<_>>();
        prop_assert_eq!(singles(&parts), singles(&[burst]));
        prop_assert_eq!(parts.iter().map(|part| part.size).sum::<u32>(), burst.size);
        prop_assert!(parts.iter().enumerate().all(|(place, part)| part.sending.follows() == (place > 0)));
        let ends = parts.iter().filter(|part| part.sending.ends_burst()).count();
        prop_assert_eq!(ends, usize::from(whole));
        prop_assert!(parts.iter().enumerate().all(|(place, part)| part.cwr == (place == 0)));
    }
}
