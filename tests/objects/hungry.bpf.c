// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Controllers that want much: time, by a loop that a kernel allows, by one that it does not, and by calls without a jump;
// and memory, by the variables that each connection has.

#include "kernel.h"

// 3 MB.
u64 table[3 << 17] FROM(".bss");
volatile u64 sum FROM(".data") = 1;

APART void count(u32 number)
{
	for (u32 at = 0; at < number; at++)
		sum += at;
}

#define TEN_TIMES(call) call; call; call; call; call; call; call; call; call; call
APART void one(void) { TEN_TIMES(sum += 1); }
APART void ten(void) { TEN_TIMES(one()); }
APART void hundred(void) { TEN_TIMES(ten()); }
APART void thousand(void) { TEN_TIMES(hundred()); }
APART void more(void) { TEN_TIMES(thousand()); }
APART void many(void) { TEN_TIMES(more()); }

SEC("struct_ops") void lasting_grow(u64 *arguments)
{
	count(150000);
	table[arguments[2] & 1023] = 1;
}

SEC("struct_ops") void endless_grow(u64 *arguments)
{
	count(2000000 + (arguments[2] & 1));
}

SEC("struct_ops") void deep_grow(u64 *arguments)
{
	sum += arguments[2];
	many();
}

SEC("struct_ops") u32 hungry_ssthresh(u64 *arguments)
{
	return ((struct tcp_sock *)arguments[0])->snd_cwnd / 2;
}

#define CONTROLLER(of)                                                                             \
	SEC(".struct_ops") struct tcp_congestion_ops of = {                                       \
		.cong_avoid = (void *)of##_grow,                                                   \
		.ssthresh = (void *)hungry_ssthresh,                                               \
		.name = "test_" #of,                                                              \
	}
CONTROLLER(lasting);
CONTROLLER(endless);
CONTROLLER(deep);
