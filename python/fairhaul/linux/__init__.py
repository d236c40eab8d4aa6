"""Linux as an ordinary program: the kernel's own code, built in the user's cache.

    >>> from fairhaul import linux
    >>> linux.build()
    >>> linux.program("6.12").path

`build` makes the program of a kernel's source, `programs` lists those of the cache, and `program`
gives the one that an engine runs. The folder `kernel` contains everything that goes into the
program besides the kernel: the configuration, the changes to its sources, and C files.
"""

from __future__ import annotations

from fairhaul.linux.building import build
from fairhaul.linux.cache import Program, program, programs, remove
from fairhaul.linux.progress import BuildProgress

__all__ = ["BuildProgress", "Program", "build", "program", "programs", "remove"]
