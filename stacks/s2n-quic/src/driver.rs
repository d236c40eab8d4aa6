//! The I/O provider: it keeps the endpoint that s2n-quic starts, and hands it single datagrams and the time of the simulator.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use fairhaul_stack::Role;
use fairhaul_units::{Ecn, Time};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::provider::io::Provider;
use s2n_quic_core::endpoint::{Endpoint, Type};
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress, datagram};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{LocalAddress, RemoteAddress, Tuple, mtu};
use s2n_quic_core::time::Timestamp;

const PS_PER_US: u64 = 1_000_000;
/// The clock at the start of a run: a time stamp of s2n-quic is never zero.
const START: Duration = Duration::from_secs(1);

/// A time as s2n-quic has it, in whole microseconds.
pub fn timestamp(now: Time) -> Timestamp {
    let since_start = Duration::from_micros(now.as_ps() / PS_PER_US);
    // SAFETY: times may only come from a source of time, which this is.
    unsafe { Timestamp::from_duration(START + since_start) }
}

/// The address of the other end.
pub fn peer(role: Role) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, if role == Role::Sender { 2 } else { 1 }), 4433).into()
}

/// An endpoint, whatever its providers are.
pub trait Driven: Send {
    /// A datagram arrives.
    fn receive(&mut self, bytes: &[u8], ecn: Ecn, now: Timestamp);
    /// Looks at its timers, and writes the next datagram to `into`, if there is one: its length and ECN bits.
    fn transmit(&mut self, into: &mut [u8], now: Timestamp) -> Option<(usize, Ecn)>;
    /// Takes over what the application has done: whether it had done anything.
    fn wake(&mut self, context: &mut Context<'_>, now: Timestamp) -> bool;
    /// When it wants to be called, later than `now`.
    fn timer(&self, now: Time) -> Time;
}

impl<E: Endpoint<PathHandle = Tuple>> Driven for E {
    fn receive(&mut self, bytes: &[u8], ecn: Ecn, now: Timestamp) {
        let role = if E::ENDPOINT_TYPE == Type::Client { Role::Sender } else { Role::Receiver };
        let other = if role == Role::Sender { Role::Receiver } else { Role::Sender };
        let path = Tuple {
            remote_address: RemoteAddress(peer(role).into()),
            local_address: LocalAddress(peer(other).into()),
        };
        let header = datagram::Header { path, ecn: ExplicitCongestionNotification::new(ecn.bits()) };
        Endpoint::receive(self, &mut Arrived(Some((header, bytes.to_vec()))), &now);
    }

    fn transmit(&mut self, into: &mut [u8], now: Timestamp) -> Option<(usize, Ecn)> {
        let mut leaving = Leaving { into, given: None };
        Endpoint::transmit(self, &mut leaving, &now);
        leaving.given
    }

    fn wake(&mut self, context: &mut Context<'_>, now: Timestamp) -> bool {
        matches!(self.poll_wakeups(context, &now), Poll::Ready(Ok(_)))
    }

    fn timer(&self, now: Time) -> Time {
        let Some(due) = self.timeout() else { return Time::NEVER };
        // SAFETY: as for `timestamp`.
        let since_start_us = (unsafe { due.as_duration() }.saturating_sub(START)).as_micros() as u64;
        // A time that has passed means at once; the clock of the stack moves in whole steps.
        let least_us = now.as_ps() / PS_PER_US + 1;
        Time::from_ps(since_start_us.max(least_us).saturating_mul(PS_PER_US))
    }
}

/// The one datagram that has arrived.
struct Arrived(Option<(datagram::Header<Tuple>, Vec<u8>)>);

impl rx::Queue for Arrived {
    type Handle = Tuple;

    fn for_each<F: FnMut(datagram::Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        if let Some((header, mut bytes)) = self.0.take() {
            on_packet(header, &mut bytes);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Room for one datagram.
struct Leaving<'a> {
    into: &'a mut [u8],
    given: Option<(usize, Ecn)>,
}

impl tx::Queue for Leaving<'_> {
    type Handle = Tuple;
    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(&mut self, mut message: M) -> Result<tx::Outcome, tx::Error> {
        if self.given.is_some() {
            return Err(tx::Error::AtCapacity);
        }
        let ecn = Ecn::of_bits(message.ecn() as u8);
        let len = message.write_payload(tx::PayloadBuffer::new(self.into), 0)?;
        self.given = Some((len, ecn));
        Ok(tx::Outcome { len, index: 0 })
    }

    fn capacity(&self) -> usize {
        usize::from(self.given.is_none())
    }
}

/// Where the endpoint is put that s2n-quic starts; all copies are the same place.
#[derive(Clone)]
pub struct Slot {
    endpoint: Arc<Mutex<Option<Box<dyn Driven>>>>,
    mtu: mtu::Config,
}

impl Slot {
    /// For packets up to that size, with headers; by default it begins with the least ones.
    pub fn new(packet: u16, initial: Option<u16>) -> Result<Slot, String> {
        let mut mtu = mtu::Config::builder().with_max_mtu(packet);
        if let Some(initial) = initial {
            mtu = mtu.and_then(|mtu| mtu.with_initial_mtu(initial));
        }
        let mtu = mtu.and_then(|mtu| mtu.build()).map_err(|error| error.to_string())?;
        Ok(Slot { endpoint: Arc::default(), mtu })
    }

    /// What was put there.
    pub fn take(&self) -> Option<Box<dyn Driven>> {
        self.endpoint.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Provider for Slot {
    type PathHandle = Tuple;
    type Error = Infallible;

    fn start<E: Endpoint<PathHandle = Tuple>>(self, mut endpoint: E) -> Result<SocketAddress, Infallible> {
        endpoint.set_mtu_config(self.mtu);
        *self.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(endpoint));
        let own = if E::ENDPOINT_TYPE == Type::Client { Role::Receiver } else { Role::Sender };
        Ok(peer(own).into())
    }
}

/// What events have shown of the connection; all copies are the same.
#[derive(Clone, Default)]
pub struct Shown(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    cwnd: Option<u32>,
    reductions: u64,
    reason: Option<String>,
}

impl Shown {
    /// The congestion window, bytes, and how often it was reduced.
    pub fn window(&self) -> (Option<u32>, u64) {
        let known = self.known();
        (known.cwnd, known.reductions)
    }

    /// Why the connection was closed.
    pub fn reason(&self) -> Option<String> {
        self.known().reason.clone()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the events of the connection.
pub struct Watch(pub Shown);

impl Subscriber for Watch {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_recovery_metrics(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::RecoveryMetrics) {
        let mut known = self.0.known();
        let is_smaller = known.cwnd.is_some_and(|cwnd| event.congestion_window < cwnd);
        known.reductions += u64::from(is_smaller);
        known.cwnd = Some(event.congestion_window);
    }

    fn on_connection_closed(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::ConnectionClosed) {
        self.0.known().reason = Some(event.error.to_string());
    }
}
