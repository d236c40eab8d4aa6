// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Scalable TCP [STCP]: every delivered packet adds the same amount, every loss takes the same share. Below the
// low window it is Reno.

#include "fairhaul.bpf.h"

FAIRHAUL_PORT("scalable", "Scalable TCP: a fixed increase per acknowledged packet, a fixed fraction given up per loss",
	      "a|0|1000000|1e-6 packets|increase of the window per delivered packet\n"
	      "b|0|900000|1e-6|fraction of the window given up at a loss\n"
	      "low_window|0|1000000|packets|below this window it behaves as Reno\n");

PARAMETER a = 10000;
PARAMETER b = 125000;
PARAMETER low_window = 16;

INLINE int is_small(struct tcp_sock *tp)
{
	return tp->snd_cwnd < low_window;
}

SEC("struct_ops") int init(u64 *arguments)
{
	forget(tcp(arguments));
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	u32 acked = for_avoidance(tp, arguments[2]);

	if (acked)
		grow(tp, acked, is_small(tp) ? per_packet_q32(tp, ONE_Q16)
					     : rounded((u64)a << 32, 1000000));
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	u64 half = ONE_Q16 / 2;

	return keep(tp, is_small(tp) ? half : ONE_Q16 - rounded((u64)b << 16, 1000000), half);
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	starts_over(tcp(arguments), arguments[1]);
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_scalable = {
	.init = init,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_scalable",
};
