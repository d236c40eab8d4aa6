// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// H-TCP [HTCP]: growth depends on the time since the last loss, decrease on the queueing delay.
//
// Times are whole microseconds, rates sixteenths of a packet per second. Growth stops increasing after 1000 s,
// and is at most 32768 packets per round.

#include "fairhaul.bpf.h"

FAIRHAUL_PORT("htcp", "H-TCP: growth depends on the time since the last loss",
	      "delta_l|0|1000000|ms|time after a loss during which growth is that of Reno\n"
	      "rtt_scaling|0|1||multiply growth by RTTmin / 0.1 s, clamped to 0.1..2\n"
	      "adaptive_backoff|0|1||keep the fraction RTTmin / RTTmax, clamped to 0.5..0.8, of the window at a loss; off keeps half\n"
	      "throughput_switch|0|1||keep half if the throughput has changed by more than 20 %\n");

PARAMETER delta_l = 1000;
PARAMETER rtt_scaling = 1;
PARAMETER adaptive_backoff = 1;
PARAMETER throughput_switch = 1;

struct htcp {
	struct window window;
	u64 since_us;	    // the last loss event, or the first delivery; 0 before that
	u64 round_since_us; // the begin of the round under way; 0 outside one
	u32 round_end;	    // what was sent last when it began
	u32 packets;	    // delivered in it
	u32 filtered, most, last_most; // throughput, 1/16 packets/s
	u32 kept_q16;
	u32 min_rtt_us, max_rtt_us;
};

#define MOST_US 1000000000ULL
#define MOST_ROUND_Q16 (1ULL << 31)

INLINE u64 within(u64 x, u64 least, u64 most)
{
	return x < least ? least : x > most ? most : x;
}

// The growth in a round, by the time since the last loss event.
INLINE u64 increase_q16(struct htcp *own, u64 elapsed_us)
{
	u64 low_us = (u64)delta_l * 1000;
	u64 beyond_us = elapsed_us > low_us ? elapsed_us - low_us : 0;
	u64 beyond_q16 = rounded((beyond_us < MOST_US ? beyond_us : MOST_US) << 16, 1000000);
	u64 rule_q16 = ONE_Q16 + 10 * beyond_q16 + (beyond_q16 * beyond_q16 >> 18);

	if (rtt_scaling) // 0.1 and 2
		rule_q16 = rule_q16 * within(((u64)own->min_rtt_us << 16) / 100000, 6554, 2 * ONE_Q16) >> 16;
	if (rule_q16 < ONE_Q16)
		rule_q16 = ONE_Q16;
	u64 more = rule_q16 * 2 * (ONE_Q16 - own->kept_q16) >> 16;

	return more < MOST_ROUND_Q16 ? more : MOST_ROUND_Q16;
}

// At the end of a round: filters its throughput with a gain of a quarter.
INLINE void meter(struct htcp *own, u64 now_us)
{
	u64 took_us = now_us - own->round_since_us;

	if (own->round_since_us && took_us) {
		u32 rate = (u64)own->packets * 16000000 / took_us;

		own->filtered = own->filtered ? (3ULL * own->filtered + rate) / 4 : rate;
		if (own->filtered > own->most)
			own->most = own->filtered;
	}
	own->round_since_us = now_us;
	own->packets = 0;
}

// Whether the largest throughputs before this loss event and before the last one differ by at most a fifth.
INLINE int is_steady(struct htcp *own)
{
	u32 last = own->last_most, most = own->most ? own->most : last;
	u64 change = most > last ? most - last : last - most;

	own->last_most = most;
	own->round_since_us = 0;
	own->packets = own->filtered = own->most = 0;
	return last && 5 * change <= last;
}

INLINE u32 kept_q16(struct htcp *own)
{
	int steady = !throughput_switch || is_steady(own);

	if (!adaptive_backoff || !steady || !own->max_rtt_us)
		return ONE_Q16 / 2;
	return within(((u64)own->min_rtt_us << 16) / own->max_rtt_us, ONE_Q16 / 2, 52429); // 0.8
}

SEC("struct_ops") int init(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct htcp *own = state(tp);

	forget(tp);
	own->kept_q16 = ONE_Q16 / 2;
	own->round_end = tp->snd_una;
	return 0;
}

SEC("struct_ops") int pkts_acked(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct ack_sample *sample = (struct ack_sample *)arguments[1];
	struct htcp *own = state(tp);
	s32 rtt_us = sample->rtt_us;
	u64 now_us = tp->tcp_mstamp;

	if (!own->since_us)
		own->since_us = now_us;
	if (rtt_us > 0 && (!own->min_rtt_us || (u32)rtt_us < own->min_rtt_us))
		own->min_rtt_us = rtt_us;
	if (ca_state(tp) > CA_DISORDER)
		return 0;
	if (rtt_us > 0 && (u32)rtt_us > own->max_rtt_us)
		own->max_rtt_us = rtt_us;
	if (after(tp->snd_una, own->round_end)) {
		meter(own, now_us);
		own->round_end = tp->snd_nxt;
	}
	own->packets += sample->pkts_acked;
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct htcp *own = state(tp);
	u32 acked = for_avoidance(tp, arguments[2]);

	if (acked)
		grow(tp, acked, per_packet_q32(tp, increase_q16(own, tp->tcp_mstamp - own->since_us)));
	return 0;
}

// A loss event or a timeout: a new epoch begins, and a twentieth of the largest queueing delay is forgotten.
// After a timeout the threshold is the window that a loss would have left.
SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct htcp *own = state(tp);

	own->kept_q16 = kept_q16(own);
	own->since_us = tp->tcp_mstamp;
	if (own->max_rtt_us > own->min_rtt_us)
		own->max_rtt_us -= (own->max_rtt_us - own->min_rtt_us) / 20;
	return keep(tp, own->kept_q16, own->kept_q16);
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	starts_over(tcp(arguments), arguments[1]);
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_htcp = {
	.init = init,
	.pkts_acked = pkts_acked,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_htcp",
};
