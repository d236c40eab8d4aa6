// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The arithmetic that all ports share, each helper as a function of numbers.

#include "wrappers.h"

PROOF u64 a_rounded(u64 dividend, u64 divisor)
{
	return rounded(dividend, divisor);
}

PROOF u64 a_per_packet(u32 cwnd, u32 fraction, u64 round_q16)
{
	struct tcp_sock socket = { .snd_cwnd = cwnd };

	*(u32 *)state(&socket) = fraction;
	return per_packet_q32(&socket, round_q16);
}

PROOF u64 a_kept(u32 cwnd, u32 fraction, u64 kept_q16)
{
	struct tcp_sock socket = { .snd_cwnd = cwnd };
	struct window *window = state(&socket);

	window->fraction = fraction;
	u64 left = keep(&socket, kept_q16, ONE_Q16 / 2);

	return left << 32 | window->fraction;
}

PROOF u32 a_restart(u32 cwnd, u32 fraction, u64 kept_q16)
{
	struct tcp_sock socket = { .snd_cwnd = cwnd };
	struct window *window = state(&socket);

	window->fraction = fraction;
	keep(&socket, kept_q16, kept_q16);
	return window->restart;
}
