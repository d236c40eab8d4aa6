//! What proptest draws: round numbers that make ties, odd ones that make none, and the extremes.

use std::sync::Arc;

use fairhaul_cc::entries;
use fairhaul_experiment::{
    Flow, Grain, Growth, Hold, HostPacing, HostSettings, KernelRelease, ReceiverClock, Recovery, Restart,
    Rto, SearchVariant, SharedSender, SizeLaw, SlowStart, Sockbuf, Start, Startup, Traffic, WebPages,
};
use fairhaul_path::card::{DimDriver, Moderation, Noise, Processor};
use fairhaul_path::impair::{
    AggregateRule, Bursts, Impairments, JitterRule, LossRule, ReorderRule, TimedBursts,
};
use fairhaul_path::queue::{self, Capacity};
use fairhaul_path::{BucketRule, Rates, Schedule};
use fairhaul_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

use super::chain::{Chain, ChainFlow, ChainLink};

/// Data that a run may carry at most, so that the cases stay short: 6 Mbyte a link.
const MOST_BITS: u64 = 48_000_000;

/// Any chain with its flows.
pub fn chains() -> impl Strategy<Value = Chain> {
    (1usize..=4, any::<bool>()).prop_flat_map(|(links, exact)| {
        let chain_links = proptest::collection::vec(chain_links(), links);
        let flows = proptest::collection::vec(flows(links, exact), 1..=6);
        let grain = select(vec![Grain::Auto, Grain::Packet]);
        (chain_links, flows, any::<u64>(), (500u64..5000, grain), 0u64..3).prop_map(
            |(links, flows, seed, (most_ms, grain), warm)| {
                let peak =
                    |s: &ChainLink| s.schedule.rates.as_ref()?.fastest().map(|rate| rate.as_bps() / 1000);
                let fastest = links.iter().map(|s| s.kbps.max(peak(s).unwrap_or(0))).max().unwrap_or(1);
                let duration = Span::from_ms(most_ms.min(MOST_BITS / fastest).max(500));
                Chain { seed, duration, warmup: duration * warm / 5, grain, links, flows }
            },
        )
    })
}

/// Chains with flows whose bursts are simulated as one, beside some that send single packets: windows of hundreds of packets.
pub fn chains_with_bursts() -> impl Strategy<Value = Chain> {
    (1usize..=3).prop_flat_map(|links| {
        let fast = prop_oneof![9 => fast_links(), 1 => chain_links()];
        let chain_links = proptest::collection::vec(fast, links);
        let alike = proptest::collection::vec((0.2f64..2.0, 0u64..300), 0..=3);
        let other = prop_oneof![4 => Just(Vec::new()), 1 => proptest::collection::vec(flows(links, true), 1)];
        let run = (any::<u64>(), 100u64..1500, 0u64..3);
        (chain_links, burst_flows(links), alike, other, run).prop_map(
            |(links, first, alike, other, (seed, ms, warm))| {
                let alike = alike.iter().map(|&(part, start)| ChainFlow {
                    initial_window: part * first.initial_window,
                    start: Start::At(Span::from_ms(start)),
                    ..first.clone()
                });
                let flows = alike.chain([first.clone()]).chain(other).collect();
                let duration = Span::from_ms(ms);
                Chain { seed, duration, warmup: duration * warm / 5, grain: Grain::Auto, links, flows }
            },
        )
    })
}

fn fast_links() -> impl Strategy<Value = ChainLink> {
    let capacity = prop_oneof![
        4 => (20u64..3000).prop_map(Capacity::Packets),
        1 => (20_000u64..3_000_000).prop_map(|bytes| Capacity::Bytes(Bytes(bytes))),
        1 => Just(Capacity::Unlimited)
    ];
    let rate = prop_oneof![select(vec![100_000u64, 200_000]), 50_000u64..400_000];
    let delay = prop_oneof![Just(5000u64), 0u64..30_000].prop_map(Span::from_us);
    let probability = (select(vec![1e-4, 1e-3, 1e-2]), 1f64..10.0).prop_map(|(scale, part)| scale * part);
    let loss = prop_oneof![3 => Just(None), 1 => probability.prop_map(|p| Some(LossRule::Spaced(p)))];
    (rate, delay, (capacity.clone(), capacity), (loss.clone(), loss)).prop_map(
        |(kbps, delay, (capacity, back_capacity), (loss, back_loss))| ChainLink {
            back_capacity,
            loss,
            back_loss,
            ..ChainLink::new(kbps, delay, capacity)
        },
    )
}

/// A flow of hosts that make bursts.
fn burst_flows(links: usize) -> impl Strategy<Value = ChainFlow> {
    let path = (0..links, 0..links, any::<bool>(), any::<bool>());
    let access = prop_oneof![Just(None), (select(vec![1_000_000u64, 300_000]), 0u64..30).prop_map(Some)];
    let controller = (select(vec!["reno", "cubic", "bbr", "bbr3", "fhstcp"]), pacings(), any::<bool>());
    let offload = prop_oneof![2 => Just(Flow::BURSTS_OF_KERNEL), 1 => 2u64..300];
    let hosts = (offload, hosts(), holds(), ceilings(), prop_oneof![1 => Just(None), 2 => Just(Some(2u32))]);
    let window = (10f64..1000.0, 0.1f64..1.2);
    let size = prop_oneof![3 => Just(Traffic::Bulk), 1 => (10_000u64..2_000_000).prop_map(|size| Traffic::Sized(Bytes(size)))];
    let rest = (select(vec![1000u64, 1500, 9000, 777]), select(vec![0u64, 1, 80]), 0u64..300, size);
    (path, access, (controller, hosts), window, rest).prop_map(
        |(
            (a, b, backwards, acks_over_chain),
            access,
            controls,
            (window, below),
            (packet, us, start, traffic),
        )| {
            let ((controller, pacing, ecn), (offload, host, hold, pacing_kbps, quick)) = controls;
            ChainFlow {
                recovery: Recovery::Rack,
                rto: Rto::Linux,
                offload,
                host,
                delayed_ack: quick.map_or(hold, |quick| Some(Hold::Adaptive { quick })),
                pacing,
                pacing_kbps,
                ecn,
                traffic,
                from: a.min(b),
                to: a.max(b) + 1,
                backwards,
                access: access.map(|(kbps, ms)| (kbps, Span::from_ms(ms))),
                acks_over_chain,
                controller,
                packet,
                initial_window: window,
                initial_ssthresh: window * below,
                start: Start::At(Span::from_ms(start)),
                overhead: Span::from_us(us),
                ..ChainFlow::plain()
            }
        },
    )
}

fn chain_links() -> impl Strategy<Value = ChainLink> {
    let rate = prop_oneof![3 => select(vec![100u64, 1000, 8000, 10_000, 100_000]), 2 => 100u64..20_000];
    let limits = (capacities(), capacities(), marks());
    let back = prop_oneof![3 => Just((None, Impairments::default())), 1 => (losses(), impairments())];
    (
        rate,
        delays(),
        limits,
        queues(),
        losses(),
        (impairments(), back, prop_oneof![3 => Just(None), 1 => buckets().prop_map(Some)]),
        schedules(),
    )
        .prop_map(
            |(
                kbps,
                delay,
                (capacity, back_capacity, mark),
                queue,
                loss,
                (impair, back, shaper),
                schedule,
            )| {
                // A queue that drops from a third of its capacity on has one.
                let limited = |drawn| match drawn {
                    Capacity::Unlimited if queue.entry.name == "sred" => Capacity::Packets(40),
                    drawn => drawn,
                };
                let (capacity, back_capacity) = (limited(capacity), limited(back_capacity));
                let (back_loss, back_impair) = back;
                let limits = ChainLink { back_capacity, ..ChainLink::new(kbps, delay, capacity) };
                ChainLink { queue, mark, loss, back_loss, impair, back_impair, shaper, schedule, ..limits }
            },
        )
}

/// Queues of the catalogue, of which drop-tail queues alone heed a mark.
fn queues() -> impl Strategy<Value = queue::QueueChoice> {
    let named = |name: &str| queue::QueueChoice::named(name).expect("a name of the catalogue");
    prop_oneof![3 => Just(named("droptail")), 1 => Just(queue::QueueChoice::dropping_at_departure()), 2 => red(named("red")), 2 => pie(named("pie")), 2 => sred(named("sred")),
        1 => codel(named("codel"), false), 1 => codel(named("fq_codel"), true),
        1 => Just(named("ack_filter")), 2 => xcp(named("xcp")), 2 => xcp_tcp()]
}

/// Targets of few packets, intervals that end in short runs, and few buckets that many flows share.
fn codel(plain: queue::QueueChoice, fair: bool) -> impl Strategy<Value = queue::QueueChoice> {
    let spans = (select(vec![0.5, 2.0, 5.0]), prop_oneof![Just(100.0), Just(10.0), 1.0f64..50.0]);
    let own =
        (select(vec![0.0, 200.0]), select(vec![300.0, 1514.0, 9000.0]), select(vec![1.0, 3.0, 16.0, 1024.0]));
    (spans, own).prop_map(move |((target, interval), (max_packet, quantum, flows))| {
        let mut values = vec![("target", target), ("interval", interval), ("max_packet", max_packet)];
        if fair {
            values.extend([("quantum", quantum), ("flows", flows)]);
        }
        let mut choice = plain.clone();
        values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
        choice
    })
}

/// Both rules and all counters; a gate that is open at times, factors that show in short runs.
fn xcp_tcp() -> impl Strategy<Value = queue::QueueChoice> {
    let named = queue::QueueChoice::named("xcp_tcp").expect("a name of the catalogue");
    let rules = (select(vec![0.0, 1.0]), select(vec![0.0, 1.0, 2.0]), select(vec![0.0, 0.5, 0.95]));
    let law = (
        select(vec![0.0, 0.02]),
        select(vec![0.0, 10.0, 77.0]),
        any::<bool>(),
        select(vec![1.0, 10.0, 100.0]),
    );
    let counters =
        (select(vec![1.0, 0.5]), select(vec![0.0, 0.2, 1.0]), select(vec![2.0, 50.0, 1000.0]), 0.001f64..1.0);
    (xcp(named), rules, law, counters).prop_map(
        |(
            mut choice,
            (rule, counter, gate),
            (tolerance, period, at_floor, horizon),
            (inspect, stale, entries, weight),
        )| {
            let values = [
                ("rule", rule),
                ("counter", counter),
                ("gate", gate),
                ("tolerance", tolerance),
                ("period", period),
                ("min_p", 1e-3),
                ("up", 1.3),
                ("down", 0.8),
                ("at_floor", f64::from(u8::from(at_floor))),
                ("horizon", horizon),
                ("inspect", inspect),
                ("stale", stale),
                ("entries", entries),
                ("weight", weight),
            ];
            values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
            choice
        },
    )
}

/// Gains in and out of what is stable, and intervals shorter and longer than the round trips.
fn xcp(plain: queue::QueueChoice) -> impl Strategy<Value = queue::QueueChoice> {
    let gains = (0.0f64..1.0, 0.0f64..1.0, select(vec![0.0, 0.1, 0.5]), select(vec![0.5, 1.0]));
    let bounds = (select(vec![0.5, 5.0, 40.0]), select(vec![50.0, 1000.0]));
    let clouds = (select(vec![0.0, 1.0]), select(vec![0.0, 0.05, 0.5]), select(vec![0.1, 3.0]));
    (gains, bounds, clouds).prop_map(move |((alpha, beta, gamma, share), (least, most), clouds)| {
        let values = [("alpha", alpha), ("beta", beta), ("gamma", gamma), ("share", share)];
        let mut choice = plain.clone();
        let all = values.into_iter().chain([
            ("min_interval", least),
            ("max_interval", most),
            ("virtual", clouds.0),
            ("probe", clouds.1),
            ("queueing", clouds.2),
        ]);
        all.for_each(|(name, value)| choice.settings.set(name, value));
        choice
    })
}

/// Targets of few packets, and updates on the milliseconds on which packets leave, and off them.
fn pie(plain: queue::QueueChoice) -> impl Strategy<Value = queue::QueueChoice> {
    let spans = (select(vec![0.3, 2.0, 15.0]), prop_oneof![Just(15.0), Just(1.0), 0.5f64..40.0]);
    let rest = (
        select(vec![0.0, 30.0, 150.0]),
        select(vec![0.125, 2.0]),
        select(vec![0.1, 1.0]),
        select(vec![0.0, 200.0]),
    );
    (spans, rest).prop_map(move |((target, update), (burst, alpha, mark_ecnth, mean_packet))| {
        let values = [
            ("target", target),
            ("update", update),
            ("max_burst", burst),
            ("alpha", alpha),
            ("beta", 10.0 * alpha),
            ("mark_ecnth", mark_ecnth),
            ("mean_packet", mean_packet),
        ];
        let mut choice = plain.clone();
        values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
        choice
    })
}

/// Lists that fill in short runs, averages that move fast, and few flows that are many.
fn sred(plain: queue::QueueChoice) -> impl Strategy<Value = queue::QueueChoice> {
    let list = (select(vec![1.0, 5.0, 100.0, 1000.0]), 0.05f64..1.0, prop_oneof![Just(0.001), 0.01f64..1.0]);
    let law = (select(vec![0.15, 0.02, 1.0]), select(vec![1.0, 4.0, 256.0]));
    let words = proptest::collection::vec(any::<bool>(), 3);
    (list, law, words).prop_map(move |((entries, overwrite, weight), (max_p, flows), words)| {
        let mut choice = plain.clone();
        let numbers = [
            ("entries", entries),
            ("overwrite", overwrite),
            ("weight", weight),
            ("max_p", max_p),
            ("flows", flows),
        ];
        let words =
            ["law", "fill", "start"].into_iter().zip(words.into_iter().map(|word| f64::from(u8::from(word))));
        numbers.into_iter().chain(words).for_each(|(name, value)| choice.settings.set(name, value));
        choice
    })
}

/// Automatic values, and averages that move fast enough for short runs; thresholds of few packets.
fn red(plain: queue::QueueChoice) -> impl Strategy<Value = queue::QueueChoice> {
    let thresholds = prop_oneof![Just((0.0, 0.0)), (0.5f64..8.0, 0.5f64..20.0).prop_map(|(a, b)| (a, a + b))];
    let weight = prop_oneof![select(vec![-2.0, -1.0, 0.0, 1.0]), 0.002f64..0.9];
    let switches = proptest::collection::vec(any::<bool>(), 5);
    let rest = (0.01f64..1.0, select(vec![0.0, 500.0, 1500.0]), select(vec![0.1, 0.5, 1.0]), 0.01f64..0.5);
    (thresholds, weight, switches, rest).prop_map(
        move |((min, max), weight, switches, (max_p, mean_packet, mark_p, interval))| {
            let mut choice = plain.clone();
            let values = [
                ("min_threshold", min),
                ("max_threshold", max),
                ("q_weight", weight),
                ("max_p", max_p),
                ("mean_packet", mean_packet),
                ("mark_p", mark_p),
                ("interval", interval),
            ];
            values.iter().for_each(|(name, value)| choice.settings.set(name, *value));
            let names = ["gentle", "wait", "queue_in_bytes", "drop_in_bytes", "adaptive"];
            names
                .iter()
                .zip(switches)
                .for_each(|(name, on)| choice.settings.set(name, f64::from(u8::from(on))));
            choice
        },
    )
}

fn buckets() -> impl Strategy<Value = BucketRule> {
    (100u64..20_000, 1500u64..60_000)
        .prop_map(|(kbps, burst)| BucketRule { rate: super::chain::kbps(kbps), burst: Bytes(burst) })
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let jitter = (1u64..20_000_000_000, any::<bool>())
        .prop_map(|(ps, keeps_order)| JitterRule { most: Span::from_ps(ps), keeps_order });
    // In whole milliseconds, so that delayed and immediate acknowledgements coincide.
    let reorder = (0.001f64..0.3, 1u64..40)
        .prop_map(|(probability, ms)| ReorderRule { probability, delay: Span::from_ms(ms) });
    let duplicate = prop_oneof![3 => Just(0.0), 1 => 0.001f64..0.5];
    let aggregate = (1u64..60, 0u64..500).prop_map(|(ms, from)| AggregateRule {
        every: Span::from_ms(ms),
        from: Time::ZERO + Span::from_ms(from),
    });
    let some = (
        prop::option::weighted(0.3, buckets()),
        prop::option::weighted(0.4, jitter),
        prop::option::weighted(0.3, aggregate),
        prop::option::weighted(0.4, reorder),
        duplicate,
    );
    let some = some.prop_map(|(policer, jitter, aggregate, reorder, duplicate)| Impairments {
        policer,
        jitter,
        aggregate,
        reorder,
        duplicate,
        ..Impairments::default()
    });
    prop_oneof![3 => Just(Impairments::default()), 2 => some]
}

/// Changes on the milliseconds, where packets leave too, and off them; outages, also without end.
fn schedules() -> impl Strategy<Value = Schedule> {
    let times = |most| proptest::collection::btree_set(prop_oneof![1u64..3000, Just(500)], 0..most);
    let moment = |ms: u64| Time::ZERO + Span::from_ms(ms);
    let rate = prop_oneof![1 => Just(0u64), 3 => select(vec![100u64, 1000, 8000]), 2 => 100u64..20_000];
    let steps = (rate.clone(), proptest::collection::btree_map(1u64..2_000_000, rate, 0..6));
    let rates = (steps, proptest::option::of(2_000_000u64..3_000_000)).prop_map(|((first, steps), lap)| {
        let steps = std::iter::once((0, first)).chain(steps);
        let steps = steps.map(|(us, kbps)| (Span::from_us(us), Rate::from_bps(kbps * 1000)));
        Arc::new(Rates::new(&steps.collect::<Vec<_>>(), lap.map(Span::from_us)))
    });
    let delays = (times(4), proptest::collection::vec(delays(), 4))
        .prop_map(move |(ms, delays)| ms.into_iter().map(moment).zip(delays).collect());
    let losses = (times(4), proptest::collection::vec(losses(), 4)).prop_map(move |(ms, rules)| {
        let rules = rules.into_iter().map(|rule| rule.unwrap_or(LossRule::Probability(0.0)));
        ms.into_iter().map(moment).zip(rules).collect()
    });
    let some = (
        prop::option::weighted(0.6, rates),
        prop_oneof![Just(Vec::new()), delays],
        prop_oneof![2 => Just(Vec::new()), 1 => losses],
    );
    let some = some.prop_map(|(rates, delays, losses)| Schedule { rates, delays, losses });
    prop_oneof![3 => Just(Schedule::default()), 2 => some]
}

fn delays() -> impl Strategy<Value = Span> {
    prop_oneof![
        1 => Just(Span::ZERO),
        3 => (1u64..30).prop_map(Span::from_ms),
        1 => (1u64..30_000_000_000).prop_map(Span::from_ps),
    ]
}

fn capacities() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        1 => Just(Capacity::Packets(1)),
        3 => (2u64..10).prop_map(Capacity::Packets),
        3 => (10u64..300).prop_map(Capacity::Packets),
        2 => (1500u64..60_000).prop_map(|bytes| Capacity::Bytes(Bytes(bytes))),
        1 => Just(Capacity::Unlimited),
    ]
}

fn marks() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        3 => Just(Capacity::Unlimited),
        2 => (1u64..30).prop_map(Capacity::Packets),
        1 => (1u64..30_000).prop_map(|bytes| Capacity::Bytes(Bytes(bytes))),
    ]
}

fn losses() -> impl Strategy<Value = Option<LossRule>> {
    let times = |ms: Vec<u64>| ms.into_iter().map(|ms| Time::ZERO + Span::from_ms(ms)).collect::<Vec<_>>();
    let at = (proptest::collection::btree_set(0u64..3000, 1..5), proptest::collection::vec(0u32..6, 1..4));
    let bursts = (0.001f64..0.1, 0.1f64..1.0, 0.0f64..0.01, 0.2f64..1.0).prop_map(
        |(good_to_bad, bad_to_good, loss_good, loss_bad)| {
            Some(LossRule::Bursts(Bursts { good_to_bad, bad_to_good, loss_good, loss_bad }))
        },
    );
    let timed =
        (1u64..200, 1u64..50, 0.0f64..0.01, 0.2f64..1.0).prop_map(|(good, bad, loss_good, loss_bad)| {
            let (good, bad) = (Span::from_ms(good), Span::from_ms(bad));
            Some(LossRule::TimedBursts(TimedBursts { good, bad, loss_good, loss_bad }))
        });
    prop_oneof![
        6 => Just(None),
        1 => bursts,
        1 => timed,
        1 => (0.0005f64..0.2).prop_map(|p| Some(LossRule::Probability(p))),
        1 => (0.0005f64..0.2).prop_map(|p| Some(LossRule::Spaced(p))),
        1 => (2u64..300).prop_map(|n| Some(LossRule::Every(n))),
        1 => (0.0005f64..0.1).prop_map(|p| Some(LossRule::Offloaded(p))),
        1 => at.prop_map(move |(ms, flows)| {
            Some(LossRule::At { times: times(ms.into_iter().collect()), flows })
        }),
    ]
}

prop_compose! {
    /// A flow over some of `links`; `exact`: without processing time, so that much ties.
    fn flows(links: usize, exact: bool)(
        (from, to, whole) in (0..links, 1..=links, any::<bool>()),
        (backwards, acks_over_chain) in (prop::bool::weighted(0.3), prop::bool::weighted(0.85)),
        access in accesses(),
        controller in prop_oneof![
            5 => select(entries().iter().map(|entry| entry.name).collect::<Vec<_>>()),
            1 => Just("xcp"),
        ],
        recovery in recoveries(),
        (traffic, connections, start) in (traffics(), prop_oneof![4 => Just(1u32), 1 => 2u32..5], starts()),
        packet in prop_oneof![4 => Just(1000u64), 1 => Just(1500u64), 1 => 100u64..1500, 1 => Just(9000u64)],
        (initial_window, initial_ssthresh, max_window) in windows(),
        (slow_start, startup, rate_limited_increase, ecn, pacing_kbps) in
            (slow_starts(), startups(), any::<bool>(), any::<bool>(), ceilings()),
        (growth, restart, betas, pacing) in (growths(), restarts(), [betas(), betas()], pacings()),
        (probes, min_window) in (prop::bool::weighted(0.3), least_windows()),
        (offload, undo, host) in (bursts(), prop::bool::weighted(0.7), hosts()),
        (delayed_ack, clock) in (holds(), clocks()),
        (integer_cwnd, rto) in (any::<bool>(), select(vec![Rto::Scaled, Rto::Linux])),
        min_rto in select(vec![1u64, 10, 200, 1000]).prop_map(Span::from_ms),
        (send_buffer, receive_buffer) in (buffers(), buffers()),
        sockbuf in select(vec![Sockbuf::Payload, Sockbuf::Linux]),
        overhead in prop_oneof![Just(Span::ZERO), (1u64..5_000_000_000).prop_map(Span::from_ps)],
    ) -> ChainFlow {
        let (from, to) = if whole { (0, links) } else { (from.min(to - 1), to) };
        let overhead = if exact { Span::ZERO } else { overhead };
        ChainFlow {
            from, to, backwards, access, acks_over_chain, controller, recovery, traffic, connections, start, packet,
            initial_window, initial_ssthresh, max_window, slow_start, startup, rate_limited_increase, growth, restart, probes, min_window, betas, pacing,
            ecn, pacing_kbps, offload, undo, host,
            delayed_ack, clock, integer_cwnd, rto, min_rto, sockbuf, send_buffer, receive_buffer, overhead,
        }
    }
}

fn accesses() -> impl Strategy<Value = Option<(u64, Span)>> {
    let rate = select(vec![1000u64, 10_000, 100_000, 1_000_000]);
    prop_oneof![1 => Just(None), 5 => (rate, delays()).prop_map(Some)]
}

fn growths() -> impl Strategy<Value = Growth> {
    prop_oneof![4 => Just(Growth::PerPacket), 1 => Just(Growth::PerAck)]
}

fn restarts() -> impl Strategy<Value = Restart> {
    select(vec![Restart::None, Restart::Linux, Restart::Rfc5681, Restart::Rfc7661])
}

fn least_windows() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![5 => Just(None), 1 => (1.0f64..4.0).prop_map(Some)]
}

fn betas() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![5 => Just(None), 1 => (0.1f64..1.0).prop_map(Some)]
}

fn pacings() -> impl Strategy<Value = HostPacing> {
    prop_oneof![4 => Just(HostPacing::None), 1 => Just(HostPacing::Linux), 1 => Just(HostPacing::Quic)]
}

fn recoveries() -> impl Strategy<Value = Recovery> {
    select(vec![
        Recovery::Sack,
        Recovery::SackPrr,
        Recovery::Rack,
        Recovery::Rack,
        Recovery::Reno,
        Recovery::NewReno { impatient: true },
        Recovery::NewReno { impatient: false },
    ])
}

fn traffics() -> impl Strategy<Value = Traffic> {
    let size = prop_oneof![
        (1u64..40_000).prop_map(|bytes| SizeLaw::Fixed(Bytes(bytes))),
        (100u64..40_000).prop_map(|bytes| SizeLaw::Exponential(Bytes(bytes))),
        (100u64..40_000, 1.1f64..3.0).prop_map(|(bytes, shape)| SizeLaw::Pareto(Bytes(bytes), shape)),
    ];
    let short = (1.0f64..30.0, size.clone()).prop_map(|(per_s, size)| Traffic::Short { per_s, size });
    let web = (0.5f64..4.0, 1.0f64..4.0, 1u64..300, 1.0f64..5.0, size).prop_map(
        |(sessions_per_s, pages, think, objects, size)| {
            Traffic::Web(WebPages { sessions_per_s, pages, think: Span::from_ms(think), objects, size })
        },
    );
    // Beside what a path carries, and far above it.
    let rates = prop_oneof![3 => 100u64..5000, 1 => 5000u64..200_000];
    prop_oneof![
        5 => Just(Traffic::Bulk),
        3 => (1u64..300_000).prop_map(|bytes| Traffic::Sized(Bytes(bytes))),
        1 => short,
        1 => web,
        2 => (rates, 1u64..300, 1u64..300).prop_map(|(kbps, on, off)| Traffic::OnOff {
            rate: super::chain::kbps(kbps),
            on: Span::from_ms(on),
            off: Span::from_ms(off),
        }),
        2 => (0u64..5000, 0u64..1500, 1u64..1500).prop_map(|(kbps, from, lasts)| Traffic::Limited {
            rate: (kbps >= 200).then(|| super::chain::kbps(kbps)),
            from: Span::from_ms(from),
            until: Span::from_ms(from + lasts),
        }),
        1 => (select(vec![100u64, 300, 777, 1000]), 1u64..8000).prop_map(|(kbps, until)| Traffic::Cbr {
            rate: super::chain::kbps(kbps),
            until: Span::from_ms(until),
        }),
    ]
}

fn starts() -> impl Strategy<Value = Start> {
    prop_oneof![
        4 => Just(Start::At(Span::ZERO)),
        2 => (0u64..1000).prop_map(|ms| Start::At(Span::from_ms(ms))),
        2 => (0u64..300, 1u64..500).prop_map(|(a, b)| Start::Uniform(Span::from_ms(a), Span::from_ms(a + b))),
        1 => (1u64..300).prop_map(|ms| Start::Exponential(Span::from_ms(ms))),
    ]
}

fn windows() -> impl Strategy<Value = (f64, f64, f64)> {
    (
        select(vec![1.0, 2.0, 3.0, 4.5, 10.0]),
        prop_oneof![3 => Just(f64::INFINITY), 1 => (2u32..100).prop_map(f64::from)],
        prop_oneof![3 => Just(f64::INFINITY), 1 => (1u32..60).prop_map(f64::from)],
    )
}

fn slow_starts() -> impl Strategy<Value = SlowStart> {
    let limited = (1u32..60).prop_map(|most| SlowStart::Limited { max_ssthresh: most.into() });
    prop_oneof![3 => Just(SlowStart::Standard), 1 => limited, 1 => Just(SlowStart::HyStartPp), 1 => Just(SlowStart::Full), 1 => Just(SlowStart::HyStart), 1 => searches()]
}

fn searches() -> impl Strategy<Value = SlowStart> {
    let variants = select(vec![SearchVariant::Draft, SearchVariant::Linux]);
    (variants, any::<bool>()).prop_map(|(variant, drain)| SlowStart::Search { variant, drain })
}

fn startups() -> impl Strategy<Value = Startup> {
    let resumes = (4u32..200, 1u64..200).prop_map(|(cwnd, ms)| Startup::CarefulResume {
        cwnd: cwnd.into(),
        rtt: Span::from_ms(ms),
        max_jump: 60.0,
    });
    prop_oneof![
        4 => Just(Startup::None),
        1 => Just(Startup::Paced),
        1 => resumes,
        1 => Just(Startup::RapidStart),
        1 => Just(Startup::Jumpstart),
    ]
}

fn ceilings() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![5 => Just(None), 1 => (50u64..20_000).prop_map(Some)]
}

fn bursts() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(1u64), 1 => 2u64..70, 1 => Just(Flow::BURSTS_OF_KERNEL)]
}

fn moderations() -> impl Strategy<Value = Moderation> {
    let fixed = select(vec![0u64, 10, 126, 1000, 5000]).prop_map(|us| Moderation::Every(Span::from_us(us)));
    let dim = select(vec![DimDriver::Ice, DimDriver::Mlx5]).prop_map(Moderation::Dim);
    prop_oneof![4 => fixed, 1 => Just(Moderation::Adaptive { shortest: Span::from_us(10) }), 1 => dim]
}

fn noises() -> impl Strategy<Value = Noise> {
    let uniform = select(vec![0u64, 50, 3000]).prop_map(|us| Noise::Uniform(Span::from_us(us)));
    let law = Noise::LogNormal { median: Span::from_us(20), p99: Span::from_us(900) };
    prop_oneof![4 => uniform, 1 => Just(law)]
}

/// Hosts of a kernel; intervals of a card from none to several packets of a link of 8 Mbit/s.
fn hosts() -> impl Strategy<Value = Option<HostSettings>> {
    let limits = |name: &str| {
        let name = name.to_owned();
        let some = (2_000u64..40_000, 10_000u64..400_000)
            .prop_map(move |(first, most)| Some((name.clone(), format!("4096 {first} {most}"))));
        prop_oneof![2 => Just(None), 1 => some]
    };
    let settings = (
        any::<bool>(),
        moderations(),
        noises(),
        prop::option::weighted(0.3, (0u64..2000, 0u64..400, 0u64..500)),
        (prop::option::of(1_000u64..200_000), 1u8..4, prop::option::weighted(0.4, 0u32..2)),
        (any::<bool>(), any::<bool>()),
        (limits("net.ipv4.tcp_rmem"), limits("net.ipv4.tcp_wmem")),
        prop::option::of(select(vec![
            KernelRelease::Linux5,
            KernelRelease::Linux6,
            KernelRelease::Linux6_6,
            KernelRelease::Linux6_16,
        ])),
    );
    // Flows that share a sender have the same card: one of two.
    let sender = |number: u32| SharedSender { name: number.to_string(), number };
    let settings = settings.prop_map(
        move |(gro, moderation, noise, work, (line_kbps, links, shared), tunes, (rmem, wmem), kernel)| {
            HostSettings {
                gro,
                line_rate: line_kbps.and_then(|kbps| Rate::from_bps(1000 * kbps)),
                links: line_kbps.map(|_| links).filter(|links| *links > 1),
                moderation,
                noise,
                processor: work.map(|(burst, kilobyte, packet)| Processor {
                    burst: Span::from_us(burst),
                    kilobyte: Span::from_us(kilobyte),
                    packet: Span::from_us(packet),
                }),
                kernel,
                qdisc: None,
                sysctls: rmem.into_iter().chain(wmem).collect(),
                tunes_send_buffer: tunes.0,
                tunes_receive_buffer: tunes.1,
                sender: shared.map(sender),
            }
        },
    );
    let settings = settings.prop_map(|settings| match settings.sender.as_ref().map(|sender| sender.number) {
        None => settings,
        Some(0) => {
            HostSettings { line_rate: Rate::from_bps(20_000_000), links: None, processor: None, ..settings }
        }
        Some(_) => {
            let ten = Span::from_us(10);
            let processor = Some(Processor { burst: ten * 20, kilobyte: ten, packet: ten });
            HostSettings { line_rate: Rate::from_bps(8_000_000), links: Some(2), processor, ..settings }
        }
    });
    prop_oneof![2 => Just(None), 1 => settings.prop_map(Some)]
}

fn holds() -> impl Strategy<Value = Option<Hold>> {
    prop_oneof![
        4 => Just(None),
        1 => Just(Some(Hold::of_second(Span::ZERO))),
        1 => Just(Some(Hold::of_second(Span::from_ms(1)))), // a packet of 1000 B at 8 Mbit/s
        1 => (1u64..200, 2u32..12).prop_map(|(ms, packets)| Some(Hold::For { most: Span::from_ms(ms), packets })),
        2 => (2u32..17).prop_map(|quick| Some(Hold::Adaptive { quick })),
    ]
}

fn clocks() -> impl Strategy<Value = ReceiverClock> {
    let stamp = select(vec![Span::ZERO, Span::from_us(1), Span::from_ms(1), Span::from_ms(10)]);
    let some = (0u64..100_000, -1_000_000i64..1_000_000, stamp)
        .prop_map(|(us, drift_ppb, stamp)| ReceiverClock { offset: Span::from_us(us), drift_ppb, stamp });
    prop_oneof![3 => Just(ReceiverClock::default()), 1 => some]
}

fn buffers() -> impl Strategy<Value = Option<Bytes>> {
    prop_oneof![5 => Just(None), 1 => (1u64..60_000).prop_map(|bytes| Some(Bytes(bytes)))]
}
