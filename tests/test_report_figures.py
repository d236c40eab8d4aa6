"""What the figures of a report say: units, phases of the senders, distributions, slides."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairhaul as package
from fairhaul.figures import (
    charts,
    distributions,
    drop_curve,
    fairness,
    figures,
    goodputs,
    look,
    relations,
    slide,
    steps,
)
from fairhaul.figures.bins import whole_run
from fairhaul.figures.figures import released
from fairhaul.figures.phases import RECOVERY, SLOW_START, phases
from fairhaul.results.figure_rows import overview
from fairhaul.text.phrases import rate_unit

from .conftest import SMALL, Fairhaul


@pytest.fixture(scope="module")
def record() -> package.Record:
    return package.run(SMALL).records[0]


def spans_of(record: package.Record, flow: str, what: str) -> list[tuple[float, float]]:
    scenario = record.meta["scenario"]
    rows = whole_run(record.flow_series, len(scenario["flows"]), scenario)
    found = phases(record, rows)[flow]
    return [(row["from"], row["t"]) for row in found if row["what"] == what]


@pytest.mark.parametrize(
    ("most", "unit", "shown"),
    [(12e9, "Gbit/s", 12), (6.2e6, "Mbit/s", 6.2), (999e3, "kbit/s", 999), (40, "bit/s", 40)],
)
def test_an_axis_of_rates_chooses_its_unit(most: float, unit: str, shown: float) -> None:
    scale, name = rate_unit(most)
    assert name == unit
    assert scale * most == pytest.approx(shown)


def test_a_fast_run_is_drawn_in_gbit_s(record: package.Record) -> None:
    fast = record.flow_series.with_columns(pl.col("goodput_bytes") * 1000)
    assert "Goodput (Mbit/s)" in str(figures.of_run(record, "")[0].chart)
    drawn = figures.of_run(replace(record, flow_series=fast), "")[0]
    assert drawn.name == "shares"
    assert "Goodput (Gbit/s)" in str(drawn.chart)
    tops = [max(v for k, v in row.items() if k != "t") for row in drawn.chart["data"]["values"]]
    assert 5 < max(tops) < 15


def test_recovery_reaches_from_a_reduction_to_its_end(record: package.Record) -> None:
    found = spans_of(record, "near", RECOVERY)
    events = record.event.filter(pl.col("flow").cast(pl.String) == "near")
    kinds = events["kind"].cast(pl.String)
    begun = events.filter(kinds == "reduction")["t_s"].to_list()
    ended = events.filter(kinds == "recovered")["t_s"].to_list()
    assert len(found) >= 8
    assert {start for start, _ in found} <= set(begun)
    assert {end for _, end in found} <= {*ended, 20.0, *events["t_s"].to_list()}
    assert all(end > start for start, end in found)
    # A recovery of Reno with SACK takes about one round trip, of 40 to 60 ms here.
    assert 0.03 < float(np.median([end - start for start, end in found])) < 0.2


def test_slow_start_is_where_the_window_is_below_its_threshold(record: package.Record) -> None:
    found = spans_of(record, "near", SLOW_START)
    events = record.event.filter(pl.col("flow").cast(pl.String) == "near")
    first_loss = float(events["t_s"][0])
    # It begins with the first packet and ends within a bin of the first loss.
    assert found[0][0] < 0.1
    assert found[0][1] == pytest.approx(first_loss, abs=0.05)
    assert sum(end - start for start, end in found) < 2

    # Without a threshold in the whole run, nothing is known of slow start.
    unknown = record.flow_series.with_columns(pl.lit(float("nan")).alias("ssthresh_packets"))
    assert spans_of(replace(record, flow_series=unknown), "near", SLOW_START) == []


def test_two_windows_are_drawn_against_each_other(record: package.Record) -> None:
    figure = relations.phase(record)
    assert figure is not None
    rows = figure.chart["data"]["values"]
    near = record.flow_series.filter(pl.col("flow").cast(pl.String) == "near")["cwnd_packets"]
    assert len(rows) == min(len(near), relations.MOST_POINTS)
    assert np.mean([row["x"] for row in rows]) == pytest.approx(near.mean(), rel=0.01)
    three = package.run(SMALL.replace('"far"', '"far"\ncount = 2')).records[0]
    assert relations.phase(three) is None


RED = {"kind": "red", "min_threshold": 5, "max_threshold": 15, "q_weight": 0.002, "max_p": 0.1}


def test_the_drops_of_red_are_drawn_over_its_average_queue_beside_its_law() -> None:
    overrides = {"bottleneck.queue": {**RED, "capacity": "2 bdp"}, "flow.near.count": 8}
    record = package.run(SMALL, overrides).records[0]
    run = figures.Run(record=record, prefix="")
    points = drop_curve.measured(record, run.link_rows, 0)
    averages = [point["x"] for point in points]
    assert len(points) == drop_curve.MOST_POINTS
    assert averages == sorted(averages)
    # With `wait` one packet of 1.5 / p is dropped, without it two of 1 / p.
    queue = record.meta["scenario"]["links"][0]["queue"]
    law = drop_curve.law(queue, 40.0)
    assert [(row["x"], row["mean"]) for row in law] == [
        *((0, 0), (5, 0), (15, pytest.approx(0.1 / 1.5)), (30, pytest.approx(1 / 1.5)), (40, 1)),
    ]
    assert drop_curve.law({**queue, "gentle": False, "wait": False}, 20.0)[2:4] == [
        {"x": 15, "mean": 0.2, "low": None, "high": None},
        {"x": 15, "mean": 1.0, "low": None, "high": None},
    ]
    due = np.interp(averages, [row["x"] for row in law], [row["mean"] for row in law])
    found = [point["mean"] for point in points]
    assert np.mean(found) == pytest.approx(np.mean(due), rel=0.2)
    assert run.drops() is not None
    assert figures.Run(record=package.run(SMALL).records[0], prefix="").drops() is None


def test_boxes_and_distributions_are_those_of_the_runs() -> None:
    runs = package.run(SMALL, seeds=5).measures
    (boxes,) = distributions.of_seeds(runs)
    rates = sorted(run["flows"][0]["goodput_bps"] / 1e6 for run in runs)
    (box,) = (
        layer["data"]["values"][0]
        for layer in boxes.chart["layer"]
        if layer["mark"]["type"] == "bar" and layer["data"]["values"][0]["row"] == "near"
    )
    # Of five values the quartiles are the second, the third and the fourth.
    assert [box["x"], box["median"], box["to"]] == pytest.approx(rates[1:4])
    assert distributions.of_seeds(runs[:4]) == []
    _, cdf = distributions.of_seeds(runs * 4)
    steps_of_near = cdf.chart["layer"][0]["data"]["values"]
    assert [row["y"] for row in steps_of_near[:-1]] == pytest.approx(np.linspace(0, 1, 21))
    assert [row["x"] for row in steps_of_near[1:-1:4]] == pytest.approx(rates)
    # Each line has its name where it passes a height of its own.
    names = [of for of in cdf.chart["layer"] if of["mark"]["type"] == "text"]
    places = [of["data"]["values"][0] for of in names]
    assert [(of["word"], of["y"]) for of in places] == [
        ("near", pytest.approx(1 / 3)),
        ("far", pytest.approx(2 / 3)),
    ]
    assert places[0]["x"] == pytest.approx(rates[1])


def test_a_slider_needs_cases_with_the_same_flows(record: package.Record) -> None:
    other = package.run(SMALL.replace('"far"', '"other"')).records[0]
    assert steps.windows(["a", "b"], [record, other]) is None
    figure = steps.windows(["a", "b", "c"], [record] * 3)
    assert figure is not None
    assert figure.chart["params"][0]["bind"]["max"] == 2
    assert figure.chart["params"][0]["value"] == 1
    # A file shows one of the cases alone.
    drawn = look.svg(figure.chart)
    assert ">b</text>" in drawn
    assert ">a</text>" not in drawn


def test_slides_have_their_shape_and_their_colours(small: Path, fairhaul: Fairhaul) -> None:
    assert fairhaul("run", small, "--out", "out").returncode == 0
    done = fairhaul("report", "out", "--size", "16:9", "--theme", "dark")
    assert (done.returncode, done.stderr) == (0, "")
    folder = small.parent / "out" / "figures"
    for png in folder.glob("*.png"):
        width, height = struct.unpack(">II", png.read_bytes()[16:24])
        assert width * 9 == height * 16, png.name
        assert width >= 1920
    for svg in folder.glob("*.svg"):
        drawn = svg.read_text()
        assert look.DARK["paper"] in drawn
        assert look.LIGHT["paper"] not in drawn
        # The drawing fills the slide in one direction, and nearly so in the other.
        inner = re.search(
            r'<svg x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', drawn
        )
        assert inner is not None
        wide, high = float(inner[3]) / 800, float(inner[4]) / 450
        assert max(wide, high) == pytest.approx(1, abs=1e-3)
        if svg.stem not in ("phase", "losses"):
            assert min(wide, high) > 0.9, svg.name
    page = (small.parent / "out" / "report.html").read_text()
    assert "prefers-color-scheme" not in page
    assert f"--paper: {look.DARK['paper']}" in page


def test_unknown_sizes_and_themes_are_refused(fairhaul: Fairhaul) -> None:
    for option, word in (("--size", "16:10"), ("--theme", "drak")):
        done = fairhaul("report", "out", option, word)
        assert done.returncode == 2
        assert option in done.stderr
    with pytest.raises(package.ScenarioError, match="dark"):
        slide.Style(theme="drak")


def test_many_flows_are_quantiles_and_a_folded_table(tmp_path: Path) -> None:
    many = SMALL.replace('name       = "far"', 'name       = "far"\ncount = 29')
    record = package.run(many, {"duration": "6 s"}).records[0]
    package.write_record(record, tmp_path / "many")
    page = package.write_report([tmp_path / "many"])
    text = page.read_text(encoding="utf-8")
    assert "Quantiles of all 30 flows" in text
    folded = re.search(r"<summary>(Flows: \d+ rows)</summary>(.*?)</details>", text, re.DOTALL)
    assert folded is not None
    assert folded[1] == "Flows: 30 rows"
    assert "far[28]" in folded[2]
    assert {"flows-boxes", "flows-cdf"} <= set(re.findall(r'<figure id="([^"]+)"', text))


def many_flows() -> package.Answer:
    counts = {"flow.near.count": 40, "flow.far.count": 6, "duration": "4 s", "warmup": "1 s"}
    return package.run(SMALL, {**counts, "flow.near.rtt": "40 ms..80 ms"})


def test_of_many_flows_the_extremes_and_quantiles_of_each_table_are_drawn() -> None:
    answer = many_flows()
    drawn = {figure.name: figure for figure in figures.of_run(answer.records[0], "")}
    assert drawn["shares"].title == "Goodput over time: 12 of 46 flows"
    assert drawn["cwnd"].title == "Congestion window over time: 12 of 46 flows"
    assert drawn["losses"].title == "Loss events: 12 of 46 flows"
    run = answer.measures[0]
    for table in ("near", "far"):
        rates = {f["name"]: f["goodput_bps"] for f in run["flows"] if f["name"].startswith(table)}
        ordered = sorted(rates, key=rates.__getitem__)
        shown = set(re.findall(r"(?:near|far)\[\d+\]", str(drawn["cwnd"].chart)))
        assert {ordered[0], ordered[-1]} <= shown


def test_the_goodput_of_many_flows_is_drawn_as_boxes_with_all_of_them() -> None:
    answer = many_flows()
    run, scenario = answer.measures[0], answer.records[0].meta["scenario"]
    figure = goodputs.shares(["a", "b"], [run, run], [scenario, scenario], "goodput")
    assert figure.title == "Goodput of 46 flows"
    points = [of for of in figure.chart["layer"] if of["mark"]["type"] == "point"]
    assert [len(of["data"]["values"]) for of in points] == [40, 6, 40, 6]
    assert points[0]["data"]["values"][0]["row"] == "a, near"


def test_rates_of_flows_are_compared_with_the_link_and_the_fair_share(
    record: package.Record,
) -> None:
    def marks(chart: object) -> set[str]:
        return set(re.findall(r"'word': '((?:link|fair share): [^']*)'", str(chart)))

    both = {"link: 10 Mbit/s", "fair share: 5 Mbit/s"}
    shares = figures.of_run(record, "")[0]
    assert shares.title == "Goodput over time"
    assert marks(shares.chart) == both
    scenario, run = record.meta["scenario"], package.measure(record)
    assert marks(goodputs.shares(["a"], [run], [scenario], "goodput").chart) == both
    over_time = goodputs.over_time(["a", "b"], [record, record])
    assert over_time is not None
    assert marks(over_time.chart) == both
    # A link that is much faster than the flows would make the figure flat.
    assert figures.rates_of(scenario, 1e6) == []
    # The fair share is that of flows that always have data.
    sized = {**scenario["flows"][0], "traffic": {"kind": "sized"}}
    some = {**scenario, "flows": [sized, *scenario["flows"][1:]]}
    assert figures.rates_of(some, 9e6) == [(10e6, "link: 10 Mbit/s")]


def test_a_slider_shows_every_point_of_a_sweep(record: package.Record) -> None:
    ends = {"low": None, "high": None}
    pair = [{"name": name, "goodput_bps": {"mean": 4e6, **ends}} for name in ("near", "far")]
    scenario = record.meta["scenario"]
    figure = steps.goodputs([str(i) for i in range(120)], [pair] * 120, [scenario])
    assert figure is not None
    assert figure.title == "Goodput, point by point"
    assert figure.chart["params"][0]["bind"]["max"] == 119
    assert "link: 10 Mbit/s" in str(figure.chart)
    assert "fair share: 5 Mbit/s" in str(figure.chart)
    group = steps.goodputs(["a", "b"], [pair[:1]] * 2, [scenario])
    assert group is not None
    assert "link: 10 Mbit/s" in str(group.chart)
    assert "fair share" not in str(group.chart)


def test_of_many_lanes_the_first_is_labelled() -> None:
    def texts(count: int) -> list[object]:
        names = [f"case {i}" for i in range(count)]
        rows = [{"row": name, "of": "a", "mean": 1.0, "low": None, "high": None} for name in names]
        looks, x = charts.looks(["a"]), charts.Scale(title="x (s)", low=0, high=2)
        drawn = charts.dots(looks, rows, names, x)["layer"]
        return [of.get("transform") for of in drawn if of["mark"]["type"] == "text"]

    assert texts(3) == [None]
    assert texts(40) == [[{"filter": 'datum.row == "case 0"'}]]


def test_the_start_of_the_measured_time_stands_above_the_chart() -> None:
    span = charts.Span(end_s=20, warmup_s=5)
    # A page of 400 pixels leaves about 250 to the chart, and a quarter of it to the warm-up.
    assert [of["mark"]["y"] for of in span.note("near")] == [-9]
    # Beside longer texts there is no room on a telephone, so it stands above them.
    assert [of["mark"]["y"] for of in span.note("near, by cubic")] == [-24]
    assert [of["mark"]["y"] for of in span.note("near", "link: 10 Mbit/s")] == [-24]
    (late,) = charts.Span(end_s=20, warmup_s=18).note()
    assert (late["mark"]["y"], late["mark"]["align"]) == (-24, "right")
    assert charts.Span(end_s=20, warmup_s=0).note() == []


def test_what_does_not_depend_on_the_time_scale_is_flat() -> None:
    def figures_of(*indices: float) -> dict[str, dict[str, dict[str, float]]]:
        return {"fairness": {"jain_by_window": dict(zip("123", indices, strict=False))}}

    assert fairness.is_flat([figures_of(0.5, 0.51), figures_of(0.9, 0.88)])
    assert not fairness.is_flat([figures_of(0.5, 0.51), figures_of(0.9, 0.7)])


def test_nearly_equal_throughputs_do_not_fill_the_axis(record: package.Record) -> None:
    run = package.measure(record)
    runs = [[run, {**run, "seed": 2}], [run, {**run, "seed": 3}]]
    figure = relations.scenarios_against_delay(["a", "b"], runs)
    assert figure is not None
    low, high = figure.chart["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low <= 0.9 * high
    assert {of["mark"]["shape"] for of in figure.chart["layer"][:2]} == {"square", "triangle-up"}


def test_an_index_that_equals_jains_has_no_column(record: package.Record) -> None:
    run = dict(package.measure(record))
    assert "Jain of max-min shares" not in overview(["a"], [run]).columns
    other = {**run, "fairness": {**package.measure(record)["fairness"], "entitlement": 0.5}}
    assert "Jain of max-min shares" in overview(["a"], [other]).columns


def test_a_goodput_above_the_rate_of_the_link_is_explained() -> None:
    marks = [(10e6, "link: 10 Mbit/s"), (5e6, "fair share: 5 Mbit/s")]
    assert released(9e6, marks) == released(2e7, []) == ""
    assert "a peak can exceed the rate of the link" in released(13e6, marks)
