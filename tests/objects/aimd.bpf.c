// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// AIMD in whole packets: the fraction earned of the next one is kept apart, and lost with a reduction.

#include "kernel.h"

// What a round trip adds, and what a loss takes, in thousandths.
volatile u32 a SEC(".data") = 1000;
volatile u32 b SEC(".data") = 500;

INLINE u64 window(struct tcp_sock *tp)
{
	return (u64)tp->snd_cwnd << 32 | tp->inet_conn.icsk_ca_priv[0];
}

INLINE void set(struct tcp_sock *tp, u64 q32)
{
	tp->snd_cwnd = q32 >> 32;
	tp->inet_conn.icsk_ca_priv[0] = (u32)q32;
}

SEC("struct_ops") void aimd_init(u64 *arguments)
{
	((struct tcp_sock *)arguments[0])->inet_conn.icsk_ca_priv[0] = 0;
}

SEC("struct_ops") void aimd_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	u32 acked = arguments[2];

	if (!FLAG(tp, is_cwnd_limited) && tp->snd_cwnd >= tp->snd_ssthresh)
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	// Each packet adds a / w of a packet, rounded up, so that w packets add a.
	if (acked && tp->snd_cwnd)
		set(tp, window(tp) + acked * (((u64)a << 32) / 1000 / tp->snd_cwnd + 1));
}

SEC("struct_ops") u32 aimd_ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	u32 left = (u64)tp->snd_cwnd * (1000 - b) / 1000;

	tp->inet_conn.icsk_ca_priv[1] = tp->snd_cwnd;
	tp->inet_conn.icsk_ca_priv[0] = 0;
	return left > 2 ? left : 2;
}

// A timeout begins again from one packet, towards half of the window.
SEC("struct_ops") void aimd_set_state(u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	u32 half = tp->inet_conn.icsk_ca_priv[1] / 2;

	if (arguments[1] != 4)
		return;
	tp->snd_ssthresh = half > 2 ? half : 2;
	tp->inet_conn.icsk_ca_priv[0] = 0;
}

SEC("struct_ops") u32 aimd_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd((struct sock *)arguments[0]);
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_aimd = {
	.init = (void *)aimd_init,
	.cong_avoid = (void *)aimd_cong_avoid,
	.ssthresh = (void *)aimd_ssthresh,
	.set_state = (void *)aimd_set_state,
	.undo_cwnd = (void *)aimd_undo_cwnd,
	.name = "test_aimd",
};
