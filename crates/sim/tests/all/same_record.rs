//! The fast engine writes the record that a plain one writes, bit by bit: whatever the layout of
//! the engine (paths compiled to arithmetic, receivers ahead of the clock, timers that move), the
//! answer is that of one event for each thing that happens.

use crate::drawn::runner;
use crate::reference;
use crate::reference::chain::{Chain, ChainFlow, ChainLink};
use crate::reference::compare::difference;
use crate::reference::draw;
use fairhaul_experiment::{Hold, HostPacing, HostSettings, Record, Scenario, SharedSender, Start, Traffic};
use fairhaul_path::impair::LossRule;
use fairhaul_path::queue::{self, Capacity};
use fairhaul_sim::{Control, run};
use fairhaul_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

fn fast(scenario: &Scenario) -> Record {
    run(scenario, &Control::default()).expect("the run ends")
}

/// The record, which both engines write identically.
fn same(chain: &Chain) -> Record {
    let scenario = chain.scenario();
    let record = fast(&scenario);
    if let Some(difference) = difference(&record, &reference::run(&scenario)) {
        panic!("{difference}\n{chain:#?}");
    }
    record
}

fn sent(record: &Record, flow: usize) -> u64 {
    record.flows[flow].iter().map(|row| row.sent).sum()
}

fn lost(record: &Record, flow: usize) -> u64 {
    record.flows[flow].iter().map(|row| row.lost).sum()
}

/// 8 Mbit/s: a packet of 1000 B takes 1 ms.
fn slow_link(capacity: u64) -> ChainLink {
    ChainLink::new(8000, Span::from_ms(5), Capacity::Packets(capacity))
}

/// Draws `count` chains, or `PROPTEST_CASES` if that is more.
fn cases(count: u32, seed: u8, chains: impl Strategy<Value = Chain>) {
    let result = runner(count, seed).run(&chains, |chain| {
        let scenario = chain.scenario();
        let fast = run(&scenario, &Control::default()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let difference = difference(&fast, &reference::run(&scenario));
        prop_assert!(difference.is_none(), "{}", difference.unwrap_or_default());
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn any_scenario_gives_the_same_record() {
    cases(1000, 1, draw::chains());
}

#[test]
fn any_scenario_with_bursts_gives_the_same_record() {
    cases(150, 2, draw::chains_with_bursts());
}

#[test]
fn simultaneous_starts_without_overhead_tie_and_agree() {
    let flows = vec![ChainFlow::plain(); 5];
    let record = same(&Chain::dumbbell(slow_link(20), flows, 3));
    assert!(lost(&record, 0) > 0);
}

#[test]
fn a_whole_window_dropped_in_slow_start_agrees() {
    // From 200 ms on, the first 64 packets of the flow: one instant for each.
    let times = (0..64).map(|i| Time::ZERO + Span::from_ms(200) + Span::from_us(i)).collect();
    let loss = Some(LossRule::At { times, flows: vec![0] });
    let link = ChainLink { kbps: 100_000, loss, ..slow_link(1000) };
    let record = same(&Chain::dumbbell(link, vec![ChainFlow::plain()], 3));
    assert!(record.events.iter().any(|event| event.kind == "timeout" || event.kind == "reduction"));
}

#[test]
fn a_queue_of_one_packet_agrees() {
    let two = vec![ChainFlow::plain(), ChainFlow { backwards: true, ..ChainFlow::plain() }];
    let record = same(&Chain::dumbbell(slow_link(1), two, 5));
    assert!(lost(&record, 0) > 10);
}

#[test]
fn a_path_without_a_shared_link_agrees() {
    let wires = ChainFlow {
        to: 0,
        access: Some((10_000, Span::from_ms(10))),
        max_window: 30.0,
        ..ChainFlow::plain()
    };
    let alone = ChainFlow { ..ChainFlow::plain() };
    let record = same(&Chain::dumbbell(slow_link(10), vec![wires, alone], 3));
    assert!(sent(&record, 0) > 1000 && lost(&record, 0) == 0 && lost(&record, 1) > 0);
}

#[test]
fn a_router_that_answers_for_a_cloud_agrees() {
    let named = |name: &str| queue::QueueChoice::named(name).expect("a name of the catalogue");
    let fast = ChainLink { kbps: 40_000, queue: named("xcp"), ..slow_link(200) };
    let flows = (0..3)
        .map(|n| ChainFlow { controller: "xcp", to: 3 - n / 2, ..ChainFlow::plain() })
        .collect::<Vec<_>>();
    // One queue that decides on arrival, and one that does so at departure, know nothing of XCP.
    for cloud in ["droptail", "codel"] {
        let cloud = ChainLink { queue: named(cloud), ..slow_link(40) };
        let [answers, silent] = [1.0, 0.0].map(|answers| {
            let mut last = fast.clone();
            last.queue.settings.set("virtual", answers);
            let links = vec![fast.clone(), cloud.clone(), last];
            same(&Chain { links, ..Chain::dumbbell(fast.clone(), flows.clone(), 5) })
        });
        assert!(lost(&answers, 0) < lost(&silent, 0));
    }
}

#[test]
fn flows_that_share_a_sender_agree_and_share_the_rate_of_its_links() {
    // Each link of the card has 2 Mbit/s, and the link behind them 8.
    for links in [1, 2] {
        let sender = Some(SharedSender { name: "server".to_owned(), number: 0 });
        let line_rate = Rate::from_bps(2_000_000);
        let host = HostSettings { sender, line_rate, links: Some(links), ..HostSettings::default() };
        let flow = ChainFlow { host: Some(host), offload: 4, ..ChainFlow::plain() };
        let record = same(&Chain::dumbbell(slow_link(100), vec![flow.clone(), flow.clone(), flow], 4));
        let bits: u64 = (0..3).map(|flow| 8 * 1000 * sent(&record, flow)).sum();
        let mbit_per_s = bits as f64 / 4e6;
        assert!((mbit_per_s / (2.0 * f64::from(links)) - 1.0).abs() < 0.1, "{mbit_per_s}");
    }
}

#[test]
fn flows_that_fq_paces_share_the_card_of_their_sender() {
    // Its card has 4 Mbit/s, and the link behind it 8.
    let sender = Some(SharedSender { name: "server".to_owned(), number: 0 });
    let host = HostSettings { sender, line_rate: Rate::from_bps(4_000_000), ..HostSettings::default() };
    let flow = ChainFlow { host: Some(host), pacing: HostPacing::Linux, offload: 4, ..ChainFlow::plain() };
    let record = same(&Chain::dumbbell(slow_link(100), vec![flow.clone(), flow], 4));
    let bits: u64 = (0..2).map(|flow| 8 * 1000 * sent(&record, flow)).sum();
    assert!((bits as f64 / 16e6 - 1.0).abs() < 0.1, "{bits} bits in 4 s");
}

#[test]
fn an_acknowledgement_delayed_until_the_arrival_of_the_next_packet_agrees() {
    // Packets arrive 1 ms apart, and an acknowledgement is delayed by 1 ms.
    let flow = ChainFlow { delayed_ack: Some(Hold::of_second(Span::from_ms(1))), ..ChainFlow::plain() };
    let meets = same(&Chain::dumbbell(slow_link(30), vec![flow.clone(), flow.clone()], 3));
    let alone = same(&Chain::dumbbell(slow_link(30), vec![flow], 3));
    assert!(sent(&meets, 0) > 500 && sent(&alone, 0) > 1000);
}

#[test]
fn a_start_at_the_very_arrival_of_anothers_packet_agrees() {
    // Without wires before the link, the second flow's request takes 40 us and 5 ms, and so does
    // the answer: its first packet is at the link at 10.08 ms, when the first flow begins.
    let first = ChainFlow { access: None, start: Start::At(Span::from_us(10_080)), ..ChainFlow::plain() };
    let second = ChainFlow { access: None, ..ChainFlow::plain() };
    same(&Chain::dumbbell(slow_link(20), vec![first.clone(), second.clone()], 1));
    same(&Chain::dumbbell(slow_link(2), vec![second, first], 1));
}

#[test]
fn more_than_a_thousand_flows_agree_in_their_totals() {
    let flow = |i: u64| ChainFlow {
        traffic: Traffic::Sized(Bytes(100 + 10 * i)),
        start: Start::At(Span::from_ms(i % 7)),
        ..ChainFlow::plain()
    };
    let chain = Chain::dumbbell(slow_link(500), (0..1010).map(flow).collect(), 1);
    let record = same(&Chain { warmup: Span::from_ms(300), ..chain });
    assert_eq!(record.grid.len(), 2);
}

#[test]
fn another_seed_a_longer_delay_or_a_smaller_queue_changes_the_record() {
    let flow = ChainFlow { overhead: Span::from_us(100), ..ChainFlow::plain() };
    let chain = Chain::dumbbell(slow_link(20), vec![flow.clone(), flow], 2);
    let plain = reference::run(&chain.scenario());
    let apart = |other: Chain| difference(&fast(&other.scenario()), &plain).is_some();
    assert!(!apart(chain.clone()));
    assert!(apart(Chain { seed: 2, ..chain.clone() }));
    let picosecond = ChainLink { delay: Span::from_ms(5) + Span::from_ps(1), ..slow_link(20) };
    assert!(apart(Chain { links: vec![picosecond], ..chain.clone() }));
    assert!(apart(Chain { links: vec![slow_link(19)], ..chain }));
}
