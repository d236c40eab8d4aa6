// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The growth of H-TCP for every time since a loss, 0 to 1000 s in microseconds and beyond, by the formula
// 1 + 10 t + (t / 2)^2 packets; and its factors for every round-trip time.

#include "exact.h"
#include "htcp.bpf.c"

#define SECOND 1000000LL

int main(void)
{
	struct htcp own = { .kept_q16 = ONE_Q16 / 2 };
	double largest = 0, relative = 0;
	int passed = 1, factors = 1;
	u64 before = 0;

	delta_l = 0;
	rtt_scaling = 0;
	for (u64 us = 0; us < ONE_Q32; us++) {
		u64 t = us < MOST_US ? us : MOST_US, grown = increase_q16(&own, us);
		// In units of 2^-16 packets, times 4 x 10^12.
		exact wanted = ((exact)4 * SECOND * SECOND + (exact)40 * SECOND * t + (exact)t * t) << 16;
		exact off = (exact)grown * 4 * SECOND * SECOND - wanted;
		double units = (double)(off < 0 ? -off : off) / (4e12);

		if (us && grown < before)
			passed = 0;
		if (us > MOST_US && grown != before)
			passed = 0;
		if (wanted >> 16 < (exact)4 * SECOND * SECOND << 15) { // below the limit of 32768 packets
			if (units > largest)
				largest = units;
			if (units / grown > relative)
				relative = units / grown;
		}
		before = grown;
	}
	passed &= relative <= 8.5e-5 && largest <= 92;
	report("growth of H-TCP by time", ONE_Q32, largest, passed);
	report("growth of H-TCP by time, relative", ONE_Q32, relative, passed);

	// The share kept, and the factor of the round-trip time, rounded down.
	double share = 0;

	for (u64 rtt = 0; rtt < ONE_Q32 / 2; rtt++) {
		u64 factor = within((rtt << 16) / 100000, 6554, 2 * ONE_Q16);
		exact off = ((exact)rtt << 16) - (exact)factor * 100000;
		double units = (double)off / 100000;

		if (rtt >= 10001 && rtt <= 200000) {
			share = units > share ? units : share;
			factors &= off >= 0 && off < 100000;
		} else {
			factors &= factor == (rtt > 200000 ? 2 * ONE_Q16 : 6554);
		}
	}
	report("factor of the round-trip time", ONE_Q32 / 2, share, factors);
	return !(passed && factors);
}
