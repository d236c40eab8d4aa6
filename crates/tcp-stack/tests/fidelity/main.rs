//! Fairhaul's TCP behind the interface of stacks gives the record of the built-in TCP, to the bit.
//!
//! A scenario is drawn and run twice, beside the same other flow: once with the flow's own sender and receiver, once with
//! the same hosts as a stack. Compared are the time, size, direction, ECN bits and fate of every packet of the flow, and all
//! tables of the record except for what the interface does not carry:
//!
//! - round-trip times (`rtt_s`, `one_way_s`): from outside they are those of the newest packet, not of the one whose time stamp
//!   is echoed;
//! - of events of the flow only reductions, and no limit and no gauge of its controller;
//! - in a packet trace, the numbers of packets and what is in headers of TCP.
//!
//! The payload of a packet is 1024 B, so that a window in packets is the same number after it was one in bytes.

mod draw;
mod linked;

use std::sync::Arc;

use fairhaul_experiment::{Column, PacketTrace, Record, Scenario, Table, Values, read_with, tables};
use fairhaul_sim::{Control, run_traced};

use draw::Drawn;

const SCENARIOS: u64 = if cfg!(feature = "slow") { 500 } else { 30 };
/// A connection here has timers left after its end.
const TIMERS_LEFT: u64 = 278;
const NOT_CARRIED: [&str; 3] = ["limit", "flow_gauge", "event"];
const OUTSIDE: [&str; 2] = ["rtt_s", "one_way_s"];

#[test]
fn the_stack_gives_the_record_of_the_built_in_tcp() {
    let (mut packets, mut drops, mut again) = (0, 0, 0);
    let mut differences = Vec::new();
    for number in (0..SCENARIOS).chain((SCENARIOS <= TIMERS_LEFT).then_some(TIMERS_LEFT)) {
        let drawn = Drawn::new(number);
        let [built_in, stack] = [drawn.built_in(), drawn.stack()].map(|text| recorded(&text));
        if let Some(difference) = difference(&built_in, &stack) {
            differences.push(format!("scenario {number}: {difference:.2000}\n{}", drawn.stack()));
        }
        let rows = &built_in.trace.rows;
        packets += rows.len();
        drops += rows.iter().filter(|row| format!("{:?}", row.what).contains("Dropped")).count();
        again += rows.iter().filter(|row| row.retransmitted).count();
    }
    println!(
        "{SCENARIOS} scenarios, {packets} rows of packets, {drops} of drops, {again} of retransmissions"
    );
    assert!(drops > 0 && again > 0);
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

struct Run {
    scenario: Scenario,
    record: Record,
    trace: PacketTrace,
}

fn recorded(text: &str) -> Run {
    let study = read_with(text, "drawn", &[], Arc::new(linked::kinds()));
    let scenario = study.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}")).base;
    let (record, trace) =
        run_traced(&scenario, 0, &Control::default()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    Run { scenario, record, trace }
}

/// The first difference.
fn difference(built_in: &Run, stack: &Run) -> Option<String> {
    packets_differ(built_in, stack).or_else(|| events_differ(built_in, stack)).or_else(|| {
        let all = |run: &Run| tables(&run.scenario, &run.record).collect::<Vec<Table>>();
        let pairs = all(built_in).into_iter().zip(all(stack));
        pairs.filter(|(table, _)| !NOT_CARRIED.contains(&table.name)).find_map(|(one, other)| {
            let columns = one.columns.iter().zip(&other.columns);
            columns
                .filter(|(column, _)| !OUTSIDE.contains(&column.name) || !one.name.starts_with("flow"))
                .find(|(one, other)| bits(one) != bits(other))
                .map(|(column, other)| format!("{} of {}: {column:?}\n{other:?}", column.name, one.name))
        })
    })
}

/// The values of a column, so that equal means equal bits.
fn bits(column: &Column) -> Vec<String> {
    let real = |values: &[f64]| values.iter().map(|value| format!("{:x}", value.to_bits())).collect();
    match &column.values {
        Values::Real(values) | Values::Maybe(values) => real(values),
        other => vec![format!("{other:?}")],
    }
}

fn packets_differ(built_in: &Run, stack: &Run) -> Option<String> {
    let rows = |run: &Run| -> Vec<String> {
        let row = |row: &fairhaul_experiment::PacketRow| {
            let (at, connection) = (row.t_s.to_bits(), row.connection);
            format!(
                "{} s ({at:x}) {:?} {connection} {} B opens {} again {} {:?}",
                row.t_s, row.what, row.size, row.opens, row.retransmitted, row.ecn
            )
        };
        run.trace.rows.iter().map(row).collect()
    };
    let (one, other) = (rows(built_in), rows(stack));
    let place = one.iter().zip(&other).position(|(one, other)| one != other);
    match place {
        Some(place) => Some(format!("packet row {place}: {}\n{}", one[place], other[place])),
        None if one.len() != other.len() => {
            Some(format!("{} and {} rows of packets", one.len(), other.len()))
        }
        None => None,
    }
}

/// All events of the other flow, and reductions of the compared one.
fn events_differ(built_in: &Run, stack: &Run) -> Option<String> {
    let events = |run: &Run| -> Vec<String> {
        let events = run.record.events.iter();
        let carried = events.filter(|event| event.flow != 0 || event.kind == "reduction");
        carried
            .map(|event| format!("{} {} {} {:x}", event.t_s, event.kind, event.flow, event.value.to_bits()))
            .collect()
    };
    let (one, other) = (events(built_in), events(stack));
    (one != other).then(|| format!("events: {one:?}\n{other:?}"))
}
