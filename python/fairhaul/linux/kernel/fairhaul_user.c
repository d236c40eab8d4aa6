// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The side that may call the C library: loads the emulated network, and takes the place of the host's random numbers.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <init.h>
#include "fairhaul.h"

static const struct fairhaul_path *path;
static unsigned long long no_clock;
static volatile unsigned long long *program_clock = &no_clock;
static unsigned long long state;
static int keyboard = -1, programs, calls;
static int seeded;

/* The parameter is not passed on to the kernel, whose command line is mixed into its random numbers. */
static int __init load_network(char *library, int *add)
{
	const struct fairhaul_path *(*network)(void);
	void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	*add = 0;
	if (!loaded) {
		fprintf(stderr, "fairhaul: %s\n", dlerror());
		exit(1);
	}
	network = dlsym(loaded, "fairhaul_network");
	path = network ? network() : NULL;
	if (!path || path->interface != FAIRHAUL_INTERFACE) {
		fprintf(stderr, "fairhaul: %s is of another version of Fairhaul than this program\n", library);
		exit(1);
	}
	program_clock = path->clock;
	calls = !!getenv("FAIRHAUL_CALLS");
	programs = getenv("FAIRHAUL_INPUT") || getenv("FAIRHAUL_KEYBOARD");
	if (getenv("FAIRHAUL_KEYBOARD"))
		keyboard = atoi(getenv("FAIRHAUL_KEYBOARD"));
	return 0;
}

__uml_setup("fairhaul=", load_network,
"fairhaul=<file>\n"
"    The shared library of the emulated network between the hosts.\n\n"
);

const struct fairhaul_path *fairhaul_path(void)
{
	return path;
}

/* The kernel's memory begins behind a fixed part for the C library, which must not be moved by the host. */
void fairhaul_reserve(unsigned long used)
{
	if (used > 60UL << 20) {
		fprintf(stderr, "fairhaul: the host moves the memory of programs (address space randomization)\n");
		exit(1);
	}
}

void fairhaul_time(unsigned long long now)
{
	*program_clock = now;
}

int fairhaul_has_programs(void)
{
	return programs;
}

int fairhaul_records_calls(void)
{
	return calls;
}

int fairhaul_has_keyboard(void)
{
	return keyboard >= 0;
}

/* A key also interrupts the call, by the signal that reports it. */
void fairhaul_wait_for_key(void)
{
	struct pollfd wanted = { .fd = keyboard, .events = POLLIN };

	poll(&wanted, 1, 100);
}

/* SplitMix64, seeded by the environment. */
static unsigned long long next_number(void)
{
	unsigned long long mixed = state += 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
	return mixed ^ (mixed >> 31);
}

void fairhaul_random(void *buffer, unsigned long length)
{
	unsigned char *bytes = buffer;
	unsigned long long number = 0;
	unsigned long at;

	if (!seeded) {
		const char *seed = getenv("FAIRHAUL_SEED");

		state = seed ? strtoull(seed, NULL, 10) : 0;
		seeded = 1;
	}
	for (at = 0; at < length; at++) {
		if (at % 8 == 0)
			number = next_number();
		bytes[at] = number >> (at % 8 * 8);
	}
}
