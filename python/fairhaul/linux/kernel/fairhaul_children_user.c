// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The child processes of the program, which never outlive it.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

void fairhaul_begin(void);
void fairhaul_child(void);

static pid_t program;

// The first step of the program, before it has child processes.
void fairhaul_begin(void)
{
	program = getpid();
}

// The first step of a child process: the system kills it when the program ends. A program that ended before this call
// is no longer the parent.
void fairhaul_child(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != program)
		_exit(1);
}
