// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The arithmetic of Sync-TCP.

#include "wrappers.h"

#include "synctcp.bpf.c"

// The average after a sample, as `take` has it.
PROOF u64 a_average(u64 average_q32, u32 queued_us)
{
	u64 queued = queued_us;
	s64 off_q32 = (s64)(queued << 32) - (s64)average_q32;

	return average_q32 + ((off_q32 + 4) >> 3);
}

PROOF u32 a_region(u64 average_q32, u32 most_us)
{
	struct synctcp own = { .average_q32 = average_q32, .most_us = most_us };

	return region(&own);
}

// The window after an early reduction, as `early` has it.
PROOF u64 a_early(u64 window_q32, s64 asked)
{
	return window_q32 / 1000 * (1000 + asked);
}
