// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// BIC [BIC], as published: binary search for the window at which the last loss occurred. Below the low window it
// is Reno. Linux has its own version of it, `bic`.

#include "fairhaul.bpf.h"

FAIRHAUL_PORT("bic", "BIC: binary search for the window at which the last loss occurred",
	      "smax|1|30000|packets|largest increase per round trip\n"
	      "smin|1|1000000|1e-6 packets|distance from the maximum at which the search ends\n"
	      "beta|10000|900000|1e-6|fraction of the window given up at a loss\n"
	      "low_window|0|1000000|packets|below this window it behaves as Reno\n"
	      "fast_convergence|0|1||lower the target after a loss below the last maximum, to leave room for other flows\n");

PARAMETER smax = 32;
PARAMETER smin = 10000;
PARAMETER beta = 125000;
PARAMETER low_window = 14;
PARAMETER fast_convergence = 1;

struct bic {
	struct window window;
	u64 max_q32; // what the search is for; 0 where no loss has shown one
};

INLINE int is_small(struct tcp_sock *tp)
{
	return tp->snd_cwnd < low_window;
}

// The growth in a round: half of the distance to the maximum, or 1, 2, 4, ... packets beyond it.
INLINE u64 step_q16(struct bic *own, u64 window_q32)
{
	u64 most = (u64)smax << 16, step;

	if (!own->max_q32)
		return most;
	if (window_q32 < own->max_q32)
		step = (own->max_q32 - window_q32) >> 17;
	else
		step = ONE_Q16 << log2_of(((window_q32 - own->max_q32) >> 32) + 1);
	return step < most ? step : most;
}

SEC("struct_ops") int init(u64 *arguments)
{
	forget(tcp(arguments));
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct bic *own = state(tp);
	u32 acked = for_avoidance(tp, arguments[2]);

	if (!acked)
		return 0;
	if (is_small(tp)) {
		grow(tp, acked, per_packet_q32(tp, ONE_Q16));
		return 0;
	}
	grow(tp, acked, per_packet_q32(tp, step_q16(own, window_q32(tp))));
	u64 grown = window_q32(tp), near = rounded((u64)smin << 32, 1000000);

	if (grown <= own->max_q32 && own->max_q32 - grown < near)
		set_window(tp, own->max_q32);
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct bic *own = state(tp);
	u64 window = window_q32(tp), half = ONE_Q16 / 2;
	u64 beta_q16 = rounded((u64)beta << 16, 1000000);

	if (is_small(tp))
		return keep(tp, half, half);
	if (fast_convergence && window < own->max_q32)
		own->max_q32 = (window >> 16) * (ONE_Q16 - beta_q16 / 2);
	else
		own->max_q32 = window;
	return keep(tp, ONE_Q16 - beta_q16, half);
}

// A timeout forgets the maximum.
SEC("struct_ops") int set_state(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct bic *own = state(tp);

	if (starts_over(tp, arguments[1]))
		own->max_q32 = 0;
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_bic = {
	.init = init,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_bic",
};
