//! smoltcp as a transport stack of Fairhaul: its datagrams are IP packets, and its clock has steps of 1 µs.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::time::Duration;

use fairhaul_cc::{StackEnd, StackState, Transmit};
use fairhaul_stack::{Exported, Role, Settings, Setup, export_stack};
use fairhaul_units::{Ecn, Time};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr, Ipv4Address};

const PS_PER_US: u64 = 1_000_000;
const PORT: u16 = 4433;
/// The port of the caller; the receiver knows only the other.
const LOCAL_PORT: u16 = 49_152;
/// The buffers of both ends, and so the receive window: the product of 1 Gbit/s and 100 ms, rounded up.
const BUFFER: usize = 1 << 24;

/// An end of a TCP connection.
struct SmoltcpEnd {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    link: Link,
    now: Instant,
    is_ended: bool,
}

/// The release of the crate, which this package has for its own version.
const RELEASE: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(release) => release,
    Err(_) => panic!("a version has no zero"),
};

impl Exported for SmoltcpEnd {
    const NAME: &'static CStr = c"smoltcp";
    const RELEASE: &'static CStr = RELEASE;
    const HEADERS: u32 = 0;
    const HAS_STREAMS: bool = false;

    fn new(setup: &mut Setup) -> Result<SmoltcpEnd, String> {
        let packet = setup.common.packet as usize;
        if packet < 576 {
            return Err(format!("packet = {packet} B: smoltcp needs packets of at least 576 B"));
        }
        let mut link = Link { packet, ..Link::default() };
        let now = instant(setup.common.now);
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = setup.common.seed;
        let mut interface = Interface::new(config, &mut link, now);
        let (own, other) = match setup.role {
            Role::Sender => (1, 2),
            Role::Receiver => (2, 1),
        };
        interface.update_ip_addrs(|addresses| {
            addresses
                .push(IpCidr::new(address(own).into(), 24))
                .expect("there is room for the first address");
        });
        let mut socket = socket(&mut setup.settings)?;
        match setup.role {
            Role::Sender => socket
                .connect(interface.context(), (address(other), PORT), LOCAL_PORT)
                .map_err(|error| error.to_string())?,
            Role::Receiver => socket.listen(PORT).map_err(|error| error.to_string())?,
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        let mut end = SmoltcpEnd { interface, sockets, socket, link, now, is_ended: false };
        end.poll(setup.common.now);
        Ok(end)
    }
}

export_stack!(SmoltcpEnd);

fn socket(settings: &mut Settings) -> Result<Socket<'static>, String> {
    let size = settings.number("buffer", 1 << 12..=1 << 30)?.unwrap_or(BUFFER);
    let buffer = || SocketBuffer::new(vec![0; size]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.set_congestion_control(match settings.word("controller", &["cubic", "reno", "none"])? {
        "reno" => CongestionControl::Reno,
        "none" => CongestionControl::None,
        _ => CongestionControl::Cubic,
    });
    socket.set_nagle_enabled(settings.switch("nagle", true)?);
    if let Some(delay_ms) = settings.number("ack_delay_ms", 0..=500u64)? {
        socket.set_ack_delay(Some(Duration::from_millis(delay_ms).into()).filter(|_| delay_ms > 0));
    }
    Ok(socket)
}

fn address(host: u8) -> Ipv4Address {
    Ipv4Address::new(10, 0, 0, host)
}

fn instant(now: Time) -> Instant {
    Instant::from_micros((now.as_ps() / PS_PER_US) as i64)
}

impl SmoltcpEnd {
    fn poll(&mut self, now: Time) {
        self.now = instant(now);
        self.interface.poll(self.now, &mut self.link, &mut self.sockets);
    }

    fn tcp(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }
}

impl StackEnd for SmoltcpEnd {
    fn receive(&mut self, now: Time, bytes: &[u8], _: Ecn) {
        self.link.arrived.push_back(bytes.to_vec());
        self.poll(now);
    }

    fn transmit(&mut self, now: Time, into: &mut [u8]) -> Option<Transmit> {
        if self.link.leaving.is_empty() {
            self.poll(now);
        }
        let bytes = self.link.leaving.pop_front()?;
        into[..bytes.len()].copy_from_slice(&bytes);
        let (size, ecn) = (bytes.len(), Ecn::NotCapable);
        Some(Transmit { size, ecn, not_before: now, retransmits: false, opens: false })
    }

    fn on_timer(&mut self, now: Time) {
        self.poll(now);
    }

    fn write(&mut self, _: Time, _: u32, bytes: &[u8], fin: bool) -> usize {
        let tcp = self.tcp();
        let taken = if tcp.may_send() { tcp.send_slice(bytes).unwrap_or(0) } else { 0 };
        if fin && taken == bytes.len() {
            tcp.close();
            self.is_ended = true;
        }
        taken
    }

    fn read(&mut self, _: Time, _: u32, into: &mut [u8]) -> usize {
        let tcp = self.tcp();
        if tcp.can_recv() { tcp.recv_slice(into).unwrap_or(0) } else { 0 }
    }

    fn state(&mut self) -> StackState {
        let due = self.interface.poll_at(self.now, &self.sockets);
        // A time that has passed means at once; the clock of the stack moves in whole steps.
        let due = due.map(|due| due.total_micros().max(self.now.total_micros() + 1) as u64);
        let (is_ended, tcp) = (self.is_ended, self.tcp());
        StackState {
            timer: due.map_or(Time::NEVER, |due_us| Time::from_ps(due_us * PS_PER_US)),
            is_closed: !tcp.is_open(),
            is_finished: Some(is_ended && tcp.send_queue() == 0),
            ..StackState::default()
        }
    }

    fn reason(&mut self) -> String {
        "the connection was reset, or timed out".to_owned()
    }
}

/// The device: packets that have arrived, and packets that leave.
#[derive(Default)]
struct Link {
    packet: usize,
    arrived: VecDeque<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
}

impl Device for Link {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let bytes = self.arrived.pop_front()?;
        Some((Arrived(bytes), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.packet;
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }
}

struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, use_bytes: F) -> R {
        use_bytes(&self.0)
    }
}

struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut bytes = vec![0; length];
        let result = write(&mut bytes);
        self.0.push_back(bytes);
        result
    }
}
