"""The clocks of Sync-TCP [SYNC-TCP], [WEIGLE]: an offset, a drift, and how finely they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import Case, Claim, Experiment, Found, Settings, case, cell, judged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "clocks.toml"
DRIFTS_PPM = (0, 10, 50, 100)
STAMPS = ("1 us", "1 ms", "10 ms")
DESKEW: Mapping[str, bool] = {"as it is": False, "deskew": True}
OFFSET = "clock an hour ahead"

# The windows of time in which goodput is taken: the length of the paper's runs, and the end of
# ten minutes.
WINDOWS_S: Mapping[str, tuple[float, float]] = {
    "first 25 s": (0.0, 25.0),
    "last 300 s": (300.0, 600.0),
}

CHOSEN = (
    "Clocks: 10 Mbit/s, 60 ms, a buffer of 50 packets, no bound of the window; the receiver's "
    "clock gains.",
)


def _cases(_: bool, settings: Settings) -> list[Case]:
    cases = []
    for said, deskew in DESKEW.items():
        for stamp in STAMPS:
            clock = {"flow.F.clock_stamp": stamp, "flow.F.controller.deskew": deskew}
            for ppm in DRIFTS_PPM:
                key = [said, stamp, str(ppm)]
                drift = {"flow.F.clock_drift": ppm}
                cases.append(case("synctcp", FILE, key, clock, drift, settings))
            ahead = {"flow.F.clock_offset": "1 h", "flow.F.clock_drift": 0}
            cases.append(case("synctcp", FILE, [said, stamp, OFFSET], clock, ahead, settings))
    return cases


def _numbers(record: Record) -> dict[str, float | None]:
    """Give the goodput in each window of time that the run reaches to the end of, Mbit/s."""
    import polars as pl

    numbers: dict[str, float | None] = {}
    for name, (start, end) in WINDOWS_S.items():
        inside = pl.col("t_s").is_between(start, end, closed="left")
        payload = record.flow_series.filter(inside)["goodput_bytes"].sum()
        whole = end <= record.meta["scenario"]["duration_s"]
        numbers[name] = float(payload) * 8e-6 / (end - start) if whole else None
    return numbers


def _tables(found: Found) -> list[Table]:
    columns = [*(f"{ppm} ppm" for ppm in DRIFTS_PPM), OFFSET]
    return [
        Table(
            title=f"Clocks: goodput in the {window}, Mbit/s of 10",
            parameter="stamps",
            columns=columns,
            rows=[_row(found, said, stamp, window) for said in DESKEW for stamp in STAMPS],
            notes=_notes(found, window),
        )
        for window in WINDOWS_S
    ]


def _row(found: Found, said: str, stamp: str, window: str) -> Row:
    names = [*(str(ppm) for ppm in DRIFTS_PPM), OFFSET]
    cells = [cell(found.estimate((said, stamp, name), window), ".2f") for name in names]
    return Row(label=f"{stamp}, {said}", cells=cells)


def _notes(found: Found, window: str) -> list[str]:
    """Say where drift costs more than a twentieth of the goodput."""
    costly = [
        f"{ppm} ppm at {stamp}, {said}"
        for said in DESKEW
        for stamp in STAMPS
        for ppm in DRIFTS_PPM[1:]
        if found.mean((said, stamp, str(ppm)), window)
        < 0.95 * found.mean((said, stamp, "0"), window)
    ]
    return [f"Drift takes more than 5 % of the goodput of: {', '.join(costly) or 'none'}."]


def _claims(found: Found) -> list[Claim]:
    """Judge what reading differences of times alone promises."""
    same = [
        found.values((said, stamp, "0"), window) == found.values((said, stamp, OFFSET), window)
        for said in DESKEW
        for stamp in STAMPS
        for window in WINDOWS_S
    ]
    return [
        Claim(
            text="it needs no clocks that agree",
            verdict=judged(same),
            seen="A clock that is an hour ahead changes no byte of the goodput. A clock that gains "
            "is another matter, of which the paper does not speak: the smallest transit time does "
            f"not age, and the drift reads as a growing queue. {_seen(found)}",
        )
    ]


def _seen(found: Found) -> str:
    def at(said: str) -> str:
        numbers = (found.text((said, "1 us", str(ppm)), "last 300 s", ".2f") for ppm in DRIFTS_PPM)
        return ", ".join(numbers)

    return (
        f"From 300 s to 600 s it has {at('as it is')} Mbit/s at 0, 10, 50 and 100 ppm, and with "
        f"deskew {at('deskew')}."
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = [f"{stamp}, {said}" for said in DESKEW for stamp in STAMPS]
    drawn = []
    for window in WINDOWS_S:
        lines = [
            figures.curve(
                found,
                look,
                {
                    float(ppm): ((*reversed(look.label.split(", ")), str(ppm)), window)
                    for ppm in DRIFTS_PPM
                },
            )
            for look in figures.looks(looks)
        ]
        x = plots.Scale(
            title="The receiver's clock gains (ppm)", low=0, high=100, ticks=list(DRIFTS_PPM)
        )
        y = plots.Scale(title=f"Goodput in the {window} (Mbit/s)", low=0, high=10)
        caption = f"{_notes(found, window)[0]} {figures.BANDS}"
        name = f"clocks-{window.split()[0]}"
        title = f"Goodput in the {window} by the drift of the clock"
        chart = plots.curves(lines, x, y)
        drawn.append(Figure(name=name, title=title, caption=caption, chart=chart))
    return drawn


EXPERIMENT = Experiment(
    heading="Clocks",
    about="The receiver's clock is an hour ahead, or gains 10 to 100 parts per million, and is "
    "read in units of 1 us to 10 ms; with the drift taken out (deskew) and without.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
