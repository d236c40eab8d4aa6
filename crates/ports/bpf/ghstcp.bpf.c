// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// Gentle HighSpeed TCP [GHSTCP]: HighSpeed TCP while the path is free, Reno while a queue grows.
//
// Once per round it evaluates the round-trip times of the round. The original rule tests whether they increased
// with the time at which their packets left. The refined rule first compares their mean with the smallest one:
// within two standard deviations the path is free, above four it is full, and between them the original rule
// decides.
//
// The sums of the correlation are exact: whole microseconds, counted from the first sample of the round. They can
// hold 2^20 samples that are at most 2 s later and differ by at most 1 s; others are ignored. Means and
// deviations are truncated to sixteenths of a microsecond.
//
// Differs from [GHSTCP]: the kernel takes round-trip times from the last packet that an
// acknowledgement covers; one that covers many is one sample.

#include "highspeed_law.h"

FAIRHAUL_PORT("ghstcp", "Gentle HighSpeed TCP: grows like Reno while the delay rises",
	      "original|0|1||use only the trend of the round-trip time, without thresholds\n"
	      "significance|0|1||test for a rising trend: on is a one-sided t test at 5 %, off the sign of the correlation alone\n"
	      "free|0|100000|0.01|lower threshold, in standard deviations above the minimum round-trip time; below it growth is that of HighSpeed TCP\n"
	      "full|0|100000|0.01|upper threshold, in the same unit; above it growth is that of Reno\n"
	      "sigma_round|0|1||samples of the standard deviation: on is the last round, off the round with the minimum\n"
	      "sigma_floor|0|1000000|us|lower bound of the standard deviation\n"
	      "lifetime|0|1||period of the minimum round-trip time: on is the whole connection, off this cycle and the one before\n"
	      "reno_half|0|1||fraction given up at a loss in Reno mode: on is half, off is b(w) of HighSpeed TCP\n");

PARAMETER original = 0;
PARAMETER significance = 1;
PARAMETER free = 200;
PARAMETER full = 400;
PARAMETER sigma_round = 0;
PARAMETER sigma_floor = 100;
PARAMETER lifetime = 0;
PARAMETER reno_half = 0;

// A round's mean and standard deviation, 1/16 us; a mean of 0: none.
struct level {
	u32 mean;
	u32 deviation;
} __attribute__((aligned(8)));

// Pairs of a packet's time of sending and its round-trip time, from the first pair of a round.
struct trend {
	s64 x, y, xx, yy, xy;
	u32 pairs;
	u32 first_sent_us;
	u32 first_rtt_us;
};

struct ghstcp {
	struct window window;
	struct trend trend;
	struct level current, earlier; // the fastest round of this cycle, and of those before
	u32 round_end; // what was sent last when the round under way began
	u32 reno;
};

#define FEWEST 8
#define MOST_PAIRS (1 << 20)
#define MOST_X_US (1 << 21)
#define MOST_Y_US (1 << 20)

// The one-sided 5 % points of Student's distribution for 6 to 28 degrees of freedom, in thousandths,
// and that of the normal distribution for more.
static const u16 T_95[23] = {
	1943, 1895, 1860, 1833, 1812, 1796, 1782, 1771, 1761, 1753, 1746, 1740,
	1734, 1729, 1725, 1721, 1717, 1714, 1711, 1708, 1706, 1703, 1701,
};
#define NORMAL_95 1645

INLINE s64 quotient(s64 a, u64 b)
{
	return a < 0 ? -(s64)((u64)-a / b) : (s64)((u64)a / b);
}

INLINE s64 remainder(s64 a, u64 b)
{
	return a < 0 ? -(s64)((u64)-a % b) : (s64)((u64)a % b);
}

// a b / n without the product, where a / n is small.
INLINE s64 share(s64 a, s64 b, u64 n)
{
	return quotient(a, n) * b + quotient(remainder(a, n) * b, n);
}

INLINE u64 shifted(u64 x, s32 left)
{
	return left < 0 ? x >> -left : x << left;
}

// The square root of a number other than 0, by Newton's rule, from above and within a factor of two: five steps leave
// less than one. A bitwise search has more paths than the kernel's verifier explores.
INLINE u32 root(u64 x)
{
	u64 found = 2ULL << log2_of(x) / 2;

#pragma unroll
	for (int step = 0; step < 5; step++)
		found = (found + x / found) / 2;
	return found;
}

// Whether r^2 > t^2 / (n - 2 + t^2). The sums of squares are scaled to 29 to 31 bits, their product to 32 bits
// fewer, and the limit has 32 bits: the comparison is accurate to a few parts in 10^8.
INLINE int is_significant(u64 xx, u64 yy, u64 xy, u32 pairs)
{
	s32 by_x = 30 - (s32)log2_of(xx), by_y = 30 - (s32)log2_of(yy);
	u32 degrees = pairs - 2, row = pairs - FEWEST;
	u64 t = row < 23 ? T_95[row] : NORMAL_95;
	u64 squared_q16 = (t * t << 16) / 1000000;
	u64 limit_q32 = (squared_q16 << 32) / (((u64)degrees << 16) + squared_q16);

	by_y -= (by_x + by_y) & 1;
	xx = shifted(xx, by_x);
	yy = shifted(yy, by_y);
	xy = shifted(xy, (by_x + by_y) >> 1);
	return xy * xy > (xx * yy >> 32) * limit_q32;
}

INLINE int rises(struct trend *trend, s64 yy)
{
	u64 n = trend->pairs;
	s64 xx = trend->xx - share(trend->x, trend->x, n);
	s64 xy = trend->xy - share(trend->x, trend->y, n);

	if (xx <= 0 || yy <= 0 || xy <= 0)
		return 0;
	return !significance || is_significant(xx, yy, xy, n);
}

INLINE struct level lower(struct level one, struct level other)
{
	return one.mean && one.mean <= other.mean ? one : other;
}

INLINE int is_full(struct ghstcp *own, struct level level, int rising)
{
	struct level least = lower(own->earlier, own->current);
	u64 above = level.mean - least.mean;
	u64 sigma = sigma_round ? level.deviation : least.deviation;

	if (original)
		return rising;
	if (sigma < 16 * sigma_floor)
		sigma = 16 * sigma_floor;
	return 100 * above >= free * sigma && (100 * above >= full * sigma || rising);
}

// Evaluates a complete round; a round of fewer than 8 samples leaves the mode unchanged.
INLINE void decide(struct ghstcp *own)
{
	struct trend *trend = &own->trend;
	u64 n = trend->pairs;

	if (n < FEWEST)
		return;
	s64 yy = trend->yy - share(trend->y, trend->y, n);
	u64 variance = yy > 0 ? (u64)yy / (n - 1) : 0;
	struct level level = {
		.mean = 16 * trend->first_rtt_us + quotient(16 * trend->y, n),
		.deviation = variance ? root(variance << 8) : 0,
	};

	own->current = lower(own->current, level);
	own->reno = is_full(own, level, rises(trend, yy));
}

INLINE void restart(struct trend *trend)
{
	trend->x = trend->y = trend->xx = trend->yy = trend->xy = 0;
	trend->pairs = 0;
}

INLINE void take(struct trend *trend, u32 sent_us, u32 rtt_us)
{
	if (!trend->pairs) {
		trend->first_sent_us = sent_us;
		trend->first_rtt_us = rtt_us;
	}
	s64 x = (s32)(sent_us - trend->first_sent_us), y = (s32)(rtt_us - trend->first_rtt_us);

	if (x >= MOST_X_US || x <= -MOST_X_US || y >= MOST_Y_US || y <= -MOST_Y_US ||
	    trend->pairs >= MOST_PAIRS)
		return;
	trend->pairs++;
	trend->x += x;
	trend->y += y;
	trend->xx += x * x;
	trend->yy += y * y;
	trend->xy += x * y;
}

SEC("struct_ops") int init(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct ghstcp *own = state(tp);

	forget(tp);
	own->round_end = tp->snd_una;
	return 0;
}

SEC("struct_ops") int pkts_acked(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct ack_sample *sample = (struct ack_sample *)arguments[1];
	struct ghstcp *own = state(tp);
	s32 rtt_us = sample->rtt_us;

	if (after(tp->snd_una, own->round_end)) {
		decide(own);
		restart(&own->trend);
		own->round_end = tp->snd_nxt;
	}
	if (rtt_us > 0)
		take(&own->trend, tp->tcp_mstamp - rtt_us, rtt_us);
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct ghstcp *own = state(tp);
	u32 acked = for_avoidance(tp, arguments[2]);

	if (acked)
		grow(tp, acked, per_packet_q32(tp, own->reno ? ONE_Q16 :
					       highspeed_law(window_q16(tp)).increase_q16));
	return 0;
}

// A reduction, which begins a new cycle.
SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct ghstcp *own = state(tp);

	if (own->current.mean)
		own->earlier = lifetime ? lower(own->earlier, own->current) : own->current;
	own->current.mean = 0;
	restart(&own->trend);
	if (reno_half && own->reno)
		return keep(tp, ONE_Q16 / 2, ONE_Q16 / 2);
	return highspeed_ssthresh(tp);
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	starts_over(tcp(arguments), arguments[1]);
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_ghstcp = {
	.init = init,
	.pkts_acked = pkts_acked,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_ghstcp",
};
