"""What the four ratios hang on: each with one thing changed that the paper leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.cubic_fairness.fairness import FILE
from fairhaul.papers.cubic_fairness.pair import (
    DROPTAIL,
    FAST,
    MIDDLE,
    NOT_STATIONARY,
    PAPER,
    QUEUES,
    RATES,
    RED,
    link,
    pair_numbers,
    stationary,
)
from fairhaul.papers.experiment import Case, Experiment, Found, Settings, case, cell

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Key
    from fairhaul.report import Figure

BASE = "as above"
# 50 packets are a fifth of the bandwidth-delay product at 20 Mbit/s.
SMALLEST, FIFTH = "buffer 50 packets", "buffer 0.2 BDP"
QUARTERS = "RED from 1/4 to 3/4 of the buffer"
ENDLESS = 1_000_000_000

# The fast link is what costs.
TIMES: dict[str, Settings] = {FAST: {"duration": "250 s"}, MIDDLE: {}}

VARIANTS: dict[str, Settings] = {
    BASE: {},
    SMALLEST: {"bottleneck.queue.capacity": "50 packets"},
    FIFTH: {"bottleneck.queue.capacity": "0.2 bdp"},
    "buffer 1 BDP": {"bottleneck.queue.capacity": "1 bdp"},
    QUARTERS: {
        "bottleneck.queue.threshold_unit": "capacity",
        "bottleneck.queue.min_threshold": 0.25,
        "bottleneck.queue.max_threshold": 0.75,
    },
    "NewReno with SACK": {"flow.newreno.recovery": "sack"},
    "initial ssthresh infinite": {"flow.*.initial_ssthresh": ENDLESS},
    "CUBIC as printed": {"flow.cubic.controller": {"kind": "cubic", "variant": "2005-literal"}},
    "CUBIC of RFC 9438": {"flow.cubic.controller": {"kind": "cubic", "variant": "rfc9438"}},
    "BIC in its place": {"flow.cubic.controller": "bic"},
    "the first 100 s alone": {"duration": "100 s", "warmup": "0 s"},
}

CHOSEN = (
    "Sensitivity: one thing is changed at a time, both flows start together, NewReno is impatient; "
    "runs of 250 s at 1 Gbit/s. RED's thresholds at quarters are of the buffer; its automatic "
    "ones, 625 packets and up at 1 Gbit/s, lie above a buffer of 50 packets, so that it is "
    "DropTail there. The short form leaves 1 Gbit/s out.",
)

COLUMNS = {f"{rate}, {kind}": (rate, kind) for rate in RATES for kind in QUEUES}


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for name, change in VARIANTS.items():
        for rate, kind in COLUMNS.values():
            if not _is_run(name, rate, kind, quick):
                continue
            there = {**link(rate, kind, quick), **({} if quick else TIMES[rate])}
            key = [name, rate, kind]
            cases.append(case("cubic-fairness", FILE, key, there, change, settings))
    return cases


def _is_run(name: str, rate: str, kind: str, quick: bool) -> bool:
    """Leave out what would say nothing new, and in the short form what takes long."""
    said = (name, kind) == (QUARTERS, DROPTAIL) or (name, rate) == (FIFTH, MIDDLE)
    return not said and not (quick and rate == FAST)


def _names(found: Found) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in found.runs))


def _columns(found: Found) -> dict[str, tuple[str, str]]:
    there = {(rate, kind) for _, rate, kind in found.runs}
    return {title: pair for title, pair in COLUMNS.items() if pair in there}


def _tables(found: Found) -> list[Table]:
    ratios = _table(found, "ratio", ".3f", "throughput of NewReno over that of CUBIC")
    events = _table(found, "loss events", ".0f", "loss events of the flow that saw fewest")
    used = _table(found, "utilisation", ".1f", "utilisation of the link in %")
    return [ratios, events, used]


def _table(found: Found, number: str, form: str, title: str) -> Table:
    columns = _columns(found)
    rows = []
    for name in _names(found):
        cells = []
        for rate, kind in columns.values():
            key = (name, rate, kind)
            printed = PAPER[rate, kind] if (name, number) == (BASE, "ratio") else None
            ours = found.estimate(key, number) if key in found.runs else None
            cells.append(cell(ours, form, printed))
        rows.append(Row(label=name, cells=cells))
    return Table(
        title=f"Sensitivity: {title}",
        parameter="variant",
        columns=list(columns),
        rows=rows,
        notes=_notes(found) if number == "ratio" else [],
    )


def _notes(found: Found) -> list[str]:
    parts = []
    for title, (rate, kind) in _columns(found).items():
        keys = [key for key in found.runs if key[1:] == (rate, kind)]
        short = [key[0] for key in keys if not stationary(found, key)]
        which = "all" if len(short) == len(keys) else ", ".join(short) or "none"
        parts.append(f"{title}: {which}")
    return [f"{NOT_STATIONARY} {'; '.join(parts)}.", *_orders(found)]


def _orders(found: Found) -> list[str]:
    """Say where RED is the fairer queue, as the paper has it at 20 Mbit/s and not at 1 Gbit/s."""
    return [_order(found, rate) for rate in RATES if any(key[1] == rate for key in found.runs)]


def _order(found: Found, rate: str) -> str:
    fairer: dict[str, list[str]] = {"RED": [], "DropTail": [], "neither for sure": []}
    for name in _names(found):
        red: Key = (name, rate, RED)
        tail: Key = (BASE if name == QUARTERS else name, rate, DROPTAIL)
        if red in found.runs:
            more = found.above(red, tail, "ratio")
            which = "neither for sure" if more is None else "RED" if more else "DropTail"
            fairer[which].append(name)
    said = "; ".join(f"{which}: {', '.join(names) or 'nowhere'}" for which, names in fairer.items())
    return f"The fairer queue at {rate}: {said}."


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    each = []
    for title, (rate, kind) in _columns(found).items():
        rows = [
            figures.point(one, row=name, paper=PAPER[rate, kind] if name == BASE else None)
            for name in _names(found)
            if (name, rate, kind) in found.runs
            and (one := found.estimate((name, rate, kind), "ratio")) is not None
        ]
        values = [row[end] for row in rows for end in ("mean", "low", "high", "paper")]
        scale = plots.powers(f"NewReno / CUBIC, {title}", [*values, 1.0])
        each.append(plots.Panel(scale=scale, rows=rows))
    chart = plots.panels(_names(found), each)
    caption = (
        "One thing is changed at a time. Dots are means over seeds with their 95 % intervals, the "
        f"diamond is the paper's. {' '.join(_orders(found))}"
    )
    title = "What the fairness ratio hangs on"
    return [Figure(name="sensitivity", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="What the four ratios hang on",
    about="Both flows started together, with one thing changed that the paper does not give.",
    seeds=5,
    quick_seeds=4,
    cases=_cases,
    numbers=pair_numbers,
    tables=_tables,
    figures=_figures,
    chosen=CHOSEN,
)
