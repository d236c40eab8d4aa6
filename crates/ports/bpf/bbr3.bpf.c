// SPDX-License-Identifier: GPL-2.0-only OR MIT
//
// BBR, version 3 [BBRV3], by the rules of `crates/cc/src/bbr3.rs`, whose departures from the draft it shares.
//
// The model of the path does not fit into a socket's 104 bytes; it is in a map that gives each socket some
// memory.
//
// Differs from [BBRV3]: the kernel's sample of the rate says neither how much was in flight when the
// acknowledged packet left, nor how much was lost since. What was lost is looked up in a list of earlier
// acknowledgements, at most 64 in a window. What was in flight is what has been delivered and lost since, without
// what is late and not yet lost.
//
// Differs from the rule in `crates/cc`: after a spurious reduction only the window is restored, not the model; a
// congestion mark is handled as the beginning of a recovery without losses; and the kernel chooses the length of
// the bursts that it paces. The kernel gives no sample of the rate that covers less than the minimum round-trip time.
//
// Rates are in packets per microsecond, as Q32: 1 Gbit/s are 3.6e8. Packets in flight are whole; what the path
// holds is rounded up.

#include "bbr3_model.h"

FAIRHAUL_PORT("bbr3", "BBR version 3: BBR that bounds the packets in flight by the loss it measures",
	      "loss_threshold|1000|500000|1e-6|loss rate that a bandwidth probe may reach in a round trip\n"
	      "kept|100000|990000|1e-6|smallest fraction of the bounds that is kept after a loss\n"
	      "headroom|0|900000|1e-6|fraction of the upper bound left free for other flows between probes\n"
	      "probe_interval|100|100000|ms|shortest time between bandwidth probes; randomised up to 1.5 times this\n"
	      "probe_rtt_interval|100|1000000|ms|interval between probes for the minimum round-trip time\n"
	      "probe_rtt|0|10000|ms|duration of a probe for the minimum round-trip time\n"
	      "min_rtt_window|100|1000000|ms|length of the filter for the minimum round-trip time\n");

// Reports the state to the probe of the lab; the numbers are those of the simulator's.
INLINE void report_mode(struct tcp_sock *tp, struct bbr3 *own)
{
	u64 *words = state(tp);

	words[MODE_WORD] = MODE_MARK | own->state;
}

INLINE int is_probing(struct bbr3 *own)
{
	return own->state == STARTUP || own->state == REFILL || own->state == UP;
}

INLINE int is_cycling(struct bbr3 *own)
{
	return own->state == UP || own->state == DOWN || own->state == CRUISE || own->state == REFILL;
}

// Remembers the window for when a recovery or a probe of the round-trip time is over.
INLINE void save(struct tcp_sock *tp, struct bbr3 *own)
{
	u32 cwnd = tp->snd_cwnd;

	if (own->recovering || own->state == PROBE_RTT)
		own->prior_cwnd = larger(own->prior_cwnd, cwnd);
	else
		own->prior_cwnd = cwnd;
}

INLINE void forget_short_bounds(struct bbr3 *own)
{
	own->short_rate_q32 = NO_RATE_BOUND;
	own->short_flight = UNBOUNDED;
}

// A round begins with what is sent from now on.
INLINE void restart_round(struct bbr3 *own, struct sample *of)
{
	own->round_end = of->total;
}

INLINE void begin_down(struct bbr3 *own, struct sample *of)
{
	// The instant stands for a random number, as in the simulator: it needs no generator, and differs from
	// flow to flow. The mixing is that of SplitMix64.
	u64 mixed = of->now_us * 1000000 + 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
	mixed ^= mixed >> 31;
	u64 interval_us = (u64)probe_interval * 1000, fraction_q32 = mixed << 1 >> 32;

	own->losses = 0;
	own->latest_rate_q32 = own->latest_volume = 0;
	own->up_every = UNBOUNDED;
	own->wait_us = interval_us + ((fraction_q32 * (interval_us / 2)) >> 32);
	own->rounds_waited = mixed >> 63;
	own->cycle_began_us = of->now_us;
	own->acks = STOPPING;
	own->state = DOWN;
	restart_round(own, of);
}

INLINE void begin_refill(struct bbr3 *own, struct sample *of)
{
	forget_short_bounds(own);
	own->up_rounds = own->up_acked = own->cautious = 0;
	own->acks = REFILLING;
	own->state = REFILL;
	restart_round(own, of);
}

INLINE void steepen(struct tcp_sock *tp, struct bbr3 *own)
{
	u32 rounds = own->up_rounds & 31;

	own->up_every = larger(tp->snd_cwnd >> rounds, 1);
	own->up_rounds = rounds < 30 ? rounds + 1 : 30;
}

INLINE void begin_up(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	own->acks = STARTING;
	own->state = UP;
	restart_round(own, of);
	own->plateau_rate_q32 = of->rate_q32;
	own->plateau_rounds = own->full_now = 0;
	steepen(tp, own);
}

INLINE u64 target(struct tcp_sock *tp, struct bbr3 *own)
{
	return smaller(path(own, 1000), tp->snd_cwnd);
}

INLINE int is_too_much(struct sample *of)
{
	return (u64)of->lost_since * MILLION > (u64)loss_threshold * of->flight_then;
}

// Packets were lost: whether a probe went too far, and where the losses crossed the threshold.
INLINE void note_loss(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	if (!of->lost)
		return;
	if (!own->losses) {
		own->loss_round_end = of->total;
		own->loss_round_over = 0;
	}
	own->losses++;
	if (!own->probes || !is_too_much(of))
		return;
	u64 crossed = (u64)of->delivered * MILLION / (MILLION - loss_threshold);

	own->too_high = 1;
	own->probes = 0;
	if (!of->limited)
		own->most = larger(crossed, target(tp, own) * kept / MILLION);
	if (own->state == UP)
		begin_down(own, of);
}

// A round with losses while not probing lowers the second pair of bounds.
INLINE void adapt_short_bounds(struct tcp_sock *tp, struct bbr3 *own)
{
	if (!own->losses || is_probing(own))
		return;
	u64 rate = own->short_rate_q32 == NO_RATE_BOUND ? largest_rate(own) : own->short_rate_q32;
	u64 flight = own->short_flight == UNBOUNDED ? tp->snd_cwnd : own->short_flight;

	own->short_rate_q32 = larger(own->latest_rate_q32, rate * kept / MILLION);
	own->short_flight = larger(own->latest_volume, flight * kept / MILLION);
}

INLINE void note_excess(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	u64 elapsed_us = of->now_us - own->excess_began_us;
	u64 expected_q16 = (rate_q32(own) * elapsed_us) >> 16;

	// After longer than a minute, as when nothing was sent for that long, the product may not fit.
	if (own->excess_q16 <= expected_q16 || elapsed_us > MOST_EXCESS_US) {
		own->excess_q16 = expected_q16 = 0;
		own->excess_began_us = of->now_us;
	}
	own->excess_q16 += (u64)of->acked << 16;
	if (of->round_started && !own->filled)
		forget_excess(own); // at the start that of one round counts
	take_excess(own, smaller((own->excess_q16 - expected_q16) >> 16, tp->snd_cwnd));
}

// The start ends on a full path, or with much loss; what it queued is drained.
INLINE void leave_start(struct bbr3 *own, struct sample *of)
{
	if (own->state == STARTUP) {
		int is_long = own->recovering && own->rounds > own->recovered_from;

		if (own->loss_round_over && is_long && own->losses >= FULL_LOSSES && is_too_much(of)) {
			own->filled = 1;
			own->most = larger(path(own, 1000), own->latest_volume);
		}
		if (own->filled) {
			own->state = DRAIN;
			own->drain_began = own->rounds;
		}
	}
	if (own->state == DRAIN &&
	    (of->in_flight <= budget(own, path(own, 1000)) || own->rounds > own->drain_began + 3))
		begin_down(own, of);
}

// Raises the bound while it holds a probe: by twice as much in every round.
INLINE void raise(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	u32 every = own->up_every;

	if (!BITS(tp, is_cwnd_limited) || tp->snd_cwnd < own->most)
		return;
	own->up_acked += of->acked;
	if (every && every != UNBOUNDED) {
		u32 more = own->up_acked / every;

		own->up_acked -= more * every;
		own->most += more;
	}
	if (of->round_started)
		steepen(tp, own);
}

// What the acknowledgements of a probe say: whether that has begun another state.
INLINE int follow_probe(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	if (of->round_started && own->acks == STARTING)
		own->acks = FEEDBACK;
	if (of->round_started && own->acks == STOPPING) {
		own->probes = 0;
		own->acks = OTHER;
		if (is_cycling(own) && !of->limited)
			own->cycle++;
		if (is_cycling(own) && own->cautious && !own->too_high) {
			begin_refill(own, of);
			return 1;
		}
	}
	if (!is_too_much(of) && own->most != UNBOUNDED) {
		own->most = larger(own->most, of->flight_then);
		if (own->state == UP)
			raise(tp, own, of);
	}
	return 0;
}

INLINE int is_time_to_probe(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	return of->now_us > own->cycle_began_us + own->wait_us ||
	       own->rounds_waited >= smaller(target(tp, own), MOST_ROUNDS);
}

// Ends a probe where the path is full, or where the last one had to stop.
INLINE void end_up(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	own->cautious = own->too_high && of->flight_before >= own->most;
	int bounded = BITS(tp, is_cwnd_limited) && tp->snd_cwnd >= own->most;

	if (!own->cautious && bounded) {
		// The bound limits the rate, so that it cannot grow.
		own->plateau_rate_q32 = of->rate_q32;
		own->plateau_rounds = own->full_now = 0;
	} else if (own->cautious || own->full_now) {
		own->too_high = 0;
		begin_down(own, of);
	}
}

// One step of the cycle of probing.
INLINE void go_round(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	if (follow_probe(tp, own, of) || !is_cycling(own))
		return;
	if ((own->state == DOWN || own->state == CRUISE) && is_time_to_probe(tp, own, of)) {
		begin_refill(own, of);
	} else if (own->state == DOWN) {
		u64 full = path_at(own, largest_rate(own), 1000);

		if (of->in_flight <= smaller(with_headroom(own), budget(own, full)))
			own->state = CRUISE;
	} else if (own->state == REFILL && of->round_started) {
		own->probes = 1;
		begin_up(tp, own, of);
	} else if (own->state == UP) {
		end_up(tp, own, of);
	}
}

INLINE void probe_round_trip(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	own->probed_until = of->total + of->in_flight;
	if (!own->probe_ends_us) {
		if (of->in_flight <= probe_window(own)) {
			own->probe_ends_us = of->now_us + (u64)probe_rtt * 1000;
			own->probe_round_done = 0;
			restart_round(own, of);
		}
		return;
	}
	own->probe_round_done |= of->round_started;
	if (!own->probe_round_done || of->now_us <= own->probe_ends_us)
		return;
	own->recent_rtt_at_us = of->now_us;
	tp->snd_cwnd = larger(tp->snd_cwnd, own->prior_cwnd);
	forget_short_bounds(own);
	own->state = STARTUP;
	if (own->filled) {
		begin_down(own, of);
		own->state = CRUISE;
	}
}

// Keeps the smallest round-trip time, and probes for it when the last is old.
INLINE void watch_round_trip(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	int old = of->now_us > own->recent_rtt_at_us + (u64)probe_rtt_interval * 1000;
	int after_idle = of->is_app_limited && of->flight_then <= 1;

	if (of->rtt_us && (of->rtt_us < own->recent_rtt_us || old)) {
		own->recent_rtt_us = of->rtt_us;
		own->recent_rtt_at_us = of->now_us;
	}
	if (own->recent_rtt_us < own->min_rtt_us ||
	    of->now_us > own->min_rtt_at_us + (u64)min_rtt_window * 1000) {
		own->min_rtt_us = own->recent_rtt_us;
		own->min_rtt_at_us = own->recent_rtt_at_us;
	}
	if (old && own->state != PROBE_RTT && !after_idle) {
		own->state = PROBE_RTT;
		save(tp, own); // beside what a recovery has saved, as the draft does
		own->probe_ends_us = 0;
		own->acks = STOPPING;
		restart_round(own, of);
	}
	if (own->state == PROBE_RTT)
		probe_round_trip(tp, own, of);
}

// All that a sample says about the path.
INLINE void learn(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	own->latest_rate_q32 = larger(own->latest_rate_q32, of->rate_q32);
	own->latest_volume = larger(own->latest_volume, of->delivered);
	own->loss_round_over = !after(own->loss_round_end, of->before);
	if (own->loss_round_over)
		own->loss_round_end = of->total;
	note_loss(tp, own, of);
	of->round_started = !after(own->round_end, of->before);
	if (of->round_started) {
		own->round_end = of->total;
		own->rounds++;
		own->rounds_waited++;
	}
	if (of->rate_q32 >= largest_rate(own) || !of->limited)
		take_rate(own, of->rate_q32);
	if (own->loss_round_over)
		adapt_short_bounds(tp, own);
	note_excess(tp, own, of);
	if (of->round_started && !of->limited && !own->full_now)
		watch_plateau(own, of->rate_q32);
	leave_start(own, of);
	if (own->loss_round_over)
		own->losses = 0;
	if (own->filled)
		go_round(tp, own, of);
	watch_round_trip(tp, own, of);
	if (own->loss_round_over) {
		own->latest_rate_q32 = of->rate_q32;
		own->latest_volume = of->delivered;
	}
}

INLINE u32 next_window(struct tcp_sock *tp, struct bbr3 *own, u32 acked)
{
	u64 gain = own->state == UP ? 2250 : own->state == PROBE_RTT ? 500 : 2000;
	u64 want = budget(own, path(own, gain) + largest_excess(own));
	u64 cwnd = tp->snd_cwnd, bound = own->most;

	if (own->filled)
		cwnd = smaller(cwnd + acked, want);
	else if (cwnd < want || tp->delivered < own->first_window)
		cwnd += acked;
	// Unclear in [BBRV3]: whether the bound found by probes applies while draining. It does, as in the simulator.
	if (own->state == CRUISE || own->state == PROBE_RTT)
		bound = with_headroom(own);
	else if (own->state == STARTUP)
		bound = UNBOUNDED;
	cwnd = smaller(smaller(cwnd, bound), own->short_flight);
	if (own->state == PROBE_RTT)
		cwnd = smaller(cwnd, probe_window(own));
	return smaller(larger(cwnd, LEAST_WINDOW), tp->snd_cwnd_clamp);
}

// Paces at a rate, before there is a full path only faster than before.
INLINE void pace(struct tcp_sock *tp, struct bbr3 *own, u64 rate_q32)
{
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	u64 bytes_per_s = ((rate_q32 * tp->mss_cache >> 12) * MILLION) >> 20;

	if (!bytes_per_s || (!own->filled && rate_q32 <= own->paced_q32))
		return;
	own->paced_q32 = rate_q32;
	sk->sk_pacing_rate = smaller(bytes_per_s, sk->sk_max_pacing_rate);
}

INLINE u64 pacing_gain(struct bbr3 *own)
{
	switch (own->state) {
	case STARTUP:
		return 2770;
	case DRAIN:
		return 500;
	case UP:
		return 1250;
	case DOWN:
		return 900;
	}
	return 1000;
}

INLINE void begin(struct tcp_sock *tp, struct bbr3 *own, struct sample *of)
{
	u64 srtt_us = tp->srtt_us / 8;

	own->min_rtt_us = own->recent_rtt_us = of->rtt_us;
	own->min_rtt_at_us = own->recent_rtt_at_us = own->excess_began_us = of->now_us;
	own->first_window = tp->snd_cwnd;
	own->begun = 1;
	pace(tp, own, ((u64)tp->snd_cwnd << 32) / larger(srtt_us, 1) * 2770 / 1000);
}

SEC("struct_ops") int init(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;
	struct bbr3 *own = bpf_sk_storage_get(&flows, sk, 0, CREATE);

	if (sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
	if (!own)
		return 0;
	own->most = own->up_every = UNBOUNDED;
	own->lost = tp->lost;
	forget_short_bounds(own);
	report_mode(tp, own);
	return 0;
}

// The connection ends, or continues with another controller: the next one begins with nothing.
SEC("struct_ops") int release(u64 *arguments)
{
	bpf_sk_storage_delete(&flows, &tcp(arguments)->inet_conn.icsk_inet.sk);
	return 0;
}

SEC("struct_ops") int cong_control(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct rate_sample *rs = (struct rate_sample *)arguments[3];
	struct bbr3 *own = bpf_sk_storage_get(&flows, &tp->inet_conn.icsk_inet.sk, 0, 0);
	struct sample of = {};

	if (!own)
		return 0;
	of.now_us = tp->tcp_mstamp;
	of.rtt_us = rs->rtt_us > 0 ? rs->rtt_us : 0;
	of.acked = rs->acked_sacked;
	// The kernel's count is of those that this acknowledgement has shown, without those of a timer before it.
	of.lost = tp->lost - own->lost;
	of.total = tp->delivered;
	of.in_flight = tp->packets_out + tp->retrans_out - tp->sacked_out - tp->lost_out;
	of.flight_before = of.in_flight + of.acked + (rs->losses > 0 ? rs->losses : 0);
	if (!own->begun && of.rtt_us)
		begin(tp, own, &of);
	own->recovering = ca_state(tp) >= CA_RECOVERY;
	if (own->begun && rs->delivered > 0 && rs->interval_us > 0) {
		of.before = rs->prior_delivered;
		of.delivered = rs->delivered;
		of.rate_q32 = ((u64)of.delivered << 32) / (u64)rs->interval_us;
		of.is_app_limited = rs->is_app_limited;
		of.limited = of.is_app_limited || after(own->probed_until, of.before);
		own->lost = tp->lost;
		look_up(own, &of, tp->lost);
		learn(tp, own, &of);
	}
	remember(tp, own, &of);
	pace(tp, own, rate_q32(own) * (pacing_gain(own) * (1000 - MARGIN)) / MILLION);
	if (own->begun)
		tp->snd_cwnd = next_window(tp, own, of.acked);
	report_mode(tp, own);
	return 0;
}

// Called at a loss and at a timeout. The window stays as it is: the model says what a loss means.
SEC("struct_ops") u32 ssthresh(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct bbr3 *own = bpf_sk_storage_get(&flows, &tp->inet_conn.icsk_inet.sk, 0, 0);

	if (own) {
		save(tp, own);
		own->recovering = 1;
		own->recovered_from = own->rounds;
	}
	return tp->snd_cwnd;
}

// After a recovery the window is what it was.
SEC("struct_ops") int set_state(u64 *arguments)
{
	struct tcp_sock *tp = tcp(arguments);
	struct bbr3 *own = bpf_sk_storage_get(&flows, &tp->inet_conn.icsk_inet.sk, 0, 0);
	u32 next = arguments[1];

	if (!own || next >= CA_RECOVERY || ca_state(tp) < CA_RECOVERY)
		return 0;
	own->recovering = 0;
	if (own->state != PROBE_RTT)
		tp->snd_cwnd = larger(own->prior_cwnd, smaller(tp->snd_cwnd, tp->snd_ssthresh));
	return 0;
}

// The least that the kernel sends at once: one packet below 1.2 Mbit/s.
SEC("struct_ops") u32 min_tso_segs(u64 *arguments)
{
	return tcp(arguments)->inet_conn.icsk_inet.sk.sk_pacing_rate < 150000 ? 1 : 2;
}

SEC(".struct_ops.link") struct tcp_congestion_ops fh_bbr3 = {
	.init = init,
	.release = release,
	.cong_control = (void *)cong_control,
	.ssthresh = ssthresh,
	.set_state = set_state,
	.min_tso_segs = min_tso_segs,
	.undo_cwnd = undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fh_bbr3",
};
