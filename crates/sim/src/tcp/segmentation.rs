//! How large Linux makes the bursts of segmentation offload [LINUX, tcp_tso_autosize].

use fairhaul_experiment::{Flow, FqHorizon, HostSettings};
use fairhaul_units::Span;

/// A burst has what the pacing rate sends in one part of this of a second (sk_pacing_shift), and on short round trips
/// more: half as much for each further 512 us, unless `tcp_tso_rtt_log` says otherwise.
pub(super) const PARTS_OF_SECOND: f64 = 1024.0;
/// The least packets of a burst (tcp_min_tso_segs), and the pacing rate below which one packet is enough for BBR
/// (bbr_min_tso_rate), bytes/s.
const LEAST: u64 = 2;
const SLOW: f64 = 150_000.0;

/// The most bytes of a burst that a kernel sizes [LINUX, sk_gso_max_size]: 64 KiB without the headers of all layers.
const LARGEST_BURST: u64 = 65_536 - 257;

/// What a burst takes of memory beside its payload: its descriptor, and the room for its headers. By `ss -tm` of
/// Linux 6.18, 41 packets of 1448 B take 93480 B.
pub(super) const SKB_OVERHEAD: u64 = 832;

/// What a program hands over with one call, bytes.
pub(super) const CALL: u64 = 1 << 18;

/// How many packets a sender of `flow` hands over together.
pub(super) fn packets_of_skb(flow: &Flow) -> u64 {
    if flow.offload == Flow::BURSTS_OF_KERNEL {
        (LARGEST_BURST / flow.payload().0).max(1)
    } else {
        flow.offload
    }
}

/// In what blocks of memory payload lies that waits to be sent. A block is as large as a burst may be [LINUX,
/// tcp_sendmsg_locked].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    segment: u64,
    largest: u64,
}

impl Blocks {
    /// Those of `flow`.
    pub fn of(flow: &Flow) -> Blocks {
        Blocks { segment: flow.payload().0, largest: packets_of_skb(flow) }
    }

    /// Blocks of up to `largest` packets of `segment` bytes of payload.
    #[cfg(test)]
    pub fn of_packets(segment: u64, largest: u64) -> Blocks {
        Blocks { segment, largest }
    }

    /// Payload of a packet, bytes.
    pub fn segment(&self) -> u64 {
        self.segment
    }

    /// The first packet behind the block that holds packet `number`, where one begins at `origin`.
    pub fn end_of(&self, number: u64, origin: u64) -> u64 {
        let past = number.saturating_sub(origin) / self.largest;
        origin.saturating_add((past + 1) * self.largest)
    }

    /// Packets of a block.
    pub fn largest(&self) -> u64 {
        self.largest
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segmentation {
    /// Payload of a packet in the kernel.
    segment: f64,
    /// For how much longer a round trip a burst has half as much of what it has on the shortest.
    rtt_step: Span,
    /// Whether a slow flow sends single packets.
    single_if_slow: bool,
    /// The blocks that bursts are taken from.
    pub blocks: Blocks,
    /// The horizon of `fq`, where bursts wait in it for their departure.
    pub fq: Option<FqHorizon>,
}

impl Segmentation {
    /// That of the sender of `flow`; `None`: the scenario gives the size.
    pub fn of(flow: &Flow) -> Option<Segmentation> {
        let ideal = HostSettings::default();
        let host = flow.host.as_deref().unwrap_or(&ideal);
        (flow.offload == Flow::BURSTS_OF_KERNEL).then(|| Segmentation {
            segment: flow.payload().0 as f64,
            rtt_step: Span::from_us(1 << host.tso_rtt_log()),
            single_if_slow: flow.controller.name() == "bbr",
            blocks: Blocks::of(flow),
            fq: flow.fq(),
        })
    }

    /// What a burst of that many packets takes of memory, bytes (skb->truesize).
    pub fn memory(&self, packets: u64) -> u64 {
        packets * self.segment as u64 + SKB_OVERHEAD
    }

    /// What a packet more takes of it.
    pub fn memory_of_packet(&self) -> u64 {
        self.segment as u64
    }

    /// How long the largest burst of all takes at a pacing rate of `rate` packets/s.
    pub fn time_of_largest(&self, rate: f64) -> Span {
        Span::from_secs(LARGEST_BURST as f64 / (rate * self.segment))
    }

    /// The most packets that leave as one at a pacing rate of `rate` packets/s.
    pub fn largest(&self, rate: f64, min_rtt: Span) -> u64 {
        let most = LARGEST_BURST as f64;
        let halvings = min_rtt / self.rtt_step;
        let more = if halvings < 32 { LARGEST_BURST >> halvings } else { 0 };
        let bytes = (rate * self.segment / PARTS_OF_SECOND + more as f64).min(most);
        let least = if self.single_if_slow && rate * self.segment < SLOW { 1 } else { LEAST };
        ((bytes / self.segment) as u64).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Blocks = Blocks { segment: 1448, largest: 45 };

    /// Of 1448 B: 100 Mbit/s of payload with a gain of 1.2 are 117 kB in a 1024th of a second.
    #[test]
    fn a_burst_is_a_millisecond_of_the_rate_and_more_on_short_paths() {
        let segmentation = Segmentation {
            segment: 1448.0,
            rtt_step: Span::from_us(512),
            single_if_slow: true,
            blocks: BLOCKS,
            fq: None,
        };
        let of = |mbps: f64, rtt_us| segmentation.largest(mbps * 1e6 / 8.0 / 1448.0, Span::from_us(rtt_us));
        assert_eq!([of(1.0, 40_000), of(20.0, 40_000), of(116.0, 40_000), of(349.0, 40_000)], [1, 2, 9, 29]);
        assert_eq!([of(1e4, 40_000), of(100.0, 100), of(100.0, 600), of(100.0, 3_000)], [45, 45, 30, 9]);
    }

    #[test]
    fn blocks_are_as_large_as_a_burst_may_be() {
        let ends = [0, 44, 45, 180, 181].map(|number| BLOCKS.end_of(number, 0));
        assert_eq!(ends, [45, 45, 90, 225, 225]);
        assert_eq!([181, 225, 226].map(|number| BLOCKS.end_of(number, 181)), [226, 226, 271]);
    }
}
