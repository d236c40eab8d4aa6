//! The fast engine writes the record that a plain one writes, bit by bit: whatever the layout of
//! the engine (paths compiled to arithmetic, receivers ahead of the clock, timers that move), the
//! answer is that of one event for each thing that happens.

mod reference;

use fairhaul_experiment::{Hold, Record, Scenario, Start, Traffic};
use fairhaul_path::impair::LossRule;
use fairhaul_path::queue::{self, Capacity};
use fairhaul_sim::{Control, run};
use fairhaul_units::{Bytes, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reference::compare::difference;
use reference::draw;
use reference::recipe::{Leg, Recipe, Stretch};

fn fast(scenario: &Scenario) -> Record {
    run(scenario, &Control::default()).expect("the run ends")
}

/// Both engines write the same record; it.
fn same(recipe: &Recipe) -> Record {
    let scenario = recipe.cook();
    let record = fast(&scenario);
    if let Some(difference) = difference(&record, &reference::run(&scenario)) {
        panic!("{difference}\n{recipe:#?}");
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
fn slow_link(capacity: u64) -> Stretch {
    Stretch::new(8000, Span::from_ms(5), Capacity::Packets(capacity))
}

/// Draws `count` recipes, or `PROPTEST_CASES` if that is more.
fn cases(count: u32, seed: u8, recipes: impl Strategy<Value = Recipe>) {
    let count = count.max(Config::default().cases);
    let config =
        Config { cases: count, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let result = TestRunner::new_with_rng(config, rng).run(&recipes, |recipe| {
        let scenario = recipe.cook();
        let fast = run(&scenario, &Control::default()).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let found = difference(&fast, &reference::run(&scenario));
        prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn any_scenario_gives_the_same_record() {
    cases(4000, 1, draw::recipes());
}

#[test]
fn simultaneous_starts_without_overhead_tie_and_agree() {
    let flows = vec![Leg::plain(); 5];
    let record = same(&Recipe::dumbbell(slow_link(20), flows, 3));
    assert!(lost(&record, 0) > 0);
}

#[test]
fn a_whole_window_dropped_in_slow_start_agrees() {
    // From 200 ms on, the first 64 packets of the flow: one instant for each.
    let times = (0..64).map(|i| Time::ZERO + Span::from_ms(200) + Span::from_us(i)).collect();
    let loss = Some(LossRule::At { times, flows: vec![0] });
    let stretch = Stretch { kbps: 100_000, loss, ..slow_link(1000) };
    let record = same(&Recipe::dumbbell(stretch, vec![Leg::plain()], 3));
    assert!(record.events.iter().any(|event| event.kind == "timeout" || event.kind == "reduction"));
}

#[test]
fn a_queue_of_one_packet_agrees() {
    let two = vec![Leg::plain(), Leg { backwards: true, ..Leg::plain() }];
    let record = same(&Recipe::dumbbell(slow_link(1), two, 5));
    assert!(lost(&record, 0) > 10);
}

#[test]
fn a_path_without_a_shared_link_agrees() {
    let wires = Leg { to: 0, access: Some((10_000, Span::from_ms(10))), max_window: 30.0, ..Leg::plain() };
    let alone = Leg { ..Leg::plain() };
    let record = same(&Recipe::dumbbell(slow_link(10), vec![wires, alone], 3));
    assert!(sent(&record, 0) > 1000 && lost(&record, 0) == 0 && lost(&record, 1) > 0);
}

#[test]
fn a_router_that_answers_for_a_cloud_agrees() {
    let named = |name: &str| queue::QueueChoice::named(name).expect("a name of the catalogue");
    let fast = Stretch { kbps: 40_000, queue: named("xcp"), ..slow_link(200) };
    let legs = (0..3).map(|n| Leg { controller: "xcp", to: 3 - n / 2, ..Leg::plain() }).collect::<Vec<_>>();
    // One queue that decides on arrival, and one that does so at departure, know nothing of XCP.
    for cloud in ["droptail", "codel"] {
        let cloud = Stretch { queue: named(cloud), ..slow_link(40) };
        let [answers, silent] = [1.0, 0.0].map(|answers| {
            let mut last = fast.clone();
            last.queue.settings.set("virtual", answers);
            let chain = vec![fast.clone(), cloud.clone(), last];
            same(&Recipe { chain, ..Recipe::dumbbell(fast.clone(), legs.clone(), 5) })
        });
        assert!(lost(&answers, 0) < lost(&silent, 0));
    }
}

#[test]
fn an_acknowledgement_delayed_until_the_arrival_of_the_next_packet_agrees() {
    // Packets arrive 1 ms apart, and an acknowledgement is delayed by 1 ms.
    let leg = Leg { delayed_ack: Some(Hold::For(Span::from_ms(1))), ..Leg::plain() };
    let meets = same(&Recipe::dumbbell(slow_link(30), vec![leg.clone(), leg.clone()], 3));
    let alone = same(&Recipe::dumbbell(slow_link(30), vec![leg], 3));
    assert!(sent(&meets, 0) > 500 && sent(&alone, 0) > 1000);
}

#[test]
fn a_start_at_the_very_arrival_of_anothers_packet_agrees() {
    // Without wires before the link, the second flow's request takes 40 us and 5 ms, and so does
    // the answer: its first packet is at the link at 10.08 ms, when the first flow begins.
    let first = Leg { access: None, start: Start::At(Span::from_us(10_080)), ..Leg::plain() };
    let second = Leg { access: None, ..Leg::plain() };
    same(&Recipe::dumbbell(slow_link(20), vec![first.clone(), second.clone()], 1));
    same(&Recipe::dumbbell(slow_link(2), vec![second, first], 1));
}

#[test]
fn more_than_a_thousand_flows_agree_in_their_totals() {
    let leg = |i: u64| Leg {
        traffic: Traffic::Sized(Bytes(100 + 10 * i)),
        start: Start::At(Span::from_ms(i % 7)),
        ..Leg::plain()
    };
    let recipe = Recipe::dumbbell(slow_link(500), (0..1010).map(leg).collect(), 1);
    let record = same(&Recipe { warmup: Span::from_ms(300), ..recipe });
    assert_eq!(record.grid.len(), 2);
}

#[test]
fn another_seed_a_longer_delay_or_a_smaller_queue_changes_the_record() {
    let leg = Leg { overhead: Span::from_us(100), ..Leg::plain() };
    let recipe = Recipe::dumbbell(slow_link(20), vec![leg.clone(), leg], 2);
    let plain = reference::run(&recipe.cook());
    let apart = |other: Recipe| difference(&fast(&other.cook()), &plain).is_some();
    assert!(!apart(recipe.clone()));
    assert!(apart(Recipe { seed: 2, ..recipe.clone() }));
    let picosecond = Stretch { delay: Span::from_ms(5) + Span::from_ps(1), ..slow_link(20) };
    assert!(apart(Recipe { chain: vec![picosecond], ..recipe.clone() }));
    assert!(apart(Recipe { chain: vec![slow_link(19)], ..recipe }));
}
