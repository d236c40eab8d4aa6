//! A resolved scenario as JSON, which every record contains.
//!
//! Seconds are printed with as many digits as give the same picoseconds back (for all times below
//! an hour), so that nothing is lost; what has no limit is null.

use std::fmt::Write;

use fairhaul_cc::{ControllerChoice, OwnValue};
use fairhaul_path::impair::{Impairments, LossRule};
use fairhaul_path::queue::{Capacity, QueueChoice};
use fairhaul_path::{BucketRule, LinkSpec, Rates, Schedule};
use fairhaul_units::{Bytes, HEADER, Kind, Rate, Settings, Span, Time, Value as ParameterValue};
use serde_json::{Map, Value, json};

use super::{describe_hosts, describe_sender};
use crate::read::LONGEST_RUN;
use crate::{
    Flow, Hold, Hop, Profile, ProgramPair, ReceiverClock, Recovery, Role, Rto, Scenario, SearchVariant,
    SizeLaw, SlowStart, Sockbuf, Start, Traffic,
};

/// `scenario` as JSON, in one line.
pub fn describe(scenario: &Scenario) -> String {
    let largest = scenario.flows.iter().map(|flow| flow.packet).max().unwrap_or(Bytes(1));
    let head = json!({
        "schema": 1,
        "title": scenario.title,
        "source": scenario.source,
        "seed": scenario.seed,
        "duration_s": scenario.duration.as_secs(),
        "warmup_s": scenario.warmup.as_secs(),
        "links": scenario.links.iter().map(|spec| link(spec, largest)).collect::<Vec<_>>(),
    });
    // Flow by flow: a million flows as one tree of values would take gigabytes.
    let mut text = head.to_string();
    text.truncate(text.len() - 1);
    text.push_str(",\"flows\":[");
    for (index, spec) in scenario.flows.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let mut described = flow(spec);
        if let Some(reason) = scenario.why_single_packets(spec) {
            described["single_packets"] = reason.into();
        }
        let _ = write!(text, "{comma}{described}");
    }
    text.push_str("]}");
    text
}

fn link(link: &LinkSpec, largest: Bytes) -> Value {
    let (packets, bytes) = match link.capacity {
        Capacity::Unlimited => (None, None),
        Capacity::Packets(packets) => (Some(packets), None),
        Capacity::Bytes(bytes) => (Some(bytes.0 / largest.0), Some(bytes.0)),
    };
    // In f64: the packets may have more bytes than an integer can count.
    let full = bytes.map(|b| b as f64).or(packets.map(|p| p as f64 * largest.0 as f64));
    let mut described = json!({
        "name": link.name,
        "rate_bps": link.rate.as_bps(),
        "delay_s": link.delay.as_secs(),
        "capacity_packets": packets,
        "capacity_bytes": bytes,
        "capacity_s": full.map(|bytes| bytes * 8.0 / link.drain_rate().as_bps() as f64),
        "loss": link.loss.as_ref().map(loss),
    });
    match link.mark {
        Capacity::Unlimited => {}
        Capacity::Packets(packets) => described["mark_packets"] = packets.into(),
        Capacity::Bytes(bytes) => described["mark_bytes"] = bytes.0.into(),
    }
    let entry = link.queue.entry;
    if !(entry.parameters.is_empty() && entry.gauges.is_empty()) {
        described["queue"] = parameters(&link.queue.settings);
        described["queue"]["kind"] = entry.name.into();
    }
    if *entry == *QueueChoice::dropping_at_departure().entry {
        described["queue"] = json!({ "kind": entry.name, "drop": "departure" });
    }
    if let Some(qdisc) = &link.queue.qdisc {
        described["queue"] = json!({ "kind": entry.name, "qdisc": qdisc });
    }
    if let Some(rule) = link.shaper {
        described["shaper"] = bucket(rule);
    }
    if !link.impair.is_none() {
        described["impairments"] = impairments(&link.impair);
    }
    if !link.schedule.is_none() {
        described["schedule"] = schedule(&link.schedule);
    }
    described
}

fn schedule(schedule: &Schedule) -> Value {
    let delays = schedule.delays.iter().map(|(at, delay)| json!([at.as_secs(), delay.as_secs()]));
    let losses = schedule.losses.iter().map(|(at, rule)| json!([at.as_secs(), loss(rule)]));
    json!({
        "rate": schedule.rates.as_ref().map(|changes| rates(changes)),
        "delay_s": delays.collect::<Vec<_>>(),
        "loss": losses.collect::<Vec<_>>(),
    })
}

/// A short course in full, a long one by its length and a digest.
fn rates(rates: &Rates) -> Value {
    const MOST_REPORTED: usize = 100;
    let pairs = || rates.steps().map(|(at, bps)| json!([at.as_secs(), bps]));
    json!({
        "steps": rates.steps().len(),
        "digest": digest(rates),
        "repeats_after_s": rates.lap().map(Span::as_secs),
        "bps": (rates.steps().len() <= MOST_REPORTED).then(|| pairs().collect::<Vec<_>>()),
    })
}

/// FNV-1a over times in picoseconds and rates in bits per second, in hexadecimal.
fn digest(rates: &Rates) -> String {
    let numbers = rates.steps().flat_map(|(at, bps)| [at.as_ps(), bps]);
    let hash = numbers.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn bucket(rule: BucketRule) -> Value {
    json!({ "rate_bps": rule.rate.as_bps(), "burst_bytes": rule.burst.0 })
}

fn impairments(impair: &Impairments) -> Value {
    let mut described = json!({
        "policer": impair.policer.map(bucket),
        "jitter": impair.jitter.map(|rule| json!({ "most_s": rule.most.as_secs(), "keeps_order": rule.keeps_order })),
        "reorder": impair.reorder.map(|rule| json!({ "probability": rule.probability, "delay_s": rule.delay.as_secs() })),
        "duplicate": impair.duplicate,
    });
    if !impair.mtu.is_empty() {
        described["mtu"] = impair.mtu.iter().map(|(at, most)| json!([at.as_secs(), most])).collect();
    }
    if let Some(rule) = impair.aggregate {
        let from_s = rule.from.since(Time::ZERO).as_secs();
        described["aggregate"] = json!({ "every_s": rule.every.as_secs(), "from_s": from_s });
    }
    described
}

fn loss(rule: &LossRule) -> Value {
    match rule {
        LossRule::Probability(p) | LossRule::Spaced(p) => json!({ "probability": p }),
        LossRule::Offloaded(p) => json!({ "offloaded_bursts": p }),
        LossRule::Every(n) => json!({ "every": n }),
        LossRule::At { times, flows } => {
            json!({ "at_s": times.iter().map(|t| t.as_secs()).collect::<Vec<_>>(), "flows": flows })
        }
        LossRule::Bursts(bursts) => json!({
            "good_to_bad": bursts.good_to_bad,
            "bad_to_good": bursts.bad_to_good,
            "loss_good": bursts.loss_good,
            "loss_bad": bursts.loss_bad,
        }),
        LossRule::TimedBursts(bursts) => json!({
            "good_s": bursts.good.as_secs(),
            "bad_s": bursts.bad.as_secs(),
            "loss_good": bursts.loss_good,
            "loss_bad": bursts.loss_bad,
        }),
    }
}

fn flow(flow: &Flow) -> Value {
    let mut described = flow_of_fairhaul(flow);
    if let Some(cycle) = flow.controller.probe_cycle().filter(|_| flow.has_controller()) {
        described["probe_cycle"] = json!({
            "seconds": cycle.seconds,
            "rounds": cycle.rounds,
            "rounds_per_packet": cycle.rounds_per_packet,
        });
    }
    if let Some(stack) = flow.controller.stack() {
        described["stack"] = json!(stack.identity());
    }
    if let Some(ProgramPair { sender, receiver }) = &flow.program {
        described["program"] = json!({ "sender": sender, "receiver": receiver });
    }
    described
}

fn flow_of_fairhaul(flow: &Flow) -> Value {
    let controlled = flow.has_controller();
    let mut described = json!({
        "name": flow.name,
        "group": flow.group,
        "class": flow.class,
        "role": match flow.role { Role::Measured => "measured", Role::Background => "background" },
        "controller": if controlled { flow.controller.name() } else { "none" },
        "parameters": if controlled { controller_parameters(&flow.controller) } else { json!({}) },
        "recovery": recovery(flow.recovery),
        "traffic": traffic(&flow.traffic),
        "start": start(flow.start),
        "rtt_s": flow.rtt.as_secs(),
        "forward": hops(&flow.forward),
        "reverse": hops(&flow.reverse),
        "packet_bytes": flow.packet.0,
        "initial_window": flow.initial_window,
        "initial_ssthresh": finite(flow.initial_ssthresh),
        "max_window": finite(flow.max_window),
        "slow_start": slow_start(flow.slow_start),
        "max_pacing_rate_bps": flow.max_pacing_rate.map(|rate| rate.as_bps()),
        "offload_packets": (flow.offload != Flow::BURSTS_OF_KERNEL).then_some(flow.offload),
        "undo": flow.undo,
        "delayed_ack_s": match flow.delayed_ack { Some(Hold::For { most, .. }) => Some(most.as_secs()), _ => None },
        "min_rto_s": flow.min_rto.as_secs(),
        "send_buffer_bytes": flow.send_buffer.map(|b| b.0),
        "receive_buffer_bytes": flow.receive_buffer.map(|b| b.0),
        "overhead_s": flow.overhead.as_secs(),
    });
    if let Some(lead) = flow.lead {
        described["lead"] = lead.into();
    }
    match flow.profile {
        Profile::Plain => {}
        Profile::LinuxTcp => described["profile"] = "linux-tcp".into(),
        Profile::LinuxTuned => described["profile"] = "linux-tuned".into(),
        Profile::Linux => described["profile"] = "linux".into(),
    }
    if flow.integer_cwnd {
        described["whole_window"] = true.into();
    }
    if flow.sockbuf == Sockbuf::Linux {
        described["sockbuf"] = "linux".into();
    }
    if let Some(rto) = rto(flow.rto) {
        described["rto"] = rto.into();
    }
    describe_sender::add(flow, &mut described);
    if flow.ecn {
        described["ecn"] = true.into();
    }
    if flow.headers() > HEADER {
        described["header_bytes"] = flow.headers().0.into();
    }
    if !flow.clock.is_exact() {
        described["clock"] = clock(flow.clock);
    }
    describe_hosts::add(flow, &mut described);
    described
}

fn clock(clock: ReceiverClock) -> Value {
    json!({
        "offset_s": clock.offset.as_secs(),
        "drift_ppm": clock.drift_ppb as f64 / 1000.0,
        "stamp_s": clock.stamp.as_secs(),
    })
}

/// The word of a rule for the timeout, unless it is the default.
fn rto(rto: Rto) -> Option<&'static str> {
    match rto {
        Rto::Scaled => None,
        Rto::Rfc6298 => Some("rfc6298"),
        Rto::Linux => Some("linux"),
    }
}

fn start(start: Start) -> Value {
    match start {
        Start::At(at) => json!({ "law": "at", "at_s": at.as_secs() }),
        Start::Uniform(from, to) => {
            json!({ "law": "uniform", "from_s": from.as_secs(), "to_s": to.as_secs() })
        }
        Start::Exponential(mean) => json!({ "law": "exponential", "mean_s": mean.as_secs() }),
    }
}

fn recovery(recovery: Recovery) -> Value {
    match recovery {
        Recovery::Reno => json!({ "kind": "reno" }),
        Recovery::NewReno { impatient } => {
            json!({ "kind": "newreno", "variant": if impatient { "impatient" } else { "slow-but-steady" } })
        }
        Recovery::Sack => json!({ "kind": "sack" }),
        Recovery::SackPrr => json!({ "kind": "sack", "prr": true }),
        Recovery::Rack => json!({ "kind": "rack" }),
    }
}

fn slow_start(slow_start: SlowStart) -> Value {
    match slow_start {
        SlowStart::Standard => json!({ "kind": "standard" }),
        SlowStart::Limited { max_ssthresh } => json!({ "kind": "limited", "max_ssthresh": max_ssthresh }),
        SlowStart::HyStartPp => json!({ "kind": "hystart++" }),
        SlowStart::Full => json!({ "kind": "full" }),
        SlowStart::HyStart => json!({ "kind": "hystart" }),
        SlowStart::Search { variant, drain } => {
            let variant = match variant {
                SearchVariant::Draft => "draft",
                SearchVariant::Linux => "linux",
            };
            json!({ "kind": "search", "variant": variant, "drain": drain })
        }
    }
}

/// JSON has no infinity.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

fn hops(hops: &[Hop]) -> Vec<Value> {
    let hop = |hop: &Hop| match hop {
        Hop::Link(link) => json!({ "link": link }),
        Hop::Access { rate, delay } => json!({ "rate_bps": rate.as_bps(), "delay_s": delay.as_secs() }),
    };
    hops.iter().map(hop).collect()
}

fn traffic(traffic: &Traffic) -> Value {
    match traffic {
        Traffic::Bulk => json!({ "kind": "bulk" }),
        Traffic::Sized(size) => json!({ "kind": "sized", "size_bytes": size.0 }),
        Traffic::Short { per_s, size } => json!({ "kind": "short", "per_s": per_s, "size": law(*size) }),
        Traffic::Web(web) => json!({
            "kind": "web",
            "sessions_per_s": web.sessions_per_s,
            "pages": web.pages,
            "think_s": web.think.as_secs(),
            "objects": web.objects,
            "size": law(web.size),
        }),
        Traffic::OnOff { rate, on, off } => json!({
            "kind": "onoff",
            "rate_bps": rate.as_bps(),
            "on_s": on.as_secs(),
            "off_s": off.as_secs(),
        }),
        Traffic::Limited { rate, from, until } => json!({
            "kind": "limited",
            "rate_bps": rate.map_or(0, Rate::as_bps),
            "from_s": from.as_secs(),
            "until_s": (*until < LONGEST_RUN).then_some(until.as_secs()),
        }),
        Traffic::Cbr { rate, until } => json!({
            "kind": "cbr",
            "rate_bps": rate.as_bps(),
            "until_s": (*until < LONGEST_RUN).then_some(until.as_secs()),
        }),
        Traffic::Vectors { file, vectors } => json!({
            "kind": "vectors",
            "file": file,
            "connections": vectors.0.len(),
            "digest": format!("{:016x}", vectors.digest()),
        }),
        Traffic::Answers { to, flow } => json!({ "kind": "answers", "to": to, "flow": flow }),
    }
}

fn law(law: SizeLaw) -> Value {
    match law {
        SizeLaw::Fixed(size) => json!({ "law": "fixed", "bytes": size.0 }),
        SizeLaw::Exponential(mean) => json!({ "law": "exponential", "mean_bytes": mean.0 }),
        SizeLaw::Pareto(mean, shape) => json!({ "law": "pareto", "mean_bytes": mean.0, "shape": shape }),
    }
}

/// The values of a controller or a queue, in the types that TOML would have them in.
/// The values of a controller.
fn controller_parameters(controller: &ControllerChoice) -> Value {
    let Some(own) = &controller.own else { return parameters(&controller.settings) };
    let value = |value: &OwnValue| match value {
        OwnValue::Number(number) => json!(number),
        OwnValue::Whole(number) => json!(number),
        OwnValue::Switch(switch) => json!(switch),
        OwnValue::Text(text) => json!(text),
    };
    Value::Object(own.values.iter().map(|(name, given)| (name.clone(), value(given))).collect())
}

fn parameters(settings: &Settings) -> Value {
    let typed = |(parameter, value): (&fairhaul_units::Parameter, &ParameterValue)| {
        let value = match (parameter.kind, value) {
            (_, ParameterValue::Formula(formula)) => json!(formula.text()),
            (Kind::Whole { .. }, &ParameterValue::Number(value)) => json!(value as u64),
            (Kind::Switch, &ParameterValue::Number(value)) => json!(value != 0.0),
            (Kind::Word(words), &ParameterValue::Number(value)) => json!(words[value as usize]),
            (Kind::Number { .. } | Kind::Formula { .. }, &ParameterValue::Number(value)) => json!(value),
        };
        (parameter.name.to_owned(), value)
    };
    Value::Object(settings.pairs().map(typed).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    const TEXT: &str = r#"
        duration = "10 s"
        [bottleneck]
        rate = "100 Mbit/s"
        delay = "10 ms"
        queue = { kind = "droptail", capacity = "64 kB" }
        loss = { at = ["1 s", "2.5 s"], flows = ["b"] }
        [[flow]]
        name = "a"
        rtt = "40.000000000003 ms"
        controller = "reno"
        traffic = "1 MB"
        [[flow]]
        name = "b"
        count = 2
        packet = "1500 B"
        controller = "reno"
        recovery = "newreno"
        delayed_ack = true
        overhead = "0 s"
        traffic = { kind = "short", rate = "20 /s", size = { law = "pareto", mean = "12 kB" } }
    "#;

    #[test]
    fn a_description_contains_everything_that_an_engine_uses() {
        let study = read(TEXT, "pair.toml", &[]).unwrap();
        let value: Value = serde_json::from_str(&describe(&study.base)).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn marks_and_ecn_capable_flows_are_described() {
        let text = TEXT.replace("\"64 kB\"", "\"64 kB\", mark = \"20 packets\"");
        let text = text.replace("traffic = \"1 MB\"", "ecn = true");
        let value: Value =
            serde_json::from_str(&describe(&read(&text, "pair.toml", &[]).unwrap().base)).unwrap();
        assert_eq!(value["links"][1]["mark_packets"], 20);
        assert_eq!((&value["flows"][0]["ecn"], value["flows"][1].get("ecn")), (&json!(true), None));
    }

    /// 100 Mbit/s and packets of 1500 B: 8333.3 a second, of which 5 ms hold 41.67.
    #[test]
    fn automatic_queue_parameters_are_described_with_their_values() {
        let text = TEXT
            .replace("\"droptail\"", "\"red\"")
            .replace("64 kB\"", "64 kB\", max_p = 0.2, gentle = false");
        let value: Value =
            serde_json::from_str(&describe(&read(&text, "pair.toml", &[]).unwrap().base)).unwrap();
        let queue = &value["links"][0]["queue"];
        assert_eq!(
            (&queue["kind"], &queue["max_p"], &queue["gentle"]),
            (&json!("red"), &json!(0.2), &json!(false))
        );
        assert_eq!((&queue["mean_packet"], &queue["threshold_unit"]), (&json!(1500.0), &json!("packets")));
        let [min, max] = ["min_threshold", "max_threshold"].map(|key| queue[key].as_f64().unwrap());
        assert!((min - 20.8333).abs() < 1e-3 && (max - 62.5).abs() < 1e-3, "{min} {max}");
        assert_eq!(queue.as_object().unwrap().len(), 19, "its kind and all 18 parameters");
        // Without parameters there is nothing to tell, and its capacity stands beside it.
        let value: Value =
            serde_json::from_str(&describe(&read(TEXT, "pair.toml", &[]).unwrap().base)).unwrap();
        assert!(value["links"][0].get("queue").is_none());
    }

    #[test]
    fn a_clock_is_described_where_it_is_not_the_senders() {
        let clock = "clock_offset = \"2 s\"\n        clock_drift = -50\n        clock_stamp = \"1 ms\"";
        let text = TEXT.replace("traffic = \"1 MB\"", clock);
        let value: Value =
            serde_json::from_str(&describe(&read(&text, "x.toml", &[]).unwrap().base)).unwrap();
        let wanted = json!({ "offset_s": 2.0, "drift_ppm": -50.0, "stamp_s": 0.001 });
        assert_eq!(value["flows"][0]["clock"], wanted);
        assert!(value["flows"][1].get("clock").is_none());
    }

    #[test]
    fn seconds_give_their_picoseconds_back() {
        for ps in [1, 40_000_000_003, 3_599_999_999_999_999, 123_456_789_012_345] {
            let text = json!(Span::from_ps(ps).as_secs()).to_string();
            let back: f64 = text.parse().unwrap();
            assert_eq!(Span::from_secs(back), Span::from_ps(ps));
        }
    }
}
