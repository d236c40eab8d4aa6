// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// What an object that is not one of Fairhaul's declares of the kernel: structures that contain each other, functions
// by their names, helpers by their numbers.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))
// A flag of a structure, wherever this kernel has it: the relocations of its byte (0) and of the shifts (4 and 5).
#define FLAG(pointer, field)                                                                      \
	((u64)*((u8 *)(pointer) + __builtin_preserve_field_info((pointer)->field, 0))             \
		 << __builtin_preserve_field_info((pointer)->field, 4) >>                         \
	 __builtin_preserve_field_info((pointer)->field, 5))
#define FROM(section_name) __attribute__((section(section_name)))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	volatile u8 skc_state;
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 srtt_us;
	u32 mss_cache;
	u32 delivered;
	u32 delivered_ce;
	u32 lsndtime;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
	struct minmax rtt_min;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	s32 delivered;
	long interval_us;
	long rtt_us;
};

#pragma clang attribute pop

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 next);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
};

enum { NEEDS_ECN = 2 };

extern unsigned long CONFIG_HZ FROM(".kconfig");
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) FROM(".ksyms");
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked) FROM(".ksyms");
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) FROM(".ksyms");
extern u32 tcp_reno_undo_cwnd(struct sock *sk) FROM(".ksyms");

static u64 (*const jiffies64)(void) = (void *)118;
static void *(*const sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;

const char license_of_this[] SEC("license") = "Dual MIT/GPL";
