"""The types of what `fairhaul kernel` and `fairhaul lab` give."""

# No postponed annotations: the required keys of a TypedDict are worked out from real ones.

from typing import TypedDict


class PortParameter(TypedDict):
    """A parameter of an eBPF port: a whole number of `unit`."""

    name: str
    least: int
    most: int
    unit: str
    default: int
    offset: int
    help: str


class Port(TypedDict):
    """An eBPF port of a controller that this installation carries."""

    name: str
    kernel_name: str
    version: str
    title: str
    parameters: list[PortParameter]


class Installed(TypedDict):
    """What `kernel.install` did."""

    installed: list[str]
    dry_run: bool


class Changed(TypedDict):
    """What `kernel.change` did."""

    name: str
    parameters: dict[str, int]
    dry_run: bool


class Owner(TypedDict):
    """Who installed an eBPF port, and when (UTC)."""

    uid: int
    user: str
    at: str


class KernelFlow(TypedDict):
    """A connection that uses an eBPF port."""

    namespace: str
    cookie: int
    local: str
    remote: str
    controller: str
    cwnd: int
    ssthresh: int | None
    rtt_ms: float
    acked_bytes: int
    sent: int
    retransmitted: int
    rate_bps: float | None


class InstalledPort(TypedDict):
    """An eBPF port in the running kernel; None where there is no record of it, or without root."""

    name: str
    twin: str | None
    version: str | None
    state: str
    parameters: dict[str, int] | None
    units: dict[str, str] | None
    owner: Owner | None
    routes: list[str]
    flows: list[KernelFlow]
    connections_without_data: int


class KernelStatus(TypedDict):
    """What `kernel.status` gives."""

    kernel: str
    default: str
    defaults: dict[str, str]
    """The default controller of each network namespace."""
    twins: list[InstalledPort]


class Verified(TypedDict):
    """What `kernel.verify` gives."""

    kernel: str
    works: list[str]


class Removed(TypedDict):
    """What `kernel.remove` did."""

    removed: list[str]
    owners: dict[str, Owner | None]
    dry_run: bool


class Watched(TypedDict):
    """What `kernel.watch` did."""

    removed: list[str]


class ShellResult(TypedDict):
    """What `lab.shell` gives: the program's exit status, and what passed the network."""

    status: int
    packets: int
    dropped: int
    strays: int
    unseen: int
    lag_us: dict[str, float | None]
    warnings: list[str]


class Leftover(TypedDict):
    """Something that a lab has left behind, and how to remove it."""

    what: str
    remedy: str


class CleanResult(TypedDict):
    """What `lab.clean` gives."""

    left: list[Leftover]
    at_work: list[int]
