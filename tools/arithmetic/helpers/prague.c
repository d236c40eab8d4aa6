// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The arithmetic of Prague: alpha, the window, and the pacing rate.

#include "wrappers.h"

#include "prague.bpf.c"

// Both directions of an average are claimed by themselves.
PROOF u64 a_next_alpha(u64 alpha_q31, u32 marked, u32 delivered)
{
	return next_alpha(alpha_q31, marked, delivered);
}

PROOF u64 a_less(u64 cwnd_q32, u64 alpha_q31)
{
	return less(cwnd_q32, alpha_q31);
}

PROOF u64 a_round(u32 srtt_8us)
{
	return increase_q32(srtt_8us, MOST_ROUNDS + 1);
}

PROOF u64 a_packet(u64 cwnd_q32, u64 round_q32)
{
	return each_q32(cwnd_q32, round_q32);
}

// The window after an acknowledgement of `packets` unmarked ones.
PROOF u64 a_grown(u64 cwnd_q32, u64 round_q32, u32 packets)
{
	return cwnd_q32 + each_q32(cwnd_q32, round_q32) * packets;
}

PROOF u64 a_rate(u64 cwnd_q16, u32 srtt_8us)
{
	return rate_q32(cwnd_q16, srtt_8us, 128);
}

PROOF u64 a_fast_rate(u64 cwnd_q16, u32 srtt_8us, u32 speed)
{
	return rate_q32(cwnd_q16, srtt_8us, speed);
}

PROOF u64 a_bytes(u64 rate_q32, u32 mss)
{
	return bytes_per_s(rate_q32, mss);
}
