// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What programs of controllers (struct_ops) are called with, and what they do, call by call, for whoever compares them
 * with the same object in an interpreter of its own (crates/host/src/linux/calls.rs, which reads this). Only where the
 * program's starter asks for it; otherwise a call costs one comparison more.
 *
 * The text begins with a line of names of fields: of a socket, of the sample of an acknowledgement, of the sample of the
 * delivery rate. Then each call is a header, followed by words of eight bytes: the fields of the socket before, those of
 * the sample that it got, the fields of the socket after; and, piece by piece, the memory of its maps: variables and
 * constants where they are new, as they are before the call, and the storage of the socket after it.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/jhash.h>
#include <linux/version.h>
#include <net/bpf_sk_storage.h>
#include <net/tcp.h>
#include "fairhaul.h"

u64 fairhaul_recorded_call(struct bpf_prog *prog, u64 *arguments);

/* The fields of a socket that an interpreter has, by their names in the kernel; `tp` is the socket. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define USEC_STAMPS(FIELD) FIELD("tcp_sock.tcp_usec_ts", tp->tcp_usec_ts)
#else
#define USEC_STAMPS(FIELD)
#endif
#define SOCKET_FIELDS(FIELD)								\
	FIELD("sock_common.skc_state", SK(tp).__sk_common.skc_state)			\
	FIELD("sock.sk_pacing_rate", SK(tp).sk_pacing_rate)				\
	FIELD("sock.sk_max_pacing_rate", SK(tp).sk_max_pacing_rate)			\
	FIELD("sock.sk_pacing_status", SK(tp).sk_pacing_status)			\
	FIELD("sock.sk_pacing_shift", SK(tp).sk_pacing_shift)				\
	FIELD("inet_sock.tos", tp->inet_conn.icsk_inet.tos)				\
	FIELD("inet_connection_sock.icsk_ca_state", tp->inet_conn.icsk_ca_state)	\
	FIELD("tcp_sock.tcp_mstamp", tp->tcp_mstamp)					\
	FIELD("tcp_sock.tcp_clock_cache", tp->tcp_clock_cache)				\
	FIELD("tcp_sock.snd_una", tp->snd_una)						\
	FIELD("tcp_sock.snd_nxt", tp->snd_nxt)						\
	FIELD("tcp_sock.high_seq", tp->high_seq)					\
	FIELD("tcp_sock.bytes_acked", tp->bytes_acked)					\
	FIELD("tcp_sock.snd_cwnd", tp->snd_cwnd)					\
	FIELD("tcp_sock.snd_cwnd_cnt", tp->snd_cwnd_cnt)				\
	FIELD("tcp_sock.snd_cwnd_clamp", tp->snd_cwnd_clamp)				\
	FIELD("tcp_sock.snd_ssthresh", tp->snd_ssthresh)				\
	FIELD("tcp_sock.prior_cwnd", tp->prior_cwnd)					\
	FIELD("tcp_sock.max_packets_out", tp->max_packets_out)				\
	FIELD("tcp_sock.packets_out", tp->packets_out)					\
	FIELD("tcp_sock.sacked_out", tp->sacked_out)					\
	FIELD("tcp_sock.lost_out", tp->lost_out)					\
	FIELD("tcp_sock.retrans_out", tp->retrans_out)					\
	FIELD("tcp_sock.srtt_us", tp->srtt_us)						\
	FIELD("tcp_sock.rtt_min.s.v", tp->rtt_min.s[0].v)				\
	FIELD("tcp_sock.rtt_min.s.t", tp->rtt_min.s[0].t)				\
	FIELD("tcp_sock.mss_cache", tp->mss_cache)					\
	FIELD("tcp_sock.advmss", tp->advmss)						\
	FIELD("tcp_sock.delivered", tp->delivered)					\
	FIELD("tcp_sock.delivered_ce", tp->delivered_ce)				\
	FIELD("tcp_sock.delivered_mstamp", tp->delivered_mstamp)			\
	FIELD("tcp_sock.lost", tp->lost)						\
	FIELD("tcp_sock.app_limited", tp->app_limited)					\
	FIELD("tcp_sock.lsndtime", tp->lsndtime)					\
	FIELD("tcp_sock.ecn_flags", tp->ecn_flags)					\
	FIELD("tcp_sock.is_cwnd_limited", tp->is_cwnd_limited)				\
	USEC_STAMPS(FIELD)								\
	FIELD("tcp_sock.rx_opt.rcv_tsval", tp->rx_opt.rcv_tsval)			\
	FIELD("tcp_sock.rx_opt.rcv_tsecr", tp->rx_opt.rcv_tsecr)			\
	FIELD("tcp_sock.rx_opt.saw_tstamp", tp->rx_opt.saw_tstamp)
#define ACK_FIELDS(FIELD)								\
	FIELD("ack_sample.pkts_acked", ack->pkts_acked)					\
	FIELD("ack_sample.rtt_us", ack->rtt_us)						\
	FIELD("ack_sample.in_flight", ack->in_flight)
#define RATE_FIELDS(FIELD)								\
	FIELD("rate_sample.prior_delivered", rate->prior_delivered)			\
	FIELD("rate_sample.delivered", rate->delivered)					\
	FIELD("rate_sample.interval_us", rate->interval_us)				\
	FIELD("rate_sample.rtt_us", rate->rtt_us)					\
	FIELD("rate_sample.losses", rate->losses)					\
	FIELD("rate_sample.acked_sacked", rate->acked_sacked)				\
	FIELD("rate_sample.prior_in_flight", rate->prior_in_flight)			\
	FIELD("rate_sample.is_app_limited", rate->is_app_limited)			\
	FIELD("rate_sample.is_retrans", rate->is_retrans)				\
	FIELD("rate_sample.is_ack_delayed", rate->is_ack_delayed)

#define SK(tp) ((tp)->inet_conn.icsk_inet.sk)
#define OWN_WORDS (ICSK_CA_PRIV_SIZE / sizeof(u64))
#define NAME(name, field) name " "
#define WORD(name, field) *to++ = (u64)field;
#define RESTORE(name, field)								\
	{										\
		struct tcp_sock *new = tp;						\
		const struct tcp_sock *tp = old;					\
		u64 value = (u64)field;							\
		{									\
			struct tcp_sock *tp = new;					\
			field = value;							\
		}									\
	}

enum { MOST_WORDS = 128, MOST_STORAGE = 1 << 12, MOST_PARTS = 8, MOST_MAPS = 256 };

/* What a sample of the call is. */
enum { NO_SAMPLE, ACK_SAMPLE, RATE_SAMPLE };
/* Kinds of memory. */
enum { VARIABLES = 1, STORAGE };

struct call {
	char operation[16];
	char controller[16];
	u64 socket;
	u64 arguments[5];
	u64 result;
	u64 outside;		/* bytes of the socket that changed and are in none of the fields */
	u32 sample;
	u32 pieces;		/* of memory that follow */
};

struct piece {
	char name[16];
	u32 kind;
	u32 length;		/* of its bytes, which are padded to whole words */
};

/* A map of a program, and its memory. */
struct part {
	const struct bpf_map *map;
	const void *value;
	u32 kind;
};

static const char names[] = "fairhaul calls 1 " SOCKET_FIELDS(NAME) ACK_FIELDS(NAME) RATE_FIELDS(NAME) "\n";

static void put(const void *bytes, unsigned long length)
{
	fairhaul_path()->write(FAIRHAUL_CALLS, bytes, length);
}

static u64 *socket_words(const struct tcp_sock *tp, u64 *to)
{
	SOCKET_FIELDS(WORD)
	memcpy(to, tp->inet_conn.icsk_ca_priv, ICSK_CA_PRIV_SIZE);
	return to + OWN_WORDS;
}

static u64 *ack_words(const struct ack_sample *ack, u64 *to)
{
	ACK_FIELDS(WORD)
	return to;
}

static u64 *rate_words(const struct rate_sample *rate, u64 *to)
{
	RATE_FIELDS(WORD)
	return to;
}

/* The bytes that a call changed outside of the fields: it sets the fields of `tp`, a copy, to what they were. */
static u64 changed_outside(struct tcp_sock *tp, const struct tcp_sock *old)
{
	u64 changed = 0;
	size_t at;

	SOCKET_FIELDS(RESTORE)
	memcpy(tp->inet_conn.icsk_ca_priv, old->inet_conn.icsk_ca_priv, ICSK_CA_PRIV_SIZE);
	for (at = 0; at < sizeof(*tp); at++)
		changed += ((const u8 *)tp)[at] != ((const u8 *)old)[at];
	return changed;
}

static void put_piece(const struct part *part)
{
	static u8 room[MOST_STORAGE + 8];
	struct piece piece = { .kind = part->kind, .length = part->map->value_size };

	strscpy(piece.name, part->map->name, sizeof(piece.name));
	put(&piece, sizeof(piece));
	memset(room, 0, sizeof(room));
	memcpy(room, part->value, piece.length);
	put(room, round_up(piece.length, 8));
}

/* Whether variables differ from those that were written down last. */
static bool is_new(const struct bpf_map *map, const void *value)
{
	static struct { u32 map, hash; } known[MOST_MAPS];
	u32 hash = jhash(value, map->value_size, 0);
	int slot;

	for (slot = 0; slot < MOST_MAPS - 1; slot++)
		if (!known[slot].map || known[slot].map == map->id)
			break;
	if (known[slot].map == map->id && known[slot].hash == hash)
		return false;
	known[slot].map = map->id;
	known[slot].hash = hash;
	return true;
}

static bool is_variables(const struct bpf_map *map)
{
	return map->map_type == BPF_MAP_TYPE_ARRAY && map->max_entries == 1 && map->ops->map_direct_value_addr;
}

/* The memory of the maps of a program: variables and constants that are new, or the storage of the socket. */
static u32 parts_of(struct bpf_prog *prog, struct sock *sk, u32 kind, struct part *parts)
{
	u32 number, found = 0;

	for (number = 0; number < prog->aux->used_map_cnt && found < MOST_PARTS; number++) {
		struct bpf_map *map = prog->aux->used_maps[number];
		u64 value = 0;

		if (map->value_size > MOST_STORAGE)
			continue;
		if (kind == VARIABLES && is_variables(map) && !map->ops->map_direct_value_addr(map, &value, 0) &&
		    !is_new(map, (void *)value))
			value = 0;
		if (kind == STORAGE && map->map_type == BPF_MAP_TYPE_SK_STORAGE)
			value = bpf_sk_storage_get_proto.func((u64)map, (u64)sk, 0, 0, 0);
		if (value)
			parts[found++] = (struct part){ .map = map, .value = (void *)value, .kind = kind };
	}
	return found;
}

static bool is(const struct bpf_prog *prog, const char *operation)
{
	return !strcmp(prog->aux->attach_func_name, operation);
}

/* Calls the program and writes down what it got and what it did. */
u64 fairhaul_recorded_call(struct bpf_prog *prog, u64 *arguments)
{
	static struct tcp_sock before, after;
	static struct part parts[2 * MOST_PARTS];
	static u64 words[MOST_WORDS];
	static bool has_begun;
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	u32 given = btf_type_vlen(prog->aux->attach_func_proto);
	struct call call = { .socket = arguments[0] };
	unsigned long flags;
	u64 *to = words;
	u32 part;

	local_irq_save(flags);
	if (!has_begun)
		put(names, sizeof(names) - 1);
	has_begun = true;
	strscpy(call.operation, prog->aux->attach_func_name, sizeof(call.operation));
	strscpy(call.controller, tp->inet_conn.icsk_ca_ops->name, sizeof(call.controller));
	memcpy(call.arguments, arguments, min_t(size_t, given, ARRAY_SIZE(call.arguments)) * sizeof(u64));
	memcpy(&before, tp, sizeof(before));
	to = socket_words(tp, to);
	if (is(prog, "pkts_acked")) {
		call.sample = ACK_SAMPLE;
		to = ack_words((const struct ack_sample *)arguments[1], to);
	} else if (is(prog, "cong_control")) {
		call.sample = RATE_SAMPLE;
		to = rate_words((const struct rate_sample *)arguments[given - 1], to);
	}
	call.pieces = parts_of(prog, (struct sock *)tp, VARIABLES, parts);
	call.result = prog->bpf_func(arguments, prog->insnsi);
	to = socket_words(tp, to);
	memcpy(&after, tp, sizeof(after));
	call.outside = changed_outside(&after, &before);
	call.pieces += parts_of(prog, (struct sock *)tp, STORAGE, parts + call.pieces);
	put(&call, sizeof(call));
	put(words, (to - words) * sizeof(u64));
	for (part = 0; part < call.pieces; part++)
		put_piece(&parts[part]);
	local_irq_restore(flags);
	return call.result;
}
