// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Sync-TCP [SYNC-TCP]: increases and reduces its window by the queueing delay of the forward path, before any
// loss.
//
// The transit time of an acknowledgement is the receiver's time stamp minus the time stamp that it echoes: the
// delay of the data, plus the time for which the receiver delayed the acknowledgement. The excess over the
// smallest transit time is the queueing delay. Time stamps are in milliseconds, or in microseconds if both routes
// have `tcp_usec_ts`. Without time stamps it is Reno.
//
// Differs from [MOON]: the clocks of two hosts drift, and a line below all transit times does not fit into a
// socket's 104 bytes. Instead, the smallest transit time is that of the last one to two spans of `memory`
// seconds: 50 ppm are 3 ms in 60 s. A queue that lasts longer than that is mistaken for part of the path.
// `memory` = 0 never forgets, for hosts that share one clock.
//
// While a packet is missing, a receiver echoes the time stamp of the last packet in order [RFC 7323, 4.3], which
// says nothing about the queue; no sample is taken until the hole is filled.
//
// Averages are in units of 2^-32 us, rounded to the nearest: if the queueing delay is constant, they stop moving
// after about 250 samples, and their medians are equal then.

#include "fairhaul.bpf.h"

FAIRHAUL_PORT("synctcp", "Sync-TCP: reacts to one-way queueing delay before a loss occurs",
	      "c_low|0|1000000000|packets|below this window it behaves as Reno; 0 with c_high 0 is the original Sync-TCP\n"
	      "c_high|0|1000000000|packets|end of the constant relative growth that begins at c_low\n"
	      "alpha0|0|1000000|1e-6|that growth, as a fraction of the window per round trip\n"
	      "always|0|1||whether the phases of the start apply always; off is until the first reduction\n"
	      "tie_rises|0|1||trend assumed when two medians are equal: on is rising, off is falling\n"
	      "qmax_floor|0|10000000|us|while the largest measured queueing delay is below this, the average counts as in the lowest region\n"
	      "memory|0|86400|s|period of the minimum transit time, which lasts up to twice as long; 0 is the whole connection\n");

PARAMETER c_low = 100;
PARAMETER c_high = 150;
PARAMETER alpha0 = 375000;
PARAMETER always = 0;
PARAMETER tie_rises = 0;
PARAMETER qmax_floor = 10000;
PARAMETER memory = 30;

enum { RENO, EVEN, SYNC };

struct synctcp {
	struct window window;
	u64 average_q32;    // the average queueing delay, us
	u64 one, two;	    // averages of a group of three that is not whole
	u64 oldest, middle, newest; // medians of the last three groups
	u32 first;	    // the transit time that others are counted from, in stamps
	s32 least_us;	    // the smallest of this span, counted from it
	s32 earlier_us;	    // and of the span before
	u32 span_ends_s;    // when this span ends; 0 before the first sample
	u32 most_us;	    // the largest queueing delay
	u32 hold;	    // no early decrease before this was acknowledged
	u8 taken, closed;   // averages under way; groups there are, up to 3
	u8 holding, reduced, phase;
};

// The reactions, in thousandths of the window: an immediate reduction, or the growth in a round. ADD_ONE is
// growth by one packet per round.
#define ADD_ONE 1000000
SEC(".rodata") static const struct {
	s32 rising, falling;
} REACTIONS[4] = { { ADD_ONE, 500 }, { -100, 250 }, { -250, 100 }, { -500, 0 } };

INLINE u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

INLINE u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

INLINE u64 median(u64 a, u64 b, u64 c)
{
	return smaller(larger(a, b), larger(smaller(a, b), c));
}

INLINE void take_average(struct synctcp *own, u64 average)
{
	if (!own->taken) {
		own->one = average;
		own->taken = 1;
		return;
	}
	if (own->taken == 1) {
		own->two = average;
		own->taken = 2;
		return;
	}
	own->oldest = own->middle;
	own->middle = own->newest;
	own->newest = median(own->one, own->two, average);
	own->taken = 0;
	if (own->closed < 3)
		own->closed++;
}

// The queueing delay of a sample.
INLINE u32 queued_us(struct tcp_sock *tp, struct synctcp *own)
{
	u32 transit = tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
	u32 now_s = tp->tcp_mstamp / 1000000;
	int micro = HAS(tp, tcp_usec_ts) && BITS(tp, tcp_usec_ts);

	if (!own->span_ends_s)
		own->first = transit;
	s32 above_us = (s32)(transit - own->first) * (micro ? 1 : 1000);

	if (!own->span_ends_s || (memory && now_s >= own->span_ends_s)) {
		own->earlier_us = own->span_ends_s ? own->least_us : above_us;
		own->least_us = above_us;
		own->span_ends_s = now_s + memory + !memory;
	}
	if (above_us < own->least_us)
		own->least_us = above_us;
	s32 base_us = own->earlier_us < own->least_us ? own->earlier_us : own->least_us;

	return above_us - base_us;
}

INLINE void take(struct tcp_sock *tp, struct synctcp *own)
{
	u64 queued = queued_us(tp, own);
	s64 off_q32 = (s64)(queued << 32) - (s64)own->average_q32;

	own->most_us = larger(own->most_us, queued);
	own->average_q32 += (off_q32 + 4) >> 3;
	take_average(own, own->average_q32);
}

INLINE u32 region(struct synctcp *own)
{
	u64 most = own->most_us;

	if (most < qmax_floor || !most)
		return 0;
	return smaller((own->average_q32 >> 16) * 4 / (most << 16), 3);
}

// The reaction of the table. It requires nine averages.
INLINE s32 reaction(struct synctcp *own)
{
	u32 row = region(own) & 3;
	int rising = own->oldest == own->newest ? tie_rises : own->oldest < own->newest;

	return rising ? REACTIONS[row].rising : REACTIONS[row].falling;
}

INLINE u8 phase_of(struct tcp_sock *tp, struct synctcp *own)
{
	if (own->reduced && !always)
		return SYNC;
	return tp->snd_cwnd < c_low ? RENO : tp->snd_cwnd < c_high ? EVEN : SYNC;
}

// Reduces the window as the table requires, unless it was reduced in this round.
INLINE void early(struct tcp_sock *tp, struct synctcp *own)
{
	if (own->holding && after(own->hold, tp->snd_una))
		return;
	own->holding = 0;
	if (ca_state(tp) > CA_DISORDER || own->phase != SYNC || own->closed < 3)
		return;
	s32 asked = reaction(own);

	if (asked >= 0)
		return;
	u64 left = window_q32(tp) / 1000 * (1000 + asked);

	set_window(tp, left < 2 * ONE_Q32 ? 2 * ONE_Q32 : left);
	tp->snd_ssthresh = tp->snd_cwnd;
	own->hold = tp->snd_nxt;
	own->holding = 1;
	own->reduced = 1;
}

SEC("struct_ops") int init(u64 *arguments)
{
	forget(tcp(arguments));
	return 0;
}

SEC("struct_ops") int pkts_acked(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct synctcp *own = state(tp);

	if (!BITS(tp, rx_opt.saw_tstamp) || !tp->rx_opt.rcv_tsecr)
		return 0;
	if (ca_state(tp) != CA_OPEN || tp->sacked_out)
		return 0;
	take(tp, own);
	own->phase = phase_of(tp, own);
	early(tp, own);
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct synctcp *own = state(tp);
	u32 acked = arguments[2];
	s32 asked = ADD_ONE;

	if (own->phase == EVEN) {
		if (uses_window(tp))
			grow(tp, acked, rounded((u64)alpha0 << 32, 1000000));
		return 0;
	}
	if (own->phase == RENO || own->closed < 3) {
		acked = for_avoidance(tp, acked);
	} else {
		acked = uses_window(tp) ? acked : 0;
		asked = reaction(own);
	}
	if (asked == ADD_ONE)
		grow(tp, acked, per_packet_q32(tp, ONE_Q16));
	else if (asked > 0)
		grow(tp, acked, rounded((u64)asked << 32, 1000));
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct synctcp *own = state(tp);

	own->reduced = 1;
	own->holding = 0;
	return keep(tp, ONE_Q16 / 2, ONE_Q16 / 2);
}

// After a timeout averages are collected from the beginning.
SEC("struct_ops") int set_state(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct synctcp *own = state(tp);

	if (starts_over(tp, arguments[1]))
		own->taken = own->closed = 0;
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_synctcp = {
	.init = init,
	.pkts_acked = pkts_acked,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_synctcp",
};
