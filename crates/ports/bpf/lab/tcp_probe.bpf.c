// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Samples the state of a sender as each packet arrives, for the lab: a probe for all controllers, not a controller.
//
// The kernel passes this tracepoint before it processes a packet of an established connection. So a sample
// shows the state since the packet before, which includes that packet's round-trip time.

#include "../fields.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	u32 skc_rcv_saddr;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_rack rack;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 high_seq;
	u16 total_rto;
};

#pragma clang attribute pop

// A sample for one packet. `crates/host` reads it by the offsets of its fields.
struct sample {
	u64 at_ns; // of the monotonic clock
	u32 address; // of the sender, as on the wire
	u32 cwnd; // packets
	u32 ssthresh; // packets
	u32 rtt_us; // of the packet that was last delivered; 0 before the first
	u16 timeouts; // so far; 0 where the kernel does not count them
	u8 state;
	u8 mode; // of the controller, plus one; 0 of one that has none
	u32 high_seq; // the sequence number with which a recovery ends
};

#define MAP_OF(type, entries) int (*type)[entries]

// Network namespaces that are sampled, by their inode numbers.
struct {
	MAP_OF(type, 1); // BPF_MAP_TYPE_HASH
	MAP_OF(max_entries, 16);
	u32 *key;
	u8 *value;
} hosts SEC(".maps");

struct {
	MAP_OF(type, 27); // BPF_MAP_TYPE_RINGBUF
	MAP_OF(max_entries, 1 << 22);
} samples SEC(".maps");

// Packets without a sample, because the ring buffer was full.
volatile u64 lost_samples;

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static u64 (*const monotonic_ns)(void) = (void *)5;
static void *(*const reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const submit)(void *data, u64 flags) = (void *)132;
static struct tcp_sock *(*const as_tcp_sock)(void *sk) = (void *)137;
enum { NO_WAKEUP = 1 };

SEC("license") const char fairhaul_license[] = "Dual MIT/GPL";

SEC("tp_btf/tcp_probe") int acknowledgement(u64 *arguments)
{
	struct sock *sk = (struct sock *)arguments[0];
	u32 namespace = sk->__sk_common.skc_net.net->ns.inum;
	struct tcp_sock *tp;
	struct sample *sample;
	u64 word;

	if (!lookup(&hosts, &namespace))
		return 0;
	tp = as_tcp_sock(sk);
	if (!tp)
		return 0;
	sample = reserve(&samples, sizeof(*sample), 0);
	if (!sample) {
		__sync_fetch_and_add(&lost_samples, 1);
		return 0;
	}
	word = tp->inet_conn.icsk_ca_priv[MODE_WORD];
	sample->at_ns = monotonic_ns();
	sample->address = sk->__sk_common.skc_rcv_saddr;
	sample->cwnd = tp->snd_cwnd;
	sample->ssthresh = tp->snd_ssthresh;
	sample->rtt_us = tp->rack.rtt_us;
	sample->high_seq = tp->high_seq;
	sample->timeouts = HAS(tp, total_rto) ? tp->total_rto : 0;
	sample->state = BITS(tp, inet_conn.icsk_ca_state);
	sample->mode = (word & ~0xffULL) == MODE_MARK ? word + 1 : 0;
	submit(sample, NO_WAKEUP);
	return 0;
}
