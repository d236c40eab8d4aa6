// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What TCP Prague keeps of a socket, and its arithmetic.

#pragma once

#include "fairhaul.bpf.h"

PARAMETER rtt_independent = 1;
PARAMETER target_rtt = 25000;
PARAMETER transition = 4;
PARAMETER gain = 62500;
PARAMETER alpha = 0;
PARAMETER ect0 = 0;

#define MILLION 1000000ULL
#define ONE_Q31 (1ULL << 31)
#define LEAST_Q32 (ONE_Q32 >> 10)
#define SMALL_Q32 (4 * ONE_Q32)
#define LEAST_RATE 12500 // bytes a second: 100 kbit/s
// More than an acknowledgement has, and rates and windows beyond which a rate is not computed.
#define MOST_ACKED (1U << 20)
#define MOST_RATE_Q32 ((1ULL << 40) - 1)
#define MOST_PACED_Q16 (1ULL << 44)
#define MOST_ROUNDS 1000
#define MOST_CWND 0x7fffffff
enum { ACCURATE = 16, FEEDBACK = 17, ECT_1 = 1, ECN = 3 };

struct prague {
	u64 cwnd_q32;		     // the window with its fraction
	u64 updated_us, reduced_us;  // when alpha was updated, and the window reduced
	u32 shown;		     // what was made of it in the socket
	u32 alpha_q31;
	u32 delivered, marked;	     // packets since alpha was updated
	u32 marked_before;	     // all marks, at the last acknowledgement
	u32 reduced_until;	     // no reduction before this was delivered
	u32 round_end;
	u32 threshold;		     // of the socket, before a new one was requested
	u16 rounds;		     // of congestion avoidance
	u8 scalable;
	u8 marked_once, waits;	     // whether a mark has come; whether the last reduction is not yet a round ago
	u8 asked;		     // whether a new threshold was requested
	u8 recovers, odd;	     // whether the window comes down to half; a packet that counts for the next one
};

// What an acknowledgement says.
struct ack {
	u64 now_us;
	u32 acked, marked, in_flight;
	u8 new_round;
};

// A field of the structure that no other port reads, in a description of its own: a loader ignores what follows ___.
struct inet_sock___tos {
	u8 tos;
} __attribute__((preserve_access_index));

INLINE u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

// The whole packets of a window.
INLINE u64 target(u64 cwnd_q32)
{
	return larger((cwnd_q32 + ONE_Q32 - 1) >> 32, 2);
}

// Alpha after a round in which `marked` of `delivered` packets were.
INLINE u64 next_alpha(u64 alpha_q31, u32 marked, u32 delivered)
{
	u64 share_q31 = ((u64)marked << 31) / delivered;

	if (share_q31 >= alpha_q31)
		return alpha_q31 + rounded((share_q31 - alpha_q31) * gain, MILLION);
	return alpha_q31 - rounded((alpha_q31 - share_q31) * gain, MILLION);
}

// A window without half of alpha.
INLINE u64 less(u64 cwnd_q32, u64 alpha_q31)
{
	return cwnd_q32 - (((cwnd_q32 >> 16) * (alpha_q31 >> 15)) >> 1);
}

// What a round adds, for the round-trip time in eighths of a microsecond.
INLINE u64 increase_q32(u32 srtt_8us, u32 rounds)
{
	u64 target_8us = (u64)target_rtt * 8;

	if (!rtt_independent || rounds <= transition || srtt_8us >= target_8us)
		return ONE_Q32;
	u64 ratio_q31 = ((u64)srtt_8us << 31) / target_8us;

	return ratio_q31 * ratio_q31 >> 30;
}

// The growth for each packet, where a round adds `round_q32`.
INLINE u64 each_q32(u64 cwnd_q32, u64 round_q32)
{
	return rounded(round_q32 << 16, larger(cwnd_q32, LEAST_Q32) >> 16);
}

// A window in a round-trip time, at a speed in 128ths.
INLINE u64 rate_q32(u64 cwnd_q16, u32 srtt_8us, u32 speed)
{
	u64 rate = (smaller(cwnd_q16, MOST_PACED_Q16) << 19) / srtt_8us;

	return smaller(smaller(rate, MOST_RATE_Q32) * speed >> 7, MOST_RATE_Q32);
}

INLINE u64 bytes_per_s(u64 rate_q32, u32 mss)
{
	return ((rate_q32 * mss >> 12) * MILLION) >> 20;
}
