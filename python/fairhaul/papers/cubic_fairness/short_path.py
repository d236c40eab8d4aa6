"""'BIC TCP could be too aggressive in slow network with short round trip time' [CUBIC-FAIRNESS]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.cubic_fairness.pair import (
    DROPTAIL,
    MIDDLE,
    QUEUES,
    QUICK,
    marked,
    pair_numbers,
    queue,
)
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    below,
    case,
    cell,
    judged,
)

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Key
    from fairhaul.report import Figure

FILE = "short-path.toml"
BIC, CUBIC, SAME = "BIC", "CUBIC", "standard TCP"
OTHERS: dict[str, Settings] = {
    BIC: {"flow.other.controller": "bic"},
    CUBIC: {"flow.other.controller": {"kind": "cubic", "variant": "2005"}},
    SAME: {"flow.other.controller": "reno"},
}
BUFFERS = ("50 packets", "1 bdp")
LINK = (DROPTAIL, BUFFERS[0])

COLUMNS = {
    "NewReno / other": ("ratio", ".3f"),
    "NewReno in %": ("NewReno", ".1f"),
    "other in %": ("other", ".1f"),
    "drops of NewReno": ("loss NewReno", ".1e"),
    "drops of other": ("loss other", ".1e"),
    "fewest loss events": ("loss events", ".0f"),
}

CHOSEN = (
    "Short path: 10 Mbit/s and 10 ms, with ns-2's 50 packets and with one bandwidth-delay "
    "product, 13 packets; BIC as published. Judged with 50 packets and DropTail, where windows "
    "pass BIC's 14 packets; standard TCP with SACK in the other's place shows what recovery does.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK[MIDDLE] if quick else {}
    return [
        case(
            "cubic-fairness",
            FILE,
            [kind, capacity, name],
            {"bottleneck.queue": queue(kind, capacity), **short},
            other,
            settings,
        )
        for kind in QUEUES
        for capacity in BUFFERS
        for name, other in OTHERS.items()
    ]


def _label(found: Found, key: Key) -> str:
    kind, capacity, name = key
    return marked(found, key, f"{name}, {kind}, {capacity.replace('bdp', 'BDP')}")


def _tables(found: Found) -> list[Table]:
    rows = [
        Row(
            label=_label(found, key),
            cells=[cell(found.estimate(key, name), form) for name, form in COLUMNS.values()],
        )
        for key in found.runs
    ]
    title = "Short path: NewReno beside another at 10 Mbit/s, 10 ms"
    return [Table(title=title, parameter="other", columns=list(COLUMNS), rows=rows)]


def _claims(found: Found) -> list[Claim]:
    bic, cubic, same = (found.estimate((*LINK, name), "ratio") for name in OTHERS)
    seen = ", ".join(
        f"{found.text((*LINK, name), 'ratio', '.2f')} beside {name}" for name in OTHERS
    )
    return [
        Claim(
            text="BIC is too aggressive on a slow network with a short round trip",
            verdict=judged([below(bic, same)]),
            seen=f"NewReno's throughput over the other's is {seen}.",
        ),
        Claim(
            text="CUBIC is less so",
            verdict=judged([below(bic, cubic)]),
            seen="By the same ratios.",
        ),
    ]


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    rows = [
        figures.point(one, row=_label(found, key))
        for key in found.runs
        if (one := found.estimate(key, "ratio")) is not None
    ]
    values = [row[end] for row in rows for end in ("mean", "low", "high")]
    x = plots.powers("Throughput of NewReno over the other's", [*values, 1.0])
    chart = plots.panels([row["row"] for row in rows], [plots.Panel(scale=x, rows=rows)])
    caption = f"10 Mbit/s, 10 ms; at 1 both have the same. {figures.INTERVALS}"
    title = "Fairness ratio on a slow, short path"
    return [Figure(name="short-path", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="BIC on a slow, short path",
    about="NewReno beside BIC, CUBIC and itself at 10 Mbit/s and 10 ms. The paper has no numbers "
    "of it; it names BIC's aggressiveness there as a reason for CUBIC.",
    seeds=5,
    quick_seeds=4,
    cases=_cases,
    numbers=pair_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
