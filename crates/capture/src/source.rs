//! The content of a file, decompressed. The compression is recognised by the first bytes, never by the name.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;

/// The most memory that a decompressor may take for its window, in bytes: half of it is what `xz -9` needs.
const MOST_WINDOW: u32 = 128 << 20;

/// A file within a file within a file is a mistake.
const MOST_LAYERS: usize = 3;

/// The first bytes of gzip, xz and zstd.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A stream of bytes.
pub type Source = Box<dyn Read + Send>;

/// Opens a file, and decompresses what gzip, xz or zstd has compressed.
pub fn open(path: &Path) -> io::Result<Source> {
    let mut source: Source = Box::new(File::open(path)?);
    for _ in 0..MOST_LAYERS {
        let (first, whole) = peeked(source)?;
        source = if first.starts_with(&GZIP) {
            Box::new(flate2::read::MultiGzDecoder::new(whole))
        } else if first.starts_with(&XZ) {
            Box::new(XzReader::new_mem_limit(whole, true, MOST_WINDOW >> 10))
        } else if first.starts_with(&ZSTD) {
            let decoder = StreamingDecoder::new_with_max_window_size(whole, u64::from(MOST_WINDOW));
            Box::new(decoder.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?)
        } else {
            return Ok(Box::new(whole));
        };
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "it is compressed more than three times"))
}

/// The first bytes of a stream, and the stream with them.
fn peeked(mut source: Source) -> io::Result<([u8; 8], impl Read + Send)> {
    let mut first = [0; 8];
    let length = read_fully(&mut source, &mut first)?;
    Ok((first, Cursor::new(first).take(length as u64).chain(source)))
}

/// Reads until `buffer` is full or the stream ends, and gives the number of bytes.
pub(crate) fn read_fully(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
