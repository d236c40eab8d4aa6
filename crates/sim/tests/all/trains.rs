//! Trains of packets at both ends of a connection, and what a run of trains differs by from one of single packets.

use crate::wire::{at, config, sender};
use fairhaul_cc::Builtin;
use fairhaul_experiment::{Record, Recovery, read};
use fairhaul_sim::tcp::{Poll, Receiver, Sender, SenderConfig};
use fairhaul_sim::{Control, run};
use fairhaul_units::{Ack, Data, Time};

/// A sender in congestion avoidance with that window, which may send trains.
fn opened(window: f64) -> Sender<Builtin> {
    let mut sender =
        sender(SenderConfig { initial_window: window, initial_ssthresh: window, ..config(Recovery::Sack) });
    let mut receiver = Receiver::new(true, None, false);
    let Poll::Send(request) = sender.poll(Time::ZERO) else { panic!("it opens its connection") };
    let (_, answer) = receiver.receive(&request, at(50));
    sender.on_ack(&answer.expect("it is answered at once"), at(100));
    sender.set_longest_train(64);
    sender
}

fn leaves(sender: &mut Sender<Builtin>, now: Time) -> Vec<Data> {
    std::iter::from_fn(|| match sender.poll(now) {
        Poll::Send(data) => Some(data),
        _ => None,
    })
    .collect()
}

/// 128 trains of 10 packets are in the window, and one more, of which half has room.
#[test]
fn a_train_is_a_part_of_the_window() {
    let mut sender = opened(1286.0);
    let trains = leaves(&mut sender, at(100));
    assert!(trains.iter().all(|train| (train.packets, train.size) == (10, 10_000)));
    assert_eq!((trains.len(), trains[128].number), (128 + 1, 1280));
    let mut small = opened(255.0);
    assert!(leaves(&mut small, at(100)).iter().all(|data| data.packets == 1));
}

#[test]
fn a_train_is_acknowledged_by_one_and_releases_the_next() {
    let (mut sender, mut receiver) = (opened(1280.0), Receiver::new(true, None, false));
    let trains = leaves(&mut sender, at(100));
    assert!(receiver.takes_whole(&trains[0]) && !receiver.takes_whole(&trains[1]));
    let (fresh, ack) = receiver.receive(&trains[0], at(150));
    let ack = ack.expect("nothing holds it back");
    assert_eq!((fresh, ack.next, ack.packets, ack.size()), (10, 10, 10, 400));
    sender.on_ack(&ack, at(200));
    assert_eq!(leaves(&mut sender, at(200)).iter().map(|data| data.packets).collect::<Vec<_>>(), [10]);
    let each: Vec<(u64, u8)> = ack.each().map(|one: Ack| (one.next, one.packets)).collect();
    assert_eq!((each[0], each[9]), ((1, 1), (10, 1)));
}

/// After a gap the receiver takes no train as a whole, and a sender in recovery sends single packets.
#[test]
fn a_loss_ends_trains() {
    let (mut sender, mut receiver) = (opened(1280.0), Receiver::new(true, None, false));
    let trains = leaves(&mut sender, at(100));
    for train in &trains[1..3] {
        assert!(!receiver.takes_whole(train));
        for data in train.each() {
            let ack = receiver.receive(&data, at(150)).1.expect("nothing holds it back");
            sender.on_ack(&ack, at(200));
        }
    }
    assert!(!sender.takes_trains());
    let next = leaves(&mut sender, at(200));
    assert!(next.iter().all(|data| data.packets == 1));
    assert!(next.iter().any(|data| data.retransmitted() && data.number < 10));
}

fn record(grain: &str, seed: u64) -> Record {
    let text = format!(
        "duration = \"30 s\"\ngrain = \"{grain}\"\nseed = {seed}\n\
         [bottleneck]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
         queue = {{ kind = \"droptail\", capacity = \"0.2 bdp\" }}\n\
         [[flow]]\nname = \"f\"\ncontroller = \"highspeed\"\ncount = 2\nrtt = \"40 ms\"\n\
         start = \"uniform 0 s..1 s\"\n"
    );
    run(&read(&text, "trains", &[]).expect("it is a scenario").base, &Control::default()).expect("it ends")
}

/// Two flows that lose packets again and again: as often, and nearly the same ones.
#[test]
fn trains_lose_what_single_packets_lose() {
    for seed in 1..=3 {
        let [single, trains] = ["packet", "auto"].map(|grain| record(grain, seed));
        let reductions = |record: &Record| {
            let of = |flow| record.events.iter().filter(|e| e.kind == "reduction" && e.flow == flow).count();
            [of(0), of(1)]
        };
        let goodput = |record: &Record, flow: usize| -> f64 {
            record.flows[flow].iter().map(|row| row.goodput_bytes as f64).sum()
        };
        assert!(reductions(&single)[0] > 10);
        for flow in 0..2 {
            let [before, after] = [&single, &trains].map(|record| reductions(record)[flow] as f64);
            assert!((after - before).abs() <= 0.1 * before + 1.0, "{before} and {after} loss events");
            let ratio = goodput(&trains, flow) / goodput(&single, flow);
            assert!((ratio - 1.0).abs() < 0.05, "flow {flow} of seed {seed} has {ratio} of it");
        }
    }
}
