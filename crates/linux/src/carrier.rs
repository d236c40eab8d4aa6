//! Carries packets between the hosts of a run: the emulated network, the packets that are due, and the texts that the
//! program and the process of the hosts exchange.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};

use fairhaul_host::lab::kernel_queue::is_queue;
use fairhaul_host::lab::network::Network;
use fairhaul_host::lab::offload::split_packet;
use fairhaul_host::lab::simulated_path::{NetworkResult, wake_ns};
use fairhaul_host::linux::SimulatedNetwork;
use fairhaul_host::variables;
use fairhaul_units::{Bytes, Time};

use super::card::{Card, length};
use super::outputs::file;

/// The texts of `enum fairhaul_text`.
mod text {
    pub const ANSWERS: u32 = 0;
    pub const RECORD: u32 = 1;
    pub const REQUEST: u32 = 2;
    pub const NETWORK: u32 = 3;
    pub const OUTPUT: u32 = 4;
    pub const CALLS: u32 = 5;
}

/// How much of each packet is carried if no program of the user reads its payload (`FAIRHAUL_HEADERS`).
const HEADERS: usize = 256;

/// A packet that is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// The number of the device, of a host or of a queue.
    device: u8,
    /// By what the network knows it again when it leaves a queue; zero at a host.
    mark: u32,
    /// Where it begins in `bytes`.
    begin: usize,
}

/// See the module.
pub struct Carrier {
    /// None once it has ended, and for a question.
    network: Option<Network>,
    connections: u32,
    /// The cards of hosts, by number.
    cards: Vec<Card>,
    /// Whether payload is carried.
    has_payload: bool,
    /// The buffer in which packets of a burst are split.
    scratch: Vec<u8>,
    /// When the run begins; packets before are carried at its beginning.
    origin_ns: u64,
    /// Packets that are due.
    due: Vec<Due>,
    /// The packets that are due, one behind the other.
    bytes: Vec<u8>,
    /// How many of them have been taken.
    taken: usize,
    request: Vec<u8>,
    result: Vec<u8>,
    answers: File,
    /// For a run.
    record: Option<File>,
    /// For who asks for the calls of controllers.
    calls: Option<File>,
    /// The input and output of a program, where they are no terminal.
    terminal: Option<(File, File)>,
}

impl Carrier {
    /// A carrier for the request in the environment.
    pub fn of_environment() -> io::Result<Carrier> {
        let mut request = Vec::new();
        file(variables::REQUEST)?.read_to_end(&mut request)?;
        let asked = SimulatedNetwork::of(&request).map_err(|error| io::Error::other(error.to_string()))?;
        let cards = asked.iter().flat_map(|asked| {
            (0..).zip(&asked.hosts).map(|(host, settings)| Card::new(settings, host, asked.seed))
        });
        let cards = cards.collect();
        let connections = asked.as_ref().map_or(0, |asked| asked.connections);
        let mut network = asked.map(|asked| asked.network);
        let has_payload =
            [variables::INPUT, variables::KEYBOARD].iter().any(|name| env::var_os(name).is_some());
        if let Some(network) = network.as_mut().filter(|_| !has_payload) {
            network.keep_only(HEADERS);
        }
        Ok(Carrier {
            cards,
            connections,
            network,
            has_payload,
            scratch: Vec::new(),
            origin_ns: 0,
            due: Vec::new(),
            bytes: Vec::new(),
            taken: 0,
            request,
            result: Vec::new(),
            answers: file(variables::ANSWERS)?,
            record: file(variables::RECORD).ok(),
            calls: file(variables::CALLS).ok(),
            terminal: file(variables::INPUT).ok().zip(file(variables::OUTPUT).ok()),
        })
    }

    /// The run begins at `origin_ns`.
    pub fn start(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
    }

    /// A host sends a packet, or several in one, each with `segment` bytes of payload but the last; returns when the last
    /// of them has left its card.
    pub fn send(&mut self, host: u8, packet: &[u8], segment: usize, mark: u32, now_ns: u64) -> u64 {
        let now = self.time(now_ns);
        if is_queue(host) {
            let left = self.network.as_mut().and_then(|network| network.leave_kernel(mark, packet, now));
            return left.map_or(now_ns, |left| wake_ns(self.origin_ns, left));
        }
        let Carrier { network, cards, scratch, origin_ns, has_payload, .. } = self;
        let (Some(network), Some(card)) = (network, cards.get_mut(usize::from(host))) else { return now_ns };
        let mut left = now;
        split_packet(packet, segment, *has_payload, scratch, |packet, sending| {
            let (at, link) = card.send(Bytes(packet.len() as u64), sending, now);
            network.accept_segment(host, packet, (sending, link), at);
            left = at;
        });
        if left > now { wake_ns(*origin_ns, left) } else { now_ns }
    }

    /// A queue of the kernel has dropped the packet with this mark.
    pub fn dropped(&mut self, mark: u32, now_ns: u64) {
        let now = self.time(now_ns);
        if let Some(network) = &mut self.network {
            network.drop_in_kernel(mark, now);
        }
    }

    /// Everything up to `now_ns` happens; returns when the next thing happens.
    pub fn advance(&mut self, now_ns: u64) -> Option<u64> {
        let now = self.time(now_ns);
        let Carrier { network, cards, due, bytes, taken, origin_ns, .. } = self;
        if *taken == due.len() {
            due.clear();
            bytes.clear();
            *taken = 0;
        }
        let network = network.as_mut()?;
        let mut hand = |device: u8, mark: u32, packet: &[u8]| {
            due.push(Due { device, mark, begin: bytes.len() });
            bytes.extend_from_slice(packet);
        };
        network.advance(now, |host, packet, at| match cards.get_mut(usize::from(host)) {
            Some(card) if card.delays() => card.receive(packet, at),
            _ => hand(host, 0, packet),
        });
        for (host, card) in (0..).zip(cards.iter_mut()) {
            card.deliver(now, |packet| hand(host, 0, packet));
        }
        network.hand_to_kernel(hand);
        let next = cards.iter().filter_map(Card::next_at).chain(network.next_at()).min();
        next.map(|at| wake_ns(*origin_ns, at))
    }

    /// Takes the next packet that is due: the number of its device, its mark, its length, and what is carried of it.
    pub fn receive(&mut self) -> Option<(u8, u32, u32, &[u8])> {
        let Due { device, mark, begin } = *self.due.get(self.taken)?;
        self.taken += 1;
        let end = self.due.get(self.taken).map_or(self.bytes.len(), |next| next.begin);
        let bytes = &self.bytes[begin..end];
        let whole = if self.has_payload { bytes.len() as u32 } else { length(bytes) };
        Some((device, mark, whole, bytes))
    }

    /// A text for the process of the hosts. Reading the network's result ends the network.
    pub fn read(&mut self, text: u32) -> &[u8] {
        match text {
            text::REQUEST => &self.request,
            text::NETWORK => {
                if let Some(mut network) = self.network.take() {
                    let result = NetworkResult {
                        counts: network.counts(),
                        in_order: (0..self.connections).map(|number| network.in_order(number)).collect(),
                        trace: network.take_trace(),
                        record: network.close().close("linux", Vec::new()),
                    };
                    self.result = serde_json::to_vec(&result).expect("a result has no keys but strings");
                }
                &self.result
            }
            _ => &[],
        }
    }

    /// A piece of a text of the process of the hosts.
    pub fn write(&mut self, text: u32, piece: &[u8]) -> io::Result<()> {
        let to = match text {
            text::ANSWERS => Some(&self.answers),
            text::RECORD => self.record.as_ref(),
            text::CALLS => self.calls.as_ref(),
            text::OUTPUT => self.terminal.as_ref().map(|terminal| &terminal.1),
            _ => None,
        };
        to.ok_or(io::ErrorKind::InvalidInput)?.write_all(piece)
    }

    /// Reads input of a program; returns its length, which is 0 at the end.
    pub fn input(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.terminal.as_ref().map_or(Ok(0), |terminal| (&terminal.0).read(room))
    }

    /// Whether nothing happens here any more unless a host sends.
    pub fn is_quiet(&self) -> bool {
        let idle = |network: &Network| network.counts().inside == 0;
        self.network.as_ref().is_none_or(idle) && self.cards.iter().all(|card| card.next_at().is_none())
    }

    /// The time of the network.
    fn time(&self, now_ns: u64) -> Time {
        Time::from_ps(now_ns.saturating_sub(self.origin_ns) * 1000)
    }
}
