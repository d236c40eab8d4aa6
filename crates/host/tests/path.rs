//! The emulated path of the lab, measured through real sockets.

mod common;

use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use fairhaul_experiment::grid;
use fairhaul_host::lab::address::address;
use fairhaul_host::lab::clock::Clock;
use fairhaul_host::lab::processors::can_steer;
use fairhaul_host::lab::{Dumbbell, Lab};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Rate, Span};

/// 200 small datagrams there and back, 5 ms apart.
#[test]
fn a_round_trip_of_23_ms_takes_23_ms() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    let dumbbell = Dumbbell {
        rate: Rate::from_bps(100_000_000).expect("not zero"),
        rtt: Span::from_ms(23),
        capacity: Capacity::Bytes(Bytes(200_000)),
        loss: None,
        connections: 1,
    };
    let steered_before = steered();
    let lab = Lab::new(dumbbell.layout()).expect("root may make hosts");
    let socket = |host| lab.host(host).namespace.inside(move || UdpSocket::bind((address(host, 0), 7)));
    let (here, there) = (socket(0).expect("a port is free"), socket(1).expect("a port is free"));
    let clock = Clock::starting_in(Span::from_ms(10)).expect("there is a clock");
    let running = lab.start(clock, grid(Span::from_s(10), Span::ZERO, 1, 1));
    for socket in [&here, &there] {
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("it is not zero");
    }
    here.connect((address(1, 0), 7)).expect("there is a way");
    there.connect((address(0, 0), 7)).expect("there is a way");
    let mut trips = Vec::new();
    for _ in 0..200 {
        let (sent, mut datagram) = (Instant::now(), [0; 60]);
        here.send(&datagram).expect("the device takes it");
        let length = there.recv(&mut datagram).expect("it arrives");
        there.send(&datagram[..length]).expect("the device takes it");
        here.recv(&mut datagram).expect("it comes back");
        trips.push(sent.elapsed());
        std::thread::sleep(Duration::from_micros(137)); // no multiple of the tick
    }
    let (_, passed) = running.finish().expect("devices can be read");
    trips.sort();
    // Both ends are this thread, which may have to wait for a processor: not in one trip of ten, and no trip is
    // shorter for it.
    let (shortest, early) = (trips[0].as_secs_f64(), trips[trips.len() / 10].as_secs_f64());
    // 88 B take 7 us each way.
    eprintln!("from {:.3} ms, lag {:?}", early * 1e3, passed.lag.quantile(0.5));
    assert!(shortest > 0.023 * 0.97 && early < 0.023 * 1.03, "{shortest} {early}");
    assert_eq!((passed.counts.delivered, passed.counts.dropped, passed.counts.strays), (400, 0, 0));
    assert!(passed.counts.balance(), "{:?}", passed.counts);
    // Another processor than the router's has received them.
    let steers = can_steer().expect("this process has processors");
    assert!(!steers || steered() >= steered_before + 400, "{steered_before} {}", steered());
}

/// Packets that the kernel has received on another processor than the one that they came to: the tenth column, for
/// each processor.
fn steered() -> u64 {
    let table = fs::read_to_string("/proc/net/softnet_stat").expect("the kernel has this table");
    let column = |line: &str| u64::from_str_radix(line.split_whitespace().nth(9)?, 16).ok();
    table.lines().filter_map(column).sum()
}
