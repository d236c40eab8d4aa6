// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// DCTCP [RFC 8257], as a kernel programmer would write it: its state in a storage of sockets, a controller that it
// hands over to, and a function that only a kernel has, for connections without ECN.

#include "kernel.h"

enum { ONE = 1024, GAIN_SHIFT = 4, ECN_OK = 1, ESTABLISHED = 1 };

struct dctcp {
	u32 alpha; // of ONE
	u32 prior_delivered;
	u32 prior_marked;
	u32 round_end; // the delivered packets at which a round ends
	u32 loss_cwnd;
};

struct {
	u32 (*type)[24];
	u32 (*map_flags)[1];
	int *key;
	struct dctcp *value;
} states SEC(".maps");

u32 initial_alpha = ONE;

static long (*const setsockopt)(void *sk, int level, int name, void *value, int length) = (void *)49;

INLINE struct dctcp *state(u64 *arguments, u64 flags)
{
	return sk_storage_get(&states, (void *)arguments[0], 0, flags);
}

SEC("struct_ops") void dctcp_init(u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	char other[] = "cubic";
	struct dctcp *ca;

	if (!(tp->ecn_flags & ECN_OK) || tp->inet_conn.icsk_inet.sk.__sk_common.skc_state != ESTABLISHED) {
		setsockopt(tp, 6, 13, other, sizeof(other));
		return;
	}
	ca = state(arguments, 1);
	if (!ca)
		return;
	ca->alpha = initial_alpha;
	ca->prior_delivered = tp->delivered;
	ca->prior_marked = tp->delivered_ce;
	ca->round_end = tp->delivered + tp->snd_cwnd;
}

SEC("struct_ops") void dctcp_in_ack_event(u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct dctcp *ca = state(arguments, 0);
	u32 delivered, marked;

	if (!ca || (s32)(tp->delivered - ca->round_end) < 0)
		return;
	delivered = tp->delivered - ca->prior_delivered;
	marked = tp->delivered_ce - ca->prior_marked;
	ca->alpha -= ca->alpha >> GAIN_SHIFT;
	if (marked && delivered)
		ca->alpha += (u64)marked * (ONE >> GAIN_SHIFT) / delivered;
	if (ca->alpha > ONE)
		ca->alpha = ONE;
	ca->prior_delivered = tp->delivered;
	ca->prior_marked = tp->delivered_ce;
	ca->round_end = tp->delivered + tp->snd_cwnd;
}

SEC("struct_ops") u32 dctcp_ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	struct dctcp *ca = state(arguments, 0);
	u32 cwnd = tp->snd_cwnd, less;

	if (!ca)
		return cwnd / 2 > 2 ? cwnd / 2 : 2;
	ca->loss_cwnd = cwnd;
	less = (u64)cwnd * ca->alpha / (2 * ONE);
	return cwnd - less > 2 ? cwnd - less : 2;
}

SEC("struct_ops") void dctcp_cong_avoid(u64 *arguments)
{
	tcp_reno_cong_avoid((struct sock *)arguments[0], arguments[1], arguments[2]);
}

SEC("struct_ops") u32 dctcp_undo_cwnd(u64 *arguments)
{
	struct dctcp *ca = state(arguments, 0);
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];

	return ca && ca->loss_cwnd > tp->snd_cwnd ? ca->loss_cwnd : tp->snd_cwnd;
}

SEC(".struct_ops") struct tcp_congestion_ops other = {
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.name = "test_other",
};

SEC(".struct_ops") struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = NEEDS_ECN,
	.name = "test_dctcp",
};
