// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The arithmetic of Gentle HighSpeed TCP.

#include "wrappers.h"

#include "ghstcp.bpf.c"

PROOF s64 a_quotient(s64 a, u64 n)
{
	return quotient(a, n);
}

PROOF s64 a_share(s64 a, s64 b, u64 n)
{
	return share(a, b, n);
}

PROOF u64 a_root(u64 x)
{
	return root(x);
}

PROOF s64 a_sum_xx(s64 xx, u32 sent_us)
{
	struct trend trend = { .pairs = 1, .xx = xx };

	take(&trend, sent_us, 0);
	return trend.xx;
}

PROOF s64 a_sum_xy(s64 xy, u32 sent_us, u32 rtt_us)
{
	struct trend trend = { .pairs = 1, .xy = xy };

	take(&trend, sent_us, rtt_us);
	return trend.xy;
}
