"""The TCP connections of this host that send, with every controller: a look, or look after look.

    >>> from fairhaul.host import flows
    >>> flows.look(controllers=["fh_fhstcp"])["flows"]

As root, a look has the connections of all network namespaces, and the kernel's tracepoints report
what happened between two looks. Without root it has those of the own namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from fairhaul.host.process import Line, OnEvent, ask, ignored
from fairhaul.scenario.read import plain

if TYPE_CHECKING:
    from fairhaul.host.results import Look

OnLook = Callable[["Look"], None]


def look(
    *,
    interval_s: float = 1.0,
    controllers: Sequence[str] = (),
    ports: Sequence[int] = (),
    namespaces: Sequence[str] = (),
    trace: bool = True,
    on_event: OnEvent = ignored,
) -> Look:
    """Look at the connections twice, and give the second look, with what happened in between.

    Args:
        interval_s: the time between the two looks.
        controllers: only connections with these congestion controllers; by default all.
        ports: only connections with one of these ports at either end.
        namespaces: only connections in these network namespaces.
        trace: use the kernel's tracepoints, which requires root; without them a look has no
            `bounds`, and what a connection does after the last look at it is not counted.
        on_event: called with every warning.

    Raises:
        Refused: this installation has no fairhaul-host, or there is no such namespace.
        RunError: it failed on the way.
    """
    request = _request(interval_s, controllers, ports, namespaces) | {"trace": trace}
    return cast("Look", ask(request, on_event))


def follow(
    on_look: OnLook,
    *,
    interval_s: float = 1.0,
    controllers: Sequence[str] = (),
    ports: Sequence[int] = (),
    namespaces: Sequence[str] = (),
    trace: bool = True,
    on_event: OnEvent = ignored,
) -> None:
    """Call `on_look` with look after look, until it raises an exception.

    The arguments are those of `look`.

    Raises:
        Refused: this installation has no fairhaul-host, or there is no such namespace.
        RunError: it failed on the way.
    """

    def event(line: Line) -> None:
        if "flows" in line:
            on_look(cast("Look", line["flows"]))
        else:
            on_event(line)

    request = _request(interval_s, controllers, ports, namespaces) | {"trace": trace}
    ask(request | {"follow": True}, event)


def _request(
    interval_s: float, controllers: Sequence[str], ports: Sequence[int], namespaces: Sequence[str]
) -> dict[str, Any]:
    chosen = {
        "controllers": list(controllers),
        "ports": [plain(port) for port in ports],
        "namespaces": list(namespaces),
    }
    return {"do": "flows", "interval_s": plain(interval_s), "filter": chosen}
