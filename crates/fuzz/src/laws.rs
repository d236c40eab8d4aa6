//! What holds of every record: counts that cannot exceed others, levels within their bounds, and
//! round trips no shorter than the path. Rates of a window, which the Python side computes, are judged there.

use fairhaul_experiment::{FlowRow, Hop, LinkRow, Record, Scenario, Traffic};
use fairhaul_path::LinkSpec;
use fairhaul_path::impair::LossRule;
use fairhaul_path::queue::Capacity;
use fairhaul_units::{Span, Time};

use crate::check::{Complaint, Kind};

/// Sums of times are rounded.
const ROUNDING: f64 = 1e-9;
/// After the last change a path is left so long that any timer, however often it was doubled, has run out.
const PATIENCE: Span = Span::from_s(20_000);

/// The first law that the record breaks.
pub fn broken(scenario: &Scenario, record: &Record) -> Result<(), Complaint> {
    flows(scenario, record)?;
    links(scenario, record)?;
    transfers(scenario, record)?;
    completion(scenario, record)
}

fn wanted(kind: Kind, holds: bool, text: impl FnOnce() -> String) -> Result<(), Complaint> {
    if holds { Ok(()) } else { Err(Complaint { kind, text: text() }) }
}

/// What was sent is received, lost or on its way, at the end of every bin.
fn flows(scenario: &Scenario, record: &Record) -> Result<(), Complaint> {
    let duplicates = scenario.links.iter().any(|link| link.impair.duplicate > 0.0);
    for (flow, rows) in scenario.flows.iter().zip(&record.flows) {
        let name = &flow.name;
        let shortest = shortest(scenario, flow.forward.iter().chain(&flow.reverse)).as_secs();
        let there = self::shortest(scenario, flow.forward.iter()).as_secs();
        let payload = (flow.packet.0 - flow.headers().0) as f64;
        let mut sum = FlowRow::default();
        for (bin, row) in rows.iter().enumerate() {
            add(&mut sum, row);
            let level = |value: f64| value.is_finite() && value >= 0.0;
            wanted(Kind::Bounds, level(row.cwnd_packets), || {
                format!("the congestion window of {name} is {} in bin {bin}", row.cwnd_packets)
            })?;
            wanted(Kind::Bounds, row.ssthresh_packets.is_nan() || row.ssthresh_packets >= 0.0, || {
                format!("the slow-start threshold of {name} is {} in bin {bin}", row.ssthresh_packets)
            })?;
            wanted(Kind::Rtt, row.rtt_samples == 0 || row.rtt_s >= shortest * (1.0 - ROUNDING), || {
                format!(
                    "a round-trip time of {name} is {} s in bin {bin}; the propagation delay of its path is \
                     {shortest} s",
                    row.rtt_s
                )
            })?;
            let stamped = flow.clock.stamp.is_zero() && flow.clock.drift_ppb == 0;
            wanted(
                Kind::Rtt,
                row.one_way_s.is_nan() || !stamped || row.one_way_s >= there - ROUNDING,
                || {
                    format!(
                        "a one-way delay of {name} is {} s in bin {bin}; the propagation delay of the path \
                         is {there} s",
                        row.one_way_s
                    )
                },
            )?;
            wanted(Kind::Conservation, duplicates || sum.lost <= sum.sent, || {
                format!("{name} lost {} of {} packets sent by the end of bin {bin}", sum.lost, sum.sent)
            })?;
            wanted(
                Kind::Conservation,
                sum.retransmitted <= sum.sent && sum.goodput_bytes <= sum.delivered_bytes,
                || format!("{name} by the end of bin {bin}: {sum:?}"),
            )?;
        }
        let arrived = sum.delivered_bytes as f64;
        wanted(
            Kind::Conservation,
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

/// The propagation of hops, when their schedule is kindest.
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

/// What came to a link has left it, was dropped or is inside, at the end of every bin.
fn links(scenario: &Scenario, record: &Record) -> Result<(), Complaint> {
    for (link, rows) in scenario.links.iter().zip(&record.links) {
        let name = &link.name;
        let mut sum = LinkRow::default();
        for (bin, row) in rows.iter().enumerate() {
            let length = record.grid.start(bin + 1).since(record.grid.start(bin)).as_secs();
            sum.arrived += row.arrived;
            sum.dropped += row.dropped;
            sum.marked += row.marked;
            sum.sent_bytes += row.sent_bytes;
            wanted(Kind::Bounds, (0.0..=length * (1.0 + ROUNDING) + 1e-12).contains(&row.busy_s), || {
                format!("{name} was busy for {} s of the {length} s of bin {bin}", row.busy_s)
            })?;
            let levels = [row.backlog_packets, row.backlog_bytes];
            wanted(
                Kind::Bounds,
                levels.iter().all(|level| level.is_finite() && *level >= -ROUNDING),
                || format!("the backlog of {name} is {levels:?} in bin {bin}"),
            )?;
            if let Capacity::Packets(most) = link.capacity {
                // What is being sent is beside the queue.
                wanted(Kind::Bounds, row.backlog_packets <= (most as f64 + 1.0) * (1.0 + 1e-6), || {
                    format!("{name} held {} packets in bin {bin}; its limit is {most}", row.backlog_packets)
                })?;
            }
            let counted = sum.dropped <= sum.arrived && sum.marked <= sum.arrived;
            wanted(Kind::Conservation, counted, || format!("{name} by the end of bin {bin}: {sum:?}"))?;
            let offered = link.offers(Time::ZERO, record.grid.start(bin + 1));
            let fits = sum.sent_bytes <= offered * (1.0 + ROUNDING) + 1.0;
            wanted(Kind::Bounds, fits, || {
                format!(
                    "{name} sent {} B by the end of bin {bin}, but could send only {offered} B",
                    sum.sent_bytes
                )
            })?;
        }
    }
    Ok(())
}

/// What arrived in order is what the transfers carried.
fn transfers(scenario: &Scenario, record: &Record) -> Result<(), Complaint> {
    let mut carried = vec![0u64; scenario.flows.len()];
    let end = record.grid.end.as_secs();
    for row in &record.transfers {
        carried[row.flow as usize] += row.bytes;
        let ordered = row.end_s.is_nan() || (row.start_s <= row.end_s && row.end_s <= end * (1.0 + ROUNDING));
        wanted(Kind::Bounds, ordered, || {
            format!("a transfer lasts from {} s to {} s", row.start_s, row.end_s)
        })?;
    }
    for ((flow, rows), carried) in scenario.flows.iter().zip(&record.flows).zip(carried) {
        let goodput: u64 = rows.iter().map(|row| row.goodput_bytes).sum();
        wanted(Kind::Conservation, goodput == carried, || {
            format!("{} has a goodput of {goodput} B, but its transfers carried {carried} B", flow.name)
        })?;
    }
    Ok(())
}

/// Transfers of some size end, where the path is sound for long enough.
fn completion(scenario: &Scenario, record: &Record) -> Result<(), Complaint> {
    let Some(sound) = sound_from(scenario) else { return Ok(()) };
    let work = scenario.flows.iter().map(|flow| match flow.traffic {
        Traffic::Sized(size) => size.0 as f64 / (flow.packet.0 - flow.headers().0) as f64 + 10.0,
        _ => f64::INFINITY,
    });
    let packets: f64 = work.sum();
    let largest = scenario.flows.iter().map(|flow| flow.packet.0).max().unwrap_or(0) as f64;
    let slowest = scenario.links.iter().map(last_rate).fold(f64::INFINITY, f64::min);
    let longest = scenario.flows.iter().map(|flow| flow.rtt.as_secs()).fold(0.0, f64::max);
    // A packet a round trip, each lost once in a while, and all by one another.
    let enough = packets * (20.0 * largest * 8.0 / slowest + 10.0 * longest + 5.0);
    let left = record.grid.end.since(sound).as_secs() - PATIENCE.as_secs();
    if enough.is_nan() || left < enough {
        return Ok(());
    }
    let open = record.transfers.iter().find(|row| row.end_s.is_nan());
    wanted(Kind::Completion, open.is_none(), || {
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

/// From when on every link carries what a sender of any kind can live with; `None`: some never do, or none can say.
fn sound_from(scenario: &Scenario) -> Option<Time> {
    let known = ["droptail", "codel", "fq_codel", "pie"];
    let kept = |rule: &LossRule| matches!(rule, LossRule::Probability(p) if *p <= 0.01);
    let mut from = Time::ZERO;
    for link in &scenario.links {
        let queue = &link.queue;
        let plain = known.contains(&queue.entry.name)
            && queue.settings.pairs().all(|(parameter, value)| value == parameter.default);
        let roomy = match link.capacity {
            Capacity::Packets(packets) => packets >= 10,
            Capacity::Unlimited => true,
            Capacity::Bytes(_) => false,
        };
        let rates = link.schedule.rates.as_ref();
        let repeats = rates.is_some_and(|rates| rates.lap().is_some());
        let lossy = link.schedule.losses.last().map(|change| &change.1).or(link.loss.as_ref());
        let impaired = link.impair.policer.is_some() || link.impair.duplicate > 0.0;
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
