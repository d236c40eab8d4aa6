// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// TCP Prague [PRAGUE], by the rules of `crates/cc/src/prague.rs`: an average of the share of marked packets, alpha, half of
// which a round with marks gives up; growth by unmarked packets; pacing; and a window with a fraction.
//
// It is that only on a connection with accurate feedback (AccECN, Linux 7.2) whose packets carry ECT(1): both are looked at
// with each acknowledgement. On any other connection it is Reno, which takes the kernel's reduction for a mark as for a loss
// [RFC 9331, 4.3]. A kernel that does not know the flags below gets none of them from the loader. They ask for accurate feedback
// and for ECT(1); Linux up to 7.3 sets ECT(1) in the packets of the handshake alone, and ECT(0) in data. `ect0` is for a network
// whose queues take ECT(0) for L4S, too: no other network expects of it that it is answered in proportion.
//
// Differs from the rule in `crates/cc`: the first window is paced, too; a reduction for a loss is spread over the recovery, one
// packet for each two that are delivered; the window does not fall below 2^-10 packets; and the kernel chooses its bursts.
//
// The window is Q32, alpha is Q31, and rates are in packets per microsecond, as Q32.

#include "prague_law.h"

FAIRHAUL_PORT("prague", "TCP Prague: reduces the window in proportion to the marks of an L4S queue",
	      "rtt_independent|0|1||whether flows with round-trip times below target_rtt grow and reduce as if they had that one; off is the Prague of 2020\n"
	      "target_rtt|1000|1000000|us|round-trip time below which rates do not depend on it\n"
	      "transition|0|1000||rounds of congestion avoidance before the growth follows target_rtt\n"
	      "gain|100|1000000|1e-6|weight of a new sample in the average fraction of marked packets\n"
	      "alpha|0|1000000|1e-6|initial value of the average fraction of marked packets; the first mark halves the window in any case\n"
	      "ect0|0|1||whether packets with ECT(0) count as those of L4S: in a network whose queues take them for such, or that makes ECT(1) of them; off is Reno there\n");

INLINE int is_scalable(struct tcp_sock *tp)
{
	u32 ecn = ((struct inet_sock___tos *)tp)->tos & ECN;

	return (tp->ecn_flags & FEEDBACK) == ACCURATE && (ecn == ECT_1 || (ecn && ect0));
}

INLINE int in_slow_start(struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

INLINE int has_passed(u64 since_us, u64 now_us)
{
	return !rtt_independent || now_us - since_us >= target_rtt;
}

// What others have made of the window is the window.
INLINE void follow(struct tcp_sock *tp, struct prague *own)
{
	u32 cwnd = tp->snd_cwnd;

	if (own->recovers || cwnd == own->shown)
		return;
	own->cwnd_q32 = (u64)cwnd << 32;
	own->shown = cwnd;
}

INLINE void show(struct tcp_sock *tp, struct prague *own, u64 packets)
{
	u32 cwnd = smaller(packets, tp->snd_cwnd_clamp);

	tp->snd_cwnd = cwnd;
	own->shown = cwnd;
}

// Moves the whole packets of the socket by one at most.
INLINE void step(struct tcp_sock *tp, struct prague *own)
{
	u64 want = target(own->cwnd_q32), cwnd = tp->snd_cwnd;

	show(tp, own, want > cwnd ? cwnd + 1 : want < cwnd ? cwnd - 1 : cwnd);
}

// The window after a loss: half of it, at least two packets. With alpha, what is reduced are whole packets, as there.
INLINE u64 half(struct prague *own)
{
	u64 whole_q32 = own->scalable ? (u64)own->shown << 32 : own->cwnd_q32;

	return larger(whole_q32 / 2, 2 * ONE_Q32);
}

INLINE void halve(struct tcp_sock *tp, struct prague *own)
{
	own->cwnd_q32 = half(own);
	tp->snd_ssthresh = own->cwnd_q32 >> 32;
	own->shown = tp->snd_cwnd;
	own->recovers = own->odd = 1;
}

INLINE void update_alpha(struct prague *own, struct ack *of)
{
	if (!of->new_round || !own->marked_once || !has_passed(own->updated_us, of->now_us))
		return;
	own->alpha_q31 = next_alpha(own->alpha_q31, own->marked, own->delivered);
	own->delivered = own->marked = 0;
	own->updated_us = of->now_us;
}

INLINE void give_up(struct tcp_sock *tp, struct prague *own, u64 alpha_q31)
{
	own->cwnd_q32 = larger(less(own->cwnd_q32, alpha_q31), LEAST_Q32);
	tp->snd_ssthresh = larger(own->cwnd_q32 >> 32, 2);
}

// A mark reduces the window once in a round trip.
INLINE void reduce(struct tcp_sock *tp, struct prague *own, struct ack *of)
{
	if (ca_state(tp) >= CA_RECOVERY)
		return;
	if (own->marked_once && (own->waits || !has_passed(own->reduced_us, of->now_us)))
		return;
	give_up(tp, own, own->marked_once ? own->alpha_q31 : ONE_Q31);
	own->marked_once = own->waits = 1;
	own->reduced_until = tp->delivered + of->in_flight;
	own->reduced_us = of->now_us;
}

// Grows in slow start up to ssthresh; returns the packets left for congestion avoidance.
INLINE u32 begin(struct tcp_sock *tp, struct prague *own, u32 packets)
{
	u32 room = tp->snd_ssthresh - tp->snd_cwnd;
	u32 more = packets < room ? packets : room;

	show(tp, own, (u64)tp->snd_cwnd + more);
	own->cwnd_q32 = (u64)own->shown << 32;
	return packets - more;
}

INLINE void raise(struct tcp_sock *tp, struct prague *own, struct ack *of)
{
	u32 packets = own->scalable ? of->acked - of->marked : of->acked;

	if (!uses_window(tp))
		return;
	if (in_slow_start(tp)) {
		packets = begin(tp, own, packets);
		if (!packets)
			return;
	}
	u64 round_q32 = own->scalable ? increase_q32(tp->srtt_us, own->rounds) : ONE_Q32;
	u64 most_q32 = smaller(tp->snd_cwnd_clamp, MOST_CWND) << 32;

	own->cwnd_q32 = smaller(own->cwnd_q32 + each_q32(own->cwnd_q32, round_q32) * packets, most_q32);
	if (own->scalable)
		step(tp, own);
	else
		show(tp, own, larger(own->cwnd_q32 >> 32, 1));
}

// The window comes down to half while packets are delivered: one is sent for each two.
INLINE void recover(struct tcp_sock *tp, struct prague *own, struct ack *of)
{
	u32 packets = of->acked + own->odd;

	own->odd = packets & 1;
	show(tp, own, larger(own->cwnd_q32 >> 32, of->in_flight + packets / 2));
}

// What Prague learns of an acknowledgement, before the window grows.
INLINE void learn(struct tcp_sock *tp, struct prague *own, struct ack *of)
{
	own->delivered += of->acked;
	own->marked += of->marked;
	if (own->waits && after(tp->delivered, own->reduced_until))
		own->waits = 0;
	if (in_slow_start(tp))
		own->rounds = 0;
	else if (of->new_round && own->rounds < MOST_ROUNDS + 1)
		own->rounds++;
	update_alpha(own, of);
	if (of->marked)
		reduce(tp, own, of);
	if (!in_slow_start(tp) && ca_state(tp) < CA_RECOVERY)
		step(tp, own);
}

// The speed in 128ths: twice the window in a round trip in slow start, and a small window is sent at rates around its own.
INLINE u32 speed(struct tcp_sock *tp, u64 cwnd_q32)
{
	u64 longer_8us = larger(tp->srtt_us, (u64)target_rtt * 8);

	if (cwnd_q32 < (u64)tp->snd_ssthresh << 31)
		return 256;
	if (cwnd_q32 > SMALL_Q32)
		return 128;
	return (tp->tcp_mstamp * 16 / longer_8us) & 1 ? 124 : 132;
}

INLINE void pace(struct tcp_sock *tp, struct prague *own, u32 in_flight)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	u64 flight_q32 = smaller(in_flight, tp->snd_cwnd) << 32;
	u64 cwnd_q32 = larger(own->cwnd_q32, flight_q32);
	u32 srtt_8us = tp->srtt_us;

	if (!srtt_8us)
		return;
	u64 rate = rate_q32(cwnd_q32 >> 16, srtt_8us, speed(tp, own->cwnd_q32));

	sk->sk_pacing_rate = smaller(larger(bytes_per_s(rate, tp->mss_cache), LEAST_RATE), sk->sk_max_pacing_rate);
}

SEC("struct_ops") int init(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct prague *own = state(tp);
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;

	forget(tp);
	own->alpha_q31 = rounded((u64)alpha << 31, MILLION);
	own->marked_before = tp->delivered_ce;
	own->round_end = tp->snd_una;
	follow(tp, own);
	if (sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
	pace(tp, own, 0);
	return 0;
}

SEC("struct_ops") int cong_control(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct prague *own = state(tp);
	struct rate_sample *rs = (struct rate_sample *)arguments[3];
	u32 delivered_ce = tp->delivered_ce, ca;
	struct ack of = {
		.now_us = tp->tcp_mstamp,
		.acked = smaller(rs->acked_sacked, MOST_ACKED),
		.in_flight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out,
	};

	if (!of.acked)
		return 0;
	of.marked = smaller(delivered_ce - own->marked_before, of.acked);
	own->marked_before = delivered_ce;
	if (after(tp->snd_una, own->round_end)) {
		of.new_round = 1;
		own->round_end = tp->snd_nxt;
	}
	follow(tp, own);
	own->scalable = is_scalable(tp);
	if (own->scalable)
		learn(tp, own, &of);
	ca = ca_state(tp);
	if (own->recovers)
		recover(tp, own, &of);
	else if (ca != CA_RECOVERY)
		raise(tp, own, &of);
	pace(tp, own, of.in_flight);
	return 0;
}

// The kernel says only with the next state what the threshold is for; of a mark in proportion it is not.
SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct prague *own = state(tp);

	follow(tp, own);
	own->scalable = is_scalable(tp);
	own->threshold = tp->snd_ssthresh;
	own->asked = 1;
	return half(own) >> 32;
}

// A reduction for a mark: its own, if the mark was reported accurately, and as for a loss otherwise. Without a mark the queue
// of this host was full.
INLINE void note_mark(struct tcp_sock *tp, struct prague *own)
{
	if (!own->scalable) {
		halve(tp, own);
		return;
	}
	tp->snd_ssthresh = own->threshold;
	if (tp->delivered_ce == own->marked_before)
		give_up(tp, own, own->alpha_q31);
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct prague *own = state(tp);
	u32 next = arguments[1], before = ca_state(tp), asked = own->asked;
	int within = before == CA_CWR && own->scalable; // a reduction in proportion, which is none for a loss

	own->asked = 0;
	if (next == CA_CWR) {
		note_mark(tp, own);
	} else if (next == CA_RECOVERY && (before < CA_CWR || within)) {
		halve(tp, own);
	} else if (next == CA_LOSS) {
		if (asked || within)
			tp->snd_ssthresh = (half(own) + ONE_Q32 - 1) >> 32;
		own->recovers = 0;
	} else if (next < CA_CWR && own->recovers) {
		own->recovers = 0;
		if (tp->snd_cwnd == own->shown) // and the reduction was not undone
			show(tp, own, own->cwnd_q32 >> 32);
	}
	return 0;
}

// The least that the kernel sends at once.
SEC("struct_ops") u32 min_tso_segs(u64 *arguments)
{
	(void)arguments;
	return 1;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_prague = {
	.init = init,
	.cong_control = (void *)cong_control,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.min_tso_segs = min_tso_segs,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED | NEEDS_ECN | NEEDS_ACCECN | ECT_1_NEGOTIATION | NO_FALLBACK_RFC3168,
	.name = "fh_prague",
};
