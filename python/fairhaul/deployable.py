"""Which congestion controllers the kernel of this host has, or can be given."""

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
    PORT = "can be installed by `fairhaul kernel install`"
    NONE = "is not available"


def has_kernel() -> bool:
    """Whether this host has a Linux kernel that names its controllers."""
    return AVAILABLE.is_file()


def ways() -> dict[str, Way]:
    """Give the controllers that can be used on this host, by name, and how."""
    from fairhaul import kernel
    from fairhaul.host import Refused

    try:
        ports = [port["name"] for port in kernel.twins()]
    except Refused:
        ports = []
    try:
        own = AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        own = []
    return dict.fromkeys(ports, Way.PORT) | dict.fromkeys(own, Way.KERNEL)


def install_command(controller: Mapping[str, Any]) -> str:
    """Give the command that installs a controller as it was simulated.

    It sets every parameter whose value is not the default of the eBPF port.

    Args:
        controller: the controller as in a scenario, such as `{"kind": "fhstcp", "c": 20}`.

    Raises:
        Refused: no eBPF port does what was simulated; the message says why.
    """
    from fairhaul import kernel

    parameters = kernel.parameters_of(controller)
    settings = "".join(f" --set {key}={value}" for key, value in parameters.items())
    return f"fairhaul kernel install {controller['kind']}{settings}"
