"""The description of a scenario, which every record contains: its keys and their types.

`crates/experiment` writes it. A key that is not required is missing where the flow or the link has
the default.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict, final

# Times are in seconds, rates in bits per second; what has no limit is None.


@final
class AccessHop(TypedDict):
    """A link without a queue, one for each connection of a flow."""

    rate_bps: int
    delay_s: float


@final
class LinkHop(TypedDict):
    """A link of the scenario, by its number."""

    link: int


class DescribedLink(TypedDict):
    """A link in one direction, and the queue before it."""

    name: str
    rate_bps: int
    delay_s: float
    capacity_packets: int | None
    capacity_bytes: int | None
    capacity_s: float | None
    loss: dict[str, Any] | None
    mark_packets: NotRequired[int]
    mark_bytes: NotRequired[int]
    queue: NotRequired[dict[str, Any]]
    """Its kind and parameters, unless it is a DropTail queue."""
    shaper: NotRequired[dict[str, int]]
    impairments: NotRequired[dict[str, Any]]
    schedule: NotRequired[dict[str, Any]]


# What a flow has in common with the others of its `[[flow]]`: its group, or the name there.
OfClass = TypedDict("OfClass", {"class": str})


class DescribedFlow(OfClass, TypedDict):
    """A flow: a sender and its receiver."""

    name: str
    group: str
    role: Literal["measured", "background"]
    controller: str
    parameters: dict[str, Any]
    recovery: dict[str, Any]
    traffic: dict[str, Any]
    start: dict[str, Any]
    rtt_s: float
    forward: list[AccessHop | LinkHop]
    reverse: list[AccessHop | LinkHop]
    packet_bytes: int
    initial_window: float
    initial_ssthresh: float | None
    max_window: float | None
    slow_start: dict[str, Any]
    max_pacing_rate_bps: int | None
    offload_packets: int | None
    undo: bool
    delayed_ack_s: float | None
    min_rto_s: float
    send_buffer_bytes: int | None
    receive_buffer_bytes: int | None
    overhead_s: float
    probe_cycle: NotRequired[dict[str, float]]
    """In which time its controller learns the path anew without a loss."""
    lead: NotRequired[int]
    """The number of the first of the flows that carry one transfer together."""
    profile: NotRequired[str]
    whole_window: NotRequired[bool]
    sockbuf: NotRequired[str]
    rto: NotRequired[str]
    delayed_ack: NotRequired[dict[str, Any]]
    ack_every: NotRequired[int]
    growth: NotRequired[str]
    restart: NotRequired[str]
    startup: NotRequired[dict[str, Any]]
    rate_limited_increase: NotRequired[bool]
    pacing: NotRequired[str]
    on_timeout: NotRequired[str]
    min_window_packets: NotRequired[float]
    mark_beta: NotRequired[float]
    first_beta: NotRequired[float]
    ecn: NotRequired[bool]
    source_host: NotRequired[str]
    destination_host: NotRequired[str]
    dscp: NotRequired[int]
    ect1: NotRequired[bool]
    accecn: NotRequired[dict[str, str]]
    middlebox: NotRequired[str]
    header_bytes: NotRequired[int]
    clock: NotRequired[dict[str, float]]
    offload: NotRequired[str]
    host: NotRequired[dict[str, Any]]
    stack: NotRequired[str]
    """The name, release and digest of its transport stack."""
    program: NotRequired[dict[str, list[str]]]
    """The words of the command lines of `sender` and `receiver`."""
    single_packets: NotRequired[str]
    """Why the packets of a burst of the flow are simulated one by one, if they are."""


class Described(TypedDict):
    """A scenario with all that its file leaves open."""

    schema: int
    title: str
    source: str
    seed: int
    duration_s: float
    warmup_s: float
    links: list[DescribedLink]
    flows: list[DescribedFlow]
