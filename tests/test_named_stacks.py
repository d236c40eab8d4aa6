"""The transport stacks that have names: quinn, noq and smoltcp (`make stacks`)."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import polars
import pytest

import fairhaul
from fairhaul import ScenarioError, _core
from fairhaul.scenario.read import read_one
from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED
from fairhaul.studies.expectations.bbr_cases import scaled
from fairhaul.studies.expectations.checking import check
from fairhaul.studies.expectations.stack_cases import FOLDER
from fairhaul.studies.expectations.words import measured
from tools.stacks import bbr
from tools.stacks.faults import OWN, rows
from tools.stacks.repeat import BASE, STACKS, Case, differences, drawn, packets

LIBRARIES = Path(fairhaul.__file__).parent / "stacks"
pytestmark = pytest.mark.skipif(
    not (LIBRARIES / "libfairhaul_quinn.so").exists(), reason="`make stacks` builds the stacks"
)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """One flow over 20 Mbit/s and 40 ms."""
    file = tmp_path / "stack.toml"
    file.write_text(BASE)
    return file


PATH: dict[str, str | float] = {
    "bottleneck.rate": "20 Mbit/s",
    "flow.stack.rtt": "40 ms",
    "duration": "10 s",
}


def test_runs_of_every_stack_and_controller_repeat() -> None:
    cases = [
        Case(stack, {"controller": controller}, number, 0.3)
        for stack, controller in STACKS
        for number in (1, 2)
    ]
    assert not differences(cases)


def test_a_run_is_the_same_in_every_thread(scenario: Path) -> None:
    """noq's `bbr3` draws from the generator of its thread, which draws when it is used first."""
    stack: dict[str, str | float] = {
        "flow.stack.stack": "noq",
        "flow.stack.stack.controller": "bbr3",
    }
    read = read_one(scenario, PATH | stack)
    times: list[list[float]] = []

    def run_twice() -> None:
        for _ in range(2):
            trace = _core.Run(read, 0).run().trace
            assert trace is not None, "a trace was requested"
            times.append(polars.DataFrame(trace)["t_s"].to_list())

    thread = threading.Thread(target=run_twice)
    thread.start()
    thread.join()
    first, second = times
    assert first == second


# Of the times, directions and sizes of all packets of one drawn scenario, with a transfer of 2 MB.
PACKETS = {
    ("quinn", "cubic"): "b67a364365bb0123",
    ("quinn", "newreno"): "edaca14c6f1ab6c9",
    ("quinn", "bbr"): "280e0ffdf5bbf147",
    ("quinn", "fairhaul-bbr3"): "43fc25c11d7689bc",
    ("noq", "cubic"): "810ef26c79250de3",
    ("noq", "newreno"): "f11c09882a12c9e0",
    ("noq", "bbr3"): "0b0e9433c114c3f5",
    ("noq", "fairhaul-bbr3"): "f13cb43175304e4b",
    ("smoltcp", "cubic"): "05a273aec1eb35e5",
    ("smoltcp", "reno"): "b77fcc2a4865202e",
    ("smoltcp", "none"): "03883f7ced6da93b",
}


@pytest.mark.parametrize(("stack", "controller"), STACKS)
def test_the_packets_are_those_of_every_machine(stack: str, controller: str) -> None:
    """A new release of a stack has others."""
    text = packets(drawn(4, 2) | {"flow.stack.stack.controller": controller}, stack)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert digest == PACKETS[stack, controller]


@pytest.mark.parametrize(("stack", "controller"), STACKS)
def test_a_stack_fills_a_link_alone(scenario: Path, stack: str, controller: str) -> None:
    """Of what the link carries at least 1200 of 1500 bytes of a packet are payload.

    smoltcp waits for a timeout of a second after the losses of slow start, and without a controller
    it fills the queue with retransmissions.
    """
    own = {"flow.stack.stack": stack, "flow.stack.stack.controller": controller}
    settings: dict[str, str | float] = {**PATH, **own}
    (flow,) = fairhaul.run(scenario, settings).measures[0]["flows"]
    share = {"smoltcp": 0.3}.get(stack, 0.7) if controller != "none" else 0
    assert share * 20e6 < flow["goodput_bps"] < 20e6


def test_the_settings_of_a_stack(scenario: Path) -> None:
    def mistake(**settings: str | float) -> str:
        own = {f"flow.stack.stack.{key}": value for key, value in settings.items()}
        with pytest.raises(ScenarioError) as error:
            read_one(scenario, own)
        return "\n".join(error.value.args)

    assert 'did you mean "cubic"' in mistake(controller="cubik")
    assert 'did you mean "controller"' in mistake(contoller="cubic")
    assert "wanted a number from 1 to 1000" in mistake(packet_threshold=0)
    assert "a connection of smoltcp has one" in mistake(kind="smoltcp", streams=4)
    with pytest.raises(ScenarioError, match='did you mean "quinn"'):
        read_one(scenario, {"flow.stack.stack": "quin"})


def test_streams_share_a_transfer(scenario: Path) -> None:
    own: dict[str, str | float] = {"flow.stack.traffic": "1 MB", "flow.stack.stack.streams": 4}
    record = fairhaul.run(scenario, PATH | own).records[0]
    (transfer,) = record.transfer.iter_rows(named=True)
    assert transfer["bytes"] == 1_000_000
    assert transfer["end_s"] > 0.4


def test_the_verdict_on_a_known_fault_flips_with_the_release_that_repaired_it() -> None:
    found = list(rows("bounds a segment"))
    assert [row.release for row in found] == ["smoltcp-0.13.1", "smoltcp", "quinn"]
    assert not any(row.has_flipped() for row in found)


@pytest.mark.parametrize(
    "fault",
    [
        "ignores marks",
        "no bytes",
        "threshold twice",
        "last maximum by 0.53",
        "at every acknowledgement",
        "leaves it unused",
    ],
)
def test_faults_of_present_releases_are_still_found(fault: str) -> None:
    found = list(rows(fault))
    assert found
    assert not any(row.has_flipped() for row in found)


def test_a_number_of_a_run_in_which_the_connection_was_closed_says_so() -> None:
    """quinn closes a connection with more than 1024 gaps."""
    (case,) = check(OWN / "many-lost.toml", {"flow.mine.stack": "quinn"}).cases
    (checked,) = case.expectations
    judged = checked.by["sim"]
    assert judged.closed == 5
    shown = measured(judged, checked.expectation.form)
    assert shown.endswith("; a connection was closed in 5 of 5 runs")


@pytest.mark.parametrize("stack", ["quinn", "noq"])
@pytest.mark.parametrize(
    ("scenario", "setting"),
    [
        ("time-threshold", {"time_threshold": 10.0}),
        ("reordering-time", {"time_threshold": 1.0}),
        ("mtu", {"mtu_discovery": False}),
        ("mtu-losses", {"mtu_discovery": False}),
    ],
)
def test_a_setting_that_differs_from_the_document_is_found(
    stack: str, scenario: str, setting: dict[str, object]
) -> None:
    """The time threshold of RFC 9002 is 9/8: one of 1 is too early, and one of 10 too late."""
    file = FOLDER / f"{scenario}.toml"
    own = {f"flow.mine.stack.{key}": value for key, value in setting.items()}
    found = [check(file, {"flow.mine.stack": stack} | more).cases[0] for more in ({}, own)]
    assert [case.verdicts for case in found] == [[MET], [NOT_MET]]


@pytest.mark.parametrize("stack", ["quinn", "noq"])
def test_a_lost_probe_of_the_mtu_is_no_congestion_and_another_lost_packet_is(stack: str) -> None:
    file = FOLDER / "mtu-probe.toml"
    own: dict[str, str | float] = {"flow.mine.stack": stack}
    lost = own | {"bottleneck.mtu": "1500 B", "bottleneck.loss.every": 2000}
    found = [check(file, each).cases[0].verdicts for each in (own, lost)]
    assert found == [[MET, MET], [NOT_MET, MET]]


def test_where_the_mtu_falls_quic_sends_smaller_packets_and_smoltcp_does_not() -> None:
    file = FOLDER / "mtu-falls.toml"
    found = {
        stack: check(file, {"flow.mine.stack": stack}).cases[0].verdicts
        for stack in ("quinn", "noq", "smoltcp")
    }
    assert found == {"quinn": [MET], "noq": [MET], "smoltcp": [NOT_MET]}


REPEATS = """
[[expect]]
what     = "packets are late, and none is lost: all that is repeated is needless"
number   = "count(events.stack.spurious) / flows.stack.retransmits"
at_least = 0.99
at_most  = 1
"""


def test_packets_of_tcp_show_what_was_repeated_needlessly(scenario: Path) -> None:
    scenario.write_text(BASE + REPEATS)
    late: dict[str, str | float] = {
        **PATH,
        "bottleneck.queue.capacity": "unlimited",
        "bottleneck.reorder.probability": 0.01,
        "bottleneck.reorder.delay": "8 ms",
    }
    verdicts = [
        check(scenario, late | {"flow.stack.stack": stack}).cases[0].verdicts
        for stack in ("smoltcp", "quinn")
    ]
    # Packets of QUIC do not show what they carry.
    assert verdicts == [[MET], [UNDECIDED]]


def test_a_case_of_bbr_has_the_same_numbers_of_packets_in_larger_packets() -> None:
    """20 Mbit/s are 2500 packets of 1000 B a second, and 30 Mbit/s 2500 of 1500 B."""
    case = {
        "rate": "20 Mbit/s",
        "policer": {"burst": "100 kB"},
        "queue": "200 packets",
        "b": "1 bdp",
    }
    assert scaled(case) == {
        "rate": "30 Mbit/s",
        "policer": {"burst": "150 kB"},
        "queue": "200 packets",
        "b": "1 bdp",
    }
    assert scaled("flows.bbr.goodput_bps / 10e6") == "flows.bbr.goodput_bps / 15e6"


def test_bbr_of_fairhaul_in_noq_meets_a_case_that_that_of_noq_does_not() -> None:
    """Its filter of the largest rate forgets the probe (docs/stacks-bbr.md)."""
    verdicts = {
        name: [found.verdict for *_, found in bbr.cells(bbr.judged(bbr.WITH[name], "01"))]
        for name in ("noq, fairhaul-bbr3", "noq, bbr3")
    }
    assert verdicts == {"noq, fairhaul-bbr3": ["met", "met"], "noq, bbr3": ["met", "not met"]}
