"""A run that can be paused, looked at, changed and copied."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.record.outcome import record_of
from fairhaul.scenario import own
from fairhaul.scenario.memory import per_run
from fairhaul.scenario.quantities import time_s
from fairhaul.scenario.read import (
    Controllers,
    Scenario,
    ScenarioError,
    Settings,
    Source,
    read_one,
    toml,
)
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.record.record import Record

__all__ = ["Flow", "Happened", "Link", "Simulation"]

# As for `max_window`.
MOST_WINDOW = 1e9
EVENTS = ("reduction", "marked", "timeout", "recovered", "undone", "mode")


@dataclass(frozen=True, kw_only=True)
class Happened:
    """An event of a run, as in the table `event` of its record."""

    t_s: float
    kind: str
    flow: str
    value: float


class Flow:
    """The senders of a flow while a run is paused: of its open connections together."""

    def __init__(self, engine: _core.Simulation, index: int) -> None:
        """Look at the flow of that index."""
        self._engine, self._index = engine, index

    @property
    def state(self) -> _core.FlowState:
        """All of it at once."""
        return self._engine.flow(self._index)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return self.state.connections

    @property
    def cwnd(self) -> float:
        """The sum of the congestion windows, packets. If it is set, that is each window."""
        return self.state.cwnd

    @cwnd.setter
    def cwnd(self, packets: float) -> None:
        self._set(packets, self.state.ssthresh)

    @property
    def ssthresh(self) -> float:
        """The slow-start threshold of the last connection, packets."""
        return self.state.ssthresh

    @ssthresh.setter
    def ssthresh(self, packets: float) -> None:
        self._set(self.state.cwnd, packets)

    def _set(self, cwnd: float, ssthresh: float) -> None:
        # Not a number is not above zero, either.
        if not 0 < cwnd <= MOST_WINDOW or not ssthresh > 0:
            raise ValueError(
                f"cwnd = {cwnd}, ssthresh = {ssthresh}: wanted packets above 0, and a window of at "
                f"most {MOST_WINDOW:,.0f}"
            )
        self._engine.set_window(self._index, cwnd, ssthresh)

    @property
    def in_flight(self) -> float:
        """Packets in flight."""
        return self.state.in_flight

    @property
    def acknowledged(self) -> int:
        """Packets that are acknowledged."""
        return self.state.acknowledged

    @property
    def srtt_s(self) -> float:
        """The smoothed round-trip time of the last connection."""
        return self.state.srtt_s

    @property
    def min_rtt_s(self) -> float:
        """The smallest round-trip time of the last connection."""
        return self.state.min_rtt_s

    @property
    def recovering(self) -> bool:
        """Whether a connection is recovering from a loss event or a timeout."""
        return self.state.recovering

    @property
    def mode(self) -> int | None:
        """The mode of the controller of the last connection, if it has several."""
        return self.state.mode

    def __repr__(self) -> str:
        """Give the state."""
        return repr(self.state)


class Link:
    """A link while a run is paused."""

    def __init__(self, engine: _core.Simulation, index: int) -> None:
        """Look at the link of that index."""
        self._engine, self._index = engine, index

    @property
    def queued(self) -> int:
        """Packets that wait, or are being sent."""
        return self._engine.queued(self._index)

    def __repr__(self) -> str:
        """Give the state."""
        return f"Link(queued={self.queued})"


class Simulation:
    """A run that can be paused, looked at, changed and copied.

        >>> sim = fairhaul.Simulation("first.toml")
        >>> sim.run_until("10 s")
        >>> sim.flows["F1"].cwnd
        >>> fork = sim.clone()
        >>> fork.set("flow.F1.controller.c", 20)
        >>> sim.finish(), fork.finish()

    Paused or not, and copied or not, the same scenario gives the same record, to the last bit.

    `flows` and `links` are what can be looked at, by their names.
    """

    flows: Mapping[str, Flow]
    links: Mapping[str, Link]

    def __init__(
        self,
        source: Source | Scenario,
        overrides: Settings | None = None,
        *,
        controllers: Controllers | None = None,
    ) -> None:
        """Begin the run of a scenario; nothing has happened yet.

        Args:
            source: the path of a file, TOML text, a mapping, or a scenario that was read.
            overrides: keys to change, named as in `[sweep]`; not with a scenario that was read.
            controllers: classes of your own, by the names that the scenario uses for them.

        Raises:
            ScenarioError: the scenario is wrong; `args` are all mistakes, one line each.
        """
        if isinstance(source, Scenario):
            if overrides:
                raise ScenarioError("a scenario that was read takes no overrides")
            scenario = source
        else:
            scenario = read_one(source, overrides, controllers=controllers)
        self._begin(
            scenario, _core.Simulation(scenario, per_run([scenario], 1)), controllers, 0.0, []
        )

    def _begin(
        self,
        scenario: Scenario,
        engine: _core.Simulation,
        controllers: Controllers | None,
        cpu_s: float,
        changes: Sequence[dict[str, Any]],
    ) -> None:
        self._scenario, self._engine, self._controllers = scenario, engine, controllers
        self._cpu_s, self._changes = cpu_s, list(changes)
        described = scenario.described
        self._names = [flow["name"] for flow in described["flows"]]
        links = [link["name"] for link in described["links"]]
        self.flows = {name: Flow(engine, index) for index, name in enumerate(self._names)}
        self.links = {name: Link(engine, index) for index, name in enumerate(links)}

    @property
    def now_s(self) -> float:
        """The time up to which everything has happened."""
        return self._engine.now_s

    @property
    def duration_s(self) -> float:
        """How long the run lasts."""
        return self._scenario.duration_s

    def run_until(
        self,
        until: str | float | None = None,
        *,
        event: str | Sequence[str] | None = None,
        flow: str | None = None,
    ) -> Happened | None:
        """Run until a time, or until an event.

        Args:
            until: a time such as `"10 s"`, or in seconds; by default the end of the run.
            event: kinds of events, such as `"reduction"`: the run is paused at the first one.
            flow: only events of this flow count.

        Returns:
            The event; None if there was none before the time.

        Raises:
            ScenarioError: the time, the kind or the flow is wrong.
            RunError: the run failed. What a controller of your own raises comes through as it is.
        """
        seconds = self._seconds(until)
        index = None if flow is None else self._index(flow)
        before = time.thread_time()
        try:
            if event is None:
                own.called(partial(self._engine.run_until, seconds))
                return None
            kinds = [event] if isinstance(event, str) else list(event)
            for kind in kinds:
                if kind not in EVENTS:
                    raise ScenarioError(f"event {kind!r}: {hint(kind, EVENTS)}")
            found = own.called(partial(self._engine.run_until_event, seconds, kinds, index))
        finally:
            self._cpu_s += time.thread_time() - before
        if found is None:
            return None
        t_s, kind, number, value = found
        return Happened(t_s=t_s, kind=kind, flow=self._names[number], value=value)

    def _seconds(self, until: str | float | None) -> float:
        if until is None:
            return self.duration_s
        seconds = time_s("until", until) if isinstance(until, str) else float(until)
        if not seconds >= self.now_s:
            raise ScenarioError(f"until {until}: the run is at {self.now_s:g} s already")
        return seconds

    def _index(self, flow: str) -> int:
        if flow not in self.flows:
            raise ScenarioError(f"unknown flow {flow!r}; {hint(flow, self._names)}")
        return self._names.index(flow)

    def set(self, key: str, value: object) -> None:
        """Change a parameter of a controller, or a controller, from now on.

        A controller that is changed begins afresh and goes on with the window that it finds. It
        counts for the open connections of its flows and for later ones.

        Args:
            key: as in `[sweep]`: `"flow.F1.controller"` or `"flow.F1.controller.c"`.
            value: its value.

        Raises:
            ScenarioError: the key or the value is wrong, or is not part of a controller.
            RunError: the controller needs what the connection does not measure.
        """
        if ".controller" not in key:
            raise ScenarioError(f"{key}: only controllers can be changed while a run is paused")
        text, file, given = self._scenario.source()
        overrides = [*given, *self._scenario.variant, (key, toml(value))]
        with own.known(self._controllers):
            (scenario,) = _core.read(text, file, overrides, own.kinds())
        scenario = scenario.with_seed(self._scenario.seed)
        self._engine.take_controllers(scenario)
        self._scenario = scenario
        self._changes.append({"t_s": self.now_s, "key": key, "value": toml(value)})

    def clone(self) -> Simulation:
        """Give a copy that goes on by itself, to the same record as this one."""
        copy = Simulation.__new__(Simulation)
        copy._begin(
            self._scenario, self._engine.copy(), self._controllers, self._cpu_s, self._changes
        )
        return copy

    def finish(self) -> Record:
        """Run to the end, and give the record. The simulation cannot be used any more.

        Its `meta` has what `set` has changed as `changes`.

        Raises:
            RunError: the run failed.
        """
        before = time.thread_time()
        outcome = own.called(self._engine.finish)
        cpu_s = self._cpu_s + time.thread_time() - before
        changes = {"changes": self._changes} if self._changes else {}
        return record_of(self._scenario, outcome, cpu_s, changes)
