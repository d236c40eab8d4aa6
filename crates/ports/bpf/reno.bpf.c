// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Reno [RFC 5681]: one packet more per round, half at a loss. The simplest port: the others differ from it in
// `cong_avoid` and `ssthresh`.

#include "fairhaul.bpf.h"

FAIRHAUL_PORT("reno", "Standard TCP (Reno): one more packet per round trip, half the window at a loss", "");

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
		grow(tp, acked, per_packet_q32(tp, ONE_Q16));
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	return keep(tcp(arguments), ONE_Q16 / 2, ONE_Q16 / 2);
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	starts_over(tcp(arguments), arguments[1]);
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_reno = {
	.init = init,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_reno",
};
