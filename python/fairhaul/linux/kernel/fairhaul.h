/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The interface of the three parts: the device of the hosts in the kernel (fairhaul_device.c), the side of the program
 * that may call the C library (fairhaul_user.c), and the emulated network, a shared library that the program loads.
 * All times are nanoseconds of the program's monotonic clock.
 */
#ifndef FAIRHAUL_H
#define FAIRHAUL_H

/* Counted up with every change of `struct fairhaul_path`. */
#define FAIRHAUL_INTERFACE 3
/* A time that never comes. */
#define FAIRHAUL_NEVER (~0ULL)
/*
 * Where no program of the user runs, nothing reads the payload of packets: only this much of each, with all headers, is
 * copied, and the rest is undefined.
 */
#define FAIRHAUL_HEADERS 256

/* Texts that the device passes between the library and the process that runs the hosts. */
enum fairhaul_text {
	FAIRHAUL_ANSWERS,	/* written: lines for whoever started the program */
	FAIRHAUL_RECORD,	/* written: the record of the run */
	FAIRHAUL_REQUEST,	/* read: what is to be run */
	FAIRHAUL_NETWORK,	/* read: what the network has counted, after its end */
	FAIRHAUL_OUTPUT,	/* written: the output of a program, where it is no terminal */
	FAIRHAUL_CALLS,		/* written: calls of controllers in eBPF, where somebody asks for them */
	FAIRHAUL_TEXTS,
};

/*
 * A packet that is due at a host; or at the queue of a link, whose number is behind those of hosts, and then it has a mark.
 * The bytes are valid until the next call.
 */
struct fairhaul_packet {
	const unsigned char *bytes;
	unsigned int length;
	unsigned int host;
	unsigned int mark;
};

/* The emulated network. It is called by one processor with interrupts off, so no two calls overlap. */
struct fairhaul_path {
	unsigned int interface;
	/* The run begins at `origin`. */
	void (*start)(unsigned long long origin);
	/*
	 * `host` sends a packet, or several in one, each with `segment` bytes of payload but the last (0: it is one). Gives
	 * when the last of its bits has left the card of the host. A queue sends what was due at it, with its mark.
	 */
	unsigned long long (*send)(unsigned int host, const unsigned char *bytes, unsigned int length,
				   unsigned int segment, unsigned int mark, unsigned long long now);
	/* A queue has dropped the packet with this mark. */
	void (*dropped)(unsigned int mark, unsigned long long now);
	/* Everything up to `now` happens; gives when the next thing happens. */
	unsigned long long (*advance)(unsigned long long now);
	/* Takes the next packet that is due; gives 0 if there is none. */
	int (*receive)(struct fairhaul_packet *packet);
	/* A text to read; its length. It is valid until the next call. */
	unsigned long (*read)(unsigned int text, const unsigned char **bytes);
	/* A piece of a text that is written; gives 0, or a number of errno. */
	int (*write)(unsigned int text, const unsigned char *bytes, unsigned long length);
	/* Input of a program, where it is no terminal; waits for it. Gives the length, 0 at the end, or -errno. */
	long (*input)(unsigned char *bytes, unsigned long size);
	/* Whether nothing happens in the network any more unless a host sends. */
	int (*quiet)(void);
	/* Where the program writes its clock. */
	volatile unsigned long long *clock;
};

/* The network of this program, or null. */
const struct fairhaul_path *fairhaul_path(void);
/* Random bytes for the kernel, which follow from the seed of the run. */
void fairhaul_random(void *buffer, unsigned long length);
/* Whether programs of the user run. */
int fairhaul_has_programs(void);
/* Whether they have a keyboard. */
int fairhaul_has_keyboard(void);
/* Whether somebody asks for the calls of controllers in eBPF. */
int fairhaul_records_calls(void);
/* Waits a moment for a key. */
void fairhaul_wait_for_key(void);
/* The C library has used this much memory before the kernel starts. */
void fairhaul_reserve(unsigned long used);
/* The program's clock has moved on. */
void fairhaul_time(unsigned long long now);

#endif
