//! The tables of a record as plain columns: what every reader of a record receives, whatever form it gives them.
//!
//! `flow_series` and `link_series` have one row for each flow or link and bin, `gauge` one for each gauge of a queue
//! and bin, `flow_gauge` one for each gauge of a flow's controller and bin, `transfer` one for each transfer, `event`
//! one for each event, `queue_delay` one for each link and bucket of its histogram, and `limit` one for each flow and
//! limit that kept it back.

use fairhaul_units::Gauge;

use crate::{DelayRow, FlowRow, Limit, LinkRow, PacketRow, PacketWhat, Record, Scenario};

/// A table: its columns, all of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// As readers know it.
    pub name: &'static str,
    /// In the order of readers.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// As readers know it, with its unit.
    pub name: &'static str,
    /// One value for each row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts.
    Whole(Vec<u64>),
    /// Numbers.
    Real(Vec<f64>),
    /// Numbers that may be missing, which is NaN.
    Maybe(Vec<f64>),
    /// Yes or no.
    Flag(Vec<bool>),
    /// Texts that differ from row to row.
    Text(Vec<String>),
    /// Words that repeat: the list of words, and the index of each row's word in it.
    Words(Vec<String>, Vec<i32>),
}

/// Makes a table from a record of a scenario.
type Maker = fn(&Scenario, &Record) -> Table;

const MAKERS: [Maker; 8] = [flow_series, link_series, gauge, transfer, event, flow_gauge, queue_delay, limit];

/// The tables of `record`, made one by one.
pub fn tables(scenario: &Scenario, record: &Record) -> impl Iterator<Item = Table> {
    MAKERS.into_iter().map(move |make| make(scenario, record))
}

/// The codepoints as [RFC 3168, 5] prints them, in the order of `Ecn`.
const ECN: [&str; 4] = ["Not-ECT", "ECT(0)", "CE", "ECT(1)"];

/// The packet trace of a flow; `sack` reads as `from-to from-to`, where `to` is the first packet after a run, and `accecn` as
/// the counters of bytes with ECT(0), CE and ECT(1), with `-` for one that is missing.
pub fn packet_table(rows: &[PacketRow]) -> Table {
    let runs = |row: &PacketRow| {
        let runs: Vec<String> = row.blocks.iter().map(|(from, to)| format!("{from}-{to}")).collect();
        runs.join(" ")
    };
    let counters = |row: &PacketRow| {
        let written = |counter: Option<u32>| counter.map_or("-".into(), |bytes| bytes.to_string());
        row.counters.map_or(String::new(), |all| [all.ect0, all.ce, all.ect1].map(written).join(" "))
    };
    Columns::new()
        .real("t_s", rows.iter().map(|row| row.t_s))
        .words("what", PacketWhat::WORDS, rows.iter().map(|row| row.what.index()))
        .whole("connection", rows.iter().map(|row| row.connection.into()))
        .whole("number", rows.iter().map(|row| row.number))
        .whole("bytes", rows.iter().map(|row| row.size.into()))
        .flag("opens", rows.iter().map(|row| row.opens))
        .flag("again", rows.iter().map(|row| row.retransmitted))
        .words("ecn", ECN, rows.iter().map(|row| row.ecn as usize))
        .flag("cwr", rows.iter().map(|row| row.cwr))
        .flag("ece", rows.iter().map(|row| row.ece))
        .maybe("ace", rows.iter().map(|row| row.ace.map_or(f64::NAN, f64::from)))
        .text("accecn", rows.iter().map(counters))
        .text("sack", rows.iter().map(runs))
        .maybe("cwnd_packets", rows.iter().map(|row| row.cwnd_packets))
        .maybe("srtt_s", rows.iter().map(|row| row.srtt_s))
        .table("trace")
}

/// Columns while they are gathered.
struct Columns(Vec<Column>);

impl Columns {
    fn new() -> Columns {
        Columns(Vec::new())
    }

    fn with(mut self, name: &'static str, values: Values) -> Columns {
        self.0.push(Column { name, values });
        self
    }

    fn whole(self, name: &'static str, values: impl Iterator<Item = u64>) -> Columns {
        self.with(name, Values::Whole(values.collect()))
    }

    fn real(self, name: &'static str, values: impl Iterator<Item = f64>) -> Columns {
        self.with(name, Values::Real(values.collect()))
    }

    fn maybe(self, name: &'static str, values: impl Iterator<Item = f64>) -> Columns {
        self.with(name, Values::Maybe(values.collect()))
    }

    fn flag(self, name: &'static str, values: impl Iterator<Item = bool>) -> Columns {
        self.with(name, Values::Flag(values.collect()))
    }

    fn text(self, name: &'static str, values: impl Iterator<Item = String>) -> Columns {
        self.with(name, Values::Text(values.collect()))
    }

    /// Words that repeat, by their index in `words`.
    fn words<'a>(
        self,
        name: &'static str,
        words: impl IntoIterator<Item = &'a str>,
        keys: impl Iterator<Item = usize>,
    ) -> Columns {
        let words = words.into_iter().map(str::to_owned).collect();
        self.with(name, Values::Words(words, keys.map(|key| key as i32).collect()))
    }

    fn table(self, name: &'static str) -> Table {
        Table { name, columns: self.0 }
    }
}

fn flow_names(scenario: &Scenario) -> impl Iterator<Item = &str> {
    scenario.flows.iter().map(|flow| flow.name.as_str())
}

/// The start of every bin of every one of `parts` parts, in seconds.
fn starts(record: &Record, parts: usize) -> impl Iterator<Item = f64> {
    let bins = record.grid.len();
    let grid = record.grid;
    (0..parts).flat_map(move |_| (0..bins).map(move |bin| grid.start(bin).as_secs()))
}

/// The index of each part, as often as it has bins.
fn owners(parts: usize, bins: usize) -> impl Iterator<Item = usize> {
    (0..parts).flat_map(move |part| std::iter::repeat_n(part, bins))
}

fn flow_series(scenario: &Scenario, record: &Record) -> Table {
    let rows = || record.flows.iter().flatten();
    let count = |of: fn(&FlowRow) -> u64| rows().map(of);
    let level = |of: fn(&FlowRow) -> f64| rows().map(of);
    let flows = record.flows.len();
    Columns::new()
        .real("t_s", starts(record, flows))
        .words("flow", flow_names(scenario), owners(flows, record.grid.len()))
        .whole("delivered_bytes", count(|row| row.delivered_bytes))
        .whole("goodput_bytes", count(|row| row.goodput_bytes))
        .real("carried_bytes", level(|row| row.carried_bytes))
        .whole("sent", count(|row| row.sent))
        .whole("retransmitted", count(|row| row.retransmitted))
        .whole("copied", count(|row| row.copied))
        .whole("lost", count(|row| row.lost))
        .maybe("cwnd_packets", level(|row| row.cwnd_packets))
        .maybe("ssthresh_packets", level(|row| row.ssthresh_packets))
        .maybe("rtt_s", level(|row| row.rtt_s))
        .maybe("one_way_s", level(|row| row.one_way_s))
        .whole("rtt_samples", count(|row| row.rtt_samples))
        .table("flow_series")
}

fn link_series(scenario: &Scenario, record: &Record) -> Table {
    let rows = || record.links.iter().flatten();
    let count = |of: fn(&LinkRow) -> u64| rows().map(of);
    let level = |of: fn(&LinkRow) -> f64| rows().map(of);
    let links = record.links.len();
    let names = scenario.links.iter().map(|link| link.name.as_str());
    let mut columns = Columns::new()
        .real("t_s", starts(record, links))
        .words("link", names, owners(links, record.grid.len()))
        .real("busy_s", level(|row| row.busy_s))
        .whole("arrived", count(|row| row.arrived))
        .whole("dropped", count(|row| row.dropped))
        .whole("marked", count(|row| row.marked))
        .real("backlog_packets", level(|row| row.backlog_packets))
        .real("backlog_bytes", level(|row| row.backlog_bytes));
    if scenario.counts_bytes() {
        let grid = record.grid;
        let bins = || (0..grid.len()).map(|bin| (grid.start(bin), grid.start(bin + 1)));
        let offered = scenario.links.iter().flat_map(|link| bins().map(|(from, to)| link.offers(from, to)));
        columns = columns.real("sent_bytes", level(|row| row.sent_bytes)).real("capacity_bytes", offered);
    }
    columns.table("link_series")
}

/// By link, then delay.
fn queue_delay(scenario: &Scenario, record: &Record) -> Table {
    let rows = || record.delays.iter().flatten();
    let owners =
        record.delays.iter().enumerate().flat_map(|(link, rows)| std::iter::repeat_n(link, rows.len()));
    let names = scenario.links.iter().map(|link| link.name.as_str());
    let real = |of: fn(&DelayRow) -> f64| rows().map(of);
    Columns::new()
        .words("link", names, owners)
        .real("from_s", real(|row| row.from_s))
        .real("below_s", real(|row| row.below_s))
        .whole("packets", rows().map(|row| row.packets))
        .table("queue_delay")
}

/// By flow, then limit.
fn limit(scenario: &Scenario, record: &Record) -> Table {
    let rows = || {
        record.limits.iter().enumerate().flat_map(|(flow, times)| {
            times
                .iter()
                .enumerate()
                .filter(|(_, time)| **time > 0.0)
                .map(move |(limit, time)| (flow, limit, *time))
        })
    };
    Columns::new()
        .words("flow", flow_names(scenario), rows().map(|row| row.0))
        .words("limit", Limit::WORDS, rows().map(|row| row.1))
        .real("time_s", rows().map(|row| row.2))
        .table("limit")
}

/// By link, then gauge, then time.
fn gauge(scenario: &Scenario, record: &Record) -> Table {
    let gauges =
        GaugeColumns::of(scenario.links.iter().map(|link| link.queue.entry.gauges), record, &record.gauges);
    let links = scenario.links.iter().map(|link| link.name.as_str());
    gauges.names(record, "link", links).real("value", gauges.values()).table("gauge")
}

/// By flow, then gauge, then time. A value is missing where the controller does not know it, or no connection is open.
fn flow_gauge(scenario: &Scenario, record: &Record) -> Table {
    let known = |(flow, gauges): (usize, &'static [Gauge])| match record.flow_gauges.get(flow) {
        Some(values) if !values.is_empty() => gauges,
        _ => &[],
    };
    let gauges = scenario.flows.iter().map(|flow| flow.gauges()).enumerate().map(known);
    let gauges = GaugeColumns::of(gauges, record, &record.flow_gauges);
    gauges.names(record, "flow", flow_names(scenario)).maybe("value", gauges.values()).table("flow_gauge")
}

/// The gauges of all owners, links or flows, one after the other.
struct GaugeColumns<'a> {
    bins: usize,
    values: &'a [Vec<f64>],
    /// The names of all gauges.
    known: Vec<&'static str>,
    columns: Vec<GaugeColumn>,
}

/// A gauge of an owner: the owner's index, its place among the gauges of the owner, how many these are, and the index of
/// its name.
struct GaugeColumn {
    owner: usize,
    at: usize,
    of: usize,
    name: usize,
}

impl<'a> GaugeColumns<'a> {
    fn of(
        gauges: impl Iterator<Item = &'static [Gauge]>,
        record: &Record,
        values: &'a [Vec<f64>],
    ) -> GaugeColumns<'a> {
        let (mut known, mut columns): (Vec<&str>, Vec<GaugeColumn>) = (Vec::new(), Vec::new());
        for (owner, gauges) in gauges.enumerate() {
            for (at, gauge) in gauges.iter().enumerate() {
                let name = known.iter().position(|name| *name == gauge.name).unwrap_or_else(|| {
                    known.push(gauge.name);
                    known.len() - 1
                });
                columns.push(GaugeColumn { owner, at, of: gauges.len(), name });
            }
        }
        GaugeColumns { bins: record.grid.len(), values, known, columns }
    }

    /// The columns before the values.
    fn names<'b>(
        &self,
        record: &Record,
        owner: &'static str,
        owners: impl Iterator<Item = &'b str>,
    ) -> Columns {
        let each = |of: fn(&GaugeColumn) -> usize| {
            self.columns.iter().flat_map(move |column| std::iter::repeat_n(of(column), self.bins))
        };
        Columns::new()
            .real("t_s", starts(record, self.columns.len()))
            .words(owner, owners, each(|column| column.owner))
            .words("gauge", self.known.iter().copied(), each(|column| column.name))
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let value = |column: &GaugeColumn| {
            self.values[column.owner].iter().skip(column.at).step_by(column.of).copied()
        };
        self.columns.iter().flat_map(value)
    }
}

fn transfer(scenario: &Scenario, record: &Record) -> Table {
    let rows = || record.transfers.iter();
    Columns::new()
        .words("flow", flow_names(scenario), rows().map(|row| row.flow as usize))
        .real("start_s", rows().map(|row| row.start_s))
        .maybe("end_s", rows().map(|row| row.end_s))
        .whole("bytes", rows().map(|row| row.bytes))
        .table("transfer")
}

fn event(scenario: &Scenario, record: &Record) -> Table {
    let rows = || record.events.iter();
    let mut kinds: Vec<&str> = Vec::new();
    let mut kind = |word| {
        kinds.iter().position(|kind| *kind == word).unwrap_or_else(|| {
            kinds.push(word);
            kinds.len() - 1
        })
    };
    let keys: Vec<usize> = rows().map(|row| kind(row.kind)).collect();
    Columns::new()
        .real("t_s", rows().map(|row| row.t_s))
        .words("kind", kinds, keys.into_iter())
        .words("flow", flow_names(scenario), rows().map(|row| row.flow as usize))
        .real("value", rows().map(|row| row.value))
        .table("event")
}
