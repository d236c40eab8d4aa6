//! The application of a flow that it limits: it writes packets at the times of its source.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use fairhaul_experiment::Source;
use fairhaul_units::TIME_STAMPS;

use super::{LabTransfer, PAYLOAD, TrafficRunner};
use crate::sys;

/// Packets that an application with endless data has written and the kernel has not sent, where the data may end.
const UNSENT_PACKETS: u64 = 2;

impl TrafficRunner<'_> {
    /// Writes a full packet whenever the application has one ready, until the run is over. Endless data before that are
    /// written a packet at a time, and hardly more than the kernel sends: it would send the rest later.
    pub(super) fn write_when_ready(
        &self,
        stream: &mut TcpStream,
        transfer: &LabTransfer,
        mut source: Source,
    ) -> io::Result<()> {
        let payload = (transfer.options.segment - TIME_STAMPS).0 as usize;
        if let Some(until) = source.endless_until() {
            sys::set_option(
                &*stream,
                libc::IPPROTO_TCP,
                libc::TCP_NOTSENT_LOWAT,
                UNSENT_PACKETS * payload as u64,
            )?;
            while self.clock.now() < until && !self.ended.load(Ordering::Relaxed) {
                stream.write_all(&PAYLOAD[..payload])?;
            }
        }
        loop {
            let ready = source.next_at();
            if !self.wait_until(ready) {
                break;
            }
            if ready >= source.endless_from() {
                loop {
                    stream.write_all(&PAYLOAD[..payload])?;
                }
            }
            stream.write_all(&PAYLOAD[..payload])?;
        }
        Err(io::Error::other("the run has ended"))
    }
}
