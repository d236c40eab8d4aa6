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
use fairhaul_experiment::{Column, PacketRow, Record, Scenario, Table as Columns, Values, packet_table};
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
pub fn bytes<'py, const N: usize>(
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

impl TryFrom<Columns> for Table {
    type Error = ArrowError;

    fn try_from(table: Columns) -> Result<Table, ArrowError> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for Column { name, values } in table.columns {
            let may_be_missing = matches!(values, Values::Maybe(_));
            let values = array(values)?;
            fields.push(Field::new(name, values.data_type().clone(), may_be_missing));
            arrays.push(values);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(Table)
    }
}

/// A missing number becomes null.
fn array(values: Values) -> Result<ArrayRef, ArrowError> {
    Ok(match values {
        Values::Whole(values) => Arc::new(UInt64Array::from(values)),
        Values::Real(values) => Arc::new(Float64Array::from(values)),
        Values::Maybe(values) => {
            Arc::new(values.into_iter().map(|x| (!x.is_nan()).then_some(x)).collect::<Float64Array>())
        }
        Values::Flag(values) => Arc::new(BooleanArray::from(values)),
        Values::Text(values) => Arc::new(StringArray::from(values)),
        Values::Words(words, keys) => {
            let words = Arc::new(StringArray::from(words));
            Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), words)?)
        }
    })
}

/// The tables of one run, by name.
pub type Tables = Vec<(&'static str, Table)>;

/// Turns the rows of `record` into tables while `goes_on` says so; `None`: it did not.
pub fn tables(
    scenario: &Scenario,
    record: &Record,
    goes_on: impl Fn() -> bool,
) -> Result<Option<Tables>, ArrowError> {
    let mut made = Vec::new();
    for table in fairhaul_experiment::tables(scenario, record) {
        if !goes_on() {
            return Ok(None);
        }
        made.push((table.name, Table::try_from(table)?));
    }
    Ok(Some(made))
}

/// The packet trace of a flow as a table.
pub fn packets(rows: &[PacketRow]) -> Result<Table, ArrowError> {
    packet_table(rows).try_into()
}
