//! The kernel's structures, as programs see them here: each field has eight bytes of its own, wherever a kernel
//! has it and however wide it is there.
//!
//! A loader relocates every access to a field to its place in the running kernel; here to its place in this list.

use crate::btf::Access;

/// Bytes that a field occupies: a word.
pub(crate) const WORD: usize = 8;
/// The words of its own that a controller has in each socket.
pub(crate) const OWN_WORDS: usize = 13;

/// A field that programs may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its structure, and its name there.
    pub of: &'static str,
    pub name: &'static str,
    /// Its size in the kernel; its value here is zero above.
    pub bits: u32,
    /// The number of its word.
    pub word: usize,
}

impl Field {
    /// The value in its word.
    pub(crate) const fn read(self, word: u64) -> u64 {
        word & (u64::MAX >> (64 - self.bits))
    }

    /// The word for a value. A flag is in every bit, because programs look for it where their kernel has it.
    pub(crate) const fn word_of(self, value: u64) -> u64 {
        match self.bits {
            1 if value & 1 == 1 => u64::MAX,
            _ => self.read(value),
        }
    }
}

macro_rules! fields {
    ($of:ident, $all:ident, $length:ident: $($field:ident = $structure:literal $name:literal $bits:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "numbers of constants")]
        enum $of { $($field,)* LAST }
        $(pub(crate) const $field: Field =
            Field { of: $structure, name: $name, bits: $bits, word: $of::$field as usize };)*
        const $all: &[Field] = &[$($field),*];
        /// Their words together.
        pub(crate) const $length: usize = $of::LAST as usize;
    };
}

fields! { Socket, OF_SOCKET, WITH_OWN_WORD:
    STATE = "sock_common" "skc_state" 8;
    PACING_RATE = "sock" "sk_pacing_rate" 64;
    MAX_PACING_RATE = "sock" "sk_max_pacing_rate" 64;
    PACING_STATUS = "sock" "sk_pacing_status" 32;
    PACING_SHIFT = "sock" "sk_pacing_shift" 8;
    TOS = "inet_sock" "tos" 8;
    CA_STATE = "inet_connection_sock" "icsk_ca_state" 5;
    MSTAMP = "tcp_sock" "tcp_mstamp" 64;
    CLOCK = "tcp_sock" "tcp_clock_cache" 64;
    SND_UNA = "tcp_sock" "snd_una" 32;
    SND_NXT = "tcp_sock" "snd_nxt" 32;
    HIGH_SEQ = "tcp_sock" "high_seq" 32;
    BYTES_ACKED = "tcp_sock" "bytes_acked" 64;
    CWND = "tcp_sock" "snd_cwnd" 32;
    CWND_COUNT = "tcp_sock" "snd_cwnd_cnt" 32;
    CWND_CLAMP = "tcp_sock" "snd_cwnd_clamp" 32;
    SSTHRESH = "tcp_sock" "snd_ssthresh" 32;
    PRIOR_CWND = "tcp_sock" "prior_cwnd" 32;
    MAX_PACKETS_OUT = "tcp_sock" "max_packets_out" 32;
    PACKETS_OUT = "tcp_sock" "packets_out" 32;
    SACKED_OUT = "tcp_sock" "sacked_out" 32;
    LOST_OUT = "tcp_sock" "lost_out" 32;
    RETRANS_OUT = "tcp_sock" "retrans_out" 32;
    SRTT = "tcp_sock" "srtt_us" 32;
    LEAST_RTT = "tcp_sock" "rtt_min.s.v" 32;
    LEAST_RTT_AT = "tcp_sock" "rtt_min.s.t" 32;
    MSS = "tcp_sock" "mss_cache" 32;
    ADVERTISED_MSS = "tcp_sock" "advmss" 16;
    DELIVERED = "tcp_sock" "delivered" 32;
    DELIVERED_MARKED = "tcp_sock" "delivered_ce" 32;
    DELIVERED_AT = "tcp_sock" "delivered_mstamp" 64;
    LOST = "tcp_sock" "lost" 32;
    APP_LIMITED = "tcp_sock" "app_limited" 32;
    LAST_SENT = "tcp_sock" "lsndtime" 32;
    ECN_FLAGS = "tcp_sock" "ecn_flags" 8;
    IS_CWND_LIMITED = "tcp_sock" "is_cwnd_limited" 1;
    HAS_USEC_STAMPS = "tcp_sock" "tcp_usec_ts" 1;
    STAMP = "tcp_sock" "rx_opt.rcv_tsval" 32;
    STAMP_ECHO = "tcp_sock" "rx_opt.rcv_tsecr" 32;
    HAS_STAMP = "tcp_sock" "rx_opt.saw_tstamp" 1;
    OWN = "inet_connection_sock" "icsk_ca_priv" 64;
}

/// The words of a socket: those of the controller are last.
pub(crate) const SOCKET_WORDS: usize = WITH_OWN_WORD + OWN_WORDS - 1;

fields! { AckSample, OF_ACK_SAMPLE, ACK_SAMPLE_WORDS:
    ACKED = "ack_sample" "pkts_acked" 32;
    ACK_RTT = "ack_sample" "rtt_us" 32;
    ACK_IN_FLIGHT = "ack_sample" "in_flight" 32;
}

fields! { Rate, OF_RATE_SAMPLE, RATE_SAMPLE_WORDS:
    RATE_PRIOR_DELIVERED = "rate_sample" "prior_delivered" 32;
    RATE_DELIVERED = "rate_sample" "delivered" 32;
    RATE_INTERVAL = "rate_sample" "interval_us" 64;
    RATE_RTT = "rate_sample" "rtt_us" 64;
    RATE_LOSSES = "rate_sample" "losses" 32;
    RATE_ACKED = "rate_sample" "acked_sacked" 32;
    RATE_PRIOR_IN_FLIGHT = "rate_sample" "prior_in_flight" 32;
    RATE_IS_APP_LIMITED = "rate_sample" "is_app_limited" 8;
    RATE_IS_RETRANSMISSION = "rate_sample" "is_retrans" 8;
    RATE_IS_DELAYED = "rate_sample" "is_ack_delayed" 8;
}

/// The structures that contain each other at their beginning, so that a pointer to one is a pointer to all.
const NESTED: [&str; 5] = ["tcp_sock", "inet_connection_sock", "inet_sock", "sock", "sock_common"];

/// What an access refers to here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// A field, and the distance from its beginning.
    Field(Field, usize),
    /// The beginning of a socket, as one of the structures that contain each other.
    Beginning,
    /// A field that does not exist here, by its name.
    Missing(String),
    /// A structure of the object itself.
    Foreign,
}

fn all() -> impl Iterator<Item = Field> {
    [OF_SOCKET, OF_ACK_SAMPLE, OF_RATE_SAMPLE].into_iter().flatten().copied()
}

/// The structure of the kernel that a structure of an object describes: what follows three underscores is a name of the
/// object, as for a loader.
fn of_kernel(name: &str) -> &str {
    name.split_once("___").map_or(name, |(structure, _)| structure)
}

/// The place of an access; a field is known by the last of the kernel's structures that it is in.
pub(crate) fn place(access: &Access<'_>, of_type: &str) -> Place {
    let of_type = of_kernel(of_type);
    let is_known = |name: &str| NESTED.contains(&name) || all().any(|field| field.of == name);
    let Some(last) = access.steps.iter().rposition(|(structure, _)| is_known(of_kernel(structure))) else {
        return if is_known(of_type) { Place::Beginning } else { Place::Foreign };
    };
    let structure = of_kernel(access.steps[last].0);
    let names: Vec<&str> = access.steps[last..].iter().map(|(_, name)| *name).collect();
    let name = names.iter().copied().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(".");
    match all().find(|field| field.of == structure && field.name == name) {
        Some(field) => Place::Field(field, if field == OWN { access.inside } else { 0 }),
        None if leads_to_nested(structure, &name) => Place::Beginning,
        None => Place::Missing(format!("{structure}.{name}")),
    }
}

/// Whether a member is the structure at the beginning of another one.
fn leads_to_nested(structure: &str, name: &str) -> bool {
    let members = [
        ("tcp_sock", "inet_conn"),
        ("inet_connection_sock", "icsk_inet"),
        ("inet_sock", "sk"),
        ("sock", "__sk_common"),
    ];
    members.contains(&(structure, name))
}

/// The field with that name behind the name of its structure.
pub(crate) fn recorded(name: &str) -> Option<Field> {
    let (structure, name) = name.split_once('.')?;
    all().find(|field| field.of == structure && field.name == name)
}

/// The field of a socket with that name, without the structure.
pub(crate) fn named(name: &str) -> Option<Field> {
    OF_SOCKET.iter().copied().find(|field| field.name.rsplit('.').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_three_underscores_is_a_name_of_the_object() {
        let access = |structure| Access { steps: vec![(structure, "tos")], inside: 0 };
        assert_eq!(place(&access("inet_sock___mine"), "inet_sock___mine"), Place::Field(TOS, 0));
        assert_eq!(place(&access("inet_sock__mine"), "inet_sock__mine"), Place::Foreign);
    }
}
