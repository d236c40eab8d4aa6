// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The clock where programs of the user run. It stands still while a key is all that anything waits for; otherwise a shell
 * that waits for a command would see years pass. And reading it takes a microsecond, as it takes a real program some time
 * to come back to it: a program that waits in a loop until some time has passed would otherwise need a thousand times as
 * many rounds.
 */
#include <linux/hrtimer.h>
#include <linux/kallsyms.h>
#include <linux/time-internal.h>
#include <linux/timerqueue.h>
#include <linux/version.h>
#include <net/inet_hashtables.h>
#include <net/tcp.h>
#include "fairhaul.h"

DECLARE_PER_CPU(struct hrtimer_cpu_base, hrtimer_bases);
int fairhaul_waits_for_key(void);
void fairhaul_clock_is_read(void);

enum { READING_NS = 1000 };

/* What ends the waits of processes that have an end: sleep, poll, alarms. */
static const char *const names[] = { "hrtimer_wakeup", "it_real_fn", "posix_timer_fn", "timerfd_tmrproc" };
static unsigned long ends[ARRAY_SIZE(names)];

static bool ends_a_wait(const struct hrtimer *timer)
{
	int name;

	for (name = 0; name < ARRAY_SIZE(names); name++) {
		if (!ends[name])
			ends[name] = kallsyms_lookup_name(names[name]);
		if (ends[name] && (unsigned long)timer->function == ends[name])
			return true;
	}
	return false;
}

// The queue of timers.
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define timer_node timerqueue_linked_node
#define first_timer timerqueue_linked_first
#define next_timer timerqueue_linked_next
#else
#define timer_node timerqueue_node
#define first_timer timerqueue_getnext
#define next_timer timerqueue_iterate_next
#endif

static bool process_waits_for_time(void)
{
	struct hrtimer_cpu_base *base = this_cpu_ptr(&hrtimer_bases);
	int clock;

	for (clock = 0; clock < HRTIMER_MAX_CLOCK_BASES; clock++) {
		struct timer_node *node = first_timer(&base->clock_base[clock].active);

		for (; node; node = next_timer(node))
			if (ends_a_wait(container_of(node, struct hrtimer, node)))
				return true;
	}
	return false;
}

/* Whether a connection has sent what is not acknowledged, so that its timer will expire. */
static bool connection_waits(void)
{
	struct inet_hashinfo *hashes = &tcp_hashinfo;
	unsigned int slot;

	for (slot = 0; slot <= hashes->ehash_mask; slot++) {
		struct hlist_nulls_node *node;
		struct sock *sk;

		sk_nulls_for_each(sk, node, &hashes->ehash[slot].chain)
			if (sk->sk_state != TCP_TIME_WAIT && sk->sk_state != TCP_NEW_SYN_RECV &&
			    (tcp_sk(sk)->packets_out || tcp_sk(sk)->write_seq != tcp_sk(sk)->snd_nxt))
				return true;
	}
	return false;
}

/* Waits a moment if a key is all that anything waits for; gives whether it did. The processor is idle. */
int fairhaul_waits_for_key(void)
{
	const struct fairhaul_path *path = fairhaul_path();

	if (!path || !fairhaul_has_keyboard() || !path->quiet() || process_waits_for_time() || connection_waits())
		return 0;
	fairhaul_wait_for_key();
	return 1;
}

/* A process reads the clock. */
void fairhaul_clock_is_read(void)
{
	if (fairhaul_has_programs())
		time_travel_ndelay(READING_NS);
}
