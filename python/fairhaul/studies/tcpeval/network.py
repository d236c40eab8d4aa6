"""The networks of the suite as scenarios in TOML [TCPEVAL, 4.1].

Data of the heavier direction, which the draft draws from right to left, go forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairhaul.scenario.read import toml
from fairhaul.studies.tcpeval.vectors import LARGE, file_name

# One-way delays of the edges: nodes 1 to 3 on the left, 4 to 6 on the right.
LEFT_S = {1: 0.0, 2: 0.012, 3: 0.025}
RIGHT_S = {4: 0.002, 5: 0.037, 6: 0.075}
# Initiators are on the left; `rAsI` is the path of initiator I and acceptor A.
PATHS = tuple(f"r{acceptor}s{initiator}" for acceptor in RIGHT_S for initiator in LEFT_S)

Table = Mapping[str, object]


def edges_s(
    path: str, left: Mapping[int, float] = LEFT_S, right: Mapping[int, float] = RIGHT_S
) -> float:
    """Give the one-way delay of both edges of a path."""
    return right[int(path[1])] + left[int(path[3])]


@dataclass(frozen=True, kw_only=True)
class Link:
    """The central link."""

    rate: str
    delay_s: float
    buffer: str
    access: str
    more: Table = field(default_factory=dict)

    def text(self) -> str:
        """Give the table of the link."""
        keys = {
            "rate": self.rate,
            "delay": seconds(self.delay_s),
            "queue": {"kind": "droptail", "capacity": self.buffer},
            "access_rate": self.access,
            **self.more,
        }
        return table("[bottleneck]", keys)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Where the connections of a path begin and end, and what they use."""

    controller: object
    rtt_s: float
    folder: str
    """Of the files, as the scenario names it."""
    name: str
    """Of the flows, without their direction and their size of packets."""
    nodes: tuple[str, str] | None = None
    """In a graph, the nodes of the acceptor and the initiator."""


def seconds(value: float) -> str:
    """Write a time in whole microseconds."""
    return f"{round(value * 1e6)} us"


def table(head: str, keys: Table) -> str:
    """Write a table of TOML."""
    return "\n".join([head, *(f"{key} = {toml(value)}" for key, value in keys.items()), ""])


def flow(name: str, controller: object, keys: Table) -> str:
    """Write a flow."""
    return table("[[flow]]", {"name": name, "controller": controller, **keys})


def exchanges(path: str, sizes: Iterable[int], ends: Ends) -> str:
    """Write the flows that play the connections of a path, for each of these sizes of packets."""
    nodes = {} if ends.nodes is None else {"from": ends.nodes[0], "to": ends.nodes[1]}
    parts = []
    for size in sizes:
        asks = f"{ends.name}-{size}-up"
        common = {"rtt": seconds(ends.rtt_s), "packet": f"{size} B", **nodes}
        file = f"{ends.folder}/{file_name(path, size)}"
        up = {"direction": "reverse", "traffic": {"kind": "vectors", "file": file}}
        down = {"traffic": {"kind": "answers", "to": asks}}
        parts.append(flow(asks, ends.controller, {**common, **up}))
        parts.append(flow(f"{ends.name}-{size}-down", ends.controller, {**common, **down}))
    return "\n".join(parts)


def scenario(
    title: str, times_s: tuple[float, float], seed: int, network: str, flows: Iterable[str]
) -> str:
    """Write a scenario; `times_s` are its warm-up and its whole duration."""
    head = {
        "title": title,
        "source": "TCPEVAL",
        "seed": seed,
        "duration": seconds(times_s[1]),
        "warmup": seconds(times_s[0]),
        "packet": f"{LARGE} B",
        "profile": "linux",
    }
    return "\n".join([table("", head).lstrip(), network, *flows])
