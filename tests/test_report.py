"""The report: its page, its figures, and the input that it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairhaul as package
from fairhaul import report
from fairhaul.figures import bins, charts, gauges, look, words
from fairhaul.figures.charts import vega
from fairhaul.figures.figures import of_run
from fairhaul.report import renderer

from .conftest import SMALL, Fairhaul

# Of any run, of a run of two flows, and of several scenarios together.
OVER_TIME = {"shares", "cwnd", "losses", "queue"}
FIGURES = OVER_TIME | {"jain", "phase"}
TOGETHER = {"goodput", "over-time", "jain", "delay", "slider", "jain-boxes"}
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """A page taken apart: every element closed, what it fetches, its cells and figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.figures: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "figure":
            self.figures.add(str(given["id"]))
        self.fetched += [str(v) for k, v in attrs if k in ("src", "srcset", "data", "poster")]
        if tag in ("a", "link", "image", "use"):
            self.fetched.append(str(given.get("href") or given.get("xlink:href")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text += f" {data}".replace("\N{NO-BREAK SPACE}", " ")


def read(path: Path) -> Page:
    page = Page(path.read_text(encoding="utf-8"))
    assert page.open == []
    return page


def test_the_report_shows_the_gauges_of_queues_that_have_any(tmp_path: Path) -> None:
    record = package.run(SMALL, {"bottleneck.queue.kind": "codel"}).records[0]
    package.write_record(record, tmp_path / "codel")
    path = package.write_report([tmp_path / "codel"])
    assert read(path).figures == FIGURES | {"gauges"}
    drawn = (tmp_path / "codel" / "figures" / "gauges.svg").read_text()
    codel = next(q for q in package.catalogue()["queues"] if q["name"] == "codel")
    assert [gauge["name"] for gauge in codel["gauges"]] == ["dropping", "count"]
    for gauge in codel["gauges"]:
        assert f">{gauge['name']}</text>" in drawn
        assert f">{gauge['help']}</text>" in drawn


def test_the_report_shows_what_controllers_hold(tmp_path: Path) -> None:
    overrides = {"flow.near.controller": "bbr3", "flow.far.controller": "cubic"}
    record = package.run(SMALL, {**overrides, "flow.far.start": "8 s"}).records[0]
    package.write_record(record, tmp_path / "two")
    path = package.write_report([tmp_path / "two"])
    assert read(path).figures == FIGURES | {"controllers"}
    drawn = (tmp_path / "two" / "figures" / "controllers.svg").read_text()
    for label in ("rate_bps, near", "min_rtt_s, near", "plateau_packets, far"):
        assert f">{label}</text>" in drawn
    cubic = next(c for c in package.catalogue()["controllers"] if c["name"] == "cubic")
    (plateau,) = cubic["gauges"]
    assert (plateau["name"], plateau["unit"]) == ("plateau_packets", "packets")
    assert f">{plateau['help']}</text>" in drawn
    # Before the flow begins there is nothing to draw, which JSON can say.
    span = charts.Span(end_s=20, warmup_s=5)
    (lane,) = gauges.flow_lanes(record, [charts.Look(label="far", colour="red")], span)
    assert (lane.look.label, lane.rows[0]["mean"]) == ("plateau_packets", None)
    assert lane.rows[-1]["mean"] > 0
    assert json.dumps(list(lane.rows), allow_nan=False)


def test_at_most_twelve_gauges_of_controllers_are_drawn() -> None:
    overrides = {"flow.near.controller": "bbr", "flow.near.count": 10}
    record = package.run(SMALL, overrides).records[0]
    assert len(gauges.gauges_of_flows(record)) == 10
    (figure,) = (it for it in of_run(record, "") if it.name == "controllers")
    assert figure.title == "Inside the controllers: 6 of 10 flows"


def test_a_scale_is_that_of_the_measured_time_and_what_is_on_or_off_has_no_band() -> None:
    span = charts.Span(end_s=4, warmup_s=1)

    def between(low: list[float], high: list[float]) -> bins.Bins:
        ends, middle_s = np.array([[low], [high]]), np.array([0.5, 1.5, 2.5, 3.5])
        middle = ends.mean(axis=0)
        return bins.Bins(
            middle_s=middle_s, mean=middle, low=ends[0], high=ends[1], width_s=1, tick_s=0.5
        )

    # The peak of 9 is over before the warm-up is.
    lane = gauges.lane("a", between([0, -1, 0, 0], [9, 2, 3, 0]), 0, span, unit="s")
    assert (lane.bottom, lane.top, lane.rows[0]["high"]) == (-1, 3, 9)
    rows = gauges.lane("a", between([0, 0, 1, 0], [1, 0, 1, 1]), 0, span, unit="").rows
    assert [row["high"] for row in rows] == [row["mean"] for row in rows] == [0.5, 0, 1, 0.5]


def test_a_run_writes_a_report_that_needs_no_network(small: Path, fairhaul: Fairhaul) -> None:
    done = fairhaul("run", small, "--out", "out", "--report")
    assert (done.returncode, done.stderr) == (0, "")
    out = small.parent / "out"
    page = read(out / "report.html")
    assert all(found.startswith(("#", "figures/", "studio.html#")) for found in page.fetched)
    style = re.findall(r"<style>.*?</style>", (out / "report.html").read_text(), re.DOTALL)
    assert not re.search(r"url\(|@import", "".join(style))
    assert page.figures == FIGURES
    for name in FIGURES:
        svg, png, pdf = (out / "figures" / f"{name}.{end}" for end in ("svg", "png", "pdf"))
        assert "var(" not in svg.read_text()
        assert svg.read_text().startswith("<svg")
        assert png.read_bytes().startswith(b"\x89PNG")
        assert pdf.read_bytes().startswith(b"%PDF")
    # The page has every word and number of the tables on the screen.
    tables = done.stdout[done.stdout.index("name") : done.stdout.index("Jain")]
    for word in re.findall(r"[\w().%-]*\w[\w().%-]*", tables):
        assert word in page.text, word
    assert "How do 2 flows of reno share 10 Mbit/s" in page.text
    assert "share 10\N{NO-BREAK SPACE}Mbit/s" in (out / "report.html").read_text()
    assert package.measure(package.read_record(out))["flows"]


def test_a_report_without_a_place_gets_one(small: Path, fairhaul: Fairhaul) -> None:
    for place in ("out/small", "out/small-2"):
        done = fairhaul("run", small, "--report", "--json")
        assert done.stderr == f"Report: {place}/report.html\n"
        json.loads(done.stdout)
        assert (small.parent / place / "report.html").is_file()


def test_several_runs_are_put_side_by_side(small: Path, fairhaul: Fairhaul) -> None:
    assert fairhaul("run", small, "--set", "flow.far.rtt=90 ms", "--out", "far").returncode == 0
    small.write_text(SMALL + '[sweep]\n"flow.*.controller" = ["reno", "scalable"]\n')
    assert fairhaul("run", small, "--seeds", 5, "--out", "all").returncode == 0
    done = fairhaul("report", "all", "far", "--out", "both")
    assert (done.returncode, done.stderr) == (0, "")
    page = read(small.parent / "both" / "report.html")
    each = {f"{i}-{name}" for i in range(1, 4) for name in OVER_TIME}
    assert page.figures == TOGETHER | each
    for word in ("scalable", "Two flows", "95 % interval", "["):
        assert word in page.text
    text = (small.parent / "both" / "report.html").read_text()
    assert re.search(
        r'<td(?! class)[^>]*>[\d.]+ <span class="interval">\[[\d.]+, [\d.]+\]</span>', text
    )
    assert len(list((small.parent / "both" / "figures").iterdir())) == 3 * len(page.figures)
    again = fairhaul("report", "all", "all", "--out", "twice")
    assert again.returncode == 2
    assert "the same run as" in again.stderr


def test_what_is_no_record_is_refused(small: Path, fairhaul: Fairhaul) -> None:
    empty = small.parent / "empty"
    empty.mkdir()
    broken = small.parent / "broken"
    broken.mkdir()
    (broken / "meta.json").write_text('{"schema": 1}')
    for args, reason in [
        (["empty"], "not the directory of a record"),
        (["nowhere"], "nowhere: no such directory"),
        (["broken"], "cannot read the record"),
        (["empty", "broken"], "--out DIR"),
    ]:
        done = fairhaul("report", *args)
        assert done.returncode == 2, args
        assert reason in done.stderr
    assert list(empty.iterdir()) == []


def outcome(question: str, section: report.Section) -> report.Outcome:
    return report.Outcome(
        study="mine",
        title="T",
        question=question,
        answer="Yes.",
        evidence=lambda: [section],
        values=dict,
    )


def _case(role: str = "measured", **index: object) -> dict[str, object]:
    """What the sentences need of two flows."""
    flows = [
        {"name": name, "role": of, "goodput_bps": {"mean": 4e6}, "transfer_bps": None}
        for name, of in (("near", "measured"), ("far", role))
    ]
    links = [{"utilization": 0.8}]
    return {"flows": flows, "links": links, "fairness": {"jain": index}} | dict.fromkeys(
        ("stationary", "completed")
    )


def test_the_fairest_case_is_named_where_cases_differ() -> None:
    def told(*cases: tuple[float, float, float], interval: str | None = "95 %") -> str:
        found = [
            _case(mean=mean, low=low, high=high, interval=interval) for mean, low, high in cases
        ]
        return words.comparison(["cubic", "reno"], found)

    assert told((0.8, 0.7, 0.85), (0.95, 0.9, 0.99)) == (
        "reno is the fairest, with a Jain's index of 0.95; cubic is the least fair, with 0.80."
    )
    assert told((0.9, 0.8, 0.95), (0.92, 0.85, 0.95)) == (
        "Jain's index is 0.90 (cubic) to 0.92 (reno), and their intervals overlap."
    )
    assert "their ranges overlap" in told((0.9, 0.8, 0.95), (0.92, 0.85, 0.95), interval="range")
    assert told((0.999, 0.9, 1.0), (1.0, 1.0, 1.0)) == "Jain's index is 1.00 in every case."


def test_the_answer_says_what_background_flows_got() -> None:
    told = words.answer(_case("background", mean=1.0))
    assert told == (
        "near got 4 Mbit/s; the busiest link was utilized to 80 %. The background flow got "
        "4 Mbit/s."
    )
    assert "background" not in words.answer(_case(mean=1.0))


def test_any_question_can_be_laid_out(tmp_path: Path) -> None:
    table = report.Table(columns=["c", "index"], rows=[["<5>", "0.90"]])
    section = report.Section(heading="One & all", text=["It says a < b."], tables=[table])
    path = report.write(tmp_path / "new" / "a.html", outcome("Is 1 < 2?", section))
    page = read(path)
    for word in ("Is 1 < 2?", "One & all", "<5>", "0.90", "a < b"):
        assert word in page.text
    assert [file.name for file in path.parent.iterdir()] == ["a.html"]
    figure = report.Figure(name="a", title="A", caption="", chart={})
    with pytest.raises(ValueError, match="same name"):
        report.write(path, outcome("Q", report.Section(heading="H", figures=[figure, figure])))


def test_the_page_of_ten_minutes_at_1_gbit_s_stays_small(tmp_path: Path) -> None:
    # As many flows as are drawn.
    twelve = SMALL.replace('name       = "far"', 'name       = "far"\ncount = 11')
    record = _ten_minutes(package.run(twelve).records[0])
    package.write_record(record, tmp_path / "long")
    path = package.write_report([tmp_path / "long"])
    assert read(path).figures == OVER_TIME | {"jain", "delay"}
    assert path.stat().st_size < 3_300_000
    # The one bin that is 90,000 packets wide is in the figure, though 20 bins share a place.
    chart = re.search(r'"values":(\[{"t":.*?\])', _chart_of(path, "cwnd"))
    assert chart is not None
    assert max(row["high"] for row in json.loads(chart[1])) == 90_000


def _ten_minutes(record: package.Record) -> package.Record:
    """Make of a record one of 600 s and 6000 bins at 1 Gbit/s, each with numbers of its own."""
    chance = np.random.default_rng(1)
    scenario = {**record.meta["scenario"], "duration_s": 600.0, "warmup_s": 0.0}
    tables: dict[str, Any] = {}
    for name in ("flow_series", "link_series"):
        table = getattr(record, name)
        parts = table[name.removesuffix("_series")].unique(maintain_order=True)
        rows = pl.DataFrame({"t_s": np.arange(6000) / 10})
        each = [rows.with_columns(pl.lit(part, parts.dtype).alias(parts.name)) for part in parts]
        numbers = [column for column in table.columns if column not in ("t_s", parts.name)]
        tables[name] = pl.concat(each).with_columns(
            pl.Series(column, chance.uniform(1e4, 8e4, 6000 * len(parts))) for column in numbers
        )
    peak = pl.when(pl.col("t_s") == 300).then(90_000.0).otherwise(pl.col("cwnd_packets"))
    tables["flow_series"] = tables["flow_series"].with_columns(peak.alias("cwnd_packets"))
    kinds = record.event["flow"].unique()
    event = pl.DataFrame(
        {
            "t_s": np.sort(chance.uniform(0, 600, 5000)),
            "kind": ["reduction"] * 5000,
            "flow": (kinds.to_list() * 5000)[:5000],
            "value": [1.0] * 5000,
        },
        schema=record.event.schema,
    )
    meta = {**record.meta, "scenario": scenario}
    return replace(record, meta=meta, event=event, **tables)


def _chart_of(page: Path, name: str) -> str:
    """Give the specification of a figure in a page."""
    figure = page.read_text(encoding="utf-8").split(f'<figure id="{name}">')[1]
    return figure.split('<script type="application/json" class="chart-spec">')[1].split(
        "</script>"
    )[0]


def test_a_renderer_draws_in_order_and_reports_what_it_cannot_draw() -> None:
    def chart(word: str) -> vega.Spec:
        return vega.layers([vega.words(word, {"x": {"value": 0}})], 100, 50)

    with renderer.Renderer() as drawing:
        for word, drawn in zip("abc", drawing.draw([chart(word) for word in "abc"]), strict=True):
            assert drawn.startswith("<svg")
            assert f">{word}</text>" in drawn
        assert list(drawing.draw([])) == []
        with pytest.raises(ValueError, match="conversion failed"):
            list(drawing.draw([{"mark": "no such mark", "encoding": {}}]))


def test_what_stays_on_its_scale_is_not_clipped() -> None:
    def lane(high: float) -> charts.Lane:
        rows = [{"t": 0, "mean": 1, "low": 0, "high": high}]
        return charts.Lane(look=charts.Look(label="a", colour="var(--c1)"), rows=rows, top=1234.5)

    # A row has four digits: 1235 may be a rounded 1234.5.
    assert [lane(high).is_cut() for high in (1234, 1235, 1300)] == [False, False, True]


def test_bins_keep_peaks_and_totals() -> None:
    import numpy as np

    from fairhaul.record.series import Series

    # Five bins of 1 s, the last of 0.5 s, in pairs: means (1+3)/2, (9+1)/2 and 4 alone.
    rows = Series(
        columns={"v": np.array([[1.0, 3.0, 9.0, 1.0, 4.0]])},
        starts_s=np.arange(5.0),
        lengths_s=np.array([1, 1, 1, 1, 0.5]),
    )
    found = bins.level(rows, "v", 3)
    assert found.mean.tolist() == [[2, 5, 4]]
    assert found.low.tolist() == [[1, 1, 4]]
    assert found.high.tolist() == [[3, 9, 4]]
    assert found.middle_s.tolist() == [1, 3, 4.25]
    assert found.width_s == 2


def test_labels_are_moved_apart_in_their_order() -> None:
    from fairhaul.figures.charts import spread_out

    assert spread_out([10, 12, 50], 15, 100) == [10, 25, 50]
    assert spread_out([98, 99], 15, 100) == [85, 100]


def test_both_palettes_have_the_same_names() -> None:
    assert look.LIGHT.keys() == look.DARK.keys()


def luminance(colour: str) -> float:
    """Give the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", [look.LIGHT, look.DARK], ids=["light", "dark"])
def test_words_in_every_colour_have_the_contrast_of_text(palette: dict[str, str]) -> None:
    # Lines are named in their colours, so each of them has to do as a colour of text: 4.5 to 1.
    paper = luminance(palette["paper"])
    for name in ("ink", "soft", "quiet", *(f"{of}{i}" for of in "ck" for i in range(1, 9))):
        low, high = sorted((luminance(palette[name]), paper))
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


@pytest.mark.parametrize("amid", ["a line", "an answer"])
def test_the_renderer_ends_silently_when_its_parent_is_killed(amid: str) -> None:
    chart = {"data": {"values": []}, "mark": "point"}
    with subprocess.Popen(
        [sys.executable, "-m", "fairhaul.report.renderer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        # A process that is killed closes both of its ends.
        process.stdout.close()
        line = json.dumps([chart])
        process.stdin.write(line[:-9] if amid == "a line" else line + "\n")
        process.stdin.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0
