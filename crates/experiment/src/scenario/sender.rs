//! The rules of the sender and the receiver of a flow, a type for each that a scenario can choose.

use fairhaul_units::Span;

/// How a sender recovers from loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast recovery that ends with the first new acknowledgement [RFC 5681].
    Reno,
    /// Partial acknowledgements retransmit [RFC 6582].
    NewReno {
        /// The retransmission timer is restarted by the first partial acknowledgement only
        /// ("impatient"); otherwise by each ("slow but steady").
        impatient: bool,
    },
    /// Selective acknowledgements [RFC 2018, RFC 6675].
    Sack,
    /// The same, and the window comes down to its threshold in proportion to what is delivered
    /// [RFC 6937].
    SackPrr,
    /// The same, losses are found by time, and a probe goes before the timer [RFC 8985].
    Rack,
}

impl Recovery {
    /// Whether the receiver reports what arrives out of order.
    pub fn reports(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::SackPrr | Recovery::Rack)
    }

    /// Whether the window comes down in proportion to what is delivered.
    pub fn uses_prr(self) -> bool {
        matches!(self, Recovery::SackPrr | Recovery::Rack)
    }
}

/// How the window grows before it has met its threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowStart {
    /// Doubling each round [RFC 5681].
    Standard,
    /// Above that window by half of it each round, at most [RFC 3742].
    Limited {
        /// Packets.
        max_ssthresh: f64,
    },
    /// HyStart++: ended by a rising round-trip time [RFC 9406].
    HyStartPp,
    /// By every packet acknowledged, however many in one acknowledgement [LINUX].
    Full,
    /// The same, ended by a long train of acknowledgements or a rising round-trip time [HYSTART, LINUX].
    HyStart,
    /// The same, ended where deliveries fall behind what was sent a round trip earlier [SEARCH].
    Search {
        /// Whose rule.
        variant: SearchVariant,
        /// Whether the window then comes down to what an empty buffer needs.
        drain: bool,
    },
}

/// Whose rule ends slow start by SEARCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchVariant {
    /// SEARCH 4.0: deliveries are compared with what was sent [SEARCH].
    Draft,
    /// SEARCH 3.1 of its authors' module for Linux: deliveries are compared with earlier deliveries [SEARCH-LINUX].
    Linux,
}

impl SlowStart {
    /// Whether every packet of an acknowledgement counts.
    pub fn is_full(self) -> bool {
        matches!(self, SlowStart::Full | SlowStart::HyStart | SlowStart::Search { .. })
    }
}

/// What a connection does in its first round trips beyond slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Startup {
    /// Nothing: the initial window leaves as the host lets it.
    None,
    /// The initial window is spread over the round trip of the handshake.
    Paced,
    /// It jumps to half of a window that an earlier connection of this path has used [CAREFUL-RESUME].
    CarefulResume {
        /// What that connection has saved of the path: packets that it delivered in a round trip.
        cwnd: f64,
        /// Its smallest round trip.
        rtt: Span,
        /// The most that the jump may reach, packets.
        max_jump: f64,
    },
    /// It triples the window while the delay does not rise, and corrects it in its first recovery [RAPID-START].
    RapidStart,
    /// It spreads all that it has to send over the round trip of the handshake [JUMPSTART].
    Jumpstart,
}

/// How long a receiver may hold an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// For a time, and not beyond a number of packets.
    For {
        /// How long at most.
        most: Span,
        /// For how many packets it leaves at the latest.
        packets: u32,
    },
    /// As the kernel does: not at the start, later by how packets arrive [LINUX].
    Adaptive {
        /// How many packets at the start are acknowledged one by one.
        quick: u32,
    },
}

impl Hold {
    /// For that long, and until the second packet.
    pub const fn of_second(most: Span) -> Hold {
        Hold::For { most, packets: 2 }
    }
}

/// How the retransmission timeout follows from round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rto {
    /// With gains for one sample a round [RFC 6298], divided by their number [RFC 7323, G].
    Scaled,
    /// The same, and the least timeout is one of the whole [RFC 6298, 2.4].
    Rfc6298,
    /// With full gains, and a variation that falls once a round [LINUX].
    Linux,
}

/// What the sender does when its retransmission timer runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// It starts over with the least window, and retransmits what is in flight [RFC 6298].
    StartOver,
    /// It sends a probe, and starts over only for persistent congestion [RFC 9002, 6.2, 7.6].
    Probe,
}

/// Whose values the keys of a flow have that it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Those of the RFCs by the letter.
    Plain,
    /// Those of Linux, on ideal hosts.
    LinuxTcp,
    /// Those of Linux and its hosts, with buffers that limit nothing.
    LinuxTuned,
    /// Those of Linux and its hosts.
    Linux,
}

impl Profile {
    /// Whether its TCP is that of Linux.
    pub fn is_linux(self) -> bool {
        self != Profile::Plain
    }
}

/// What a pause leaves of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// All of it.
    None,
    /// Half for each timeout of silence but the first, down to the initial window [LINUX, tcp_cwnd_restart].
    Linux,
    /// After a timeout of silence the initial window [RFC 5681, 4.1].
    Rfc5681,
    /// All of it for five minutes; but a loss takes it to half of what was used [RFC 7661].
    Rfc7661,
}

/// By what the window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// By every packet acknowledged [RFC 3465].
    PerPacket,
    /// By every acknowledgement, as if it were of one packet [RFC 5681].
    PerAck,
}

/// How a host spreads the packets of a controller that does not do so itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPacing {
    /// They leave as the window lets them.
    None,
    /// At 1.2 times window / srtt, 2 times in slow start, after the first ten [LINUX, tcp_update_pacing_rate].
    Linux,
    /// At 1.25 times window / srtt, with a bucket of ten packets [RFC 9002, 7.7].
    Quic,
}

/// What a send buffer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sockbuf {
    /// Payload.
    Payload,
    /// As the kernel does, memory of packets against twice the requested size; and it is filled again only when a
    /// third of it is free [LINUX].
    Linux,
}
