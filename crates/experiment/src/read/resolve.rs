//! Resolves checked values to a [`Scenario`], and finds the mistakes that no single value shows.

use std::collections::BTreeSet;

use fairhaul_path::impair::{Impairments, LossRule};
use fairhaul_path::queue::{Capacity, Site};
use fairhaul_path::{LinkSpec, Schedule};
use fairhaul_units::{Bytes, Rate, SENDER, Span, Time};

use super::capacity_trace::Traces;
use super::exchange::pair;
use super::expectations::expectations;
use super::fields::{Direction, FlowKeys, ScenarioKeys};
use super::flow_spec::FlowSpec;
use super::host_settings;
use super::impairments::impairments;
use super::labels;
use super::link_graph::{DuplexLink, LinkDirection, LinkGraph};
use super::link_schedule::losses;
use super::loss_rules::loss_rule;
use super::mistake::Notes;
use super::quantities::CapacitySpec;
use super::queue_choice::queue;
use super::reader::{Key, Keyed};
use crate::{Scenario, Traffic};

/// Flows of one scenario, and transfers of one run.
pub(super) const MOST_FLOWS: u64 = 1_000_000;
const MOST_TRANSFERS: f64 = 1e7;

/// The scenario of `root`; `None` where anything was wrong, which has been noted.
pub(super) fn resolve(
    root: &ScenarioKeys,
    stem: &str,
    traces: &Traces,
    notes: &mut Notes,
) -> Option<Scenario> {
    let (duration, warmup) = (root.duration.value, root.warmup.value);
    if let Some(duration) = duration.filter(|duration| warmup >= *duration) {
        root.warmup.key.note(format!("{warmup} must be shorter than the run of {duration}"), notes);
    }
    let expectations = expectations(root, notes);
    let net = LinkGraph::read(root, traces, notes);
    let tables = root.flow.value.as_deref().unwrap_or_default();
    flows_fit(tables, root.flow.key, notes)?;
    short_title(root, notes);
    let packet = root.packet.value;
    let flow_specs: Vec<FlowSpec> = tables
        .iter()
        .filter_map(|keys| FlowSpec::read(keys, packet, duration, (&net, traces), notes))
        .collect();
    affordable(&flow_specs, duration, root.flow.key, notes);
    let largest = tables.iter().map(|keys| keys.packet.value.unwrap_or(packet)).max().unwrap_or(packet);
    routers_fit(&net, root.link.key, notes);
    routers_answer(&flow_specs, &net, notes);
    packets_pass(&flow_specs, &net, notes);
    let links = links(
        &net,
        &Flows { tables, flow_specs: &flow_specs, largest, end: duration.unwrap_or_default() },
        notes,
    );
    // Where a flow could not be read, the rest is no scenario; why has been noted.
    let bases = flow_specs.iter().scan(0, |next, spec| {
        let base = *next;
        *next += spec.keys.width();
        Some(base)
    });
    let flows: Option<Vec<_>> =
        flow_specs.iter().zip(bases).map(|(spec, base)| spec.flows(base, &net)).collect();
    let mut flows = flows.filter(|_| flow_specs.len() == tables.len())?;
    pair(tables, &mut flows, notes);
    host_settings::check_senders(tables, notes);
    let mut flows: Vec<_> = flows.into_iter().flatten().collect();
    host_settings::number_senders(&mut flows);
    let mut links = links?;
    labels::check(tables, &links, notes);
    labels::label(&mut links, &flows);
    Some(Scenario {
        title: root.title.value.clone().unwrap_or_else(|| stem.to_owned()),
        source: root.source.value.clone(),
        seed: root.seed.value,
        duration: duration?,
        warmup,
        grain: root.grain.value,
        links,
        flows,
        expectations,
    })
}

/// The longest title, characters.
const LONGEST_TITLE: usize = 300;

/// What links must know of the flows.
struct Flows<'a> {
    tables: &'a [FlowKeys],
    /// The flows that could be read.
    flow_specs: &'a [FlowSpec<'a>],
    /// The largest packet.
    largest: Bytes,
    /// When the run ends.
    end: Span,
}

/// A title fits a line or two of every output.
fn short_title(root: &ScenarioKeys, notes: &mut Notes) {
    let length = root.title.value.as_ref().map_or(0, |title| title.chars().count());
    if length > LONGEST_TITLE {
        let text = format!("the title has {length} characters; at most {LONGEST_TITLE}");
        notes.note(root.title.key.origin, text);
    }
}

/// There are flows, not too many, and no two of one name.
fn flows_fit(tables: &[FlowKeys], key: Key, notes: &mut Notes) -> Option<()> {
    if tables.is_empty() && key.given {
        notes.note(key.origin, "a scenario needs at least one [[flow]]");
    }
    let mut names = BTreeSet::new();
    for name in tables.iter().map(|keys| &keys.name) {
        if let Some(twice) = name.value.as_deref().filter(|name| !names.insert(*name)) {
            name.key.note(format!("duplicate flow name \"{twice}\""), notes);
        }
    }
    let count: u64 = tables.iter().map(FlowKeys::width).sum();
    if count > MOST_FLOWS {
        notes.note(key.origin, format!("{count} flows are too many; at most {MOST_FLOWS}"));
        return None;
    }
    Some(())
}

/// The transfers of a run have a bound.
fn affordable(flow_specs: &[FlowSpec], duration: Option<Span>, key: Key, notes: &mut Notes) {
    let transfers: f64 = flow_specs.iter().map(|spec| spec.transfers(duration.unwrap_or_default())).sum();
    if transfers > MOST_TRANSFERS {
        let text =
            format!("about {transfers:.0} transfers in a run are too many; at most {MOST_TRANSFERS:.0}");
        notes.note(key.origin, text);
    }
}

/// The number of XCP routers that a header can distinguish; each link has two.
const MOST_ROUTERS: usize = SENDER.get() as usize - 1;

/// There are not more XCP routers than a header can distinguish.
fn routers_fit(net: &LinkGraph, key: Key, notes: &mut Notes) {
    let routers =
        net.duplex_links.iter().flat_map(|link| &link.directions).filter(|one| answers(one)).count();
    if routers > MOST_ROUTERS {
        let text = format!(
            "{} links with the queue \"xcp\" are too many; at most {}",
            routers.div_ceil(2),
            MOST_ROUTERS / 2
        );
        notes.note(key.origin, text);
    }
}

/// Whether the queue of a link answers senders.
fn answers(one: &LinkDirection) -> bool {
    one.queue.choice.entry.answers
}

/// A flow that asks routers for its rate has a router on the path of its data. One is enough: the links between routers
/// are estimated by the routers ("virtual"), or show themselves by loss.
fn routers_answer(flow_specs: &[FlowSpec], net: &LinkGraph, notes: &mut Notes) {
    for spec in flow_specs.iter().filter(|spec| spec.asks_routers()) {
        if spec.route.directions(net).any(|(_, one)| answers(one)) {
            continue;
        }
        let names: Vec<String> =
            spec.route.directions(net).map(|(link, _)| format!("\"{}\"", link.name)).collect();
        let text = format!(
            "\"xcp\" needs routers that assign its rate, and no link on the path of its data ({}) \
             has such a queue; set queue.kind = \"xcp\" or \"xcp_tcp\" for one of them, or choose \
             another controller",
            names.join(", ")
        );
        spec.keys.controller.key.note(text, notes);
    }
}

/// The packets of a sender that discovers nothing pass all links of its path.
fn packets_pass(flow_specs: &[FlowSpec], net: &LinkGraph, notes: &mut Notes) {
    for spec in flow_specs.iter().filter(|spec| spec.has_one_size()) {
        for (_, mtu) in spec.route.directions(net).flat_map(|(link, _)| link.keys.mtus()) {
            if mtu.value < spec.packet {
                let text = format!(
                    "the packets of \"{}\" have {} and do not pass; its sender does not discover the MTU of its path, as a \
                     \"stack\" may: set its \"packet\"",
                    spec.name, spec.packet
                );
                mtu.key.note(text, notes);
            }
        }
    }
}

/// Both directions of every link, with capacities in packets and rules of loss.
fn links(net: &LinkGraph, flows: &Flows, notes: &mut Notes) -> Option<Vec<LinkSpec>> {
    let mut links = Vec::new();
    for (index, duplex_link) in net.duplex_links.iter().enumerate() {
        let keys = duplex_link.keys;
        let rules = [Direction::Forward, Direction::Reverse]
            .map(|way| LinkImpairments::read(duplex_link, way, flows, notes));
        let [there, back] = &duplex_link.directions;
        let forward = direction(index, duplex_link, there, flows, notes);
        // What both have in common is wrong once.
        let same = !(keys.reverse_rate.key.given || keys.reverse_queue.key.given || keys.shaper.key.given);
        let reverse = if same { forward.clone() } else { direction(index, duplex_link, back, flows, notes) };
        let (Some(forward), Some(reverse)) = (forward, reverse) else { continue };
        let reverse = LinkSpec { name: format!("{} (reverse)", reverse.name), ..reverse };
        links.extend(rules.into_iter().zip([forward, reverse]).map(|(rules, spec)| rules.of(spec)));
    }
    (links.len() == 2 * net.duplex_links.len()).then_some(links)
}

/// What a direction of a link does to packets beside carrying and queueing them.
struct LinkImpairments {
    loss: Option<LossRule>,
    losses: Vec<(Time, LossRule)>,
    loses_acks: bool,
    impair: Impairments,
}

impl LinkImpairments {
    /// Of the direction of a link's table. Wrong values have been noted, and are omitted.
    fn read(
        duplex_link: &DuplexLink,
        direction: Direction,
        flows: &Flows,
        notes: &mut Notes,
    ) -> LinkImpairments {
        let keys = duplex_link.keys;
        let loss = match direction {
            Direction::Forward => &keys.loss,
            Direction::Reverse => &keys.reverse_loss,
        };
        let loss = loss_rule(loss, flows.tables, notes);
        let scheduled = losses(keys, direction, loss.as_ref(), flows.end, flows.tables, notes);
        let traced = || duplex_link.traced_losses.clone();
        LinkImpairments {
            losses: if direction == Direction::Forward && scheduled.is_empty() {
                traced()
            } else {
                scheduled
            },
            loss,
            loses_acks: direction == Direction::Reverse,
            impair: impairments(keys, direction, (flows.largest, flows.end), notes),
        }
    }

    /// The link with them.
    fn of(self, spec: LinkSpec) -> LinkSpec {
        let LinkImpairments { loss, losses, loses_acks, impair } = self;
        LinkSpec { loss, loses_acks, impair, schedule: Schedule { losses, ..spec.schedule }, ..spec }
    }
}

/// A direction of a link, without its losses and impairments.
fn direction(
    index: usize,
    duplex_link: &DuplexLink,
    one: &LinkDirection,
    flows: &Flows,
    notes: &mut Notes,
) -> Option<LinkSpec> {
    let capacity = limit(index, one.drain_rate(), one.capacity, flows, notes)?;
    let mark = one.mark.and_then(|mark| limit(index, one.drain_rate(), mark, flows, notes));
    if let (Some(of), Some(mark)) = (one.mark, mark) {
        below(mark, capacity, of.key, flows.largest, notes);
    }
    let mark = mark.unwrap_or(Capacity::Unlimited);
    let site = Site { rate: one.drain_rate(), delay: duplex_link.delay, capacity, mark };
    Some(LinkSpec {
        name: duplex_link.name.clone(),
        rate: one.rate,
        delay: duplex_link.delay,
        capacity,
        mark,
        queue: queue(one.queue, &site, flows.largest, notes)?,
        loss: None,
        loses_acks: false,
        shaper: one.shaper,
        impair: Impairments::default(),
        schedule: one.schedule.clone(),
    })
}

/// A limit of the queue before a wire, in packets or bytes.
fn limit(
    index: usize,
    rate: Rate,
    of: Keyed<CapacitySpec>,
    flows: &Flows,
    notes: &mut Notes,
) -> Option<Capacity> {
    let largest = flows.largest;
    let packets = match of.value {
        CapacitySpec::Unlimited => Ok(Capacity::Unlimited),
        CapacitySpec::Packets(packets) => Ok(Capacity::Packets(packets)),
        CapacitySpec::Bytes(bytes) if bytes < largest => {
            Err(format!("{bytes} is less than one packet of {largest}"))
        }
        CapacitySpec::Bytes(bytes) => Ok(Capacity::Bytes(bytes)),
        CapacitySpec::Time(time) => packets_in(time, rate, largest).map(Capacity::Packets),
        // A mean is only right when all of its flows could be read.
        CapacitySpec::Bdp(_) if flows.flow_specs.len() < flows.tables.len() => return None,
        CapacitySpec::Bdp(millionths) => {
            bdp(millionths, rate, &round_trips(index, flows.flow_specs), largest).map(Capacity::Packets)
        }
    };
    packets.map_err(|text| of.key.note(text, notes)).ok()
}

/// A queue marks before it drops; bytes are compared with the largest packets.
fn below(mark: Capacity, capacity: Capacity, key: Key, largest: Bytes, notes: &mut Notes) {
    let (what, bytes) = match mark {
        Capacity::Unlimited => {
            return key.note("an unlimited threshold marks no packet; remove the key", notes);
        }
        Capacity::Packets(packets) => (format!("{packets} packets"), in_bytes(packets, largest)),
        Capacity::Bytes(bytes) => (bytes.to_string(), bytes.0.into()),
    };
    let (whole, most) = match capacity {
        Capacity::Unlimited => return,
        Capacity::Packets(packets) => (format!("{packets} packets"), in_bytes(packets, largest)),
        Capacity::Bytes(size) => (size.to_string(), size.0.into()),
    };
    if bytes >= most {
        key.note(format!("{what} must be below the capacity, {whole}"), notes);
    }
}

fn in_bytes(packets: u64, largest: Bytes) -> u128 {
    u128::from(packets) * u128::from(largest.0)
}

/// The round trips of the bulk flows that cross a wire; where there are none, those of the
/// transfers of a fixed size stand in.
fn round_trips(duplex_link: usize, flow_specs: &[FlowSpec]) -> Vec<Span> {
    let of = |wanted: fn(&Traffic) -> bool| -> Vec<Span> {
        let crossing =
            flow_specs.iter().filter(|spec| spec.route.crosses(duplex_link) && wanted(spec.traffic()));
        crossing.flat_map(|spec| spec.rtts.iter().copied()).collect()
    };
    let bulk = of(|traffic| matches!(traffic, Traffic::Bulk | Traffic::Limited { .. }));
    if bulk.is_empty() { of(|traffic| matches!(traffic, Traffic::Sized(_))) } else { bulk }
}

/// Eight bits to the byte, 10^12 picoseconds to the second.
const BIT_PS: u128 = 8_000_000_000_000;

/// The packets that a link sends in `time`, rounded up.
fn packets_in(time: Span, rate: Rate, packet: Bytes) -> Result<u64, String> {
    let bit_ps = u128::from(rate.as_bps()) * u128::from(time.as_ps());
    let packets = bit_ps.div_ceil(BIT_PS * u128::from(packet.0));
    u64::try_from(packets).map_err(|_| format!("{time} at {rate} is too many packets"))
}

/// `millionths` of the rate times the mean of `rtts`, in packets, rounded up.
fn bdp(millionths: u64, rate: Rate, rtts: &[Span], packet: Bytes) -> Result<u64, String> {
    if rtts.is_empty() {
        return Err(
            "the bdp is that of the bulk flows that cross this link, and there are none; use a time \
                    or packets"
                .into(),
        );
    }
    let sum: u128 = rtts.iter().map(|rtt| u128::from(rtt.as_ps())).sum();
    let (times, parts) = if millionths.is_multiple_of(1_000_000) {
        (millionths / 1_000_000, 1)
    } else {
        (millionths, 1_000_000)
    };
    let product = u128::from(rate.as_bps()).checked_mul(sum).and_then(|p| p.checked_mul(times.into()));
    let packets = product.map(|p| p.div_ceil(BIT_PS * u128::from(packet.0) * parts * rtts.len() as u128));
    match packets.map(u64::try_from) {
        Some(Ok(0)) => Err("the flows have no propagation delay, so 1 bdp is less than one packet".into()),
        Some(Ok(packets)) => Ok(packets),
        _ => Err(format!("this multiple of the bdp at {rate} is too many packets")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gigabit() -> Rate {
        Rate::from_bps(1_000_000_000).unwrap()
    }

    #[test]
    fn twenty_ms_at_a_gigabit_are_2500_packets_and_a_bit_more_is_2501() {
        // 10^9 bit/s x 0.02 s = 2 x 10^7 bit = 2500 x 8000 bit.
        assert_eq!(packets_in(Span::from_ms(20), gigabit(), Bytes(1000)), Ok(2500));
        assert_eq!(packets_in(Span::from_ps(20_000_000_001), gigabit(), Bytes(1000)), Ok(2501));
        assert_eq!(packets_in(Span::from_ps(1), gigabit(), Bytes(1000)), Ok(1));
    }

    #[test]
    fn bdp_takes_the_mean_round_trip() {
        // (80 + 140 + 200) / 3 = 140 ms; 10^9 x 0.14 / 8000 = 17 500.
        let rtts = [80, 140, 200].map(Span::from_ms);
        assert_eq!(bdp(1_000_000, gigabit(), &rtts, Bytes(1000)), Ok(17_500));
        assert_eq!(bdp(10_000, gigabit(), &rtts, Bytes(1000)), Ok(175));
        // 17 500 x 1000 / 1500 = 11 666.7
        assert_eq!(bdp(1_000_000, gigabit(), &rtts, Bytes(1500)), Ok(11_667));
        assert!(bdp(1_000_000, gigabit(), &[], Bytes(1000)).is_err());
        assert!(bdp(1_000_000, gigabit(), &[Span::ZERO], Bytes(1000)).is_err());
    }
}
