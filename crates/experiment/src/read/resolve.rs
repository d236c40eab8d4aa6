//! From checked values to a [`Scenario`]: what no single value shows is found here.

use std::collections::BTreeSet;

use fairhaul_path::Schedule;
use fairhaul_path::impair::{Bursts, Impairments, LossRule};
use fairhaul_path::queue::{self, Capacity, Site};
use fairhaul_units::{Bytes, Rate, SENDER, Span, Time};

use super::flow::{Party, flow_names};
use super::impair::impairments;
use super::mistake::{Notes, Spot, clip, way_out};
use super::net::{Limit, Net, Wire};
use super::queue::queue;
use super::reader::{Got, Values};
use super::schedule::losses;
use super::trace::Traces;
use super::value::Asked;
use crate::{LinkSpec, Scenario, Traffic};

/// Flows of one scenario, and transfers of one run.
pub(super) const MOST_FLOWS: u64 = 1_000_000;
const MOST_TRANSFERS: f64 = 1e7;

/// The scenario of `root`; `None` where anything was wrong, which has been noted.
pub(super) fn resolve(root: &Values, stem: &str, traces: &Traces, notes: &mut Notes) -> Option<Scenario> {
    let duration = root.span("duration");
    let warmup = root.span("warmup");
    if let (Some(duration), Some(warmup)) = (duration, warmup)
        && warmup >= duration
    {
        notes.note(
            root.spot("warmup"),
            format!("warmup: {warmup} must be shorter than the run of {duration}"),
        );
    }
    let net = Net::read(root, traces, notes);
    let tables = root.tables("flow").unwrap_or_default();
    flows_fit(&tables, root.spot("flow"), root.given("flow"), notes)?;
    let packet = root.size("packet").unwrap_or(Bytes(1000));
    let parties: Vec<Party> =
        tables.iter().filter_map(|t| Party::read(t, packet, duration, &net, notes)).collect();
    affordable(&parties, duration, root.spot("flow"), notes);
    let largest = tables.iter().map(|table| table.size("packet").unwrap_or(packet)).max().unwrap_or(packet);
    routers_fit(&net, root.spot("link"), notes);
    routers_answer(&parties, &net, notes);
    let links = links(&net, &Flows { tables: &tables, parties: &parties, largest }, notes);
    // Where a flow could not be read, the rest is no scenario; why has been noted.
    let bases = parties.iter().scan(0, |next, party| {
        let base = *next;
        *next += party.width();
        Some(base)
    });
    let flows: Option<Vec<_>> =
        parties.iter().zip(bases).map(|(party, base)| party.flows(base, &net)).collect();
    let flows = flows.filter(|_| parties.len() == tables.len())?;
    Some(Scenario {
        title: root.text("title").unwrap_or_else(|| stem.to_owned()),
        source: root.text("source")?,
        seed: root.whole("seed")?,
        duration: duration?,
        warmup: warmup?,
        links: links?,
        flows: flows.into_iter().flatten().collect(),
    })
}

/// What links must know of the flows.
struct Flows<'a> {
    tables: &'a [Values],
    /// Those that could be read.
    parties: &'a [Party<'a>],
    /// The largest packet.
    largest: Bytes,
}

/// There are flows, not too many, and no two of one name.
fn flows_fit(tables: &[Values], spot: Spot, given: bool, notes: &mut Notes) -> Option<()> {
    if tables.is_empty() && given {
        notes.note(spot, "a scenario needs at least one [[flow]]");
    }
    let mut names = BTreeSet::new();
    for table in tables {
        if let Some(name) = table.text("name").filter(|name| !names.insert(name.clone())) {
            notes.note(table.spot("name"), format!("name: duplicate flow name \"{name}\""));
        }
    }
    let connections = |table: &Values| Some(table.whole("count")? * table.whole("connections").unwrap_or(1));
    let count: u64 = tables.iter().filter_map(connections).sum();
    if count > MOST_FLOWS {
        notes.note(spot, format!("{count} flows are too many; at most {MOST_FLOWS}"));
        return None;
    }
    Some(())
}

/// The transfers of a run have a bound.
fn affordable(parties: &[Party], duration: Option<Span>, spot: Spot, notes: &mut Notes) {
    let transfers: f64 = parties.iter().map(|party| party.transfers(duration.unwrap_or_default())).sum();
    if transfers > MOST_TRANSFERS {
        let text =
            format!("about {transfers:.0} transfers in a run are too many; at most {MOST_TRANSFERS:.0}");
        notes.note(spot, text);
    }
}

/// A header tells so many XCP routers apart, of which each link has two.
const MOST_ROUTERS: usize = SENDER.get() as usize - 1;

/// There are not more XCP routers than a header tells apart.
fn routers_fit(net: &Net, spot: Spot, notes: &mut Notes) {
    let answers = |name| queue::entry(name).is_some_and(|entry| entry.answers);
    let routers = 2 * net.wires.iter().filter(|wire| answers(wire.queue.shape.name)).count();
    if routers > MOST_ROUTERS {
        let text = format!(
            "{} links with the queue \"xcp\" are too many; at most {}",
            routers / 2,
            MOST_ROUTERS / 2
        );
        notes.note(spot, text);
    }
}

/// Who asks routers how fast to be has one on the way of its data. One is enough: what lies between routers is
/// theirs to guess ("virtual"), or is found out by loss.
fn routers_answer(parties: &[Party], net: &Net, notes: &mut Notes) {
    let answers = |wire: &Wire| queue::entry(wire.queue.shape.name).is_some_and(|entry| entry.answers);
    for party in parties.iter().filter(|party| party.asks_routers()) {
        let wires = || party.way.wires(net);
        if wires().any(answers) {
            continue;
        }
        let names: Vec<String> = wires().map(|wire| format!("\"{}\"", wire.name)).collect();
        let text = format!(
            "controller: \"xcp\" needs routers that assign its rate, and no link on the path of its data \
             has such a queue ({}); set queue.kind = \"xcp\" or \"xcp_tcp\" for one of them, or choose \
             another controller",
            names.join(", ")
        );
        party.note("controller", text, notes);
    }
}

/// Both directions of every link, with capacities in packets and rules of loss.
fn links(net: &Net, flows: &Flows, notes: &mut Notes) -> Option<Vec<LinkSpec>> {
    let mut links = Vec::new();
    for (index, wire) in net.wires.iter().enumerate() {
        let loss = wire.loss.as_ref().map(|got| rule(got, flows.tables, notes));
        let losses = losses(&wire.table, flows.tables, notes);
        let impair = impairments(&wire.table, flows.largest, notes);
        let Some(capacity) = limit(index, wire, &wire.capacity, flows, notes) else { continue };
        let mark = wire.mark.as_ref().and_then(|mark| limit(index, wire, mark, flows, notes));
        if let (Some(of), Some(mark)) = (&wire.mark, mark) {
            below(mark, capacity, of.spot, flows.largest, notes);
        }
        let mark = mark.unwrap_or(Capacity::Unlimited);
        let site = Site { rate: wire.rate, delay: wire.delay, capacity, mark };
        let Some(queue) = queue(&wire.queue, &site, flows.largest, notes) else { continue };
        let link = LinkSpec {
            name: wire.name.clone(),
            rate: wire.rate,
            delay: wire.delay,
            capacity,
            mark,
            queue,
            loss: None,
            impair: Impairments::default(),
            schedule: wire.schedule.clone(),
        };
        let reverse = LinkSpec { name: format!("{} (reverse)", link.name), ..link.clone() };
        let schedule = Schedule { losses, ..link.schedule.clone() };
        links.push(LinkSpec { loss: loss.flatten(), impair, schedule, ..link });
        links.push(reverse);
    }
    (links.len() == 2 * net.wires.len()).then_some(links)
}

/// A limit of the queue before a wire, in packets or bytes.
fn limit(index: usize, wire: &Wire, of: &Limit, flows: &Flows, notes: &mut Notes) -> Option<Capacity> {
    let largest = flows.largest;
    let found = match of.asked {
        Asked::Unlimited => Ok(Capacity::Unlimited),
        Asked::Packets(packets) => Ok(Capacity::Packets(packets)),
        Asked::Bytes(bytes) if bytes < largest => {
            Err(format!("{bytes} is less than one packet of {largest}"))
        }
        Asked::Bytes(bytes) => Ok(Capacity::Bytes(bytes)),
        Asked::Time(time) => packets_in(time, wire.rate, largest).map(Capacity::Packets),
        // A mean is only right when all of its flows could be read.
        Asked::Bdp(_) if flows.parties.len() < flows.tables.len() => return None,
        Asked::Bdp(millionths) => {
            bdp(millionths, wire.rate, &round_trips(index, flows.parties), largest).map(Capacity::Packets)
        }
    };
    found.map_err(|text| notes.note(of.spot, format!("{}: {text}", of.key))).ok()
}

/// A queue marks before it drops; bytes are held against the largest packets.
fn below(mark: Capacity, capacity: Capacity, spot: Spot, largest: Bytes, notes: &mut Notes) {
    let (what, bytes) = match mark {
        Capacity::Unlimited => {
            return notes.note(spot, "mark: an unlimited threshold marks no packet; remove the key");
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
        notes.note(spot, format!("mark: {what} must be below the capacity, {whole}"));
    }
}

fn in_bytes(packets: u64, largest: Bytes) -> u128 {
    u128::from(packets) * u128::from(largest.0)
}

/// The round trips of the bulk flows that cross a wire; where there are none, those of the
/// transfers of a fixed size stand in.
fn round_trips(wire: usize, parties: &[Party]) -> Vec<Span> {
    let of = |wanted: fn(&Traffic) -> bool| -> Vec<Span> {
        let crossing = parties.iter().filter(|party| party.way.crosses(wire) && wanted(&party.traffic));
        crossing.flat_map(|party| party.rtts.iter().copied()).collect()
    };
    let bulk = of(|traffic| matches!(traffic, Traffic::Bulk));
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

/// What a link loses; `None` where that is nothing, or where a part of it was wrong.
pub(super) fn rule(got: &Got, tables: &[Values], notes: &mut Notes) -> Option<LossRule> {
    let table = match got {
        Got::Number(p) => return (*p > 0.0).then_some(LossRule::Probability(*p)),
        Got::Table(table) => table,
        other => unreachable!("loss is {other:?}"),
    };
    let chain = ["good_to_bad", "bad_to_good"].map(|key| table.given(key));
    match (table.given("every"), table.given("at"), chain) {
        (true, false, [false, false]) => {
            strays(table, &["flows", "loss_good", "loss_bad"], "\"every\" applies to all packets", notes);
            table.whole("every").map(LossRule::Every)
        }
        (false, true, [false, false]) => {
            strays(table, &["loss_good", "loss_bad"], "\"at\" loses one packet for each time", notes);
            let times = times(table, notes)?;
            let flows = chosen(table, tables, notes)?;
            Some(LossRule::At { times, flows })
        }
        (false, false, [true, true]) => {
            strays(table, &["flows"], "a Gilbert-Elliott chain applies to all packets", notes);
            Some(LossRule::Bursts(Bursts {
                good_to_bad: table.number("good_to_bad")?,
                bad_to_good: table.number("bad_to_good")?,
                loss_good: table.number("loss_good")?,
                loss_bad: table.number("loss_bad")?,
            }))
        }
        _ => {
            notes.note(
                table.spot,
                "loss: wanted a probability, { every = N }, { at = [times], flows = [names] } or \
                 { good_to_bad = P, bad_to_good = P }",
            );
            None
        }
    }
}

/// Keys that belong to another form of loss.
fn strays(table: &Values, keys: &[&str], because: &str, notes: &mut Notes) {
    for key in keys.iter().filter(|key| table.given(key)) {
        notes.note(table.spot(key), format!("{key}: not allowed here, because {because}"));
    }
}

/// The instants of a rule, which ascend.
fn times(table: &Values, notes: &mut Notes) -> Option<Vec<Time>> {
    let mut times: Vec<Time> = Vec::new();
    for (spot, got) in table.list("at")? {
        let Got::Span(at) = got else { unreachable!("at is {got:?}") };
        let at = Time::ZERO + at;
        if times.last().is_some_and(|last| *last >= at) {
            notes.note(spot, format!("at: {at} is not later than the previous time"));
        }
        times.push(at);
    }
    Some(times)
}

/// The indices of the flows that a rule strikes.
fn chosen(table: &Values, tables: &[Values], notes: &mut Notes) -> Option<Vec<u32>> {
    let known: Option<Vec<String>> = tables.iter().map(|flow| flow.text("name")).collect();
    // Where a name could not be read, none can be missed.
    let known = known?;
    let names = known.iter().zip(tables).flat_map(|(name, flow)| {
        let whole = |key| flow.whole(key).unwrap_or(1);
        flow_names(name, whole("count"), whole("connections")).map(move |flow| (name.as_str(), flow))
    });
    let names: Vec<(&str, String)> = names.collect();
    if !table.given("flows") {
        return Some((0..names.len() as u32).collect());
    }
    let mut flows = BTreeSet::new();
    for (spot, got) in table.list("flows")? {
        let Got::Text(pattern) = got else { unreachable!("flows is {got:?}") };
        let hit = |(party, flow): &(&str, String)| flow == &pattern || fast_glob::glob_match(&pattern, party);
        let struck: Vec<u32> = (0..).zip(&names).filter(|(_, n)| hit(n)).map(|(index, _)| index).collect();
        if struck.is_empty() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let text = clip(&pattern);
            notes.note(spot, format!("flows: unknown flow \"{text}\"{}", way_out(&text, &known)));
        }
        flows.extend(struck);
    }
    Some(flows.into_iter().collect())
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
