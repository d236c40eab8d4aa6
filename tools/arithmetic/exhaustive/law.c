// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// a(w) and b(w) of HighSpeed TCP from 38 to 2^24 packets, beside its formulas [RFC 3649, 5] as crates/cc has them: in
// steps of 1/1024 packet up to 4096 packets, of 1/64 up to 131,072, and of a packet above. Table and formulas are
// monotone, so that between two steps they differ by no more than across them; that difference is what is reported.

#include "exact.h"
#include "highspeed_law.h"

double log(double x);
double pow(double x, double y);

static double decrease(double w)
{
	double last = w < 100000 ? w : 100000;

	return w <= 38 ? 0.5 : 0.5 - 0.4 * log(last / 38) / log(83000.0 / 38);
}

static double increase(double w)
{
	double b = decrease(w), a = pow(w, 0.8) * (2 / 12.8) * (b / (2 - b));

	return w <= 38 || a < 1 ? 1 : a;
}

static void keep_larger(double *largest, double x, double y)
{
	double off = x > y ? x - y : y - x;

	if (off > *largest)
		*largest = off;
}

int main(void)
{
	struct law law = highspeed_law(38 * ONE_Q16);
	double a = 1, b = 0.5, at_bends[2] = {}, elsewhere[2] = {};
	int monotone = 1;
	u64 steps = 0, q16 = 38 * ONE_Q16;

	for (; q16 < ONE_Q16 << 24; steps++) {
		u64 w = q16 >> 16, step = w < 4096 ? 64 : w < 131072 ? 1024 : ONE_Q16;

		q16 += step;
		struct law next = highspeed_law(q16);
		double a_next = increase(q16 / 65536.0), b_next = decrease(q16 / 65536.0);
		double *largest = (w >= 40 && w < 42) || (w >= 98304 && w < 102400) ? at_bends : elsewhere;

		monotone &= next.increase_q16 >= law.increase_q16 && next.decrease_q16 <= law.decrease_q16;
		keep_larger(&largest[0], next.increase_q16 / 65536.0 / a, 1);
		keep_larger(&largest[0], law.increase_q16 / 65536.0 / a_next, 1);
		keep_larger(&largest[1], law.decrease_q16 / 65536.0, b_next);
		keep_larger(&largest[1], next.decrease_q16 / 65536.0, b);
		law = next;
		a = a_next;
		b = b_next;
	}
	int passed = monotone && at_bends[0] < 0.0073 && at_bends[1] < 0.0006 && elsewhere[0] < 0.0002 &&
		     elsewhere[1] < 0.00005;

	report("a(w), relative, at the two bends", steps, at_bends[0], passed);
	report("a(w), relative, elsewhere", steps, elsewhere[0], passed);
	report("b(w) at the two bends", steps, at_bends[1], passed);
	report("b(w) elsewhere", steps, elsewhere[1], passed);
	return !passed;
}
