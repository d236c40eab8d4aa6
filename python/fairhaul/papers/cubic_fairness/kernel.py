"""CUBIC beside Reno on real hosts: the kernel's own, beside what the simulator predicts of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.measures import measure
from fairhaul.papers import Row, Table, losses, payload
from fairhaul.papers.cubic_fairness.pair import MIDDLE, PAPER, QUEUES, queue
from fairhaul.papers.experiment import Case, Experiment, Found, Lab, Settings, case, cell

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Key
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "kernel.toml"
QUICK = {"duration": "100 s", "warmup": "20 s"}
FASTER = "200 Mbit/s"
RATES = (MIDDLE, FASTER)
KEYS: Mapping[Key, str] = {(rate, kind): f"{rate}, {kind}" for rate in RATES for kind in QUEUES}
FLOWS = ("newreno", "cubic")
RATIO, NEWRENO, CUBIC, USED = "NewReno / CUBIC", "NewReno in %", "CUBIC in %", "utilisation in %"
NUMBERS = {
    RATIO: ".3f",
    NEWRENO: ".1f",
    CUBIC: ".1f",
    USED: ".1f",
    "episodes": ".0f",
    **{f"{name} reduces in": ".2f" for name in FLOWS},
}

CHOSEN = (
    "Kernel: Linux recovers by SACK and RACK alone, so its Reno stands for NewReno, and its CUBIC "
    "for the one of 2005; both engines have the defaults of Linux, packets of 1500 bytes, and 20 "
    "and 200 Mbit/s. The paper's numbers at 1 Gbit/s have no place beside these.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        case(
            "cubic-fairness",
            FILE,
            key,
            QUICK if quick else {},
            {"bottleneck.rate": key[0], "bottleneck.queue": queue(key[1])},
            settings,
        )
        for key in KEYS
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    measures: Any = measure(record)
    worth = 100 * payload.alike(record)
    reno, cubic = (worth * flow["link_share"] for flow in measures["flows"])
    return {
        RATIO: reno / cubic if cubic else None,
        NEWRENO: reno,
        CUBIC: cubic,
        USED: 100 * measures["links"][0]["utilization"],
        **losses.numbers(measures, FLOWS),
    }


def _tables(found: Found) -> list[Table]:
    rows = [
        Row(
            label=label,
            cells=[
                cell(
                    found.estimate(key, name),
                    form,
                    PAPER.get((key[0], key[1])) if name == RATIO else None,
                )
                for name, form in NUMBERS.items()
            ],
        )
        for key, label in KEYS.items()
    ]
    title = "Kernel: Reno beside CUBIC, as Linux has them"
    return [Table(title=title, parameter="link, queue", columns=list(NUMBERS), rows=rows)]


def _figures(found: Found) -> list[Figure]:
    return _overlay({"simulator": found})


def _overlay(engines: Mapping[str, Found]) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    means = [found.mean(key, RATIO) for found in engines.values() for key in KEYS]
    chart = figures.engines(engines, KEYS, RATIO, plots.powers("Reno over CUBIC", [*means, 1.0]))
    caption = (
        f"The goodput of Reno over that of CUBIC; at 1 both have the same. {figures.INTERVALS}"
    )
    title = "Reno beside CUBIC, as Linux has them"
    return [Figure(name="kernel", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="On real hosts",
    about="The kernel's CUBIC beside its Reno, both with a round trip of 100 ms, at 20 and "
    "200 Mbit/s.",
    seeds=20,
    quick_seeds=8,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    chosen=CHOSEN,
    lab=Lab(
        full={"duration": "150 s", "warmup": "30 s"},
        quick={"duration": "27 s", "warmup": "9 s"},
    ),
    overlay=_overlay,
)
