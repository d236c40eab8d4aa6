"""The kernel's twins: installed, looked at, watched, and taken out.

    >>> from fairhaul import kernel
    >>> kernel.install("fhstcp", name="fh_site", parameters={"c": "20/s"})

All but `twins` and `status` need root. A twin may be named by the path of an object, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairhaul.host import Line, ask

OnEvent = Callable[[Line], None]


def _silent(_: Line) -> None:
    pass


def twins() -> list[dict[str, Any]]:
    """Give the twins that this installation carries, with their parameters.

    Raises:
        Refused: It carries none; the message says what was missing when it was built.
    """
    from fairhaul.host import Refused

    found = ask({"do": "list"})
    if found["missing"]:
        raise Refused(f"this installation carries no twins: {found['missing']}")
    return list(found["twins"])


def install(
    *names: str,
    name: str | None = None,
    parameters: Mapping[str, str] | None = None,
    default: bool = False,
    namespaces: Sequence[str] = (),
    routes: Sequence[str] = (),
    dry_run: bool = False,
    on_event: OnEvent = _silent,
) -> dict[str, Any]:
    """Install twins: all of them, or none.

    Args:
        names: The twins.
        name: In the kernel, in the place of `fh_<twin>`; for one twin only.
        parameters: As in a scenario, but times and rates with their unit: `20/s`; for one twin
            only.
        default: Have the host's new connections use it, if they choose nothing themselves.
        namespaces: Have those of these network namespaces use it.
        routes: Have those over these routes use it, by their prefixes.
        dry_run: Tell every change, and make none.
        on_event: Is given every step.

    Raises:
        Refused: The host cannot have it, or the request is wrong; nothing was changed.
        RunError: It failed on the way, and what was done was undone.
    """
    wishes = [{"twin": twin, "as": name, "set": dict(parameters or {})} for twin in names]
    if len(names) > 1 and (name or parameters):
        from fairhaul.host import Refused

        raise Refused("a name and parameters are for one twin; install the others by themselves")
    exposure = {"default": default, "namespaces": list(namespaces), "routes": list(routes)}
    request = {"do": "install", "twins": wishes, "exposure": exposure, "dry_run": dry_run}
    return dict(ask(request, on_event))


def change(
    name: str, parameters: Mapping[str, str], *, dry_run: bool = False, on_event: OnEvent = _silent
) -> dict[str, Any]:
    """Change parameters of an installed twin, for all its flows, at once.

    Raises:
        Refused: There is no such twin or parameter, or its value is out of bounds.
        RunError: It failed on the way.
    """
    request = {"do": "set", "name": name, "set": dict(parameters), "dry_run": dry_run}
    return dict(ask(request, on_event))


def status(on_event: OnEvent = _silent) -> dict[str, Any]:
    """Say what is installed and by whom, what uses it unasked, and which flows use it now.

    Of two looks at the flows, a second apart, comes `rate_bps`: what the other end acknowledged in
    between. A connection that has sent no data is counted alone.

    Without root: the flows of this network namespace alone, and no parameters.
    """
    return dict(ask({"do": "status"}, on_event))


def verify(*names: str, on_event: OnEvent = _silent) -> dict[str, Any]:
    """Have the running kernel try twins, all of them if none is named, and leave no trace.

    Raises:
        Refused: The kernel lacks something, or root is missing.
        RunError: One of them does not work here.
    """
    return dict(ask({"do": "verify", "twins": [{"twin": name} for name in names]}, on_event))


def remove(
    *names: str, everything: bool = False, dry_run: bool = False, on_event: OnEvent = _silent
) -> dict[str, Any]:
    """Take twins out; flows that use them keep them until they end.

    Args:
        names: As `status` has them.
        everything: All of them, and what a process that was killed has left.
        dry_run: Tell every change, and make none.
        on_event: Is given every step.

    Raises:
        Refused: Root is missing, or there is no such twin.
        RunError: It failed on the way.
    """
    request = {"do": "remove", "names": list(names), "all": everything, "dry_run": dry_run}
    return dict(ask(request, on_event))


def watch(
    *names: str,
    limits: Mapping[str, float] | None = None,
    interval_s: float = 5.0,
    dry_run: bool = False,
    on_event: OnEvent = _silent,
) -> dict[str, Any]:
    """Watch twins, all that are installed if none is named, and take out what loses too much.

    It ends when nothing is left to watch.

    Args:
        names: As `status` has them.
        limits: `share` of its packets sent again, `times` that of the host's other flows,
            `seconds` for which it lasts, `packets` that it sent in them at least.
        interval_s: Between looks; at each of them the share has to be above the limit.
        dry_run: Tell what would be taken out, and leave it.
        on_event: Is given every look.

    Raises:
        Refused: Root is missing, a twin or a limit makes no sense.
        RunError: It failed on the way.
    """
    request: dict[str, Any] = {"do": "watch", "names": list(names), "interval_s": interval_s}
    return dict(ask(request | {"limits": dict(limits or {}), "dry_run": dry_run}, on_event))
