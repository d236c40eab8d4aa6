"""Checks of a record that was read: digests, the shape of `meta`, and the names in the tables.

A digest finds damage. The other checks find what a digest cannot: tables of another run, or a
`meta` that was edited.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.record.columns import Columns, columns_of

if TYPE_CHECKING:
    import polars as pl

# The columns that figures are computed from; a record may have more.
WORDS: Mapping[str, tuple[str, ...]] = {
    "flow_series": ("flow",),
    "link_series": ("link",),
    "transfer": ("flow",),
    "event": ("kind", "flow"),
    "gauge": ("link", "gauge"),
    "flow_gauge": ("flow", "gauge"),
    "queue_delay": ("link",),
    "limit": ("flow", "limit"),
}
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "flow_series": (
        *("t_s", "delivered_bytes", "goodput_bytes", "carried_bytes"),
        *("sent", "retransmitted", "copied", "lost"),
        *("cwnd_packets", "ssthresh_packets", "rtt_s", "one_way_s", "rtt_samples"),
    ),
    "link_series": (
        *("t_s", "busy_s", "arrived", "dropped", "marked", "backlog_packets", "backlog_bytes"),
    ),
    "transfer": ("start_s", "end_s", "bytes"),
    "event": ("t_s", "value"),
    "gauge": ("t_s", "value"),
    "flow_gauge": ("t_s", "value"),
    "queue_delay": ("from_s", "below_s", "packets"),
    "limit": ("time_s",),
}

Holds = Callable[[Any], bool]
# The shape of a part of `meta`: a rule in words, a mapping of keys, or a list of one shape.
Shape = tuple[str, Holds] | Mapping[str, Any] | list[Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


WORD: Shape = ("a text", lambda value: isinstance(value, str))
WHOLE: Shape = ("a whole number", _is_whole)
NUMBER: Shape = ("a number", _is_number)
LIMIT: Shape = ("a number or null", lambda value: value is None or _is_number(value))

FLOW: Shape = {
    "name": WORD,
    "group": WORD,
    "role": WORD,
    "controller": WORD,
    "traffic": {"kind": WORD},
    "rtt_s": NUMBER,
    "packet_bytes": WHOLE,
    "forward": [{}],
    "max_window": LIMIT,
    "send_buffer_bytes": LIMIT,
    "receive_buffer_bytes": LIMIT,
}
LINK: Shape = {"name": WORD, "rate_bps": NUMBER, "capacity_packets": LIMIT, "capacity_s": LIMIT}
META: Shape = {
    "engine": WORD,
    "version": WORD,
    "seed": WHOLE,
    "packets": WHOLE,
    "variant": {},
    "scenario": {
        "title": WORD,
        "duration_s": NUMBER,
        "warmup_s": NUMBER,
        "flows": [FLOW],
        "links": [LINK],
    },
}
TRUST: Shape = {
    "trust": {
        "valid": ("true or false", lambda value: isinstance(value, bool)),
        "reasons": [WORD],
    }
}


def digest(content: bytes) -> str:
    """Give the SHA-256 of a file's content, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def digest_of_meta(meta: Mapping[str, Any]) -> str:
    """Give the SHA-256 of `meta` without its digests, written in one way whatever its layout."""
    rest = {key: value for key, value in meta.items() if key != "digests"}
    return digest(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())


def check_digest(name: str, digest: str, digests: Mapping[str, Any]) -> None:
    """Check that a digest is the one that was written.

    Raises:
        ValueError: it is not.
    """
    if digests.get(name) != digest:
        raise ValueError(f"{name} is damaged: its SHA-256 is not the one in meta.json")


def check_meta(meta: Any) -> None:
    """Check that figures can be computed from a `meta`.

    Raises:
        ValueError: something is missing, or has another type.
    """
    _check(meta, META, "meta.json")
    if "trust" in meta:
        _check(meta, TRUST, "meta.json")
    scenario = meta["scenario"]
    if not 0 <= scenario["warmup_s"] < scenario["duration_s"]:
        raise ValueError("meta.json: scenario.warmup_s is not between 0 and scenario.duration_s")
    for i, flow in enumerate(scenario["flows"]):
        for hop in flow["forward"]:
            _check_hop(hop, len(scenario["links"]), f"meta.json: scenario.flows[{i}].forward")
        lead = flow.get("lead")
        if lead is not None and not (_is_whole(lead) and lead < len(scenario["flows"])):
            raise ValueError(f"meta.json: scenario.flows[{i}].lead is not the number of a flow")


def _check_hop(hop: Mapping[str, Any], links: int, place: str) -> None:
    if "link" not in hop:
        _check(hop, {"rate_bps": NUMBER}, place)
    elif not (_is_whole(hop["link"]) and hop["link"] < links):
        raise ValueError(f"{place}: unknown link number {hop['link']}")


def _check(value: Any, shape: Shape, place: str) -> None:
    if isinstance(shape, tuple):
        wanted, holds = shape
        if not holds(value):
            raise ValueError(f"{place} is not {wanted}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{place} is not a list")
        for i, item in enumerate(value):
            _check(item, shape[0], f"{place}[{i}]")
    else:
        if not isinstance(value, dict):
            raise ValueError(f"{place} is not an object")
        for key, part in shape.items():
            if key not in value:
                raise ValueError(f"{place} has no {key!r}")
            below = f"{place}: {key}" if place == "meta.json" else f"{place}.{key}"
            _check(value[key], part, below)


def check_tables(meta: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    """Check that the tables belong to the run that `meta` describes.

    Raises:
        ValueError: a column is missing or has another type, or a row has an unknown flow or link.
    """
    scenario = meta["scenario"]
    for name, table in tables.items():
        for columns, numeric in ((WORDS[name], False), (NUMBERS[name], True)):
            for column in columns:
                _check_column(name, table, column, numeric=numeric)
        for kind in {"flow", "link"} & set(WORDS[name]):
            known = {part["name"] for part in scenario[f"{kind}s"]}
            unknown = sorted(set(table[kind].unique().cast(str).to_list()) - known)
            if unknown:
                raise ValueError(f"{name} has rows of {unknown[0]!r}, a {kind} of another run")
    for name, kind in (("flow_series", "flow"), ("link_series", "link")):
        bins_of(columns_of(tables[name]), len(scenario[f"{kind}s"]), scenario)


def _check_column(name: str, table: pl.DataFrame, column: str, *, numeric: bool) -> None:
    import polars as pl

    kind = table.schema.get(column)
    words = (pl.String, pl.Categorical, pl.Enum)
    if kind is None or not (kind.is_numeric() if numeric else isinstance(kind, words)):
        what = "numbers" if numeric else "words"
        raise ValueError(f"{name} has no column {column!r} of {what}")


def bins_of(columns: Columns, parts: int, scenario: Mapping[str, Any]) -> int:
    """Give the number of bins of a series table, whose rows are ordered by part, then time.

    Raises:
        ValueError: its rows are not in that order, or not of the parts of `scenario`.
    """
    import numpy as np

    starts = columns.numbers.get("t_s", np.empty(0))
    bins, rest = divmod(len(starts), max(parts, 1))
    if rest or (parts == 0 and len(starts)):
        raise ValueError(
            f"a series has {len(starts)} rows, which is not a multiple of its {parts} parts"
        )
    if not len(starts):
        raise ValueError("a series has no rows")
    starts = starts.reshape(parts, bins)
    rises = bool((np.diff(starts[0]) > 0).all()) and starts[0][0] >= 0
    if not (rises and starts[0][-1] < scenario["duration_s"] and (starts == starts[0]).all()):
        raise ValueError("the bins of a series are not the same for each of its parts")
    for column, words in columns.words.items():
        changes = np.flatnonzero(np.diff(words.indices)) + 1
        if (changes % bins).any():
            raise ValueError(f"the rows of a series are not in the order of its column {column!r}")
        of = f"{column}s"
        if of in ("flows", "links") and "gauge" not in columns.words:
            read = [words.names[index] for index in words.indices[::bins]]
            _check_names(read, [part["name"] for part in scenario[of]], column)
    return bins


def _check_names(names: Sequence[str], wanted: Sequence[str], kind: str) -> None:
    for name, other in zip(names, wanted, strict=True):
        if name != other:
            raise ValueError(f"a series has {name!r} where the scenario has the {kind} {other!r}")
