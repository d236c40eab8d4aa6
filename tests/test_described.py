"""The types of the description of a scenario, held against what the engine writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, get_origin, get_type_hints

import pytest

from fairhaul.scenario.described import Described, DescribedFlow, DescribedLink
from fairhaul.scenario.read import allow_programs, read

SCENARIOS = sorted(Path("scenarios").glob("**/*.toml"))
# What no file says.
RARE = """
grain = "packet"
duration = "1 s"
profile = "plain"
[bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", capacity = "64 kB", mark = "32 kB" }
shaper = { rate = "5 Mbit/s", burst = "64 kB" }
[[flow]]
name = "a"
rtt = "10 ms"
controller = "reno"
ecn = true
growth = "per ack"
mark_beta = 0.8
first_beta = 0.7
min_window = 2
delayed_ack = true
ack_every = 4
recovery = "rack"
on_timeout = "probe"
restart = "linux"
startup = "rapid start"
rate_limited_increase = true
pacing = "quic"
"""

# With senders of others, which take none of those keys.
OF_OTHERS = """
duration = "1 s"
[bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail", capacity = "64 kB" }
[[flow]]
name = "a"
program = { sender = "true", receiver = "true" }
[[flow]]
name = "b"
stack = "smoltcp"
"""


def _keys(of: type) -> tuple[set[str], set[str]]:
    """Give the keys of a type that are required, and the others."""
    hints = get_type_hints(of, include_extras=True)
    optional = {key for key, hint in hints.items() if get_origin(hint) is NotRequired}
    return set(hints) - optional, optional


def _check(value: Mapping[str, Any], of: type) -> None:
    required, optional = _keys(of)
    assert required <= set(value) <= required | optional


def test_the_types_have_the_keys_that_the_engine_writes() -> None:
    seen: set[str] = set()
    sources: list[Path | str] = [*SCENARIOS, RARE, OF_OTHERS]
    for source in sources:
        with allow_programs():
            described = read(source)[0].described
        _check(described, Described)
        for link in described["links"]:
            _check(link, DescribedLink)
            seen |= set(link)
        for flow in described["flows"]:
            _check(flow, DescribedFlow)
            seen |= set(flow)
    optional = _keys(DescribedFlow)[1] | _keys(DescribedLink)[1]
    assert optional <= seen, optional - seen


def test_a_description_is_made_once() -> None:
    scenario = read("scenarios/examples/two-flows.toml")[0]
    assert scenario.described is scenario.described
    assert scenario.with_seed(7).described["seed"] == 7
    with pytest.raises(AttributeError):
        scenario.described = scenario.described  # type: ignore[misc]
