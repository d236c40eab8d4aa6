// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// XCP's sender [XCP, XCP-SPEC, XCP-R] by the rules of `crates/cc/src/xcp.rs`, whose departures from the draft it shares,
// in the variant `xcp-r`. Requests and answers are in options of TCP (`xcp_option.h`), which the program of a cgroup
// writes and reads in the same object.
//
// Differs from the rule in `crates/cc`: where no router answers, the sender is Reno until one does; and its rate is at
// most `line`, whatever answers say. A retransmission carries a request. A packet counts as its payload and 52 bytes
// of headers: time stamps, and no options of XCP, because those are taken from its payload.

#include "fairhaul.bpf.h"
#include "xcp_option_program.h"

PARAMETER line = 10000;
PARAMETER ageing = 500000;

FAIRHAUL_PORT("xcp", "XCP: sends at the rate that routers assign; both hosts need its program",
	      "line|1|100000|Mbit/s|rate that a sender asks for, and never exceeds\n"
	      "ageing|0|1000000|1e-6|fraction of the unused rate that is returned per round trip\n");

#define MILLION 1000000ULL
#define HEADERS 52
#define LONGEST_RTT_US 7999999U
#define MOST_CHANGE 0x7fffffffULL

// What a socket has of its own, beside what the option's program has.
struct xcp {
	struct window window;
	u64 target_q32; // during a reduction: the window that the sender is to have after it
	u32 round_end;
	u32 silent_end; // with what is acknowledged behind it and no answer since, no router is there
	u32 most;	// the largest number in flight in the round
	u8 used;	// whether the window was all in use at some time of the round
	u8 asks;	// whether it asks for more
	u8 reno;	// whether no router answers
};

INLINE struct xcp_flow *shared(struct tcp_sock *tp, u64 flags)
{
	return storage_of(&flows, &tp->inet_conn.icsk_inet.sk, 0, flags);
}

INLINE int reduces(struct tcp_sock *tp)
{
	u32 state = ca_state(tp);

	return state == CA_CWR || state == CA_RECOVERY;
}

// The window that the sender is to have: during a reduction the kernel moves snd_cwnd towards ssthresh.
INLINE u64 target_q32(struct tcp_sock *tp)
{
	struct xcp *own = state(tp);

	return reduces(tp) ? own->target_q32 : window_q32(tp);
}

// In a reduction the threshold is where the kernel moves the window. Otherwise it follows the window down only, so that
// there is no slow start.
INLINE void go_to(struct tcp_sock *tp, u64 q32)
{
	struct xcp *own = state(tp);
	u32 cwnd;

	if (q32 < ONE_Q32)
		q32 = ONE_Q32;
	if (reduces(tp)) {
		own->target_q32 = q32;
		cwnd = q32 >> 32;
		tp->snd_ssthresh = cwnd < 2 ? 2 : cwnd;
		return;
	}
	set_window(tp, q32);
	cwnd = tp->snd_cwnd;
	if (cwnd < tp->snd_ssthresh)
		tp->snd_ssthresh = cwnd < 2 ? 2 : cwnd;
}

INLINE u32 packet_bytes(struct tcp_sock *tp)
{
	return tp->mss_cache + HEADERS;
}

INLINE u32 srtt_us(struct tcp_sock *tp)
{
	u32 us = tp->srtt_us >> 3;

	return us < LONGEST_RTT_US ? us : LONGEST_RTT_US;
}

INLINE u64 line_bytes(void)
{
	return (u64)line * 125000;
}

// Packets of a window whose rate changes by so many bytes/s: `change` srtt, in steps of 2^-28 packets. The remainder is
// below 2^36 where packets have up to 64 KiB.
INLINE u64 packets_q32(struct tcp_sock *tp, u64 change)
{
	u64 product = change * srtt_us(tp), packet = MILLION * packet_bytes(tp);

	return (product / packet << 32) + (((product % packet) << 28) / packet << 4);
}

INLINE void follow(struct tcp_sock *tp, s64 change)
{
	u64 q32 = target_q32(tp), most = packets_q32(tp, line_bytes());
	u64 size = change < 0 ? -change : change;
	u64 packets = packets_q32(tp, size < MOST_CHANGE ? size : MOST_CHANGE);

	if (change < 0)
		q32 = q32 > packets ? q32 - packets : 0;
	else if (q32 < most)
		q32 = q32 + packets < most ? q32 + packets : most;
	go_to(tp, q32);
}

// What packets ask for from now on.
INLINE void prepare(struct tcp_sock *tp, struct xcp_flow *flow)
{
	struct xcp *own = state(tp);
	u64 q16 = target_q32(tp) >> 16, us = srtt_us(tp);

	flow->gap = flow->rtt = flow->delta = 0;
	if (!us || !q16)
		return;
	u64 rtt_q28 = (us << 28) / MILLION, bytes = q16 * packet_bytes(tp) >> 16;

	flow->rtt = rtt_q28;
	flow->gap = (rtt_q28 << 16) / q16;
	if (!own->asks || bytes >= (line_bytes() * us + MILLION - 1) / MILLION)
		return;
	u64 rate = bytes * MILLION / us;
	u64 wanted = ((line_bytes() - rate) << 16) / q16;

	flow->delta = wanted < MOST_CHANGE ? wanted : MOST_CHANGE;
}

// The end of a round: a rate that was not used is given back.
INLINE void end_round(struct tcp_sock *tp)
{
	struct xcp *own = state(tp);
	u64 q32 = target_q32(tp), most_q32 = (u64)own->most << 32;

	// Not while it recovers: then the window says nothing of what the flow could use.
	own->asks = own->used || ca_state(tp) >= CA_CWR;
	if (!own->asks && !own->reno && most_q32 < q32)
		go_to(tp, q32 - (((q32 - most_q32) >> 20) * ageing / MILLION << 20));
	own->used = own->most = 0;
	own->round_end = tp->snd_nxt;
}

SEC("struct_ops") int init(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct xcp *own = state(tp);
	struct xcp_flow *flow = shared(tp, CREATE);

	forget(tp);
	own->asks = own->used = 1;
	own->round_end = own->silent_end = tp->snd_nxt;
	if (!flow)
		return 0;
	flow->asks = 1;
	flow->heard = flow->change = 0;
	prepare(tp, flow);
	return 0;
}

SEC("struct_ops") int release(u64 *arguments)
{
	struct xcp_flow *flow = shared(tcp(arguments), 0);

	if (flow)
		flow->asks = 0;
	return 0;
}

SEC("struct_ops") int pkts_acked(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	const struct ack_sample *sample = (void *)arguments[1];
	struct xcp *own = state(tp);
	struct xcp_flow *flow = shared(tp, 0);
	s32 flight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out + sample->pkts_acked;

	// A connection that is being opened has acknowledgements before it has the controller.
	if (!flow)
		return 0;
	if (flow->change)
		follow(tp, flow->change);
	if (flow->heard) {
		own->reno = 0;
		own->silent_end = tp->snd_nxt;
	} else if (after(tp->snd_una, own->silent_end)) {
		own->reno = 1;
	}
	flow->heard = flow->change = 0;
	if (after(tp->snd_una, own->round_end))
		end_round(tp);
	if (flight > (s32)own->most)
		own->most = flight;
	prepare(tp, flow);
	return 0;
}

SEC("struct_ops") int cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct xcp *own = state(tp);
	u32 acked;

	if (!uses_window(tp))
		return 0;
	own->used = 1;
	if (!own->reno)
		return 0;
	acked = for_avoidance(tp, arguments[2]);
	if (acked)
		grow(tp, acked, per_packet_q32(tp, ONE_Q16));
	return 0;
}

SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct xcp *own = state(tp);
	u32 threshold;

	// One reduction may follow another.
	if (reduces(tp))
		set_window(tp, own->target_q32);
	threshold = keep(tp, ONE_Q16 / 2, ONE_Q16 / 2);
	own->target_q32 = (u64)threshold << 32 | own->window.fraction;
	return threshold;
}

SEC("struct_ops") int set_state(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct xcp *own = state(tp);
	u32 next = arguments[1];

	starts_over(tp, next);
	// Where the kernel has undone the reduction, the window is what it was before.
	if (reduces(tp) && next < CA_CWR && tp->snd_cwnd < tp->prior_cwnd)
		set_window(tp, own->target_q32);
	return 0;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_xcp = {
	.init = init,
	.release = release,
	.pkts_acked = pkts_acked,
	.cong_avoid = cong_avoid,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_xcp",
};
