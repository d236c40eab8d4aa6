"""A user's own paper: a folder with `paper.toml`, judged and drawn as the built-in papers are."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path

import pytest

from fairhaul import report
from fairhaul.cli import progress, status_of
from fairhaul.measures.formula import FormulaError, read_formula
from fairhaul.report import page
from fairhaul.runs.runs import Progress
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import Estimate
from fairhaul.studies import papers
from fairhaul.studies.papers.layout import step
from fairhaul.studies.papers.outcome import table_of
from fairhaul.studies.papers.results import Key, Numbers, Results, Verdict
from fairhaul.studies.papers.section import Printed
from fairhaul.studies.papers.table import Cell, Row, Table

from .conftest import Fairhaul
from .test_report import read

EXAMPLE = Path(__file__).parents[1] / "docs" / "own-paper"
PAGE = EXAMPLE.with_suffix(".md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a copy of the example."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "mine"))


def changed(folder: Path, *pairs: tuple[str, str]) -> Path:
    file = folder / "paper.toml"
    text = file.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return folder


def mistakes(folder: Path) -> list[str]:
    with pytest.raises(ScenarioError) as refusal:
        papers.paper_of(folder)
    return [str(one).removeprefix(f"{folder / 'paper.toml'}: ") for one in refusal.value.args]


@pytest.mark.usefixtures("folder")
def test_the_example_is_judged_and_drawn(fairhaul: Fairhaul, tmp_path: Path) -> None:
    done = fairhaul("reproduce", "./mine", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["values"]
    assert found["paper"] == "mine"
    assert "Report: mine-report/report.html" in done.stderr
    (table,) = found["tables"]
    first = table["rows"][0]
    assert first["controller, buffer"] == "reno, 20 packets"
    assert first["near / far"]["paper"] == 3.1
    assert first["near / far"]["ours"]["mean"] > 1
    assert first["link used %"]["paper"] is None
    claims = {claim["claim"]: claim for claim in found["claims"]}
    equal = claims["a larger buffer makes the flows more equal"]
    assert equal["verdict"] == "holds"
    assert [one["case"] for one in equal["numbers"]][:2] == [
        "reno, 200 packets",
        "reno, 20 packets",
    ]
    page = read(tmp_path / "mine-report" / "report.html")
    assert set(page.figures) == {"table1", "windows"}
    assert "fairhaul reproduce mine --quick" in page.text
    assert "nan" not in page.text


def test_the_cost_is_printed_first_and_an_interrupted_command_says_that_it_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr("fairhaul.runs.cost.LONG_S", 0.0)
    monkeypatch.setattr("fairhaul.jobs.values.for_each", interrupted)
    assert status_of(["reproduce", "mine", "--quick", "--seeds", "1"]) == 130
    cost, kept, last = filter(None, capsys.readouterr().err.splitlines())
    assert re.fullmatch(r"fairhaul: 6 runs: up to .* idle cores?, and .* of memory", cost)
    assert kept == "fairhaul: finished runs are kept in mine-report; the same command goes on"
    assert last == "fairhaul: interrupted"


def test_the_page_quotes_the_example() -> None:
    quoted = re.search(r"## The example\n+```toml\n(.*?)```", PAGE.read_text(), re.S)
    assert quoted is not None
    example = (EXAMPLE / "paper.toml").read_text()
    for part in quoted[1].split("\n\n"):
        assert part.strip() in example


def test_every_built_in_paper_is_read_without_a_mistake() -> None:
    for name in papers.PAPERS:
        paper = papers.paper_of(name)
        assert paper.experiments
        for one in paper.experiments.values():
            assert len(one.cases(True, {})) <= len(one.cases(False, {}))


def test_mistakes_are_all_reported_with_their_keys_and_the_nearest_word(folder: Path) -> None:
    changed(
        folder,
        ("seeds       = 10", "seed = 5"),
        ("flows.near.goodput_bps /", "flows.near.goodput /"),
        ('of = { buffer = "200 packets" }', 'of = { buffer = "200 packet" }'),
        ('kind   = "panels"', 'kind   = "panel"'),
        ('where = { buffer = "60', 'where = { bufer = "60'),
        ('"link used %" = ".1f"', '"link used" = ".1f"'),
        ('question = "', 'questions = "'),
        ("Table 1: two flows by the buffer", "Table 1: two flows at {rat}"),
    )
    table1 = "experiment.table1"
    assert sorted(mistakes(folder)) == sorted(
        [
            "question: a text is required",
            "questions: unknown key; did you mean 'question'?",
            f"{table1}.seed: unknown key; did you mean 'seeds'?",
            f"{table1}.numbers.near / far: unknown figure 'goodput'; did you mean 'goodput_bps'?",
            f"{table1}.claim[0].parts[0].of: unknown label of the axis buffer '200 packet'; "
            "did you mean '200 packets'?",
            f"{table1}.figure[0].kind: unknown kind of figure 'panel'; did you mean 'panels'?",
            f"{table1}.figure[1].where: unknown axis 'bufer'; did you mean 'buffer'?",
            f"{table1}.table: unknown quantity 'rat'; did you mean 'rate'?",
            f"{table1}.table: unknown number 'link used'; did you mean 'link used %'?",
        ]
    )


def test_mistakes_of_scenarios_and_of_names_in_them_are_reported(folder: Path) -> None:
    assert mistakes(changed(folder, ("flows.near.goodput_bps /", "flows.neer.goodput_bps /"))) == [
        "experiment.table1.numbers.near / far: no flow 'neer'; did you mean 'near'?"
    ]
    (wrong,) = mistakes(changed(folder, ("flows.neer", "flows.near"), ("*.controller", "*.ctl")))
    assert wrong.startswith('experiment.table1: flow.*.ctl="reno": "ctl" is not a key of [[flow]]')


def test_what_a_figure_or_a_table_would_mix_up_is_reported(folder: Path) -> None:
    changed(
        folder,
        ('columns = { "near', 'rows = ["buffer"]\ncolumns = { "near'),
        ('name  = "windows"', 'name  = "table1"'),
        ('windows     = ["near", "far"]', ""),
        ('kind   = "panels"', 'kind   = "curves"\nx = "controller"'),
    )
    assert mistakes(folder) == [
        "experiment: several figures have the name 'table1'",
        "experiment.table1.table[0].rows: cases that differ in controller have no place of their "
        "own",
        "experiment.table1.figure[0].x: labels that begin with a number are required, not 'reno'",
        "experiment.table1.figure[0].x: labels that begin with a number are required, not 'cubic'",
        "experiment.table1.figure[1].kind: the experiment needs the key `windows`, a list of flows",
    ]


def test_a_wrong_folder_ends_with_status_2(fairhaul: Fairhaul, folder: Path) -> None:
    missing = fairhaul("reproduce", "./yours")
    assert missing.returncode == 2
    assert "yours/paper.toml: no such file or directory" in missing.stderr
    changed(folder, ("title    =", "title    = ="))
    broken = fairhaul("reproduce", "mine")
    assert broken.returncode == 2
    assert "mine/paper.toml: Invalid value (at line 3" in broken.stderr
    unknown = fairhaul("reproduce", "mien")
    assert unknown.returncode == 2
    assert "Your own paper is a folder with a paper.toml." in unknown.stderr


def test_a_function_of_the_folder_gives_numbers(folder: Path) -> None:
    code = "def numbers(record, figures):\n    return {'flows': len(figures['flows'])}\n"
    (folder / "mine.py").write_text(code)
    changed(folder, ('windows     = ["near", "far"]', 'measures = "mine.numbers"'))
    changed(folder, ('kind  = "windows"', 'kind  = "dots"\nnumber = "flows"'))
    brief = {"duration": "3 s", "warmup": "1 s"}
    done = papers.reproduce(folder, quick=True, seeds=2, overrides=brief)
    (part,) = done.parts
    assert part.results.mean(("reno", "20 packets"), "flows") == 2
    assert len(part.experiment.figures(part.results)) == 2
    changed(folder, ("mine.numbers", "mine.number"))
    (wrong,) = mistakes(folder)
    assert wrong.startswith("experiment.table1.measures: FILE.FUNCTION is required")


MORE = """
[axis.link]
fast = { "bottleneck.rate" = "20 Mbit/s" }

[experiment.again]
like    = "table1"
heading = "Again, on a faster link"
set     = { duration = "50 s" }
when    = [{ case = { buffer = "20 packets" }, form = "quick", skip = true }]
printed = []
claim   = []
figure  = []

[experiment.again.axes]
link   = "link"
buffer = { key = "bottleneck.queue.capacity", values = ["20 packets", "60 packets"] }
"""


def test_experiments_share_axes_and_inherit_keys(folder: Path) -> None:
    with (folder / "paper.toml").open("a", encoding="utf-8") as file:
        file.write(MORE)
    # The file itself names the paper, too.
    again = papers.paper_of(folder / "paper.toml").experiments["again"]
    assert again.seeds == 10
    assert [case.key for case in again.cases(True, {})] == [("fast", "60 packets")]
    full = {case.key: json.loads(case.scenario.describe()) for case in again.cases(False, {})}
    assert list(full) == [("fast", "20 packets"), ("fast", "60 packets")]
    assert {one["links"][0]["rate_bps"] for one in full.values()} == {20e6}
    # The quick form has the length of the experiment that it is like.
    lengths = [cases[0].scenario.duration_s for cases in map(again.cases, (True, False), ({}, {}))]
    assert lengths == [40, 50]


CSV = """\
controller,buffer,near / far,Jain's index
reno,20 packets,3.1,0.79
reno,60 packets,,-
reno,200 packets,1.20,0.99
"""
WIDE = """\
buffer,reno,cubic
20 packets,0.79,0.80
200 packets,0.99,
"""
PRINTED = """
printed = [{ file = "one.csv", within = 0.05 }]
[experiment.table1.axes]
"""
ACROSS = PRINTED.replace('"one.csv"', '"wide.csv", across = "controller", number = "Jain\'s index"')


def with_tables(folder: Path, one: str = CSV, wide: str = WIDE, printed: str = PRINTED) -> Path:
    """Give the paper with its numbers in a file, a row for each case."""
    (folder / "one.csv").write_text(one, encoding="utf-8-sig")
    (folder / "wide.csv").write_text(wide)
    file = folder / "paper.toml"
    text = re.sub(r"\[\[experiment.table1.printed\]\].*?\n\n", "", file.read_text(), flags=re.S)
    file.write_text(text.replace("\n[experiment.table1.axes]\n", printed, 1))
    return folder


def test_a_csv_file_gives_the_numbers_that_a_paper_prints(folder: Path) -> None:
    before = papers.paper_of(folder).experiments["table1"].layout
    layout = papers.paper_of(with_tables(folder)).experiments["table1"].layout
    keys = product(("reno", "cubic"), ("20 packets", "60 packets", "200 packets"))
    for key in keys:
        for number in ("near / far", "Jain's index"):
            assert layout.paper(key, number) == before.paper(key, number)
    # With the digits of the file, and what holds for all of it.
    assert step(layout.paper(("reno", "200 packets"), "near / far") or 0) == pytest.approx(0.01)
    assert {quoted.within for quoted in layout.printed} == {0.05}


def test_columns_of_a_csv_file_may_be_labels_of_an_axis(folder: Path) -> None:
    layout = papers.paper_of(with_tables(folder, printed=ACROSS)).experiments["table1"].layout
    assert layout.paper(("cubic", "20 packets"), "Jain's index") == 0.8
    assert layout.paper(("reno", "200 packets"), "Jain's index") == 0.99
    assert layout.paper(("cubic", "200 packets"), "Jain's index") is None


def test_mistakes_in_a_csv_file_are_reported_with_their_line(folder: Path) -> None:
    wrong = CSV.replace("near / far", "near / for").replace(",20 packets", ",20 packet")
    wrong = wrong.replace("0.99", "0,99").replace("0.79", "0.7.9")
    file = folder / "one.csv"
    assert mistakes(with_tables(folder, wrong)) == [
        f"{file}:1: near / for: unknown axis or number 'near / for'; did you mean 'near / far'?",
        f"{file}:2: buffer: unknown label of the axis buffer '20 packet'; "
        "did you mean '20 packets'?",
        f"{file}:2: Jain's index: a number is required, or nothing, not '0.7.9'",
        f"{file}:4: 4 cells are required, not 5",
    ]
    assert mistakes(changed(folder, ('"one.csv"', '"two.csv"'))) == [
        f"experiment.table1.printed[0].file: {folder / 'two.csv'}: no such file or directory"
    ]
    file.write_text("controller\n")
    assert mistakes(changed(folder, ('"two.csv"', '"one.csv", number = "x"'))) == [
        "experiment.table1.printed[0].number: it needs the key `across`, the axis of the columns",
        f"{file}: a line of headings and rows below it are required",
    ]


def test_a_csv_file_has_no_control_characters_and_lines_of_either_kind(folder: Path) -> None:
    with_tables(folder, CSV.replace("0.79", "\x1b[31m0.79"))
    assert mistakes(folder) == [
        f"experiment.table1.printed[0].file: {folder / 'one.csv'}: control characters are not "
        "allowed"
    ]
    (folder / "one.csv").write_bytes(CSV.replace("\n", "\r\n").encode())
    layout = papers.paper_of(folder).experiments["table1"].layout
    assert layout.paper(("reno", "20 packets"), "Jain's index") == 0.79


def test_mistakes_of_columns_that_are_labels_are_reported(folder: Path) -> None:
    wide = WIDE.replace("cubic", "cubik").replace("reno", "reno,reno")
    found = mistakes(with_tables(folder, wide=wide, printed=ACROSS.replace("index", "indx")))
    assert found[0].endswith(
        'printed[0].number: unknown number "Jain\'s indx"; did you mean "Jain\'s index"?'
    )
    file = folder / "wide.csv"
    assert f"{file}:1: reno: several columns have this heading" in found
    assert (
        f"{file}:1: cubik: unknown label of the axis controller 'cubik'; did you mean 'cubic'?"
        in found
    )


LOSS = 'p = { key = "bottleneck.loss", values = [0.01, 0.0001], labels = ["many", "few"] }'


def lengths(folder: Path, quick: bool) -> set[tuple[str, float]]:
    cases = papers.paper_of(folder).experiments["table1"].cases(quick, {})
    return {(case.key[0], case.scenario.duration_s) for case in cases}


def test_the_length_of_runs_is_a_formula_of_the_axes(folder: Path) -> None:
    # 1 / p packets between two losses, at (1.5 / p)^0.5 packets in a round of 80 ms: 200 of them.
    formula = "duration = 'max(100, 200 * 0.08 / sqrt(1.5 * p))'"
    file = folder / "paper.toml"
    text = file.read_text().replace(
        "seeds       = 10\n", f"seeds = 10\n{formula}\nwarmup = '0.1 * buffer'\n"
    )
    text = text.replace("[experiment.table1.axes]\n", f"[experiment.table1.axes]\n{LOSS}\n")
    file.write_text(text)
    # 16 / 0.015^0.5 is 130.639.
    assert lengths(folder, quick=False) == {("many", 130.639), ("few", 1306.395)}
    # What the quick form sets goes before, and so does its own formula.
    assert {length for _, length in lengths(folder, quick=True)} == {40}
    changed(folder, ('set = { duration = "40 s", warmup = "10 s" }', "duration = '0.3 / p'"))
    assert lengths(folder, quick=True) == {("many", 30), ("few", 3000)}


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("40 s", "a formula that gives seconds, such as '200 * rtt', is required, not '40 s'"),
        ("2 * bufer", "unknown axis 'bufer'; did you mean 'buffer'?"),
        ("squirt(buffer)", "unknown function 'squirt'; did you mean 'sqrt'?"),
        ("controller", "the label 'reno' of the axis controller does not begin with a number"),
        ("buffer - 30", "'buffer - 30' gives -10 s for controller = reno, buffer = 20 packets"),
        ("1 / (buffer - 20)", "'1 / (buffer - 20)' gives nan s for controller = reno, buffer = "),
        ("9 ** 9 ** 9", "'9 ** 9 ** 9' gives nan s for"),
        ("axes['buffr']", "unknown axis 'buffr'; did you mean 'buffer'?"),
        ("min()", "'min()' gives nan s for"),
        ("buffer.real", "'buffer.real' is no part of a formula of axes"),
    ],
)
def test_a_wrong_formula_of_a_length_is_refused(folder: Path, formula: str, message: str) -> None:
    new = f'seeds = 10\nduration = "{formula}"'
    (found,) = mistakes(changed(folder, ("seeds       = 10", new)))
    assert found.startswith(f"experiment.table1.duration: {message}")


def test_the_examples_of_lengths_and_of_files_on_the_page_are_read(folder: Path) -> None:
    page = PAGE.read_text()
    toml = re.findall(r"```toml\n(.*?)```", page, re.S)
    (lengths_of,) = [text for text in toml if 'duration = "200' in text]
    files = re.findall(r"```toml\n(printed = .*?)\n```\n\n```text\n(.*?)```", page, re.S)
    assert [file for line, _ in files for file in re.findall(r"table\d.csv", line)] == [
        "table1.csv",
        "table2.csv",
    ]
    for line, text in files:
        (folder / re.findall(r"table\d.csv", line)[0]).write_text(text)
        of = papers.paper_of(with_tables(folder, printed=f"{line}\n[experiment.table1.axes]\n"))
        assert len(of.experiments["table1"].layout.printed) >= 3
        shutil.copy(EXAMPLE / "paper.toml", folder)
    again = 'like = "table1"\nprinted = []\ntable = []\nclaim = []\nfigure = []\n'
    with (folder / "paper.toml").open("a") as file:
        file.write(lengths_of.replace("[experiment.table2]\n", f"[experiment.table2]\n{again}"))
    cases = papers.paper_of(folder).experiments["table2"].cases(False, {})
    assert max(case.scenario.duration_s for case in cases) == 1306.395


WITHOUT_AXES = """
title    = "One case"
source   = "an invented paper"
question = "How much?"

[experiment.one]
heading  = "One"
about    = "Two flows."
scenario = "two-flows.toml"
seeds    = 5
quick    = { set = { duration = "3 s", warmup = "1 s" } }
numbers  = { near = "flows.near.goodput_bps / 1e6" }
printed  = [{ near = 36.6 }]
table    = [{ title = "Table 1", columns = { near = ".2f" } }]
claim    = [{ text = "it is fast", parts = [{ number = "near", within = [30, 40] }] }]
figure   = [{ kind = "panels", name = "one", title = "One", number = "near" }]
"""


def test_a_paper_without_axes_has_no_empty_labels(folder: Path) -> None:
    (folder / "paper.toml").write_text(WITHOUT_AXES)
    done = papers.reproduce(folder, quick=True)
    (line,) = done.differences()
    assert line.startswith("near: the paper has 36.60, ours is ")
    (table,) = map(table_of, done.tables)
    assert table.columns == ["", "near"]
    assert [row[0] for row in table.rows] == ["paper", "ours", ""]
    assert list(done.tables[0].to_dict()["rows"][0]) == ["near"]
    assert done.answer() == "The claim of the paper does not hold here: it is fast."
    both = replace(done, parts=[done.parts[0], replace(done.parts[0], name="two")])
    assert [of.partition(":")[0] for of in both.differences()] == ["one", "two"]


def test_each_label_stands_behind_its_axis() -> None:
    ours = Estimate(mean=1.0, low=1.0, high=1.0, runs=5)
    cell = Cell(paper=[9.0], steps=[1.0], ours=[ours], form=".0f")
    row = Row(label="reno, 1e-2", cells=[cell])
    table = Table(title="", parameter="controller, p", columns=["x"], rows=[row])
    assert table.differences() == ["controller = reno, p = 1e-2, x: the paper has 9, ours is 1"]


FIGURES = {
    "flows": [
        {"name": "a[0]", "goodput_bps": 3e6, "rtt_mean_s": None},
        {"name": "a[1]", "goodput_bps": 1e6, "rtt_mean_s": None},
        {"name": "b", "goodput_bps": 0.0, "rtt_mean_s": 0.1},
    ],
    "fairness": {"jain": 0.5},
}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ('flows["a[0]"].goodput_bps / 1e6 - 1', 2.0),
        ('sum(flows["a*"].goodput_bps) * 2', 8e6),
        ('max(flows["a*"].goodput_bps / 1e6)', 3.0),
        # (3 + 1)^2 / (2 (9 + 1)).
        ('jain(flows["a*"].goodput_bps)', 0.8),
        ("-fairness.jain", -0.5),
        ('flows["a[0]"].goodput_bps / flows.b.goodput_bps', None),
        ('flows["a[0]"].rtt_mean_s', None),
        ('mean(flows["*"].rtt_mean_s)', 0.1),
    ],
)
def test_a_formula_is_computed_from_the_figures_of_a_run(formula: str, value: float | None) -> None:
    assert read_formula(formula).of(FIGURES) == pytest.approx(value)


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("flows.b.goodput_bps", 0, inf),
        ("100 * flows.b.link_share", 0, 100),
        ("1 - fairness.jain", 0, 1),
        ("flows.b.goodput_bps / flows.a.goodput_bps", 0, inf),
        ("1 / (1 + flows.b.link_share)", 0.5, 1),
        ("flows.b.rtt_mean_s - flows.a.rtt_mean_s", -inf, inf),
        ("-fairness.max_min_ratio", -inf, -1),
        ('sum(flows["*"].link_share)', 0, inf),
        ('mean(flows["*"].share) * 4 - 1', -1, 3),
        ('jain(flows["*"].goodput_bps)', 0, 1),
    ],
)
def test_the_bounds_of_a_formula_follow_from_those_of_its_figures(
    formula: str, low: float, high: float
) -> None:
    bounds = read_formula(formula).bounds
    assert (bounds.low, bounds.high) == (low, high)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("flow.b.goodput_bps", "did you mean 'flows'?"),
        ("flows.b.goodput", "did you mean 'goodput_bps'?"),
        ("flows.goodput_bps", "flows.NAME.FIGURE is required"),
        ("median(flows.b.goodput_bps)", "unknown function 'median'"),
        ("flows.b.goodput_bps +", "is not a formula"),
        ("__import__('os').system('true')", "is no figure of a run"),
    ],
)
def test_a_wrong_formula_is_refused(formula: str, message: str) -> None:
    with pytest.raises(FormulaError, match=re.escape(message)):
        read_formula(formula)


@pytest.mark.parametrize(
    ("text", "wanted"), [("0.90", 0.01), ("3.1", 0.1), ("7e-5", 1e-5), ("1.50E+3", 10.0)]
)
def test_the_digits_of_a_printed_number_are_its_precision(text: str, wanted: float) -> None:
    assert step(Printed(text)) == pytest.approx(wanted)
    assert step(3) == 1


# Jain's index by controller and buffer; six seeds are alternately 0.01 below and above.
MEANS = {
    ("reno", "20 packets"): 0.4,
    ("reno", "60 packets"): 0.7,
    ("reno", "200 packets"): 1.0,
    ("cubic", "20 packets"): 0.9,
    ("cubic", "60 packets"): 0.7,
    ("cubic", "200 packets"): 0.4,
}
JAIN = '{ number = "Jain\'s index", '


@pytest.mark.parametrize(
    ("part", "verdict"),
    [
        # True of reno, and false of cubic.
        ('of = { buffer = "200 packets" }, above = { buffer = "20 packets" } }', Verdict.PART),
        (
            'of = { buffer = "200 packets" }, above = { buffer = "20 packets" }, every = true }',
            Verdict.NOT,
        ),
        (
            'of = { controller = "reno", buffer = "20 packets" }, '
            'below = { buffer = ["60 packets", "200 packets"] } }',
            Verdict.HOLDS,
        ),
        ('of = { buffer = "60 packets" }, above = { controller = "reno" } }', Verdict.OPEN),
        # 0.4 is below 0.5 x 0.9 plus 0.3.
        (
            'of = { controller = "reno", buffer = "20 packets" }, '
            'below = { controller = "cubic" }, factor = 0.5, margin = 0.3 }',
            Verdict.HOLDS,
        ),
        (
            'of = { controller = "reno", buffer = "20 packets" }, '
            'not_below = { controller = "cubic" } }',
            Verdict.NOT,
        ),
        ('of = { buffer = "60 packets" }, within = [0.5, inf] }', Verdict.HOLDS),
        ('of = { buffer = "60 packets" }, within = [0.7, 1] }', Verdict.OPEN),
        ('of = { buffer = "60 packets" }, within = [0.75, 1] }', Verdict.NOT),
        # 1.0 over 0.4 is 2.5.
        (
            'of = { controller = "reno", buffer = "200 packets" }, within = [2.1, 2.9], '
            'to = { buffer = "20 packets" } }',
            Verdict.HOLDS,
        ),
        (
            'of = { controller = "reno", buffer = "200 packets" }, within = [2.6, 2.9], '
            'to = { buffer = "20 packets" } }',
            Verdict.NOT,
        ),
        # Both are 0.7.
        (
            'of = { controller = "reno", buffer = "60 packets" }, within = [0.98, 1.02], '
            'to = { controller = "cubic" } }',
            Verdict.HOLDS,
        ),
        # Seed by seed the difference is the same in both.
        (
            'of = { controller = "reno", buffer = "200 packets" }, within = [0.59, 0.61], '
            'to = { buffer = "20 packets" }, by = "difference" }',
            Verdict.HOLDS,
        ),
        ('of = { buffer = "60 packets" }, same = { controller = "cubic" } }', Verdict.HOLDS),
    ],
)
def test_a_claim_compares_cases(folder: Path, part: str, verdict: Verdict) -> None:
    old = '{ number = "Jain\'s index", of = { buffer = "200 packets" }, above = { buffer = "20 '
    changed(folder, (f'{old}packets" }} }}', f"{JAIN}{part}"))
    experiment = papers.paper_of(folder).experiments["table1"]
    runs: dict[Key, list[Numbers]] = {
        key: [{"Jain's index": mean - 0.01}, {"Jain's index": mean + 0.01}] * 3
        for key, mean in MEANS.items()
    }
    found = Results(runs=runs, seeds=dict.fromkeys(runs, range(1, 7)))
    claim = experiment.claims(found)[0]
    assert claim.verdict is verdict
    assert claim.numbers().startswith("Jain's index")


def test_without_a_terminal_a_line_now_and_then_tells_the_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Progress(reached_s=5.0, total_s=20.0, part=0.25, finished=1, runs=4, running=())
    clock = iter([0.0, 10.0, 80.0, 80.0, 80.0])
    monkeypatch.setattr("fairhaul.cli.progress.time.monotonic", lambda: next(clock))
    with progress.progress("mine") as on_progress:
        assert on_progress is not None
        on_progress(seen)
        on_progress(seen)
    assert capsys.readouterr().err == "fairhaul: mine: 1/4 runs, 25 %, about 4 min left\n"
    with progress.progress() as on_progress:
        assert on_progress is None


@pytest.mark.parametrize("name", ["../../escape", "/tmp/escape", "a/b", "..", "", " x", "x" * 200])
def test_no_name_of_a_figure_or_an_experiment_leads_elsewhere(folder: Path, name: str) -> None:
    assert any(
        "becomes the name of a file" in one or "is required" in one
        for one in mistakes(changed(folder, ('name  = "windows"', f'name  = "{name}"')))
    )


def test_no_name_of_an_experiment_leads_elsewhere(folder: Path) -> None:
    found = mistakes(changed(folder, ("experiment.table1", 'experiment."../../x"')))
    assert any("becomes the name of a file" in one for one in found)


def outcome(title: str, *sections: report.Section) -> report.Outcome:
    return report.Outcome(
        study="mine",
        title=title,
        question="",
        answer="",
        evidence=lambda: sections,
        values=dict,
    )


def test_a_figure_of_a_function_cannot_leave_the_report(tmp_path: Path) -> None:
    figure = report.Figure(name="../escape", title="t", caption="", chart={})
    section = report.Section(heading="h", figures=[figure])
    with pytest.raises(ScenarioError, match="leads out of the report"):
        report.write(tmp_path / "r" / "report.html", outcome("t", section))
    assert not list(tmp_path.iterdir())


def test_texts_without_control_characters_are_wanted(folder: Path) -> None:
    (found,) = mistakes(changed(folder, ('source   = "an', 'source   = "\\u001b[31man')))
    assert found == "source: control characters are not allowed"


def test_a_page_shows_control_characters_and_does_not_have_them() -> None:
    template = page._template()
    shown = page._page(
        template,
        outcome("a\x1b[31mb\x9b"),
        [],
        {},
        "",
        "auto",
    )
    assert "a\\x1b[31mb\\x9b" in shown
    assert not page.CONTROLS.search(shown)


def test_a_long_formula_is_not_quoted_in_full() -> None:
    for text in ("(" + "1 + " * 25_000 + "1)", "x" * 3000, "-" * 9000 + "1", "(" * 5000):
        with pytest.raises(FormulaError) as refusal:
            read_formula(text)
        assert len(str(refusal.value)) < 400
