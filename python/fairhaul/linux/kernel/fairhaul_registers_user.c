// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The registers of a program, which the kernel keeps while another one runs. ptrace passes all that the processor has; what
 * the kernel has no room for are those of AMX, which a program has to request, and none here does.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

int fairhaul_get_registers(int pid, void *kept, unsigned long length);
int fairhaul_set_registers(int pid, const void *kept, unsigned long length);

/* Larger than the state of any processor (11 kB with AMX); ptrace says how much of it is used. */
static char state[16384];

int fairhaul_get_registers(int pid, void *kept, unsigned long length)
{
	struct iovec all = { .iov_base = state, .iov_len = sizeof(state) };

	if (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &all) < 0)
		return -errno;
	memcpy(kept, state, length);
	return 0;
}

int fairhaul_set_registers(int pid, const void *kept, unsigned long length)
{
	struct iovec all = { .iov_base = state, .iov_len = sizeof(state) };

	memcpy(state, kept, length);
	memset(state + length, 0, sizeof(state) - length);
	if (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &all) < 0)
		return -errno;
	return 0;
}
