"""What the transport stack of a traced flow gives beside its packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Outlet:
    """The contents of datagrams, the keys of their encryption, and the logs of both ends."""

    contents: Mapping[tuple[int, bool, int], bytes]
    """What each datagram carries, by its connection, whether the sender sent it, and its number."""
    keys: bytes
    """Lines as in SSLKEYLOGFILE; empty if the stack gives none."""
    logs: tuple[bytes, bytes]
    """The qlog of the sender and that of the receiver; empty if the stack writes none."""
