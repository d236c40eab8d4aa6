// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What BBR, version 3, keeps of each socket, and the parts of it that need no other: filters, the list of
// earlier acknowledgements, and what the path holds.

#pragma once

#include "fairhaul.bpf.h"

PARAMETER loss_threshold = 20000;
PARAMETER kept = 700000;
PARAMETER headroom = 150000;
PARAMETER probe_interval = 2000;
PARAMETER probe_rtt_interval = 5000;
PARAMETER probe_rtt = 200;
PARAMETER min_rtt_window = 10000;

enum { STARTUP, DRAIN, UP, DOWN, CRUISE, PROBE_RTT, REFILL };
// Which packets are acknowledged now, as a probe goes.
enum { OTHER, REFILLING, STARTING, FEEDBACK, STOPPING };
enum { SOCKET_STORAGE = 24, NO_PREALLOC = 1, CREATE = 1 };

#define MILLION 1000000ULL
#define UNBOUNDED (~0U)
#define NO_RATE_BOUND (~0ULL)
#define LEAST_WINDOW 4
#define MOST_ROUNDS 63
#define FULL_LOSSES 6
#define EXCESS_ROUNDS 10
#define EXCESS_SLOTS 16
#define MOST_EXCESS_US (1 << 26)
// Of the rate, in thousandths: what is paced below it, so that queues drain.
#define MARGIN 10
// A power of two.
#define SNAPSHOTS 128

// An earlier acknowledgement: what had been delivered and lost.
struct snapshot {
	u32 delivered, lost;
};

struct bbr3 {
	u64 rates_q32[2]; // the largest of the last cycle with a sample, and of the one before
	u64 short_rate_q32, latest_rate_q32, plateau_rate_q32, paced_q32;
	u64 min_rtt_at_us, recent_rtt_at_us, probe_ends_us;
	u64 cycle_began_us, wait_us;
	u64 excess_q16, excess_began_us;
	u32 min_rtt_us, recent_rtt_us;
	u32 rate_cycle, cycle;
	u32 rounds, round_end, rounds_waited, drain_began, recovered_from;
	u32 most, short_flight, latest_volume;
	u32 loss_round_end, losses;
	u32 lost; // in all, at the last acknowledgement with a sample
	u32 probed_until, prior_cwnd, first_window;
	u32 up_every, up_acked, up_rounds;
	u32 excess_round;
	u32 excess[EXCESS_SLOTS]; // by round
	u8 state, acks, plateau_rounds;
	u8 begun, filled, full_now, recovering;
	u8 loss_round_over, probes, too_high, cautious, probe_round_done;
	u32 newest; // the number of the newest snapshot
	struct snapshot snapshots[SNAPSHOTS];
};

struct {
	int (*type)[SOCKET_STORAGE];
	int (*map_flags)[NO_PREALLOC];
	int *key;
	struct bbr3 *value;
} flows SEC(".maps");

static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;

// What an acknowledgement says. `before` and those after it need a sample of the rate.
struct sample {
	u64 now_us;
	u32 rtt_us; // 0 without
	u32 acked, lost, total, in_flight, flight_before;
	u32 before, delivered;
	u64 rate_q32;
	u32 flight_then, lost_since;
	u8 is_app_limited, limited, round_started;
};

INLINE u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 largest_rate(struct bbr3 *own)
{
	return larger(own->rates_q32[0], own->rates_q32[1]);
}

// Takes a rate of this cycle; those of two cycles ago are forgotten.
INLINE void take_rate(struct bbr3 *own, u64 rate_q32)
{
	if (own->rate_cycle != own->cycle) {
		own->rates_q32[1] = own->rate_cycle + 1 == own->cycle ? own->rates_q32[0] : 0;
		own->rates_q32[0] = 0;
		own->rate_cycle = own->cycle;
	}
	own->rates_q32[0] = larger(own->rates_q32[0], rate_q32);
}

// The rate to send at, before any gain.
INLINE u64 rate_q32(struct bbr3 *own)
{
	return smaller(largest_rate(own), own->short_rate_q32);
}

// Packets that fill the path at a rate, `gain` thousandths times.
INLINE u64 path_at(struct bbr3 *own, u64 rate_q32, u64 gain)
{
	u64 packets_q16 = (rate_q32 >> 4) * own->min_rtt_us >> 12;

	return (packets_q16 * gain / 1000 + ONE_Q16 - 1) >> 16;
}

INLINE u64 path(struct bbr3 *own, u64 gain)
{
	return path_at(own, rate_q32(own), gain);
}

// The same, with what ends need to keep going.
INLINE u64 budget(struct bbr3 *own, u64 packets)
{
	return larger(packets, LEAST_WINDOW) + (own->state == UP ? 2 : 0);
}

INLINE u64 with_headroom(struct bbr3 *own)
{
	u64 most = own->most;

	if (most == UNBOUNDED)
		return UNBOUNDED;
	most = smaller(most * (MILLION - headroom) / MILLION, most - 1);
	return larger(most, LEAST_WINDOW);
}

INLINE u64 probe_window(struct bbr3 *own)
{
	return larger(path(own, 500), LEAST_WINDOW);
}

// Whether the path is full: three rounds in which the rate did not grow by a quarter.
INLINE void watch_plateau(struct bbr3 *own, u64 rate_q32)
{
	if (rate_q32 >= own->plateau_rate_q32 + own->plateau_rate_q32 / 4) {
		own->plateau_rate_q32 = rate_q32;
		own->plateau_rounds = 0;
	} else {
		own->plateau_rounds++;
	}
	own->full_now = own->plateau_rounds >= 3;
	own->filled |= own->full_now;
}

INLINE void forget_excess(struct bbr3 *own)
{
	for (int slot = 0; slot < EXCESS_SLOTS; slot++)
		own->excess[slot] = 0;
}

// Packets acknowledged beyond what the rate explains: the largest number of each of the last ten rounds.
INLINE void take_excess(struct bbr3 *own, u32 packets)
{
	u32 missed = own->rounds - own->excess_round;

	for (u32 more = 0; more < EXCESS_ROUNDS; more++)
		if (more < missed)
			own->excess[(own->rounds - more) & (EXCESS_SLOTS - 1)] = 0;
	own->excess_round = own->rounds;
	u32 slot = own->rounds & (EXCESS_SLOTS - 1);

	own->excess[slot] = larger(own->excess[slot], packets);
}

INLINE u64 largest_excess(struct bbr3 *own)
{
	u64 most = 0;

	for (u32 back = 0; back < EXCESS_ROUNDS; back++)
		most = larger(most, own->excess[(own->excess_round - back) & (EXCESS_SLOTS - 1)]);
	return most;
}

// What was lost since the acknowledged packet left, by the last acknowledgement before that; and what was in flight then:
// all of it, with the packet itself, has been delivered or lost since.
INLINE void look_up(struct bbr3 *own, struct sample *of, u32 lost)
{
	// A binary search among the last 127: snapshot 0 is the oldest of them.
	u32 oldest = own->newest + 2, low = 0;

	for (u32 step = SNAPSHOTS / 2; step; step /= 2) {
		struct snapshot *middle = &own->snapshots[(oldest + low + step - 1) & (SNAPSHOTS - 1)];

		if (!after(middle->delivered, of->before))
			low += step;
	}
	of->lost_since = lost - own->snapshots[(oldest + low - (low > 0)) & (SNAPSHOTS - 1)].lost;
	of->flight_then = of->delivered + of->lost_since;
}

// Adds this acknowledgement to the list, if the newest is a 64th of a window behind.
INLINE void remember(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	u32 newest = own->newest & (SNAPSHOTS - 1);
	u32 step = (tp->snd_cwnd >> 6) + 1;

	if (of->total - own->snapshots[newest].delivered < step)
		return;
	newest = (newest + 1) & (SNAPSHOTS - 1);
	own->newest = newest;
	own->snapshots[newest].delivered = of->total;
	own->snapshots[newest].lost = tp->lost;
}
