"""Scenarios from a file, from TOML text, or from a mapping."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from operator import index as whole
from os import PathLike
from pathlib import Path
from typing import Any

from fairhaul import _core
from fairhaul._core import Scenario, ScenarioError
from fairhaul.files.files import in_package
from fairhaul.scenario import own
from fairhaul.text.durations import rough_duration_text
from fairhaul.text.nearest import hint
from fairhaul.text.phrases import value_text
from fairhaul.text.table import Table, html

__all__ = [
    "Controllers",
    "Scenario",
    "ScenarioError",
    "Settings",
    "Source",
    "allow_programs",
    "flow_index",
    "label",
    "plain",
    "profile",
    "read",
    "read_as_typed",
    "read_one",
    "titled",
    "toml",
    "typed",
    "value_of",
    "variant",
    "with_seeds",
    "written",
]

Source = str | PathLike[str] | Mapping[str, object]
Settings = Mapping[str, object]
Controllers = Mapping[str, own.Given]

# Runs that one command plans; each takes a kilobyte before it begins.
MOST_RUNS = 100_000
# The documentation names scenarios by their places in the repository, which the package keeps.
# Of a folder no more names than this are compared with a mistyped one.
MOST_FILES = 1000
LARGEST_SEED = 2**64 - 1
# Why a scenario is refused whose flows have the key `program`.
STARTS_PROGRAMS = (
    "the scenario starts programs on this machine; if you trust them, add --allow-programs to "
    "fairhaul run, check or sweep (docs/programs.md)"
)

_profile: ContextVar[str | None] = ContextVar("profile", default=None)
_programs: ContextVar[bool] = ContextVar("programs", default=False)


def read(
    source: Source,
    overrides: Settings | None = None,
    *,
    controllers: Controllers | None = None,
) -> list[Scenario]:
    """Read the scenarios of `source`: one, or one for every combination of its `[sweep]`.

    Args:
        source: the path of a file, TOML text (anything with a line break), or a mapping.
        overrides: keys to change, named as in `[sweep]`: `{"flow.F1.controller.c": 20}`.
        controllers: classes of your own, or files of them in other languages, by the names that the
            scenario uses for them.

    Raises:
        ScenarioError: `args` are all mistakes of the scenario, one line each, with file and line.
    """
    try:
        with own.known(controllers):
            return read_as_typed(
                source, [(key, toml(value)) for key, value in (overrides or {}).items()]
            )
    except ScenarioError as error:
        # The option is that of the command line; here it is an argument.
        mistakes = (str(mistake).replace("--set ", "overrides: ", 1) for mistake in error.args)
        raise ScenarioError(*mistakes) from None


def read_as_typed(source: Source, overrides: Sequence[tuple[str, str]]) -> list[Scenario]:
    """Read `source` with keys and values as a person types them: TOML, or a text without quotes."""
    text, file = _text(source)
    usual = _profile.get()
    if usual is not None and not _names_profile(text, overrides):
        overrides = [("profile", usual), *overrides]
    try:
        scenarios = _core.read(text, file, overrides, own.kinds())
    except ScenarioError as error:
        raise ScenarioError(*error.args, *_ways_out(error, text, overrides)) from None
    if not _programs.get() and any(scenario.has_programs() for scenario in scenarios):
        raise ScenarioError(f"{file}: {STARTS_PROGRAMS}")
    return scenarios


def _ways_out(
    error: ScenarioError, text: str, overrides: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Say how to vary a key, where several values were set, or a kind whose keys others lack."""
    for key, value in overrides:
        is_list = isinstance(value_of(value), list) or (value_of(value) == value and "," in value)
        if is_list and any(str(of).startswith(f"--set {key}={value}: ") for of in error.args):
            yield f'--set {key}={value}: one value is set; in the file, [sweep] varies "{key}"'
    foreign = any(" is not a key of " in str(of) or " parameter " in str(of) for of in error.args)
    for key in dict.fromkeys([*_varied(text), *(key for key, _ in overrides)]):
        table, dot, last = key.rpartition(".")
        if foreign and dot and last == "kind":
            yield f'"{key}": other kinds have other keys; give whole tables as "{table}"'


@contextmanager
def allow_programs() -> Iterator[None]:
    """Allow scenarios that are read within to start the programs that they name."""
    token = _programs.set(True)
    try:
        yield
    finally:
        _programs.reset(token)


@contextmanager
def profile(name: str) -> Iterator[None]:
    """Let scenarios that are read within, and that do not name a profile, have this one."""
    token = _profile.set(name)
    try:
        yield
    finally:
        _profile.reset(token)


def usual_profile() -> str | None:
    """Give the profile of scenarios that do not name one; None for that of each controller."""
    return _profile.get()


def _names_profile(text: str, overrides: Sequence[tuple[str, str]]) -> bool:
    """Whether a scenario sets the profile of all flows, or varies it."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return True  # the reader says what is wrong
    return "profile" in {*content, *_varied(text), *(key for key, _ in overrides)}


def _varied(text: str) -> list[str]:
    """The keys that a scenario varies; none of a text that is no TOML."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    return [key for part in ("sweep", "open", "draw") for key in _mapping(content.get(part))]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def read_one(
    source: Source,
    overrides: Settings | None = None,
    *,
    controllers: Controllers | None = None,
) -> Scenario:
    """Read the one scenario of `source`, which must not have a `[sweep]`."""
    scenarios = read(source, overrides, controllers=controllers)
    if len(scenarios) != 1:
        raise ScenarioError(
            f"one scenario is required, but [sweep] makes {len(scenarios)}: "
            "run_many(read(...)) runs them all"
        )
    return scenarios[0]


def plain(value: Any) -> Any:
    """Give a number or an array of numpy as one of Python, and any other value as it is.

    A float of numpy is one of Python's, too, but prints with the name of its type.
    """
    return value.tolist() if hasattr(value, "tolist") else value


def typed(value: object) -> str:
    """Write a value as a person types it."""
    value = plain(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def toml(value: object) -> str:
    """Write `value` as TOML, on one line; numbers and arrays of numpy as those of Python."""
    value = plain(value)
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return f"{{ {', '.join(map(_line, value.items()))} }}" if value else "{}"
        case Sequence():
            return "[" + ", ".join(toml(item) for item in value) + "]"
    raise ScenarioError(f"a scenario has no values of type {type(value).__name__}: {value!r}")


def _line(item: tuple[object, object]) -> str:
    """Write a key and its value; a name needs no quotes, and a controller may be its name."""
    key, value = str(item[0]), item[1]
    if key == "controller" and isinstance(value, Mapping) and list(value) == ["kind"]:
        value = value["kind"]
    is_name = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return f"{key if is_name else toml(key)} = {toml(value)}"


def written(
    scenario: Mapping[str, Any], comments: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Write a scenario as a person does: its own keys first, then its tables.

    Args:
        scenario: its keys.
        comments: lines before a key or a table, by its name; those of `""` begin the file.
    """
    notes = {key: [f"# {line}" for line in lines] for key, lines in (comments or {}).items()}
    plain, tables = [*notes.get("", []), *([""] if "" in notes else [])], []
    for key, value in scenario.items():
        several = isinstance(value, list) and value and isinstance(value[0], Mapping)
        if not several and not isinstance(value, Mapping):
            plain += [*notes.get(key, []), _line((key, value))]
            continue
        head = f"[[{key}]]" if several else f"[{key}]"
        for table in value if several else [value]:
            tables += ["", *notes.pop(key, []), head, *map(_line, table.items())]
    return "\n".join([*plain, *tables, ""])


def _text(source: Source) -> tuple[str, str]:
    """The TOML text of `source`, and its name in messages."""
    if isinstance(source, Mapping):
        return "".join(f"{_line(item)}\n" for item in source.items()), "scenario"
    if isinstance(source, str) and "\n" in source:
        return source, "scenario"
    try:
        return Path(source).read_text(encoding="utf-8"), str(source)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{source}:{line}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        meant = _meant(Path(source)) if isinstance(error, FileNotFoundError) else ""
        raise ScenarioError(f"{source}: {(error.strerror or str(error)).lower()}{meant}") from None


def _meant(path: Path) -> str:
    """Name the package's file of this name, or the file beside `path` whose name is nearest."""
    if packaged := in_package(path):
        return packaged
    try:
        names = [file.name for file in islice(path.parent.iterdir(), MOST_FILES)]
    except OSError:
        return ""
    near = _core.nearest(path.name, names)
    return "" if near is None else f'; did you mean "{path.with_name(near)}"?'


def value_of(text: str) -> Any:
    """Give the value of `text`: a TOML value, or a word without quotes."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def variant(scenario: Scenario) -> dict[str, Any]:
    """The keys and values that `[sweep]` set for `scenario`."""
    return {key: tomllib.loads(f"x = {value}")["x"] for key, value in scenario.variant}


def label(scenario: Scenario) -> str:
    """Name a run in a few words: the values that `[sweep]` set, or the title, and the seed."""
    settings = [
        f"{key.rpartition('.')[2]} = {value_text(value)}"
        for key, value in variant(scenario).items()
    ]
    return ", ".join([*(settings or [scenario.title]), f"seed {scenario.seed}"])


def titled(title: str, variant: Mapping[str, Any]) -> str:
    """Give a title with the values that `[sweep]` set."""
    return ", ".join([title, *(f"{key} = {value_text(value)}" for key, value in variant.items())])


def shown(scenario: Scenario) -> str:
    """Write the flows and links of a scenario as a notebook shows them."""
    described = scenario.described
    flows = [
        [flow["name"], flow["controller"], f"{1000 * flow['rtt_s']:.4g}", flow["role"]]
        for flow in described["flows"]
    ]
    links = [
        [link["name"], f"{link['rate_bps'] / 1e6:.6g}", f"{1000 * link['delay_s']:.4g}"]
        for link in described["links"]
    ]
    title = f"{described['title']}: {described['duration_s']:g} s, seed {described['seed']}"
    columns = ["flow", "controller", "RTT ms", "role"]
    return html(
        [
            Table(title=title, columns=columns, rows=flows, words=2),
            Table(title="Links", columns=["link", "Mbit/s", "delay ms"], rows=links),
        ]
    )


def flow_index(scenario: Scenario, name: str) -> int:
    """Give the index of the flow `name` of `scenario`."""
    names = [flow["name"] for flow in scenario.described["flows"]]
    if name in names:
        return names.index(name)
    raise ScenarioError(f"{scenario.title}: unknown flow {name!r}; {hint(name, names)}")


def refuse_too_many(scenarios: Sequence[Scenario], seeds: int) -> None:
    """Refuse more runs than one command can plan, and say what they would cost.

    Raises:
        ScenarioError: there are too many.
    """
    runs = len(scenarios) * seeds
    if runs <= MOST_RUNS:
        return
    cpu_s = seeds * sum(dict(scenario.estimate())["seconds"] for scenario in scenarios)
    raise ScenarioError(
        f"{scenarios[0].title}: {runs:,} runs are too many: at most {MOST_RUNS:,} are planned at a "
        f"time. They would take about {rough_duration_text(cpu_s)} of processor time; use fewer "
        "seeds"
    )


def with_seeds(scenario: Scenario, seeds: int) -> list[Scenario]:
    """Give `scenario` with its own seed and those after it.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1, or there are too many.
    """
    seeds = whole(seeds)
    if seeds < 1:
        raise ValueError(f"seeds = {seeds}: at least one is required")
    refuse_too_many([scenario], seeds)
    if scenario.seed + seeds - 1 > LARGEST_SEED:
        raise ScenarioError(f"{seeds} seeds counted up from {scenario.seed} exceed 2^64 - 1")
    return [scenario.with_seed(scenario.seed + i) for i in range(seeds)]
