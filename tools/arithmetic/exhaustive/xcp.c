// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The change that an answer of XCP brings, for every word of an answer after sums around the least, the middle and the
// greatest: their difference modulo 2^31, from -2^30 to 2^30 - 1.

#include "exact.h"
#include "xcp.bpf.c"

static int is_change(u32 before, u32 word)
{
	struct xcp_flow flow = { .sum = before };

	hear(&flow, word);
	u32 sum = (before + (u64)flow.change) & SUM_BITS;

	return flow.change >= -(1LL << 30) && flow.change < 1LL << 30 && sum == (word & SUM_BITS) && flow.sum == sum;
}

int main(void)
{
	const u32 before[] = { 0, 1, SUM_BITS / 2, SUM_BITS / 2 + 1, SUM_BITS };
	int passed = 1;

	for (int n = 0; n < 5; n++)
		for (u64 word = 0; word < ONE_Q32; word++)
			passed &= is_change(before[n], word);
	report("change of an answer (xcp)", 5 * ONE_Q32, 0, passed);
	return !passed;
}
