// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What the exhaustive tests share: the sources of the ports, compiled for this machine, and how a result is reported.

#pragma once

// Places of bit fields are for the kernel's loader. No helper that is tested here reads one.
#define __builtin_preserve_field_info(field, kind) 0

typedef __int128 exact;

int printf(const char *format, ...);

// Reports the largest difference from the exact value, in billionths of the unit that the helper counts in.
static void report(const char *helper, unsigned long long inputs, double largest, int passed)
{
	printf("%s|%llu|%.9f|%s\n", helper, inputs, largest, passed ? "passed" : "FAILED");
}

// Whether |quotient x divisor - dividend| is at most half of the divisor, and the difference in quotients.
static int is_nearest(unsigned long long quotient, exact dividend, unsigned long long divisor, double *largest)
{
	exact off = (exact)quotient * divisor - dividend;
	double share = (double)(off < 0 ? -off : off) / divisor;

	if (share > *largest)
		*largest = share;
	return 2 * (off < 0 ? -off : off) <= divisor;
}
