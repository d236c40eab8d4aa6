//! Invariants of every record: counts that cannot exceed others, levels within their bounds, and round trips no
//! shorter than the path. The Python side checks the rates that it computes.

use fairhaul_experiment::{FlowRow, Hop, LinkRow, Record, Scenario, Traffic};
use fairhaul_path::LinkSpec;
use fairhaul_path::impair::LossRule;
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Span, Time, Value};

use crate::violation::{Invariant, Violation};

/// Sums of times are rounded.
const ROUNDING: f64 = 1e-9;
/// The time after the last change of a path in which every timer expires, however often it was doubled.
const PATIENCE: Span = Span::from_s(20_000);

/// The first invariant that the record violates.
pub fn broken(scenario: &Scenario, record: &Record) -> Result<(), Violation> {
    flows(scenario, record)?;
    links(scenario, record)?;
    transfers(scenario, record)?;
    completion(scenario, record)
}

fn wanted(invariant: Invariant, holds: bool, text: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { invariant, text: text() }) }
}

/// Sent packets were received, were lost or are in flight, at the end of every bin.
fn flows(scenario: &Scenario, record: &Record) -> Result<(), Violation> {
    let duplicates = scenario.links.iter().any(|link| link.impair.duplicate > 0.0);
    for (flow, rows) in scenario.flows.iter().zip(&record.flows) {
        let name = &flow.name;
        let shortest = shortest(scenario, flow.forward.iter().chain(&flow.reverse)).as_secs();
        let there = self::shortest(scenario, flow.forward.iter()).as_secs();
        let payload = flow.payload().0 as f64;
        let mut sum = FlowRow::default();
        for (bin, row) in rows.iter().enumerate() {
            add(&mut sum, row);
            let level = |value: f64| value.is_finite() && value >= 0.0;
            wanted(Invariant::Bounds, level(row.cwnd_packets), || {
                format!("the congestion window of {name} is {} in bin {bin}", row.cwnd_packets)
            })?;
            wanted(Invariant::Bounds, row.ssthresh_packets.is_nan() || row.ssthresh_packets >= 0.0, || {
                format!("the slow-start threshold of {name} is {} in bin {bin}", row.ssthresh_packets)
            })?;
            wanted(Invariant::Rtt, row.rtt_samples == 0 || row.rtt_s >= shortest * (1.0 - ROUNDING), || {
                format!(
                    "a round-trip time of {name} is {} s in bin {bin}; the propagation delay of its path is \
                     {shortest} s",
                    row.rtt_s
                )
            })?;
            let stamped = flow.clock.stamp.is_zero() && flow.clock.drift_ppb == 0;
            wanted(
                Invariant::Rtt,
                row.one_way_s.is_nan() || !stamped || row.one_way_s >= there - ROUNDING,
                || {
                    format!(
                        "a one-way delay of {name} is {} s in bin {bin}; the propagation delay of the path \
                         is {there} s",
                        row.one_way_s
                    )
                },
            )?;
            wanted(Invariant::Conservation, duplicates || sum.lost <= sum.sent, || {
                format!("{name} lost {} of {} packets sent by the end of bin {bin}", sum.lost, sum.sent)
            })?;
            wanted(
                Invariant::Conservation,
                sum.retransmitted <= sum.sent && sum.goodput_bytes <= sum.delivered_bytes,
                || format!("{name} by the end of bin {bin}: {sum:?}"),
            )?;
        }
        let arrived = sum.delivered_bytes as f64;
        wanted(
            Invariant::Conservation,
            duplicates || arrived <= sum.sent.saturating_sub(sum.lost) as f64 * payload,
            || {
                format!(
                    "{arrived} B of {name} arrived, but it sent {} packets and lost {} of them",
                    sum.sent, sum.lost
                )
            },
        )?;
    }
    Ok(())
}

fn add(sum: &mut FlowRow, row: &FlowRow) {
    sum.sent += row.sent;
    sum.lost += row.lost;
    sum.retransmitted += row.retransmitted;
    sum.delivered_bytes += row.delivered_bytes;
    sum.goodput_bytes += row.goodput_bytes;
}

/// The smallest propagation delay of hops over their schedules.
fn shortest<'a>(scenario: &Scenario, hops: impl Iterator<Item = &'a Hop>) -> Span {
    let hop = |hop: &Hop| match hop {
        Hop::Access { delay, .. } => *delay,
        Hop::Link(link) => {
            let link = &scenario.links[*link as usize];
            let changed = link.schedule.delays.iter().map(|change| change.1).min();
            changed.map_or(link.delay, |least| least.min(link.delay))
        }
    };
    hops.map(hop).fold(Span::ZERO, |sum, delay| sum + delay)
}

/// Packets that arrived at a link have left it, were dropped or are inside, at the end of every bin.
fn links(scenario: &Scenario, record: &Record) -> Result<(), Violation> {
    for (link, rows) in scenario.links.iter().zip(&record.links) {
        let name = &link.name;
        let mut sum = LinkRow::default();
        for (bin, row) in rows.iter().enumerate() {
            let length = record.grid.start(bin + 1).since(record.grid.start(bin)).as_secs();
            sum.arrived += row.arrived;
            sum.dropped += row.dropped;
            sum.marked += row.marked;
            sum.sent_bytes += row.sent_bytes;
            wanted(
                Invariant::Bounds,
                (0.0..=length * (1.0 + ROUNDING) + 1e-12).contains(&row.busy_s),
                || format!("{name} was busy for {} s of the {length} s of bin {bin}", row.busy_s),
            )?;
            let levels = [row.backlog_packets, row.backlog_bytes];
            wanted(
                Invariant::Bounds,
                levels.iter().all(|level| level.is_finite() && *level >= -ROUNDING),
                || format!("the backlog of {name} is {levels:?} in bin {bin}"),
            )?;
            if let Capacity::Packets(most) = link.capacity {
                // The packet in transmission is not in the queue.
                wanted(Invariant::Bounds, row.backlog_packets <= (most as f64 + 1.0) * (1.0 + 1e-6), || {
                    format!("{name} held {} packets in bin {bin}; its limit is {most}", row.backlog_packets)
                })?;
            }
            let counted = sum.dropped <= sum.arrived && sum.marked <= sum.arrived;
            wanted(Invariant::Conservation, counted, || format!("{name} by the end of bin {bin}: {sum:?}"))?;
            let offered = link.offers(Time::ZERO, record.grid.start(bin + 1));
            let fits = sum.sent_bytes <= offered * (1.0 + ROUNDING) + 1.0;
            wanted(Invariant::Bounds, fits, || {
                format!(
                    "{name} sent {} B by the end of bin {bin}, but could send only {offered} B",
                    sum.sent_bytes
                )
            })?;
        }
    }
    Ok(())
}

/// The goodput of a flow is the payload of its transfers.
fn transfers(scenario: &Scenario, record: &Record) -> Result<(), Violation> {
    let mut carried = vec![0u64; scenario.flows.len()];
    let end = record.grid.end.as_secs();
    for row in &record.transfers {
        carried[row.flow as usize] += row.bytes;
        let ordered = row.end_s.is_nan() || (row.start_s <= row.end_s && row.end_s <= end * (1.0 + ROUNDING));
        wanted(Invariant::Bounds, ordered, || {
            format!("a transfer lasts from {} s to {} s", row.start_s, row.end_s)
        })?;
    }
    for ((flow, rows), carried) in scenario.flows.iter().zip(&record.flows).zip(carried) {
        let goodput: u64 = rows.iter().map(|row| row.goodput_bytes).sum();
        wanted(Invariant::Conservation, goodput == carried, || {
            format!("{} has a goodput of {goodput} B, but its transfers carried {carried} B", flow.name)
        })?;
    }
    Ok(())
}

/// Transfers of a fixed size complete if the path is intact for long enough.
fn completion(scenario: &Scenario, record: &Record) -> Result<(), Violation> {
    let Some(sound) = sound_from(scenario) else { return Ok(()) };
    let work = scenario.flows.iter().map(|flow| match flow.traffic {
        Traffic::Sized(size) => size.0 as f64 / flow.payload().0 as f64 + 10.0,
        _ => f64::INFINITY,
    });
    let packets: f64 = work.sum();
    let largest = scenario.flows.iter().map(|flow| flow.packet.0).max().unwrap_or(0) as f64;
    let slowest = scenario.links.iter().map(last_rate).fold(f64::INFINITY, f64::min);
    let longest = scenario.flows.iter().map(|flow| flow.rtt.as_secs()).fold(0.0, f64::max);
    // One packet per round trip, some of them lost, and all transfers one after the other.
    let enough = packets * (20.0 * largest * 8.0 / slowest + 10.0 * longest + 5.0);
    let left = record.grid.end.since(sound).as_secs() - PATIENCE.as_secs();
    if enough.is_nan() || left < enough {
        return Ok(());
    }
    let open = record.transfers.iter().find(|row| row.end_s.is_nan());
    wanted(Invariant::Completion, open.is_none(), || {
        let row = open.expect("one is open");
        let name = &scenario.flows[row.flow as usize].name;
        format!(
            "{name} has delivered only {} B of its transfer {left:.0} s after its path recovered",
            row.bytes
        )
    })
}

fn last_rate(link: &LinkSpec) -> f64 {
    let last = link.schedule.rates.as_ref().and_then(|rates| rates.steps().last()).map(|step| step.1 as f64);
    last.unwrap_or(link.rate.as_bps() as f64)
}

/// The time from which every link is good enough for any sender; `None` if some never are, or if that is unknown.
fn sound_from(scenario: &Scenario) -> Option<Time> {
    let known = ["droptail", "codel", "fq_codel", "pie"];
    let kept = |rule: &LossRule| matches!(rule, LossRule::Probability(p) | LossRule::Spaced(p) if *p <= 0.01);
    let mut from = Time::ZERO;
    for link in &scenario.links {
        let queue = &link.queue;
        let plain = known.contains(&queue.entry.name)
            && queue.settings.pairs().all(|(parameter, value)| *value == Value::default_of(parameter));
        let roomy = match link.capacity {
            Capacity::Packets(packets) => packets >= 10,
            Capacity::Unlimited => true,
            Capacity::Bytes(_) => false,
        };
        let rates = link.schedule.rates.as_ref();
        let repeats = rates.is_some_and(|rates| rates.lap().is_some());
        let lossy = link.schedule.losses.last().map(|change| &change.1).or(link.loss.as_ref());
        let impaired = link.impair.policer.is_some() || link.shaper.is_some() || link.impair.duplicate > 0.0;
        if !plain || !roomy || repeats || impaired || last_rate(link) == 0.0 || !lossy.is_none_or(kept) {
            return None;
        }
        let changes = rates.and_then(|rates| rates.steps().last()).map(|step| Time::ZERO + step.0);
        let others = link.schedule.delays.last().map(|change| change.0);
        let losses = link.schedule.losses.last().map(|change| change.0);
        from = [changes, others, losses].into_iter().flatten().fold(from, Time::max);
    }
    let finite = scenario.flows.iter().all(|flow| {
        matches!(flow.traffic, Traffic::Sized(_))
            && flow.max_pacing_rate.is_none()
            && flow.controller.entry.header.0 == 0
    });
    finite.then_some(from)
}
