"""How far Table 1 at c = 10 depends on what the FHSTCP paper leaves out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table, losses
from fairhaul.papers.experiment import Case, Experiment, Found, Settings, case, cell
from fairhaul.papers.fhstcp.flows import FLOWS, three_flows
from fairhaul.papers.fhstcp.table1 import FILE, PAPER, QUICK

if TYPE_CHECKING:
    from fairhaul.report import Figure

C = 10
BASE = "as in Table 1"

# A setting cannot take a flow out of a scenario, so one that is to be gone sends a single byte.
NOTHING = "1 B"

VARIANTS: dict[str, Settings] = {
    BASE: {},
    "622 Mbit/s": {"bottleneck.rate": "622 Mbit/s"},
    "100 Mbit/s": {"bottleneck.rate": "100 Mbit/s"},
    "buffer 1 bdp": {"bottleneck.queue.capacity": "1 bdp"},
    "overhead 0": {"flow.*.overhead": "0 s"},
    "no web, no short flows": {"flow.{web,short}.traffic": NOTHING},
}

COLUMNS = {
    **dict.fromkeys((*FLOWS, "F4", "total"), ".2f"),
    "fairness index": ".3f",
    "F1/F3": ".2f",
    "most background loss": ".1e",
}

CHOSEN = (
    "Sensitivity: one thing is changed at a time; the buffer is 20 ms at every rate but where it "
    "is the bandwidth-delay product, 140 ms; web and short flows offer 5.3 Mbit/s at every rate.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    base = {"flow.F*.controller.c": C, **(QUICK if quick else {})}
    return [
        case("fhstcp", FILE, [name], base, change, settings) for name, change in VARIANTS.items()
    ]


def _tables(found: Found) -> list[Table]:
    rows = []
    for key in found.runs:
        printed = _printed() if key == (BASE,) else {}
        cells = [cell(found.estimate(key, n), f, printed.get(n)) for n, f in COLUMNS.items()]
        rows.append(Row(label=key[0], cells=cells))
    table = Table(
        title="Sensitivity of Table 1, c = 10: share of the link in %",
        parameter="variant",
        columns=list(COLUMNS),
        rows=rows,
        notes=_notes(found),
    )
    return [table, losses.table(found, "Sensitivity", "variant", [*FLOWS, "others"])]


def _printed() -> dict[str, float]:
    shares, index, _ = PAPER[C]
    named = dict(zip((*FLOWS, "F4"), shares, strict=True))
    ratio = shares[0] / shares[2]
    return {**named, "total": sum(shares), "fairness index": index, "F1/F3": round(ratio, 2)}


def _notes(found: Found) -> list[str]:
    """Judge the two claims that have a band: the ratio of F1 to F3, and the background's loss."""
    outside, high = [], []
    for key in found.runs:
        ratio, loss = found.mean(key, "F1/F3"), found.mean(key, "most background loss")
        if not 1.1 <= ratio <= 2.5:
            outside.append(f"{key[0]} ({ratio:.2f})")
        if loss >= 1e-3:
            high.append(f"{key[0]} ({loss:.1e})")
    return [
        f"Mean F1/F3 outside 1.1 to 2.5, which is between flows that lose apart and flows that "
        f"lose together: {', '.join(outside) or 'nowhere'}.",
        f"Most background loss of 1e-3 or more, against the paper: {', '.join(high) or 'nowhere'}.",
    ]


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    titles = {
        "fairness index": "Jain's index of F1 to F3",
        "F1/F3": "Throughput of F1 over that of F3",
        "F4": "Share of the background (%)",
        "most background loss": "Most loss of a background flow",
    }
    each, printed = [], _printed()
    for name, title in titles.items():
        rows = [
            figures.point(one, row=key[0], paper=printed.get(name) if key == (BASE,) else None)
            for key in found.runs
            if (one := found.estimate(key, name)) is not None
        ]
        means = [row["mean"] for row in rows] + [row["paper"] for row in rows]
        both = [row[end] for row in rows for end in ("low", "high")]
        low, high = plots.ends([*means, *both], most=1.0 if "Jain" in title else math.inf)
        x = plots.Scale(title=title, low=low, high=high, form=".1e" if "loss" in name else "")
        each.append(plots.Panel(scale=x, rows=rows))
    indices = {key[0]: found.mean(key, "fairness index") for key in found.runs}
    most, least = max(indices, key=lambda k: indices[k]), min(indices, key=lambda k: indices[k])
    caption = (
        "One thing is changed at a time. Dots are means over seeds with their 95 % intervals, the "
        f"diamond is the paper's. Jain's index is highest, {indices[most]:.3f}, with {most}, and "
        f"lowest, {indices[least]:.3f}, with {least}."
    )
    chart = plots.panels(list(indices), each)
    name = "sensitivity"
    return [Figure(name=name, title="What Table 1 hangs on", caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="How far Table 1 hangs on what is left out",
    about="Table 1 at c = 10 with one thing changed that the paper does not give.",
    seeds=5,
    quick_seeds=3,
    cases=_cases,
    numbers=three_flows,
    tables=_tables,
    figures=_figures,
    chosen=CHOSEN,
)
