// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The arithmetic of XCP's sender. Round-trip times are in whole microseconds; outside a reduction.

#include "wrappers.h"

#include "xcp.bpf.c"

PROOF u64 a_packets(u64 change, u32 us, u32 mss)
{
	struct tcp_sock socket = { .srtt_us = us << 3, .mss_cache = mss };

	return packets_q32(&socket, change);
}

// The window of the whole line, which bounds what answers add.
PROOF u64 a_line(u32 us, u32 mss)
{
	struct tcp_sock socket = { .srtt_us = us << 3, .mss_cache = mss };

	return packets_q32(&socket, line_bytes());
}

INLINE void prepared(struct xcp_flow *flow, u32 cwnd, u32 fraction, u32 us, u32 mss)
{
	struct tcp_sock socket = { .snd_cwnd = cwnd, .srtt_us = us << 3, .mss_cache = mss };
	struct xcp *own = state(&socket);

	own->window.fraction = fraction;
	own->asks = 1;
	prepare(&socket, flow);
}

PROOF u64 a_gap(u32 cwnd, u32 fraction, u32 us)
{
	struct xcp_flow flow;

	prepared(&flow, cwnd, fraction, us, 1448);
	return flow.gap;
}

PROOF u64 a_rtt(u32 us)
{
	struct xcp_flow flow;

	prepared(&flow, 10, 0, us, 1448);
	return flow.rtt;
}

PROOF u64 a_delta(u32 cwnd, u32 fraction, u32 us, u32 mss)
{
	struct xcp_flow flow;

	prepared(&flow, cwnd, fraction, us, mss);
	return flow.delta;
}

INLINE u64 followed(u32 cwnd, u32 fraction, s64 change, u32 us, u32 mss)
{
	struct tcp_sock socket = {
		.snd_cwnd = cwnd, .snd_cwnd_clamp = ~0U, .srtt_us = us << 3, .mss_cache = mss,
	};
	struct xcp *own = state(&socket);

	own->window.fraction = fraction;
	follow(&socket, change);
	return window_q32(&socket);
}

// The window after a change of the rate that answers have brought.
PROOF u64 a_raised(u32 cwnd, u32 fraction, u32 change, u32 us, u32 mss)
{
	return followed(cwnd, fraction, change, us, mss);
}

PROOF u64 a_lowered(u32 cwnd, u32 fraction, u32 change, u32 us, u32 mss)
{
	return followed(cwnd, fraction, -(s64)change, us, mss);
}

// The window after a round in which at most `most` packets were in flight.
PROOF u64 a_given_back(u32 cwnd, u32 fraction, u32 most)
{
	struct tcp_sock socket = { .snd_cwnd = cwnd, .snd_cwnd_clamp = ~0U };
	struct xcp *own = state(&socket);

	own->window.fraction = fraction;
	own->most = most;
	end_round(&socket);
	return window_q32(&socket);
}
