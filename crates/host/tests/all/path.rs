//! The emulated path of the lab, measured through real sockets.

use crate::common;
use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use fairhaul_experiment::grid;
use fairhaul_host::lab::address::address;
use fairhaul_host::lab::clock::Clock;
use fairhaul_host::lab::processors::can_steer;
use fairhaul_host::lab::{DeviceKind, Dumbbell, Lab, Layout, Mode};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Rate, Span};
use nix::sys::socket::{setsockopt, sockopt};

fn dumbbell() -> Dumbbell {
    Dumbbell {
        rate: Rate::from_bps(100_000_000).expect("not zero"),
        rtt: Span::from_ms(23),
        capacity: Capacity::Bytes(Bytes(200_000)),
        loss: None,
        connections: 1,
    }
}

#[test]
fn a_round_trip_of_23_ms_takes_23_ms_over_tun_devices() {
    round_trips(DeviceKind::Tun);
}

#[test]
fn a_round_trip_of_23_ms_takes_23_ms_over_veth_pairs() {
    round_trips(DeviceKind::Veth);
}

/// Sends from host 0 to host 1 of a path of 100 Mbit/s over these devices, before the router starts.
fn sent(devices: DeviceKind, mode: Mode, send: impl FnOnce(&UdpSocket)) -> Lab {
    let layout = Layout { mode, ..dumbbell().layout() };
    let lab = Lab::with(devices, layout).expect("root may make hosts");
    let socket =
        lab.host(0).namespace.inside(|| UdpSocket::bind((address(0, 0), 7))).expect("a port is free");
    socket.connect((address(1, 0), 7)).expect("there is a way");
    send(&socket);
    lab
}

/// A ring of 32 MiB has 32 * 636 frames, and the queue of a TUN device 20 000 places.
#[test]
fn packets_for_which_a_device_has_no_room_are_counted() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    for (devices, room) in [(DeviceKind::Tun, 20_000), (DeviceKind::Veth, 20_352)] {
        let lab = sent(devices, Mode::Exact, |socket| {
            for _ in 0..room + 7 {
                let _ = socket.send(&[0; 60]);
            }
        });
        assert_eq!(lab.host(0).dropped().expect("it can be read"), 7, "{devices:?}");
    }
}

/// Ten datagrams that a program hands over at once are ten packets of the path, also where hosts hand over segments of
/// TCP at once.
#[test]
fn datagrams_that_are_handed_over_at_once_are_packets_of_their_own() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    for (devices, mode) in [
        (DeviceKind::Tun, Mode::Exact),
        (DeviceKind::Tun, Mode::Fast),
        (DeviceKind::Veth, Mode::Exact),
        (DeviceKind::Veth, Mode::Fast),
    ] {
        let lab = sent(devices, mode, |socket| {
            setsockopt(socket, sockopt::UdpGsoSegment, &1000).expect("the kernel has it");
            assert_eq!(socket.send(&[0; 10_000]).expect("the device takes it"), 10_000);
        });
        let there = lab.host(1).namespace.inside(|| UdpSocket::bind((address(1, 0), 7)));
        let there = there.expect("a port is free");
        there.set_read_timeout(Some(Duration::from_secs(20))).expect("it is not zero");
        let clock = Clock::starting_in(Span::ZERO).expect("there is a clock");
        let running =
            lab.start(clock, grid(Span::from_s(10), Span::ZERO, 1, 1)).expect("the router can start");
        for _ in 0..10 {
            assert_eq!(there.recv(&mut [0; 10_000]).expect("it arrives"), 1000, "{devices:?} {mode:?}");
        }
        let (_, passed) = running.finish().expect("devices can be read");
        assert_eq!((passed.counts.read, passed.unseen), (10, 0), "{devices:?} {mode:?}");
    }
}

/// 200 small datagrams there and back, 5 ms apart.
fn round_trips(devices: DeviceKind) {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    common::until_it_counts(|| two_hundred_round_trips(devices));
}

/// Makes them and checks them; an error: a busy machine made most of them late, or moved the router.
fn two_hundred_round_trips(devices: DeviceKind) -> Result<(), String> {
    let steered_before = steered();
    let lab = Lab::with(devices, dumbbell().layout()).expect("root may make hosts");
    let socket = |host| lab.host(host).namespace.inside(move || UdpSocket::bind((address(host, 0), 7)));
    let (here, there) = (socket(0).expect("a port is free"), socket(1).expect("a port is free"));
    let clock = Clock::starting_in(Span::from_ms(10)).expect("there is a clock");
    let running = lab.start(clock, grid(Span::from_s(10), Span::ZERO, 1, 1)).expect("the router can start");
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
    assert!(shortest > 0.023 * 0.97, "{shortest}");
    assert_eq!((passed.counts.delivered, passed.counts.dropped, passed.counts.strays), (400, 0, 0));
    assert!(passed.counts.balance(), "{:?}", passed.counts);
    if early >= 0.023 * 1.03 {
        return Err(format!("nine of ten round trips took {early} s or more"));
    }
    // Another processor than the router's has received them, unless the router was moved to that one meanwhile.
    let (steers, steered) = (can_steer().expect("this process has processors"), steered() - steered_before);
    if steers && steered < 400 {
        return Err(format!("another processor has received {steered} of 400 packets"));
    }
    Ok(())
}

/// Packets that the kernel has received on another processor than the one that they came to: the tenth column, for
/// each processor.
fn steered() -> u64 {
    let table = fs::read_to_string("/proc/net/softnet_stat").expect("the kernel has this table");
    let column = |line: &str| u64::from_str_radix(line.split_whitespace().nth(9)?, 16).ok();
    table.lines().filter_map(column).sum()
}
