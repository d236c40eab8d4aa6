// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// CUBIC in whole packets [RFC 9438], as a kernel programmer would write it: functions of the kernel for slow start
// and for growth, its clock, functions of its own, variables, constants and a constant of the kernel's configuration.

#include "kernel.h"

enum { TOO_SLOW = 100, MOST_WITHOUT_LOSS = 20, LEAST = 2 };

// Of 1024 parts of the window, those that a loss leaves; read-only from the start.
const volatile u32 kept = 717;
// C is 0.4 packets / s^3: a millisecond cubed counts 4e-10 packets.
u64 per_packet = 2500000000;
u32 epochs;

struct cubic {
	u32 last_max;
	u32 origin;
	u32 begin; // of the epoch, jiffies; 0 for none
	u32 until_origin; // ms
	u32 standard;
	u32 acked;
	u32 per; // acknowledged packets for one packet more
	u32 looked_at; // when that was computed, and for which window
	u32 looked_cwnd;
};

INLINE struct tcp_sock *tcp(u64 *arguments)
{
	return (struct tcp_sock *)arguments[0];
}

INLINE struct cubic *cubic(struct tcp_sock *tp)
{
	return (struct cubic *)tp->inet_conn.icsk_ca_priv;
}

INLINE u32 now(void)
{
	return jiffies64();
}

// The largest number whose cube is not above `x`.
APART u32 cube_root(u64 x)
{
	u64 root = 0;

	for (int bit = 20; bit >= 0; bit--) {
		u64 next = root | 1ULL << bit;

		if (next * next * next <= x)
			root = next;
	}
	return root;
}

APART void begin(struct cubic *ca, u32 cwnd)
{
	u64 below = ca->last_max > cwnd ? ca->last_max - cwnd : 0;

	ca->begin = now();
	ca->origin = ca->last_max > cwnd ? ca->last_max : cwnd;
	ca->until_origin = cube_root(below * per_packet);
	ca->standard = cwnd;
	ca->acked = 0;
	epochs++;
}

INLINE void look(struct tcp_sock *tp, struct cubic *ca, u32 acked)
{
	u32 cwnd = tp->snd_cwnd, each = cwnd * 15 / 8;
	u64 apart, distance;
	s64 t;

	ca->acked += acked;
	if (ca->begin && ca->looked_cwnd == cwnd && now() - ca->looked_at <= CONFIG_HZ / 32)
		goto standard;
	ca->looked_at = now();
	ca->looked_cwnd = cwnd;
	if (!ca->begin)
		begin(ca, cwnd);
	t = (u64)(now() - ca->begin) * 1000 / CONFIG_HZ + tp->rtt_min.s[0].v / 1000;
	t -= ca->until_origin;
	apart = t < 0 ? -t : t;
	distance = apart * apart * apart / per_packet;
	ca->per = TOO_SLOW * cwnd;
	if (t >= 0 && ca->origin + distance > cwnd)
		ca->per = cwnd / (ca->origin + distance - cwnd);
	else if (t < 0 && ca->origin - distance > cwnd && ca->origin > distance)
		ca->per = cwnd / (ca->origin - distance - cwnd);
	if (!ca->last_max && ca->per > MOST_WITHOUT_LOSS)
		ca->per = MOST_WITHOUT_LOSS;
standard:
	if (ca->acked > each && each) {
		ca->standard += ca->acked / each;
		ca->acked %= each;
	}
	if (ca->standard > cwnd && ca->per > cwnd / (ca->standard - cwnd))
		ca->per = cwnd / (ca->standard - cwnd);
	if (ca->per < LEAST)
		ca->per = LEAST;
}

SEC("struct_ops/cubic_init") void cubic_init(u64 *arguments)
{
	struct cubic *ca = cubic(tcp(arguments));

	__builtin_memset(ca, 0, sizeof(*ca));
}

SEC("struct_ops/cubic_cong_avoid") void cubic_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	u32 acked = arguments[2];

	if (!FLAG(tp, is_cwnd_limited) && tp->snd_cwnd >= tp->snd_ssthresh)
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	look(tp, cubic(tp), acked);
	tcp_cong_avoid_ai(tp, cubic(tp)->per, acked);
}

SEC("struct_ops/cubic_ssthresh") u32 cubic_ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct cubic *ca = cubic(tp);
	u32 cwnd = tp->snd_cwnd, left = (u64)cwnd * kept / 1024;

	ca->last_max = cwnd < ca->last_max ? (u64)cwnd * (1024 + kept) / 2048 : cwnd;
	ca->begin = 0;
	return left > 2 ? left : 2;
}

SEC("struct_ops/cubic_set_state") void cubic_set_state(u64 *arguments)
{
	if (arguments[1] == 4)
		__builtin_memset(cubic(tcp(arguments)), 0, sizeof(struct cubic));
}

SEC("struct_ops/cubic_undo_cwnd") u32 cubic_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd((struct sock *)arguments[0]);
}

SEC(".struct_ops") struct tcp_congestion_ops test_cubic = {
	.init = (void *)cubic_init,
	.cong_avoid = (void *)cubic_cong_avoid,
	.ssthresh = (void *)cubic_ssthresh,
	.set_state = (void *)cubic_set_state,
	.undo_cwnd = (void *)cubic_undo_cwnd,
	.name = "test_cubic",
};
