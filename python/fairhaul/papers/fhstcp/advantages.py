"""'Keeping the advantages of HSTCP' [FHSTCP]: how well, and how soon, one flow fills a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import Row, Table
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
from fairhaul.papers.fhstcp.flows import CONTROLLERS
from fairhaul.papers.filling import time_to_fill

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "advantages.toml"
QUICK = {"duration": "300 s", "warmup": "200 s"}
ROUNDS_MS = (20, 80, 200)

# How far the utilisation may be behind HighSpeed TCP's, and how many times as long it may take.
BEHIND, SLOWER = 1.0, 1.25

CHOSEN = (
    "Advantages: one flow on 622 Mbit/s with a buffer of 20 ms leaves slow start at 100 packets, "
    "so that the controller and not slow start fills the link; it is filled when 90 % busy for "
    "1 s. Utilisation is that of the time after the warm-up.",
    f"Advantages: {BEHIND:g} % of the link less, or {SLOWER:g} times as long, counts as the same.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for ms in ROUNDS_MS:
        for name in CONTROLLERS:
            pair = {"flow.one.rtt": f"{ms} ms", "flow.one.controller": name}
            key = [str(ms), name]
            cases.append(case("fhstcp", FILE, key, QUICK if quick else {}, pair, settings))
    return cases


def _numbers(record: Record) -> dict[str, float | None]:
    links = measure(record)["links"]
    return {"utilisation": 100 * links[0]["utilization"], "time to fill": time_to_fill(record)}


def _tables(found: Found) -> list[Table]:
    return [
        _table(found, "utilisation", "Advantages: utilisation of the link by one flow in %", ".2f"),
        _table(found, "time to fill", "Advantages: seconds until one flow fills the link", ".1f"),
    ]


def _table(found: Found, number: str, title: str, form: str) -> Table:
    rows = [
        Row(
            label=str(ms),
            cells=[cell(found.estimate((str(ms), n), number), form) for n in CONTROLLERS],
        )
        for ms in ROUNDS_MS
    ]
    notes = _notes(found) if number == "utilisation" else ["A dash: not within the run."]
    return Table(title=title, parameter="RTT in ms", columns=CONTROLLERS, rows=rows, notes=notes)


def _notes(found: Found) -> list[str]:
    worse = []
    for ms in ROUNDS_MS:
        ours, theirs = (found.mean((str(ms), n), "utilisation") for n in CONTROLLERS[:2])
        if ours < theirs - 1:
            worse.append(f"{ms} ms ({ours:.1f} against {theirs:.1f} %)")
    return [f"More than 1 % of the link behind HighSpeed TCP: {', '.join(worse) or 'nowhere'}."]


def _claims(found: Found) -> list[Claim]:
    pairs = {
        name: [
            [found.estimate((str(ms), one), name) for one in ("fhstcp", "highspeed")]
            for ms in ROUNDS_MS
        ]
        for name in ("utilisation", "time to fill")
    }
    idle = [below(ours, theirs, more=-BEHIND) for ours, theirs in pairs["utilisation"]]
    busy = [None if worse is None else not worse for worse in idle]
    soon = [below(ours, theirs, factor=SLOWER) for ours, theirs in pairs["time to fill"]]
    return [
        Claim(
            text="it uses a link as well as HSTCP",
            verdict=judged(busy),
            seen=_seen(found, "utilisation", ".1f", "%"),
        ),
        Claim(
            text="it fills a link as soon as HSTCP",
            verdict=judged(soon),
            seen=_seen(found, "time to fill", ".1f", "s"),
            why="The factor c x RTT is below 1 on rounds of less than 100 ms, where it grows more "
            "slowly than HighSpeed TCP, and above 1 on longer ones, where it is sooner.",
        ),
    ]


def _seen(found: Found, name: str, form: str, unit: str) -> str:
    parts = []
    for ms in ROUNDS_MS:
        ours, theirs = (found.text((str(ms), one), name, form) for one in ("fhstcp", "highspeed"))
        parts.append(f"{ours} against {theirs} {unit} at {ms} ms")
    return f"{', '.join(parts).capitalize()}."


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    cases = {str(ms): f"{ms} ms" for ms in ROUNDS_MS}
    drawn = []
    for name, number, title in (
        ("advantages-fill", "time to fill", "Seconds until one flow fills the link"),
        ("advantages-use", "utilisation", "Utilisation of the link by one flow (%)"),
    ):
        fill = number == "time to fill"
        rows = [
            figures.point(value, row=label, of=one)
            for ms, label in cases.items()
            for one in CONTROLLERS
            if (value := found.estimate((ms, one), number)) is not None
        ]
        low, high = plots.ends([row["mean"] for row in rows], log=fill, most=1e9 if fill else 100)
        never = [
            f"{one} at {label}"
            for ms, label in cases.items()
            for one in CONTROLLERS
            if not found.values((ms, one), number)
        ]
        x = plots.Scale(title=title, low=low, high=high, log=fill)
        caption = f"fhstcp against highspeed: {_seen(found, number, '.1f', 's' if fill else '%')}"
        caption += f" {figures.INTERVALS}"
        caption += f" Never within the run: {', '.join(never)}." if never else ""
        chart = plots.dots(figures.looks(CONTROLLERS), rows, list(cases.values()), x)
        heading = "How soon one flow fills the link" if fill else "How well one flow uses the link"
        drawn.append(Figure(name=name, title=heading, caption=caption, chart=chart))
    return drawn


EXPERIMENT = Experiment(
    heading="The advantages of HSTCP",
    about='"Keeping the advantages of HSTCP": one flow alone on a link, at three round trips.',
    seeds=3,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
