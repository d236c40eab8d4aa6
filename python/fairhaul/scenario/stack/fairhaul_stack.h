/* The interface of transport stacks in Fairhaul, version 2. SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A stack is a shared library that exports FAIRHAUL_STACK. The engine makes both ends of a connection with `create`, carries
 * their datagrams over a simulated network, and writes and reads the application's data.
 *
 * Time is an argument of every call, in picoseconds since the start of the run. A stack reads no clock, and draws random numbers
 * from `seed` alone; two ends that are made with the same values and called in the same way give the same datagrams.
 *
 * Both ends are made at the start of the connection, with the same `packet`, `seed` and `now`; they share nothing else. The end
 * that sends is called at once, the end that receives from the first datagram on.
 *
 * After every call of `receive`, `on_timer` and `write` the engine calls `transmit` until it gives 0, and then `state`.
 * One thread calls the functions of one end; several runs may have ends in several threads.
 */
#ifndef FAIRHAUL_STACK_H
#define FAIRHAUL_STACK_H

#include <stddef.h>
#include <stdint.h>

#define FAIRHAUL_STACK_VERSION 2
#define FAIRHAUL_NEVER UINT64_MAX
#define FAIRHAUL_US UINT64_C(1000000)
#define FAIRHAUL_MS UINT64_C(1000000000)

/* The ECN bits of the IP header. */
enum { FAIRHAUL_NOT_ECT = 0, FAIRHAUL_ECT_1 = 1, FAIRHAUL_ECT_0 = 2, FAIRHAUL_CE = 3 };

/* Flags of a datagram. */
enum {
	FAIRHAUL_RETRANSMITS = 1, /* all that it carries has been sent before */
	FAIRHAUL_OPENS = 2,       /* it opens the connection and carries no data: it counts as no data packet */
};

/* Texts for the trace of a flow. */
enum {
	FAIRHAUL_KEYS = 0, /* the secrets of TLS, in lines as in SSLKEYLOGFILE */
	FAIRHAUL_LOG = 1,  /* qlog, whole or as a sequence of JSON texts */
};

/* A key of the scenario beside `kind`; a number as text, true or false as "true" or "false". `streams` is over how many streams
 * the engine spreads the data: a stack whose connection has one refuses it, as every key that it does not know. */
struct fairhaul_setting {
	const char *name;
	const char *value;
};

struct fairhaul_setup {
	uint32_t role;   /* 0: the end that opens the connection and sends; 1: the end that receives */
	uint32_t packet; /* the largest packet of the path in bytes, `headers` included; larger ones are dropped, without an error */
	uint64_t seed;   /* another one for each connection */
	uint64_t now;
	const struct fairhaul_setting *settings;
	size_t setting_count;
	uint32_t records; /* 1: the packets of the flow are traced, and the engine asks `record` */
};

struct fairhaul_datagram {
	size_t size;
	uint32_t ecn;
	uint32_t flags;
	uint64_t not_before; /* it leaves then, or at once if that time has passed; the next one is not asked for before */
};

struct fairhaul_state {
	uint64_t timer;      /* when `on_timer` is to be called, or FAIRHAUL_NEVER */
	uint32_t closed;     /* 0: open; 1: the connection was closed; 2: the stack cannot go on, and the run ends with `reason` */
	int32_t finished;    /* whether all that was written is acknowledged: 0, 1, or -1 if that is not known */
	double cwnd;         /* bytes, shown in packets of `packet` - 40; NAN if that is not known */
	double ssthresh;     /* bytes; INFINITY in the first slow start; NAN if that is not known */
	uint64_t reductions; /* how often the window was reduced; UINT64_MAX if that is not known */
};

struct fairhaul_stack {
	uint32_t version; /* FAIRHAUL_STACK_VERSION */
	uint32_t headers; /* what the network adds to a datagram: 28 for UDP over IPv4, 0 if datagrams are IP packets */
	const char *name;
	const char *release;
	/* Makes an end; NULL if it cannot, with the reason in `error`, a text of at most `room` bytes with its zero. An unknown
	 * setting is such a reason. */
	void *(*create)(const struct fairhaul_setup *setup, char *error, size_t room);
	void (*destroy)(void *end);
	/* A datagram arrives. */
	void (*receive)(void *end, uint64_t now, const uint8_t *bytes, size_t size, uint32_t ecn);
	/* Writes the next datagram, of at most `room` bytes; 0 if there is none, else 1. */
	int (*transmit)(void *end, uint64_t now, uint8_t *bytes, size_t room, struct fairhaul_datagram *datagram);
	/* The time of `timer` has come. */
	void (*on_timer)(void *end, uint64_t now);
	/* The application writes: how many bytes the stack takes. With `fin` the stream ends behind them; the engine says so in a
	 * call without bytes. */
	size_t (*write)(void *end, uint64_t now, uint32_t stream, const uint8_t *bytes, size_t size, int fin);
	/* The application reads: how many bytes were written to `bytes`; 0 if none has arrived in order. What does not fit is kept
	 * for the next call. */
	size_t (*read)(void *end, uint64_t now, uint32_t stream, uint8_t *bytes, size_t room);
	void (*state)(void *end, struct fairhaul_state *state);
	/* Writes why the connection was closed, a text of at most `room` bytes with its zero. */
	void (*reason)(void *end, char *text, size_t room);
	/* Writes the next part of a text, of at most `room` bytes: how many; 0 if there is no more at present. NULL if the stack
	 * has no such texts. */
	size_t (*record)(void *end, uint32_t kind, uint8_t *bytes, size_t room);
};

/* What the library exports. */
extern const struct fairhaul_stack FAIRHAUL_STACK;

#endif
