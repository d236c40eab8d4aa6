"""How closely the losses of flows coincide: for every paper's experiments on shared queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.papers.experiment import Found, Key, sheet

if TYPE_CHECKING:
    from fairhaul.papers.table import Table
    from fairhaul.report import Figure


def table(found: Found, title: str, parameter: str, names: Sequence[str]) -> Table:
    """Lay out the part of the loss episodes in which each flow reduced its window."""
    columns = {"episodes": ".0f", **{f"{name} reduces in": ".2f" for name in names}}
    return sheet(found, f"{title}: synchronisation of losses", parameter, columns)


def figure(found: Found, name: str, flows: Sequence[str], rows: Mapping[str, str]) -> Figure:
    """Draw the same, a row for each case; `rows` says what each is called."""
    from fairhaul.papers import figures
    from fairhaul.report import Figure
    from fairhaul.report.plots import Scale
    from fairhaul.report.plots import dots as draw

    numbers = {flow: f"{flow} reduces in" for flow in flows}
    labels: dict[Key, str] = {(key,): label for key, label in rows.items() if (key,) in found.runs}
    x = Scale(title="Part of the loss episodes", low=0, high=1)
    rows_of = figures.dots(found, labels, numbers)
    chart = draw(figures.looks(flows), rows_of, list(labels.values()), x)
    counts = ", ".join(f"{found.mean(key, 'episodes'):.0f} with {labels[key]}" for key in labels)
    caption = (
        "The part of the loss episodes in which a flow reduced its window; at 1 it is hit whenever "
        "any is: losses coincide. Flows that lose together share by "
        f"other laws than flows that lose apart. Loss episodes in a run: {counts}. "
        f"{figures.INTERVALS}"
    )
    return Figure(name=name, title="Who loses together", caption=caption, chart=chart)


def numbers(measures: Mapping[str, object], names: Sequence[str]) -> dict[str, float | None]:
    """Give the numbers of `table` of one run; those without a name are the background's mean."""
    flows, episodes = measures["flows"], measures["loss_episodes"]
    assert isinstance(flows, list)
    assert isinstance(episodes, Mapping)
    parts = {flow["name"]: flow["loss_sync"] for flow in flows if flow["name"] in names}
    others = [
        f["loss_sync"] for f in flows if f["name"] not in names and f["loss_sync"] is not None
    ]
    found = {f"{name} reduces in": parts.get(name) for name in names}
    if others:
        found["others reduces in"] = sum(others) / len(others)
    return {"episodes": float(episodes["count"]), **found}
