"""Runs a program under a filter that forbids new user namespaces, or ptrace, as containers have it;
or that lacks the system calls of later releases than Linux 5.14.

python seccomp.py [--ptrace|--older] PROGRAM [ARGUMENT]...
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

FILTER = Path(__file__)
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2
# The numbers of the system calls unshare and ptrace, by the machine.
UNSHARE = {"x86_64": 272, "aarch64": 97}
PTRACE = {"x86_64": 101, "aarch64": 117}
# The first system call that Linux 5.14 lacks, `process_mrelease`; all machines number it so.
AFTER_5_14 = 448
NEW_USER = 0x10000000
ALLOW, FAIL = 0x7FFF0000, 0x00050000
# Instructions of the filter: load a word; jump if equal, if at least, if a bit is set; return.
LOAD, EQUAL, AT_LEAST, BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


class Program(ctypes.Structure):
    """The kernel's `sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid_ptrace() -> None:
    """Have ptrace fail with EPERM, in this process and all that it starts."""
    _install(
        [
            (LOAD, 0, 0, 0),
            (EQUAL, 0, 1, PTRACE[platform.machine()]),
            (RETURN, 0, 0, FAIL | errno.EPERM),
            (RETURN, 0, 0, ALLOW),
        ]
    )


def older() -> None:
    """Have the system calls that Linux 5.14 lacks fail with ENOSYS, as they do there."""
    _install(
        [
            (LOAD, 0, 0, 0),
            (AT_LEAST, 0, 1, AFTER_5_14),
            (RETURN, 0, 0, FAIL | errno.ENOSYS),
            (RETURN, 0, 0, ALLOW),
        ]
    )


def forbid() -> None:
    """Have unshare(CLONE_NEWUSER) fail with EPERM, in this process and all that it starts."""
    # The system call is the first word of what a filter sees; its first argument begins at 16.
    instructions = [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 3, UNSHARE[platform.machine()]),
        (LOAD, 0, 0, 16),
        (BIT, 0, 1, NEW_USER),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    _install(instructions)


def _install(instructions: Sequence[tuple[int, int, int, int]]) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    program = Program(len(instructions), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or (
        libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0) != 0
    ):
        raise OSError(ctypes.get_errno(), "the filter was not installed")


if __name__ == "__main__":
    words = sys.argv[1:]
    install = {"--ptrace": forbid_ptrace, "--older": older}.get(words[0])
    if install is not None:
        words = words[1:]
    (install or forbid)()
    os.execvp(words[0], words)
