"""eBPF ports in Linux in simulated time: each flow's parameters, and what every call does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import fairhaul
from fairhaul.host import process as host
from fairhaul.host.host_run import written
from fairhaul.linux import run as linux
from fairhaul.scenario.read import read_one
from tests.compiled import bpf_object
from tests.linux_program import needs_linux
from tools.ports.comparison import found_in
from tools.ports.paths import scenario


def text(path: str, controller: str) -> str:
    """Give a short scenario of two flows."""
    return re.sub(r'duration = "\d+ s"', 'duration = "8 s"', scenario(path, controller))


@needs_linux
@pytest.mark.parametrize(
    ("port", "operations"),
    [
        (
            "fhstcp",
            {"cong_avoid", "init", "min_tso_segs", "release", "set_state", "ssthresh", "undo_cwnd"},
        ),
        (
            "bbr3",
            {
                "cong_control",
                "init",
                "min_tso_segs",
                "release",
                "set_state",
                "ssthresh",
                "undo_cwnd",
            },
        ),
    ],
)
def test_the_kernel_and_the_interpreter_do_the_same_in_every_call(
    port: str, operations: set[str]
) -> None:
    found = found_in(read_one(text("losses", f'kind = "{port}"')))
    assert found["first"] is None
    assert found["differences"] == 0
    assert set(found["operations"]) == operations
    assert found["calls"] > 5000
    assert found["changed"] > 1000
    # Only the pointer to the storage of the socket, where a port has one.
    assert (found["outside"] == 0) == (port != "bbr3")


@needs_linux
def test_recording_the_calls_changes_nothing(tmp_path: Path) -> None:
    asked = read_one(text("losses", 'kind = "ghstcp"'))
    one, other = tmp_path / "one", tmp_path / "other"
    assert found_in(asked, one)["differences"] == 0
    program = {"program": str(linux.chosen().path), "memory_mb": linux.memory_mb(asked)}
    host.ask({"do": "linux", **program, "scenario": written(asked), "record": str(other)})
    assert json.loads(one.read_bytes()) == json.loads(other.read_bytes())


@needs_linux
def test_two_flows_of_a_port_have_parameters_of_their_own() -> None:
    scenario = text("queue", 'kind = "fhstcp", c = 5').replace("50 Mbit", "20 Mbit")
    head, one, two = scenario.split("[[flow]]")
    scenario = "[[flow]]".join(
        [head, one, two.replace("c = 5", "c = 40").replace("80 ms", "40 ms")]
    )
    slow, fast = fairhaul.run(scenario, engine="linux").measures[0]["flows"]
    assert fast["goodput_bps"] > 1.5 * slow["goodput_bps"]


@needs_linux
def test_an_object_of_a_user_runs_with_its_variables() -> None:
    file = bpf_object("aimd")
    goodputs = []
    for a in (1000, 4000):
        found = fairhaul.run(
            text("losses", f'kind = "bpf", object = "{file}", a = {a}'), engine="linux"
        )
        goodputs.append(sum(flow["goodput_bps"] for flow in found.measures[0]["flows"]))
    assert goodputs[1] > 1.1 * goodputs[0]


@needs_linux
def test_calls_of_several_objects_are_refused() -> None:
    several = text("queue", 'kind = "fhstcp"').replace("fhstcp", "bbr3", 1)
    with pytest.raises(host.Refused, match="the flows have 2 eBPF objects, and must have one"):
        found_in(read_one(several))
