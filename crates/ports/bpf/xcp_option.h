// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// XCP between Linux hosts: the options of TCP, and what a socket has of both of its roles. The headers of
// [XCP-SPEC] are between IP and TCP; hosts whose kernels do not have them carry the same numbers in TCP options.
//
// Every number is in the order of the network. A request, in each packet with data of a sender of XCP:
//
//   byte  0      253, an experimental kind [RFC 4727]
//   byte  1      16, the length
//   bytes 2-3    0x5851, "XQ" [RFC 6994]
//   bytes 4-7    X, the time between two packets: 2^-28 s, as in [XCP-SPEC, 2.1]
//   bytes 8-11   bit 31: a router has answered; bits 30 to 8: the round-trip time, below 8 s in 2^-20 s; bits 7 to 0:
//                a number that a router changes from answer to answer, so that no host merges packets with answers
//   bytes 12-15  Delta_Throughput, signed, bytes/s: what the sender asks for, then what routers leave of it
//
// An answer, in each packet of a host that has received a request:
//
//   byte  0      253
//   byte  1      8
//   bytes 2-3    0x5841, "XA"
//   bytes 4-7    bit 31: a router answered the last request; bits 30 to 0: the sum of all changes that routers have
//                left in requests, modulo 2^31 bytes/s, so that an answer that arrives repairs those that are lost
//
// Beside time stamps 28 bytes are left: room for both. Beside one SACK block 16 are left, beside two 8, and beside
// three none.

#pragma once

#include "fields.bpf.h"

enum { EXPERIMENT = 253, REQUEST_BYTES = 16, ANSWER_BYTES = 8, SEARCHED_BYTES = 4 };
#define REQUEST_MAGIC 0x5851
#define ANSWER_MAGIC 0x5841
#define ANSWERED (1U << 31)
#define RTT_BITS 0x7fffff00U
#define SUM_BITS 0x7fffffffU

struct xcp_request {
	u8 kind, length;
	u16 magic;
	u32 gap, rtt, delta;
};

struct xcp_answer {
	u8 kind, length;
	u16 magic;
	u32 sum;
};

// What the option's program and the controller share of a socket. The first four are what packets ask for, which
// the controller keeps up to date.
struct xcp_flow {
	u32 asks; // whether the controller is XCP
	u32 gap, rtt, delta;
	// What answers have brought: their last sum; the changes that the controller has not yet seen, bytes/s; and
	// whether one of them had the bit.
	u32 sum;
	u32 heard;
	s64 change;
	// As a receiver: whether a request has arrived, whether a router had answered the last one, and the sum.
	u32 answers, answered, granted;
	u32 turn; // changes with each packet that has room for a request or an answer
};

enum { SOCKET_STORAGE = 24, NO_PREALLOC = 1, CREATE = 1 };

struct {
	int (*type)[SOCKET_STORAGE];
	int (*map_flags)[NO_PREALLOC];
	int *key;
	struct xcp_flow *value;
} flows SEC(".maps");

static void *(*const storage_of)(void *map, void *socket, void *value, u64 flags) = (void *)107;
