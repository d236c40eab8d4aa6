// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// HighSpeed TCP [RFC 3649]: growth and decrease scale with the window, by the formulas.

#include "highspeed_law.h"

FAIRHAUL_PORT("highspeed", "HighSpeed TCP: growth and decrease scale with the window", "");

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
		grow(tp, acked, per_packet_q32(tp, highspeed_law(window_q16(tp)).increase_q16));
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	return highspeed_ssthresh(tcp(arguments));
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	starts_over(tcp(arguments), arguments[1]);
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_highspeed = {
	.init = init,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_highspeed",
};
