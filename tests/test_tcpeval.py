"""`fairhaul evaluate --suite tcpeval`: its traffic, its networks, its measures, and the command."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairhaul import Scenario, ScenarioError, cli, evaluate, for_each
from fairhaul.jobs.store import Store
from fairhaul.scenario.read import read as read_scenarios
from fairhaul.studies.tcpeval import suite
from fairhaul.studies.tcpeval.measures import MEASURES, SIZES
from fairhaul.studies.tcpeval.tables import FORMS, Column, rows_of
from fairhaul.studies.tcpeval.template import FOLDER, Template
from fairhaul.studies.tcpeval.traffic import (
    BALANCE,
    NEAR,
    PATHS,
    Traffic,
    Wanted,
    connections_per_s,
    generate,
    offer,
)
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


def test_the_alternate_format_is_named_and_the_command_of_the_page_converts_it(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    alternate = tmp_path / "alternate.cvec"
    alternate.write_text(
        "S 2500000 2 2 1 7\nw 1 1\nm 1460 1460\nI 0 0 245\nA 0 51257 510\nI 0 1000000 300\n"
        "A 0 0 20000\nC 1000000 1 1 1 8\nm 496 536\nI 0 0 222\nA 62436 0 726\n",
        encoding="ascii",
    )
    with pytest.raises(ScenarioError, match=r"alternate\.cvec:1: this is the alternate format"):
        read(alternate, rng)
    page = (Path(__file__).parents[1] / "docs/scenario.md").read_text(encoding="utf-8")
    command = re.search(r"```sh\n(awk .*?)```", page, re.DOTALL)
    assert command is not None
    subprocess.run(["sh", "-c", command[1]], cwd=tmp_path, check=True)
    trace = read(tmp_path / "site.cvec", rng)
    assert (trace.kind, trace.is_small.tolist()) == (["CONC", "SEQ"], [True, False])
    assert trace.body == [
        "t> 0\nc> 222\nt< 62436\nc< 726\n",
        "t 0\n> 245\nt 51257\n< 510\nt 1000000\n> 300\nt 0\n< 20000\n",
    ]


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"r4s1\.org is missing; wanted the nine files"):
        evaluate(["cubic"], suite="tcpeval", quick=True, only=["impact"], vectors=tmp_path)


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


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("basic", 18),
        ("tradeoff", 5),
        ("ramp-up", 6),
        ("transients", 3),
        ("impact", 2),
        ("fairness", 72),
        ("bottlenecks", 3),
    ],
)
def test_the_scenarios_of_every_test_are_valid(tmp_path: Path, name: str, points: int) -> None:
    # A 300th of the times; those of links of 1 Gbit/s are not read, which would take long.
    traffic, test = Traffic(tmp_path, None), suite().tests[name]
    found = 0
    for template in test.scenarios:
        for written in Template(template).write(traffic, 1, 300.0):
            content = tomllib.loads(written.file.read_text(encoding="utf-8"))
            assert content["source"].startswith("TCPEVAL, ")
            found += prod(map(len, content.get("sweep", {}).values()))
            if content.get("bottleneck", {}).get("rate") == "1 Gbit/s":
                continue
            mine = {f"flow.{test.mine}.controller": {"kind": "fhstcp", "c": 20}}
            for scenario in read_scenarios(written.file, mine):
                flows = json.loads(scenario.describe())["flows"]
                by = {flow["controller"] for flow in flows}
                assert by - {"none"} == ({"reno", "fhstcp"} if name == "impact" else {"fhstcp"})
    assert found == points


def test_the_suite_names_templates_measures_and_numbers_that_exist() -> None:
    named = [template for test in suite().tests.values() for template in test.scenarios]
    assert sorted(named) == sorted(file.stem for file in FOLDER.glob("*.toml"))
    assert {test.measure for test in suite().tests.values()} == set(MEASURES)
    assert {column.form for test in suite().tests.values() for column in test.columns} == set(FORMS)
    sizes = [column.key for column in suite().tests["ramp-up"].columns]
    assert sizes == [f"s_to_{size}_bytes" for size in SIZES]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a quick suite take a hundredth of the draft's times."""
    monkeypatch.setattr("fairhaul.studies.tcpeval.QUICK", 100.0)


@pytest.fixture(scope="module")
def camps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the test `impact`, which has the runs of two camps of standard TCP once."""
    return tmp_path_factory.mktemp("camps")


def test_the_command_writes_a_page_prints_tables_and_goes_on_where_it_was(
    camps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "scalable", "--suite", "tcpeval", "--quick", "--only", "impact"]
    command += ["--out", str(camps)]
    written = ["--report", "--markdown"]
    assert cli.status_of([*command, *written]) == 0
    shown = capsys.readouterr().out
    assert "Impact on standard TCP" in shown
    assert "for a first look" in shown
    assert "Gain and loss" in (camps / "report.html").read_text(encoding="utf-8")
    assert "## Impact on standard TCP" in (camps / "report.md").read_text(encoding="utf-8")
    kept = [result.key for result in Store(camps).results()]
    assert len(kept) == 4

    planned: list[Sequence[Scenario]] = []

    def nothing(plan: Sequence[Scenario], *_: Any, **__: Any) -> list[Any]:
        planned.append(plan)
        return []

    monkeypatch.setattr("fairhaul.jobs.values.for_each", nothing)
    assert cli.status_of([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [result.key for result in Store(camps).results()] == kept
    assert planned == [[]]
    full = found["values"]["tests"]["impact"][1]
    assert full["point"] == ["100 %"]
    # Scalable TCP gives way less than standard TCP, so camp A loses.
    assert full["figures"]["loss"]["mean"] < 1 < full["figures"]["gain"]["mean"]


@pytest.mark.usefixtures("short")
def test_a_written_scenario_repeats_the_run_of_a_table(tmp_path: Path) -> None:
    done = evaluate(["scalable"], suite="tcpeval", quick=True, only=["transients"], out=tmp_path)
    row = next(of for of in done.rows["transients"] if of.cells([])[:2] == ["increase", "scalable"])
    mine = {"flow.test.controller": "scalable"}
    [scenario] = read_scenarios(tmp_path / "scenarios" / "transient-increase_1.toml", mine)
    measure = MEASURES["after_the_step"]
    [figures] = for_each([scenario], lambda _, record: measure(scenario, record))
    number = row.figures["dropped_packets"]
    assert number is not None
    assert number.mean == figures["dropped_packets"]


def test_gain_and_loss_are_relative_to_two_camps_of_standard_tcp(camps: Path) -> None:
    done = evaluate(["aimd"], suite="tcpeval", quick=True, only=["impact"], out=camps)
    for row in done.rows["impact"]:
        assert [gain.mean for gain in row.figures.values() if gain is not None] == [1.0, 1.0]


def test_a_number_that_a_run_lacks_is_no_mean() -> None:
    columns = [Column(key=key, head="", form="number") for key in ("ratio", "gain")]
    [row] = rows_of(columns, {(("x",), "reno"): [{"ratio": 2.0}, {"ratio": None}]})
    assert row.figures == {"ratio": None}
    assert row.cells(columns) == ["x", "reno", "-", "-"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([], "CC... is missing"),
        (["cubik"], 'did you mean "cubic"?'),
        (["4xreno"], "name one controller, not parallel TCP"),
        (["xcp"], "needs routers that assign its rate"),
        (["cubic", "--only", "basics"], "did you mean 'basic'?"),
        (["cubic", "--engine", "sim,lab"], "runs in the simulator alone"),
        (["cubic", "--suite", "tcpevl"], "'rfc9743', 'tcpeval'"),
        (["cubic", "--suite", "rfc9743", "--only", "basic"], "is an option of --suite tcpeval"),
        (["cubic", "--dask", "tcp://localhost:1"], "--dask requires --out"),
    ],
)
def test_bad_input_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], wanted: str
) -> None:
    out = [] if "--dask" in given else ["--out", str(tmp_path / "out")]
    assert cli.status_of(["evaluate", "--suite", "tcpeval", *out, *given]) == 2
    assert wanted in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_suite_has_a_name() -> None:
    with pytest.raises(ScenarioError, match="unknown suite 'tcpevl'; did you mean 'tcpeval'"):
        evaluate(["cubic"], suite="tcpevl")  # type: ignore[call-overload]
