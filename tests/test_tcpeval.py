"""`fairhaul suite tcpeval`: its traffic, its networks, its measures, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fairhaul import ScenarioError, cli
from fairhaul.scenario.read import read_one
from fairhaul.studies.tcpeval import TESTS, tcpeval
from fairhaul.studies.tcpeval.cases import STANDARD, Effort
from fairhaul.studies.tcpeval.generator import connections_per_s, generate
from fairhaul.studies.tcpeval.load import BALANCE, NEAR, Wanted, offer
from fairhaul.studies.tcpeval.network import PATHS
from fairhaul.studies.tcpeval.report import PAGE
from fairhaul.studies.tcpeval.tables import COLUMNS, rows
from fairhaul.studies.tcpeval.traffic import Traffic
from fairhaul.studies.tcpeval.vectors import LARGE, SMALL, read

TMIX = """\
# two connections
SEQ 2500000 2 21217 555382
w 64800 6432
r 1176194
m 1460 1460
> 245
t 51257
< 510
t 1000000
> 300
< 20000
CONC 1000000 1 1 21 555
m 480 480
c> 222
t> 62436302
c< 726
"""


@pytest.fixture
def rng() -> np.random.Generator:
    """Give random numbers that are the same in each run."""
    return np.random.default_rng(1)


def test_a_file_of_tmix_is_read_in_the_order_of_starts(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    (tmp_path / "r4s1.org").write_text(TMIX, encoding="ascii")
    trace = read(tmp_path / "r4s1.org", rng)
    assert trace.start_s.tolist() == [1.0, 2.5]
    assert trace.kind == ["CONC", "SEQ"]
    assert trace.is_small.tolist() == [True, False]
    assert trace.up_bytes.tolist() == [222.0, 545.0]
    assert trace.down_bytes.tolist() == [726.0, 20510.0]
    assert trace.units.tolist() == [2, 4]
    assert trace.pauses_s[1] == pytest.approx(1.051257)
    # 510 B and 20,000 B in packets with 1460 B of payload have 1 and 14 headers together, at least.
    assert trace.down_bits()[1] == 8 * (20510 + 15 * 40)
    trace.write(tmp_path, "r4s1")
    kept = (tmp_path / "r4s1-1500.cvec").read_text(encoding="ascii")
    assert kept.splitlines()[1:] == [
        "SEQ 2500000", "> 245", "t 51257", "< 510", "t 1000000", "> 300", "< 20000",
    ]  # fmt: skip


def test_a_wrong_line_of_a_trace_is_named(tmp_path: Path, rng: np.random.Generator) -> None:
    (tmp_path / "r4s1.org").write_text("SEQ 1 1 1 1\n> many\n", encoding="ascii")
    with pytest.raises(ScenarioError, match=r"r4s1\.org:2: '> many' is no line of a Tmix file"):
        read(tmp_path / "r4s1.org", rng)


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"r4s1\.org is missing; wanted the nine files"):
        tcpeval(["cubic"], out=tmp_path, quick=True, only=["impact"], vectors=tmp_path)


def test_the_generator_has_the_load_and_the_sizes_that_it_states(rng: np.random.Generator) -> None:
    trace = generate(connections_per_s(50e6), 2000.0, rng)
    # The sizes are heavy-tailed: of a million responses the mean is known to some percent.
    assert 8 * trace.down_bytes.sum() / 2000.0 == pytest.approx(50e6, rel=0.05)
    assert trace.units.mean() == pytest.approx(4.0, rel=0.02)
    assert trace.is_small.mean() == pytest.approx(0.1, abs=0.01)
    assert trace.sizes() == [LARGE, SMALL]


def test_traffic_is_scaled_balanced_and_prefilled(rng: np.random.Generator) -> None:
    wanted = Wanted(
        capacity_bps=20e6,
        load=0.5,
        both_directions=False,
        warmup_s=20.0,
        test_s=300.0,
        prefill_s=40.0,
        rtt_s=0.1,
    )
    # Three times the connections that are needed: scaling moves them apart.
    traces = {path: generate(3 * connections_per_s(10e6 / 9), 400.0, rng) for path in PATHS}
    offered = offer(traces, wanted, rng)
    assert offered.load == pytest.approx(0.5, rel=NEAR)
    assert offered.imbalance < BALANCE
    prefilled_s = offered.warmup_s - 20.0
    assert 0 < prefilled_s < 40.0
    assert offered.length_s == pytest.approx(prefilled_s + 320.0)
    starts = np.concatenate([trace.start_s for trace in offered.paths.values()])
    assert 0 <= starts.min() <= starts.max() < offered.length_s


@pytest.mark.parametrize("test", TESTS)
def test_the_scenarios_of_every_test_are_valid(tmp_path: Path, test: str) -> None:
    # A hundredth of the times, and links of at most 100 Mbit/s: traffic of faster ones takes long.
    effort = Effort(seeds=1, shorter=100.0, only=(test,))
    traffic = Traffic(tmp_path, None)
    names = {STANDARD: STANDARD, "fhstcp": {"kind": "fhstcp", "c": 20}}
    found = 0
    for case in TESTS[test](names, traffic, effort):
        found += 1
        if "1 Gbit/s" in case.text.split("[[flow]]", maxsplit=1)[0].split("access_rate")[0]:
            continue
        case.file(tmp_path).write_text(case.text)
        scenario = json.loads(read_one(case.file(tmp_path)).describe())
        assert scenario["source"] == "TCPEVAL"
        assert {flow["controller"] for flow in scenario["flows"]} <= {"reno", "fhstcp", "none"}
    assert (
        found
        == {
            "basic": 36,
            "tradeoff": 10,
            "ramp-up": 12,
            "transients": 6,
            "impact": 4,
            "fairness": 144,
            "bottlenecks": 6,
        }[test]
    )


def test_the_command_writes_a_page_prints_tables_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fairhaul.studies.tcpeval.QUICK", 100.0)
    command = ["suite", "tcpeval", "--cc", "scalable", "--quick", "--only", "impact"]
    command += ["--out", str(tmp_path)]
    with pytest.raises(SystemExit, match="0"):
        cli.main(command)
    shown = capsys.readouterr().out
    assert "Impact on standard TCP" in shown
    assert "for a first look" in shown
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert "Gain and loss" in page
    kept = (tmp_path / "results.json").read_bytes()

    monkeypatch.setattr("fairhaul.studies.tcpeval.for_each", None)  # nothing is left to run
    with pytest.raises(SystemExit, match="0"):
        cli.main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (tmp_path / "results.json").read_bytes() == kept
    full = found["tests"]["impact"][1]
    assert full["point"] == ["100 %"]
    # Scalable TCP gives way less than standard TCP, so camp A loses.
    assert full["figures"]["loss"]["mean"] < 1 < full["figures"]["gain"]["mean"]


def test_gain_and_loss_are_relative_to_two_camps_of_standard_tcp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhaul.studies.tcpeval.QUICK", 100.0)
    done = tcpeval(["aimd"], out=tmp_path, quick=True, only=["impact"])
    for row in rows(done, "impact"):
        gains = [row.figures[column.key] for column in COLUMNS["impact"]]
        assert [gain.mean for gain in gains if gain is not None] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ([], "--cc is missing; for example: fairhaul suite tcpeval --cc cubic"),
        (["--cc", "cubik"], 'did you mean "cubic"?'),
        (["--cc", "4xreno"], "name one controller, not parallel TCP"),
        (["--cc", "cubic", "--only", "basics"], "did you mean 'basic'?"),
    ],
)
def test_bad_input_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], wanted: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["suite", "tcpeval", "--out", str(tmp_path / "out"), *more])
    assert wanted in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
