"""An address at which metrics are read, and what an exporter is given."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from fairhaul.host.process import Line

# What an exporter is given: the events of `fairhaul-host`.
Update = Callable[[Line], None]

LOOPBACK = "127.0.0.1"

# The only files that node_exporter reads.
ENDING = ".prom"


@dataclass(frozen=True, kw_only=True)
class HttpAddress:
    """An address and a port at which metrics can be read."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address of the metrics."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach it."""
        return ipaddress.ip_address(self.host).is_loopback
