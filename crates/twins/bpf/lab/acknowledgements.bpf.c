// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What senders knew as each packet came in, for the lab: no twin, but a witness of all controllers.
//
// The kernel passes this tracepoint before it works on a packet of an established connection. So what
// is shown stood since the packet before, and what that one told of the round trip is among it.

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
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_rack rack;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u16 total_rto;
};

#pragma clang attribute pop

// What is told of a packet. `crates/host` reads it by the places of its fields.
struct seen {
	u64 at_ns; // of the monotonic clock
	u32 address; // of the sender, as on the wire
	u32 cwnd; // packets
	u32 ssthresh; // packets
	u32 rtt_us; // of the packet that was last delivered; 0 before the first
	u16 timeouts; // so far; 0 where the kernel does not count them
	u8 state;
	u8 unused[5];
};

#define MAP_OF(type, entries) int (*type)[entries]

// Network namespaces that are watched, by the numbers of their files.
struct {
	MAP_OF(type, 1); // BPF_MAP_TYPE_HASH
	MAP_OF(max_entries, 16);
	u32 *key;
	u8 *value;
} hosts SEC(".maps");

struct {
	MAP_OF(type, 27); // BPF_MAP_TYPE_RINGBUF
	MAP_OF(max_entries, 1 << 22);
} told SEC(".maps");

// Packets that nobody was told of, since there was no room.
volatile u64 untold;

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
	struct seen *seen;

	if (!lookup(&hosts, &namespace))
		return 0;
	tp = as_tcp_sock(sk);
	if (!tp)
		return 0;
	seen = reserve(&told, sizeof(*seen), 0);
	if (!seen) {
		__sync_fetch_and_add(&untold, 1);
		return 0;
	}
	seen->at_ns = monotonic_ns();
	seen->address = sk->__sk_common.skc_rcv_saddr;
	seen->cwnd = tp->snd_cwnd;
	seen->ssthresh = tp->snd_ssthresh;
	seen->rtt_us = tp->rack.rtt_us;
	seen->timeouts = HAS(tp, total_rto) ? tp->total_rto : 0;
	seen->state = BITS(tp, inet_conn.icsk_ca_state);
	submit(seen, NO_WAKEUP);
	return 0;
}
