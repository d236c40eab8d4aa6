"""Where metrics are exported to: an address of this host, or a file that node_exporter reads."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from fairhaul.host import Line, Refused

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

    def open(self, most_flows: int) -> AbstractContextManager[Update]:
        """Serve the metrics while the context lasts."""
        from fairhaul.export.server import serving

        return serving(self, most_flows)


@dataclass(frozen=True, kw_only=True)
class Textfile:
    """A file in the folder of node_exporter's textfile collector."""

    path: Path

    def open(self, most_flows: int) -> AbstractContextManager[Update]:
        """Write the metrics at every look while the context lasts, and then remove the file."""
        from fairhaul.export.textfile import writing

        return writing(self.path, most_flows)


Destination = HttpAddress | Textfile


def destination(text: str) -> Destination:
    """Read `9797`, `ADDRESS:PORT`, or the path of a file that ends in `.prom`.

    Raises:
        Refused: it is none of them.
    """
    if text.endswith(ENDING):
        path = Path(text)
        if not path.parent.is_dir():
            raise Refused(f"{path.parent}: no such directory")
        return Textfile(path=path)
    if "/" in text:
        raise Refused(
            f"{text}: node_exporter reads only files that end in {ENDING}; "
            f"did you mean {Path(text).with_suffix(ENDING)}?"
        )
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    host = LOOPBACK if host == "localhost" else host
    try:
        ipaddress.ip_address(host)
        number = int(port)
    except ValueError:
        number = 0
    if not 0 < number < 1 << 16:
        raise Refused(
            f"{text!r} is no place for metrics: wanted a port of this host, such as 9797, an "
            f"address and a port, such as {LOOPBACK}:9797, or the path of a file that ends in "
            f"{ENDING}"
        )
    return HttpAddress(host=host, port=number)
