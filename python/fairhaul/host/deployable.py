"""Which congestion controllers the kernel of this host has, or can be given, and the commands."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

# The controllers that the running kernel has loaded.
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Way(Enum):
    """How a controller gets into the kernel of this host."""

    KERNEL = "is in its kernel"
    PORT = "can be installed"
    NONE = "is not available"


def has_kernel() -> bool:
    """Whether this host has a Linux kernel that names its controllers."""
    return AVAILABLE.is_file()


def ways() -> dict[str, Way]:
    """Give the controllers that can be used on this host, by name, and how."""
    from fairhaul.host import kernel
    from fairhaul.host.process import Refused

    try:
        ports = [port["name"] for port in kernel.ports()]
    except Refused:
        ports = []
    try:
        own = AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        own = []
    return dict.fromkeys(ports, Way.PORT) | dict.fromkeys(own, Way.KERNEL)


def way_of(controller: Mapping[str, Any], found: Mapping[str, Way]) -> Way:
    """Give the way of a controller whose sender has the profile of Linux.

    A controller with other values than the kernel's own is none of the kernel's, so that only an
    eBPF port can do what it does. `found` is what `ways` gave.
    """
    kind = controller["kind"]
    way = found.get(str(kind), Way.NONE)
    if way is not Way.KERNEL or _parameters(controller, "linux") == _parameters(
        {"kind": kind}, "linux"
    ):
        return way
    return Way.PORT


def as_port(controller: Mapping[str, Any]) -> dict[str, Any]:
    """Give a controller the rule of its eBPF port in a flow with the profile of Linux.

    The profile would give `bic` the rule of the kernel, but its port has the rule of the paper, as
    the controller has without a profile.
    """
    plain, linux = (_parameters(controller, profile) for profile in ("plain", "linux"))
    return {**controller, **{key: plain[key] for key in plain if plain[key] != linux[key]}}


def _parameters(controller: Mapping[str, Any], profile: str) -> dict[str, Any]:
    from fairhaul.host.kernel import alone

    described = alone(controller, profile).described
    return dict(described["flows"][0]["parameters"])


def pacing_command(pacing: str, most_bps: int | None = None) -> str:
    """Give the command that makes a sender pace as it was simulated, on the device of a route.

    Args:
        pacing: the queue discipline that paces.
        most_bps: the largest rate of a connection, bit/s; None without a limit.

    Raises:
        Refused: no queue discipline of the kernel paces that way.
    """
    from fairhaul.host.process import Refused

    if pacing != "fq":
        raise Refused(f'the kernel does not pace as pacing = "{pacing}"')
    limit = "" if most_bps is None else f" maxrate {most_bps // 1000}kbit"
    return f"tc qdisc replace dev DEVICE root {pacing}{limit}"


def install_command(controller: Mapping[str, Any], profile: str = "plain") -> str:
    """Give the command that installs a controller as it was simulated.

    It sets every parameter whose value is not the default of the eBPF port.

    Args:
        controller: the controller as in a scenario, such as `{"kind": "fhstcp", "c": 20}`.
        profile: that of the flows that were simulated.

    Raises:
        Refused: no eBPF port does what was simulated; the message says why.
    """
    from fairhaul.host import kernel

    parameters = kernel.parameters_of(controller, profile)
    settings = "".join(f" --set {key}={value}" for key, value in parameters.items())
    return f"fairhaul kernel install {controller['kind']}{settings}"
