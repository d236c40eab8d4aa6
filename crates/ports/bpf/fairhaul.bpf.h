// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The code that all ports share: the kernel's structures, as far as they are used, and the window with its
// fraction.
//
// The structures contain only fields that a port reads or writes. With `preserve_access_index` the loader
// relocates every access to the offset of the field in the running kernel; without a loader the same bytecode
// works on the layout in this file, which `crates/ports` executes.
//
// Numbers: `_q16` and `_q32` are fixed-point numbers with 16 and 32 fractional bits. The window is Q32, so that a
// packet still adds 4295 units to a window of a million packets by Reno's rule; every quotient is rounded to the
// nearest unit, and the tests measure the effect on windows.

#pragma once

#include "fields.bpf.h"

// A parameter. It is in .data whatever its value, so that a loader finds it and can change it.
#define PARAMETER SEC(".data") volatile u32

// The description of the object and its parameters: lines of `name|least|most|unit|help`, whose defaults are the
// initial values of the variables.
#define FAIRHAUL_PORT(name, title, parameters)                                                   \
	SEC("license") const char fairhaul_license[] = "Dual MIT/GPL";                           \
	SEC("fairhaul_port") const char fairhaul_note[] =                                        \
		"fairhaul port 1\n" name "\n" FAIRHAUL_VERSION "\n" title "\n" parameters

enum { CA_OPEN, CA_DISORDER, CA_CWR, CA_RECOVERY, CA_LOSS };
enum { PACING_NONE, PACING_NEEDED };
// Flags of a controller. Of one that asks for accurate feedback the loader keeps the first alone where the kernel does not know
// the others, as in Linux 6.12.
enum { NON_RESTRICTED = 1, NEEDS_ECN = 2, NEEDS_ACCECN = 4, ECT_1_NEGOTIATION = 8, NO_FALLBACK_RFC3168 = 16 };
#define NO_LIMIT (~0UL)
#include "tables.h"

#define ONE_Q16 (1ULL << 16)
#define ONE_Q32 (1ULL << 32)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 max_packets_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 delivered;
	u32 lost;
	u32 srtt_us;
	u32 mss_cache;
	u8 is_cwnd_limited : 1;
	u8 tcp_usec_ts : 1;
	struct tcp_options_received rx_opt;
	u32 delivered_ce;
	u8 ecn_flags;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

// The sample of the delivery rate, of which `delivered` is 0 or less without one.
struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u8 is_app_limited;
};

#pragma clang attribute pop

struct tcp_congestion_ops {
	u32 (*ssthresh)(u64 *arguments);
	int (*cong_avoid)(u64 *arguments);
	int (*set_state)(u64 *arguments);
	int (*pkts_acked)(u64 *arguments);
	u32 (*min_tso_segs)(u64 *arguments);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(u64 *arguments);
	int (*init)(u64 *arguments);
	int (*release)(u64 *arguments);
	u32 flags;
	char name[16];
};

// The first 8 of the 104 bytes that a controller has in each socket.
struct window {
	u32 fraction; // of snd_cwnd, in 2^-32 packets
	u32 restart;  // where slow start is to end if the reduction asked for is a timeout's; else 0
};

INLINE struct tcp_sock *tcp(u64 *arguments)
{
	return (struct tcp_sock *)arguments[0];
}

INLINE void *state(struct tcp_sock *tp)
{
	return &tp->inet_conn.icsk_ca_priv;
}

INLINE u32 ca_state(struct tcp_sock *tp)
{
	return BITS(tp, inet_conn.icsk_ca_state);
}

// Whether the sequence number `a` comes after `b`.
INLINE int after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

// The exponent of the largest power of two that is not above `x`; 0 for 0. It has no branches, because each would
// double the number of paths that the kernel's verifier explores.
INLINE u32 log2_of(u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return LOG2[x * LOG2_SPREAD >> 58];
}

INLINE u64 rounded(u64 dividend, u64 divisor)
{
	return (dividend + divisor / 2) / divisor;
}

INLINE u64 window_q32(struct tcp_sock *tp)
{
	struct window *window = state(tp);

	return (u64)tp->snd_cwnd << 32 | window->fraction;
}

INLINE u64 window_q16(struct tcp_sock *tp)
{
	return window_q32(tp) >> 16;
}

INLINE void set_window(struct tcp_sock *tp, u64 q32)
{
	struct window *window = state(tp);
	u32 clamp = tp->snd_cwnd_clamp;

	if (q32 >> 32 >= clamp)
		q32 = (u64)clamp << 32;
	tp->snd_cwnd = q32 >> 32;
	window->fraction = q32;
}

// Whether the flow is limited by its window, so that the window may grow, by the kernel's own rule: in slow start
// half of the window is enough.
INLINE int uses_window(struct tcp_sock *tp)
{
	if (BITS(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

// Slow start for `acked` packets, up to ssthresh; returns the packets left for congestion avoidance.
INLINE u32 slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = tp->snd_cwnd, room = tp->snd_ssthresh - cwnd;
	u32 more = acked < room ? acked : room;

	set_window(tp, window_q32(tp) + ((u64)more << 32));
	return acked - more;
}

// The packets of an acknowledgement that count for congestion avoidance.
INLINE u32 for_avoidance(struct tcp_sock *tp, u32 acked)
{
	if (!uses_window(tp))
		return 0;
	return tp->snd_cwnd < tp->snd_ssthresh ? slow_start(tp, acked) : acked;
}

// Grows by `packet_q32` for each of `acked` packets.
INLINE void grow(struct tcp_sock *tp, u32 acked, u64 packet_q32)
{
	set_window(tp, window_q32(tp) + packet_q32 * acked);
}

// The growth per packet if a round is to add `round_q16`, at most 2^31.
INLINE u64 per_packet_q32(struct tcp_sock *tp, u64 round_q16)
{
	u64 q16 = window_q16(tp);

	return q16 ? rounded(round_q16 << 32, q16) : 0;
}

// The window after a loss, as ssthresh: the fraction `kept_q16`, at least 2 packets. The kernel calls this at a
// timeout as well, and reports only later which it was; `restart_q16` is stored for that.
INLINE u32 keep(struct tcp_sock *tp, u64 kept_q16, u64 restart_q16)
{
	struct window *window = state(tp);
	u64 q16 = window_q16(tp);
	u64 left = q16 * kept_q16;
	u64 restart = (q16 * restart_q16 + ONE_Q32 - 1) >> 32;

	if (left < 2 * ONE_Q32)
		left = 2 * ONE_Q32;
	window->fraction = left;
	window->restart = restart < 2 ? 2 : restart;
	return left >> 32;
}

// Called with the next state. After a timeout the window restarts without its fraction; returns whether it was a
// timeout.
INLINE int starts_over(struct tcp_sock *tp, u32 next)
{
	struct window *window = state(tp);
	u32 restart = window->restart;

	window->restart = 0;
	if (next != CA_LOSS || !restart)
		return 0;
	tp->snd_ssthresh = restart;
	window->fraction = 0;
	return 1;
}

// The window before a spurious reduction. What the controller learnt from the reduction stays.
SEC("struct_ops") u32 undo_cwnd(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

INLINE void forget(struct tcp_sock *tp)
{
	u64 *words = state(tp);

	for (int word = 0; word < 13; word++)
		words[word] = 0;
}
