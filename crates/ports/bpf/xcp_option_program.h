// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The program of a cgroup that writes and reads the options of XCP. It acts on sockets whose controller is XCP, and
// on those that receive requests; other connections of the cgroup call it a few times, and are as they were.
//
// The offsets in `struct bpf_sock_ops` (linux/bpf.h) are the same in all kernels.

#pragma once

#include "xcp_option.h"

struct bpf_sock_ops {
	u32 op;
	u32 unused[20];
	u32 flags; // the callbacks that the socket wants
	u32 more[24];
	void *socket;
	u64 data, data_end;
	u32 length; // of the packet; of one that is sent, with the header of TCP when options are written
	u32 tcp_flags;
};

_Static_assert(__builtin_offsetof(struct bpf_sock_ops, flags) == 84, "as in linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, socket) == 184, "as in linux/bpf.h");
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, length) == 208, "as in linux/bpf.h");

enum { CONNECTED = 4, ACCEPTED = 5, SAMPLED_RTT = 12, PARSE = 13, RESERVE = 14, WRITE = 15 };
enum { WANTS_RTT = 1 << 3, WANTS_UNKNOWN = 1 << 5, WANTS_TO_WRITE = 1 << 6 };
enum { TCP_HEADER = 20 };

static long (*const want)(struct bpf_sock_ops *of, int flags) = (void *)59;
static long (*const load_option)(struct bpf_sock_ops *of, void *option, u32 length, u64 flags) = (void *)142;
static long (*const store_option)(struct bpf_sock_ops *of, const void *option, u32 length, u64 flags) = (void *)143;
static long (*const reserve_option)(struct bpf_sock_ops *of, u32 length, u64 flags) = (void *)144;

INLINE u32 swapped(u32 number)
{
	return __builtin_bswap32(number);
}

INLINE struct xcp_flow *flow_of(struct bpf_sock_ops *of, u64 flags)
{
	void *socket = of->socket;

	return socket ? storage_of(&flows, socket, 0, flags) : 0;
}

// A request has arrived: its change counts if a router has answered it. Where none has, it is as the sender wrote it.
INLINE void receive(struct bpf_sock_ops *of, struct xcp_request *request)
{
	struct xcp_flow *flow = flow_of(of, CREATE);
	u32 rtt = swapped(request->rtt);

	if (!flow)
		return;
	flow->answers = 1;
	flow->answered = rtt & ANSWERED;
	if (flow->answered)
		flow->granted = (flow->granted + swapped(request->delta)) & SUM_BITS;
	want(of, of->flags | WANTS_TO_WRITE);
}

INLINE void hear(struct xcp_flow *flow, u32 word)
{
	u32 sum = word & SUM_BITS;
	s32 change = (s32)((sum - flow->sum) << 1) >> 1;

	flow->sum = sum;
	flow->change += change;
	flow->heard |= word & ANSWERED;
}

INLINE void parse(struct bpf_sock_ops *of)
{
	struct xcp_request request = { EXPERIMENT, SEARCHED_BYTES, __builtin_bswap16(REQUEST_MAGIC), 0, 0, 0 };
	struct xcp_answer answer = { EXPERIMENT, SEARCHED_BYTES, __builtin_bswap16(ANSWER_MAGIC), 0 };
	struct xcp_flow *flow;

	if (load_option(of, &request, sizeof(request), 0) == REQUEST_BYTES)
		receive(of, &request);
	if (load_option(of, &answer, sizeof(answer), 0) != ANSWER_BYTES)
		return;
	flow = flow_of(of, 0);
	if (flow && flow->asks)
		hear(flow, swapped(answer.sum));
}

// A packet is about to be made, or, without flags of TCP, the kernel asks how long packets with data may be.
INLINE void reserve(struct bpf_sock_ops *of)
{
	struct xcp_flow *flow = flow_of(of, 0);

	if (!flow || !(flow->asks || flow->answers)) {
		want(of, of->flags & ~WANTS_TO_WRITE);
		return;
	}
	if (flow->asks && (of->length || !of->tcp_flags))
		reserve_option(of, REQUEST_BYTES, 0);
	if (flow->answers)
		reserve_option(of, ANSWER_BYTES, 0);
}

INLINE int has_data(struct bpf_sock_ops *of)
{
	u8 *header = (u8 *)(long)of->data, *end = (u8 *)(long)of->data_end;

	return header + TCP_HEADER <= end && of->length > (u32)(header[12] >> 4) * 4;
}

INLINE void ask(struct bpf_sock_ops *of, struct xcp_flow *flow)
{
	struct xcp_request request = {
		EXPERIMENT, REQUEST_BYTES, __builtin_bswap16(REQUEST_MAGIC),
		swapped(flow->gap), swapped(flow->rtt & RTT_BITS), swapped(flow->delta),
	};

	store_option(of, &request, sizeof(request), 0);
}

// Where both do not fit, packets with data carry them in turn.
INLINE void write(struct bpf_sock_ops *of)
{
	struct xcp_flow *flow = flow_of(of, 0);
	int asks;

	if (!flow)
		return;
	asks = flow->asks && has_data(of);
	if (asks && flow->turn++ & 1)
		ask(of, flow);
	if (flow->answers) {
		struct xcp_answer answer = {
			EXPERIMENT, ANSWER_BYTES, __builtin_bswap16(ANSWER_MAGIC),
			swapped(flow->granted | flow->answered),
		};

		store_option(of, &answer, sizeof(answer), 0);
	}
	// The kernel refuses what is there already.
	if (asks)
		ask(of, flow);
}

SEC("sockops") int fh_xcp_option(struct bpf_sock_ops *of)
{
	struct xcp_flow *flow;

	switch (of->op) {
	case CONNECTED:
	case ACCEPTED:
		// The controller is not initialised yet.
		want(of, of->flags | WANTS_UNKNOWN | WANTS_TO_WRITE | WANTS_RTT);
		break;
	case SAMPLED_RTT:
		// Perhaps the connection has been given the controller since.
		flow = flow_of(of, 0);
		if (flow && flow->asks)
			want(of, of->flags | WANTS_TO_WRITE);
		break;
	case PARSE:
		parse(of);
		break;
	case RESERVE:
		reserve(of);
		break;
	case WRITE:
		write(of);
		break;
	}
	return 1;
}
