// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What happens to senders between two looks at the host's flows: the bounds of their windows and round-trip times, and
// the last counts of those that end. For all controllers; it is no controller itself.
//
// The kernel passes `tcp_probe` before it processes a packet of an established connection, and `inet_sock_set_state`
// when a connection changes its state. Both programs only read the connection.

#include "../fields.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	u64 unused;
};

struct tcp_congestion_ops {
	char name[16];
};

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_rack rack;
	u32 snd_cwnd;
	u32 data_segs_out;
	u32 total_retrans;
	u64 bytes_acked;
};

#pragma clang attribute pop

// `crates/host` reads these two by the offsets of their fields.
struct bounds {
	u32 least_cwnd; // packets
	u32 most_cwnd;
	u32 least_rtt_us; // of packets that were delivered; 0 before the first
	u32 most_rtt_us;
};

struct ended {
	u64 cookie;
	u64 acked_bytes;
	u32 sent; // packets, retransmissions included
	u32 retransmitted;
	char controller[16];
};

#define MAP_OF(type, entries) int (*type)[entries]

// The bounds of each sender since the last look, by its cookie. With more senders, the ones that were idle for
// longest are removed.
struct {
	MAP_OF(type, 9); // BPF_MAP_TYPE_LRU_HASH
	MAP_OF(max_entries, 1 << 14);
	u64 *key;
	struct bounds *value;
} senders SEC(".maps");

// Senders that have ended since the last look.
struct {
	MAP_OF(type, 27); // BPF_MAP_TYPE_RINGBUF
	MAP_OF(max_entries, 1 << 20);
} ended SEC(".maps");

// Senders that ended and are not in the ring buffer, because it was full.
volatile u64 lost_ends;

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const cookie_of)(void *sk) = (void *)46;
static long (*const read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*const reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const submit)(void *data, u64 flags) = (void *)132;
static struct tcp_sock *(*const as_tcp_sock)(void *sk) = (void *)137;
enum { NO_WAKEUP = 1, CLOSE = 7 };

SEC("license") const char fairhaul_license[] = "Dual MIT/GPL";

SEC("tp_btf/tcp_probe") int packet_of_a_sender(u64 *arguments)
{
	struct sock *sk = (struct sock *)arguments[0];
	struct tcp_sock *tp = as_tcp_sock(sk);
	struct bounds *bounds;
	u32 cwnd, rtt_us;
	u64 cookie;

	// One that only receives is no sender.
	if (!tp || !tp->data_segs_out)
		return 0;
	cookie = cookie_of(sk);
	cwnd = tp->snd_cwnd;
	rtt_us = tp->rack.rtt_us;
	bounds = lookup(&senders, &cookie);
	if (!bounds) {
		struct bounds first = { cwnd, cwnd, rtt_us, rtt_us };

		update(&senders, &cookie, &first, 0);
		return 0;
	}
	// Packets of one connection are processed one after the other, so no write here is lost to another.
	if (cwnd < bounds->least_cwnd)
		bounds->least_cwnd = cwnd;
	if (cwnd > bounds->most_cwnd)
		bounds->most_cwnd = cwnd;
	if (rtt_us && (rtt_us < bounds->least_rtt_us || !bounds->least_rtt_us))
		bounds->least_rtt_us = rtt_us;
	if (rtt_us > bounds->most_rtt_us)
		bounds->most_rtt_us = rtt_us;
	return 0;
}

SEC("tp_btf/inet_sock_set_state") int end_of_a_sender(u64 *arguments)
{
	struct sock *sk = (struct sock *)arguments[0];
	struct tcp_sock *tp;
	struct ended *end;

	if ((int)arguments[2] != CLOSE)
		return 0;
	tp = as_tcp_sock(sk);
	if (!tp || !tp->data_segs_out)
		return 0;
	end = reserve(&ended, sizeof(*end), 0);
	if (!end) {
		__sync_fetch_and_add(&lost_ends, 1);
		return 0;
	}
	end->cookie = cookie_of(sk);
	end->acked_bytes = tp->bytes_acked;
	end->sent = tp->data_segs_out;
	end->retransmitted = tp->total_retrans;
	read_kernel(end->controller, sizeof(end->controller), tp->inet_conn.icsk_ca_ops->name);
	submit(end, NO_WAKEUP);
	return 0;
}
