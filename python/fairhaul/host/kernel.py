"""eBPF ports of controllers in the running kernel: install, inspect, watch and remove them.

    >>> from fairhaul.host import kernel
    >>> kernel.install("fhstcp", name="fh_site", parameters={"c": "20/s"})

All functions except `ports` and `status` require root. An eBPF port is named by its controller, or
by the path of an object file that was built with Fairhaul's header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from fairhaul.host.process import OnEvent, Refused, ask, ignored
from fairhaul.scenario.read import Scenario, plain, read_one, typed

if TYPE_CHECKING:
    from fairhaul.host.results import (
        Changed,
        Installed,
        KernelStatus,
        Port,
        Removed,
        Verified,
        Watched,
    )


ONE_PRODUCT = {"kind": "xcp", "capacity": "1 bdp"}
"""The queue of the path on which a controller is read; its parameters do not depend on it. A router
of XCP serves every controller, and one of them needs it."""


def ports() -> list[Port]:
    """Give the eBPF ports that this installation carries, with their parameters.

    Raises:
        Refused: the installation carries none; the message says what was missing when it was built.
    """
    answer = ask({"do": "list"})
    if answer["missing"]:
        raise Refused(f"this installation carries no eBPF ports: {answer['missing']}")
    return list(answer["ports"])


def parameters_of(controller: Mapping[str, Any], profile: str = "plain") -> dict[str, str]:
    """Give the parameters with which an eBPF port does what a controller does in the simulator.

    Only values that are not the port's defaults are given, as `install` takes them.

    Args:
        controller: the controller as in a scenario, such as `{"kind": "fhstcp", "c": 20}`.
        profile: that of its flow, which some of its values follow: with `"linux"`, the rule of
            `bic` is the kernel's.

    Raises:
        ScenarioError: it is not a controller of a scenario.
        Refused: no eBPF port does what it does; the message says why.
    """
    from fairhaul.host.host_run import written

    scenario = alone(controller, profile)
    (answer,) = ask({"do": "port_parameters", "scenario": written(scenario)})["flows"]
    if "refused" in answer:
        raise Refused(answer["refused"])
    return dict(answer["set"])


def alone(controller: Mapping[str, Any], profile: str) -> Scenario:
    """Give a scenario of one flow, which says what its controller's parameters are."""
    flow = {"name": "F1", "rtt": "100 ms", "controller": dict(controller), "profile": profile}
    return read_one(
        {
            "duration": "1 s",
            "bottleneck": {"rate": "1 Gbit/s", "delay": "0 s", "queue": ONE_PRODUCT},
            "flow": [flow],
        }
    )


def install(  # noqa: PLR0913 - one argument for each option of the command
    *names: str,
    name: str | None = None,
    parameters: Mapping[str, object] | None = None,
    default: bool = False,
    namespaces: Sequence[str] = (),
    routes: Sequence[str] = (),
    replace: bool = False,
    cgroup: str | None = None,
    dry_run: bool = False,
    on_event: OnEvent = ignored,
) -> Installed:
    """Install eBPF ports: all of them, or none.

    Args:
        names: the eBPF ports.
        name: the name in the kernel, instead of `fh_<controller>`; for one eBPF port only.
        parameters: the parameters as in a scenario; a time or a rate requires its unit: `"20/s"`.
            For one eBPF port only.
        default: use the eBPF port for new connections of the host that select no controller.
        namespaces: use the eBPF port for new connections in these network namespaces.
        routes: use the eBPF port for new connections over the routes with these prefixes, such as
            `10.1.0.0/16`, or `10.1.0.0/16 metric 100` if several routes have the prefix.
        replace: take the place of a controller that such a route already sets.
        cgroup: for `xcp`, the cgroup whose connections have its options of TCP; else those of all
            processes.
        dry_run: report every change, but make none.
        on_event: called with every step.

    Raises:
        Refused: the host cannot install it, or the request is wrong; nothing was changed.
        RunError: it failed on the way, and all changes were undone.
    """
    specs = [{"port": port, "as": name, "set": _texts(parameters or {})} for port in names]
    if len(names) > 1 and (name or parameters):
        raise Refused("a name and parameters are for one eBPF port; install the others separately")
    scope = {
        "default": default,
        "namespaces": list(namespaces),
        "routes": list(routes),
        "replace": replace,
    }
    request = {
        "do": "install",
        "ports": specs,
        "scope": scope,
        "cgroup": cgroup,
        "dry_run": dry_run,
    }
    return cast("Installed", ask(request, on_event))


def change(
    name: str,
    parameters: Mapping[str, object],
    *,
    dry_run: bool = False,
    on_event: OnEvent = ignored,
) -> Changed:
    """Change parameters of an installed eBPF port, at once for all its connections.

    Raises:
        Refused: there is no such eBPF port or parameter, or a value is out of bounds.
        RunError: it failed on the way.
    """
    request = {"do": "set", "name": name, "set": _texts(parameters), "dry_run": dry_run}
    return cast("Changed", ask(request, on_event))


def status(on_event: OnEvent = ignored) -> KernelStatus:
    """Give the installed eBPF ports, their owners, defaults and connections.

    The connections are sampled twice, a second apart: `rate_bps` is the rate at which the
    receiver acknowledged data in between. Connections that have sent no data are only counted.

    Without root, the result has only the connections of this network namespace, and no parameters.

    Raises:
        Refused: this installation has no fairhaul-host.
        RunError: it failed on the way.
    """
    return cast("KernelStatus", ask({"do": "status"}, on_event))


def verify(*names: str, on_event: OnEvent = ignored) -> Verified:
    """Test eBPF ports in the running kernel, by default all of them, and remove them again.

    Raises:
        Refused: the kernel lacks something, or root is missing.
        RunError: an eBPF port does not work on this kernel.
    """
    request = {"do": "verify", "ports": [{"port": name} for name in names]}
    return cast("Verified", ask(request, on_event))


def remove(
    *names: str, everything: bool = False, dry_run: bool = False, on_event: OnEvent = ignored
) -> Removed:
    """Remove installed eBPF ports; connections that use an eBPF port keep it until they end.

    Args:
        names: the names that `status` gives.
        everything: remove all eBPF ports, and what a killed process has left behind.
        dry_run: report every change, but make none.
        on_event: called with every step.

    Raises:
        Refused: root is missing, or there is no such eBPF port.
        RunError: it failed on the way.
    """
    request = {"do": "remove", "names": list(names), "all": everything, "dry_run": dry_run}
    return cast("Removed", ask(request, on_event))


def watch(
    *names: str,
    limits: Mapping[str, float] | None = None,
    interval_s: float = 5.0,
    flows: bool = False,
    trace: bool = True,
    dry_run: bool = False,
    on_event: OnEvent = ignored,
) -> Watched:
    """Watch installed eBPF ports, by default all, and remove a port if its loss is too high.

    It returns when no eBPF port is left to watch; with `flows` it goes on.

    Args:
        names: the names that `status` gives.
        limits: an eBPF port is removed when for `seconds` every measurement shows that more than
            `share` of its packets are retransmissions, and more than `times` the share of the
            host's other connections; it must have sent `packets` packets in that time.
        interval_s: the time between measurements.
        flows: also report all flows of the host at every measurement, as `flows.follow` does.
        trace: use the kernel's tracepoints for that.
        dry_run: report what would be removed, but remove nothing.
        on_event: called with every measurement.

    Raises:
        Refused: root is missing, or an eBPF port or a limit is not valid.
        RunError: it failed on the way.
    """
    request: dict[str, Any] = {
        "do": "watch",
        "names": list(names),
        "interval_s": plain(interval_s),
        "limits": {limit: plain(value) for limit, value in (limits or {}).items()},
        "flows": flows,
        "trace": flows and trace,
        "dry_run": dry_run,
    }
    return cast("Watched", ask(request, on_event))


def unit_parts(unit: str) -> tuple[float, str]:
    """Split the unit of an eBPF port's parameter, such as `0.001/s`, into a factor and a name."""
    parts = re.fullmatch(r"([0-9.e-]*) *(.*)", unit)
    assert parts is not None
    return float(parts[1] or 1), parts[2]


def _texts(parameters: Mapping[str, object]) -> dict[str, str]:
    """Write the values of parameters as texts, as a person types them."""
    return {key: typed(value) for key, value in parameters.items()}
