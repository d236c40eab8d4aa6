"""Runs a program under a filter that forbids new user namespaces, as containers have it.

python seccomp.py PROGRAM [ARGUMENT]...
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from pathlib import Path

FILTER = Path(__file__)
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2
# The number of the system call unshare, by the machine.
UNSHARE = {"x86_64": 272, "aarch64": 97}
NEW_USER = 0x10000000
ALLOW, FAIL = 0x7FFF0000, 0x00050000
# Instructions of the filter: load a word, jump if equal, jump if a bit is set, return.
LOAD, EQUAL, BIT, RETURN = 0x20, 0x15, 0x45, 0x06


class Program(ctypes.Structure):
    """The kernel's `sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


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
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    program = Program(len(instructions), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or (
        libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(program), 0, 0) != 0
    ):
        raise OSError(ctypes.get_errno(), "the filter was not installed")


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
