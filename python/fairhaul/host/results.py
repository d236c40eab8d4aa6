"""The types of what `fairhaul kernel` and `fairhaul lab` give."""

# No postponed annotations: the required keys of a TypedDict are worked out from real ones.

from typing import NotRequired, TypedDict


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


class SentCounts(TypedDict):
    """Packets with data, and how many of them were retransmissions."""

    sent: int
    retransmitted: int


class Bounds(TypedDict):
    """The bounds of a window and of the round-trip times of packets between two looks."""

    cwnd_min: int
    cwnd_max: int
    rtt_min_ms: float | None
    rtt_max_ms: float | None


class KernelFlow(TypedDict):
    """A connection that has sent data."""

    namespace: str
    """Its name in `ip netns`, or a process in it; empty for the own one."""
    cookie: int
    """A number that no other connection of the host has had."""
    local: str
    remote: str
    controller: str
    cwnd: int
    """Packets, as `ssthresh`, `sent` and `retransmitted`."""
    ssthresh: int | None
    mss: int
    rtt_ms: float
    """The smoothed round-trip time."""
    min_rtt_ms: float | None
    """The shortest of the last five minutes."""
    pacing_rate_bps: float | None
    """The limit of the sending rate; it has an effect only if the connection is paced."""
    acked_bytes: int
    sent: int
    retransmitted: int
    uid: int
    """The number of the user who owns the socket."""
    mark: int | None
    """The mark of the socket; None without root."""
    delivery_rate_bps: float
    """The kernel's last delivery rate, over at most one round trip."""
    app_limited: bool
    """Whether the application limited the sender meanwhile."""
    unsent_bytes: int
    busy_s: float
    """How long data was outstanding, and of that what limited, since the connection began."""
    receive_window_s: float
    send_buffer_s: float
    delivered: int | None
    """Packets, as `delivered_marked`. This and the next keys are None if the kernel's reply is too
    short to have them."""
    delivered_marked: int | None
    sent_bytes: int | None
    retransmitted_bytes: int | None
    peer_window_bytes: int | None
    own_window_bytes: int | None
    timeouts: int | None
    received_marked: int | None
    rate_bps: float | None
    """Bits that the receiver acknowledged per second, between two looks; None for a new one."""
    recent: SentCounts | None
    """The packets between the two looks."""
    limits: dict[str, float] | None
    """What kept it from sending more between the two looks, and in which part of the time."""
    bounds: Bounds | None
    """None without the tracepoints, or if no packet arrived between the two looks."""


class Totals(SentCounts):
    """What the connections of a controller have done since the first look, ended ones included."""

    acked_bytes: int


class Look(TypedDict):
    """The connections of the host that have sent data, at one time."""

    unix_s: float
    traced: bool
    """Whether the kernel's tracepoints reported what happened between the looks."""
    lost_ends: int
    """Connections that ended between two looks and were not counted: too many ended at a time."""
    flows: list[KernelFlow]
    controllers: dict[str, Totals]
    took_s: float


class InstalledPort(TypedDict):
    """An eBPF port in the running kernel; None where there is no record of it, or without root."""

    name: str
    port: str | None
    version: str | None
    state: str
    parameters: dict[str, int] | None
    units: dict[str, str] | None
    switches: list[str] | None
    """The parameters that are on or off."""
    owner: Owner | None
    routes: list[str]
    cgroup: str | None
    flows: list[KernelFlow]
    connections_without_data: int


class KernelStatus(TypedDict):
    """What `kernel.status` gives."""

    kernel: str
    default: str
    defaults: dict[str, str]
    """The default controller of each network namespace."""
    ports: list[InstalledPort]


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


class RequestCounts(TypedDict):
    """What passed the routers of XCP of a run of a kernel."""

    answered: int
    """Requests that a router has answered."""
    without_request: int
    """Packets with data without a request, after others of their connection had asked."""
    granted: int
    """The sum of the changes in the answered requests that reached their hosts, bytes/s."""
    returned: int
    """How much the sums in the answers of hosts have changed, bytes/s."""


class ShellResult(TypedDict):
    """What a shell gives: the program's exit status, and what passed the network."""

    status: int
    packets: int
    dropped: int
    strays: int
    requests: RequestCounts | None
    unseen: int
    lag_us: NotRequired[dict[str, float | None]]
    """Only in real time."""
    warnings: list[str]


class Leftover(TypedDict):
    """Something that a lab has left behind, and how to remove it."""

    what: str
    remedy: str


class CleanResult(TypedDict):
    """What `lab.clean` gives."""

    left: list[Leftover]
    at_work: list[int]
