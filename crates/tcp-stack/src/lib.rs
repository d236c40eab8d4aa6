//! Fairhaul's own TCP as a transport stack behind the interface in the layout of C.
//!
//! A flow of the engine has the sender and the receiver of `fairhaul-sim`, which share its types. Here the same two ends
//! exchange packets as bytes with an engine that knows nothing of them. Both flows have the same record (`tests`), so
//! whatever another stack does differently is its own doing and not that of the interface.
//!
//! The setting `flow` has the keys of a `[[flow]]` for the hosts: controller, recovery, and so on.

mod packet;
mod receiver;
mod sender;
mod settings;

use std::ffi::CStr;

use fairhaul_cc::{StackEnd, StackState, Transmit};
use fairhaul_stack::{Exported, Role, Setup, export_stack, interface, raw};
use fairhaul_units::{Ecn, Time};

use receiver::ReceiverEnd;
use sender::SenderEnd;
use settings::Hosts;

/// The release of this crate.
const RELEASE: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(release) => release,
    Err(_) => panic!("a version has no zero"),
};

/// An end of a connection.
enum TcpEnd {
    Sender(Box<SenderEnd>),
    Receiver(Box<ReceiverEnd>),
}

impl Exported for TcpEnd {
    const NAME: &'static CStr = c"fairhaul-tcp";
    const RELEASE: &'static CStr = RELEASE;
    const HEADERS: u32 = 0;
    const HAS_STREAMS: bool = false;

    fn new(setup: &mut Setup) -> Result<TcpEnd, String> {
        let hosts = Hosts::read(setup)?;
        Ok(match setup.role {
            Role::Sender => TcpEnd::Sender(Box::new(SenderEnd::new(&hosts))),
            Role::Receiver => TcpEnd::Receiver(Box::new(ReceiverEnd::new(&hosts))),
        })
    }
}

export_stack!(TcpEnd);

/// The functions of this stack, for a program that it is a part of.
pub const FUNCTIONS: raw::Interface = interface::<TcpEnd>();

impl StackEnd for TcpEnd {
    fn receive(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        match self {
            TcpEnd::Sender(end) => end.receive(now, bytes),
            TcpEnd::Receiver(end) => end.receive(now, bytes, ecn),
        }
    }

    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        match self {
            TcpEnd::Sender(end) => end.transmit(now, into),
            TcpEnd::Receiver(end) => end.transmit(into),
        }
    }

    fn on_timer(&mut self, now: Time) {
        match self {
            TcpEnd::Sender(end) => end.on_timer(now),
            TcpEnd::Receiver(end) => end.on_timer(now),
        }
    }

    fn write(&mut self, _: Time, _: u32, bytes: &[u8], fin: bool) -> usize {
        match self {
            TcpEnd::Sender(end) => end.write(bytes.len(), fin),
            TcpEnd::Receiver(_) => 0,
        }
    }

    fn read(&mut self, _: Time, _: u32, into: &mut [u8]) -> usize {
        match self {
            TcpEnd::Sender(_) => 0,
            TcpEnd::Receiver(end) => end.read(into),
        }
    }

    fn state(&mut self) -> StackState {
        match self {
            TcpEnd::Sender(end) => end.state(),
            TcpEnd::Receiver(end) => end.state(),
        }
    }

    fn reason(&mut self) -> String {
        String::new()
    }
}
