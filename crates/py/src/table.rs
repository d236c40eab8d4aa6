//! The tables of a record, handed to Python without a copy through the Arrow PyCapsule interface, so that polars,
//! pyarrow, duckdb and pandas can use them directly.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch,
    RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fairhaul_experiment::{FlowRow, LinkRow, PacketRow, PacketWhat, Record, Scenario};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// A table of a record.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Table(RecordBatch);

#[pymethods]
impl Table {
    /// The Arrow PyCapsule interface. The schema that a caller may request is optional, and is ignored.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        // The consumer of the stream clears its `release`; dropping the capsule then frees nothing.
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns of numbers.
    #[getter]
    fn number_columns(&self) -> Vec<&str> {
        self.names(|kind| matches!(kind, DataType::Float64 | DataType::UInt64))
    }

    /// The names of the columns of words.
    #[getter]
    fn word_columns(&self) -> Vec<&str> {
        self.names(|kind| matches!(kind, DataType::Dictionary(..)))
    }

    /// A column of numbers as doubles in the byte order of this machine; a missing number is NaN.
    fn numbers<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let column = self.column(name)?;
        if let Some(reals) = column.as_primitive_opt::<Float64Type>() {
            return bytes(py, reals.iter().map(|x| x.unwrap_or(f64::NAN).to_ne_bytes()));
        }
        let wholes = column.as_primitive_opt::<UInt64Type>().ok_or_else(|| unknown(name))?;
        bytes(py, wholes.values().iter().map(|&x| (x as f64).to_ne_bytes()))
    }

    /// A column of words: the list of words, and the index of each row's word in it, in 32 bits and the byte order
    /// of this machine.
    fn words<'py>(&self, py: Python<'py>, name: &str) -> PyResult<(Vec<String>, Bound<'py, PyBytes>)> {
        let words = self.column(name)?.as_dictionary_opt::<Int32Type>().ok_or_else(|| unknown(name))?;
        let names = words.values().as_string::<i32>().iter().flatten().map(str::to_owned).collect();
        Ok((names, bytes(py, words.keys().values().iter().map(|key| key.to_ne_bytes()))?))
    }
}

impl Table {
    fn names(&self, wanted: impl Fn(&DataType) -> bool) -> Vec<&str> {
        let schema = self.0.schema_ref();
        schema.fields().iter().filter(|it| wanted(it.data_type())).map(|it| it.name().as_str()).collect()
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> PyErr {
    PyKeyError::new_err(format!("no such column of this kind: {name}"))
}

/// Puts the bytes of all values one after the other.
fn bytes<'py, const N: usize>(
    py: Python<'py>,
    values: impl ExactSizeIterator<Item = [u8; N]>,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, N * values.len(), |place| {
        for (to, from) in place.chunks_exact_mut(N).zip(values) {
            to.copy_from_slice(&from);
        }
        Ok(())
    })
}

/// Columns while they are gathered: name, whether a value may be missing, values.
struct Columns(Vec<(&'static str, bool, ArrayRef)>);

impl Columns {
    fn new() -> Columns {
        Columns(Vec::new())
    }

    fn whole(mut self, name: &'static str, values: impl Iterator<Item = u64>) -> Columns {
        self.0.push((name, false, Arc::new(UInt64Array::from_iter_values(values))));
        self
    }

    fn real(mut self, name: &'static str, values: impl Iterator<Item = f64>) -> Columns {
        self.0.push((name, false, Arc::new(Float64Array::from_iter_values(values))));
        self
    }

    /// Numbers that may be missing: NaN becomes null.
    fn maybe(mut self, name: &'static str, values: impl Iterator<Item = f64>) -> Columns {
        let values: Float64Array = values.map(|x| (!x.is_nan()).then_some(x)).collect();
        self.0.push((name, true, Arc::new(values)));
        self
    }

    fn flag(mut self, name: &'static str, values: impl Iterator<Item = bool>) -> Columns {
        let values: BooleanArray = values.map(Some).collect();
        self.0.push((name, false, Arc::new(values)));
        self
    }

    fn text(mut self, name: &'static str, values: impl Iterator<Item = String>) -> Columns {
        self.0.push((name, false, Arc::new(StringArray::from_iter_values(values))));
        self
    }

    /// Words that repeat, by their index in `words`.
    fn words<'a>(
        mut self,
        name: &'static str,
        words: impl Iterator<Item = &'a str>,
        keys: impl Iterator<Item = usize>,
    ) -> Result<Columns, ArrowError> {
        let keys = Int32Array::from_iter_values(keys.map(|key| key as i32));
        let words = Arc::new(StringArray::from_iter_values(words));
        self.0.push((name, false, Arc::new(DictionaryArray::<Int32Type>::try_new(keys, words)?)));
        Ok(self)
    }

    fn table(self) -> Result<Table, ArrowError> {
        let field = |(name, missing, values): &(&str, bool, ArrayRef)| {
            let kind: DataType = values.data_type().clone();
            Field::new(*name, kind, *missing)
        };
        let schema = Schema::new(self.0.iter().map(field).collect::<Vec<_>>());
        let arrays = self.0.into_iter().map(|(_, _, values)| values).collect();
        RecordBatch::try_new(Arc::new(schema), arrays).map(Table)
    }
}

/// The codepoints as [RFC 3168, 5] prints them, in the order of `Ecn`.
const ECN: [&str; 3] = ["Not-ECT", "ECT(0)", "CE"];

/// The tables of one run.
pub struct Tables {
    pub flow_series: Table,
    pub link_series: Table,
    pub gauge: Table,
    pub transfer: Table,
    pub event: Table,
}

/// Turns the rows of `record` into tables while `goes_on` says so; `None`: it did not.
pub fn tables(
    scenario: &Scenario,
    record: &Record,
    goes_on: impl Fn() -> bool,
) -> Result<Option<Tables>, ArrowError> {
    let makers = [flow_series, link_series, gauge, transfer, event];
    let mut made = Vec::with_capacity(makers.len());
    for make in makers {
        if !goes_on() {
            return Ok(None);
        }
        made.push(make(scenario, record)?);
    }
    let [flow_series, link_series, gauge, transfer, event] =
        made.try_into().unwrap_or_else(|_| unreachable!("one of each is made"));
    Ok(Some(Tables { flow_series, link_series, gauge, transfer, event }))
}

/// Turns the packet trace of a flow into a table; `sack` reads as `from-to from-to`, where `to` is the first
/// packet after a run.
pub fn packets(rows: &[PacketRow]) -> Result<Table, ArrowError> {
    let runs = |row: &PacketRow| {
        let runs: Vec<String> = row.blocks.iter().map(|(from, to)| format!("{from}-{to}")).collect();
        runs.join(" ")
    };
    Columns::new()
        .real("t_s", rows.iter().map(|row| row.t_s))
        .words("what", PacketWhat::WORDS.into_iter(), rows.iter().map(|row| row.what.index()))?
        .whole("connection", rows.iter().map(|row| row.connection.into()))
        .whole("number", rows.iter().map(|row| row.number))
        .whole("bytes", rows.iter().map(|row| row.size.into()))
        .flag("opens", rows.iter().map(|row| row.opens))
        .flag("again", rows.iter().map(|row| row.retransmitted))
        .words("ecn", ECN.into_iter(), rows.iter().map(|row| row.ecn as usize))?
        .flag("cwr", rows.iter().map(|row| row.cwr))
        .flag("ece", rows.iter().map(|row| row.ece))
        .text("sack", rows.iter().map(runs))
        .maybe("cwnd_packets", rows.iter().map(|row| row.cwnd_packets))
        .maybe("srtt_s", rows.iter().map(|row| row.srtt_s))
        .table()
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

fn flow_series(scenario: &Scenario, record: &Record) -> Result<Table, ArrowError> {
    let rows = || record.flows.iter().flatten();
    let count = |of: fn(&FlowRow) -> u64| rows().map(of);
    let level = |of: fn(&FlowRow) -> f64| rows().map(of);
    let flows = record.flows.len();
    Columns::new()
        .real("t_s", starts(record, flows))
        .words("flow", flow_names(scenario), owners(flows, record.grid.len()))?
        .whole("delivered_bytes", count(|row| row.delivered_bytes))
        .whole("goodput_bytes", count(|row| row.goodput_bytes))
        .real("carried_bytes", level(|row| row.carried_bytes))
        .whole("sent", count(|row| row.sent))
        .whole("retransmitted", count(|row| row.retransmitted))
        .whole("copied", count(|row| row.copied))
        .whole("lost", count(|row| row.lost))
        .real("cwnd_packets", level(|row| row.cwnd_packets))
        .maybe("ssthresh_packets", level(|row| row.ssthresh_packets))
        .maybe("rtt_s", level(|row| row.rtt_s))
        .maybe("one_way_s", level(|row| row.one_way_s))
        .whole("rtt_samples", count(|row| row.rtt_samples))
        .table()
}

fn link_series(scenario: &Scenario, record: &Record) -> Result<Table, ArrowError> {
    let rows = || record.links.iter().flatten();
    let count = |of: fn(&LinkRow) -> u64| rows().map(of);
    let level = |of: fn(&LinkRow) -> f64| rows().map(of);
    let links = record.links.len();
    let names = scenario.links.iter().map(|link| link.name.as_str());
    let columns = Columns::new()
        .real("t_s", starts(record, links))
        .words("link", names, owners(links, record.grid.len()))?
        .real("busy_s", level(|row| row.busy_s))
        .whole("arrived", count(|row| row.arrived))
        .whole("dropped", count(|row| row.dropped))
        .whole("marked", count(|row| row.marked))
        .real("backlog_packets", level(|row| row.backlog_packets))
        .real("backlog_bytes", level(|row| row.backlog_bytes));
    if !scenario.counts_bytes() {
        return columns.table();
    }
    let grid = record.grid;
    let bins = || (0..grid.len()).map(|bin| (grid.start(bin), grid.start(bin + 1)));
    let offered = scenario.links.iter().flat_map(|link| bins().map(|(from, to)| link.offers(from, to)));
    columns.real("sent_bytes", level(|row| row.sent_bytes)).real("capacity_bytes", offered).table()
}

/// By link, then gauge, then time.
fn gauge(scenario: &Scenario, record: &Record) -> Result<Table, ArrowError> {
    let gauges = |link: usize| scenario.links[link].queue.entry.gauges;
    let mut names: Vec<&str> = Vec::new();
    for name in (0..scenario.links.len()).flat_map(gauges).map(|gauge| gauge.name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let number = |name| names.iter().position(|known| *known == name).unwrap_or(0);
    // A column for each gauge of each link: its index among those of its link, and its name.
    let columns: Vec<(usize, usize, usize)> = (0..scenario.links.len())
        .flat_map(|link| (0..gauges(link).len()).map(move |at| (link, at)))
        .map(|(link, at)| (link, at, number(gauges(link)[at].name)))
        .collect();
    let bins = record.grid.len();
    let value = |&(link, at, _): &(usize, usize, usize)| {
        record.gauges[link].iter().skip(at).step_by(gauges(link).len()).copied()
    };
    let links = scenario.links.iter().map(|link| link.name.as_str());
    let each = |of: fn(&(usize, usize, usize)) -> usize| {
        columns.iter().flat_map(move |column| std::iter::repeat_n(of(column), bins))
    };
    Columns::new()
        .real("t_s", starts(record, columns.len()))
        .words("link", links, each(|column| column.0))?
        .words("gauge", names.iter().copied(), each(|column| column.2))?
        .real("value", columns.iter().flat_map(value))
        .table()
}

fn transfer(scenario: &Scenario, record: &Record) -> Result<Table, ArrowError> {
    let rows = || record.transfers.iter();
    Columns::new()
        .words("flow", flow_names(scenario), rows().map(|row| row.flow as usize))?
        .real("start_s", rows().map(|row| row.start_s))
        .maybe("end_s", rows().map(|row| row.end_s))
        .whole("bytes", rows().map(|row| row.bytes))
        .table()
}

fn event(scenario: &Scenario, record: &Record) -> Result<Table, ArrowError> {
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
        .words("kind", kinds.into_iter(), keys.into_iter())?
        .words("flow", flow_names(scenario), rows().map(|row| row.flow as usize))?
        .real("value", rows().map(|row| row.value))
        .table()
}
