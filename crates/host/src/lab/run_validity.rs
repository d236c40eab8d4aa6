//! Whether a run is valid, and the reasons against it; in the lab also measurements of the machine during the run.
//!
//! A lag of the router changes the rate of no link, but packets are then read in groups and delivered late, as if
//! the path were longer for a while. Where the machine stands still for longer than a buffer holds, what has waited
//! overflows it, and the loss is the machine's.

use fairhaul_experiment::{Hop, LinkRow, Record, Scenario};
use fairhaul_path::LinkSpec;
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Bytes, Span, Time};
use serde::Serialize;

use super::device::DeviceKind;
use super::layout::Mode;
use super::machine_load::MachineLoad;
use super::network_counts::RequestCounts;
use super::router::{Passed, TICK};
use super::times::Times;
use super::traffic::TransferResult;

/// One packet in a hundred may be late, or be answered late by its receiver, by this share of the shortest round trip, or
/// by [`LEAST_LAG`] if that is more: the random processing times of hosts are as long.
const LAG_SHARE: u64 = 100;
/// The lag on a host that is not busy is below this on any path.
const LEAST_LAG: Span = Span::from_us(500);
/// The largest relative difference between the shortest measured round-trip time and that of the scenario.
const RTT_TOLERANCE: f64 = 0.03;
/// The unit of TCP timestamps, from which the kernel takes the round-trip time after a retransmission.
const STAMP_S: f64 = 1e-3;
/// The highest processor time of the router over the time that it ran; above, it sleeps too little to be on time.
const MOST_LOAD: f64 = 0.8;
/// A SYN with all options, on the wire.
const REQUEST: Bytes = Bytes(60);

/// Whether a run is valid, and the measurements behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunValidity {
    /// Whether there is no reason against it.
    pub valid: bool,
    /// The reasons against it, a sentence each.
    pub reasons: Vec<String>,
    /// How hosts handed packets over.
    pub mode: Mode,
    /// The network devices of the hosts.
    pub devices: DeviceKind,
    /// What only real time has.
    #[serde(flatten)]
    pub real_time: Option<RealTime>,
    /// The shortest round-trip times of the flows that began.
    pub round_trips: Vec<RoundTrip>,
    /// The throughput of links.
    pub links: Vec<LinkUse>,
    /// Buffers of the first connection of each flow, as granted by the kernel.
    pub buffers: Vec<Buffers>,
    /// Packets from hosts that belong to no connection.
    pub strays: u64,
    /// What passed routers of XCP, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestCounts>,
    /// The source of windows, round-trip times and events.
    pub windows: Windows,
}

/// Measurements of the machine in the lab; where time is simulated the machine plays no part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealTime {
    /// Missing features; they make a run invalid only through the lag or load that they cause.
    pub warnings: Vec<String>,
    /// Whether the lab had the rights of root over the machine; otherwise it ran in a user namespace.
    pub as_root: bool,
    /// How much later than due packets were delivered.
    pub lag: Lag,
    /// How long receivers that acknowledge every packet at once took to answer, from when a packet was due.
    pub answers: Option<Lag>,
    /// How long hosts stood still, with the lag of the router before it.
    pub standstills: Lag,
    /// The shortest time that a buffer, or the bucket of a policer, on the path of data holds, seconds; none has a limit.
    pub buffer_s: Option<f64>,
    /// Processor time of the router over the time that it ran.
    pub router_load: f64,
    /// The load of the machine during the run, by this run and everything else.
    pub machine: MachineLoad,
}

/// The source of the senders' windows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "of", rename_all = "lowercase")]
pub enum Windows {
    /// A sample for every packet that arrived at a sender, except for those lost.
    Packets {
        /// Packets without a sample.
        lost_samples: u64,
    },
    /// Polls of senders, every 10 ms.
    Polls {
        /// Why there is no probe.
        because: String,
    },
}

/// The lag of packets, or the time until they were answered, seconds: percentiles over all packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Lag {
    pub p50_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
    pub most_s: f64,
    /// Upper ends of bins, each twice the one before, and the number of packets in each.
    pub histogram: Vec<(f64, u64)>,
}

/// The shortest round trip of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundTrip {
    /// The name of the flow.
    pub name: String,
    /// The round-trip time of the smallest packets on an empty path, where its delay is the shortest.
    pub asked_s: f64,
    /// What the path itself may add without a queue: jitter, aggregation, and delays that are longer at times.
    pub added_s: f64,
    /// The shortest round-trip time that the kernel measured.
    pub seen_s: f64,
}

/// The throughput of a link after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkUse {
    /// The name of the link.
    pub name: String,
    /// Its capacity: at the start, or the mean of a trace.
    pub rate_bps: u64,
    /// Its average throughput.
    pub carried_bps: f64,
}

/// The buffers of a connection, bytes; the kernel counts more than payload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Buffers {
    /// The name of its flow.
    pub name: String,
    /// The sender's buffer.
    pub send: u64,
    /// The receiver's buffer.
    pub receive: u64,
}

/// The measurements of a run, beside its record, on which its validity is decided.
pub struct Evidence<'a> {
    /// Counters of the router.
    pub passed: &'a Passed,
    /// Results by connection.
    pub results: &'a [TransferResult],
    /// The shortest round-trip time of each flow.
    pub shortest: &'a [Option<Span>],
    /// The load of the machine.
    pub machine: MachineLoad,
    /// How hosts handed packets over.
    pub mode: Mode,
    /// The source of the senders' windows.
    pub windows: Windows,
    /// Whether the lab had the rights of root over the machine.
    pub as_root: bool,
    /// The network devices of the hosts.
    pub devices: DeviceKind,
}

impl RunValidity {
    /// Decides on a run of `scenario` by its `evidence`.
    pub fn of(scenario: &Scenario, flows: &[u32], record: &Record, evidence: &Evidence) -> RunValidity {
        let round_trips = round_trips(scenario, evidence.shortest);
        let reasons = reasons(scenario, flows, evidence, &round_trips);
        RunValidity {
            valid: reasons.is_empty(),
            reasons,
            mode: evidence.mode,
            devices: evidence.devices,
            real_time: (evidence.devices != DeviceKind::Simulated).then(|| RealTime::of(scenario, evidence)),
            round_trips,
            links: link_uses(scenario, record),
            buffers: buffers(scenario, flows, evidence.results),
            strays: evidence.passed.counts.strays,
            requests: evidence.passed.counts.requests,
            windows: evidence.windows.clone(),
        }
    }
}

impl RealTime {
    fn of(scenario: &Scenario, evidence: &Evidence) -> RealTime {
        let passed = evidence.passed;
        RealTime {
            warnings: passed.warnings.clone(),
            as_root: evidence.as_root,
            lag: Lag::of(&passed.lag),
            answers: (passed.waits.answers.count() > 0).then(|| Lag::of(&passed.waits.answers)),
            standstills: Lag::of(&passed.waits.standstills),
            buffer_s: smallest_buffer(scenario).map(|(holds, _)| holds.as_secs()),
            router_load: passed.load,
            machine: evidence.machine,
        }
    }
}

impl Lag {
    fn of(lag: &Times) -> Lag {
        let histogram = lag.doublings().into_iter().map(|(end, count)| (end.as_secs(), count)).collect();
        let at = |share| lag.quantile(share).unwrap_or(Span::ZERO).as_secs();
        Lag { p50_s: at(0.5), p99_s: at(0.99), p999_s: at(0.999), most_s: lag.most().as_secs(), histogram }
    }
}

fn reasons(scenario: &Scenario, flows: &[u32], evidence: &Evidence, trips: &[RoundTrip]) -> Vec<String> {
    let mut reasons = if evidence.devices == DeviceKind::Simulated {
        Vec::new()
    } else {
        reasons_of_real_time(scenario, evidence, trips)
    };
    if evidence.passed.unseen > 0 {
        reasons.push(format!(
            "network devices dropped {} packets outside the emulated network",
            evidence.passed.unseen
        ));
    }
    if let Windows::Packets { lost_samples: 1.. } = evidence.windows {
        reasons.push("the kernel could not report all packets that arrived at senders".into());
    }
    let results = evidence.results.iter();
    for (connection, failure) in
        results.filter_map(|result| Some((result.connection, result.failure.as_ref()?)))
    {
        let flow = &scenario.flows[flows[connection as usize] as usize].name;
        reasons.push(format!("flow \"{flow}\": connection {connection} failed: {failure}"));
    }
    reasons
}

/// The reasons that the machine can be.
fn reasons_of_real_time(scenario: &Scenario, evidence: &Evidence, trips: &[RoundTrip]) -> Vec<String> {
    let passed = evidence.passed;
    let mut reasons = Vec::new();
    let shortest = scenario.flows.iter().map(|flow| flow.rtt).min().unwrap_or(Span::ZERO);
    let limit = (shortest / LAG_SHARE).max(LEAST_LAG);
    if let Some(lag) = passed.lag.quantile(0.99).filter(|lag| *lag > limit) {
        reasons.push(format!("1 % of the packets were late by {lag} or more; the limit is {limit}"));
    }
    if let Some(waited) = passed.waits.answers.quantile(0.99).filter(|waited| *waited > limit) {
        reasons.push(format!(
            "hosts answered 1 % of the packets {waited} or more after they were due; the limit is {limit}"
        ));
    }
    if let Some((holds, link)) = smallest_buffer(scenario)
        && passed.waits.standstills.most() > holds
    {
        reasons.push(format!(
            "a host stood still for {}, longer than the {holds} that \"{link}\" holds, and then sent a burst",
            passed.waits.standstills.most()
        ));
    }
    if passed.load > MOST_LOAD {
        reasons.push(format!(
            "the router was busy for {:.0} % of the time, which is too much",
            passed.load * 100.0
        ));
    }
    let ratio = |trip: &RoundTrip| trip.seen_s / trip.asked_s;
    let slack = |trip: &RoundTrip| RTT_TOLERANCE + TICK.as_secs() * 2.0 / trip.asked_s;
    let short = |trip: &RoundTrip| ratio(trip) < 1.0 - slack(trip) - STAMP_S / trip.asked_s;
    if let Some(trip) = trips.iter().find(|trip| short(trip)) {
        reasons.push(format!(
            "flow \"{}\" measured a round-trip time of {:.6} s, less than that of its path",
            trip.name, trip.seen_s
        ));
    }
    // A flow behind a full queue never measures the path without one, so the flow nearest to it decides.
    let excess = |trip: &RoundTrip| (trip.seen_s - trip.added_s) / trip.asked_s;
    if let Some(trip) = trips.iter().min_by(|a, b| excess(a).total_cmp(&excess(b)))
        && excess(trip) > 1.0 + slack(trip)
    {
        let RoundTrip { name, asked_s, added_s, seen_s } = trip;
        let added = if *added_s > 0.0 { format!(" and up to {added_s:.6} s more") } else { String::new() };
        reasons.push(format!(
            "no flow measured its path without queueing delay: \"{name}\" measured {seen_s:.6} s instead of \
             {asked_s:.6} s{added}"
        ));
    }
    reasons
}

fn round_trips(scenario: &Scenario, shortest: &[Option<Span>]) -> Vec<RoundTrip> {
    let trip = |(flow, shortest): (&fairhaul_experiment::Flow, &Option<Span>)| {
        let (mut asked, mut added) = (Span::ZERO, Span::ZERO);
        for hop in flow.forward.iter().chain(&flow.reverse) {
            match *hop {
                Hop::Access { rate, delay } => asked += delay + rate.on_wire(REQUEST),
                Hop::Link(link) => {
                    let link = &scenario.links[link as usize];
                    let (least, most) = delays(link);
                    asked += least + link.rate.on_wire(REQUEST);
                    added += most - least;
                }
            }
        }
        let (asked_s, added_s) = (asked.as_secs(), added.as_secs());
        Some(RoundTrip { name: flow.name.clone(), asked_s, added_s, seen_s: (*shortest)?.as_secs() })
    };
    scenario.flows.iter().zip(shortest).filter_map(trip).collect()
}

/// The shortest and the longest time that a packet without a queue takes from one end of a link to the other.
fn delays(link: &LinkSpec) -> (Span, Span) {
    let each = || std::iter::once(link.delay).chain(link.schedule.delays.iter().map(|change| change.1));
    let (least, most) = (each().min(), each().max());
    let jitter = link.impair.jitter.map_or(Span::ZERO, |rule| rule.most);
    let held = link.impair.aggregate.map_or(Span::ZERO, |rule| rule.every);
    (least.unwrap_or(link.delay), most.unwrap_or(link.delay) + jitter + held)
}

/// The shortest time that a buffer, or the bucket of a policer, on the path of data holds at the rate of its link, and the
/// link; none where none has a limit.
fn smallest_buffer(scenario: &Scenario) -> Option<(Span, &str)> {
    let hops = scenario.flows.iter().flat_map(|flow| flow.forward.iter().map(|hop| (hop, flow.packet)));
    let holds = hops.flat_map(|(hop, packet)| {
        let Hop::Link(link) = *hop else { return Vec::new() };
        let link = &scenario.links[link as usize];
        let queue = match link.capacity {
            Capacity::Unlimited => None,
            Capacity::Packets(most) => Some(link.drain_rate().on_wire(packet) * most),
            Capacity::Bytes(most) => Some(link.drain_rate().on_wire(most)),
        };
        let bucket = link.impair.policer.map(|policer| policer.rate.on_wire(policer.burst));
        Vec::from_iter(queue.into_iter().chain(bucket).map(|holds| (holds, link.name.as_str())))
    });
    holds.min_by_key(|(holds, _)| *holds)
}

fn link_uses(scenario: &Scenario, record: &Record) -> Vec<LinkUse> {
    let (grid, warmup) = (record.grid, Time::ZERO + scenario.warmup);
    let first = if warmup == Time::ZERO { 0 } else { grid.bin(warmup) };
    let measured = (scenario.duration - scenario.warmup).as_secs();
    let carried = |(link, rows): (&LinkSpec, &Vec<LinkRow>)| {
        let busy: f64 = rows[first..].iter().map(|row| row.busy_s).sum();
        let sent: f64 = rows[first..].iter().map(|row| row.sent_bytes).sum();
        let constant = busy / measured * link.rate.as_bps() as f64;
        let carried_bps = if scenario.counts_bytes() { sent * 8.0 / measured } else { constant };
        LinkUse { name: link.name.clone(), rate_bps: link.rate.as_bps(), carried_bps }
    };
    scenario.links.iter().zip(&record.links).map(carried).collect()
}

fn buffers(scenario: &Scenario, flows: &[u32], results: &[TransferResult]) -> Vec<Buffers> {
    let of = |(index, flow): (u32, &fairhaul_experiment::Flow)| {
        let result = results
            .iter()
            .find(|result| flows[result.connection as usize] == index && result.buffers.is_some())?;
        let (send, receive) = result.buffers?;
        Some(Buffers { name: flow.name.clone(), send: send.0, receive: receive.0 })
    };
    (0..).zip(&scenario.flows).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::network_counts::NetworkCounts;
    use crate::lab::standstill::Waits;
    use fairhaul_experiment::{Ledger, grid, read};
    use fairhaul_path::BucketRule;
    use fairhaul_path::impair::{AggregateRule, JitterRule};
    use fairhaul_units::Rate;

    fn scenario() -> Scenario {
        let text = "profile = \"plain\"\nduration = \"1 s\"\n[bottleneck]\nrate = \"80 Mbit/s\"\ndelay = \"10 ms\"\n\
                    queue = { kind = \"droptail\", capacity = \"20 ms\" }\n\
                    [[flow]]\nname = \"F\"\nrtt = \"40 ms\"\ncontroller = \"reno\"\n";
        read(text, "test", &[]).expect("it is a scenario").base
    }

    /// The validity of a run with this lag and load of the router, and this shortest round-trip time of its flow.
    fn validity(late: Span, load: f64, seen: Span, failure: Option<&str>) -> RunValidity {
        validity_with([late, Span::ZERO, Span::ZERO], load, seen, failure)
    }

    /// The same; `late` are the lag, the time until receivers answered, and how long hosts stood still.
    fn validity_with(late: [Span; 3], load: f64, seen: Span, failure: Option<&str>) -> RunValidity {
        validity_on(&scenario(), late, load, seen, failure)
    }

    /// The same, for that scenario.
    fn validity_on(
        scenario: &Scenario,
        late: [Span; 3],
        load: f64,
        seen: Span,
        failure: Option<&str>,
    ) -> RunValidity {
        let [lag, answers, standstills] = late.map(|late| {
            let mut histogram = Times::default();
            // One packet in fifty is late.
            (0..1000).for_each(|n| histogram.add(if n % 50 == 0 { late } else { Span::ZERO }));
            histogram
        });
        let (counts, in_order, warnings) = (NetworkCounts::default(), vec![0], Vec::new());
        let (unseen, trace) = (0, None);
        let waits = Waits { answers, standstills };
        let passed = Passed { counts, in_order, lag, waits, load, unseen, warnings, trace };
        let results = [TransferResult {
            connection: 0,
            start: Some(Time::ZERO),
            end: None,
            received: 0,
            buffers: Some((Bytes(1000), Bytes(2000))),
            failure: failure.map(String::from),
        }];
        let grid = grid(scenario.duration, scenario.warmup, 1, 1);
        let record = Ledger::new(grid, 1, 2).close("lab", Vec::new());
        let machine = MachineLoad { busy: 0.5, waited: None };
        let (passed, results, shortest) = (&passed, &results[..], &[Some(seen)][..]);
        let windows = Windows::Packets { lost_samples: 0 };
        let (mode, as_root, devices) = (Mode::Exact, true, DeviceKind::Tun);
        let evidence = Evidence { passed, results, shortest, machine, mode, windows, as_root, devices };
        RunValidity::of(scenario, &[0], &record, &evidence)
    }

    #[test]
    fn a_run_on_time_is_valid_and_has_its_measurements() {
        let validity = validity(Span::from_us(400), 0.3, Span::from_us(40_200), None);
        assert!(validity.valid && validity.reasons.is_empty(), "{:?}", validity.reasons);
        // 40 ms, and 60 B six times on the wire: 6 us each on the link, both ways, and 0.6 on four accesses.
        assert!((validity.round_trips[0].asked_s - 0.0400144).abs() < 1e-9, "{:?}", validity.round_trips);
        assert_eq!((validity.buffers[0].send, validity.buffers[0].receive), (1000, 2000));
        let lag = validity.real_time.expect("it is of the lab").lag;
        assert_eq!((lag.p50_s, lag.most_s), (2e-12, 4e-4)); // the first bucket has 0 and 1 ps
    }

    #[test]
    fn each_violation_is_a_reason() {
        let (on_time, idle, seen) = (Span::ZERO, 0.1, Span::from_ms(40));
        let one = |validity: RunValidity, words: &str| {
            assert!(!validity.valid && validity.reasons.len() == 1, "{:?}", validity.reasons);
            assert!(validity.reasons[0].contains(words), "{:?}", validity.reasons);
        };
        // 1 % of 40 ms is less than the half millisecond that is allowed on every path.
        one(validity(Span::from_us(600), idle, seen, None), "late by 600 us");
        let late_answers = [on_time, Span::from_us(600), on_time];
        one(validity_with(late_answers, idle, seen, None), "hosts answered 1 % of the packets 600 us");
        let stands = |span| validity_with([on_time, on_time, span], idle, seen, None);
        one(stands(Span::from_us(20_100)), "a host stood still for 20.1 ms, longer than the 20 ms that");
        assert!(stands(Span::from_us(19_900)).valid);
        one(validity(on_time, 0.9, seen, None), "busy for 90 %");
        one(validity(on_time, idle, Span::from_ms(43), None), "no flow measured its path");
        one(validity(on_time, idle, Span::from_ms(37), None), "less than that of its path");
        one(validity(on_time, idle, seen, Some("reset")), "flow \"F\": connection 0 failed: reset");
    }

    #[test]
    fn the_bucket_of_a_policer_is_a_buffer_and_a_queue_without_limit_is_none() {
        let mut scenario = scenario();
        let of = |scenario: &Scenario| smallest_buffer(scenario).map(|(holds, _)| holds);
        assert_eq!(of(&scenario), Some(Span::from_ms(20)));
        let rate = Rate::from_bps(40_000_000).expect("not zero");
        scenario.links[0].impair.policer = Some(BucketRule { rate, burst: Bytes(20_000) });
        assert_eq!(of(&scenario), Some(Span::from_ms(4)));
        scenario.links[0].impair.policer = None;
        scenario.links[0].capacity = Capacity::Unlimited;
        assert_eq!(of(&scenario), None);
    }

    #[test]
    fn what_the_path_itself_adds_is_no_queueing_delay() {
        let of = |seen_ms: u64, change: &dyn Fn(&mut LinkSpec)| {
            let mut scenario = scenario();
            change(&mut scenario.links[0]);
            validity_on(&scenario, [Span::ZERO; 3], 0.1, Span::from_ms(seen_ms), None).reasons
        };
        let jitter = |link: &mut LinkSpec| {
            link.impair.jitter = Some(JitterRule { most: Span::from_ms(30), keeps_order: true });
        };
        let held = |link: &mut LinkSpec| {
            link.impair.aggregate = Some(AggregateRule { every: Span::from_ms(25), from: Time::ZERO });
        };
        let longer = |link: &mut LinkSpec| link.schedule.delays = vec![(Time::ZERO, Span::from_ms(50))];
        for (change, most) in [(&jitter as &dyn Fn(&mut LinkSpec), 70), (&held, 65), (&longer, 80)] {
            assert_eq!(of(most, change), Vec::<String>::new());
            let reasons = of(most + 5, change);
            assert!(reasons.len() == 1 && reasons[0].contains(" and up to 0.0"), "{reasons:?}");
        }
        let shorter = |link: &mut LinkSpec| link.schedule.delays = vec![(Time::ZERO, Span::from_ms(2))];
        assert_eq!(of(32, &shorter), Vec::<String>::new());
    }
}
