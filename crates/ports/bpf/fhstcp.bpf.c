// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// FHSTCP [FHSTCP]: HighSpeed TCP whose growth is multiplied by c x RTT, sent in k blocks a round.
//
// The blocks use the kernel's own pacing. After each burst the kernel waits as long as the burst lasts at the
// pacing rate, so the rate is chosen for each burst: after a block the next leaves RTT / k later.
//
// Differs from [FHSTCP, 2]: at windows up to 38 packets the factor is at least one, because by the printed rule a
// flow on a short path hardly grows: at 1 ms it adds a hundredth of a packet per round. `eta_floor` = 0 selects the
// printed rule.
//
// Differs from [FHSTCP, Fig. 1]: the kernel sends at most 64 KB at once, 44 packets of 1448 bytes. A larger
// block leaves as several such trains, spread evenly over RTT / k: the packets are spread over the round as
// evenly as with blocks, and bursts are shorter than the paper's. So does the simulator with `variant = "linux"`.

#include "highspeed_law.h"

FAIRHAUL_PORT("fhstcp", "FHSTCP: HighSpeed TCP whose growth scales with the round-trip time, with block pacing",
	      "c|0|1000000|0.001/s|fair factor per second of round-trip time\n"
	      "factor|0|1||multiply growth by c x RTT; off leaves HighSpeed TCP with block pacing\n"
	      "eta_floor|0|1||keep the factor at 1 or more for windows up to 38 packets, so that growth there never falls below Reno\n"
	      "blocks|0|1||send the window in paced blocks; off leaves only the factor\n");

PARAMETER c = 10000;
PARAMETER factor = 1;
PARAMETER eta_floor = 1;
PARAMETER blocks = 1;

struct fhstcp {
	struct window window;
	u32 count; // blocks in a round; 0 until congestion avoidance has set it
	u32 paced; // whether the pacing of this socket was switched on here
};

#define TRAIN_BYTES 64000

// c x RTT, in billionths. srtt_us holds eighths.
INLINE u64 c_rtt(struct tcp_sock *tp)
{
	return (u64)tp->srtt_us * c / 8;
}

INLINE u64 eta_q16(struct tcp_sock *tp)
{
	u64 eta = rounded(c_rtt(tp) << 7, 1953125); // 2^16 / 10^9 = 2^7 / 5^9
	int held = eta_floor && window_q16(tp) <= LAW_LOW_WINDOW * ONE_Q16;

	if (!factor || (held && eta < ONE_Q16))
		return ONE_Q16;
	return eta < ONE_Q32 / 2 ? eta : ONE_Q32 / 2; // so that the product below has room
}

// At most one packet for each delivered packet, as in slow start.
INLINE u64 growth_q32(struct tcp_sock *tp)
{
	u64 share = per_packet_q32(tp, highspeed_law(window_q16(tp)).increase_q16);
	u64 more = (share * eta_q16(tp)) >> 16;

	return more < ONE_Q32 ? more : ONE_Q32;
}

INLINE u32 block_count(struct tcp_sock *tp)
{
	struct fhstcp *own = state(tp);

	if (!blocks)
		return 1;
	return own->count < tp->snd_cwnd ? own->count : tp->snd_cwnd;
}

// ceil(w / k).
INLINE u32 block(struct tcp_sock *tp, u32 count)
{
	return (tp->snd_cwnd + count - 1) / count;
}

// Whether the whole window is used except for the block that waits: the kernel does not regard such a flow as
// limited by its window.
INLINE int fills_blocks(struct tcp_sock *tp)
{
	u32 count = block_count(tp);

	return count > 1 && tp->snd_cwnd >= tp->snd_ssthresh &&
	       tp->max_packets_out + block(tp, count) >= tp->snd_cwnd;
}

SEC("struct_ops") int init(u64 *arguments)
{
	forget(tcp(arguments));
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct fhstcp *own = state(tp);
	u32 acked = fills_blocks(tp) ? arguments[2] : for_avoidance(tp, arguments[2]);

	if (acked) {
		grow(tp, acked, growth_q32(tp));
		own->count = c_rtt(tp) / 1000000000 + 1;
	}
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	return highspeed_ssthresh(tcp(arguments));
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct fhstcp *own = state(tp);

	if (starts_over(tp, arguments[1]))
		own->count = 0;
	return 0;
}

// Switches pacing off, unless the application has requested it meanwhile.
INLINE void stop_pacing(struct tcp_sock *tp)
{
	struct fhstcp *own = state(tp);
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;

	if (own->paced && sk->sk_max_pacing_rate == NO_LIMIT)
		sk->sk_pacing_status = PACING_NONE;
	own->paced = 0;
}

// The number of packets to send at once, and the wait after them: a block, as far as the window allows, or a
// train of a larger block.
INLINE u32 burst(struct tcp_sock *tp, u32 count, u32 mss, u64 *wait_us)
{
	u64 round_us = tp->srtt_us / 8;
	u32 cwnd = tp->snd_cwnd, most = mss < TRAIN_BYTES ? TRAIN_BYTES / mss : 1, whole = block(tp, count);
	u32 in_flight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
	u32 room = cwnd > in_flight ? cwnd - in_flight : 1;

	if (whole > most) {
		*wait_us = round_us * most / cwnd;
		return most;
	}
	*wait_us = round_us / count;
	return room < whole ? room : whole;
}

// The kernel calls it each time before it sends, and has set its own rate at the last acknowledgement; so the
// rate is set here.
SEC("struct_ops") u32 min_tso_segs(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct fhstcp *own = state(tp);
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	u32 count = block_count(tp), mss = tp->mss_cache;
	u64 wait_us;

	if (count < 2 || !mss || !tp->srtt_us || ca_state(tp) > CA_DISORDER) {
		stop_pacing(tp);
		return 2; // the kernel's own least
	}
	if (sk->sk_pacing_status == PACING_NONE) {
		sk->sk_pacing_status = PACING_NEEDED;
		own->paced = 1;
	}
	u32 packets = burst(tp, count, mss, &wait_us);
	u64 rate = (u64)packets * mss * 1000000 / (wait_us ? wait_us : 1);

	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
	return packets;
}

// The connection ends, or continues with another controller.
SEC("struct_ops") int release(u64 *arguments)
{
	stop_pacing(tcp(arguments));
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_fhstcp = {
	.init = init,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.min_tso_segs = min_tso_segs,
	.undo_cwnd = undo_cwnd,
	.release = release,
	.flags = NON_RESTRICTED,
	.name = "fh_fhstcp",
};
