"""The compiled half of the package: it reads scenarios, runs them, and builds tables of records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from fairhaul.scenario.described import Described

__version__: str
__engine__: str
"""A hash of the sources of the engine."""

class ScenarioError(ValueError):
    """A scenario is wrong; `args` are its mistakes, one line each."""

class RunError(RuntimeError):
    """A run failed; it says which scenario, seed and time, and why."""

class Stopped(RunError):
    """A run was asked to stop."""

class Scenario:
    """A scenario that was read, checked and resolved."""

    @property
    def title(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def variant(self) -> list[tuple[str, str]]: ...
    def with_seed(self, seed: int) -> Scenario: ...
    def kernel_requests(self) -> list[str]: ...
    def estimate(self) -> list[tuple[str, float]]: ...
    def describe(self) -> str: ...
    @property
    def described(self) -> Described: ...
    def expectations(self) -> str: ...
    def identity(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def source(self) -> tuple[str, str, list[tuple[str, str]]]: ...
    def own(self) -> dict[str, Path | None]: ...
    def calls_users_code(self) -> bool: ...

class PythonKind:
    """A class of controllers, as the engine takes it."""

    def __new__(
        cls, of: type, identity: str, every: str | float, slow_start: bool, methods: Sequence[str]
    ) -> PythonKind: ...

class AgentKind:
    """The kind of controller that holds what a program decides."""

    def __new__(cls) -> AgentKind: ...

class Window:
    """The congestion window and the slow-start threshold, packets."""

    cwnd: float
    ssthresh: float
    growth: float
    @property
    def in_slow_start(self) -> bool: ...
    def give_up(self, share: float) -> None: ...
    def reduce_to(self, cwnd: float) -> None: ...
    def start_over(self) -> None: ...

class Ack:
    """An acknowledgement that delivered something."""

    now_s: float
    packets: float
    lost: float
    rtt_s: float
    srtt_s: float
    min_rtt_s: float
    one_way_s: float
    in_flight: float
    new_round: bool
    recovering: bool

class Round:
    """What happened since a controller was last called."""

    now_s: float
    duration_s: float
    packets: float
    lost: float
    rtt_s: float
    least_rtt_s: float
    srtt_s: float
    min_rtt_s: float
    in_flight: float
    recovering: bool
    slow_start: bool

class Event:
    """A loss event, the echo of a mark, a timeout, or the end of a recovery."""

    now_s: float
    in_flight: float
    srtt_s: float
    marked: bool

class Run:
    """One run of a scenario in virtual time."""

    def __new__(
        cls, scenario: Scenario, trace: int | None = None, memory: int | None = None
    ) -> Run: ...
    @property
    def is_stopped(self) -> bool: ...
    @property
    def reached_s(self) -> float: ...
    def run(self) -> Outcome: ...
    def stop(self) -> None: ...

class FlowState:
    """The senders of a flow at one time."""

    connections: int
    cwnd: float
    ssthresh: float
    in_flight: float
    acknowledged: int
    srtt_s: float
    min_rtt_s: float
    recovering: bool
    mode: int | None

class Simulation:
    """A run under way."""

    def __new__(cls, scenario: Scenario, memory: int | None = None) -> Simulation: ...
    @property
    def now_s(self) -> float: ...
    def run_until(self, seconds: float) -> None: ...
    def run_until_event(
        self, seconds: float, kinds: Sequence[str], flow: int | None
    ) -> tuple[float, str, int, float] | None: ...
    def flow(self, flow: int) -> FlowState: ...
    def queued(self, link: int) -> int: ...
    def set_window(self, flow: int, cwnd: float, ssthresh: float) -> None: ...
    def take_controllers(self, scenario: Scenario) -> None: ...
    def copy(self) -> Simulation: ...
    def finish(self) -> Outcome: ...
    def stop(self) -> None: ...

class Outcome:
    """The result of a run."""

    @property
    def engine(self) -> str: ...
    @property
    def packets(self) -> int: ...
    @property
    def tables(self) -> dict[str, Table]: ...
    @property
    def trace(self) -> Table | None: ...
    @property
    def trace_is_full(self) -> bool: ...

class Table:
    """A table of a record, by the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    @property
    def number_columns(self) -> list[str]: ...
    @property
    def word_columns(self) -> list[str]: ...
    def numbers(self, name: str) -> bytes: ...
    def words(self, name: str) -> tuple[list[str], bytes]: ...

def received(scenario: Scenario, record: bytes) -> Outcome: ...
def step_agents(
    runs: Sequence[Simulation],
    decisions: Sequence[Sequence[tuple[int, float, float]]],
    until_s: Sequence[float],
    threads: int,
) -> list[list[list[float]]]: ...
def read(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    own: Mapping[str, PythonKind | AgentKind | Path],
) -> list[Scenario]: ...
def restored(
    text: str,
    file: str,
    overrides: Sequence[tuple[str, str]],
    variant: Sequence[tuple[str, str]],
    seed: int,
    own: Mapping[str, PythonKind | AgentKind | Path],
) -> Scenario: ...

QuantityKind = Literal["time", "rtt", "rate", "size"]

def quantity(kind: QuantityKind, text: str) -> float: ...
def range_ends(toml: str) -> tuple[str, str, str | None]: ...
def number_and_unit(text: str) -> tuple[float, str] | None: ...
def nearest(word: str, known: Sequence[str]) -> str | None: ...
def drawn(text: str, file: str) -> list[list[tuple[str, str]]]: ...
def count_flows(
    counter: str,
    settings: Sequence[tuple[str, str]],
    rates: Sequence[float],
    packets: int,
    gap_s: float,
    seeds: Sequence[int],
) -> list[float]: ...
def schema() -> str: ...
def sources() -> list[tuple[str, str]]: ...
def catalogue() -> str: ...
