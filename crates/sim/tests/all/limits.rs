//! What bounds a flow: its buffers, and nothing that grows with its window.

use std::time::Duration;

use crate::reference::chain::{Chain, ChainFlow, ChainLink};
use crate::wire::{Pipe, at, config, sender};
use cpu_time::ThreadTime;
use fairhaul_experiment::{Record, Recovery};
use fairhaul_path::queue::Capacity;
use fairhaul_sim::tcp::{Poll, Receiver, SenderConfig};
use fairhaul_sim::{Control, run};
use fairhaul_units::{Bytes, Span};
use proptest::prelude::*;

/// Goodput of the only flow over the last 4 of 5 s, on a link of 100 Mbit/s and a round trip of
/// 50 ms (5 ms of the link and 10 ms of each wire, both ways).
fn goodput_bps(flow: ChainFlow) -> f64 {
    let link = ChainLink::new(100_000, Span::from_ms(5), Capacity::Packets(1000));
    let scenario = Chain::dumbbell(link, vec![flow], 5).scenario();
    let record: Record = run(&scenario, &Control::default()).expect("the run ends");
    let settled = record.grid.bin(at(1000));
    let bytes: u64 = record.flows[0][settled..].iter().map(|row| row.goodput_bytes).sum();
    bytes as f64 * 8.0 / (5.0 - (record.grid.start(settled).as_secs()))
}

#[test]
fn goodput_is_the_smaller_buffer_over_the_round_trip() {
    // 50 packets with 960 B of payload in 50 ms: 7.68 Mbit/s.
    let small = Some(Bytes(50 * 960));
    let large = Some(Bytes(90 * 960));
    for (send_buffer, receive_buffer) in [(small, None), (None, small), (small, large), (large, small)] {
        let goodput = goodput_bps(ChainFlow { send_buffer, receive_buffer, ..ChainFlow::plain() });
        assert!((goodput / 7.68e6 - 1.0).abs() < 0.02, "{goodput}");
    }
}

#[test]
fn goodput_is_the_largest_window_over_the_round_trip() {
    let goodput = goodput_bps(ChainFlow { max_window: 50.0, ..ChainFlow::plain() });
    assert!((goodput / 7.68e6 - 1.0).abs() < 0.02, "{goodput}");
}

/// Time per acknowledgement of a flow that sends `window` packets at once, loses those that `lost`
/// says and recovers; as often as it takes to see `packets`.
fn time_per_ack(window: u64, packets: u64, lost: fn(u64) -> bool) -> Duration {
    let mut took = Duration::ZERO;
    let mut acks = 0;
    for _ in 0..packets / window {
        let limits = SenderConfig {
            initial_window: window as f64,
            size: Some(window * 960),
            ..config(Recovery::Sack)
        };
        let mut sender = sender(limits);
        let mut receiver = Receiver::new(true, None, false);
        let mut now = at(0);
        let began = ThreadTime::now();
        loop {
            let mut flight = Vec::new();
            while let Poll::Send(data) = sender.poll(now) {
                flight.push(data);
            }
            if flight.is_empty() {
                break;
            }
            for data in flight {
                now += Span::from_us(1);
                if lost(data.number) && !data.retransmitted() && !data.opens() {
                    continue;
                }
                let ack = receiver.receive(&data, now).1.expect("no acknowledgement is held");
                sender.on_ack(&ack, now);
                acks += 1;
            }
        }
        took += began.elapsed();
        assert!(receiver.next() == window, "recovered without a timeout");
    }
    took / acks
}

/// The slower may find its scoreboard out of the cache; a cost that grew with the window would be
/// a hundred times as large and more.
fn costs_the_same(small: u64, large: u64, lost: fn(u64) -> bool) {
    let least = |window| (0..4).map(|_| time_per_ack(window, large, lost)).min().expect("four runs");
    let times = (least(small), least(large));
    assert!(times.1 < times.0 * 6, "{:?} at {small} packets, {:?} at {large}", times.0, times.1);
}

#[test]
fn an_acknowledgement_costs_as_much_at_a_window_of_a_million_as_at_a_thousand() {
    costs_the_same(1000, 1_000_000, |number| number % 20 == 7);
}

#[test]
fn a_report_of_a_hundred_thousand_packets_costs_as_much_as_one_of_a_thousand() {
    costs_the_same(1000, 100_000, |number| number == 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each packet is lost with a chance of up to 30 %, however often it is sent; every retransmission
    /// answers a loss, or a timer that could not know better.
    #[test]
    fn a_transfer_ends_whatever_is_lost(
        which in 0usize..4,
        size in 1u64..300_000,
        loss in 0u64..30,
        seed in any::<u64>(),
        gap_us in 0u64..5000,
    ) {
        let all = [
            Recovery::Sack,
            Recovery::Reno,
            Recovery::NewReno { impatient: false },
            Recovery::NewReno { impatient: true },
        ];
        let mut chance = fairhaul_units::Chance::stream(seed, "test", 0);
        let fate = move |_: &fairhaul_units::Data, _: u32| chance.below(100) < loss;
        let limits = SenderConfig { size: Some(size), ..config(all[which]) };
        let mut pipe = Pipe::new(limits, Span::from_ms(50), Span::from_us(gap_us), fate);
        pipe.run(at(20_000_000));
        prop_assert!(matches!(pipe.outcomes.last(), Some((_, fairhaul_sim::tcp::Outcome::Finished))));
        let numbers: std::collections::BTreeSet<u64> =
            pipe.received.iter().filter(|data| !data.opens()).map(|data| data.number).collect();
        prop_assert_eq!(numbers.len() as u64, size.div_ceil(960));
        let lost_data = pipe.sent.len() - pipe.received.len();
        if all[which] == Recovery::Sack && pipe.timeouts() == 0 {
            prop_assert!(pipe.retransmissions() as usize <= lost_data + pipe.reductions(), "a rescue each, at most");
        }
    }
}
