//! What packets cost the processor of a host.

use fairhaul_units::Span;

/// The time that a host works for what it sends, or takes over. A flow has a processor of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Processor {
    /// For what passes the host as one: a burst that leaves, or packets that were merged, with its acknowledgement.
    pub burst: Span,
    /// For 1000 bytes, which are copied.
    pub kilobyte: Span,
    /// For each packet that arrives, before packets are merged.
    pub packet: Span,
}

impl Processor {
    /// The work for packets that arrive, which become that many bursts.
    pub fn takes(&self, bursts: u64, packets: u64, bytes: u64) -> Span {
        self.burst * bursts + self.packet * packets + self.copies(bytes)
    }

    /// The work for that many bytes alone.
    pub fn copies(&self, bytes: u64) -> Span {
        self.kilobyte * bytes / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 65,160 bytes at 1.1 us and 0.2 us per kilobyte take 14.132 us to send, 36.9 Gbit/s.
    #[test]
    fn a_burst_costs_its_own_time_and_that_of_its_bytes() {
        let ns = |ns: u64| Span::from_us(ns) / 1000;
        let processor = Processor { burst: ns(1100), kilobyte: ns(200), packet: ns(300) };
        assert_eq!(processor.burst + processor.copies(65_160), ns(14_132));
        assert_eq!(processor.takes(2, 45, 65_160), ns(2 * 1100 + 45 * 300 + 13_032));
    }
}
