// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Logarithms of all numbers of 32 bits and around each power of two, and the quotients of parameters of
// scalable, bic and synctcp, for all values of 32 bits.

#include "exact.h"
#include "scalable.bpf.c"

static int is_logarithm(u64 x)
{
	u32 found = log2_of(x);

	return x ? x >> found == 1 : !found;
}

// Between two powers of two `log2_of` depends on the highest bit alone: the shifts fill all bits below it.
static int fills(u32 power)
{
	u64 one = 1ULL << power, ones = one | (one - 1);
	int passed = is_logarithm(one) && is_logarithm(ones);

	for (u32 bit = 0; bit < power; bit++)
		passed &= is_logarithm(one | 1ULL << bit) && is_logarithm(ones ^ 1ULL << bit);
	return passed;
}

int main(void)
{
	int logarithms = 1, millionths_q32 = 1, millionths_q16 = 1;
	double largest_q32 = 0, largest_q16 = 0;

	for (u32 power = 0; power < 64; power++)
		logarithms &= fills(power);
	for (u64 x = 0; x < ONE_Q32; x++) {
		logarithms &= is_logarithm(x);
		millionths_q32 &= is_nearest(rounded(x << 32, 1000000), (exact)x << 32, 1000000, &largest_q32);
		millionths_q16 &= is_nearest(rounded(x << 16, 1000000), (exact)x << 16, 1000000, &largest_q16);
	}
	report("log2_of", ONE_Q32, 0, logarithms);
	report("millionths as Q32", ONE_Q32, largest_q32, millionths_q32);
	report("millionths as Q16", ONE_Q32, largest_q16, millionths_q16);
	return !(logarithms && millionths_q32 && millionths_q16);
}
