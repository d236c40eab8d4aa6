"""The types of all results, as `docs/json.md` describes them.

`FlowFigures[float]` are the figures of a flow in one run, `FlowFigures[Mean]` their means over
several runs; the same holds for the other types.
"""

# No postponed annotations: the required keys of a TypedDict are worked out from real ones.

from collections.abc import Mapping
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

from fairhaul.host.results import RequestCounts
from fairhaul.scenario.described import OfClass
from fairhaul.scenario.engines import Engine

# Schema 1 had no number, and no list of runs where one seed was run. In schema 2 `low` and `high`
# were Student's interval with any number of runs. In schema 3 each study had an object of its own,
# and in schema 4 `run` still had.
SCHEMA = 5

N = TypeVar("N")


class Mean(TypedDict):
    """A mean over runs, with the ends of its 95 % interval or of the range of the runs."""

    mean: float
    low: float | None
    high: float | None
    interval: Literal["95 %", "range"] | None
    """What `low` and `high` are: the range with two to four runs; None after a single run."""


class FlowFigures(OfClass, TypedDict, Generic[N]):
    """The figures of one flow, measured between the end of the warm-up and the end of the run."""

    name: str
    group: str
    """The party of fairness that it belongs to."""
    role: str
    controller: str
    profile: str
    goodput_bps: N
    """New payload that arrived in order, bit/s."""
    throughput_bps: N
    """Payload that arrived, duplicates included, bit/s."""
    share: N | None
    """Goodput over the goodput of all flows, 0 to 1."""
    link_share: N | None
    """Payload that the slowest link of the path sent, over what that link could send, 0 to 1."""
    loss_rate: N | None
    """Dropped packets over sent packets, 0 to 1; copies that a link makes count as sent."""
    retransmits: N | None
    """Retransmitted packets; None of a transport stack that reports none.

    This, losses, timeouts and window are None of a flow with programs. Of a stack timeouts are
    None, too, and losses where it shows no window.
    """
    loss_events: N | None
    """Reductions of the window for a loss or an ECN mark that were not undone."""
    cycles: N | None
    """How often it learned the path anew: its loss events, or its controller's own cycles."""
    timeouts: N | None
    """Retransmission timeouts that were not undone."""
    rtt_mean_s: N | None
    cwnd_mean: N | None
    """The mean congestion window, packets; None of a transport stack that does not show it."""
    completion_s: N | None
    """The mean time of a completed transfer; None if no transfer was completed."""
    transfer_bps: N | None
    """The rate of a complete transfer of a given size, from its start to its end, bit/s."""
    limits: dict[str, N]
    """The part of the time for which each limit kept it from sending more, 0 to 1, by the limit."""
    loss_sync: N | None
    """The part of the loss episodes in which the flow reduced its window; bulk flows only."""
    mode_changes_per_s: NotRequired[N]
    """Changes of the controller's mode; only where the controller has modes."""


class GroupFigures(TypedDict, Generic[N]):
    """The sums over the flows of a `[[flow]]`, or of a `group`, that has several."""

    name: str
    role: str
    controller: str
    flows: N
    """The number of flows."""
    goodput_bps: N | None
    throughput_bps: N | None
    share: N | None
    link_share: N | None
    retransmits: N | None
    loss_events: N | None
    timeouts: N | None
    cwnd_mean: N | None
    """The sum of the mean windows, packets."""
    completion_s: N | None
    """The completion time of the transfer that all flows of the group carry together."""
    transfer_bps: N | None
    loss_rate: N | None


class LinkFigures(TypedDict, Generic[N]):
    """The figures of one direction of a link."""

    name: str
    utilization: N
    """What the link sent over what it could send, 0 to 1."""
    drop_rate: N | None
    """Dropped packets over packets that arrived, 0 to 1."""
    mark_rate: N | None
    """Marked packets over packets that arrived, 0 to 1."""
    queue_mean_packets: N
    queue_mean_s: N | None
    queue_p50_s: N | None
    """The median of the time from a packet's arrival until its last bit leaves, over packets."""
    queue_p95_s: N | None
    queue_p99_s: N | None
    rate_bps: N
    """As described: of a trace the mean, and with a schedule the rate before it."""
    capacity_packets: N | None
    capacity_s: N | None
    capacity_bdp: N | None
    """Over the bandwidth-delay product of the bulk flows that cross the link."""


class Fairness(TypedDict, Generic[N]):
    """Fairness among the groups of role "measured"."""

    jain: N | None
    """Jain's index of the goodputs: 1 if all are equal, 1/n if one group has everything."""
    jain_by_window: dict[str, N]
    """Jain's index in shorter windows, by the length of the window in seconds."""
    max_min_ratio: N | None
    """The largest goodput over the smallest."""
    entitlement: N | None
    """Jain's index of the goodputs over the max-min fair shares."""


class LossEpisodes(TypedDict, Generic[N]):
    """Loss episodes: their number, and how long an episode lasts at most."""

    count: N
    window_s: N | None


class Figures(TypedDict, Generic[N]):
    """What runs and their summary have in common."""

    engine: Engine
    version: str
    packets: N
    """Data packets delivered in the whole run."""
    cpu_s: N | None
    """Processor time of the engine; None for a record that was read from its files."""
    flows: list[FlowFigures[N]]
    groups: NotRequired[list[GroupFigures[N]]]
    """Only groups that have several flows."""
    links: list[LinkFigures[N]]
    fairness: Fairness[N]
    loss_episodes: LossEpisodes[N]
    stationary: bool | None
    """Whether every measured bulk flow had at least 20 cycles; None without such a flow."""
    wanted_duration_s: N | None
    """About how long a run has to be for that; None if it is, or if a flow had no cycle."""
    completed: bool | None
    """Whether every measured transfer of a given size was completed; None without one."""


class Lag(TypedDict):
    """Percentiles of times over packets in the lab, such as how late the router delivered them."""

    p50_s: float
    p99_s: float
    p999_s: float
    most_s: float
    histogram: list[tuple[float, int]]


class Trust(TypedDict):
    """Whether a run with a kernel is valid: in the lab also whether the machine kept up with it."""

    valid: bool
    reasons: list[str]
    """Why the run is not valid."""
    warnings: NotRequired[list[str]]
    mode: NotRequired[str]
    lag: NotRequired[Lag]
    """Lab only, as the next five: in simulated time no packet is late."""
    answers: NotRequired[Lag | None]
    """How long receivers that acknowledge every packet at once took to answer, from when a packet
    was due; none without such a receiver."""
    standstills: NotRequired[Lag]
    """How long hosts let packets wait that the kernel sends at once."""
    buffer_s: NotRequired[float | None]
    """The shortest time that a buffer on the path of data holds; None if none has a limit. A run in
    which a host stood still for longer is not valid."""
    router_load: NotRequired[float]
    machine: NotRequired[dict[str, float | None]]
    round_trips: list[dict[str, Any]]
    links: list[dict[str, Any]]
    buffers: list[dict[str, Any]]
    strays: int
    requests: NotRequired[RequestCounts]
    """Only with a router of XCP."""
    windows: dict[str, Any]


class RunFigures(Figures[float]):
    """The figures of one run: what `measure` gives."""

    title: str
    variant: NotRequired[dict[str, Any]]
    """What `[sweep]` set; only where the scenario has a sweep."""
    seed: int
    kernel: NotRequired[str]
    """The kernel's release; only of the engines `linux` and `lab`."""
    program: NotRequired[str]
    """The digest of the program that ran; only of `linux`, as the next."""
    memory_mb: NotRequired[int]
    """The memory of the program, on which TCP's buffers depend."""
    trust: NotRequired[Trust]
    """Only of `linux` and `lab`."""
    tries: NotRequired[int]
    """How often the run was tried until it was valid; lab only."""
    single_packets: NotRequired[dict[str, str]]
    """By name, the flows whose bursts were simulated packet by packet, and why."""
    warnings: NotRequired[list[str]]
    """Flows of which no packet can arrive, too small queues, dual queues without L4S."""


class ScenarioResult(TypedDict):
    """The results of one scenario: each run, and the means over the valid ones."""

    title: str
    variant: dict[str, Any]
    """What `[sweep]` set; empty without a sweep."""
    runs: list[RunFigures]
    summary: Figures[Mean]


class ComparedFlow(TypedDict, Generic[N]):
    """One flow of a comparison."""

    rtt_s: float
    goodput_bps: N
    share: N | None
    """Of the goodput of the compared flows, 0 to 1."""
    link_share: N | None
    loss_rate: N | None
    completion_s: N | None
    """The time that the transfer takes at the measured rate."""
    extrapolated: bool
    """Whether the transfer takes longer than the run."""


class ComparedCase(TypedDict, Generic[N]):
    """A controller alone, or beside the other flows; the last three keys only beside others."""

    jain: N | None
    utilization: N
    least_cycles: float | None
    """Of the flow with the fewest; None where a transport stack reports no loss events."""
    stationary: bool
    """Whether every run is known to be long enough."""
    stationary_share: float
    """Of the runs, which part is long enough, 0 to 1."""
    wanted_duration_s: float | None
    """About how long the runs would have to be; None where they are long enough, or unknown."""
    flows: list[ComparedFlow[N]]
    share: NotRequired[N | None]
    others_goodput_bps: NotRequired[N]
    harm: NotRequired[N | None]


# With one seed a figure is a number, with several it is a mean.
Case = ComparedCase[float] | ComparedCase[Mean]


class ControllerRow(TypedDict):
    """A controller of a comparison: alone, and beside the other flows if there are any."""

    controller: str
    alone: Case
    beside: Case | None


class Result(TypedDict):
    """The JSON object of a study, whichever it is."""

    schema: int
    study: str
    """The command of the study."""
    title: str
    question: str
    answer: str
    values: dict[str, Any]
    """The numbers of the study; the page of each study describes them."""
    version: str
    command: str
    """The command that repeats the study; empty if it was a call of a function."""


class ScoredPath(TypedDict):
    """A path of a score: what was drawn, its parts, and the figures that they come from."""

    number: int
    rate_bps: int
    rtt_s: float
    buffer_packets: int
    buffer_bdp: float
    loss: float
    duration_s: float
    begins: bool
    """Whether the scored controller starts first beside a rival."""
    parts: dict[str, float]
    figures: dict[str, float | list[float] | None]


class KeyEntry(TypedDict):
    """A key that may stand beside the name of an entry of the catalogue."""

    name: str
    wanted: str
    default: str
    """Empty where the key is required."""
    help: str


class GaugeEntry(TypedDict):
    """A gauge of a queue or of a controller."""

    name: str
    unit: str
    help: str


class CatalogueEntry(TypedDict):
    """A controller, queue, flow counter, recovery or traffic model."""

    name: str
    title: str
    source: str
    """The key of its source in `docs/sources.md`, or nothing."""
    queue: str
    """The queue that a controller needs on its path, or nothing."""
    keys: list[KeyEntry]
    gauges: NotRequired[list[GaugeEntry]]
    """Only queues and controllers that have gauges."""


class Catalogue(TypedDict):
    """What a scenario may choose from."""

    controllers: list[CatalogueEntry]
    queues: list[CatalogueEntry]
    counters: list[CatalogueEntry]
    recoveries: list[CatalogueEntry]
    traffic: list[CatalogueEntry]


def is_valid(run: Mapping[str, Any]) -> bool:
    """Whether a run is valid, by its figures or by the `meta` of its record."""
    return bool(run.get("trust", {}).get("valid", True))
