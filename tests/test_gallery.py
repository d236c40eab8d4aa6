"""The gallery is whole: each controller, queue and example has its figure on its page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairhaul.figures.charts import Curve, Look, Scale
from fairhaul.runs.runs import for_each
from fairhaul.scenario.listings import catalogue
from tools import ROOT, names
from tools.gallery import FOLDER, OF_ALL, counting, examples, queues, scenario, sharing
from tools.gallery.friendliness import QUICK, read
from tools.gallery.grid import COLUMNS, Panel, grid
from tools.gallery.staircases import SNAPSHOTS
from tools.gallery.staircases import read as read_staircase

PAGES = ROOT / "docs" / "controllers"
QUEUES = ROOT / "docs" / "queues"
AGAIN = "make gallery"
MOST_BYTES = 200_000


def svg(name: str) -> str:
    path = ROOT / FOLDER / f"{name}.svg"
    assert path.is_file(), f"{path.name} is missing: {AGAIN}"
    assert path.stat().st_size < MOST_BYTES, f"{path.name} is too large for a page"
    return path.read_text(encoding="utf-8")


def words(drawn: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", drawn)


@pytest.mark.parametrize("name", names())
def test_a_controller_has_its_figure_on_its_page(name: str) -> None:
    assert name in words(svg(name))
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"](../images/gallery/{name}.svg)" in page, f"{name}.md does not show its figure"


@pytest.mark.parametrize("figure", OF_ALL)
def test_every_controller_is_in_the_figures_of_all(figure: str) -> None:
    missing = set(names()) - set(words(svg(figure)))
    assert not missing, f"{figure}.svg is older than {missing}: {AGAIN}"
    assert f"](../images/gallery/{figure}.svg)" in (PAGES / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("queue", catalogue()["queues"], ids=names("queues"))
def test_a_queue_has_its_figure_and_its_gauges_on_its_page(queue: dict[str, Any]) -> None:
    drawn = words(svg(f"queue-{queue['name']}"))
    page = (QUEUES / f"{queue['name']}.md").read_text(encoding="utf-8")
    assert queue["name"] in drawn
    assert f"](../images/gallery/queue-{queue['name']}.svg)" in page
    for gauge in queue.get("gauges", []):
        assert gauge["name"] in drawn, f"queue-{queue['name']}.svg is old: {AGAIN}"
        assert f"\n| `{gauge['name']}` |" in page, f"{queue['name']}.md does not say what it is"


@pytest.mark.parametrize("controller", catalogue()["controllers"], ids=names())
def test_a_controller_has_its_gauges_on_its_page(controller: dict[str, Any]) -> None:
    page = (PAGES / f"{controller['name']}.md").read_text(encoding="utf-8")
    for gauge in controller.get("gauges", []):
        unit = f" {gauge['unit']} |" if gauge["unit"] else " |"
        row = f"\n| `{gauge['name']}` |{unit}"
        assert row in page, f"{controller['name']}.md does not say what it is"
    assert ("## Gauges" in page) == ("gauges" in controller)


def test_every_queue_is_in_the_figure_of_all() -> None:
    missing = set(names("queues")) - set(words(svg("queues")))
    assert not missing, f"queues.svg is older than {missing}: {AGAIN}"
    assert "](../images/gallery/queues.svg)" in (QUEUES / "index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", examples.names())
def test_an_example_has_its_figure_on_the_page_of_examples(name: str) -> None:
    assert words(svg(examples.PREFIX + name))
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert f"](images/gallery/{examples.PREFIX}{name}.svg)" in page, "examples.md does not show it"
    assert f"](../scenarios/examples/{name}.toml)" in page, "examples.md does not link the file"


def test_the_figure_of_an_example_follows_its_sweep_and_its_flows() -> None:
    runs = examples.plan(["two-flows", "late", "xcp-tcp"], quick=True)
    read = for_each(list(runs.values()), lambda _, record: examples.read(record))
    drawn = examples.draw(["two-flows", "late", "xcp-tcp"], dict(zip(runs, read, strict=True)))
    assert list(drawn) == ["example-two-flows", "example-late", "example-xcp-tcp"]
    # A line and a label for each flow, and for each variant of one flow.
    kinds = [[layer["mark"]["type"] for layer in spec["layer"]] for spec in drawn.values()]
    assert kinds[:2] == [["line", "line", "text", "text"]] * 2
    # A bar for each variant of several flows: one of xcp, two of tcp; and the rate of the link.
    assert kinds[2] == ["bar", "rule", "text", "text"]
    assert [row["of"] for row in drawn["example-xcp-tcp"]["data"]["values"]] == [
        *("xcp", "tcp", "tcp"),
        *("xcp", "tcp", "tcp"),
    ]


def test_the_figure_of_a_queue_holds_its_delay_its_gauges_and_all_that_flows_get() -> None:
    (one,) = queues.plan(["pie"], quick=True).values()
    ((found, goodput),) = for_each(
        [one],
        lambda _, record: (queues.read(record), int(record.flow_series["goodput_bytes"].sum())),
    )
    assert [lane.look.label for lane in found.lanes] == ["pie", "drop_p", "delay_s", "drops"]
    # Areas lie one upon the other, and all together are what arrived: 12 s in 125 bins.
    rows = [[row[f"v{k}"] for k in range(len(queues.WHO) + 1)] for row in found.shares]
    assert all(row == sorted(row) and row[0] == 0 for row in rows)
    assert sum(row[-1] for row in rows) * 12 / 125 == pytest.approx(goodput * 8e-6, rel=1e-3)
    # No datagrams before 8 s, and about 20 Mbit/s of them afterwards, of which headers are 1/40.
    assert all(row[4] == row[3] for row in rows[:83])
    assert 18 < found.figures["stream"]["mean"] < 19.5
    # PIE's delay of 15 ms; the burst raises it.
    delay = found.figures["delay"]
    assert delay["low"] < delay["mean"] < delay["high"]
    assert 5 < delay["mean"] < 30


def test_there_are_no_figures_of_removed_controllers() -> None:
    there = {path.stem for path in (ROOT / FOLDER).iterdir()}
    ours = {f"queue-{name}" for name in names("queues")}
    ours |= {examples.PREFIX + name for name in examples.names()}
    assert there == {*names(), *OF_ALL, *ours, "queues", counting.FIGURE, sharing.FIGURE}


def test_figures_are_plain_pictures_with_a_ground_of_their_own() -> None:
    # So that they can be read on a light page and on a dark one.
    for path in (ROOT / FOLDER).iterdir():
        drawn = svg(path.stem)
        assert 'fill="#ffffff"' in drawn[:400]
        assert "var(--" not in drawn
        assert "<script" not in drawn


def test_the_picture_of_the_readme_shows_capacity_and_fair_share_on_any_page() -> None:
    drawn = svg(sharing.FIGURE)
    assert {"link: 100", "fair share: 50", "cubic", "bbr3"} <= set(words(drawn))
    assert "prefers-color-scheme:dark" in drawn
    assert f"](docs/images/gallery/{sharing.FIGURE}.svg)" in (ROOT / "README.md").read_text()


def test_a_staircase_is_read_from_its_snapshot() -> None:
    points, marks = read_staircase(Path(SNAPSHOTS / "staircase__reno.snap").read_text())
    assert len(points) == 100
    assert points[0] == {"x": 1, "mean": 4.0}
    assert [mark["x"] for mark in marks] == [20, 38, 40, 80]


def test_panels_stand_in_rows() -> None:
    x, y = (Scale(title=title, low=0, high=1, ticks=[0, 1]) for title in "xy")
    line = Curve(look=Look(label="a", colour="#000000"), points=[{"x": 0, "mean": 1}])
    panels = [Panel(name=str(i), curves=[line], x=x, y=y) for i in range(COLUMNS + 1)]
    rows = grid(panels)["vconcat"]
    assert [len(row["hconcat"]) for row in rows] == [COLUMNS, 1]


def test_standard_tcp_beside_itself_has_its_share() -> None:
    one = scenario("beside.toml", [QUICK, {"flow.F.controller": "reno", "duration": "60 s"}])
    (share,) = for_each([one], lambda _, record: read(record))
    assert 30 < share < 70


def test_an_example_of_words_is_sorted_and_small_lines_are_not_hidden() -> None:
    def run(variant: str, mbps: float, top: float) -> examples.ExampleRun:
        group = examples.Group(name="F1", measured=True, series=[], goodput_mbps=mbps)
        other = examples.Group(name="F2", measured=True, series=[], goodput_mbps=100 - mbps)
        window = [{"x": 0, "mean": 0.0}, {"x": 1, "mean": top}]
        return examples.ExampleRun(
            variant=variant,
            end_s=1.0,
            groups=[group, other],
            window=window,
            marks_mbps=[100.0, 50.0],
            of_words=True,
        )

    pair = [run("law (increase = 1)", 30, 1000), run("law (increase = 2)", 60, 10)]
    bars = examples.draw(["a"], {("a", str(i)): of for i, of in enumerate(pair)})["example-a"]
    assert [row["row"] for row in bars["data"]["values"]][::2] == [
        "law (increase = 2)",
        "law (increase = 1)",
    ]
    assert bars["layer"][0]["encoding"]["x"]["axis"]["title"] == (
        "Goodput (Mbit/s); dashed: link, fair share"
    )
    alone = [replace(of, groups=of.groups[:1]) for of in pair]
    lines = examples.draw(["a"], {("a", str(i)): of for i, of in enumerate(alone)})["example-a"]
    assert lines["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"


def test_the_figure_of_the_dual_queue_has_flows_in_both_of_its_queues() -> None:
    (one,) = queues.plan(["dualpi2"], quick=True).values()
    (found,) = for_each([one], lambda _, record: queues.read(record))
    tops = {lane.look.label: max(row["mean"] for row in lane.rows) for lane in found.lanes}
    assert tops["l4s_packets"] > 1
    assert tops["classic_packets"] > 1
