"""Where metrics are exported to: an address of this host, or a file that node_exporter reads."""

from __future__ import annotations

import ipaddress
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from fairhaul.host.export.address import ENDING, LOOPBACK, HttpAddress, Update
from fairhaul.host.process import Refused


@dataclass(frozen=True, kw_only=True)
class Textfile:
    """A file in the folder of node_exporter's textfile collector."""

    path: Path


Destination = HttpAddress | Textfile


def opened(where: Destination, most_flows: int) -> AbstractContextManager[Update]:
    """Export while the context lasts: serve, or write at every look and then remove the file."""
    if isinstance(where, Textfile):
        from fairhaul.host.export.textfile import writing

        return writing(where.path, most_flows)
    from fairhaul.host.export.server import serving

    return serving(where, most_flows)


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
