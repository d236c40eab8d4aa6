"""Mode switching against a round-trip time that swings [GHSTCP, validation of the algorithm]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.measures import measure
from fairhaul.papers.experiment import Case, Claim, Experiment, Found, Settings, case, judged, sheet
from fairhaul.papers.ghstcp.setting import (
    BY_SIGN,
    DATA_LINK,
    MUCH,
    NONE,
    ORIGINAL,
    REFINED,
    SWINGS,
    VARIANTS,
)

if TYPE_CHECKING:
    from fairhaul.papers.table import Table
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "alone.toml"
QUICK = {"duration": "60 s", "warmup": "10 s"}

# The bandwidth-delay product is 383 packets: 0.7 of that leave the queue empty, so that every
# switch is one without need.
FREE, WHOLE = "free path", "whole link"
PATHS: dict[str, Settings] = {FREE: {"flow.one.max_window": 268}, WHOLE: {}}

CHANGES, HIGH, USED = "changes of mode /s", "time in HSTCP mode %", "link used %"

CHOSEN = (
    "Switching: the round-trip time swings by jitter of the acknowledgements that keeps their "
    "order, or since they are held (delayed ACKs); the paper only says that it oscillates.",
    "Switching: on the free path the window is bounded at 0.7 of the bandwidth-delay product, so "
    "that there is no queue and every switch is one without need.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        case(
            "ghstcp",
            FILE,
            [path, swing, variant],
            QUICK if quick else {},
            PATHS[path],
            SWINGS[swing],
            {"flow.one.controller": VARIANTS[variant]},
            settings,
        )
        for path in PATHS
        for swing in SWINGS
        for variant in VARIANTS
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    measures = measure(record)
    scenario = record.meta["scenario"]
    inside = high_speed(record, [scenario["warmup_s"], scenario["duration_s"]])
    return {
        CHANGES: measures["flows"][0]["mode_changes_per_s"],
        HIGH: 100 * inside[0],
        USED: 100 * measures["links"][DATA_LINK]["utilization"],
    }


def high_speed(record: Record, edges: list[float]) -> list[float]:
    """Give the share of time that the first flow was in HSTCP's mode, between each two edges."""
    import numpy as np
    import polars as pl

    first = record.meta["scenario"]["flows"][0]["name"]
    kind, flow = (pl.col(name).cast(pl.String) for name in ("kind", "flow"))
    modes = record.event.filter((kind == "mode") & (flow == first)).sort("t_s", maintain_order=True)
    since = np.append(
        modes["t_s"].to_numpy(), max(edges[-1], record.meta["scenario"]["duration_s"])
    )
    # How long it had been in that mode until each change.
    past = np.concatenate([[0.0], np.cumsum(np.diff(since) * modes["value"].to_numpy())])
    spent = np.diff(np.interp(edges, since, past))
    return [float(part) for part in spent / np.diff(edges)]


def _keep(record: Record) -> Any:
    """Keep the round-trip time and the mode over time."""
    import numpy as np

    from fairhaul.report.bins import level, tidy, whole_run
    from fairhaul.report.charts import Span

    scenario = record.meta["scenario"]
    rows = whole_run(record.flow_series, len(scenario["flows"]), scenario)
    found = level(rows, "rtt_s")
    half = found.width_s / 2
    edges = [*np.maximum(found.middle_s - half, 0.0), scenario["duration_s"]]
    modes = high_speed(record, [float(edge) for edge in edges])
    rtts = [
        {
            "t": tidy(t),
            **{end: tidy(1000 * getattr(found, end)[0][i]) for end in ("mean", "low", "high")},
        }
        for i, t in enumerate(found.middle_s)
        if np.isfinite(found.mean[0][i])
    ]
    shares = [
        {"t": tidy(t), "mean": tidy(share), "low": 0.0, "high": tidy(share)}
        for t, share in zip(found.middle_s, modes, strict=True)
    ]
    return Span(end_s=scenario["duration_s"], warmup_s=scenario["warmup_s"]), rtts, shares


def _tables(found: Found) -> list[Table]:
    columns = {CHANGES: ".2f", HIGH: ".1f", USED: ".2f"}
    notes = [
        "The test at 5 % takes a round without a trend for one that rises once in twenty: with "
        "21.7 rounds in a second, 2 x 0.05 x 0.95 x 21.7 = 2.1 changes a second; by the sign "
        "alone, half of the rounds: 2 x 0.5 x 0.5 x 21.7 = 10.9.",
    ]
    return [sheet(found, "Switching: one flow alone", "path, swing, rule", columns, notes)]


def _claims(found: Found) -> list[Claim]:
    def less(path: str, swing: str, other: str, number: str) -> bool | None:
        return found.above((path, swing, other), (path, swing, REFINED), number)

    swings = [swing for swing in SWINGS if swing != NONE]
    others = (ORIGINAL, BY_SIGN)
    more = [
        found.above((WHOLE, swing, REFINED), (WHOLE, swing, other), USED)
        for swing in swings
        for other in others
    ]
    needless = [less(FREE, swing, other, CHANGES) for swing in swings for other in others]
    rises = [found.above((FREE, MUCH, other), (FREE, NONE, other), CHANGES) for other in others]
    return [
        Claim(
            text="where the round-trip time oscillates the original rule switches without need, "
            "and the refined one less",
            verdict=judged(needless),
            seen=f"On a free path with {MUCH}: {_each(found, FREE, CHANGES, '.2f')} changes a "
            "second.",
        ),
        Claim(
            text="it is the oscillation that makes the original rule switch",
            verdict=judged(rises),
            seen="Changes a second on a free path: "
            + "; ".join(f"{s}: {_each(found, FREE, CHANGES, '.2f', s)}" for s in SWINGS)
            + ".",
            why="A correlation does not see how large a swing is, and without jitter there is "
            "still one: packets leave in bursts, and queue behind each other.",
        ),
        Claim(
            text="so the original rule takes less of the link",
            verdict=judged(more),
            seen=f"Alone, with {MUCH}, {_each(found, WHOLE, USED, '.2f')} % of the link.",
            why="Reno's mode costs growth, and a slower flow also loses less often.",
        ),
    ]


def _each(found: Found, path: str, number: str, form: str, swing: str = MUCH) -> str:
    return ", ".join(
        f"{found.text((path, swing, variant), number, form)} {variant}" for variant in VARIANTS
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, charts, plots

    shown = (ORIGINAL, REFINED)
    lanes = []
    for variant in shown:
        span, rtts, shares = found.kept[WHOLE, MUCH, variant]
        top = 1.05 * max(row["high"] for row in rtts)
        look, other = figures.looks(["a", "b"])
        for label, rows, end, colour in (
            (f"{variant}: round-trip time (ms)", rtts, top, look.colour),
            (f"{variant}: share of time in HSTCP's mode", shares, 1.0, other.colour),
        ):
            lanes.append(
                charts.Lane(look=charts.Look(label=label, colour=colour), rows=rows, top=end)
            )
    times = Figure(
        name="modes",
        title="Modes and round-trip time",
        caption=f"One flow alone, with {MUCH}. {_each(found, WHOLE, CHANGES, '.2f')} changes of "
        "mode a second. The link is full where the round-trip time is above 46 ms.",
        chart=charts.lanes(lanes, span, ""),
    )
    looks = figures.looks(list(VARIANTS))
    rows = [
        row | {"row": f"{path}, {swing}"}
        for path in PATHS
        for swing in SWINGS
        for look in looks
        for row in figures.dots(found, {(path, swing, look.label): ""}, {look.label: CHANGES})
    ]
    low, high = plots.ends([row["mean"] for row in rows])
    counts = Figure(
        name="switching",
        title="Changes of mode",
        caption=f"Changes of mode in a second, by path and by what makes the round-trip time "
        f"swing. {figures.INTERVALS}",
        chart=plots.dots(
            looks,
            rows,
            [f"{path}, {swing}" for path in PATHS for swing in SWINGS],
            plots.Scale(title="Changes of mode in a second", low=min(low, 0.0), high=high),
        ),
    )
    return [times, counts]


EXPERIMENT = Experiment(
    heading="Mode switching",
    about="One gHSTCP flow alone on 100 Mbit/s, 23 ms one way, 200 kB of buffer, by the refined "
    "and the original rule, while the round-trip time swings more or less.",
    seeds=5,
    quick_seeds=3,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=_keep,
    chosen=CHOSEN,
)
