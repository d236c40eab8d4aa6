//! Packet captures of TCP connections: pcap and pcapng files, compressed or not, as the transmissions of each
//! connection and their acknowledgements.
//!
//! A file is read once, from its beginning to its end. The memory that it takes is bounded: what follows within a short
//! time is put together when there are too many rows.

mod capture;
mod connection;
mod headers;
mod packets;
mod rows;
mod sending;
mod source;

pub use capture::{Capture, content, is_capture, read, read_stream};
pub use connection::{Connection, Side};
pub use packets::Ending;
pub use rows::{Acknowledgement, Fate, Transmission};
pub use sending::Sending;
