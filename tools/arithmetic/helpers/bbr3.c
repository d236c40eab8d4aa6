// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The arithmetic of BBR, version 3.

#include "wrappers.h"

#include "bbr3.bpf.c"

// As `path_at` has it.
PROOF u64 a_path(u64 rate_q32, u32 min_rtt_us, u64 gain)
{
	u64 packets_q16 = (rate_q32 >> 4) * min_rtt_us >> 12;

	return (packets_q16 * gain / 1000 + ONE_Q16 - 1) >> 16;
}

// The rate of a sample.
PROOF u64 a_rate(u32 delivered, u64 interval_us)
{
	return ((u64)delivered << 32) / interval_us;
}

// The rate that the kernel paces at, bytes per second.
PROOF u64 a_pace(u64 rate_q32, u32 mss)
{
	return ((rate_q32 * mss >> 12) * MILLION) >> 20;
}

PROOF u64 a_gain(u64 rate_q32, u64 gain)
{
	return rate_q32 * (gain * (1000 - MARGIN)) / MILLION;
}

PROOF u64 a_kept_rate(u64 rate_q32)
{
	return rate_q32 * kept / MILLION;
}

PROOF u64 a_crossed(u32 delivered)
{
	return (u64)delivered * MILLION / (MILLION - loss_threshold);
}

PROOF u64 a_expected(u64 rate_q32, u64 elapsed_us)
{
	return rate_q32 * elapsed_us >> 16;
}

PROOF u64 a_first_rate(u32 cwnd, u32 srtt_us)
{
	return ((u64)cwnd << 32) / larger(srtt_us, 1) * 2770 / 1000;
}

PROOF u64 a_headroom(u32 most)
{
	return (u64)most * (MILLION - headroom) / MILLION;
}
