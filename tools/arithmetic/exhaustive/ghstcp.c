// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The square root of all numbers of 32 bits and around each square up to 2^49, and the limit of the correlation for
// every number of samples.

#include "exact.h"
#include "ghstcp.bpf.c"

// The root that is found is the largest whole one, or one more.
static int is_root(u64 x, double *above)
{
	u64 found = root(x);
	exact square = (exact)found * found, less = (exact)(found ? found - 1 : 0) * (found ? found - 1 : 0);

	if (square > x)
		*above = 1;
	return less <= x && (exact)(found + 1) * (found + 1) > x;
}

int main(void)
{
	int roots = 1, squares = 1;
	double above = 0, above_squares = 0;

	for (u64 x = 1; x < ONE_Q32; x++)
		roots &= is_root(x, &above);
	for (u64 whole = 1; whole < 1ULL << 25; whole++) {
		u64 square = whole * whole;

		squares &= is_root(square - (whole > 1), &above_squares) && is_root(square, &above_squares) &&
			   is_root(square + whole, &above_squares);
	}
	report("root", ONE_Q32 - 1, above, roots);
	report("root around squares", 3ULL << 25, above_squares, squares);
	return !(roots && squares);
}
