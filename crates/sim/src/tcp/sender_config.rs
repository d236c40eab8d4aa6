//! The configuration of a sender, and how its transfer is divided into packets.

use fairhaul_cc::{Start, Window};
use fairhaul_experiment::{
    AccEcnOption, Flow, Growth, HostPacing, Middlebox, OnTimeout, ReceiverClock, Recovery, Restart, Rto,
    SlowStart, Startup, Transfer,
};
use fairhaul_units::{Bytes, Ecn, Rate, Span};

use super::buffer_limits::BufferLimits;
use super::segmentation::{Segmentation, packets_of_skb};
use super::send_card::SendCard;

/// The configuration of a sender, apart from its controller.
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// How it recovers.
    pub recovery: Recovery,
    /// Full data packet on the wire, bytes.
    pub packet: u32,
    /// Of that, headers.
    pub headers: u32,
    /// Whether they have the options of a host of Linux.
    pub options: bool,
    /// Payload of the whole transfer, bytes; `None`: without end.
    pub size: Option<u64>,
    /// Window after the handshake, packets.
    pub initial_window: f64,
    /// Slow-start threshold at the start, packets.
    pub initial_ssthresh: f64,
    /// Bound of the window, packets.
    pub max_window: f64,
    /// How the window grows in slow start.
    pub slow_start: SlowStart,
    /// What the first round trips do beyond that.
    pub startup: Startup,
    /// Whether what was in flight bounds the growth of a window that is not used.
    pub rate_limited_increase: bool,
    /// By what it grows.
    pub growth: Growth,
    /// What a pause leaves of it.
    pub restart: Restart,
    /// What happens when the retransmission timer runs out.
    pub on_timeout: OnTimeout,
    /// No reduction leaves a smaller window, packets.
    pub min_window: Option<f64>,
    /// The share of it that an echoed mark leaves, and the first reduction if it ends the first slow start, where that
    /// is not for the controller to say.
    pub mark_beta: Option<f64>,
    /// See there.
    pub first_beta: Option<f64>,
    /// How the host spreads packets for a controller that does not.
    pub pacing: HostPacing,
    /// What its new data carry [RFC 3168].
    pub ecn: Ecn,
    /// Accurate feedback on marks, if it is requested: when its option is sent, and what a middlebox does to it.
    pub accecn: Option<(AccEcnOption, Middlebox)>,
    /// The fastest that packets leave.
    pub max_pacing_rate: Option<Rate>,
    /// The fastest that its host can send, packets/s.
    pub line: f64,
    /// Packets that leave in one burst, or the most that the kernel lets leave.
    pub offload: u64,
    /// How the kernel sizes bursts; `None`: they have the size of `offload`.
    pub segmentation: Option<Segmentation>,
    /// The card of its host, where it has a rate.
    pub card: Option<SendCard>,
    /// Whether it takes back what it did for packets that were merely late.
    pub undo: bool,
    /// By what the receiver stamps arrivals; `None`: by the sender's clock.
    pub clock: Option<ReceiverClock>,
    /// Limits of both socket buffers, at the start or as they stand.
    pub buffers: BufferLimits,
    /// Least margin of the retransmission timer, or its least timeout.
    pub min_rto: Span,
    /// How its timeout follows from round trips.
    pub rto: Rto,
    /// Whether the window counts whole packets.
    pub integer_cwnd: bool,
}

impl SenderConfig {
    /// The configuration of the connection that makes `transfer` for `flow`.
    pub fn of(flow: &Flow, transfer: &Transfer) -> SenderConfig {
        let payload = flow.payload().0;
        SenderConfig {
            recovery: flow.recovery,
            packet: flow.packet.0 as u32,
            headers: flow.headers().0 as u32,
            options: flow.has_options(),
            size: transfer.size.map(|size| size.0),
            initial_window: flow.initial_window,
            initial_ssthresh: flow.initial_ssthresh,
            max_window: flow.max_window,
            slow_start: flow.slow_start,
            startup: flow.startup,
            rate_limited_increase: flow.rate_limited_increase,
            growth: flow.growth,
            restart: flow.restart,
            on_timeout: flow.on_timeout,
            min_window: flow.min_window,
            mark_beta: flow.mark_beta,
            first_beta: flow.first_beta,
            pacing: flow.pacing,
            ecn: match (flow.ecn, flow.ect1) {
                (false, _) => Ecn::NotCapable,
                (true, false) => Ecn::Capable,
                (true, true) => Ecn::CapableL4s,
            },
            accecn: flow.accecn.map(|option| (option, flow.middlebox)),
            max_pacing_rate: flow.max_pacing_rate,
            line: flow.line(),
            offload: packets_of_skb(flow),
            segmentation: Segmentation::of(flow),
            card: SendCard::of(flow),
            undo: flow.undo,
            clock: Some(flow.clock).filter(|clock| !clock.is_exact()),
            buffers: BufferLimits::of(flow, payload),
            min_rto: flow.min_rto,
            rto: flow.rto,
            integer_cwnd: flow.integer_cwnd,
        }
    }

    /// The window after the handshake.
    pub fn window(&self) -> Window {
        Window { cwnd: self.initial_window.min(self.max_window), ssthresh: self.initial_ssthresh }
    }

    /// Whether new data leave one by one as the window lets them; `paces`: the controller spreads them.
    pub fn is_unpaced(&self, paces: bool) -> bool {
        let alone = self.offload == 1 && self.segmentation.is_none() && self.card.is_none();
        alone && !paces && self.pacing == HostPacing::None && self.startup == Startup::None
    }

    /// How many packets the transfer is cut into.
    pub fn packets(&self) -> u64 {
        self.size.map_or(u64::MAX, |size| size.div_ceil(self.payload().0))
    }

    /// Payload of the packets before that number, bytes.
    pub fn bytes_before(&self, number: u64) -> u64 {
        let full = number.saturating_mul(self.payload().0);
        self.size.map_or(full, |size| full.min(size))
    }

    /// Payload of the packets from that number to before another, bytes.
    #[inline(always)]
    pub fn bytes_between(&self, from: u64, to: u64) -> u64 {
        match self.size {
            Some(_) => self.bytes_before(to) - self.bytes_before(from),
            None => (to - from) * self.payload().0 - self.lacking(from, to),
        }
    }

    /// What a packet lacks that ends a call of the program, if it is one of these.
    #[inline(always)]
    fn lacking(&self, from: u64, to: u64) -> u64 {
        if self.buffers.tunes_send_buffer() { self.lacking_of_call(from, to) } else { 0 }
    }

    #[cold]
    fn lacking_of_call(&self, from: u64, to: u64) -> u64 {
        match self.buffers.short() {
            Some((number, lacks)) if (from..to).contains(&number) => lacks.into(),
            _ => 0,
        }
    }

    /// Size of that packet on the wire: every packet is full but the last of the transfer, and the last ones of calls of the program.
    pub fn packet_size(&self, number: u64) -> u32 {
        match self.size {
            Some(_) => self.bytes_between(number, number + 1) as u32 + self.headers,
            None => self.packet - self.lacking(number, number + 1) as u32,
        }
    }

    /// What the controller learns when the sender starts.
    pub fn start(&self) -> Start {
        Start { payload: self.payload(), together: self.offload }
    }

    /// Payload of a full packet.
    pub fn payload(&self) -> Bytes {
        Bytes(u64::from(self.packet - self.headers))
    }
}

#[cfg(test)]
impl SenderConfig {
    /// Endless data in packets of 1000 B, by default rules.
    pub(crate) fn for_tests() -> SenderConfig {
        SenderConfig {
            recovery: Recovery::Sack,
            packet: 1000,
            headers: 40,
            options: false,
            size: None,
            initial_window: 2.0,
            initial_ssthresh: f64::INFINITY,
            max_window: f64::INFINITY,
            slow_start: SlowStart::Standard,
            startup: Startup::None,
            rate_limited_increase: false,
            growth: Growth::PerPacket,
            restart: Restart::None,
            on_timeout: OnTimeout::StartOver,
            min_window: None,
            mark_beta: None,
            first_beta: None,
            pacing: HostPacing::None,
            ecn: Ecn::NotCapable,
            accecn: None,
            max_pacing_rate: None,
            line: 1e6,
            offload: 1,
            segmentation: None,
            card: None,
            undo: true,
            clock: None,
            buffers: BufferLimits::for_packets(u64::MAX),
            min_rto: Span::from_ms(200),
            rto: Rto::Scaled,
            integer_cwnd: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_bytes_are_ten_packets_of_960_and_one_of_400() {
        let config = SenderConfig { size: Some(10_000), ..SenderConfig::for_tests() };
        assert_eq!((config.packets(), config.bytes_before(10)), (11, 9600));
        assert_eq!((config.packet_size(9), config.packet_size(10)), (1000, 440));
    }
}
