"""Which half of FHSTCP does what: the factor alone, the blocks alone, both and neither."""

from __future__ import annotations

from fairhaul.papers import Table
from fairhaul.papers.fhstcp.experiment import (
    FLOWS,
    Case,
    Experiment,
    Found,
    Settings,
    case,
    sheet,
    three_flows,
    together,
)

FILE = "ablation.toml"
QUICK = {"duration": "200 s"}

VARIANTS = {
    "both": (True, True),
    "factor only": (True, False),
    "blocks only": (False, True),
    "neither": (False, False),
}

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
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    cases = []
    for name, (factor, blocks) in VARIANTS.items():
        switches = {"flow.F*.controller.factor": factor, "flow.F*.controller.blocks": blocks}
        cases.append(case(FILE, [name], short, switches, settings))
    return cases


def _tables(found: Found) -> list[Table]:
    title = "Ablation: F1 to F3 with and without the factor and the blocks"
    table = sheet(found, title, "variant", COLUMNS, _notes(found))
    return [table, together(found, "Ablation", "variant", [*FLOWS, "others"])]


def _notes(found: Found) -> list[str]:
    both, factor = (found.mean((n,), "drops per loss event") for n in ("both", "factor only"))
    verb = "fewer" if both < factor else "no fewer"
    return [
        "Every variant fills a DropTail queue, so its peak is the buffer; what the blocks change "
        "has to show in the drops.",
        f"With blocks the factor drops {verb} packets in a loss event: {both:.1f} against "
        f"{factor:.1f} without. The paper says that blocks counteract the factor's bursts.",
    ]


EXPERIMENT = Experiment(
    seeds=5, quick_seeds=3, cases=_cases, figures=three_flows, tables=_tables, chosen=CHOSEN
)
