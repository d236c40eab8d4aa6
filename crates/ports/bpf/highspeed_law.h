// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// a(w) and b(w) of HighSpeed TCP [RFC 3649] from the table of its formulas, 16 rows to an octave, with linear
// interpolation. By a test a(w) is accurate within 0.02 % and b(w) within 0.00005 from 38 to 2^24 packets, except
// at two kinks: 0.72 % between 40 and 42 packets and 0.0006 at 100 000. Beyond 2^24 packets both are constant.

#pragma once

#include "fairhaul.bpf.h"

INLINE struct law highspeed_law(u64 window_q16)
{
	struct law found = { .increase_q16 = ONE_Q16, .decrease_q16 = ONE_Q16 / 2 };

	if (window_q16 <= LAW_LOW_WINDOW * ONE_Q16)
		return found;

	// The octave counts from 2^LAW_FIRST_OCTAVE packets; the bits below the first are the row, and the next bits the
	// position between two rows.
	u32 exponent = log2_of(window_q16);
	u32 place_bits = exponent - LAW_ROW_BITS;
	u64 row = ((u64)(exponent - 16 - LAW_FIRST_OCTAVE) << LAW_ROW_BITS) +
		  (window_q16 >> place_bits) - (1 << LAW_ROW_BITS);
	u64 place = window_q16 & ((1ULL << place_bits) - 1);

	// The verifiers of some kernels, Linux 6.12.117 among them, do not carry a bound over to a register that differs
	// from the compared one by a negative constant. This keeps the compiler from comparing another register.
	asm("" : "+r"(row));
	if (row >= LAW_ROWS - 1)
		return LAW[LAW_ROWS - 1];
	u64 more = LAW[row + 1].increase_q16 - LAW[row].increase_q16;
	u64 less = LAW[row].decrease_q16 - LAW[row + 1].decrease_q16;

	found.increase_q16 = LAW[row].increase_q16 + (more * place >> place_bits);
	found.decrease_q16 = LAW[row].decrease_q16 - (less * place >> place_bits);
	return found;
}

// The window after a loss, smaller by the share b(w), and after a timeout, half.
INLINE u32 highspeed_ssthresh(struct tcp_sock *tp)
{
	struct law law = highspeed_law(window_q16(tp));

	return keep(tp, ONE_Q16 - law.decrease_q16, ONE_Q16 / 2);
}
