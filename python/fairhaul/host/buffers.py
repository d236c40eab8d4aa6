"""The limits of socket buffers of this host, and the command that raises those too small."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PLACE = Path("/proc/sys")
# Of several values the last is the limit.
LIMITS = ("net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
SEND_LIMIT = LIMITS[3]
# The limits that Linux has as it is installed (docs/hosts.md).
DEFAULT_SEND_BYTES, DEFAULT_RECEIVE_BYTES = 4 << 20, 6 << 20
# A window has 16 bits, and is scaled by at most 14 bits (RFC 7323).
LARGEST_WINDOW = 65535 << 14


@dataclass(frozen=True, kw_only=True)
class Raise:
    """The values of limits before, and after the small ones were raised."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    @property
    def command(self) -> str:
        """The command that raises them; empty if none is too small."""
        values = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.after.items())
        return f"sudo sysctl -w {values}" if values else ""

    def text(self) -> str:
        """Name each value that is raised, as it is now."""
        return ", ".join(f"{name} = {self.before[name]}" for name in self.after)


def send_limit_bytes(place: Path = PLACE) -> int | None:
    """Give how large the send buffer of a connection of this host may become; None if unknown."""
    try:
        return int((place / SEND_LIMIT.replace(".", "/")).read_text().split()[-1])
    except OSError:
        return None


def raised(least_bytes: int, place: Path = PLACE) -> Raise:
    """Raise each limit of this host that is below `least_bytes`, and leave the others as they are.

    A limit that cannot be read is skipped.
    """
    before, after = {}, {}
    for name in LIMITS:
        try:
            values = (place / name.replace(".", "/")).read_text().split()
        except OSError:
            continue
        before[name] = " ".join(values)
        if int(values[-1]) < least_bytes:
            after[name] = " ".join([*values[:-1], str(least_bytes)])
    return Raise(before=before, after=after)
