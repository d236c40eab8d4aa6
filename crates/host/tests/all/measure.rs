//! A first measurement: the kernel's own controllers over a path of known rate, round trip and queue.

use crate::common;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fairhaul_experiment::{Record, grid};
use fairhaul_host::lab::clock::Clock;
use fairhaul_host::lab::traffic::{LabTransfer, TransferResult, Workload, run_transfers};
use fairhaul_host::lab::{DeviceKind, Dumbbell, Lab, Passed};
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Rate, Span, Time};

const DURATION: Span = Span::from_s(6);
const SECOND: Span = Span::from_s(1);
const RTT: Span = Span::from_ms(23);

/// 100 Mbit/s, 23 ms, 200 kB.
fn dumbbell() -> Dumbbell {
    Dumbbell {
        rate: Rate::from_bps(100_000_000).expect("not zero"),
        rtt: RTT,
        capacity: Capacity::Bytes(Bytes(200_000)),
        loss: None,
        connections: 1,
    }
}

/// What a run gave: the results of transfers, the record, what passed, and the shortest round trip that the kernel saw.
fn run(transfers: &[LabTransfer]) -> (Vec<TransferResult>, Record, Passed, Option<Span>) {
    run_over(DeviceKind::Tun, transfers)
}

fn run_over(
    devices: DeviceKind,
    transfers: &[LabTransfer],
) -> (Vec<TransferResult>, Record, Passed, Option<Span>) {
    let lab = Lab::with(devices, dumbbell().layout()).expect("root may make hosts");
    let clock = Clock::starting_in(Span::from_ms(100)).expect("there is a clock");
    let running = lab.start(clock, grid(DURATION, Span::ZERO, 1, 1)).expect("the router can start");
    let mut shortest = None;
    let mut on_poll = |_, _, info: &fairhaul_host::lab::tcp_info::Info| shortest = info.min_rtt;
    let results = run_transfers(&running, clock, Time::ZERO + DURATION, transfers, &mut on_poll);
    let results = results.expect("there is room for threads");
    let (record, passed) = running.finish().expect("devices can be read");
    (results, record, passed, shortest)
}

fn measure(devices: DeviceKind, controller: &str) {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    let before = common::traces();
    let (results, record, passed, shortest) = common::until_it_counts(|| {
        let found = run_over(devices, &[LabTransfer::endless(0, controller)]);
        common::kept_up(&found.2)?;
        // This is also a reason why a run is invalid: if no packet passes the path without queueing, the machine
        // has caused a queue.
        match found.3 {
            Some(shortest) if shortest > RTT + RTT * 3 / 100 => {
                Err(format!("the shortest round trip was {shortest}"))
            }
            _ => common::did_not_stop(&found.2, RTT).map(|()| found),
        }
    });
    let [TransferResult { start: Some(_), end: None, failure: None, buffers: Some(_), received, .. }] =
        results[..]
    else {
        panic!("a transfer without end goes on to the end: {results:?}")
    };
    assert!(
        passed.counts.balance() && passed.counts.dropped > 0 && passed.unseen == 0,
        "{:?}",
        passed.counts
    );
    let Record { flows, links, grid, .. } = record;
    let late = |bin: &usize| grid.start(*bin) >= Time::ZERO + SECOND * 2;
    let payload: u64 = (0..grid.len()).filter(late).map(|bin| flows[0][bin].goodput_bytes).sum();
    let goodput = payload as f64 * 8.0 / (DURATION - SECOND * 2).as_secs();
    let backlog = links[0].iter().map(|row| row.backlog_bytes).fold(0.0, f64::max);
    let lag = |share| passed.lag.quantile(share).expect("packets passed").as_secs() * 1e6;
    let shortest = shortest.expect("there was a round trip").as_secs();
    eprintln!(
        "{controller} over {devices:?}: goodput {:.2} Mbit/s, base RTT {:.3} ms, lag p50 {:.0} p99 {:.0} p99.9 {:.0} us, load {:.2}, drops {}",
        goodput / 1e6,
        shortest * 1e3,
        lag(0.5),
        lag(0.99),
        lag(0.999),
        passed.load,
        passed.counts.dropped,
    );
    // Of 1500 bytes on the wire, 1448 are payload.
    let fair = 1e8 * 1448.0 / 1500.0;
    assert!(goodput > fair * 0.9 && goodput < fair * 1.01, "{goodput}");
    assert!((shortest / 0.023 - 1.0).abs() < 0.03, "{shortest}");
    assert!(backlog > 100_000.0 && backlog <= 200_000.0, "{backlog}");
    // The acknowledgement of what was read last is still on its way, and what arrived last may not have been read
    // by a receiver that waits for a processor: a quarter of a second of 72 MB.
    let seen = passed.in_order[0] as f64;
    assert!(received as f64 > seen * 0.96 && (received as f64) < seen * 1.001, "{received} {seen}");
    assert_eq!(common::traces(), before, "something is left");
}

#[test]
fn cubic_fills_a_path_and_leaves_nothing_behind() {
    measure(DeviceKind::Tun, "cubic");
}

#[test]
fn cubic_fills_a_path_of_veth_pairs_and_leaves_nothing_behind() {
    measure(DeviceKind::Veth, "cubic");
}

#[test]
fn reno_fills_a_path_and_leaves_nothing_behind() {
    measure(DeviceKind::Tun, "reno");
}

/// 2 MB take 0.17 s at least, and all of them arrive.
#[test]
fn a_transfer_of_a_size_comes_to_its_end() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    let size = Bytes(2_000_000);
    let (results, _, passed, _) = common::until_it_counts(|| {
        let found = run(&[LabTransfer {
            workload: Workload::Size { size, lead: None },
            ..LabTransfer::endless(0, "reno")
        }]);
        common::kept_up(&found.2).map(|()| found)
    });
    let [TransferResult { start: Some(start), end: Some(end), received, failure: None, .. }] = results[..]
    else {
        panic!("it ends before the run does: {results:?}")
    };
    assert_eq!((received, passed.in_order[0]), (size.0, size.0));
    assert!(end - start > Span::from_ms(166) && end - start < Span::from_s(2), "{}", end - start);
}

#[test]
fn a_controller_that_the_kernel_does_not_have_is_an_error_that_names_it() {
    if !common::is_root() {
        return;
    }
    let _alone = common::alone();
    let (results, ..) = run(&[LabTransfer::endless(0, "nobody")]);
    let failure = results[0].failure.as_deref().expect("it cannot begin");
    assert!(failure.contains("no controller \"nobody\""), "{failure}");
}

/// Says to a test that it is the process to be killed.
const TO_BE_KILLED: &str = "FAIRHAUL_LAB_TO_BE_KILLED";

/// This test again, as a process to be killed: its hosts are there while it runs, and no longer.
#[test]
fn a_lab_that_is_killed_leaves_nothing_behind() {
    if !common::is_root() {
        return;
    }
    if std::env::var_os(TO_BE_KILLED).is_some() {
        run(&[LabTransfer::endless(0, "reno")]);
        return;
    }
    let _alone = common::alone();
    let before = common::traces();
    let mut child = Command::new(std::env::current_exe().expect("this program has a file"));
    child.args(["--exact", "measure::a_lab_that_is_killed_leaves_nothing_behind"]).env(TO_BE_KILLED, "1");
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it can be run");
    let begun = Instant::now();
    while common::traces().len() < before.len() + 2 {
        assert!(begun.elapsed() < Duration::from_secs(120), "it makes no hosts");
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(500)); // in the midst of traffic
    child.kill().expect("it is a child of this process");
    child.wait().expect("it was killed");
    assert_eq!(common::traces(), before, "something is left");
}
