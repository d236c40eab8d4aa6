// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// A controller that asks for what only a kernel has.

#include "kernel.h"

static long (*const setsockopt)(void *sk, int level, int name, void *value, int length) = (void *)49;

SEC("struct_ops") void vain_init(u64 *arguments)
{
	int value = 0;

	setsockopt((void *)arguments[0], 6, 13, &value, sizeof(value));
}

SEC("struct_ops") u32 vain_ssthresh(u64 *arguments)
{
	return ((struct tcp_sock *)arguments[0])->snd_cwnd / 2;
}

SEC(".struct_ops") struct tcp_congestion_ops vain = {
	.init = (void *)vain_init,
	.ssthresh = (void *)vain_ssthresh,
	.name = "test_vain",
};
