// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Faults that a proof has to find. No port contains them.

#include "wrappers.h"

PROOF u64 a_product(u32 a, u32 b, u32 c)
{
	return (u64)a * b * c;
}

PROOF u64 a_division(u64 a, u32 b)
{
	return a / b;
}

PROOF u64 a_narrow_sum(u32 a, u32 b)
{
	return (a + b) / 2;
}

PROOF u64 a_negative(u64 a, u64 b)
{
	return (a - b) / 3;
}

PROOF u64 a_sign(u32 a)
{
	return (s64)(s32)(a * 2) >> 1;
}
