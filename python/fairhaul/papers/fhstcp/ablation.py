"""Which half of FHSTCP does what: the factor alone, the blocks alone, both and neither."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.papers import Table, losses
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    case,
    judged,
    sheet,
)
from fairhaul.papers.fhstcp.flows import FLOWS, three_flows

if TYPE_CHECKING:
    from fairhaul.report import Figure

FILE = "ablation.toml"
QUICK = {"duration": "200 s"}

VARIANTS = {
    "both": (True, True),
    "factor only": (True, False),
    "blocks only": (False, True),
    "neither": (False, False),
}

# Blocks that took back bursts would leave at most so many of the drops.
FEWER = 0.9

COLUMNS = {
    "queue peak": ".0f",
    "queue mean": ".0f",
    "drops per loss event": ".1f",
    "most background loss": ".1e",
    "fairness index": ".3f",
    "F1/F3": ".2f",
    "total": ".2f",
}

CHOSEN = (
    "Ablation: Table 1's link and background at c = 10; with neither, FHSTCP is HighSpeed TCP. "
    "The queue's peak is the highest mean over 0.1 s.",
    f"Ablation: blocks that leave more than {100 * FEWER:g} % of the drops take nothing back.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    cases = []
    for name, (factor, blocks) in VARIANTS.items():
        switches = {"flow.F*.controller.factor": factor, "flow.F*.controller.blocks": blocks}
        cases.append(case("fhstcp", FILE, [name], short, switches, settings))
    return cases


def _tables(found: Found) -> list[Table]:
    title = "Ablation: F1 to F3 with and without the factor and the blocks"
    table = sheet(found, title, "variant", COLUMNS, _notes(found))
    return [table, losses.table(found, "Ablation", "variant", [*FLOWS, "others"])]


def _notes(found: Found) -> list[str]:
    both, factor = (
        found.text((n,), "drops per loss event", ".1f") for n in ("both", "factor only")
    )
    fewer = found.above(("factor only",), ("both",), "drops per loss event")
    verb = "fewer" if fewer else "not clearly fewer" if fewer is None else "more"
    return [
        "Every variant fills a DropTail queue, so its peak is the buffer; what the blocks change "
        "has to show in the drops.",
        f"With blocks the factor drops {verb} packets in a loss event: {both} against "
        f"{factor} without. The paper says that blocks counteract the factor's bursts.",
    ]


def _claims(found: Found) -> list[Claim]:
    index, drops = (
        ", ".join(f"{found.text((n,), name, form)} with {n}" for n in VARIANTS)
        for name, form in (("fairness index", ".3f"), ("drops per loss event", ".1f"))
    )
    fairer = [
        found.above((one,), (other,), "fairness index")
        for one in ("both", "factor only")
        for other in ("blocks only", "neither")
    ]
    return [
        Claim(
            text="the factor makes it fair",
            verdict=judged(fairer),
            seen=f"Jain's index is {index}.",
        ),
        Claim(
            text="blocks take back the bursts of the factor",
            verdict=judged([_fewer(found)]),
            seen=f"Drops in a loss event of F1 to F3: {drops}.",
            why="A likely reason: growth comes with acknowledgements, a little with each, and "
            "packets that an acknowledgement clocks out make no burst; every variant fills the "
            "DropTail queue.",
        ),
    ]


def _fewer(found: Found) -> bool | None:
    """Whether there are fewer drops with blocks; no, where `FEWER` can be ruled out."""
    name = "drops per loss event"
    both, factor = found.estimate(("both",), name), found.estimate(("factor only",), name)
    if both is None or both.low is None or factor is None:
        return None
    if both.low > FEWER * factor.mean:
        return False
    return found.above(("factor only",), ("both",), name) or None


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    titles = {
        "fairness index": "Jain's index of F1 to F3",
        "drops per loss event": "Drops in a loss event of F1 to F3",
        "most background loss": "Most loss of a background flow",
    }
    each = []
    for name, title in titles.items():
        rows = [
            figures.point(one, row=variant)
            for variant in VARIANTS
            if (one := found.estimate((variant,), name)) is not None
        ]
        values = [row[end] for row in rows for end in ("mean", "low", "high")]
        low, high = plots.ends(values, most=1.0 if "Jain" in title else math.inf)
        x = plots.Scale(title=title, low=low, high=high, form=".1e" if high < 0.01 else "")
        each.append(plots.Panel(scale=x, rows=rows))
    fair, without = (found.text((n,), "fairness index", ".3f") for n in ("factor only", "neither"))
    caption = (
        f"Jain's index is {fair} with the factor alone and {without} with neither, which is "
        f"HighSpeed TCP. {_notes(found)[1]} {figures.INTERVALS}"
    )
    chart = plots.panels(list(VARIANTS), each)
    title = "Which half does what"
    return [Figure(name="ablation", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="Which half of FHSTCP does what",
    about="Table 1 at c = 10 with the factor and the blocks, with one of them, and with neither.",
    seeds=5,
    quick_seeds=3,
    cases=_cases,
    numbers=three_flows,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
