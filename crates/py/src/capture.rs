//! Packet captures, with the columns of each connection as doubles.

use std::io;
use std::path::PathBuf;

use fairhaul_capture::{Connection, Ending, Side};
use pyo3::exceptions::{PyKeyError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::study::ScenarioError;
use crate::table::bytes;

/// What a packet capture holds.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct Capture {
    #[pyo3(get)]
    packets: u64,
    #[pyo3(get)]
    others: u64,
    #[pyo3(get)]
    beyond: u64,
    #[pyo3(get)]
    timeless: u64,
    #[pyo3(get)]
    steps: u64,
    #[pyo3(get)]
    gap_s: f64,
    #[pyo3(get)]
    ending: &'static str,
    #[pyo3(get)]
    connections: Vec<Py<CapturedConnection>>,
}

/// A connection of a capture. Its times are in seconds since the first packet of the capture; its columns are those of
/// the end that sent more data.
#[pyclass(frozen, module = "fairhaul._core")]
pub struct CapturedConnection {
    of: Connection,
    start_ns: u64,
}

#[pymethods]
impl CapturedConnection {
    /// The addresses and ports of both ends; the first one sent more data.
    #[getter]
    fn ends(&self) -> [(String, u16); 2] {
        let end = |at: usize| (self.of.ends[at].ip().to_string(), self.of.ends[at].port());
        [end(self.of.sender()), end(1 - self.of.sender())]
    }

    /// Bytes of data of both ends, retransmissions included.
    #[getter]
    fn payload(&self) -> [u64; 2] {
        [self.of.payload[self.of.sender()], self.of.payload[1 - self.of.sender()]]
    }

    #[getter]
    fn first_s(&self) -> f64 {
        self.since(self.of.first_ns)
    }

    #[getter]
    fn last_s(&self) -> f64 {
        self.since(self.of.last_ns)
    }

    #[getter]
    fn ended(&self) -> bool {
        self.of.ended
    }

    #[getter]
    fn side(&self) -> &'static str {
        match self.of.side() {
            Side::Unknown => "unknown",
            Side::Sender => "sender",
            Side::Receiver => "receiver",
            Side::Between => "between",
        }
    }

    /// The smallest times beyond the place of the capture, in seconds: to the receiver and back, to the sender and back.
    #[getter]
    fn halves_s(&self) -> [Option<f64>; 2] {
        self.of.halves_ns().map(|half| half.map(seconds))
    }

    #[getter]
    fn mss(&self) -> Option<u32> {
        self.of.sendings[self.of.sender()].mss
    }

    #[getter]
    fn window_scale(&self) -> Option<u8> {
        self.of.window_scale()
    }

    #[getter]
    fn least_scale(&self) -> u8 {
        self.of.sendings[self.of.sender()].least_scale
    }

    #[getter]
    fn sack(&self) -> Option<bool> {
        self.of.sack()
    }

    /// Packets of data with a mark of congestion, acknowledgements that report one, and whether data could be marked.
    #[getter]
    fn marks(&self) -> (u64, u64, bool) {
        let of = &self.of.sendings[self.of.sender()];
        (of.marked, of.reported, of.capable)
    }

    /// A column of the transmissions.
    fn sent<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.of.sendings[self.of.sender()].transmissions.iter();
        match name {
            "time_s" => column(py, rows.map(|row| self.since(row.time_ns))),
            "acked_s" => {
                column(py, rows.map(|row| if row.acked_ns > 0 { self.since(row.acked_ns) } else { f64::NAN }))
            }
            "offset" => column(py, rows.map(|row| row.offset as f64)),
            "payload" => column(py, rows.map(|row| f64::from(row.payload))),
            "wire" => column(py, rows.map(|row| f64::from(row.wire))),
            "packets" => column(py, rows.map(|row| f64::from(row.packets))),
            "fate" => column(py, rows.map(|row| f64::from(row.fate as u8))),
            "again" => column(py, rows.map(|row| f64::from(u8::from(row.again)))),
            _ => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// A column of the acknowledgements.
    fn acknowledged<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.of.sendings[self.of.sender()].acknowledgements.iter();
        match name {
            "time_s" => column(py, rows.map(|row| self.since(row.time_ns))),
            "offset" => column(py, rows.map(|row| row.offset as f64)),
            "window" => column(py, rows.map(|row| f64::from(row.window))),
            "ahead" => column(py, rows.map(|row| f64::from(row.ahead))),
            "flight" => column(py, rows.map(|row| f64::from(row.flight))),
            _ => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// The times of data that echoes a time stamp of an acknowledgement, and how long after it the data came.
    fn echoes<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let rows = &self.of.sendings[self.of.sender()].echoes;
        let times = column(py, rows.iter().map(|&(time_ns, _)| self.since(time_ns)))?;
        Ok((times, column(py, rows.iter().map(|&(_, took_ns)| seconds(took_ns)))?))
    }
}

impl CapturedConnection {
    /// A time in seconds since the first packet of the capture.
    fn since(&self, time_ns: u64) -> f64 {
        // A packet may be captured a little before the one that is first in the file.
        (time_ns as i64).wrapping_sub(self.start_ns as i64) as f64 / 1e9
    }
}

fn seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

fn column<'py>(py: Python<'py>, values: impl ExactSizeIterator<Item = f64>) -> PyResult<Bound<'py, PyBytes>> {
    bytes(py, values.map(f64::to_ne_bytes))
}

/// Whether a file is a packet capture, once it is decompressed.
#[pyfunction]
pub fn is_capture(path: PathBuf) -> PyResult<bool> {
    fairhaul_capture::is_capture(&path).map_err(|error| refused(&path, &error))
}

/// The decompressed content of a file of at most `most` bytes.
#[pyfunction]
pub fn read_content<'py>(py: Python<'py>, path: PathBuf, most: u64) -> PyResult<Bound<'py, PyBytes>> {
    let content =
        py.detach(|| fairhaul_capture::content(&path, most)).map_err(|error| refused(&path, &error))?;
    Ok(PyBytes::new(py, &content))
}

/// Reads a packet capture.
#[pyfunction]
pub fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<Capture> {
    let goes_on = || Python::attach(|py| py.check_signals()).map_err(io::Error::other);
    let read =
        py.detach(|| fairhaul_capture::read(&path, goes_on)).map_err(|error| refused(&path, &error))?;
    let start_ns = read.connections.iter().map(|of| of.first_ns).min().unwrap_or(0);
    let connections = read.connections.into_iter().map(|of| Py::new(py, CapturedConnection { of, start_ns }));
    Ok(Capture {
        packets: read.packets,
        others: read.others,
        beyond: read.beyond,
        timeless: read.timeless,
        steps: read.steps,
        gap_s: seconds(read.gap_ns),
        ending: match read.ending {
            Ending::Whole => "whole",
            Ending::Cut => "cut",
            Ending::Damaged => "damaged",
        },
        connections: connections.collect::<PyResult<_>>()?,
    })
}

/// A file that cannot be read is wrong input; an interrupt stays what it is.
fn refused(path: &std::path::Path, error: &io::Error) -> PyErr {
    let interrupted = error.get_ref().and_then(|of| of.downcast_ref::<PyErr>()).is_some();
    if interrupted {
        return PyKeyboardInterrupt::new_err(());
    }
    ScenarioError::new_err(format!("{}: {error}", path.display()))
}
