"""What pages print is what the commands print."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import Fairhaul
from tools import ROOT

README, FIRST, CHECK, LAB = "README.md", "docs/first-scenario.md", "docs/check.md", "docs/lab.md"


@pytest.mark.parametrize(
    ("page", "file", "command"),
    [(FIRST, "first.toml", "run first.toml"), (CHECK, "my-test.toml", "check my-test.toml")],
)
def test_a_page_shows_the_output_of_its_command(
    page: str, file: str, command: str, fairhaul: Fairhaul, tmp_path: Path
) -> None:
    text = (ROOT / page).read_text()
    scenario = re.search(r"^```toml\n(.+?)^```", text, re.MULTILINE | re.DOTALL)
    shown = re.search(rf"^\$ fairhaul {command}\n(.+?)^```", text, re.MULTILINE | re.DOTALL)
    assert scenario is not None
    assert shown is not None
    (tmp_path / file).write_text(scenario[1])
    done = fairhaul(*command.split())
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    # The dots stand for lines that the page omits.
    assert [line for line in shown[1].splitlines() if line != "..." and line not in printed] == []


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("command", ["explain", "score", "reproduce"])
def test_the_readme_shows_the_output_of_its_commands(
    command: str, fairhaul: Fairhaul, tmp_path: Path
) -> None:
    text = (ROOT / README).read_text(encoding="utf-8")
    found = re.search(rf"^\$ fairhaul ({command} .+)\n((?:.+\n)+?)```", text, re.MULTILINE)
    assert found is not None
    if command == "explain":
        scenario = ROOT / "scenarios/questions/policer.toml"
        fairhaul("run", scenario, "--trace", "transfer", "--out", "out")
        (tmp_path / "out/transfer.pcapng").rename(tmp_path / "transfer.pcapng")
    done = fairhaul(*shlex.split(found[1]))
    assert done.returncode == 0, done.stderr
    # The dots stand for lines that the page omits; lines are folded at another width.
    for shown in re.split(r"^\.\.\.$", found[2], flags=re.MULTILINE):
        assert words(shown) in words(done.stdout)


def test_the_readme_is_short() -> None:
    text = (ROOT / README).read_text(encoding="utf-8")
    assert len(text.split()) <= 750
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 500


def test_the_page_of_ideas_has_the_numbers_of_its_comparison(
    fairhaul: Fairhaul, tmp_path: Path
) -> None:
    page = (ROOT / "docs/idea.md").read_text()
    (tmp_path / "gentle.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    shown = re.search(r"^fairhaul (compare gentle .+ --size 10GB)$", page, re.MULTILINE)
    assert shown is not None
    done = fairhaul(*shown[1].split(), "--json")
    assert done.returncode == 0, done.stderr
    gentle, reno, _ = json.loads(done.stdout)["values"]["controllers"]
    for of in (gentle["alone"]["jain"], reno["alone"]["jain"], gentle["beside"]["harm"]):
        mean, low, high = (f"{of[key]:.2f}" for key in ("mean", "low", "high"))
        assert f"{mean} [{low}, {high}]" in page
    share = gentle["beside"]["share"]
    mean, low, high = (f"{100 * share[key]:.0f}" for key in ("mean", "low", "high"))
    assert f"{mean} % [{low}, {high}]" in page


def test_the_page_of_queues_has_the_delays_of_its_sweep(fairhaul: Fairhaul, tmp_path: Path) -> None:
    page = (ROOT / "docs/queues/index.md").read_text()
    (tmp_path / "queues.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    command = re.search(r"`fairhaul (sweep queues.toml [^`]+)`", page)
    assert command is not None
    done = fairhaul(*command[1].split(), "--csv", "queues.csv")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "queues.csv").open(encoding="utf-8")))
    means = {
        row["bottleneck.queue.kind"]: f"{1000 * float(row['bottleneck.queue_mean_s']):.1f}"
        for row in rows
    }
    delays = [means[kind] for kind in ("droptail", "red", "codel", "fq_codel")]
    text = "{} ms with `droptail`, {} with `red`, {} with `codel` and {} with `fq_codel`"
    assert text.format(*delays) in page


def test_the_readme_keeps_the_exceptions_of_the_comparison_with_the_kernel() -> None:
    summary, table = (
        " ".join((ROOT / page).read_text(encoding="utf-8").split()) for page in (README, LAB)
    )
    assert "| throughput | 0.8 % of the link, except for `bbr3` |" in table
    assert "within 0.8 % of the link, except for `bbr3`" in summary
    assert "| mean congestion window | 2.1 %, except for `bbr` (5 %) and `bbr3` (12 %) |" in table
    assert "within 2.1 %, except for `bbr` and `bbr3`" in summary


def test_the_index_counts_what_there_is(fairhaul: Fairhaul) -> None:
    page = (ROOT / "docs/index.md").read_text()
    numbers = {5: "five", 8: "eight", 9: "nine", 10: "ten", 11: "eleven"}

    def listed(*command: str) -> str:
        lines = [line for line in fairhaul(*command).stdout.splitlines() if line[:1].isalnum()]
        return numbers.get(len(lines), str(len(lines)))

    assert f"- **Controllers**: [{listed('list', 'controllers')} of them]" in page
    assert f"- **Queues**: [{listed('list', 'queues')}]" in page
    assert f"- **Papers**: [{listed('list', 'papers')} reproduced]" in page
    assert f"- **Real kernels**: {listed('kernel', 'list')} controllers" in page
