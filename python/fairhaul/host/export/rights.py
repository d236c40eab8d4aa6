"""Gives up all rights of a process of Linux: root, capabilities, and the way to gain any."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from itertools import count
from pathlib import Path

# The number of Linux for a user and a group that own nothing.
NO_USER = 65534
# Numbers of linux/prctl.h and linux/capability.h.
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
SETS = (b"CapInh", b"CapPrm", b"CapEff", b"CapAmb")


def give_up() -> None:
    """Become a user without rights, if this is root, and drop every capability in any case.

    The bounding set can be dropped only by who may set capabilities. Without that right
    `no_new_privs` has the same effect: a program that is executed gains nothing.

    Raises:
        OSError: the process would keep a right.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _drop_bounding_set(libc)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NO_USER, NO_USER, NO_USER)
        os.setresuid(NO_USER, NO_USER, NO_USER)
    _checked(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Two words each of the effective, the permitted and the inheritable set.
    _checked(libc.capset(header, (ctypes.c_uint32 * 6)()))
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if any(held().values()):
        raise OSError(errno.EPERM, "capabilities are left")


def held() -> dict[str, int]:
    """Give the sets of capabilities by which this process could act, as numbers."""
    # Without rights, codecs may not be there to be imported.
    lines = Path("/proc/self/status").read_bytes().splitlines()
    pairs = (line.partition(b":") for line in lines)
    return {name.decode(): int(value, 16) for name, _, value in pairs if name in SETS}


def _drop_bounding_set(libc: ctypes.CDLL) -> None:
    for capability in count():
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            if ctypes.get_errno() in (errno.EINVAL, errno.EPERM):
                return  # there are no more, or it has not this right: see above
            _checked(-1)


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
