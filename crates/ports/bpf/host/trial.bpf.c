// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// The lot of a trial: each new connection of a cgroup gets a controller that is drawn, at the
// end of its handshake. It is no controller itself, and does not keep a connection from being made.
//
// The offsets in `struct bpf_sock_ops` (linux/bpf.h) are the same in all kernels, so nothing here depends on the
// kernel's type information.

#include "../fields.bpf.h"

struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4; // addresses and this port are in the order of the network
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
};

// Both are after the handshake and before the first data. When a socket connects it has no sequence number yet, which
// `cubic` would take for the end of its first round, and so leave slow start too early in many connections.
enum { CONNECTED = 4, ACCEPTED = 5 };
enum { INET = 2, TCP = 6, CONGESTION = 13, NAME_BYTES = 16, NO_WAKEUP = 1, IF_NEW = 1 };
enum { MOST_CONTROLLERS = 8, MOST_PORTS = 8, ALL_BITS = 128 };

// Connections to one peer within this time are one transfer and share the draw.
#define TOGETHER_NS 2000000000LL
// A transfer is the time at which it was drawn, in nanoseconds, with the number of its controller in these bits.
#define CONTROLLER_BITS 7ULL

// An IPv4 address is one of IPv6 in ::ffff:0:0/96.
struct address {
	u32 words[4];
};

struct prefix {
	u32 bits;
	struct address address;
};

// `crates/host` writes this and reads `opened` by the offsets of their fields.
struct settings {
	u64 block; // by time: the transfer of all connections; by transfer: 0
	u32 controllers;
	u32 ports;
	u32 port[MOST_PORTS];
	char name[MOST_CONTROLLERS][NAME_BYTES];
};

struct opened {
	u64 cookie;
	u64 transfer;
	u64 at_ns;
	s64 error; // 0 if it has the controller
	struct address peer;
};

#define MAP_OF(type, entries) int (*type)[entries]

struct {
	MAP_OF(type, 2); // BPF_MAP_TYPE_ARRAY
	MAP_OF(max_entries, 1);
	u32 *key;
	struct settings *value;
} settings SEC(".maps");

// The peers whose connections take part, by the longest prefix: 1, or 0 if they do not.
struct {
	MAP_OF(type, 11); // BPF_MAP_TYPE_LPM_TRIE
	MAP_OF(max_entries, 1024);
	MAP_OF(map_flags, 1); // BPF_F_NO_PREALLOC, which this type requires
	struct prefix *key;
	u32 *value;
} peers SEC(".maps");

// The last transfer of each peer. With more peers, those without a connection for longest are removed.
struct {
	MAP_OF(type, 9); // BPF_MAP_TYPE_LRU_HASH
	MAP_OF(max_entries, 1 << 16);
	struct address *key;
	u64 *value;
} transfers SEC(".maps");

struct {
	MAP_OF(type, 27); // BPF_MAP_TYPE_RINGBUF
	MAP_OF(max_entries, 1 << 20);
} opened SEC(".maps");

// Connections that are not in the ring buffer, because it was full. They keep the controller that they have.
volatile u64 lost;

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const clock_ns)(void) = (void *)5;
static u32 (*const random)(void) = (void *)7;
static u64 (*const cookie_of)(void *socket) = (void *)46;
static long (*const set_option)(void *socket, int level, int option, void *value, int length) = (void *)49;
static void *(*const reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const submit)(void *data, u64 flags) = (void *)132;

SEC("license") const char fairhaul_license[] = "Dual MIT/GPL";

INLINE void peer_of(struct bpf_sock_ops *socket, struct address *peer)
{
	if (socket->family == INET) {
		peer->words[0] = 0;
		peer->words[1] = 0;
		peer->words[2] = __builtin_bswap32(0xffff);
		peer->words[3] = socket->remote_ip4;
		// The verifier accepts loads at constant offsets of the context only; without this clang would merge
		// the last lines of both branches into one load at a computed offset.
		asm volatile("");
		return;
	}
	peer->words[0] = socket->remote_ip6[0];
	peer->words[1] = socket->remote_ip6[1];
	peer->words[2] = socket->remote_ip6[2];
	peer->words[3] = socket->remote_ip6[3];
}

INLINE int takes_part(struct bpf_sock_ops *socket, struct settings *of, struct address *peer)
{
	struct prefix whole = { ALL_BITS, *peer };
	u32 remote = __builtin_bswap32(socket->remote_port), local = socket->local_port;
	u32 *in = lookup(&peers, &whole);

	if (!in || !*in)
		return 0;
	if (!of->ports)
		return 1;
	for (int i = 0; i < MOST_PORTS; i++)
		if (of->port[i] && (of->port[i] == remote || of->port[i] == local))
			return 1;
	return 0;
}

// The transfer to which a new connection to this peer belongs. Several processors may ask at once; then one of them
// draws for all.
INLINE u64 transfer_to(struct address *peer, u32 controllers)
{
	u64 now = clock_ns(), seen, before;
	u64 fresh = (now & ~CONTROLLER_BITS) | random() % controllers;
	u64 *last = lookup(&transfers, peer);

	if (!last) {
		update(&transfers, peer, &fresh, IF_NEW);
		last = lookup(&transfers, peer);
		if (!last)
			return fresh;
	}
	seen = *last;
	// Another processor may have drawn since the clock was read.
	if ((s64)(now - seen) <= TOGETHER_NS)
		return seen;
	before = __sync_val_compare_and_swap(last, seen, fresh);
	return before == seen ? fresh : before;
}

SEC("sockops") int fh_trial_lot(struct bpf_sock_ops *socket)
{
	u32 first = 0, op = socket->op;
	struct settings *of;
	struct opened *report;
	struct address peer;

	if (op != CONNECTED && op != ACCEPTED)
		return 1;
	of = lookup(&settings, &first);
	if (!of || !of->controllers)
		return 1;
	peer_of(socket, &peer);
	if (!takes_part(socket, of, &peer))
		return 1;
	report = reserve(&opened, sizeof(*report), 0);
	if (!report) {
		__sync_fetch_and_add(&lost, 1);
		return 1;
	}
	report->cookie = cookie_of(socket);
	report->at_ns = clock_ns();
	report->peer = peer;
	report->transfer = of->block ? of->block : transfer_to(&peer, of->controllers);
	report->error = set_option(socket, TCP, CONGESTION, of->name[report->transfer & CONTROLLER_BITS],
				   NAME_BYTES);
	submit(report, NO_WAKEUP);
	return 1;
}
